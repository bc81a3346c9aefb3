"""Whether momentum stays where nothing outside acts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from catena import dynamics
from catena.simulation.results.audit.lines import AuditLine, percent, worst
from catena.structure import Plan

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# What a run at default tolerances stays well below, as a part of the momentum of this motion.
MOMENTUM = 1e-6


def momentum(run: Segment) -> list[AuditLine]:
    """Return linear momentum less the impulse of gravity, and angular momentum about the mass centre."""
    system = run.system
    if not _flies(system.plan) or system.variants.origin is not system:
        # Masses and gravity may differ from state to state.
        return []
    # Of a batch that stopped early some states rest at their end while others go on.
    mass = float(system.plan.inertia[1:, 0].sum())
    if mass == 0.0 or (run.ended and run.batch) or not is_free_flying(run):
        return []
    c, h = system.center_of_mass(run.q), run.momentum
    linear = h[..., 3:] - mass * system.plan.gravity * (run.t - run.t[0])[:, None]
    angular = h[..., :3] - np.cross(c, h[..., 3:])
    speed = np.sqrt(2.0 * np.max(run.kinetic_energy) / mass)
    inside = run.kinetic_energy - np.einsum("...i,...i->...", h[..., 3:], h[..., 3:]) / (2.0 * mass)
    # A mechanism that does not turn has no angular momentum to compare with, but for rounding of the rest.
    turning = max(float(np.max(inside)), 1e-8 * float(np.max(run.kinetic_energy)))
    scales = mass * speed, np.sqrt(2.0 * turning * _moment_of_inertia(run, c))
    impulse = ", but for the impulse of gravity," if system.plan.gravity.any() else ""
    lines = []
    for name, what, x, scale in (
        ("linear momentum", f"the linear momentum{impulse}", linear, scales[0]),
        ("angular momentum", "the angular momentum about the mass centre", angular, scales[1]),
    ):
        off = np.linalg.norm(x - x[..., :1, :], axis=-1) / max(float(scale), 1e-300)
        value, where = worst(run, off)
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


def is_free_flying(run: Segment) -> bool:
    """Return whether the mechanism touches ground through free joints only and nothing outside acts on it but
    gravity."""
    plan = run.system.plan
    if not _flies(plan) or run.wrenches:
        return False
    if any(force.is_from_outside for force in run.system.mechanics.elements.placed):
        return False
    bases = [i for i in range(1, plan.n) if plan.parent[i] == 0]
    return not any(plan.joint[i] in run.driven or run.tau[..., _own(plan, i)].any() for i in bases)


@lru_cache(maxsize=64)
def _flies(plan: Plan) -> bool:
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


def _moment_of_inertia(run: Segment, c: np.ndarray) -> float:
    """Return the largest sum of the principal moments about the mass centre, as a scale."""
    rows = np.ascontiguousarray(run.q.reshape(-1, run.system.nq))
    inertia = run.system.mechanics.program(dynamics.total_inertia).run({"q": rows}, len(rows))[1]["Ic"]
    about_ground = inertia[:, 4] + inertia[:, 7] + inertia[:, 9]
    return float(np.max(about_ground - 2.0 * inertia[:, 0] * np.sum(c.reshape(-1, 3) ** 2, axis=-1)))
