/* Closing loops: the least changes of positions and velocities that do it.

   Errors of constraints are measured by ROWS and changes of velocity components by UNITS, so that they are radians and
   lengths of the mechanism. Constraints that depend on others are left out where they are met. */
#ifndef CATENA_CLOSING_H
#define CATENA_CLOSING_H

/* Rows that are shorter than this part of the longest one depend on those that were taken before. */
#define DEPENDENT 1e-9
/* Loops count as closed below this, and as open above the second number. */
#define CLOSED 1e-13
#define OPEN 1e-9

/* The least x with A x = b, by orthogonalising the rows of A, the longest one that is left first. A (rows x NV) and b
   are overwritten. */
static void least_change(double *A, double *b, int rows, double *x) {
    double longest = 0.0;
    int taken[ROOM(NG)];
    for (int i = 0; i < NV; i++) x[i] = 0.0;
    for (int r = 0; r < rows; r++) taken[r] = 0;
    for (int step = 0; step < rows && step < NV; step++) {
        int best = -1;
        double most = 0.0, c;
        for (int r = 0; r < rows; r++) {
            double size = 0.0;
            if (taken[r]) continue;
            for (int i = 0; i < NV; i++) size += A[r * NV + i] * A[r * NV + i];
            if (size > most) {
                most = size;
                best = r;
            }
        }
        most = sqrt(most);
        if (step == 0) longest = most;
        if (best < 0 || !(most > DEPENDENT * longest)) return;
        taken[best] = 1;
        for (int i = 0; i < NV; i++) A[best * NV + i] /= most;
        c = b[best] / most;
        for (int i = 0; i < NV; i++) x[i] += c * A[best * NV + i];
        for (int r = 0; r < rows; r++) {
            double along = 0.0;
            if (taken[r]) continue;
            for (int i = 0; i < NV; i++) along += A[r * NV + i] * A[best * NV + i];
            for (int i = 0; i < NV; i++) A[r * NV + i] -= along * A[best * NV + i];
            b[r] -= along * c;
        }
    }
}

/* The change of velocity components that takes the errors e away, where those with `held` do not change. */
static void change_for(Model *m, const double *q, const double *e, const unsigned char *held, double *change) {
    double *J = m->J, b[ROOM(NG)];
    closure_jacobian(q, m->now.p, J);
    for (int r = 0; r < NG; r++) {
        b[r] = -e[r] / ROWS[r];
        for (int i = 0; i < NV; i++) J[r * NV + i] *= held && held[i] ? 0.0 : UNITS[i] / ROWS[r];
    }
    least_change(J, b, NG, change);
    for (int i = 0; i < NV; i++) change[i] *= UNITS[i];
}

static double largest_error(const double *e) {
    double most = 0.0;
    for (int r = 0; r < NG; r++) {
        const double size = fabs(e[r] / ROWS[r]);
        if (!(size <= most)) most = size;
    }
    return most;
}

/* Close the positions q by Newton's method. Returns how far they are open afterwards. */
static double close_positions(Model *m, double *q, const unsigned char *held) {
    double e[ROOM(NG)], opening[ROOM(NG)], still[ROOM(NV)] = {0.0}, best[ROOM(NQ)], error = HUGE_VAL;
    normalise(q);
    memcpy(best, q, NQ * sizeof *q);
    for (int round = 0; round < 60; round++) {
        double change[ROOM(NV)], dq[ROOM(NQ)], now, far = 0.0;
        closure(q, still, m->now.p, e, opening);
        now = largest_error(e);
        if (now < error) {
            error = now;
            memcpy(best, q, NQ * sizeof *q);
        }
        if (!(now > CLOSED) || (round > 8 && now > 0.5 * error && error < OPEN)) break;
        change_for(m, q, e, held, change);
        for (int i = 0; i < NV; i++) far = fmax(far, fabs(change[i] / UNITS[i]));
        if (!isfinite(far)) break;
        /* Steps far away are not to be trusted. */
        if (far > 0.4)
            for (int i = 0; i < NV; i++) change[i] *= 0.4 / far;
        rate(q, change, dq);
        for (int i = 0; i < NQ; i++) q[i] += dq[i];
        normalise(q);
    }
    memcpy(q, best, NQ * sizeof *q);
    return error;
}

/* The size of velocities, in radians and lengths a second, 1 at least. */
static double pace(const double *v) {
    double most = 1.0;
    for (int i = 0; i < NV; i++) most = fmax(most, fabs(v[i] / UNITS[i]));
    return most;
}

