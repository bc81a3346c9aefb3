/* FMI 3.0: the functions that importers call, for co-simulation and model exchange. */
#include "slopes.h"
#include "stepping.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean;
typedef const char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef bool fmi3Clock;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef int fmi3DependencyKind;
typedef int fmi3IntervalQualifier;
typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3IntermediateUpdateCallback)(fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean, fmi3Boolean,
                                               fmi3Boolean, fmi3Boolean, fmi3Boolean *, fmi3Float64 *);
typedef void (*fmi3PreemptionCallback)(void);

#define FMI fmi3
#define OK fmi3OK
#define FAILED fmi3Error
#if defined(FMI3_FUNCTION_PREFIX) && !defined(FMI3_OVERRIDE_FUNCTION_PREFIX)
#define PREFIX FMI3_FUNCTION_PREFIX
#endif
typedef fmi3Status Status;
typedef fmi3Boolean Boolean;

typedef struct {
    Model model;
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
    bool is_logging;
} Instance;

static void log_words(void *whom, int how, const char *words) {
    const Instance *c = whom;
    const char *category = how == SAID_ERROR ? "logStatusError" : "logStatusWarning";
    if (c->log && (c->is_logging || how == SAID_ERROR))
        c->log(c->environment, how == SAID_ERROR ? fmi3Error : fmi3Warning, category, words);
}

static void *room(const Instance *c, size_t size) {
    (void)c;
    return calloc(1, size);
}

static void give_back(const Instance *c, void *place) {
    (void)c;
    free(place);
}

#include "calls.h"

SEEN const char *NAMED(fmi3GetVersion)(void) { return "3.0"; }

CALL(SetDebugLogging)(fmi3Instance c, fmi3Boolean on, size_t n, const fmi3String categories[]) {
    UNUSED(n);
    UNUSED(categories);
    ((Instance *)c)->is_logging = on;
    return fmi3OK;
}

static fmi3Instance made(fmi3String token, bool logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                         bool is_exchange) {
    Instance *c;
    if (!token || strcmp(token, TOKEN) || (is_exchange ? !HAS_MODEL_EXCHANGE : !HAS_CO_SIMULATION)) {
        if (log)
            log(environment, fmi3Error, "logStatusError",
                "The instantiation token is not that of this FMU, or it does not have this type.");
        return NULL;
    }
    c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->environment = environment;
    c->log = log;
    c->is_logging = logging;
    c->model.say = log_words;
    c->model.whom = c;
    c->model.holds_closed = is_exchange;
    begin(&c->model);
    return c;
}

SEEN fmi3Instance NAMED(fmi3InstantiateModelExchange)(fmi3String name, fmi3String token, fmi3String resources,
                                                      fmi3Boolean visible, fmi3Boolean logging,
                                                      fmi3InstanceEnvironment environment, fmi3LogMessageCallback log) {
    UNUSED(name);
    UNUSED(resources);
    UNUSED(visible);
    return made(token, logging, environment, log, true);
}

SEEN fmi3Instance NAMED(fmi3InstantiateCoSimulation)(fmi3String name, fmi3String token, fmi3String resources,
                                                     fmi3Boolean visible, fmi3Boolean logging, fmi3Boolean event_mode,
                                                     fmi3Boolean early_return, const fmi3ValueReference required[],
                                                     size_t n_required, fmi3InstanceEnvironment environment,
                                                     fmi3LogMessageCallback log,
                                                     fmi3IntermediateUpdateCallback intermediate) {
    UNUSED(name);
    UNUSED(resources);
    UNUSED(visible);
    UNUSED(event_mode);
    UNUSED(early_return);
    UNUSED(required);
    UNUSED(n_required);
    UNUSED(intermediate);
    return made(token, logging, environment, log, false);
}

