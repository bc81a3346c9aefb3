/* FMI 2.0: the functions that importers call, for co-simulation and model exchange. */
#include "slopes.h"
#include "stepping.h"

#include <stdlib.h>

/* The types of the standard's "default" platform. */
typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef const char *fmi2String;
typedef char fmi2Byte;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;
typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;
typedef struct {
    fmi2Boolean newDiscreteStatesNeeded;
    fmi2Boolean terminateSimulation;
    fmi2Boolean nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged;
    fmi2Boolean nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

#define FMI fmi2
#define OK fmi2OK
#define FAILED fmi2Error
#if defined(FMI2_FUNCTION_PREFIX) && !defined(FMI2_OVERRIDE_FUNCTION_PREFIX)
#define PREFIX FMI2_FUNCTION_PREFIX
#endif
typedef fmi2Status Status;
typedef fmi2Boolean Boolean;

typedef struct {
    Model model;
    fmi2CallbackFunctions told;
    int is_logging;
    char *name;
} Instance;

static void log_words(void *whom, int how, const char *words) {
    const Instance *c = whom;
    const char *category = how == SAID_ERROR ? "logStatusError" : "logStatusWarning";
    if (c->told.logger && (c->is_logging || how == SAID_ERROR))
        c->told.logger(c->told.componentEnvironment, c->name, how == SAID_ERROR ? fmi2Error : fmi2Warning, category,
                       words);
}

static void *room_for(const fmi2CallbackFunctions *told, size_t size) {
    return told->allocateMemory ? told->allocateMemory(1, size) : calloc(1, size);
}

static void *room(const Instance *c, size_t size) { return room_for(&c->told, size); }

static void free_by(const fmi2CallbackFunctions *told, void *place) {
    if (!place) return;
    if (told->allocateMemory) {
        if (told->freeMemory) told->freeMemory(place);
    } else {
        free(place);
    }
}

static void give_back(const Instance *c, void *place) { free_by(&c->told, place); }

#include "calls.h"

SEEN const char *NAMED(fmi2GetTypesPlatform)(void) { return "default"; }

SEEN const char *NAMED(fmi2GetVersion)(void) { return "2.0"; }

CALL(SetDebugLogging)(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[]) {
    UNUSED(n);
    UNUSED(categories);
    ((Instance *)c)->is_logging = on;
    return fmi2OK;
}

SEEN fmi2Component NAMED(fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                          const fmi2CallbackFunctions *functions, fmi2Boolean visible,
                                          fmi2Boolean logging) {
    Instance *c;
    const char *title = name ? name : "";
    UNUSED(resources);
    UNUSED(visible);
    if (!functions) return NULL;
    if (!guid || strcmp(guid, TOKEN) || (type == fmi2CoSimulation ? !HAS_CO_SIMULATION : !HAS_MODEL_EXCHANGE)) {
        if (functions->logger)
            functions->logger(functions->componentEnvironment, title, fmi2Error, "logStatusError",
                              "The guid is not that of this FMU, or it does not have this type.");
        return NULL;
    }
    c = room_for(functions, sizeof *c);
    if (!c) return NULL;
    memset(c, 0, sizeof *c);
    c->told = *functions;
    c->name = room_for(functions, strlen(title) + 1);
    if (!c->name) {
        free_by(functions, c);
        return NULL;
    }
    memcpy(c->name, title, strlen(title) + 1);
    c->is_logging = logging;
    c->model.say = log_words;
    c->model.whom = c;
    c->model.holds_closed = type == fmi2ModelExchange;
    begin(&c->model);
    return c;
}

SEEN void NAMED(fmi2FreeInstance)(fmi2Component instance) {
    Instance *c = instance;
    fmi2CallbackFunctions told;
    if (!c) return;
    told = c->told;
    free_by(&told, c->name);
    free_by(&told, c);
}

CALL(SetupExperiment)(fmi2Component instance, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start,
                                  fmi2Boolean has_stop, fmi2Real stop) {
    Instance *c = instance;
    UNUSED(has_stop);
    UNUSED(stop);
    c->model.now.time = start;
    c->model.now.tolerance = has_tolerance && tolerance > 0.0 ? tolerance : RTOL;
    return fmi2OK;
}

CALL(EnterInitializationMode)(fmi2Component instance) {
    Instance *c = instance;
    if (c->model.now.mode != INSTANTIATED) return refused(c, "The initialisation has begun already.");
    c->model.now.mode = INITIALISING;
    c->model.is_current = 0;
    return fmi2OK;
}

CALL(GetReal)(fmi2Component instance, const fmi2ValueReference vr[], size_t n, fmi2Real value[]) {
    return get_reals(instance, vr, n, value);
}

CALL(GetInteger)(fmi2Component instance, const fmi2ValueReference vr[], size_t n, fmi2Integer value[]) {
    Instance *c = instance;
    for (size_t k = 0; k < n; k++) {
        const int *found = integer_of(&c->model, vr[k]);
        if (!found) return refused(c, "There is no integer variable with this value reference.");
        value[k] = *found;
    }
    return fmi2OK;
}

CALL(GetBoolean)(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean value[]) {
    UNUSED(vr);
    UNUSED(value);
    return n ? refused(c, "There are no boolean variables.") : fmi2OK;
}

CALL(GetString)(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[]) {
    UNUSED(vr);
    UNUSED(value);
    return n ? refused(c, "There are no variables with text.") : fmi2OK;
}

CALL(SetReal)(fmi2Component instance, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]) {
    return set_reals(instance, vr, n, value);
}

