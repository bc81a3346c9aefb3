"""Whether momentum stays where nothing outside acts."""

from __future__ import annotations

from functools import lru_cache
from math import dist, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from catena import dynamics
from catena.kinematics.stacks import crossed
from catena.simulation.results.audit.lines import AuditLine, percent, worst
from catena.structure import Plan

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# What a run at default tolerances stays well below, as a part of the momentum of this motion.
MOMENTUM = 1e-6
# So many samples are quicker one by one than together.
FEW = 4


def momentum(run: Segment) -> list[AuditLine]:
    """Return linear momentum less the impulse of gravity, and angular momentum about the mass centre."""
    off = _changes(run)
    if off is None:
        return []
    impulse = ", but for the impulse of gravity," if run.system.plan.gravity.any() else ""
    lines = []
    for name, what, x in (
        ("linear momentum", f"the linear momentum{impulse}", off[0]),
        ("angular momentum", "the angular momentum about the mass centre", off[1]),
    ):
        value, where = worst(run, x)
        if value <= MOMENTUM:
            text = f"Nothing outside pushes the mechanism, and {what} stays the same to {percent(value)}."
            lines.append(AuditLine(name, value, MOMENTUM, "", "ok", text))
        else:
            text = (
                f"Nothing outside pushes the mechanism, yet {what} changes by {percent(value)}, most at {where}. "
                f"Take a smaller step or rtol."
            )
            lines.append(AuditLine(name, value, MOMENTUM, "", "warn", text))
    return lines


def is_momentum_fine(run: Segment) -> bool:
    """Return whether nothing need be warned of: momentum stays where nothing outside acts."""
    found = _momenta(run)
    if found is None:
        return True
    if len(run.t) <= FEW and not run.batch:
        return _stays(run, *(x.tolist() for x in found))
    return all((x <= MOMENTUM).all() for x in _parts(run, *found))


def _changes(run: Segment) -> tuple[np.ndarray, np.ndarray] | None:
    """Return how much linear and angular momentum differ from those at the start, (..., samples), as parts of the
    momentum of this motion; None where something from outside may change them."""
    found = _momenta(run)
    return None if found is None else _parts(run, *found)


def _momenta(run: Segment) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the inertia of all bodies about the ground's origin (..., samples, 10), their momentum (..., samples, 6)
    and kinetic energy (..., samples); None where something from outside may change the momentum."""
    system = run.system
    if not flies(system.plan) or system.variants.origin is not system:
        # Masses and gravity may differ from state to state.
        return None
    # Of a batch that stopped early some states rest at their end while others go on.
    if not _mass(system.plan) or (run.ended and run.batch) or not is_free_flying(run):
        return None
    inertia = system.mechanics.evaluator.evaluate(dynamics.total_inertia, {"q": run.q})["Ic"]
    return inertia, run.momentum, run.kinetic_energy


def _parts(
    run: Segment, inertia: np.ndarray, h: np.ndarray, kinetic: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how much linear and angular momentum differ from those at the start, (..., samples), as parts of the
    momentum of this motion."""
    mass, c, pushed = _mass(run.system.plan), inertia[..., 1:4] / inertia[..., :1], h[..., 3:]
    linear = pushed - mass * run.system.plan.gravity * (run.t - run.t[0])[:, None]
    angular = h[..., :3] - crossed(c, pushed)
    inside = kinetic - (pushed * pushed).sum(axis=-1) / (2.0 * mass)
    # The largest sum of the principal moments about the mass centre is a scale.
    moments = inertia[..., 4] + inertia[..., 7] + inertia[..., 9] - 2.0 * mass * (c * c).sum(axis=-1)
    scales = _scales(mass, float(kinetic.max()), float(inside.max()), float(moments.max()))
    return tuple(
        np.sqrt(((x - x[..., :1, :]) ** 2).sum(axis=-1)) / scale
        for x, scale in zip((linear, angular), scales, strict=True)
    )


def _stays(run: Segment, inertia: Any, h: Any, kinetic: Any) -> bool:
    """Return whether momentum stays, from the numbers of few samples: what `_parts` says of them."""
    mass, g, start = _mass(run.system.plan), run.system.plan.gravity.tolist(), float(run.t[0])
    linear, angular, inside, moments = [], [], [], []
    for t, body, (a, b, c, *pushed), energy in zip(run.t.tolist(), inertia, h, kinetic, strict=True):
        (p, q, r), (x, y, z) = pushed, (k / body[0] for k in body[1:4])
        linear.append([k - mass * each * (t - start) for k, each in zip(pushed, g, strict=True)])
        angular.append([a - (y * r - z * q), b - (z * p - x * r), c - (x * q - y * p)])
        inside.append(energy - (p * p + q * q + r * r) / (2.0 * mass))
        moments.append(body[4] + body[7] + body[9] - 2.0 * mass * (x * x + y * y + z * z))
    scales = _scales(mass, max(kinetic), max(inside), max(moments))
    return all(
        dist(row, rows[0]) <= MOMENTUM * scale
        for rows, scale in zip((linear, angular), scales, strict=True)
        for row in rows
    )


def _scales(mass: float, most: float, inside: float, moments: float) -> tuple[float, float]:
    """Return what changes of linear and angular momentum are measured by, from the largest kinetic energy, what of it
    the mass centre does not have, and the sum of the principal moments about that."""
    # A mechanism that does not turn has no angular momentum to compare with, but for rounding of the rest.
    turning = max(inside, 1e-8 * most)
    return max(mass * sqrt(2.0 * most / mass), 1e-300), max(sqrt(2.0 * turning * max(moments, 0.0)), 1e-300)


@lru_cache(maxsize=64)
def _mass(plan: Plan) -> float:
    """Return the mass of all that moves."""
    return float(plan.inertia[1:, 0].sum())


def is_free_flying(run: Segment) -> bool:
    """Return whether the mechanism touches ground through free joints only and nothing outside acts on it but
    gravity."""
    plan = run.system.plan
    if not flies(plan) or run.wrenches:
        return False
    if any(force.is_from_outside for force in run.system.mechanics.elements.placed):
        return False
    return not any(joint in run.driven or run.tau[..., own].any() for joint, own in _bases(plan))


@lru_cache(maxsize=64)
def _bases(plan: Plan) -> tuple[tuple[str, slice], ...]:
    """Return the joints at ground, and their velocity components."""
    return tuple((plan.joint[i], _own(plan, i)) for i in range(1, plan.n) if plan.parent[i] == 0)


@lru_cache(maxsize=64)
def flies(plan: Plan) -> bool:
    """Return whether what touches ground are free joints that nothing damps."""
    for i in range(1, plan.n):
        if plan.parent[i] == 0:
            rubs = plan.damping[_own(plan, i)].any() or plan.friction[_own(plan, i)].any()
            if rubs or i not in plan.floating:
                return False
    at_ground = (loop for loop in plan.loop_joints if 0 in (loop.parent_node, loop.child_node))
    return not any(x.constraints or x.damping.any() or x.friction.any() for x in at_ground)


def _own(plan: Plan, i: int) -> slice:
    """Return the velocity components of the joint of a node."""
    return slice(int(plan.v_start[i]), int(plan.v_start[i] + plan.v_size[i]))
