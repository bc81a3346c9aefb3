"""Joints whose motion is prescribed, and plans: they carry coordinates from the start, and across a change of structure
they stay in the tree, move on as they are driven, and are not put elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.changing.fitting import FITS, sizes
from catena.changing.transfer import transfer
from catena.errors import SimulationError, StateError
from catena.kinematics.extent import extent
from catena.mechanism import Mechanism
from catena.simulation.acting.prescribed_joints import PrescribedJoints
from catena.simulation.arguments import initial_state
from catena.simulation.problem import Problem
from catena.spatial import log
from catena.system import System
from catena.validation import is_one_of

# Position (nq of the joint,) and velocity (nv of the joint,) of joints by name.
Drives = Mapping[str, tuple[np.ndarray, np.ndarray]]


def with_drives_in_tree(
    system: System, q: Any, v: Any, motion: Any, is_alone: bool
) -> tuple[System, Any, Any]:
    """Return a system, and the same state q, v of it, in which all joints whose `motion` is prescribed belong to the
    tree: the given one unless some of them close loops.

    Another plan has other coordinates, so nobody else may speak of them: with a controller or events, or in a list of
    systems, a run that is not alone, it is an error.
    """
    names = (
        [joint for joint in motion if is_one_of(joint, system.loops)] if isinstance(motion, Mapping) else []
    )
    if not names:
        return system, q, v
    listed = ", ".join(repr(name) for name in names)
    if not is_alone:
        raise StateError(
            f"motion: {listed} closes a loop in this plan, and controllers and events know its coordinates only: plan "
            f"it with m.system(keep=[{listed}])."
        )
    plan = system.plan
    cut = [name for name in plan.cut if name not in names]
    new = system.mechanism.system(
        root=plan.root, cut=cut, accuracy=system.mechanics.accuracy, keep=[*plan.keep, *names]
    )
    if q is None or isinstance(q, Mapping):
        return new, q, v
    found = transfer(system, *initial_state(system, q, v), new)
    return new, found.q, found.v


def planned(mechanism: Mechanism, motion: Sequence[str], before: System) -> System:
    """Return the plan of a changed mechanism in which all joints of a prescribed motion that can move carry
    coordinates; its dimensions are as accurate as they were."""
    found = mechanism.system(accuracy=before.mechanics.accuracy)
    if not any(name in found.loops for name in motion):
        return found
    moving = [name for name in motion if name in mechanism.joints and mechanism.joints[name].dof > 0]
    return mechanism.system(accuracy=before.mechanics.accuracy, keep=moving)


def drives_of(system: System, motion: Mapping[str, Any], t: float) -> Drives:
    """Return where the joints of the tree whose motion is prescribed are to be at a time t [s], and how they are to
    move there."""
    closing = [name for name in motion if name in system.loops]
    if closing:
        listed = ", ".join(repr(name) for name in closing)
        raise SimulationError(
            f"The motion of {listed} is prescribed, but closes a loop in the plan that was given; give the mechanism, "
            f"or plan it with m.system(keep=[{listed}])."
        )
    own = {name: moves for name, moves in motion.items() if name in system.joints}
    if not own:
        return {}
    prescribed = PrescribedJoints(system, Problem(system, motion=own).motion).at(t)
    return {name: (q, v) for name, (q, v, _) in prescribed.items()}


def require_there(system: System, q: np.ndarray, drives: Drives) -> None:
    """Raise an error unless driven joints are at q (nq,) where their motion begins, whole turns aside."""
    for name, (wanted, _) in drives.items():
        kind, own = system.mechanism.joints[name].kind, q[system.slice_q(name)]
        gap = log(kind.transform(wanted) * kind.transform(own).inverse()).array
        if sizes(np.asarray(gap, dtype=np.float64), extent(system.plan)) > FITS:
            raise SimulationError(
                f"The motion of {name!r} goes on at {np.round(wanted, 9).tolist()}, but the joint is at "
                f"{np.round(own, 9).tolist()} by then; prescribe a motion that goes on where it is."
            )
