"""Impulses of an impact: contacts come to rest against each other together, and then give something back.

In the first phase, compression, Coulomb's law gives impulses p_c after which nothing comes nearer (`coulomb`). What
comes back is the choice of a law:

* Newton: normal velocities turn round, u_n+ = -e u_n-;
* Poisson: normal impulses of the second phase are those of the first times e, and friction in it obeys Coulomb's law
  with these (Glocker and Pfeiffer);
* energy: normal impulses of the second phase are in proportion to those of the first, so that they give back e^2 of
  the work that those took (Stronge), both along straight lines in the space of impulses.

They agree where impulses of a contact keep their direction, and differ where friction stops or turns a slip within the
impact. Whatever the law says, so much of the second phase counts as leaves the energy at most where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from catena.simulation.contacts.coulomb import Pressed, pressed

# Sweeps of the friction of the second phase, and the change, as a part of the largest impulse, at which they end.
SWEEPS, SETTLED = 2000, 1e-15
# Bisections for the part of impulses that gives back an energy, which lies below MOST times those of compression.
HALVINGS, MOST = 100, 4.0


def impact(
    W: np.ndarray, u: np.ndarray, mu: np.ndarray, e: np.ndarray, names: Sequence[str], law: str,
    solve: Callable[[np.ndarray], Pressed | None] = lambda c: None,
) -> np.ndarray:  # fmt: skip
    """Return the impulses (contacts, 3), tangential then normal, of contacts with the mobility W (contacts, 3,
    contacts, 3) that come with velocities u (contacts, 3), have coefficients mu (contacts,) of friction and e
    (contacts,) of restitution, and one of the RESTITUTION_LAWS of contacts. What `solve` finds for velocities is what
    the law of friction says; None where it finds nothing."""
    free = [None] * len(u)
    compression = (solve(u) or pressed(W, u, mu, free, names)).f
    if not e.any():
        return compression
    if law == "newton":
        c = u.copy()
        c[:, 2] *= 1.0 + e
        more = (solve(c) or pressed(W, c, mu, free, names, compression)).f - compression
    elif law == "poisson":
        more = _expansion(W, u, mu, compression, e, names)
    else:
        more = _with_energy(W, u, mu, compression, e, names)
    return compression + _part_that_keeps(W, u, compression, more) * more


def _expansion(
    W: np.ndarray,
    u: np.ndarray,
    mu: np.ndarray,
    compression: np.ndarray,
    part: np.ndarray,
    names: Sequence[str],
) -> np.ndarray:
    """Return the impulses of the second phase whose normal parts are given parts (contacts,) of the first."""
    rest = u + np.einsum("iajb,jb->ia", W, compression)
    p = np.zeros_like(compression)
    p[:, 2] = part * compression[:, 2]
    _rub(W, rest, mu * p[:, 2], p)
    after = rest + np.einsum("iajb,jb->ia", W, p)
    if (after[:, 2] < 0.0).any():
        # What one contact gives back may bring others together.
        p = p + pressed(W, after, mu, [None] * len(u), names).f
    return p


def _rub(W: np.ndarray, u: np.ndarray, most: np.ndarray, p: np.ndarray) -> None:
    """Find the tangential parts of impulses p (contacts, 3), of at most `most` (contacts,), that take the most energy
    out of velocities u (contacts, 3)."""
    flat, scale = W.reshape(u.size, u.size), float(np.abs(p).max(initial=0.0))
    velocity = u + (flat @ p.reshape(-1)).reshape(u.shape)
    for _ in range(SWEEPS):
        change = 0.0
        for k in np.flatnonzero(most > 0.0):
            own = W[k, :2, k, :2]
            new = _within_disc(own, velocity[k, :2] - own @ p[k, :2], float(most[k]))
            step = new - p[k, :2]
            p[k, :2] = new
            velocity += np.einsum("iab,b->ia", W[:, :, k, :2], step)
            change = max(change, float(np.abs(step).max()))
        if change <= SETTLED * scale:
            return


def _within_disc(A: np.ndarray, b: np.ndarray, radius: float) -> np.ndarray:
    """Return the x (2,) with |x| <= radius at which x A x / 2 + b x is least, A symmetric and positive."""
    roots, axes = np.linalg.eigh(A)
    along = -axes.T @ b
    floor = max(float(roots[1]), np.finfo(float).tiny) * 1e-14
    inside = along / np.maximum(roots, floor)
    if np.hypot(*inside) <= radius:
        return np.asarray(axes @ inside)
    low, high = 0.0, float(np.hypot(*along)) / radius
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        x = along / np.maximum(roots + middle, floor)
        low, high = (middle, high) if np.hypot(*x) > radius else (low, middle)
    x = along / np.maximum(roots + high, floor)
    return np.asarray(axes @ (x * (radius / np.hypot(*x))))


def _with_energy(
    W: np.ndarray, u: np.ndarray, mu: np.ndarray, compression: np.ndarray, e: np.ndarray, names: Sequence[str]
) -> np.ndarray:
    """Return the impulses of the second phase that give back e^2 of the work that the normal ones of the first took."""
    rest = u + np.einsum("iajb,jb->ia", W, compression)
    wanted = -float((0.5 * e * e * compression[:, 2] * (u[:, 2] + rest[:, 2])).sum())
    shares = np.where(e > 0.0, 1.0, 0.0)

    def given_back(part: float) -> tuple[float, np.ndarray]:
        p = _expansion(W, u, mu, compression, part * shares, names)
        after = rest + np.einsum("iajb,jb->ia", W, p)
        return float((0.5 * p[:, 2] * (rest[:, 2] + after[:, 2])).sum()), p

    low, high = 0.0, MOST
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if given_back(middle)[0] < wanted else (low, middle)
        if high - low <= SETTLED * MOST:
            break
    return given_back(0.5 * (low + high))[1]


def _part_that_keeps(W: np.ndarray, u: np.ndarray, compression: np.ndarray, more: np.ndarray) -> float:
    """Return how much of a restitution, impulses `more` (contacts, 3) beyond those of `compression`, leaves the energy
    where it was or below: at most 1."""
    n = compression.size
    W, p, d = W.reshape(n, n), compression.reshape(-1), more.reshape(-1)
    # The energy is a parabola in the part, and has fallen at 0.
    a, b, c = 0.5 * d @ W @ d, d @ (u.reshape(-1) + W @ p), p @ (u.reshape(-1) + 0.5 * W @ p)
    if a + b + c <= 0.0 or a <= 0.0:
        return 1.0
    return float(min(1.0, (-b + np.sqrt(max(0.0, b * b - 4.0 * a * c))) / (2.0 * a)))
