"""Forces, or impulses, of contacts that push and rub but never pull: Coulomb's law for several contacts at once.

Of each contact the normal part n and the tangential part t of f obey, with r = W f + c what the contact does then
(acceleration or velocity, normal and tangential),

    f_n >= 0,  r_n >= 0,  f_n r_n = 0;      |f_t| <= mu f_n,  and r_t opposite to f_t where |f_t| = mu f_n.

A contact that slides already has f_t = -mu f_n d with the direction d of its slip. It is a nonlinear complementarity
problem. Sweeps from contact to contact, each solved by itself, come near to a solution and so tell which contacts open,
stick and slide; for that set the equations are solved exactly by Newton's method, with the least forces where there are
more than needed, and the result is accepted only if it obeys the law. If it does not, more sweeps follow, and at last
all sets of a few contacts are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import product
from math import hypot, inf, isfinite
from typing import NamedTuple

import numpy as np

from catena.errors import SimulationError
from catena.simulation.contacts.one_contact import Force, OneContact
from catena.simulation.contacts.regular import WELL, independent, is_regular, nearly_solved, straight
from catena.thresholds import RANK_TOUCHING

# Sweeps after which the exact solution of the set they suggest is tried.
SWEEPS = (4, 12, 40, 120, 400, 1200)
# Contacts of which all sets are tried.
FEW = 4
# Steps of Newton's method for one set, and what is left of its equations then, as a part of what is summed up in them.
NEWTON, EXACT = 16, 1e-11
# Parts of the largest force, and of what is summed up in a motion, that are none.
NOTHING, STILL = 1e-9, 1e-9
# Times as much is allowed where nothing else is found.
LOOSE = 1e3
# Sweeps that change forces by less than this part of the largest have come to an end.
SETTLED = 1e-14
# Forces that are so many times what stops each contact by itself grow without end from sweep to sweep.
ENDLESS = 1e15


class JammedError(SimulationError):
    """Raised where friction of a contact that slides leaves no force that fits (Painleve's paradox)."""


OPEN, STICK, SLIDE = "open", "stick", "slide"


class Pressed(NamedTuple):
    """What contacts do: forces f (contacts, 3), tangential then normal, and what remains, r (contacts, 3); `modes` are
    "stick", "slide" or "open", `slip` (contacts, 2) the directions of those that slide."""

    f: np.ndarray
    r: np.ndarray
    modes: tuple[str, ...]
    slip: np.ndarray


def pressed(
    W: np.ndarray,
    c: np.ndarray,
    mu: np.ndarray,
    sliding: Sequence[np.ndarray | None],
    names: Sequence[str],
    start: np.ndarray | None = None,
) -> Pressed:
    """Return the forces of contacts with the mobility W (contacts, 3, contacts, 3), c (contacts, 3), coefficients mu
    (contacts,) and directions (2,) of those that slide already, None for the others; `start` (contacts, 3) are forces
    to begin with. A SimulationError tells where no forces obey the law. Contacts that do not feel each other, as those
    of bodies apart, are solved by themselves."""
    quick, wanted = _all_hold(W, c, mu, sliding)
    if quick is not None:
        return quick
    groups = independent(W)
    if len(groups) == 1:
        return _together(W, c, mu, sliding, names, start, wanted)
    f, r, slip, modes = np.zeros_like(c), np.zeros_like(c), np.zeros((len(c), 2)), [OPEN] * len(c)
    for group in groups:
        found = _together(
            W[group][:, :, group], c[group], mu[group], [sliding[k] for k in group], [names[k] for k in group],
            None if start is None else start[group],
        )  # fmt: skip
        f[group], r[group], slip[group] = found.f, found.r, found.slip
        for k, mode in zip(group, found.modes, strict=True):
            modes[k] = mode
    return Pressed(f, r, tuple(modes), slip)


def _all_hold(
    W: np.ndarray, c: np.ndarray, mu: np.ndarray, sliding: Sequence[np.ndarray | None]
) -> tuple[Pressed | None, np.ndarray | None]:
    """Return the forces with which all contacts stay closed, those that do not slide yet sticking, if they press well
    within what the law allows, as most do; None if not, and then these forces, if contacts are not redundant."""
    k, rubbing = len(c), mu.tolist()
    if min(rubbing, default=0.0) <= 0.0:
        return None, None
    flat, free = W.reshape(3 * k, -1), c.reshape(-1)
    P, rows, modes = _closed(sliding, rubbing)
    y = straight(flat, P, rows, free)
    if y is None:
        return None, None
    z = y if P is None else P @ y
    f = z.reshape(k, 3)
    pushes = f.tolist()
    most = max(map(abs, z.tolist()))
    within = True
    for (x, y, n), m, mode in zip(pushes, rubbing, modes, strict=True):
        rubs = hypot(x, y) if mode == STICK else 0.0
        within &= n > WELL * most and rubs < (1.0 - 1e-7) * m * n
    if not within:
        return None, f
    slip = np.zeros((k, 2))
    if P is not None:
        for i, d in enumerate(sliding):
            if d is not None:
                slip[i] = d
    return Pressed(f, (free + flat @ z).reshape(k, 3), modes, slip), None


def _closed(
    sliding: Sequence[np.ndarray | None], mu: Sequence[float]
) -> tuple[np.ndarray | None, list[int] | None, tuple[str, ...]]:
    """Return the forces of contacts that all stay closed as columns, which motions they make nothing of, both None for
    all where none slides, and the modes."""
    modes = tuple(STICK if d is None else SLIDE for d in sliding)
    if SLIDE not in modes:
        return None, None, modes
    k, rows = len(modes), list[int]()
    P = np.zeros((3 * k, 3 * k))
    for i, d in enumerate(sliding):
        at = len(rows)
        if d is None:
            P[3 * i, at] = P[3 * i + 1, at + 1] = P[3 * i + 2, at + 2] = 1.0
            rows += [3 * i, 3 * i + 1, 3 * i + 2]
        else:
            P[3 * i : 3 * i + 3, at] = -mu[i] * d[0], -mu[i] * d[1], 1.0
            rows.append(3 * i + 2)
    return P[:, : len(rows)], rows, modes


def _together(
    W: np.ndarray,
    c: np.ndarray,
    mu: np.ndarray,
    sliding: Sequence[np.ndarray | None],
    names: Sequence[str],
    start: np.ndarray | None,
    wanted: np.ndarray | None = None,
) -> Pressed:
    """Return the forces of contacts that feel each other, as `pressed` does; `wanted` (contacts, 3) are those with
    which all would stay closed and stick, if that is known."""
    law = CoulombLaw(W, c, mu, sliding)
    closed = [STICK if d is None else SLIDE for d in sliding]
    if wanted is None:
        # Where contacts are redundant these are the least ones.
        wanted = law.exact(closed, np.zeros_like(c))
    found = law.obeyed(wanted)
    if found is None and wanted is not None:
        # What would pull opens, what would leave its cone slides, as a rule.
        modes = law.giving_way(wanted)
        found = None if modes == closed else law.obeyed(law.exact(modes, wanted))
    if found is not None:
        return found
    f = np.zeros_like(c) if start is None else start.copy()
    if start is not None and start.any():
        # Contacts go on as they did, as a rule.
        found = law.obeyed(law.exact(law.outcome(f).modes, f))
        if found is not None:
            return found
    found, f = law.swept(f, OneContact.sticking)
    if found is None:
        found, _ = law.swept(np.zeros_like(c), OneContact.near)
    if found is not None:
        return found
    for modes in law.sets():
        found = law.obeyed(law.exact(modes, f))
        if found is not None:
            return found
    # Contacts that contradict each other by a little, as their positions do, are held as well as they can be.
    for trial in (law.exact(law.outcome(f, LOOSE).modes, f), f):
        found = law.obeyed(trial, LOOSE)
        if found is not None:
            return found
    jams = [name for name, own in zip(names, law.own, strict=True) if own is not None and own <= 0.0]
    if jams:
        raise JammedError(
            f"The contact {jams[0]!r} jams while it slides: its friction presses it on faster than its force can hold "
            "it off (Painleve's paradox), so no force of a rigid contact fits. Lower its friction, or give way where "
            "it touches."
        )
    who = ", ".join(repr(name) for name in names)
    raise SimulationError(
        f"No forces were found with which the contacts {who} press, rub and hold together: they may jam (Painleve's "
        "paradox) or over-determine the motion. Lower their friction, or leave out contacts that say the same."
    )


class CoulombLaw:
    """Coulomb's law for some contacts, as `pressed` is given them."""

    def __init__(
        self, W: np.ndarray, c: np.ndarray, mu: np.ndarray, sliding: Sequence[np.ndarray | None]
    ) -> None:
        self.k = len(c)
        self.W, self.c, self.mu, self.sliding = W.reshape(3 * self.k, -1), c.reshape(-1), mu, sliding
        blocks = [self.W[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] for i in range(self.k)]
        self.blocks = np.array(blocks)
        self.along = [
            None if d is None else (float(-m * d[0]), float(-m * d[1]), 1.0)
            for d, m in zip(sliding, mu.tolist(), strict=True)
        ]
        # What the normal part of a contact that slides gains by its own force; not positive where friction wins.
        self.own = [
            None if a is None else _positive(float(b[2] @ np.array(a)), float(np.abs(b[2]) @ np.abs(a)))
            for a, b in zip(self.along, blocks, strict=True)
        ]

    @cached_property
    def inverse(self) -> np.ndarray:
        """Return the inverses (contacts, 3, 3) of what each contact does by itself."""
        if np.all(self.sizes_of_blocks[:, 0] > WELL * self.sizes_of_blocks[:, -1]):
            return np.linalg.inv(self.blocks)
        return np.linalg.pinv(self.blocks, rcond=RANK_TOUCHING, hermitian=True)

    @cached_property
    def sizes_of_blocks(self) -> np.ndarray:
        """Return the eigenvalues (contacts, 3) of what each contact does by itself, in order."""
        return np.linalg.eigvalsh(self.blocks)

    @cached_property
    def step(self) -> np.ndarray:
        """Return how far a projection may go, (contacts,)."""
        return 1.0 / np.maximum(self.sizes_of_blocks[:, -1], 1e-300)

    def rest(self, f: np.ndarray) -> np.ndarray:
        """Return what contacts do under forces f (contacts, 3), (contacts, 3)."""
        return (self.c + self.W @ f.reshape(-1)).reshape(self.k, 3)

    def sizes(self, f: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the largest force, and what is summed up in the motions of contacts (contacts,), the largest of all
        where it is next to nothing."""
        return _sizes(self.W, self.c, f)

    def swept(self, f: np.ndarray, alone: Callable[..., Force]) -> tuple[Pressed | None, np.ndarray]:
        """Return the forces to which sweeps from f (contacts, 3) lead that find the force of each contact `alone`, if
        they are found, and where the sweeps end."""
        for sweeps in SWEEPS:
            f, change = self._swept(f, sweeps, alone)
            # Where contacts are redundant the least forces of a set may pull although others do not.
            found = self.obeyed(self.exact(self.outcome(f).modes, f)) or self.obeyed(f)
            if found is not None or change <= SETTLED or not isfinite(change):
                return found, f
        return None, f

    def _swept(self, f: np.ndarray, sweeps: int, alone: Callable[..., Force]) -> tuple[np.ndarray, float]:
        """Return forces after so many sweeps, and the last change as a part of the largest: none and infinity where
        they grow without end."""
        forces, r, change = f.tolist(), self.rest(f).reshape(-1).tolist(), 0.0
        columns, single = self.columns, self.single
        most = float((self.step * np.abs(self.c.reshape(-1, 3)).max(axis=1)).max())
        endless = ENDLESS * max(most, float(np.abs(f).max()), 1e-300)
        for _ in range(sweeps):
            most, size = 0.0, 1e-300
            for i in range(self.k):
                x, y, n = before = forces[i]
                new = alone(single[i], x, y, n, r[3 * i : 3 * i + 3])
                dx, dy, dn = new[0] - before[0], new[1] - before[1], new[2] - before[2]
                forces[i] = new
                if dx or dy or dn:
                    r = [z + a * dx + b * dy + c * dn for z, (a, b, c) in zip(r, columns[i], strict=True)]
                most = max(most, abs(dx), abs(dy), abs(dn))
                size = max(size, abs(new[0]), abs(new[1]), abs(new[2]))
            if size > endless:
                return np.zeros_like(f), inf
            change = most / size
            if change <= SETTLED:
                break
        return np.array(forces).reshape(self.k, 3), change

    @cached_property
    def columns(self) -> list[list[list[float]]]:
        """Return what the forces of each contact do at all, (contacts, 3 contacts, 3), as plain numbers."""
        return self.W.reshape(-1, self.k, 3).swapaxes(0, 1).tolist()

    @cached_property
    def single(self) -> list[OneContact]:
        """Return each contact by itself."""
        rows = (self.blocks.tolist(), self.inverse.tolist(), self.step.tolist(), self.mu.tolist())
        return [OneContact(*row) for row in zip(*rows, self.along, self.own, strict=True)]

    def exact(self, modes: Sequence[str], f: np.ndarray) -> np.ndarray | None:
        """Return the forces (contacts, 3) with which contacts have given modes, from forces near them; None if there
        are none. Those that begin to slide do so where their forces point."""
        k, W, z = self.k, self.W, np.zeros(3 * self.k)
        starts = [i for i in range(k) if modes[i] == SLIDE and self.along[i] is None and self.mu[i] > 0.0]
        columns, kinds, units = [], [], np.eye(3 * k)
        for i in range(k):
            along = self.along[i]
            if modes[i] == OPEN:
                continue
            if modes[i] == SLIDE and along is None and self.mu[i] == 0.0:
                along = (0.0, 0.0, 1.0)
            if along is not None:
                column = np.zeros(3 * k)
                column[3 * i : 3 * i + 3] = along
                columns.append(column)
                kinds.append(3 * i + 2)
            else:
                columns += [units[3 * i], units[3 * i + 1], units[3 * i + 2]]
                kinds += [3 * i, 3 * i + 1, 3 * i + 2]
        if not columns:
            return np.zeros((k, 3))
        P, rows = np.array(columns).T, np.array(kinds)
        if not starts:
            y = straight(W, P, rows, self.c)
            if y is None:
                y = np.linalg.lstsq((W @ P)[rows], -self.c[rows], rcond=RANK_TOUCHING)[0]
            z = P @ y
            return z.reshape(k, 3) if np.isfinite(z).all() else None
        return self._newton(P, rows, starts, f)

    def _newton(
        self, P: np.ndarray, rows: np.ndarray, starts: Sequence[int], f: np.ndarray
    ) -> np.ndarray | None:
        """Return forces in the columns of P with which contacts `starts` begin to slide, and the others hold."""
        # Columns are at right angles to each other; those of contacts that begin to slide are their three axes.
        W, z = self.W, P @ ((f.reshape(-1) @ P) / (P * P).sum(axis=0))
        mu, places = self.mu.tolist(), {row: at for at, row in enumerate(rows.tolist())}
        WP, own = W @ P, W[rows]
        held, regular = WP[rows], is_regular(own[:, rows])
        sizes, least_size = np.abs(own), np.abs(self.c[rows]) + 1e-300
        for _ in range(NEWTON):
            r, size = self.c + W @ z, least_size + sizes @ np.abs(z)
            F, J = r[rows], held.copy()
            forces, rates = z.tolist(), r.tolist()
            for i in starts:
                at, x, y = places[3 * i], 3 * i, 3 * i + 1
                (fx, fy, fn), (rx, ry) = forces[x : x + 3], rates[x : x + 2]
                # Slip and force are parallel, and the force is on the cone.
                F[at], F[at + 1] = fx * ry - fy * rx, fx**2 + fy**2 - (mu[i] * fn) ** 2
                J[at] = fx * WP[y] - fy * WP[x]
                J[at, at] += ry
                J[at, at + 1] -= rx
                J[at + 1] = 0.0
                J[at + 1, at : at + 3] = 2.0 * fx, 2.0 * fy, -2.0 * mu[i] ** 2 * fn
                length, speed = max(abs(fx), abs(fy), abs(fn)), max(size[at : at + 3].tolist())
                size[at], size[at + 1] = length * speed + 1e-300, length**2 * max(1.0, mu[i] ** 2) + 1e-300
            F /= size
            if all(abs(x) <= EXACT for x in F.tolist()):
                return z.reshape(-1, 3)
            J /= size[:, None]
            move = nearly_solved(J, -F, regular)
            if not isfinite(float(move.sum())):
                return None
            z = z + P @ move
        return None

    def obeyed(self, f: np.ndarray | None, slack: float = 1.0) -> Pressed | None:
        """Return what contacts do under forces f (contacts, 3) if these obey the law, up to `slack` times what rounding
        leaves; None otherwise."""
        if f is None:
            return None
        found, most, summed = self._seen(f, slack)
        nothing, rows = slack * NOTHING * most, zip(f.tolist(), found.r.tolist(), summed, strict=True)
        for ((x, y, n), (u, v, w), size), mu, along in zip(rows, self.mu.tolist(), self.along, strict=True):
            still = STILL * size
            if n < -nothing or w < -still or (n > nothing and abs(w) > still):
                return None
            if along is None:
                away = hypot(u, v)
                # What slips is rubbed by all that there is, in the opposite direction.
                lacks = x * u + y * v + mu * n * away
                if hypot(x, y) > mu * n + nothing or (away > still and lacks > 10.0 * nothing * away):
                    return None
        return found

    def outcome(self, f: np.ndarray, slack: float = 1.0) -> Pressed:
        """Return what contacts do under forces f (contacts, 3); motions up to `slack` times what rounding leaves are
        none."""
        return self._seen(f, slack)[0]

    def _seen(self, f: np.ndarray, slack: float) -> tuple[Pressed, float, list[float]]:
        """Return what `outcome` does, the largest force, and `slack` times what is summed up in the motions of
        contacts."""
        most, parts = self.sizes(f)
        summed = (slack * parts).tolist()
        return _outcome(f, self.rest(f), self.mu, self.sliding, most, lambda: summed), most, summed

    def giving_way(self, f: np.ndarray) -> list[str]:
        """Return the modes of contacts that open where they would pull under forces f (contacts, 3), slide where they
        would leave their cones, and stick otherwise."""
        rows = zip(f.tolist(), self.mu.tolist(), self.along, strict=True)
        return [
            OPEN if n <= 0.0 else STICK if along is None and hypot(x, y) <= mu * n else SLIDE
            for (x, y, n), mu, along in rows
        ]

    def sets(self) -> Iterator[list[str]]:
        """Return all modes that a few contacts may have together, none for many."""
        if self.k > FEW:
            return
        choices = [(OPEN, SLIDE) if a is not None else (OPEN, STICK, SLIDE) for a in self.along]
        yield from (list(modes) for modes in product(*choices))


def told_by(
    mobility: Callable[[], np.ndarray],
    c: np.ndarray,
    mu: np.ndarray,
    sliding: Sequence[np.ndarray | None],
    f: np.ndarray,
    r: np.ndarray,
) -> Pressed:
    """Return what contacts do under forces f (contacts, 3) that obey the law of `pressed` with what remains, r
    (contacts, 3). The `mobility` (contacts, 3, contacts, 3) is asked for where that matters."""

    def sizes() -> list[float]:
        return _sizes(mobility().reshape(c.size, -1), c.reshape(-1), f)[1].tolist()

    return _outcome(f, r, mu, sliding, max(map(abs, f.reshape(-1).tolist()), default=0.0), sizes)


def _sizes(W: np.ndarray, c: np.ndarray, f: np.ndarray) -> tuple[float, np.ndarray]:
    summed = (np.abs(c) + np.abs(W) @ np.abs(f).reshape(-1)).reshape(-1, 3).max(axis=1)
    return max(float(np.abs(f).max(initial=0.0)), 1e-300), np.maximum(
        summed, 1e-6 * summed.max(initial=1e-300)
    )


def _outcome(
    f: np.ndarray,
    r: np.ndarray,
    mu: np.ndarray,
    sliding: Sequence[np.ndarray | None],
    most: float,
    sizes: Callable[[], list[float]],
) -> Pressed:
    """Return what contacts do whose largest force is `most`, and whose motions are sums of so much as `sizes` says,
    which is asked where that matters."""
    modes, slip = list[str](), list[Sequence[float]]()
    rows = zip(f.tolist(), r.tolist(), mu.tolist(), sliding, strict=True)
    for i, ((x, y, n), (u, v, _), m, d) in enumerate(rows):
        along: Sequence[float] = (0.0, 0.0)
        if n <= NOTHING * most:
            mode = OPEN
        elif d is not None:
            mode, along = SLIDE, (float(d[0]), float(d[1]))
        elif m > 0.0 and hypot(x, y) < m * n * (1.0 - 1e-7):
            mode = STICK
        else:
            away = hypot(u, v)
            moves = away > STILL * sizes()[i]
            mode = SLIDE if moves or m <= 0.0 else STICK
            if moves:
                along = u / away, v / away
        modes.append(mode)
        slip.append(along)
    return Pressed(f, r, tuple(modes), np.array(slip).reshape(-1, 2))


def _positive(value: float, size: float) -> float:
    """Return a number, or zero where it is nothing but the rounding of what was summed up in it."""
    return value if abs(value) > 1e-12 * size else 0.0
