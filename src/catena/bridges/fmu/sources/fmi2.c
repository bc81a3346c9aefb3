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

/* In a library the functions have the names of the standard. Who links sources of several models into one program
   defines FMI2_FUNCTION_PREFIX as what their names begin with. */
#define JOINED(a, b) a##b
#define EXPANDED(a, b) JOINED(a, b)
#if defined(FMI2_FUNCTION_PREFIX) && !defined(FMI2_OVERRIDE_FUNCTION_PREFIX)
#define NAMED(name) EXPANDED(FMI2_FUNCTION_PREFIX, name)
#else
#define NAMED(name) name
#endif
#if defined(_WIN32)
#define SEEN __declspec(dllexport)
#elif defined(__GNUC__)
#define SEEN __attribute__((visibility("default")))
#else
#define SEEN
#endif
#define STATUS SEEN fmi2Status
#define UNUSED(x) ((void)(x))

typedef struct {
    Model model;
    fmi2CallbackFunctions told;
    int is_logging;
    char *name;
} Component;

static void log_words(void *whom, int how, const char *words) {
    const Component *c = whom;
    const char *category = how == SAID_ERROR ? "logStatusError" : "logStatusWarning";
    if (c->told.logger && (c->is_logging || how == SAID_ERROR))
        c->told.logger(c->told.componentEnvironment, c->name, how == SAID_ERROR ? fmi2Error : fmi2Warning, category,
                       words);
}

static void *room_for(const fmi2CallbackFunctions *told, size_t size) {
    return told->allocateMemory ? told->allocateMemory(1, size) : calloc(1, size);
}

static void give_back(const fmi2CallbackFunctions *told, void *place) {
    if (!place) return;
    if (told->allocateMemory) {
        if (told->freeMemory) told->freeMemory(place);
    } else {
        free(place);
    }
}

static fmi2Status refused(const Component *c, const char *words) {
    say(&c->model, SAID_ERROR, words);
    return fmi2Error;
}

SEEN const char *NAMED(fmi2GetTypesPlatform)(void) { return "default"; }

SEEN const char *NAMED(fmi2GetVersion)(void) { return "2.0"; }

STATUS NAMED(fmi2SetDebugLogging)(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[]) {
    UNUSED(n);
    UNUSED(categories);
    ((Component *)c)->is_logging = on;
    return fmi2OK;
}

SEEN fmi2Component NAMED(fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                          const fmi2CallbackFunctions *functions, fmi2Boolean visible,
                                          fmi2Boolean logging) {
    Component *c;
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
        give_back(functions, c);
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
    Component *c = instance;
    fmi2CallbackFunctions told;
    if (!c) return;
    told = c->told;
    give_back(&told, c->name);
    give_back(&told, c);
}

STATUS NAMED(fmi2SetupExperiment)(fmi2Component instance, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start,
                                  fmi2Boolean has_stop, fmi2Real stop) {
    Component *c = instance;
    UNUSED(has_stop);
    UNUSED(stop);
    c->model.now.time = start;
    c->model.now.tolerance = has_tolerance && tolerance > 0.0 ? tolerance : RTOL;
    return fmi2OK;
}

STATUS NAMED(fmi2EnterInitializationMode)(fmi2Component instance) {
    Component *c = instance;
    if (c->model.now.mode != INSTANTIATED) return refused(c, "The initialisation has begun already.");
    c->model.now.mode = INITIALISING;
    c->model.is_current = 0;
    return fmi2OK;
}

STATUS NAMED(fmi2ExitInitializationMode)(fmi2Component instance) {
    Component *c = instance;
    if (c->model.now.mode != INITIALISING) return refused(c, "The initialisation has not begun.");
    if (!refresh(&c->model)) return fmi2Error;
    take_sides(&c->model);
    c->model.now.mode = c->model.holds_closed ? EVENTS : STEPPING;
    return fmi2OK;
}

STATUS NAMED(fmi2Terminate)(fmi2Component instance) {
    ((Component *)instance)->model.now.mode = FINISHED;
    return fmi2OK;
}

STATUS NAMED(fmi2Reset)(fmi2Component instance) {
    begin(&((Component *)instance)->model);
    return fmi2OK;
}

STATUS NAMED(fmi2GetReal)(fmi2Component instance, const fmi2ValueReference vr[], size_t n, fmi2Real value[]) {
    Component *c = instance;
    for (size_t k = 0; k < n; k++)
        if (!get_real(&c->model, vr[k], value + k)) return fmi2Error;
    return fmi2OK;
}

