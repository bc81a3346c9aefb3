"""The conformance check of the body contract, for built-in kinds and for anyone's own."""

from __future__ import annotations

import numpy as np

from catena.bodies.contract import FlexibleBody, Floats, Points, Shapes
from catena.spatial.vectors import skew

ROUNDING = 1e-9
"""What sums of invariants may differ by, as a part of what is summed up."""
FREQUENCIES = 1e-5
"""How far frequencies may be from those of stiffness and inertia, as a part of them."""


def check_flexible_body(kind: FlexibleBody) -> None:
    """Raise an AssertionError that says what is wrong unless `kind` keeps the contract of flexible bodies.

    Sizes and signs of all that it tells; its frequencies against its stiffness and the inertia of its points; that no
    mode is a motion of the rigid body; that its points weigh what its particles weigh, if it has any; the shapes along
    its outline, and the deflection that is measured there.
    """
    assert isinstance(kind, FlexibleBody), f"{kind!r} is no FlexibleBody."
    _check_modes(kind)
    points = kind.points()
    _check_points(kind, points)
    _check_inertia(kind, points)
    _check_particles(kind, points)
    _check_terms_of_fourth_order(kind)
    _check_outline(kind)


def _say(kind: FlexibleBody, sentence: str, holds: object) -> None:
    assert bool(holds), f"{kind!r}: {sentence}."


def _sized(kind: FlexibleBody, name: str, values: object, shape: tuple[int, ...]) -> Floats:
    """Return finite numbers of a shape, or tell that they are something else."""
    found = np.asarray(values, dtype=np.float64)
    _say(kind, f"{name} has shape {found.shape}, not {shape}", found.shape == shape)
    _say(kind, f"{name} has an entry that is not finite", np.isfinite(found).all())
    return found


def _check_modes(kind: FlexibleBody) -> None:
    k = kind.modes
    _say(kind, f"it has {k} modes; a flexible body has one or more", k >= 1)
    for name in ("frequencies", "stiffness"):
        values = _sized(kind, name, getattr(kind, name), (k,))
        _say(kind, f"{name} are {values}; all must be above zero", (values > 0.0).all())
    damping = _sized(kind, "damping", kind.damping, (k,))
    _say(kind, f"damping is {damping}; no entry may be below zero", (damping >= 0.0).all())
    _say(kind, f"reach() is {kind.reach()}; it must be a length above zero", kind.reach() > 0.0)


def _check_points(kind: FlexibleBody, points: Points) -> None:
    n, k = len(points.s), kind.modes
    _say(
        kind,
        f"points() are {n} of mass {points.mass}; some with mass are needed",
        n >= 1 and points.mass > 0.0,
    )
    _sized(kind, "s of points()", points.s, (n, 3))
    _sized(kind, "S of points()", points.S, (n, 3, k))
    B = _sized(kind, "B of points()", points.B, (n, 3, k, k))
    _say(kind, "B of points() is not symmetric in the modes", _alike(B, B.swapaxes(-1, -2)))
    if points.F is not None:
        _sized(kind, "F of points()", points.F, (n, 3, len(kind.products)))
    again = kind.points()
    same = all(np.array_equal(getattr(points, name), getattr(again, name)) for name in ("s", "S", "B"))
    _say(kind, "points() are others when they are asked for again", same)
    J = _sized(kind, "turning_inertia", kind.turning_inertia, (3, 3))
    _say(kind, "turning_inertia is not symmetric", _alike(J, J.T))
    inertia = np.linalg.eigvalsh(kind.rigid[2])
    _say(
        kind,
        f"no body has the principal moments of inertia {inertia}: one is more than the others together",
        inertia[2] <= (1.0 + ROUNDING) * (inertia[0] + inertia[1]) and inertia[0] >= -ROUNDING * inertia[2],
    )


