"""What bodies feel of ground that moves: a vehicle, a ship or a turntable that everything stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.kernels import arrays
from catena.kinematics import stacks
from catena.questions.inertial_parameters import moving_bodies
from catena.system.inertial_parameters import inertial_parameters
from catena.system.of_system import of_system

if TYPE_CHECKING:
    from catena.system.system import System


@of_system
def moving_base_wrenches(
    system: System, q: ArrayLike, v: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike | None = None
) -> dict[str, np.ndarray]:
    """Return {body: wrench (..., 6)}, for `f_ext` of any call or `forces` of a run at q (..., nq), v (..., nv): what
    bodies feel because the ground moves with the twist `velocity` (..., 6) [angular; linear] in its own axes at its
    origin, which changes by `acceleration` (..., 6), none if None.

    Coordinates and velocities stay those relative to the ground, and gravity is as its axes see it now. A body with the
    twist v and inertia I, carried along by u = X velocity, feels -(I (X acceleration - v x u) + (v + u) x I (v + u) - v
    x I v) (van der Merwe, eq. 4.27 and 4.28 with a base that moves).
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
        arrays.as_rows(name, np.zeros(6) if x is None else x, 6, lambda: "a twist [angular; linear]")
        for name, x in (("velocity", velocity), ("acceleration", acceleration))
    )
    numbers = inertial_parameters(system)
    found = {}
    for k, name in enumerate(bodies):
        own, pose = numbers[..., 10 * k : 10 * k + 10], system.pose(q, name).matrix()
        X = stacks.motion_matrices(stacks.transposed(pose[..., :3, :3]), pose[..., :3, 3])
        u, twist = stacks.apply(X, carrying), system.twist(q, v, name)
        change = stacks.apply(X, changing) - stacks.cross(twist, u)
        found[name] = _turning(own, twist) - _turning(own, twist + u) - _momentum(own, change)
    return found


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
