/* Steps in time for co-simulation: Dormand and Prince 5(4) with steps of its own choice, or Runge and Kutta 4 with steps
   of a given length. Loops are closed after every step. */
#ifndef CATENA_STEPPING_H
#define CATENA_STEPPING_H

#include "model.h"

static const double A21 = 1.0 / 5.0, A31 = 3.0 / 40.0, A32 = 9.0 / 40.0;
static const double A41 = 44.0 / 45.0, A42 = -56.0 / 15.0, A43 = 32.0 / 9.0;
static const double A51 = 19372.0 / 6561.0, A52 = -25360.0 / 2187.0, A53 = 64448.0 / 6561.0, A54 = -212.0 / 729.0;
static const double A61 = 9017.0 / 3168.0, A62 = -355.0 / 33.0, A63 = 46732.0 / 5247.0, A64 = 49.0 / 176.0,
                    A65 = -5103.0 / 18656.0;
static const double B1 = 35.0 / 384.0, B3 = 500.0 / 1113.0, B4 = 125.0 / 192.0, B5 = -2187.0 / 6784.0, B6 = 11.0 / 84.0;
static const double E1 = 71.0 / 57600.0, E3 = -71.0 / 16695.0, E4 = 71.0 / 1920.0, E5 = -17253.0 / 339200.0,
                    E6 = 22.0 / 525.0, E7 = -1.0 / 40.0;

/* The state y after a step h from x, whose derivatives are k1. Returns the error beside what is allowed, 0 where the
   method does not tell it, and a number that is not finite where there is none. */