/* Make the velocities v those of closed loops. Returns how fast loops open afterwards, beside the size of v. */
static double close_velocities(Model *m, const double *q, double *v, const unsigned char *held) {
    double e[ROOM(NG)], opening[ROOM(NG)], error = 0.0;
    const double size = pace(v);
    for (int round = 0; round < 3; round++) {
        double change[ROOM(NV)];
        closure(q, v, m->now.p, e, opening);
        error = largest_error(opening) / size;
        if (!(error > CLOSED)) break;
        change_for(m, q, opening, held, change);
        for (int i = 0; i < NV; i++) v[i] += change[i];
    }
    return error;
}

/* The state with its loops closed, after a step has opened them a little. */
static void project(Model *m, double *x) {
    if (NG > 0) {
        close_positions(m, x, NULL);
        close_velocities(m, x, x + NQ, NULL);
    } else {
        normalise(x);
    }
}

/* How far loops are open, or how fast they open beside the size of the velocities. */
static double gap_of(const Model *m, const double *x) {
    double e[ROOM(NG)], opening[ROOM(NG)], unit[ROOM(NQ)];
    if (NG == 0) return 0.0;
    memcpy(unit, x, NQ * sizeof *x);
    normalise(unit);
    closure(unit, x + NQ, m->now.p, e, opening);
    return fmax(largest_error(e), largest_error(opening) / pace(x + NQ));
}

/* Baumgarte's feedback: accelerations that let gaps and their rates die away with the rate STABILISATION. */
static void pull_together(Model *m, const double *q, const double *v, double *vdot) {
    double e[ROOM(NG)], opening[ROOM(NG)], change[ROOM(NV)];
    if (NG == 0) return;
    closure(q, v, m->now.p, e, opening);
    for (int r = 0; r < NG; r++) e[r] = STABILISATION * (2.0 * opening[r] + STABILISATION * e[r]);
    change_for(m, q, e, NULL, change);
    for (int i = 0; i < NV; i++) vdot[i] += change[i];
}

/* The velocity components whose joints were given other numbers than the mechanism begins with, and those that `first`
   marks. Positions are looked at from 0, velocities from NQ; entry k of a state belongs to MOVED[k] components from
   MOVED_BY[k] on. */
static void mark(const double *given, int from, const unsigned char *first, unsigned char *held) {
    for (int i = 0; i < NV; i++) held[i] = first ? first[i] : 0;
    for (int k = from; k < (from ? NX : NQ); k++)
        if (given[k] != START[k])
            for (int i = MOVED_BY[k]; i < MOVED_BY[k] + MOVED[k]; i++) held[i] = 1;
}

/* The constraint that is violated most. */
static int widest(const Model *m) {
    double e[ROOM(NG)], opening[ROOM(NG)];
    int found = 0;
    if (NG == 0) return 0;
    closure(m->now.x, m->now.x + NQ, m->now.p, e, opening);
    for (int r = 1; r < NG; r++)
        if (fabs(e[r] / ROWS[r]) > fabs(e[found] / ROWS[found])) found = r;
    return found;
}

/* The state to begin with: what was given, with its loops closed.

   Joints that the exporter placed, and those that were given other numbers than the mechanism begins with, stay where
   they are; if that cannot be, only the latter do. */
static int settle(Model *m) {
    State *s = &m->now;
    unsigned char held[ROOM(NV)];
    double gap = 0.0;
    char words[400];
    if (s->is_settled) return 1;
    for (int attempt = 0; attempt < 2; attempt++) {
        memcpy(s->x, s->given, sizeof s->x);
        normalise(s->x);
        if (NG == 0) break;
        mark(s->given, 0, attempt ? NULL : PLACED, held);
        gap = close_positions(m, s->x, held);
        if (gap > OPEN) continue;
        mark(s->given, NQ, attempt ? NULL : DRIVEN, held);
        gap = close_velocities(m, s->x, s->x + NQ, held);
        if (!(gap > OPEN)) break;
        /* Given velocities that do not go together give way to the nearest ones that do. */
        memcpy(s->x + NQ, s->given + NQ, NV * sizeof *s->x);
    }
    if (gap > OPEN || !all_finite(s->x, NX)) {
        snprintf(words, sizeof words,
                 "The loops of the mechanism cannot be closed with these parameters and this state to begin with: "
                 "%.120s leaves a gap of %g (radians and lengths of %g m). Set parameters or start values back.",
                 CONSTRAINTS[widest(m)], gap, LENGTH);
        say(m, SAID_ERROR, words);
        return 0;
    }
    s->is_settled = 1;
    m->is_current = 0;
    return 1;
}

#endif
