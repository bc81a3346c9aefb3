"""Whether momentum stays where nothing outside acts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena import dynamics
from catena.joints import Free, described
from catena.simulation.results.audit.lines import AuditLine, percent, worst

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# What a run at default tolerances stays well below, as a part of the momentum of this motion.
MOMENTUM = 1e-6


def momentum(run: Segment) -> list[AuditLine]:
    """Return linear momentum less the impulse of gravity, and angular momentum about the mass centre."""
    system = run.system
    mass = float(system.plan.inertia[1:, 0].sum())
    if system.variants.origin is not system:
        # Masses and gravity may differ from state to state.
        return []
    # Of a batch that stopped early some states rest at their end while others go on.
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
    if run.wrenches or any(force.is_from_outside for force in run.system.mechanics.elements.placed):
        return False
    for i in range(1, plan.n):
        if plan.parent[i] == 0:
            kind = plan.kind[i]
            columns = slice(int(plan.v_start[i]), int(plan.v_start[i] + plan.v_size[i]))
            acts = (plan.damping[columns], plan.friction[columns], run.tau[..., columns])
            if not isinstance(described(kind), Free):
                return False
            if plan.joint[i] in run.driven or any(x.any() for x in acts):
                return False
    for loop in plan.loop_joints:
        if 0 in (loop.parent_node, loop.child_node):
            if loop.constraints or loop.damping.any() or loop.friction.any():
                return False
    return True


def _moment_of_inertia(run: Segment, c: np.ndarray) -> float:
    """Return the largest sum of the principal moments about the mass centre, as a scale."""
    rows = np.ascontiguousarray(run.q.reshape(-1, run.system.nq))
    inertia = run.system.mechanics.program(dynamics.total_inertia).run({"q": rows}, len(rows))[1]["Ic"]
    about_ground = inertia[:, 4] + inertia[:, 7] + inertia[:, 9]
    return float(np.max(about_ground - 2.0 * inertia[:, 0] * np.sum(c.reshape(-1, 3) ** 2, axis=-1)))