static double take(Model *m, const double *x, const double *k1, double h, double *y) {
    double k2[NX], k3[NX], k4[NX], k5[NX], k6[NX], k7[NX], a[ROOM(NV)], sum = 0.0;
    int ok = 1;
    if (IS_FIXED) {
        for (int i = 0; i < NX; i++) y[i] = x[i] + 0.5 * h * k1[i];
        ok = ok && derive(m, y, k2, a);
        for (int i = 0; i < NX; i++) y[i] = x[i] + 0.5 * h * k2[i];
        ok = ok && derive(m, y, k3, a);
        for (int i = 0; i < NX; i++) y[i] = x[i] + h * k3[i];
        ok = ok && derive(m, y, k4, a);
        for (int i = 0; i < NX && ok; i++) y[i] = x[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
        return ok ? 0.0 : HUGE_VAL;
    }
    for (int i = 0; i < NX; i++) y[i] = x[i] + h * A21 * k1[i];
    ok = ok && derive(m, y, k2, a);
    for (int i = 0; i < NX && ok; i++) y[i] = x[i] + h * (A31 * k1[i] + A32 * k2[i]);
    ok = ok && derive(m, y, k3, a);
    for (int i = 0; i < NX && ok; i++) y[i] = x[i] + h * (A41 * k1[i] + A42 * k2[i] + A43 * k3[i]);
    ok = ok && derive(m, y, k4, a);
    for (int i = 0; i < NX && ok; i++) y[i] = x[i] + h * (A51 * k1[i] + A52 * k2[i] + A53 * k3[i] + A54 * k4[i]);
    ok = ok && derive(m, y, k5, a);
    for (int i = 0; i < NX && ok; i++)
        y[i] = x[i] + h * (A61 * k1[i] + A62 * k2[i] + A63 * k3[i] + A64 * k4[i] + A65 * k5[i]);
    ok = ok && derive(m, y, k6, a);
    for (int i = 0; i < NX && ok; i++)
        y[i] = x[i] + h * (B1 * k1[i] + B3 * k3[i] + B4 * k4[i] + B5 * k5[i] + B6 * k6[i]);
    ok = ok && derive(m, y, k7, a);
    for (int i = 0; i < NX && ok; i++) {
        const double e = h * (E1 * k1[i] + E3 * k3[i] + E4 * k4[i] + E5 * k5[i] + E6 * k6[i] + E7 * k7[i]);
        const double allowed = ATOL * NOMINAL[i] + m->now.tolerance * fmax(fabs(x[i]), fabs(y[i]));
        sum += (e / allowed) * (e / allowed);
    }
    return ok ? sqrt(sum / NX) : HUGE_VAL;
}

/* The state after a step, with its loops closed. */
static double take_closed(Model *m, const double *x, const double *k1, double h, double *y) {
    const double error = take(m, x, k1, h, y);
    if (isfinite(error)) project(m, y);
    return error;
}

#include "crossing.h"

/* A length for the first step, by how quickly the state and its derivatives change. */
static double first_step(Model *m, const double *x, const double *k1) {
    double y[NX], k2[NX], a[ROOM(NV)], d0 = 0.0, d1 = 0.0, d2 = 0.0, h;
    for (int i = 0; i < NX; i++) {
        const double allowed = ATOL * NOMINAL[i] + m->now.tolerance * fabs(x[i]);
        d0 += (x[i] / allowed) * (x[i] / allowed);
        d1 += (k1[i] / allowed) * (k1[i] / allowed);
    }
    d0 = sqrt(d0 / NX);
    d1 = sqrt(d1 / NX);
    h = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
    for (int i = 0; i < NX; i++) y[i] = x[i] + h * k1[i];
    if (!derive(m, y, k2, a)) return h;
    for (int i = 0; i < NX; i++) {
        const double allowed = ATOL * NOMINAL[i] + m->now.tolerance * fabs(x[i]);
        d2 += (k2[i] - k1[i]) / allowed * ((k2[i] - k1[i]) / allowed);
    }
    d2 = sqrt(d2 / NX) / h;
    d1 = fmax(d1, d2);
    return fmin(100.0 * h, d1 <= 1e-15 ? fmax(1e-6, 1e-3 * h) : pow(0.01 / d1, 0.2));
}

/* Move on to the time `end`, or to a terminal event before it. */
static int advance(Model *m, double end) {
    State *s = &m->now;
    const double begin_time = s->time, span = end - begin_time;
    const double least = 16.0 * DBL_EPSILON * fmax(1.0, fmax(fabs(begin_time), fabs(end)));
    const int steps = IS_FIXED ? (int)fmax(1.0, ceil(span / STEP - 1e-9)) : 0;
    char words[200];
    int done = 0;
    if (!(span > 0.0) || s->is_terminated) return 1;
    while (!s->is_terminated && s->time < end) {
        double k1[NX], a[ROOM(NV)], y[NX], h, error;
        int is_last;
        if (!derive(m, s->x, k1, a)) break;
        if (IS_FIXED) {
            is_last = done == steps - 1;
            h = is_last ? end - s->time : begin_time + span * (done + 1) / steps - s->time;
        } else {
            if (!(s->next_step > 0.0)) s->next_step = first_step(m, s->x, k1);
            is_last = s->time + 1.000001 * s->next_step >= end;
            h = is_last ? end - s->time : s->next_step;
        }
        error = take_closed(m, s->x, k1, h, y);
        if (!(error <= 1.0)) {
            const double factor = isfinite(error) ? fmax(0.2, 0.9 * pow(error, -0.2)) : 0.1;
            s->next_step = h * factor;
            if (IS_FIXED || !(s->next_step > least)) break;
            continue;
        }
        if (!IS_FIXED) {
            const double factor = error > 0.0 ? fmin(5.0, 0.9 * pow(error, -0.2)) : 5.0;
            /* A step that was cut short at the end says little about the next one. */
            if (!is_last || factor < 1.0 || h * factor > s->next_step) s->next_step = h * fmax(factor, 0.2);
        }
        done++;
        if (!happen(m, k1, h, is_last ? end : s->time + h, y)) break;
    }
    m->is_current = 0;
    if (s->is_terminated || !(s->time < end)) return 1;
    snprintf(words, sizeof words,
             "The motion cannot be followed beyond t = %.9g s: accelerations are not finite, or steps became too "
             "short.", s->time);
    say(m, SAID_ERROR, words);
    return 0;
}

/* Whether the model is where a step is said to begin. */
static int is_at(const Model *m, double time) {
    const double apart = fabs(time - m->now.time);
    if (m->now.mode != STEPPING) {
        say(m, SAID_ERROR, "A step is asked for outside of the step mode.");
        return 0;
    }
    if (apart <= 1e-9 * fmax(1.0, fabs(time))) return 1;
    say(m, SAID_ERROR, "A step is asked for from another time than the last one ended at.");
    return 0;
}

#endif
