"""Forces, or impulses, of contacts that push and rub but never pull: Coulomb's law for several contacts at once.

Of each contact the normal part n and the tangential part t of f obey, with r = W f + c what the contact does then
(acceleration or velocity, normal and tangential),

    f_n >= 0,  r_n >= 0,  f_n r_n = 0;      |f_t| <= mu f_n,  and r_t opposite to f_t where |f_t| = mu f_n.

A contact that slides has f_t = -mu f_n d with the direction d of its slip. The forces of contacts that hold in all
directions are tried first. If some would pull, or leave their cone, projections on the cones are repeated from contact
to contact until nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from catena.errors import SimulationError

# Forces that change by less than this part of the largest have been found; so often it is tried.
DONE, TRIALS = 1e-13, 5_000
# Forces below this part of the largest are none, and so much of a cone may be used up by a contact that sticks.
NOTHING, WITHIN = 1e-9, 1.0 - 1e-7
RANK = 1e-11


@dataclass(frozen=True, eq=False)
class Pressed:
    """What contacts do: forces f (contacts, 3), tangential then normal, and what remains, r (contacts, 3); `modes` are
    "stick", "slide" or "open", `slip` (contacts, 2) the directions of those that slide."""

    f: np.ndarray
    r: np.ndarray
    modes: tuple[str, ...]
    slip: np.ndarray


def pressed(
    W: np.ndarray, c: np.ndarray, mu: np.ndarray, sliding: Sequence[np.ndarray | None], names: Sequence[str]
) -> Pressed:
    """Return the forces of contacts with the mobility W (contacts, 3, contacts, 3), c (contacts, 3), coefficients mu
    (contacts,) and directions (2,) of those that slide already, None for the others."""
    k = len(c)
    free = [i for i in range(k) if sliding[i] is None]
    P = _directions(k, mu, sliding)
    f = P @ _least(W.reshape(3 * k, 3 * k), P, c.reshape(-1), _rows(k, sliding))
    f = f.reshape(k, 3)
    r = c + np.einsum("iajb,jb->ia", W, f)
    size = max(np.abs(f).max(initial=0.0), 1e-300)
    inside = f[:, 2] >= -NOTHING * size
    inside[free] &= np.hypot(f[free, 0], f[free, 1]) <= mu[free] * f[free, 2] * WITHIN + NOTHING * size
    if not inside.all() or not np.isfinite(f).all():
        f, r = _projected(W, c, mu, sliding, names)
    return _told(f, r, mu, sliding)


def _directions(k: int, mu: np.ndarray, sliding: Sequence[np.ndarray | None]) -> np.ndarray:
    """Return what each unknown force is (3 k, unknowns): three for a contact that holds, one for one that slides."""
    columns = []
    for i, d in enumerate(sliding):
        if d is None:
            columns += [np.eye(3 * k)[:, 3 * i + j] for j in range(3)]
        else:
            column = np.zeros(3 * k)
            column[3 * i : 3 * i + 3] = -mu[i] * d[0], -mu[i] * d[1], 1.0
            columns.append(column)
    return np.array(columns).T.reshape(3 * k, -1)


def _rows(k: int, sliding: Sequence[np.ndarray | None]) -> np.ndarray:
    """Return which conditions hold: all three of a contact that holds, the normal one of a contact that slides."""
    return np.array(
        [x for i in range(k) for x in ([3 * i, 3 * i + 1, 3 * i + 2] if sliding[i] is None else [3 * i + 2])]
    )


def _least(W: np.ndarray, P: np.ndarray, c: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the smallest unknowns with which the conditions of all contacts hold."""
    A = (W @ P)[rows]
    return np.asarray(np.linalg.lstsq(A, -c[rows], rcond=RANK)[0])


def _projected(
    W: np.ndarray, c: np.ndarray, mu: np.ndarray, sliding: Sequence[np.ndarray | None], names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return forces and what remains, by projections from contact to contact."""
    k = len(c)
    f = np.zeros((k, 3))
    r = c.copy()
    steps = []
    for i, d in enumerate(sliding):
        if d is None:
            steps.append(1.0 / max(float(np.linalg.norm(W[i, :, i], 2)), 1e-300))
            continue
        w = float(W[i, 2, i, 2] - mu[i] * W[i, 2, i, :2] @ d)
        if w <= 1e-12 * abs(W[i, 2, i, 2]):
            raise SimulationError(
                f"The contact {names[i]!r} jams while it slides: its friction presses it on faster than its force can "
                "hold it off (Painleve's paradox), so no force of a rigid contact fits. Lower its friction, or give "
                "way where it touches."
            )
        steps.append(1.0 / w)
    for _ in range(TRIALS):
        most, size = 0.0, 1e-300
        for i, d in enumerate(sliding):
            before = f[i].copy()
            if d is not None:
                n = max(0.0, before[2] - steps[i] * r[i, 2])
                f[i] = -mu[i] * n * d[0], -mu[i] * n * d[1], n
            else:
                f[i] = _onto_cone(
                    before - steps[i] * r[i], mu[i], steps[i] * mu[i] * np.hypot(r[i, 0], r[i, 1])
                )
            change = f[i] - before
            r += W[:, :, i] @ change
            most, size = max(most, float(np.abs(change).max())), max(size, float(np.abs(f[i]).max()))
        if most <= DONE * size:
            return f, r
    if most <= 1e-6 * size:
        return f, r
    who = ", ".join(repr(name) for name in names)
    raise SimulationError(
        f"No forces were found with which the contacts {who} press, rub and hold together: they may jam (Painleve's "
        "paradox) or over-determine the motion. Lower their friction, or leave out contacts that say the same."
    )


def _onto_cone(z: np.ndarray, mu: float, shift: float) -> np.ndarray:
    """Return the point of the cone |f_t| <= mu f_n nearest to z (3,) less `shift` in its normal part (De Saxce)."""
    n, t = z[2] - shift, float(np.hypot(z[0], z[1]))
    if t <= mu * n:
        return np.array([z[0], z[1], n])
    if mu * t <= -n or (mu == 0.0 and n <= 0.0):
        return np.zeros(3)
    height = (n + mu * t) / (1.0 + mu * mu)
    scale = mu * height / t
    return np.array([scale * z[0], scale * z[1], height])


def _told(f: np.ndarray, r: np.ndarray, mu: np.ndarray, sliding: Sequence[np.ndarray | None]) -> Pressed:
    size = max(float(np.abs(f).max(initial=0.0)), 1e-300)
    modes, slip = [], np.zeros((len(f), 2))
    for i, d in enumerate(sliding):
        if f[i, 2] <= NOTHING * size:
            modes.append("open")
        elif d is not None:
            modes.append("slide")
            slip[i] = d
        elif mu[i] > 0.0 and np.hypot(f[i, 0], f[i, 1]) < mu[i] * f[i, 2] * WITHIN:
            modes.append("stick")
        else:
            modes.append("slide")
            away = float(np.hypot(r[i, 0], r[i, 1]))
            slip[i] = r[i, :2] / away if away > 0.0 else 0.0
    return Pressed(f, r, tuple(modes), slip)
