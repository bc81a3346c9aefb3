"""What acts on a mechanism at the states of a run, and the power it brings in or takes out.

Energy is counted in kinetic energy and the potential energy of gravity and springs. Whatever else exchanges energy
with the mechanism is a power here: control forces, friction and dampers, wrenches from outside, prescribed motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catena.dynamics.loops.elimination.dry_loops import dry_loops
from catena.errors import CatenaError, warn
from catena.forces.smooth import smooth_sign
from catena.system import System, tree_forces
from catena.system.dry_friction import bears

Wrenches = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Besides:
    """What is known of joints at the states of a run besides the control forces at those of the tree, each
    {joint: (..., n)}: the control forces of `motors` at joints that close loops, the forces of rigid `stops` at joints
    of the tree and by how much friction that sticks at any joint differs from the smooth one, and the positions
    `near` which loop joints are next to, so that whole turns count."""

    motors: Wrenches = field(default_factory=dict)
    stops: Wrenches = field(default_factory=dict)
    near: Wrenches = field(default_factory=dict)

    def at(self, samples: Any) -> Besides:
        """Return the same at some of the samples."""
        motors, stops, near = (
            {name: x[..., samples, :] for name, x in by_joint.items()}
            for by_joint in (self.motors, self.stops, self.near)
        )
        return Besides(motors, stops, near)


NOTHING = Besides()


def acting_forces(system: System, q: np.ndarray, tau: np.ndarray, besides: Besides = NOTHING) -> np.ndarray:
    """Return all joint forces (..., nv) at these states that do not belong to the mechanism: `tau`, those of stops, and
    what motors at loop joints do at the tree."""
    tau, across = with_stops(system, tau, besides), at_loops(system, besides)
    return tau + tree_forces(system, q, across) if across else tau


def in_place(system: System, q: np.ndarray, tau: np.ndarray, besides: Besides = NOTHING) -> Any:
    """Return the same for whoever asks what joints bear: where these make friction, forces at loop joints stay at their
    joints, {joint: (..., nv of the joint)}."""
    across = at_loops(system, besides)
    if not across or not bears(system):
        return acting_forces(system, q, tau, besides)
    tau = with_stops(system, tau, besides)
    return {**{joint: tau[..., system.slice_v(joint)] for joint in system.joints}, **across}


def with_stops(system: System, tau: np.ndarray, besides: Besides) -> np.ndarray:
    """Return the joint forces tau (..., nv) and those of stops at joints of the tree."""
    if not besides.stops:
        return tau
    tau = np.array(tau)
    for joint, force in besides.stops.items():
        if joint not in system.loops:
            tau[..., system.slice_v(joint)] += force
    return tau


def at_loops(system: System, besides: Besides) -> Wrenches:
    """Return the forces of motors and stops at joints that close loops, {joint: (..., nv of the joint)}."""
    found = dict(besides.motors)
    for joint, force in besides.stops.items():
        if joint in system.loops:
            found[joint] = found[joint] + force if joint in found else force
    return found


def _besides_friction(system: System, besides: Besides) -> System:
    """Return the system that goes with what is known of joints: where that has all of their friction, friction by load
    is among it."""
    return system.variants.unloaded if besides.stops else system


def accelerations(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, driven: Wrenches,
    besides: Besides = NOTHING,
) -> np.ndarray:  # fmt: skip
    """Return vdot (..., nv), in which joints accelerate as `driven`, {joint: (..., nv of the joint)}, has it."""
    near, known = besides.near or None, _besides_friction(system, besides)
    if not driven:
        acting = in_place(system, q, tau, besides)
        return known.forward_dynamics(q, v, acting, f_ext=wrenches or None, near=near)
    tau, system = acting_forces(system, q, tau, besides), known
    return system.hybrid_dynamics(q, v, tau, driven, f_ext=wrenches or None, near=near)[0]


def with_drives(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, driven: Wrenches,
    besides: Besides = NOTHING,
) -> np.ndarray:  # fmt: skip
    """Return the joint forces tau (..., nv) and, at `driven` joints, what makes them accelerate so."""
    total, near = acting_forces(system, q, tau, besides), besides.near or None
    knows = _besides_friction(system, besides)
    taken = knows.hybrid_dynamics(q, v, total, driven, f_ext=wrenches or None, near=near)[1]
    found = np.array(np.broadcast_to(tau, taken.shape))
    for joint in driven:
        own = system.slice_v(joint)
        found[..., own] += (taken - total)[..., own]
    return found


def with_drives_or_nan(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, driven: Wrenches,
    besides: Besides = NOTHING,
) -> np.ndarray:  # fmt: skip
    """Return what `with_drives` does; where it cannot find the forces of drives, they are not a number, and a warning
    says why: a run that was computed is not lost for them."""
    try:
        return with_drives(system, q, v, tau, wrenches, driven, besides)
    except CatenaError as error:
        listed = ", ".join(repr(joint) for joint in driven)
        warn(f"The forces of what drives {listed} could not be found and are nan in this run: {error}")
        found = np.array(np.broadcast_to(tau, v.shape))
        for joint in driven:
            found[..., system.slice_v(joint)] = np.nan
        return found


def dry_joints(system: System) -> tuple[str, ...]:
    """Return the joints that have dry friction, those that close loops behind those of the tree."""
    plan = system.plan
    of_tree = (j for j in system.joints if np.any(plan.friction[system.slice_v(j)] > 0.0))
    return (*of_tree, *(plan.loop_joints[k].name for k in dry_loops(plan)))


def sticking(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, driven: Wrenches,
    besides: Besides = NOTHING,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return by how much dry friction that sticks differs from the one that goes smoothly through rest, {joint: (...,
    nv of the joint)}."""
    acting, near = in_place(system, q, tau, besides), besides.near or None
    found = system.sticking(q, v, acting, wrenches or None, driven or None, near)
    beyond = found.force + system.plan.friction * smooth_sign(v)
    differs = {
        joint: beyond[..., system.slice_v(joint)] for joint in dry_joints(system) if joint in system.joints
    }
    for k in dry_loops(system.plan):
        loop = system.plan.loop_joints[k]
        smooth = loop.friction * smooth_sign(system.joint_velocity(q, v, loop.name))
        differs[loop.name] = found.at_loops[loop.name] + smooth
    return differs


