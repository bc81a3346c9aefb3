/* One mechanism in one instance: what it is told, its state, and what follows from them.

   mechanism.h and equations.h are written for one mechanism and say its numbers and equations; this file and those
   that it is included by are the same for all of them. Nothing here is shared between instances. */
#ifndef CATENA_MODEL_H
#define CATENA_MODEL_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "mechanism.h"

#include "equations.h"

/* C has no arrays without entries. */
#define ROOM(n) ((n) > 0 ? (n) : 1)

enum { INSTANTIATED, INITIALISING, EVENTS, CONTINUOUS, STEPPING, FINISHED };
enum { SAID_WARNING, SAID_ERROR };

/* All that changes, so that it is saved and restored by copying. */
typedef struct {
    double time;
    double given[NX];       /* the state to begin with, as it was told */
    double x[NX];           /* positions, then velocities */
    double u[ROOM(NU)];     /* inputs */
    double p[ROOM(NP)];     /* parameters */
    double tolerance;       /* of steps, relative */
    double next_step;       /* what the next step inside tries, 0 before the first */
    double reach[ROOM(NE)]; /* the largest value of each event's function so far */
    double turned[ROOM(NE)]; /* the time at which its sign changed last, where a solver has located that */
    double when[ROOM(NE)];  /* the time at which each event happened last */
    int count[ROOM(NE)];    /* how often it did */
    int side[ROOM(NE)];     /* the sign of its function, 0 while it is not known */
    int mode;
    int is_settled;         /* whether x follows from what was given */
    int is_terminated;      /* whether an event has ended the motion */
} State;

typedef struct {
    State now;
    int is_current; /* whether the numbers below belong to the state above */
    double a[ROOM(NV)];
    double dx[NX];
    double y[ROOM(NY)];
    double g[ROOM(NE)];
    double J[ROOM(NG * NV)]; /* room for the Jacobian of the loops, which may be too large for a stack */
    int holds_closed; /* whether derivatives pull open loops together, for solvers that know nothing of loops */
    void (*say)(void *whom, int how, const char *words);
    void *whom;
} Model;

static void say(const Model *m, int how, const char *words) {
    if (m->say) m->say(m->whom, how, words);
}

static void begin(Model *m) {
    memset(&m->now, 0, sizeof m->now);
    for (int i = 0; i < NX; i++) m->now.given[i] = m->now.x[i] = START[i];
    for (int i = 0; i < NU; i++) m->now.u[i] = INPUTS[i];
    for (int i = 0; i < NP; i++) m->now.p[i] = PARAMETERS[i];
    for (int e = 0; e < NE; e++) m->now.turned[e] = -HUGE_VAL;
    m->now.tolerance = RTOL;
    m->is_current = 0;
}

static int all_finite(const double *x, int n) {
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}

/* Quaternions of unit length, whatever a solver made of them. Returns by how much they were off. */
static double normalise(double *q) {
    double off = 0.0;
    for (int k = 0; k < NROTATIONS; k++) {
        double *r = q + ROTATIONS[k];
        const double length = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
        if (length > 0.0)
            for (int i = 0; i < 4; i++) r[i] /= length;
        off = fmax(off, fabs(length - 1.0));
    }
    return off;
}

#include "closing.h"

/* The derivatives dx of a state x, and the accelerations a before loops are pulled together. */
static int derive(Model *m, const double *x, double *dx, double *a) {
    double q[ROOM(NQ)];
    memcpy(q, x, NQ * sizeof *q);
    normalise(q);
    rate(q, x + NQ, dx);
    acceleration(q, x + NQ, m->now.u, m->now.p, a);
    memcpy(dx + NQ, a, NV * sizeof *a);
    if (m->holds_closed) {
        pull_together(m, q, x + NQ, dx + NQ);
        for (int k = 0; k < NROTATIONS; k++) {
            const double *r = x + ROTATIONS[k];
            const double more = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3] - 1.0;
            for (int i = 0; i < 4; i++) dx[ROTATIONS[k] + i] -= 0.5 * STABILISATION * more * r[i];
        }
    }
    return all_finite(dx, NX);
}