def _check_inertia(kind: FlexibleBody, points: Points) -> None:
    M = points.mass * np.einsum("nia,nib->ab", points.S, points.S)
    size = np.sqrt(np.diag(M))
    _say(
        kind, f"mode {int(np.argmin(size)) + 1} moves no mass", (size > 1e-9 * max(size.max(), 1e-300)).all()
    )
    # Scaled, so that modes of any unit are alike.
    scaled = M / np.outer(size, size)
    _say(kind, "modes are not independent: their inertia is singular", np.linalg.eigvalsh(scaled)[0] > 1e-9)
    root = np.linalg.cholesky(scaled)
    within = np.linalg.solve(root, np.linalg.solve(root, np.diag(kind.stiffness / size**2)).T)
    expected = np.sqrt(np.linalg.eigvalsh(0.5 * (within + within.T)))
    found = np.sort(kind.frequencies)
    worst = float(np.abs(found / expected - 1.0).max())
    _say(
        kind,
        f"frequencies are {found}, but stiffness and inertia of points() make {expected} (off by {worst:.2g})",
        worst <= FREQUENCIES,
    )
    moved = np.concatenate(
        [np.stack([-skew(s) for s in points.s]), np.tile(np.eye(3), (len(points.s), 1, 1))], 2
    )
    whole = np.concatenate([moved, points.S / size], axis=2).reshape(3 * len(points.s), -1)
    rigid, modes = whole[:, :6], whole[:, 6:]
    left = modes - rigid @ np.linalg.lstsq(rigid, modes, rcond=1e-10)[0]
    values = np.linalg.svd(left, compute_uv=False)
    _say(
        kind,
        "a combination of its modes moves it as a rigid body does: the floating frame must be held by conditions that "
        "modes keep",
        values[-1] > 1e-6 * np.linalg.svd(modes, compute_uv=False)[0],
    )


def _check_particles(kind: FlexibleBody, points: Points) -> None:
    """Points have the mass integrals of all products of 1, s and S that particles have."""
    if not hasattr(kind, "particles"):
        return
    some, k = kind.particles(), kind.modes

    def sums(mass: Floats, s: Floats, S: Floats) -> Floats:
        values = np.concatenate([np.ones((len(s), 1)), s, S.reshape(len(s), 3 * k)], axis=1)
        found: Floats = values.T @ (np.broadcast_to(mass, len(s))[:, None] * values)
        return found

    expected = sums(some.mass, some.s, some.S)
    found = sums(np.asarray(points.mass), points.s, points.S)
    size = np.sqrt(np.diag(expected))
    size = np.where(size > 0.0, size, 1.0)
    gap = float(np.abs((found - expected) / np.outer(size, size)).max())
    _say(kind, f"points() do not weigh what particles() weigh (off by {gap:.2g})", gap <= ROUNDING)


def _check_terms_of_fourth_order(kind: FlexibleBody) -> None:
    for product in (*kind.products, *kind.hardening):
        ordered = len(product) == 4 and list(product) == sorted(product)
        within = all(0 <= j < kind.modes for j in product)
        _say(kind, f"{product} names no product of four amplitudes in order", ordered and within)
    _say(
        kind,
        "hardening has products that are not in `products`, or in another order",
        not kind.hardening or tuple(kind.hardening) == tuple(kind.products),
    )
    _say(kind, "hardening has an entry that is not finite", np.isfinite(list(kind.hardening.values())).all())


def _check_outline(kind: FlexibleBody) -> None:
    k, lines = kind.modes, kind.outline(9)
    _say(
        kind,
        "outline() has no line of points (n, 3)",
        len(lines) and all(np.shape(x)[1:] == (3,) for x in lines),
    )
    eta = np.linspace(0.5, 1.0, k) * 1e-3 * kind.reach()
    still = float(np.max(kind.deflection(np.zeros(k))))
    _say(kind, f"deflection() is {still:.2g} where nothing is deformed", still == 0.0)
    batch = np.asarray(kind.deflection(np.stack([eta, 2.0 * eta])))
    _say(kind, f"deflection() has shape {batch.shape} for two states, not (2,)", batch.shape == (2,))
    for p in np.concatenate(lines)[:: max(1, len(np.concatenate(lines)) // 4)]:
        _check_shapes(kind, kind.shapes(tuple(p)), p)


def _check_shapes(kind: FlexibleBody, shapes: Shapes, p: Floats) -> None:
    k, where = kind.modes, f"of shapes({tuple(np.round(p, 6).tolist())})"
    _sized(kind, f"S {where}", shapes.S, (3, k))
    _sized(kind, f"R {where}", shapes.R, (3, k))
    B = _sized(kind, f"B {where}", shapes.B, (3, k, k))
    _say(kind, f"B {where} is not symmetric in the modes", _alike(B, B.swapaxes(-1, -2)))
    if shapes.F is not None:
        _sized(kind, f"F {where}", shapes.F, (3, len(kind.products)))


def _alike(a: Floats, b: Floats) -> bool:
    return bool(np.abs(a - b).max(initial=0.0) <= ROUNDING * np.abs(a).max(initial=0.0))