SEEN fmi3Instance NAMED(fmi3InstantiateScheduledExecution)(fmi3String name, fmi3String token, fmi3String resources,
                                                           fmi3Boolean visible, fmi3Boolean logging,
                                                           fmi3InstanceEnvironment environment,
                                                           fmi3LogMessageCallback log, fmi3ClockUpdateCallback clock,
                                                           fmi3PreemptionCallback lock, fmi3PreemptionCallback unlock) {
    UNUSED(name);
    UNUSED(token);
    UNUSED(resources);
    UNUSED(visible);
    UNUSED(logging);
    UNUSED(clock);
    UNUSED(lock);
    UNUSED(unlock);
    if (log) log(environment, fmi3Error, "logStatusError", "This FMU has no scheduled execution.");
    return NULL;
}

SEEN void NAMED(fmi3FreeInstance)(fmi3Instance c) { free(c); }

CALL(EnterInitializationMode)(fmi3Instance instance, fmi3Boolean has_tolerance, fmi3Float64 tolerance,
                                          fmi3Float64 start, fmi3Boolean has_stop, fmi3Float64 stop) {
    Instance *c = instance;
    UNUSED(has_stop);
    UNUSED(stop);
    if (c->model.now.mode != INSTANTIATED) return refused(c, "The initialisation has begun already.");
    c->model.now.time = start;
    c->model.now.tolerance = has_tolerance && tolerance > 0.0 ? tolerance : RTOL;
    c->model.now.mode = INITIALISING;
    c->model.is_current = 0;
    return fmi3OK;
}

CALL(GetFloat64)(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Float64 values[],
                             size_t n_values) {
    if (n != n_values) return refused(instance, "All variables are single numbers.");
    return get_reals(instance, vr, n, values);
}

CALL(SetFloat64)(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Float64 values[],
                             size_t n_values) {
    if (n != n_values) return refused(instance, "All variables are single numbers.");
    return set_reals(instance, vr, n, values);
}

CALL(GetInt32)(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Int32 values[],
                           size_t n_values) {
    Instance *c = instance;
    if (n != n_values) return refused(c, "All variables are single numbers.");
    for (size_t k = 0; k < n; k++) {
        const int *found = integer_of(&c->model, vr[k]);
        if (!found) return refused(c, "There is no integer variable with this value reference.");
        values[k] = *found;
    }
    return fmi3OK;
}

CALL(SetInt32)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Int32 values[],
                           size_t n_values) {
    UNUSED(vr);
    UNUSED(values);
    UNUSED(n_values);
    return n ? refused(c, "No integer variable can be set.") : fmi3OK;
}

/* No variable has one of these types. */
#define NONE_OF(Type)                                                                                               \
    CALL(Get##Type)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3##Type values[],       \
                                size_t n_values) {                                                                  \
        UNUSED(vr);                                                                                                 \
        UNUSED(values);                                                                                             \
        UNUSED(n_values);                                                                                           \
        return n ? refused(c, "There are no variables of this type.") : fmi3OK;                                     \
    }                                                                                                               \
    CALL(Set##Type)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3##Type values[], \
                                size_t n_values) {                                                                  \
        UNUSED(vr);                                                                                                 \
        UNUSED(values);                                                                                             \
        UNUSED(n_values);                                                                                           \
        return n ? refused(c, "There are no variables of this type.") : fmi3OK;                                     \
    }
NONE_OF(Float32)
NONE_OF(Int8)
NONE_OF(UInt8)
NONE_OF(Int16)
NONE_OF(UInt16)
NONE_OF(UInt32)
NONE_OF(Int64)
NONE_OF(UInt64)
NONE_OF(Boolean)
NONE_OF(String)

CALL(GetBinary)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, size_t sizes[],
                            fmi3Binary values[], size_t n_values) {
    UNUSED(vr);
    UNUSED(sizes);
    UNUSED(values);
    UNUSED(n_values);
    return n ? refused(c, "There are no variables of this type.") : fmi3OK;
}

CALL(SetBinary)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t sizes[],
                            const fmi3Binary values[], size_t n_values) {
    UNUSED(vr);
    UNUSED(sizes);
    UNUSED(values);
    UNUSED(n_values);
    return n ? refused(c, "There are no variables of this type.") : fmi3OK;
}

CALL(GetClock)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Clock values[]) {
    UNUSED(vr);
    UNUSED(values);
    return n ? refused(c, "There are no clocks.") : fmi3OK;
}

