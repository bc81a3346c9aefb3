"""Whether momentum stays where nothing outside acts."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from catena import dynamics
from catena.kinematics.stacks import crossed
from catena.simulation.results.audit.lines import AuditLine, percent, worst
from catena.structure import Plan

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# What a run at default tolerances stays well below, as a part of the momentum of this motion.
MOMENTUM = 1e-6


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
    off = _changes(run)
    return off is None or all((x <= MOMENTUM).all() for x in off)


def _changes(run: Segment) -> tuple[np.ndarray, np.ndarray] | None:
    """Return how much linear and angular momentum differ from those at the start, (..., samples), as parts of the
    momentum of this motion; None where something from outside may change them."""
    system = run.system
    if not flies(system.plan) or system.variants.origin is not system:
        # Masses and gravity may differ from state to state.
        return None
    # Of a batch that stopped early some states rest at their end while others go on.
    mass = float(system.plan.inertia[1:, 0].sum())
    if mass == 0.0 or (run.ended and run.batch) or not is_free_flying(run):
        return None
    inertia = system.mechanics.evaluator.evaluate(dynamics.total_inertia, {"q": run.q})["Ic"]
    c, h, kinetic = inertia[..., 1:4] / inertia[..., :1], run.momentum, run.kinetic_energy
    pushed = h[..., 3:]
    linear = pushed - mass * system.plan.gravity * (run.t - run.t[0])[:, None]
    angular = h[..., :3] - crossed(c, pushed)
    most = float(kinetic.max())
    inside = kinetic - (pushed * pushed).sum(axis=-1) / (2.0 * mass)
    # A mechanism that does not turn has no angular momentum to compare with, but for rounding of the rest.
    turning = max(float(inside.max()), 1e-8 * most)
    # The largest sum of the principal moments about the mass centre is a scale.
    moments = inertia[..., 4] + inertia[..., 7] + inertia[..., 9] - 2.0 * mass * (c * c).sum(axis=-1)
    scales = mass * sqrt(2.0 * most / mass), sqrt(2.0 * turning * max(float(moments.max()), 0.0))
    return tuple(
        np.sqrt(((x - x[..., :1, :]) ** 2).sum(axis=-1)) / max(scale, 1e-300)
        for x, scale in ((linear, scales[0]), (angular, scales[1]))
    )


def is_free_flying(run: Segment) -> bool:
    """Return whether the mechanism touches ground through free joints only and nothing outside acts on it but
    gravity."""
    plan = run.system.plan
    if not flies(plan) or run.wrenches:
        return False
    if any(force.is_from_outside for force in run.system.mechanics.elements.placed):
        return False
    bases = [i for i in range(1, plan.n) if plan.parent[i] == 0]
    return not any(plan.joint[i] in run.driven or run.tau[..., _own(plan, i)].any() for i in bases)


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
