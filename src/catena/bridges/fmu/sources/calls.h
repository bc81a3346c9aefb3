/* The functions that importers call and that are the same in both versions of the standard but for their names.

   A version defines FMI, what its names begin with, its Status, OK and FAILED, its Boolean, the struct Instance that
   holds a model, `refused`, and where memory comes from and goes to: `room` and `give_back`. */
#ifndef CATENA_CALLS_H
#define CATENA_CALLS_H

#include <stdlib.h>

/* In a library the functions have the names of the standard. Who links sources of several models into one program
   defines FMI2_FUNCTION_PREFIX or FMI3_FUNCTION_PREFIX as what their names begin with, here PREFIX. */
#define JOINED(a, b) a##b
#define EXPANDED(a, b) JOINED(a, b)
#ifdef PREFIX
#define NAMED(name) EXPANDED(PREFIX, name)
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
#define CALL(name) SEEN Status NAMED(EXPANDED(FMI, name))
#define UNUSED(x) ((void)(x))

static Status refused(const Instance *c, const char *words) {
    say(&c->model, SAID_ERROR, words);
    return FAILED;
}

CALL(ExitInitializationMode)(void *instance) {
    Instance *c = instance;
    if (c->model.now.mode != INITIALISING) return refused(c, "The initialisation has not begun.");
    if (!refresh(&c->model)) return FAILED;
    take_sides(&c->model);
    c->model.now.mode = c->model.holds_closed ? EVENTS : STEPPING;
    return OK;
}

CALL(EnterEventMode)(void *instance) {
    ((Instance *)instance)->model.now.mode = EVENTS;
    return OK;
}

CALL(EnterContinuousTimeMode)(void *instance) {
    ((Instance *)instance)->model.now.mode = CONTINUOUS;
    return OK;
}

CALL(Terminate)(void *instance) {
    ((Instance *)instance)->model.now.mode = FINISHED;
    return OK;
}

CALL(Reset)(void *instance) {
    begin(&((Instance *)instance)->model);
    return OK;
}

CALL(CompletedIntegratorStep)(void *instance, Boolean no_earlier, Boolean *to_event, Boolean *to_end) {
    Instance *c = instance;
    int is_wanted_now = 0;
    UNUSED(no_earlier);
    if (!wants_event(&c->model, &is_wanted_now)) return FAILED;
    *to_event = is_wanted_now;
    *to_end = 0;
    return OK;
}

CALL(SetTime)(void *instance, double time) {
    Instance *c = instance;
    c->model.now.time = time;
    c->model.is_current = 0;
    return OK;
}

static Status of_another_number(const Instance *c) {
    return refused(c, "The number of continuous states is another one.");
}

CALL(SetContinuousStates)(void *instance, const double x[], size_t n) {
    Instance *c = instance;
    if (n != NX) return of_another_number(c);
    memcpy(c->model.now.x, x, sizeof c->model.now.x);
    c->model.is_current = 0;
    return OK;
}

CALL(GetContinuousStates)(void *instance, double x[], size_t n) {
    Instance *c = instance;
    if (n != NX) return of_another_number(c);
    memcpy(x, c->model.now.x, sizeof c->model.now.x);
    return OK;
}

CALL(GetNominalsOfContinuousStates)(void *instance, double nominals[], size_t n) {
    if (n != NX) return of_another_number(instance);
    memcpy(nominals, NOMINAL, sizeof NOMINAL);
    return OK;
}

static Status get_derivatives(Instance *c, double derivatives[], size_t n) {
    if (n != NX) return of_another_number(c);
    if (!refresh(&c->model)) return FAILED;
    memcpy(derivatives, c->model.dx, sizeof c->model.dx);
    return OK;
}

CALL(GetEventIndicators)(void *instance, double values[], size_t n) {
    Instance *c = instance;
    if (n != NE) return refused(c, "The number of event indicators is another one.");
    if (n == 0) return OK;
    if (!refresh(&c->model)) return FAILED;
    memcpy(values, c->model.g, n * sizeof *values);
    return OK;
}

static Status get_reals(Instance *c, const unsigned vr[], size_t n, double values[]) {
    for (size_t k = 0; k < n; k++)
        if (!get_real(&c->model, vr[k], values + k)) return FAILED;
    return OK;
}

static Status set_reals(Instance *c, const unsigned vr[], size_t n, const double values[]) {
    for (size_t k = 0; k < n; k++)
        if (!set_real(&c->model, vr[k], values[k])) return FAILED;
    return OK;
}

/* States are kept by copying, and as bytes they begin with the token, so that no other FMU takes them. */
static Status keep_state(Instance *c, void **state) {
    if (!*state) *state = room(c, sizeof(State));
    if (!*state) return refused(c, "There is no memory left for a state.");
    memcpy(*state, &c->model.now, sizeof(State));
    return OK;
}

static Status go_back_to(Instance *c, const void *state) {
    if (!state) return refused(c, "There is no state to go back to.");
    memcpy(&c->model.now, state, sizeof(State));
    c->model.is_current = 0;
    return OK;
}

static Status forget_state(Instance *c, void **state) {
    if (state) {
        give_back(c, *state);
        *state = NULL;
    }
    return OK;
}

static Status tell_size(size_t *size) {
    *size = sizeof TOKEN + sizeof(State);
    return OK;
}

static Status to_bytes(const Instance *c, const void *state, void *bytes, size_t size) {
    if (!state || size < sizeof TOKEN + sizeof(State)) return refused(c, "There is too little room for a state.");
    memcpy(bytes, TOKEN, sizeof TOKEN);
    memcpy((char *)bytes + sizeof TOKEN, state, sizeof(State));
    return OK;
}

static Status from_bytes(Instance *c, const void *bytes, size_t size, void **state) {
    if (size != sizeof TOKEN + sizeof(State) || memcmp(bytes, TOKEN, sizeof TOKEN))
        return refused(c, "These bytes are not a state of this FMU.");
    if (!*state) *state = room(c, sizeof(State));
    if (!*state) return refused(c, "There is no memory left for a state.");
    memcpy(*state, (const char *)bytes + sizeof TOKEN, sizeof(State));
    return OK;
}

#endif