/* The functions g of the events at a time and a state. */
static void watch(const Model *m, double time, const double *x, double *g) {
    double q[ROOM(NQ)];
    memcpy(q, x, NQ * sizeof *q);
    normalise(q);
    indicators(&time, q, x + NQ, m->now.u, m->now.p, g);
}

/* Bring everything that follows from the state up to date. */
static int refresh(Model *m) {
    double q[ROOM(NQ)];
    if (m->is_current) return 1;
    if (m->now.mode == INITIALISING && !settle(m)) return 0;
    if (!derive(m, m->now.x, m->dx, m->a)) {
        say(m, SAID_ERROR, "The accelerations are not finite: look at masses, inputs and parameters, and whether the "
                           "mechanism is in a singular configuration.");
        return 0;
    }
    memcpy(q, m->now.x, sizeof(double) * NQ);
    normalise(q);
    outputs(q, m->now.x + NQ, m->a, m->now.u, m->now.p, m->y);
    watch(m, m->now.time, m->now.x, m->g);
    m->is_current = 1;
    return 1;
}

/* Where a value reference is found among the numbers of a model, NULL where there is none. */
static double *real_of(Model *m, unsigned vr) {
    /* Signed, because there may be none of a sort, and no unsigned number is below zero. */
    long k = (long)vr - 1;
    if (vr == 0) return &m->now.time;
    if (k < NX) return (m->now.mode == INSTANTIATED ? m->now.given : m->now.x) + k;
    k -= NX;
    if (k < NU) return m->now.u + k;
    k -= NU;
    if (k < NP) return m->now.p + k;
    k -= NP;
    if (k < NX) return m->dx + k;
    k -= NX;
    if (k < NY) return m->y + k;
    k -= NY;
    if (k < NE) return m->g + k;
    k -= NE;
    return k < NE ? m->now.when + k : NULL;
}

/* Whether a value reference follows from others, so that it is computed before it is told. */
static int follows(const Model *m, unsigned vr) {
    return vr > NX + NU + NP || (m->now.mode == INITIALISING && vr >= 1 && vr <= NX);
}

static int get_real(Model *m, unsigned vr, double *value) {
    const double *found;
    if (follows(m, vr) && vr <= NX + NU + NP + NX + NY + NE && !refresh(m)) return 0;
    found = real_of(m, vr);
    if (!found) {
        say(m, SAID_ERROR, "There is no real variable with this value reference.");
        return 0;
    }
    *value = *found;
    return 1;
}

static int set_real(Model *m, unsigned vr, double value) {
    const int before = m->now.mode == INSTANTIATED || m->now.mode == INITIALISING;
    const unsigned first_input = 1 + NX, first_parameter = first_input + NU;
    if (!isfinite(value)) {
        say(m, SAID_ERROR, "A variable is set to a number that is not finite.");
        return 0;
    }
    if (vr >= 1 && vr < first_input && before) {
        m->now.given[vr - 1] = value;
        m->now.is_settled = 0;
    } else if (vr >= first_input && vr < first_parameter) {
        m->now.u[vr - first_input] = value;
    } else if (vr >= first_parameter && vr < first_parameter + NP &&
               (before || TUNABLE[vr - first_parameter])) {
        m->now.p[vr - first_parameter] = value;
        m->now.is_settled = 0;
    } else {
        say(m, SAID_ERROR, "A variable is set that cannot be set now: inputs can always, parameters and the state to "
                           "begin with before the end of the initialisation.");
        return 0;
    }
    m->is_current = 0;
    return 1;
}

static int *integer_of(Model *m, unsigned vr) {
    const unsigned first = 1 + NX + NU + NP + NX + NY + NE + NE;
    return vr >= first && vr < first + NE ? m->now.count + (vr - first) : NULL;
}

#endif