def reactions(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, vdot: np.ndarray | None,
    besides: Besides = NOTHING,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return the wrench (..., 6) that each joint passes to its child. What sits in a joint (motors, springs, stops)
    passes its force through it, in the tree or where it closes a loop; `vdot` are accelerations that are known."""
    return _besides_friction(system, besides).reactions(
        q, v, with_stops(system, tau, besides), f_ext=wrenches or None, vdot=vdot,
        at_loops=at_loops(system, besides),
        near=besides.near or None,
    )  # fmt: skip


def coupling_forces(
    system: System,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    wrenches: Wrenches,
    besides: Besides = NOTHING,
) -> dict[str, np.ndarray]:
    """Return the force (...) that each coupling carries."""
    return _besides_friction(system, besides).coupling_forces(
        q,
        v,
        with_stops(system, tau, besides),
        wrenches or None,
        at_loops=at_loops(system, besides),
        near=besides.near or None,
    )


def powers(
    system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Wrenches, driven: Iterable[str],
    besides: Besides = NOTHING,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return the powers (...) by source: "actuators", "friction" (with dampers, never positive), "wrenches" (given
    and of the mechanism) and "motion" (what drives the `driven` joints)."""
    outside = [_power(system, q, v, frame, wrench) for frame, wrench in wrenches.items()]
    stopped = [_dot(x, system.joint_velocity(q, v, joint)) for joint, x in besides.stops.items()]
    # Stops give and take nothing; what is left of it rubs.
    turned = [_dot(x, system.joint_velocity(q, v, joint)) for joint, x in besides.motors.items()]
    own, nothing = system.forces.powers(q, v, besides.near), np.zeros(v.shape[:-1])
    drives = np.zeros(system.nv, dtype=bool)
    for joint in driven:
        drives[system.slice_v(joint)] = True
    return {
        "actuators": sum(turned, _dot(tau * ~drives, v)),
        "friction": sum(stopped, own.get("friction", nothing)),
        "wrenches": sum(outside, own.get("wrenches", nothing)),
        "motion": _dot(tau * drives, v),
    }


def _power(system: System, q: np.ndarray, v: np.ndarray, frame: str, wrench: np.ndarray) -> np.ndarray:
    return _dot(np.broadcast_to(wrench, (*v.shape[:-1], 6)), system.twist(q, v, frame))


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("...i,...i->...", a, b)
