"""What bodies feel of ground that moves: a vehicle, a ship or a turntable that everything stands on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.kernels import arrays
from catena.kinematics import stacks
from catena.mechanism.validation import known
from catena.questions.inertial_parameters import moving_bodies
from catena.system.inertial_parameters import inertial_parameters
from catena.system.of_system import of_system

if TYPE_CHECKING:
    from catena.structure import Plan
    from catena.system.system import System


@of_system
def moving_base_wrenches(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    velocity: ArrayLike | Mapping[str, ArrayLike],
    acceleration: ArrayLike | Mapping[str, ArrayLike] | None = None,
) -> dict[str, np.ndarray]:
    """Return {body: wrench (..., 6)}, for `f_ext` of any call or `forces` of a run at q (..., nq), v (..., nv): what
    bodies feel because the ground moves with the twist `velocity` (..., 6) [angular; linear] in its own axes at its
    origin, which changes by `acceleration` (..., 6), none if None.

    Coordinates and velocities stay those relative to the ground, and gravity is as its axes see it now. A body with the
    twist v and inertia I, carried along by u = X velocity, feels -(I (X acceleration - v x u) + (v + u) x I (v + u) - v
    x I v) (van der Merwe, eq. 4.27 and 4.28 with a base that moves).

    Several bases may have motions of their own: `velocity` and `acceleration` are then mappings from joints that stand
    on ground to twists, each for all that hangs on its joint and in the axes that are there instead of ground's; bases
    that are not named rest. A loop between bases is refused unless they move alike.
    """
    bodies = moving_bodies(system.mechanism, system.plan)
    bent = [
        name for name, b in system.mechanism.bodies.items() if b.flexible is not None and name not in bodies
    ]
    if bent:
        raise StateError(
            f"moving_base_wrenches: body {bent[0]!r} is flexible, and what its parts feel is no wrench on the body; "
            "mount the mechanism on a body with a Free joint, m.add_mechanism(other, at=...), and prescribe that joint."
        )
    carrying, changing = (
        _of_bases(system, name, x) for name, x in (("velocity", velocity), ("acceleration", acceleration))
    )
    bases = _bases(system.plan)
    _require_alike(system, bases, (carrying, changing))
    numbers = inertial_parameters(system)
    found = {}
    for k, name in enumerate(bodies):
        own, pose = numbers[..., 10 * k : 10 * k + 10], system.pose(q, name).matrix()
        X = stacks.motion_matrices(stacks.transposed(pose[..., :3, :3]), pose[..., :3, 3])
        base = bases[system.plan.body_pose[name][0]]
        u, twist = stacks.apply(X, carrying[base]), system.twist(q, v, name)
        change = stacks.apply(X, changing[base]) - stacks.cross(twist, u)
        found[name] = _turning(own, twist) - _turning(own, twist + u) - _momentum(own, change)
    return found


def _bases(plan: Plan) -> list[str]:
    """Return of every node the joint on ground that it hangs on; of the ground itself no name."""
    found = [""]
    for i in range(1, plan.n):
        found.append(found[plan.parent[i]] if plan.parent[i] else plan.joint[i])
    return found


def _of_bases(
    system: System, name: str, by_joint: ArrayLike | Mapping[str, ArrayLike] | None
) -> Mapping[str, np.ndarray]:
    """Return of every joint on ground the twist (..., 6) of what it stands on."""
    own = {base: np.zeros(6) for base in _bases(system.plan)[1:]}
    each = (
        by_joint
        if isinstance(by_joint, Mapping)
        else dict.fromkeys(own, np.zeros(6) if by_joint is None else by_joint)
    )
    for base, twist in each.items():
        known("joint on ground", base, own, f"moving_base_wrenches, {name}")
        own[base] = arrays.as_rows(name, twist, 6, lambda: "a twist [angular; linear]")
    return own


def _require_alike(system: System, bases: list[str], motions: Sequence[Mapping[str, np.ndarray]]) -> None:
    """Refuse loops between bases that do not move alike, because they would not stay closed as coordinates have it."""
    together = [np.stack(np.broadcast_arrays(*motion.values())) for motion in motions if motion]
    if all(np.array_equal(x, np.broadcast_to(x[:1], x.shape)) for x in together):
        return
    for loop, name in zip(system.plan.loop_joints, system.loops, strict=True):
        first, second = bases[loop.parent_node], bases[loop.child_node]
        rest = np.zeros(6)
        if any(not np.array_equal(motion.get(first, rest), motion.get(second, rest)) for motion in motions):
            raise StateError(
                f"moving_base_wrenches: joint {name!r} closes a loop between bases that move in different ways; make "
                "the bases bodies, each on a Free joint to ground, and prescribe these joints."
            )


def _momentum(numbers: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """I v (..., 6) of inertial numbers (..., 10)."""
    m, h, I = numbers[..., :1], numbers[..., 1:4], numbers[..., [[4, 5, 6], [5, 7, 8], [6, 8, 9]]]  # noqa: E741
    w, u = twist[..., :3], twist[..., 3:]
    angular: Any = stacks.apply(I, w) + stacks.crossed(h, u)
    return np.concatenate([angular, m * u - stacks.crossed(h, w)], axis=-1)


def _turning(numbers: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """v x I v (..., 6), the rate of a momentum that is carried along."""
    p, w = _momentum(numbers, twist), twist[..., :3]
    angular = stacks.crossed(w, p[..., :3]) + stacks.crossed(twist[..., 3:], p[..., 3:])
    return np.concatenate([angular, stacks.crossed(w, p[..., 3:])], axis=-1)
