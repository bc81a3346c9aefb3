"""Whether joints stay within their limits, and what actuators give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.kernels.evaluation import Evaluator
from catena.mechanism import Actuator, Joint
from catena.simulation.results.audit.lines import AuditLine, worst
from catena.simulation.stepping.faults import joint_of

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

# How far joints may be beyond limits that should be rigid [m or rad].
LIMIT = 1e-2
# A force so close to the limit of its actuator is at the limit.
AT_LIMIT = 1e-9


def limits(run: Segment) -> list[AuditLine]:
    """Return how far joints went beyond their limits: all stops give way, those that should be rigid by very
    little."""
    most: dict[bool, tuple[float, str]] = {}
    for name, joint, (lower, upper) in run.system.mechanics.evaluator.once(limited):
        x = run[name]
        if joint.kind.nq != joint.kind.nv:
            rows = x.reshape(-1, joint.kind.nq)
            shift = np.array([joint.kind.difference(joint.kind.neutral(), row) for row in rows])
            x = shift.reshape(*x.shape[:-1], joint.kind.nv)
        beyond = np.max(np.maximum(lower - x, x - upper), axis=-1)
        value, where = worst(run, np.maximum(beyond, 0.0))
        is_elastic = joint.limit_stiffness is not None
        words = f"that of joint {name!r} by {value:.3g} rad or m at {where}"
        most[is_elastic] = max(most.get(is_elastic, (0.0, "")), (value, words))
    lines = []
    for is_elastic, (value, words) in sorted(most.items()):
        name, bound = ("elastic limits", np.inf) if is_elastic else ("limits", LIMIT)
        if value == 0.0:
            lines.append(
                AuditLine(name, value, bound, "rad or m", "ok", "All joints stay within their limits.")
            )
        elif value <= bound:
            text = f"Joints press against their stops, which give way, most of all {words}."
            lines.append(AuditLine(name, value, bound, "rad or m", "note", text))
        else:
            text = (
                f"Joints are far beyond their limits: the stops give way, most of all {words}. Check that the motion "
                "starts within the limits and what drives it there, make the stop rigid with contacts=[ct.Stop(...)], "
                "or end the run before with an event."
            )
            lines.append(AuditLine(name, value, bound, "rad or m", "warn", text))
    return lines


def actuators(run: Segment) -> list[AuditLine]:
    """Return how long actuators gave all they can, and what acted where there is none."""
    shares = {}
    for name, actuator in run.system.mechanics.evaluator.once(_bounded):
        limits = actuator.joint_limits
        tau = run.force(actuator.joint)[..., list(actuator.components)]
        slack = AT_LIMIT * np.abs(limits)
        full = (tau <= limits[:, 0] + slack[:, 0]) | (tau >= limits[:, 1] - slack[:, 1])
        shares[name] = float(np.mean(np.any(full, axis=-1)))
    idle = _idle_joints(run)
    if idle:
        text = (
            f"The controller gave forces at joints that are not actuated, and they acted: "
            f"{', '.join(map(repr, idle))}. Add these joints with actuated=True, or let the controller give zero."
        )
        return [AuditLine("actuators", float(len(idle)), 0.0, "", "warn", text)]
    if not shares:
        return []
    busiest = max(shares, key=shares.__getitem__)
    value = shares[busiest]
    if value == 0.0:
        return [AuditLine("actuators", 0.0, np.inf, "", "ok", "No actuator reaches its limit.")]
    others = sum(share > 0.0 for share in shares.values()) - 1
    more = f" and {others} more" if others else ""
    text = (
        f"Actuator {busiest!r}{more} gives all it can, in {100.0 * value:.3g} % of the samples: what the controller "
        f"asked for beyond that did not act."
    )
    return [AuditLine("actuators", value, np.inf, "", "note", text)]


def limited(evaluator: Evaluator) -> list[tuple[str, Joint, np.ndarray]]:
    """Return the joints with limits that move, and these (2, nv of the joint)."""
    moving = (*evaluator.plan.joints, *evaluator.plan.loops)
    found = evaluator.mechanism.joints.items()
    return [(name, x, x.limits.T) for name, x in found if x.limits is not None and name in moving]


def _bounded(evaluator: Evaluator) -> list[tuple[str, Actuator]]:
    """Return the actuators with limits at joints that move."""
    moving = (*evaluator.plan.joints, *evaluator.plan.loops)
    found = evaluator.mechanism.actuators.items()
    return [(name, x) for name, x in found if x.joint in moving and np.isfinite(x.joint_limits).any()]


def _idle_joints(run: Segment) -> list[str]:
    """Return the joints that are neither actuated nor driven and got forces all the same."""
    if not run.tau.any() and not run.loop_forces:
        return []
    joints = run.system.mechanism.joints
    forced = np.any(run.tau.reshape(-1, run.tau.shape[-1]) != 0.0, axis=0) & ~run.system.plan.actuated
    found = [joint_of(run.system, int(k)) for k in np.flatnonzero(forced)]
    found += [name for name, x in run.loop_forces.items() if x.any() and not joints[name].actuated]
    return [name for name in dict.fromkeys(found) if name not in run.driven]
