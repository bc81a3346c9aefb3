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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import hypot

import numpy as np

from catena.errors import SimulationError

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
RANK = 1e-11
# Forces and roots of mobility beyond this part of the largest are there beyond doubt.
WELL = 1e-4
# Contacts that move each other by less than this part of what they move themselves are apart.
APART = 1e-13


class JammedError(SimulationError):
    """Raised where friction of a contact that slides leaves no force that fits (Painleve's paradox)."""


OPEN, STICK, SLIDE = "open", "stick", "slide"


@dataclass(frozen=True, eq=False)
class Pressed:
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
    is_sure, quick = _all_hold(W, c, mu, sliding)
    if quick is not None:
        return quick
    groups = independent(W)
    if len(groups) == 1:
        return _together(W, c, mu, sliding, names, start, is_sure)
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
) -> tuple[bool, Pressed | None]:
    """Return the forces with which all contacts stay closed, those that do not slide yet sticking, if they press well
    within what the law allows, as most do; None if not, and whether that is sure."""
    k = len(c)
    rows, modes = list[int](), list[str]()
    columns, slip = np.zeros((3 * k, 3 * k)), np.zeros((k, 2))
    for i, d in enumerate(sliding):
        if mu[i] <= 0.0:
            return False, None
        at = len(rows)
        if d is None:
            for j in range(3):
                columns[3 * i + j, at + j] = 1.0
            rows += [3 * i, 3 * i + 1, 3 * i + 2]
        else:
            columns[3 * i : 3 * i + 3, at] = -mu[i] * d[0], -mu[i] * d[1], 1.0
            rows.append(3 * i + 2)
            slip[i] = d
        modes.append(STICK if d is None else SLIDE)
    flat, n = W.reshape(3 * k, -1), len(rows)
    own = flat[np.ix_(rows, rows)]
    try:
        spread = np.linalg.cholesky(own).diagonal()
        z = columns[:, :n] @ np.linalg.solve((flat @ columns[:, :n])[rows], -c.reshape(-1)[rows])
    except np.linalg.LinAlgError:
        return False, None
    f = z.reshape(k, 3)
    if spread.min() <= WELL * spread.max() or not np.isfinite(z).all():
        return False, None
    rubs = np.where([d is None for d in sliding], np.hypot(f[:, 0], f[:, 1]), 0.0)
    most = np.abs(f).max()
    if f[:, 2].min() <= WELL * most or np.any(rubs >= (1.0 - 1e-7) * mu * f[:, 2]):
        return bool(f[:, 2].min() < -WELL * most or np.any(rubs > (1.0 + WELL) * mu * f[:, 2])), None
    r = (c.reshape(-1) + flat @ z).reshape(k, 3)
    return True, Pressed(f, r, tuple(modes), slip)


def independent(W: np.ndarray) -> list[list[int]]:
    """Return the groups of contacts, by number, that do not move each other by their forces; at least one."""
    feels = np.abs(W).max(axis=(1, 3), initial=0.0)
    size = np.sqrt(np.diag(feels))
    feels = feels > APART * size[:, None] * size
    if feels.all():
        return [list(range(len(W)))]
    groups: list[list[int]] = []
    left = list(range(len(W)))
    while left:
        group = [left.pop(0)]
        for k in group:
            near = [i for i in left if feels[k, i]]
            group += near
            left = [i for i in left if i not in near]
        groups.append(sorted(group))
    return groups or [[]]


def _together(
    W: np.ndarray,
    c: np.ndarray,
    mu: np.ndarray,
    sliding: Sequence[np.ndarray | None],
    names: Sequence[str],
    start: np.ndarray | None,
    some_give_way: bool = False,
) -> Pressed:
    """Return the forces of contacts that feel each other, as `pressed` does; `some_give_way` says that not all of them
    stay closed and stick."""
    law = Law(W, c, mu, sliding)
    if not some_give_way:
        f = law.exact([STICK if d is None else SLIDE for d in sliding], np.zeros_like(c))
        if f is not None and law.holds(f):
            return law.told(f)
    f = np.zeros_like(c) if start is None else start.copy()
    if start is not None and start.any():
        # Contacts go on as they did, as a rule.
        exact = law.exact(law.told(f).modes, f)
        if exact is not None and law.holds(exact):
            return law.told(exact)
    for sweeps in SWEEPS:
        f, change = law.swept(f, sweeps)
        exact = law.exact(law.told(f).modes, f)
        if exact is not None and law.holds(exact):
            return law.told(exact)
        # Where contacts are redundant the least forces of a set may pull although others do not.
        if law.holds(f):
            return law.told(f)
        if change <= SETTLED:
            break
    for modes in law.sets():
        exact = law.exact(modes, f)
        if exact is not None and law.holds(exact):
            return law.told(exact)
    # Contacts that contradict each other by a little, as their positions do, are held as well as they can be.
    for trial in (law.exact(law.told(f, LOOSE).modes, f), f):
        if trial is not None and law.holds(trial, LOOSE):
            return law.told(trial, LOOSE)
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


