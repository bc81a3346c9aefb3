"""Forward, inverse and hybrid dynamics and reactions where friction comes from the load of joints.

What it does is found first, as forces at joints, and acts on the mechanism without it. It goes smoothly through rest,
as all friction does there; `System.sticking` has it as it is in runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.dynamics.bearing_loads import AGREED, ROUNDS
from catena.errors import ModelError, SimulationError
from catena.forces.smooth import smooth_sign
from catena.system.by_name import Given, as_arrays
from catena.system.dry_friction import no_load_message
from catena.system.sticking import sense_search, tree_loads

if TYPE_CHECKING:
    from catena.system.system import System

Wrenches = Mapping[str, ArrayLike] | None


def smooth_load_friction(
    system: System, q: Any, v: Any, tau: Any, f_ext: Wrenches, base_acceleration: Any, prescribed: Given | None,
    near: Mapping[str, ArrayLike] | None,
) -> np.ndarray:  # fmt: skip
    """Return the forces (..., nv) at joints of the tree that do what friction by load does, in joints of loops too."""
    search = sense_search(system, q, v, tau, f_ext, base_acceleration, prescribed, near)
    return search.at_tree(*search.smooth())


def with_load_friction(
    system: System, q: Any, v: Any, tau: Any, f_ext: Wrenches, base_acceleration: Any = None,
    prescribed: Given | None = None, near: Mapping[str, ArrayLike] | None = None,
) -> dict[str, np.ndarray] | np.ndarray:  # fmt: skip
    """Return joint forces with friction by load: (..., nv), or by name where those of loop joints are given."""
    found = smooth_load_friction(system, q, v, tau, f_ext, base_acceleration, prescribed, near)
    if isinstance(tau, Mapping):
        named = dict(tau)
        for joint in system.joints:
            named[joint] = np.asarray(named.get(joint, 0.0)) + found[..., system.slice_v(joint)]
        return named
    return found if tau is None else np.asarray(tau) + found


def reactions(
    system: System, q: Any, v: Any, tau: Any, f_ext: Wrenches, base_acceleration: Any, vdot: Any,
    at_loops: Mapping[str, ArrayLike] | None, near: Mapping[str, ArrayLike] | None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return what `System.reactions` does; friction by load passes through its joints, of the tree and of loops."""
    pushed = tau
    if at_loops:
        plain = {} if tau is None else tau
        if not isinstance(plain, Mapping):
            plain = {j: np.asarray(tau)[..., system.slice_v(j)] for j in system.joints}
        pushed = dict(plain)
        pushed = {**pushed, **{name: np.asarray(x) + pushed.get(name, 0.0) for name, x in at_loops.items()}}
    own, across = sense_search(system, q, v, pushed, f_ext, base_acceleration, None, near).smooth()
    across = {name: x + np.asarray((at_loops or {}).get(name, 0.0)) for name, x in across.items()}
    if isinstance(tau, Mapping):
        acting: Any = {
            **tau,
            **{j: np.asarray(tau.get(j, 0.0)) + own[..., system.slice_v(j)] for j in system.joints},
        }
    else:
        acting = own if tau is None else np.asarray(tau) + own
    more = {**(at_loops or {}), **across}
    return system.variants.unloaded.reactions(
        q, v, acting, f_ext, base_acceleration, vdot, at_loops=more, near=near
    )


def hybrid_dynamics(
    system: System, q: Any, v: Any, tau: Any, prescribed: Given, f_ext: Wrenches, base_acceleration: Any,
    near: Mapping[str, ArrayLike] | None,
) -> tuple[np.ndarray, Any]:  # fmt: skip
    """Return what `System.hybrid_dynamics` does; drives overcome friction by load besides."""
    beyond = smooth_load_friction(system, q, v, tau, f_ext, base_acceleration, prescribed, near)
    acting = with_load_friction(system, q, v, tau, f_ext, base_acceleration, prescribed, near)
    bare = system.variants.unloaded
    vdot, forces = bare.hybrid_dynamics(q, v, acting, prescribed, f_ext, base_acceleration, near=near)
    return vdot, forces - beyond


def inverse_dynamics(
    system: System,
    q: Any,
    v: Any,
    vdot: Any,
    f_ext: Wrenches,
    base_acceleration: Any,
    actuated: Sequence[str] | None,
) -> Any:
    """Return the joint forces that produce vdot (..., nv), friction by load among what they overcome."""
    bare: Any = system.variants.unloaded
    taken = bare.inverse_dynamics(q, v, vdot, f_ext, base_acceleration, actuated)
    q, v, _, _ = as_arrays(system, q, v)
    if actuated is None and not system._closed and not system._driven_in_part:
        return taken + tree_loads(system, q, v, vdot, f_ext, base_acceleration) * smooth_sign(np.asarray(v))
    found = [taken]

    def overcome(friction: np.ndarray) -> np.ndarray:
        """Return friction under the forces that overcome some friction."""
        with_it = bare.forward_dynamics(q, v, friction, f_ext=f_ext, base_acceleration=base_acceleration)
        without = bare.forward_dynamics(q, v, None, f_ext=f_ext, base_acceleration=base_acceleration)
        wanted = np.asarray(vdot) - (with_it - without)
        found[0] = bare.inverse_dynamics(q, v, wanted, f_ext, base_acceleration, actuated)
        return smooth_load_friction(system, q, v, found[0], f_ext, base_acceleration, None, None)

    friction = np.zeros(np.broadcast_shapes(np.shape(v), np.shape(vdot)))
    for _ in range(ROUNDS):
        better = overcome(friction)
        if np.max(np.abs(better - friction), initial=0.0) <= AGREED * np.max(np.abs(better), initial=0.0):
            return found[0]
        friction = better
    raise SimulationError(no_load_message(system))


def require_none(system: System, who: str) -> None:
    """Raise where some joint has friction by load, which what is asked for does not know."""
    if system._bears:
        names = [name for name, joint in system.mechanism.joints.items() if joint.load_friction is not None]
        raise ModelError(
            f"{who} does not know friction by load, which joints {names} of {system.mechanism.name!r} have: give them "
            f"friction= instead, m.with_joint(name, load_friction=None, friction=...)."
        )
