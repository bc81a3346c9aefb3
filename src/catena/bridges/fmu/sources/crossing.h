/* Events: times at which a function of time and state changes its sign. */
#ifndef CATENA_CROSSING_H
#define CATENA_CROSSING_H

#include "model.h"

/* Values of an event's function below this part of its largest one are zero but for rounding. */
#define ZERO 1e-10
/* Loops that are further open than this, in radians and lengths, are closed by a jump. */
#define LOOSE 1e-4

/* Whether an event looks for the change to this sign. */
static int is_wanted(int event, int after) {
    return DIRECTION[event] == 0 || DIRECTION[event] == after;
}

static void count_event(Model *m, int event, double time) {
    m->now.count[event] += 1;
    m->now.when[event] = time;
    if (TERMINAL[event]) m->now.is_terminated = 1;
}

/* Note the signs to begin with. */
static void take_sides(Model *m) {
    for (int e = 0; e < NE; e++) {
        m->now.side[e] = m->g[e] > 0.0 ? 1 : m->g[e] < 0.0 ? -1 : 0;
        m->now.reach[e] = fabs(m->g[e]);
    }
}

/* The sign of an event's function, 0 where it is nothing but rounding. */
static int sign_of(Model *m, int event, double g) {
    m->now.reach[event] = fmax(m->now.reach[event], fabs(g));
    if (fabs(g) <= ZERO * m->now.reach[event]) return 0;
    return g > 0.0 ? 1 : -1;
}

/* Whether a function has changed its sign since it was last looked at. */
static int is_crossed(Model *m) {
    for (int e = 0; e < NE; e++) {
        const int sign = sign_of(m, e, m->g[e]);
        if (sign && m->now.side[e] && sign != m->now.side[e]) return 1;
    }
    return 0;
}

/* Count the events at the present state, which a solver has located: a function that is zero there has crossed. */
static void count_crossed(Model *m) {
    for (int e = 0; e < NE; e++) {
        const int before = m->now.side[e];
        int after = sign_of(m, e, m->g[e]);
        if (after == 0) after = m->now.turned[e] == m->now.time ? before : -before;
        if (after == 0 || after == before) continue;
        m->now.side[e] = after;
        m->now.turned[e] = m->now.time;
        if (before && is_wanted(e, after)) count_event(m, e, m->now.time);
    }
}

/* Take over the state y at `end`, after a step h from the present one, whose derivatives are k1. Events on the way are
   located by shorter steps and counted; a terminal one ends the motion where it happens. */
static int happen(Model *m, const double *k1, double h, double end, const double *y) {
    State *s = &m->now;
    double g[ROOM(NE)], first[ROOM(NE)], at[ROOM(NE)], stop = end;
    int crossed[ROOM(NE)], ending = -1;
    if (NE == 0) {
        memcpy(s->x, y, sizeof s->x);
        s->time = end;
        return 1;
    }
    watch(m, s->time, s->x, first);
    watch(m, end, y, g);
    if (!all_finite(g, NE)) return 0;
    for (int e = 0; e < NE; e++) {
        const int after = g[e] > 0.0 ? 1 : g[e] < 0.0 ? -1 : -s->side[e];
        double low = 0.0, high = h, g_low = first[e], g_high = g[e], z[NX], here[ROOM(NE)];
        crossed[e] = s->side[e] && after != s->side[e];
        if (!s->side[e]) s->side[e] = after;
        at[e] = end;
        if (!crossed[e]) continue;
        s->side[e] = after;
        /* Regula falsi with the weight of an end that stays halved, and halves where that is slow. */
        for (int round = 0; round < 80 && high - low > 1e-13 * h && g_high != 0.0; round++) {
            double middle = round % 3 == 2 || g_low * g_high >= 0.0 ? 0.5 * (low + high)
                                                                     : low + (high - low) * g_low / (g_low - g_high);
            if (!(middle > low && middle < high)) middle = 0.5 * (low + high);
            if (!isfinite(take_closed(m, s->x, k1, middle, z))) return 0;
            watch(m, s->time + middle, z, here);
            if (here[e] == 0.0 || (here[e] > 0.0) == (after > 0)) {
                high = middle;
                g_high = here[e];
                g_low *= 0.5;
            } else {
                low = middle;
                g_low = here[e];
                g_high *= 0.5;
            }
        }
        at[e] = high < h ? s->time + high : end;
        crossed[e] = is_wanted(e, after);
        if (crossed[e] && TERMINAL[e] && (ending < 0 || at[e] < stop)) {
            ending = e;
            stop = at[e];
        }
    }
    for (int e = 0; e < NE; e++)
        if (crossed[e] && at[e] <= stop) count_event(m, e, at[e]);
    if (ending >= 0 && stop < end) {
        double z[NX];
        if (!isfinite(take_closed(m, s->x, k1, stop - s->time, z))) return 0;
        memcpy(s->x, z, sizeof s->x);
    } else {
        memcpy(s->x, y, sizeof s->x);
    }
    s->time = stop;
    return 1;
}

/* Where somebody else takes the steps: whether there is something to do that only events may do. Loops that have come
   apart in spite of the feedback are closed in an event, because a state may jump nowhere else. */
static int wants_event(Model *m, int *is_wanted_now) {
    if (!refresh(m)) return 0;
    *is_wanted_now = is_crossed(m) || gap_of(m, m->now.x) > LOOSE;
    return 1;
}

/* What happens in an event. */
static int update(Model *m, int *is_moved) {
    if (!refresh(m)) return 0;
    count_crossed(m);
    if (gap_of(m, m->now.x) > LOOSE) {
        project(m, m->now.x);
        m->is_current = 0;
        *is_moved = 1;
    }
    return 1;
}

#endif