class Law:
    """Coulomb's law for some contacts, as `pressed` is given them."""

    def __init__(
        self, W: np.ndarray, c: np.ndarray, mu: np.ndarray, sliding: Sequence[np.ndarray | None]
    ) -> None:
        self.k = len(c)
        self.W, self.c, self.mu, self.sliding = W.reshape(3 * self.k, -1), c.reshape(-1), mu, sliding
        blocks = [self.W[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] for i in range(self.k)]
        self.blocks = np.array(blocks)
        self.along = [
            None if d is None else np.array([-m * d[0], -m * d[1], 1.0])
            for d, m in zip(sliding, mu, strict=True)
        ]
        # What the normal part of a contact that slides gains by its own force; not positive where friction wins.
        self.own = [
            None if a is None else _positive(float(b[2] @ a), float(np.abs(b[2]) @ np.abs(a)))
            for a, b in zip(self.along, blocks, strict=True)
        ]

    @cached_property
    def inverse(self) -> np.ndarray:
        """Return the inverses (contacts, 3, 3) of what each contact does by itself."""
        if np.all(self.sizes_of_blocks[:, 0] > WELL * self.sizes_of_blocks[:, -1]):
            return np.linalg.inv(self.blocks)
        return np.linalg.pinv(self.blocks, rcond=RANK, hermitian=True)

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
        summed = (np.abs(self.c) + np.abs(self.W) @ np.abs(f).reshape(-1)).reshape(self.k, 3).max(axis=1)
        return max(float(np.abs(f).max(initial=0.0)), 1e-300), np.maximum(
            summed, 1e-6 * summed.max(initial=1e-300)
        )

    def swept(self, f: np.ndarray, sweeps: int) -> tuple[np.ndarray, float]:
        """Return forces after so many sweeps from contact to contact, and the last change as a part of the largest."""
        f, r, change = f.copy(), self.rest(f), 0.0
        for _ in range(sweeps):
            most, size = 0.0, 1e-300
            for i in range(self.k):
                new = self._alone(i, f[i], r[i])
                moved = new - f[i]
                f[i] = new
                r += (self.W[:, 3 * i : 3 * i + 3] @ moved).reshape(self.k, 3)
                most, size = max(most, float(np.abs(moved).max())), max(size, float(np.abs(new).max()))
            change = most / size
            if change <= SETTLED:
                break
        return f, change

    def _alone(self, i: int, f: np.ndarray, r: np.ndarray) -> np.ndarray:
        """Return the force of one contact while the others have theirs."""
        along, own, mu = self.along[i], self.own[i], float(self.mu[i])
        if along is not None:
            assert own is not None
            return np.zeros(3) if own <= 0.0 else max(0.0, f[2] - r[2] / own) * along
        holds = f - self.inverse[i] @ r
        if holds[2] >= 0.0 and holds[0] ** 2 + holds[1] ** 2 <= (mu * holds[2]) ** 2:
            return np.asarray(holds)
        # Plain numbers: arrays of three cost ten times as much.
        step = float(self.step[i])
        (a, b, c), (d, e, g), (h, k, m) = self.blocks[i].tolist()
        x, y, z = f.tolist()
        u, v, w = (r - self.blocks[i] @ f).tolist()
        for _ in range(8):
            s, t = u + a * x + b * y + c * z, v + d * x + e * y + g * z
            n = z - step * (w + h * x + k * y + m * z + mu * hypot(s, t))
            x, y, z = _onto_cone(x - step * s, y - step * t, n, mu)
        return np.array([x, y, z])

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
                along = np.array([0.0, 0.0, 1.0])
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
            z = P @ np.linalg.lstsq((W @ P)[rows], -self.c[rows], rcond=RANK)[0]
            return z.reshape(k, 3) if np.isfinite(z).all() else None
        return self._newton(P, rows, starts, f)

    def _newton(
        self, P: np.ndarray, rows: np.ndarray, starts: Sequence[int], f: np.ndarray
    ) -> np.ndarray | None:
        """Return forces in the columns of P with which contacts `starts` begin to slide, and the others hold."""
        W, z = self.W, f.reshape(-1).copy()
        z = P @ np.linalg.lstsq(P, z, rcond=None)[0]
        for _ in range(NEWTON):
            r = self.c + W @ z
            F, J = r[rows].copy(), (W @ P)[rows]
            size = (np.abs(self.c) + np.abs(W) @ np.abs(z))[rows] + 1e-300
            for i in starts:
                at, x, y, n = int(np.flatnonzero(rows == 3 * i)[0]), 3 * i, 3 * i + 1, 3 * i + 2
                mu = float(self.mu[i])
                # Slip and force are parallel, and the force is on the cone.
                F[at] = z[x] * r[y] - z[y] * r[x]
                J[at] = z[x] * (W[y] @ P) - z[y] * (W[x] @ P) + r[y] * P[x] - r[x] * P[y]
                F[at + 1] = z[x] ** 2 + z[y] ** 2 - (mu * z[n]) ** 2
                J[at + 1] = 2.0 * (z[x] * P[x] + z[y] * P[y] - mu * mu * z[n] * P[n])
                length, speed = np.abs(z[x : n + 1]).max(), size[at : at + 3].max()
                size[at], size[at + 1] = length * speed + 1e-300, length**2 * max(1.0, mu * mu) + 1e-300
            if np.all(np.abs(F) <= EXACT * size):
                return z.reshape(-1, 3)
            scaled = 1.0 / size
            move = np.linalg.lstsq(J * scaled[:, None], -F * scaled, rcond=RANK)[0]
            if not np.isfinite(move).all():
                return None
            z = z + P @ move
        return None

    def holds(self, f: np.ndarray, slack: float = 1.0) -> bool:
        """Return whether forces f (contacts, 3) obey the law, up to `slack` times what rounding leaves."""
        r = self.rest(f)
        most, summed = self.sizes(f)
        still, most = slack * STILL * summed, slack * most
        n, t, away = f[:, 2], np.hypot(f[:, 0], f[:, 1]), np.hypot(r[:, 0], r[:, 1])
        if np.any(n < -NOTHING * most) or np.any(r[:, 2] < -still):
            return False
        if np.any((n > NOTHING * most) & (np.abs(r[:, 2]) > still)):
            return False
        free = np.array([a is None for a in self.along])
        if np.any(free & (t > self.mu * n + NOTHING * most)):
            return False
        # What slips is rubbed by all that there is, in the opposite direction.
        lacks = (f[:, :2] * r[:, :2]).sum(axis=1) + self.mu * n * away
        return not np.any(free & (away > still) & (lacks > 10.0 * NOTHING * most * away))

    def told(self, f: np.ndarray, slack: float = 1.0) -> Pressed:
        """Return what contacts do under forces f (contacts, 3); motions up to `slack` times what rounding leaves are
        none."""
        r = self.rest(f)
        most, summed = self.sizes(f)
        summed = slack * summed
        modes, slip = [], np.zeros((self.k, 2))
        for i, d in enumerate(self.sliding):
            rubs, away = float(np.hypot(f[i, 0], f[i, 1])), float(np.hypot(r[i, 0], r[i, 1]))
            if f[i, 2] <= NOTHING * most:
                modes.append(OPEN)
            elif d is not None:
                modes.append(SLIDE)
                slip[i] = d
            elif self.mu[i] > 0.0 and (
                rubs < self.mu[i] * f[i, 2] * (1.0 - 1e-7) or away <= STILL * summed[i]
            ):
                modes.append(STICK)
            else:
                modes.append(SLIDE)
                slip[i] = r[i, :2] / away if away > STILL * summed[i] else 0.0
        return Pressed(f, r, tuple(modes), slip)

    def sets(self) -> Iterator[list[str]]:
        """Return all modes that a few contacts may have together, none for many."""
        if self.k > FEW:
            return
        choices = [(OPEN, SLIDE) if a is not None else (OPEN, STICK, SLIDE) for a in self.along]
        yield from (list(modes) for modes in product(*choices))


def _positive(value: float, size: float) -> float:
    """Return a number, or zero where it is nothing but the rounding of what was summed up in it."""
    return value if abs(value) > 1e-12 * size else 0.0


def _onto_cone(x: float, y: float, n: float, mu: float) -> tuple[float, float, float]:
    """Return the point of the cone |f_t| <= mu f_n nearest to one with a tangential part (x, y) and a normal part n."""
    t = hypot(x, y)
    if t <= mu * n:
        return x, y, n
    if mu * t <= -n or (mu == 0.0 and n <= 0.0):
        return 0.0, 0.0, 0.0
    height = (n + mu * t) / (1.0 + mu * mu)
    scale = mu * height / t
    return scale * x, scale * y, height
