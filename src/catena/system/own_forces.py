"""The forces that belong to a mechanism in every call: what they do at the joints of the tree is added to the forces
given, or taken off those asked for; and the same system without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from catena import dynamics
from catena.errors import StateError
from catena.kernels import arrays
from catena.kernels.evaluation import Evaluator
from catena.mechanism import Mechanism
from catena.structure import plan
from catena.system.by_name import forces_by_name
from catena.validation import real_array, shown

if TYPE_CHECKING:
    from catena.system.system import System

OF_JOINT = ("damping", "friction")
"""The numbers of joints that belong to what acts."""
Shortest = Callable[..., np.ndarray | None]


Near = Mapping[str, Any]
"""Positions (..., nq of the joint) that loop joints are next to, by joint."""


def require_near(near: Any) -> None:
    """Refuse what does not say which positions loop joints are next to."""
    if near is not None and not isinstance(near, Mapping):
        raise StateError(f"near is {shown(near)}; give a mapping from joints that close loops to positions.")
    for joint, position in (near or {}).items():
        near_position(f"near of {shown(joint)}", position)


def near_position(who: str, position: Any) -> np.ndarray:
    """Return a position that a joint is next to as an array of numbers."""
    try:
        return real_array(position)
    except ValueError as error:
        raise StateError(f"{who} is {shown(position)} ({error}); give numbers.") from error


def with_own_by_place(
    system: System, q: Any, v: Any, tau: Any, loop_tau: np.ndarray | None, f_ext: Mapping[str, Any] | None,
    near: Near | None = None,
) -> tuple[Any, np.ndarray | None, Mapping[str, Any] | None]:  # fmt: skip
    """Return joint forces (..., nv), forces at all loop joints (..., k) and wrenches by body or frame, each with those
    of the mechanism that act there."""
    if system.mechanics.elements.is_empty:
        return tau, loop_tau, f_ext
    own = system.forces.loads(q, v, near)
    at_tree = own.tau
    if tau is not None:
        besides = system.mechanics.evaluator.checked(dynamics.articulated_body, "tau", tau)
        arrays.batch_shape({"q and v": at_tree, "tau": besides})
        at_tree = at_tree + besides
    if own.at_loops:
        at_loops = forces_by_name(system.mechanics.evaluator, own.at_loops)[1]
        loop_tau = at_loops if loop_tau is None or at_loops is None else loop_tau + at_loops
    return at_tree, loop_tau, with_wrenches(f_ext, own.between) or None


def with_wrenches(outside: Mapping[str, Any] | None, own: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return wrenches by body or frame, summed up where both name one."""
    total: dict[str, Any] = dict(own)
    if outside is not None and not isinstance(outside, Mapping):
        raise StateError(
            f"f_ext is {shown(outside)}; give a mapping from bodies or frames to wrenches of six numbers."
        )
    for name, wrench in (outside or {}).items():
        total[name] = total[name] + np.asarray(wrench, dtype=np.float64) if name in total else wrench
    return total


def with_own_load(forward: Shortest, own: Shortest, nv: int) -> Shortest:
    """Return forward dynamics of one ordinary state with the forces of the mechanism."""

    def accelerated(q: Any, v: Any, tau: Any) -> np.ndarray | None:
        load = own(q, v)
        if load is None:
            return None
        if tau is not None:
            if type(tau) is not np.ndarray or tau.shape != (nv,) or tau.dtype != np.float64:
                return None
            load += tau
        return forward(q, v, load)

    return accelerated


def less_own_load(inverse: Shortest, own: Shortest) -> Shortest:
    """Return inverse dynamics of one ordinary state besides the forces of the mechanism."""

    def taken(q: Any, v: Any, vdot: Any) -> np.ndarray | None:
        load = own(q, v)
        tau = None if load is None else inverse(q, v, vdot)
        return None if tau is None else tau - load

    return taken


def without_forces(system: System) -> System:
    """Return a system in the same coordinates of the mechanism without forces; itself where there are none."""
    mechanism = system.mechanism.without_forces()
    if mechanism.revision == system.mechanism.revision:
        return system
    own = system.plan
    described = plan(mechanism, root=own.root, cut=own.cut, keep=own.keep)
    bare = system._planned(mechanism, described, system.mechanics.accuracy)
    # What was found about the loops holds without forces too.
    mine, its = system._counted, bare._counted
    its.found, its.looks, its.tries = mine.found, mine.looks, mine.tries
    if mine.effective is not mine.described:
        loops = [
            replace(loop, **{name: np.zeros_like(getattr(loop, name)) for name in OF_JOINT})
            for loop in mine.effective.plan.loop_joints
        ]
        kept = replace(
            mine.effective.plan, revision=described.revision, damping=described.damping,
            friction=described.friction, loop_joints=loops,
        )  # fmt: skip
        its.effective = Evaluator(mechanism, kept)
    return bare


def is_left_out(mechanism: Mechanism, name: str) -> bool:
    """Return whether a parameter belongs to what `without_forces` leaves out."""
    if any(name.startswith(f"{force}.") for force in mechanism.force_elements):
        return True
    owner, _, what = name.rpartition(".")
    if what.isdecimal():
        owner, _, what = owner.rpartition(".")
    return what in OF_JOINT and owner in mechanism.joints


def of_bare(
    system: System, names: Sequence[str], ask: Callable[[System, list[str]], Mapping[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Return the derivatives {name: (..., nv, entries)} that the system without forces tells, zero by what is left
    out."""
    from catena.equations.parameters import find_parameters

    mechanism = system.mechanism
    sizes = {p.name: len(p.value) for p in find_parameters(mechanism, names)}
    idle = [name for name in names if is_left_out(mechanism, name)]
    kept = [name for name in names if name not in idle]
    # Gravity is always there, and tells what shape nothing has.
    found = ask(system.variants.bare, list(dict.fromkeys([*kept, "gravity"] if idle else kept)))
    shape = found["gravity"].shape[:-1] if idle else ()
    return {name: np.zeros((*shape, sizes[name])) if name in idle else found[name] for name in names}