CALL(SetClock)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Clock values[]) {
    UNUSED(vr);
    UNUSED(values);
    return n ? refused(c, "There are no clocks.") : fmi3OK;
}

CALL(GetNumberOfVariableDependencies)(fmi3Instance c, fmi3ValueReference vr, size_t *n_dependencies) {
    UNUSED(vr);
    UNUSED(n_dependencies);
    return refused(c, "Dependencies are not told.");
}

CALL(GetVariableDependencies)(fmi3Instance c, fmi3ValueReference dependent, size_t elements[],
                                          fmi3ValueReference independents[], size_t of_independents[],
                                          fmi3DependencyKind kinds[], size_t n_dependencies) {
    UNUSED(dependent);
    UNUSED(elements);
    UNUSED(independents);
    UNUSED(of_independents);
    UNUSED(kinds);
    UNUSED(n_dependencies);
    return refused(c, "Dependencies are not told.");
}

CALL(GetFMUState)(fmi3Instance instance, fmi3FMUState *state) {
    return keep_state(instance, state);
}

CALL(SetFMUState)(fmi3Instance instance, fmi3FMUState state) {
    return go_back_to(instance, state);
}

CALL(FreeFMUState)(fmi3Instance c, fmi3FMUState *state) {
    return forget_state(c, state);
}

CALL(SerializedFMUStateSize)(fmi3Instance c, fmi3FMUState state, size_t *size) {
    UNUSED(c);
    UNUSED(state);
    return tell_size(size);
}

CALL(SerializeFMUState)(fmi3Instance c, fmi3FMUState state, fmi3Byte bytes[], size_t size) {
    return to_bytes(c, state, bytes, size);
}

CALL(DeserializeFMUState)(fmi3Instance instance, const fmi3Byte bytes[], size_t size, fmi3FMUState *state) {
    return from_bytes(instance, bytes, size, state);
}

CALL(GetDirectionalDerivative)(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t n_unknowns,
                                           const fmi3ValueReference knowns[], size_t n_knowns, const fmi3Float64 seed[],
                                           size_t n_seed, fmi3Float64 sensitivity[], size_t n_sensitivity) {
    Instance *c = instance;
    if (n_seed != n_knowns || n_sensitivity != n_unknowns) return refused(c, "All variables are single numbers.");
    return directional(&c->model, unknowns, n_unknowns, knowns, n_knowns, seed, sensitivity) ? fmi3OK : fmi3Error;
}

CALL(GetAdjointDerivative)(fmi3Instance c, const fmi3ValueReference unknowns[], size_t n_unknowns,
                                       const fmi3ValueReference knowns[], size_t n_knowns,
                                       const fmi3Float64 seed[], size_t n_seed, fmi3Float64 sensitivity[],
                                       size_t n_sensitivity) {
    UNUSED(unknowns);
    UNUSED(n_unknowns);
    UNUSED(knowns);
    UNUSED(n_knowns);
    UNUSED(seed);
    UNUSED(n_seed);
    UNUSED(sensitivity);
    UNUSED(n_sensitivity);
    return refused(c, "This FMU has no adjoint derivatives.");
}

CALL(EnterConfigurationMode)(fmi3Instance c) {
    return refused(c, "There are no structural parameters.");
}

CALL(ExitConfigurationMode)(fmi3Instance c) {
    return refused(c, "There are no structural parameters.");
}

CALL(GetIntervalDecimal)(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                     fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[]) {
    UNUSED(vr);
    UNUSED(intervals);
    UNUSED(qualifiers);
    return n ? refused(c, "There are no clocks.") : fmi3OK;
}

CALL(GetIntervalFraction)(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                      fmi3UInt64 counters[], fmi3UInt64 resolutions[],
                                      fmi3IntervalQualifier qualifiers[]) {
    UNUSED(vr);
    UNUSED(counters);
    UNUSED(resolutions);
    UNUSED(qualifiers);
    return n ? refused(c, "There are no clocks.") : fmi3OK;
}

CALL(GetShiftDecimal)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 shifts[]) {
    UNUSED(vr);
    UNUSED(shifts);
    return n ? refused(c, "There are no clocks.") : fmi3OK;
}