CALL(SetInteger)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer value[]) {
    UNUSED(vr);
    UNUSED(value);
    return n ? refused(c, "No integer variable can be set.") : fmi2OK;
}

CALL(SetBoolean)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Boolean value[]) {
    UNUSED(vr);
    UNUSED(value);
    return n ? refused(c, "There are no boolean variables.") : fmi2OK;
}

CALL(SetString)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String value[]) {
    UNUSED(vr);
    UNUSED(value);
    return n ? refused(c, "There are no variables with text.") : fmi2OK;
}

CALL(GetFMUstate)(fmi2Component instance, fmi2FMUstate *state) {
    return keep_state(instance, state);
}

CALL(SetFMUstate)(fmi2Component instance, fmi2FMUstate state) {
    return go_back_to(instance, state);
}

CALL(FreeFMUstate)(fmi2Component instance, fmi2FMUstate *state) {
    return forget_state(instance, state);
}

CALL(SerializedFMUstateSize)(fmi2Component c, fmi2FMUstate state, size_t *size) {
    UNUSED(c);
    UNUSED(state);
    return tell_size(size);
}

CALL(SerializeFMUstate)(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size) {
    return to_bytes(c, state, bytes, size);
}

CALL(DeSerializeFMUstate)(fmi2Component instance, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state) {
    return from_bytes(instance, bytes, size, state);
}

CALL(GetDirectionalDerivative)(fmi2Component instance, const fmi2ValueReference unknown[], size_t n_unknown,
                                           const fmi2ValueReference known[], size_t n_known, const fmi2Real seed[],
                                           fmi2Real result[]) {
    Instance *c = instance;
    return directional(&c->model, unknown, n_unknown, known, n_known, seed, result) ? fmi2OK : fmi2Error;
}

CALL(NewDiscreteStates)(fmi2Component instance, fmi2EventInfo *info) {
    Instance *c = instance;
    int is_moved = 0;
    if (!update(&c->model, &is_moved)) return fmi2Error;
    memset(info, 0, sizeof *info);
    info->terminateSimulation = c->model.now.is_terminated;
    info->valuesOfContinuousStatesChanged = is_moved;
    return fmi2OK;
}

CALL(GetDerivatives)(fmi2Component instance, fmi2Real derivatives[], size_t n) {
    return get_derivatives(instance, derivatives, n);
}

CALL(SetRealInputDerivatives)(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                          const fmi2Integer order[], const fmi2Real value[]) {
    UNUSED(vr);
    UNUSED(order);
    UNUSED(value);
    return n ? refused(c, "Inputs are held between communication points.") : fmi2OK;
}

CALL(GetRealOutputDerivatives)(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                           const fmi2Integer order[], fmi2Real value[]) {
    UNUSED(vr);
    UNUSED(order);
    UNUSED(value);
    return n ? refused(c, "Derivatives of outputs are not told.") : fmi2OK;
}

CALL(DoStep)(fmi2Component instance, fmi2Real time, fmi2Real step, fmi2Boolean no_earlier) {
    Instance *c = instance;
    UNUSED(no_earlier);
    if (!is_at(&c->model, time)) return fmi2Error;
    if (!advance(&c->model, time + step)) return fmi2Error;
    return c->model.now.is_terminated ? fmi2Discard : fmi2OK;
}

CALL(CancelStep)(fmi2Component c) { return refused(c, "Steps are never pending."); }

CALL(GetStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value) {
    UNUSED(kind);
    *value = fmi2OK;
    UNUSED(c);
    return fmi2OK;
}

CALL(GetRealStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value) {
    if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
    *value = ((Instance *)c)->model.now.time;
    return fmi2OK;
}

CALL(GetIntegerStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value) {
    UNUSED(c);
    UNUSED(kind);
    UNUSED(value);
    return fmi2Discard;
}

CALL(GetBooleanStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value) {
    if (kind != fmi2Terminated) return fmi2Discard;
    *value = ((Instance *)c)->model.now.is_terminated;
    return fmi2OK;
}

CALL(GetStringStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2String *value) {
    UNUSED(c);
    UNUSED(kind);
    UNUSED(value);
    return fmi2Discard;
}
