/* Directional derivatives: how what follows from a state changes with states, inputs and parameters. */
#ifndef CATENA_SLOPES_H
#define CATENA_SLOPES_H

#include "model.h"

#if HAS_SLOPES
/* The change dx' of the derivatives and dy of the outputs for changes dx, du and dp, at closed loops. */
static void change_along(Model *m, const double *dx, const double *du, const double *dp, double *ddx, double *dy) {
    const State *s = &m->now;
    double q[ROOM(NQ)], dq[ROOM(NQ)], da[ROOM(NV)];
    memcpy(q, s->x, sizeof(double) * NQ);
    normalise(q);
    memcpy(dq, dx, sizeof(double) * NQ);
    for (int k = 0; k < NROTATIONS; k++) {
        /* What makes a quaternion longer is taken away where it is read. */
        const double *r = s->x + ROTATIONS[k], *unit = q + ROTATIONS[k];
        double *d = dq + ROTATIONS[k], along = 0.0, length = 0.0;
        for (int i = 0; i < 4; i++) {
            along += unit[i] * d[i];
            length += unit[i] * r[i];
        }
        for (int i = 0; i < 4; i++) d[i] = (d[i] - along * unit[i]) / length;
    }
    rate_slope(q, s->x + NQ, dq, dx + NQ, ddx);
    acceleration_slope(q, s->x + NQ, s->u, s->p, dq, dx + NQ, du, dp, da);
    memcpy(ddx + NQ, da, sizeof(double) * NV);
    outputs_slope(q, s->x + NQ, m->a, s->u, s->p, dq, dx + NQ, da, du, dp, dy);
    if (!m->holds_closed) return;
    if (NG > 0) {
        double e[ROOM(NG)], opening[ROOM(NG)], change[ROOM(NV)];
        closure_slope(q, s->x + NQ, s->p, dq, dx + NQ, dp, e, opening);
        for (int r = 0; r < NG; r++) e[r] = STABILISATION * (2.0 * opening[r] + STABILISATION * e[r]);
        change_for(m, q, e, NULL, change);
        for (int i = 0; i < NV; i++) ddx[NQ + i] += change[i];
    }
    for (int k = 0; k < NROTATIONS; k++) {
        const double *r = s->x + ROTATIONS[k], *d = dx + ROTATIONS[k];
        double along = 0.0, more = -1.0;
        for (int i = 0; i < 4; i++) {
            along += r[i] * d[i];
            more += r[i] * r[i];
        }
        for (int i = 0; i < 4; i++) ddx[ROTATIONS[k] + i] -= STABILISATION * (along * r[i] + 0.5 * more * d[i]);
    }
}
#endif

/* The changes of unknown variables for changes `seed` of known ones, by value references. */
static int directional(Model *m, const unsigned *unknown, size_t n_unknown, const unsigned *known, size_t n_known,
                       const double *seed, double *result) {
#if HAS_SLOPES
    double along[NX + NU + NP], ddx[NX], dy[ROOM(NY)];
    memset(along, 0, sizeof along);
    if (m->now.mode == INSTANTIATED || (m->now.mode == INITIALISING && NG > 0)) {
        say(m, SAID_ERROR, "Directional derivatives are told after the initialisation.");
        return 0;
    }
    if (!refresh(m)) return 0;
    for (size_t k = 0; k < n_known; k++) {
        if (known[k] < 1 || known[k] > NX + NU + NP) {
            say(m, SAID_ERROR, "Directional derivatives are by states, inputs and parameters.");
            return 0;
        }
        along[known[k] - 1] += seed[k];
    }
    change_along(m, along, along + NX, along + NX + NU, ddx, dy);
    for (size_t k = 0; k < n_unknown; k++) {
        const long at = (long)unknown[k] - 1, first = NX + NU + NP;
        if (at >= 0 && at < NX) {
            result[k] = along[at];
        } else if (at >= first && at < first + NX) {
            result[k] = ddx[at - first];
        } else if (at >= first + NX && at < first + NX + NY) {
            result[k] = dy[at - first - NX];
        } else {
            say(m, SAID_ERROR, "Directional derivatives are of derivatives of states and of outputs.");
            return 0;
        }
    }
    return 1;
#else
    (void)unknown;
    (void)n_unknown;
    (void)known;
    (void)n_known;
    (void)seed;
    (void)result;
    say(m, SAID_ERROR, "This FMU was exported without directional derivatives.");
    return 0;
#endif
}

#endif