CALL(GetShiftFraction)(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3UInt64 counters[],
                                   fmi3UInt64 resolutions[]) {
    UNUSED(vr);
    UNUSED(counters);
    UNUSED(resolutions);
    return n ? refused(c, "There are no clocks.") : fmi3OK;
}

CALL(SetIntervalDecimal)(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                     const fmi3Float64 intervals[]) {
    UNUSED(vr);
    UNUSED(intervals);
    return n ? refused(c, "There are no clocks.") : fmi3OK;
}

CALL(SetIntervalFraction)(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                      const fmi3UInt64 counters[], const fmi3UInt64 resolutions[]) {
    UNUSED(vr);
    UNUSED(counters);
    UNUSED(resolutions);
    return n ? refused(c, "There are no clocks.") : fmi3OK;
}

CALL(SetShiftDecimal)(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                  const fmi3Float64 shifts[]) {
    UNUSED(vr);
    UNUSED(shifts);
    return n ? refused(c, "There are no clocks.") : fmi3OK;
}

CALL(SetShiftFraction)(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                   const fmi3UInt64 counters[], const fmi3UInt64 resolutions[]) {
    UNUSED(vr);
    UNUSED(counters);
    UNUSED(resolutions);
    return n ? refused(c, "There are no clocks.") : fmi3OK;
}

CALL(EvaluateDiscreteStates)(fmi3Instance c) {
    UNUSED(c);
    return fmi3OK;
}

CALL(UpdateDiscreteStates)(fmi3Instance instance, fmi3Boolean *again, fmi3Boolean *to_end,
                                       fmi3Boolean *nominals_changed, fmi3Boolean *values_changed,
                                       fmi3Boolean *has_next, fmi3Float64 *next) {
    Instance *c = instance;
    int is_moved = 0;
    if (!update(&c->model, &is_moved)) return fmi3Error;
    *again = *nominals_changed = *has_next = false;
    *to_end = c->model.now.is_terminated;
    *values_changed = is_moved;
    *next = 0.0;
    return fmi3OK;
}

CALL(GetContinuousStateDerivatives)(fmi3Instance instance, fmi3Float64 derivatives[], size_t n) {
    return get_derivatives(instance, derivatives, n);
}

CALL(GetNumberOfEventIndicators)(fmi3Instance c, size_t *n) {
    UNUSED(c);
    *n = NE;
    return fmi3OK;
}

CALL(GetNumberOfContinuousStates)(fmi3Instance c, size_t *n) {
    UNUSED(c);
    *n = NX;
    return fmi3OK;
}

CALL(EnterStepMode)(fmi3Instance instance) {
    ((Instance *)instance)->model.now.mode = STEPPING;
    return fmi3OK;
}

CALL(DoStep)(fmi3Instance instance, fmi3Float64 time, fmi3Float64 step, fmi3Boolean no_earlier,
                         fmi3Boolean *event_needed, fmi3Boolean *to_end, fmi3Boolean *early, fmi3Float64 *reached) {
    Instance *c = instance;
    int ok;
    UNUSED(no_earlier);
    ok = is_at(&c->model, time) && advance(&c->model, time + step);
    *event_needed = false;
    *to_end = c->model.now.is_terminated;
    *early = c->model.now.is_terminated && c->model.now.time < time + step;
    *reached = c->model.now.time;
    return ok ? fmi3OK : fmi3Error;
}

CALL(GetOutputDerivatives)(fmi3Instance c, const fmi3ValueReference vr[], size_t n,
                                       const fmi3Int32 orders[], fmi3Float64 values[], size_t n_values) {
    UNUSED(vr);
    UNUSED(orders);
    UNUSED(values);
    UNUSED(n_values);
    return n ? refused(c, "Derivatives of outputs are not told.") : fmi3OK;
}

CALL(ActivateModelPartition)(fmi3Instance c, fmi3ValueReference clock, fmi3Float64 time) {
    UNUSED(clock);
    UNUSED(time);
    return refused(c, "This FMU has no scheduled execution.");
}