STATUS NAMED(fmi2GetInteger)(fmi2Component instance, const fmi2ValueReference vr[], size_t n, fmi2Integer value[]) {
    Component *c = instance;
    for (size_t k = 0; k < n; k++) {
        const int *found = integer_of(&c->model, vr[k]);
        if (!found) return refused(c, "There is no integer variable with this value reference.");
        value[k] = *found;
    }
    return fmi2OK;
}

STATUS NAMED(fmi2GetBoolean)(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean value[]) {
    UNUSED(vr);
    UNUSED(value);
    return n ? refused(c, "There are no boolean variables.") : fmi2OK;
}

STATUS NAMED(fmi2GetString)(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[]) {
    UNUSED(vr);
    UNUSED(value);
    return n ? refused(c, "There are no variables with text.") : fmi2OK;
}

STATUS NAMED(fmi2SetReal)(fmi2Component instance, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]) {
    Component *c = instance;
    for (size_t k = 0; k < n; k++)
        if (!set_real(&c->model, vr[k], value[k])) return fmi2Error;
    return fmi2OK;
}

STATUS NAMED(fmi2SetInteger)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer value[]) {
    UNUSED(vr);
    UNUSED(value);
    return n ? refused(c, "No integer variable can be set.") : fmi2OK;
}

STATUS NAMED(fmi2SetBoolean)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Boolean value[]) {
    UNUSED(vr);
    UNUSED(value);
    return n ? refused(c, "There are no boolean variables.") : fmi2OK;
}

STATUS NAMED(fmi2SetString)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String value[]) {
    UNUSED(vr);
    UNUSED(value);
    return n ? refused(c, "There are no variables with text.") : fmi2OK;
}

STATUS NAMED(fmi2GetFMUstate)(fmi2Component instance, fmi2FMUstate *state) {
    Component *c = instance;
    if (!*state) *state = room_for(&c->told, sizeof(State));
    if (!*state) return refused(c, "There is no memory left for a state.");
    memcpy(*state, &c->model.now, sizeof(State));
    return fmi2OK;
}

STATUS NAMED(fmi2SetFMUstate)(fmi2Component instance, fmi2FMUstate state) {
    Component *c = instance;
    if (!state) return refused(c, "There is no state to go back to.");
    memcpy(&c->model.now, state, sizeof(State));
    c->model.is_current = 0;
    return fmi2OK;
}

STATUS NAMED(fmi2FreeFMUstate)(fmi2Component instance, fmi2FMUstate *state) {
    Component *c = instance;
    if (state) {
        give_back(&c->told, *state);
        *state = NULL;
    }
    return fmi2OK;
}

STATUS NAMED(fmi2SerializedFMUstateSize)(fmi2Component c, fmi2FMUstate state, size_t *size) {
    UNUSED(c);
    UNUSED(state);
    *size = sizeof TOKEN + sizeof(State);
    return fmi2OK;
}

STATUS NAMED(fmi2SerializeFMUstate)(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size) {
    if (!state || size < sizeof TOKEN + sizeof(State)) return refused(c, "There is too little room for a state.");
    memcpy(bytes, TOKEN, sizeof TOKEN);
    memcpy(bytes + sizeof TOKEN, state, sizeof(State));
    return fmi2OK;
}

STATUS NAMED(fmi2DeSerializeFMUstate)(fmi2Component instance, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state) {
    Component *c = instance;
    if (size != sizeof TOKEN + sizeof(State) || memcmp(bytes, TOKEN, sizeof TOKEN))
        return refused(c, "These bytes are not a state of this FMU.");
    if (!*state) *state = room_for(&c->told, sizeof(State));
    if (!*state) return refused(c, "There is no memory left for a state.");
    memcpy(*state, bytes + sizeof TOKEN, sizeof(State));
    return fmi2OK;
}

STATUS NAMED(fmi2GetDirectionalDerivative)(fmi2Component instance, const fmi2ValueReference unknown[], size_t n_unknown,
                                           const fmi2ValueReference known[], size_t n_known, const fmi2Real seed[],
                                           fmi2Real result[]) {
    Component *c = instance;
    return directional(&c->model, unknown, n_unknown, known, n_known, seed, result) ? fmi2OK : fmi2Error;
}

STATUS NAMED(fmi2EnterEventMode)(fmi2Component instance) {
    ((Component *)instance)->model.now.mode = EVENTS;
    return fmi2OK;
}

STATUS NAMED(fmi2NewDiscreteStates)(fmi2Component instance, fmi2EventInfo *info) {
    Component *c = instance;
    int is_moved = 0;
    if (!update(&c->model, &is_moved)) return fmi2Error;
    memset(info, 0, sizeof *info);
    info->terminateSimulation = c->model.now.is_terminated;
    info->valuesOfContinuousStatesChanged = is_moved;
    return fmi2OK;
}

STATUS NAMED(fmi2EnterContinuousTimeMode)(fmi2Component instance) {
    ((Component *)instance)->model.now.mode = CONTINUOUS;
    return fmi2OK;
}

STATUS NAMED(fmi2CompletedIntegratorStep)(fmi2Component instance, fmi2Boolean no_earlier, fmi2Boolean *to_event,
                                          fmi2Boolean *to_end) {
    Component *c = instance;
    int is_wanted_now = 0;
    UNUSED(no_earlier);
    if (!wants_event(&c->model, &is_wanted_now)) return fmi2Error;
    *to_event = is_wanted_now;
    *to_end = 0;
    return fmi2OK;
}

STATUS NAMED(fmi2SetTime)(fmi2Component instance, fmi2Real time) {
    Component *c = instance;
    c->model.now.time = time;
    c->model.is_current = 0;
    return fmi2OK;
}

STATUS NAMED(fmi2SetContinuousStates)(fmi2Component instance, const fmi2Real x[], size_t n) {
    Component *c = instance;
    if (n != NX) return refused(c, "The number of continuous states is another one.");
    memcpy(c->model.now.x, x, sizeof c->model.now.x);
    c->model.is_current = 0;
    return fmi2OK;
}

STATUS NAMED(fmi2GetDerivatives)(fmi2Component instance, fmi2Real derivatives[], size_t n) {
    Component *c = instance;
    if (n != NX) return refused(c, "The number of continuous states is another one.");
    if (!refresh(&c->model)) return fmi2Error;
    memcpy(derivatives, c->model.dx, sizeof c->model.dx);
    return fmi2OK;
}

STATUS NAMED(fmi2GetEventIndicators)(fmi2Component instance, fmi2Real values[], size_t n) {
    Component *c = instance;
    if (n != NE) return refused(c, "The number of event indicators is another one.");
    if (n == 0) return fmi2OK;
    if (!refresh(&c->model)) return fmi2Error;
    memcpy(values, c->model.g, n * sizeof *values);
    return fmi2OK;
}

STATUS NAMED(fmi2GetContinuousStates)(fmi2Component instance, fmi2Real x[], size_t n) {
    Component *c = instance;
    if (n != NX) return refused(c, "The number of continuous states is another one.");
    memcpy(x, c->model.now.x, sizeof c->model.now.x);
    return fmi2OK;
}

STATUS NAMED(fmi2GetNominalsOfContinuousStates)(fmi2Component instance, fmi2Real nominals[], size_t n) {
    if (n != NX) return refused(instance, "The number of continuous states is another one.");
    memcpy(nominals, NOMINAL, sizeof NOMINAL);
    return fmi2OK;
}

STATUS NAMED(fmi2SetRealInputDerivatives)(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                          const fmi2Integer order[], const fmi2Real value[]) {
    UNUSED(vr);
    UNUSED(order);
    UNUSED(value);
    return n ? refused(c, "Inputs are held between communication points.") : fmi2OK;
}

STATUS NAMED(fmi2GetRealOutputDerivatives)(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                           const fmi2Integer order[], fmi2Real value[]) {
    UNUSED(vr);
    UNUSED(order);
    UNUSED(value);
    return n ? refused(c, "Derivatives of outputs are not told.") : fmi2OK;
}

STATUS NAMED(fmi2DoStep)(fmi2Component instance, fmi2Real time, fmi2Real step, fmi2Boolean no_earlier) {
    Component *c = instance;
    UNUSED(no_earlier);
    if (!is_at(&c->model, time)) return fmi2Error;
    if (!advance(&c->model, time + step)) return fmi2Error;
    return c->model.now.is_terminated ? fmi2Discard : fmi2OK;
}

STATUS NAMED(fmi2CancelStep)(fmi2Component c) { return refused(c, "Steps are never pending."); }

STATUS NAMED(fmi2GetStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value) {
    UNUSED(kind);
    *value = fmi2OK;
    UNUSED(c);
    return fmi2OK;
}

STATUS NAMED(fmi2GetRealStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value) {
    if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
    *value = ((Component *)c)->model.now.time;
    return fmi2OK;
}

STATUS NAMED(fmi2GetIntegerStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value) {
    UNUSED(c);
    UNUSED(kind);
    UNUSED(value);
    return fmi2Discard;
}

STATUS NAMED(fmi2GetBooleanStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value) {
    if (kind != fmi2Terminated) return fmi2Discard;
    *value = ((Component *)c)->model.now.is_terminated;
    return fmi2OK;
}

STATUS NAMED(fmi2GetStringStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2String *value) {
    UNUSED(c);
    UNUSED(kind);
    UNUSED(value);
    return fmi2Discard;
}
