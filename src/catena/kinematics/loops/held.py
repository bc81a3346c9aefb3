"""Values that a caller gives for joints: which coordinates they hold, of the tree or of a loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.joints import JointKind
from catena.mechanism import Mechanism
from catena.mechanism.validation import known
from catena.structure import Plan
from catena.validation import real_array, shown


@dataclass(frozen=True, eq=False)
class Held:
    """What is given for one joint: `value` (..., nq) or (..., nv), of which the entries in `mask` are held.

    `node` is the node of a tree joint and `loop` the number of a loop joint; the other is -1. What nobody `asked_for`
    is held all the same, and messages do not speak of it.
    """

    name: str
    kind: JointKind
    node: int
    loop: int
    value: np.ndarray
    mask: np.ndarray
    asked_for: bool = True


def held_positions(mechanism: Mechanism, plan: Plan, by_joint: Mapping[str, Any]) -> list[Held]:
    """Return the coordinates given by joint, each a number or (..., nq). None or NaN leaves a coordinate free, for
    kinds whose velocities are the rates of their coordinates."""
    result = []
    for name, kind, node, loop, value in _resolved(mechanism, plan, by_joint, "position"):
        if value is None and kind.nq != kind.nv:
            # Nothing is held of a joint whose coordinates only make sense together.
            continue
        x = _values(name, value, kind.nq, "coordinate")
        free = np.isnan(x)
        if free.any() and kind.nq != kind.nv:
            raise StateError(
                f"joint {name!r}: some of the {kind.nq} coordinates given are None or NaN, but they only make sense "
                f"together: give all of them."
            )
        mask = _mask(name, free) if kind.nq == kind.nv else np.ones(kind.nv, dtype=bool)
        kind.check(np.where(free, np.broadcast_to(kind.neutral(), x.shape), x), name)
        result.append(Held(name, kind, node, loop, x, mask))
    return result


def held_velocities(mechanism: Mechanism, plan: Plan, by_joint: Mapping[str, Any]) -> list[Held]:
    """Return the velocities given by joint, each a number or (..., nv). None or NaN leaves a component free."""
    result = []
    for name, kind, node, loop, value in _resolved(mechanism, plan, by_joint, "velocity"):
        x = _values(name, value, kind.nv, "velocity component")
        result.append(Held(name, kind, node, loop, x, _mask(name, np.isnan(x))))
    return result


def held_forces(mechanism: Mechanism, plan: Plan, by_joint: Mapping[str, Any]) -> list[Held]:
    """Return the forces given by joint, each a number or (..., nv). None or NaN is no force."""
    result = []
    for name, kind, node, loop, value in _resolved(mechanism, plan, by_joint, "force"):
        x = np.nan_to_num(_values(name, value, kind.nv, "force component"), nan=0.0)
        result.append(Held(name, kind, node, loop, x, np.ones(kind.nv, dtype=bool)))
    return result


def _resolved(
    mechanism: Mechanism, plan: Plan, by_joint: Mapping[str, Any], what: str
) -> list[tuple[str, JointKind, int, int, Any]]:
    if not isinstance(by_joint, Mapping):
        raise StateError(
            f"The given {what} is a {type(by_joint).__name__}; give a mapping such as {{'A': 0.3}}."
        )
    nodes = {joint: i for i, joint in enumerate(plan.joint) if joint}
    loops = {loop.name: k for k, loop in enumerate(plan.loop_joints)}
    result: list[tuple[str, JointKind, int, int, Any]] = []
    for name, value in by_joint.items():
        if name in mechanism.joints and name not in nodes and name not in loops:
            raise StateError(
                f"joint {name!r} is fixed or locked in this plan, so it has no {what} to give: unlock it or leave "
                f"it out."
            )
        known("joint", name, {**nodes, **loops}, repr(mechanism.name))
        node, loop = nodes.get(name, -1), loops.get(name, -1)
        kind = plan.kind[node] if node >= 0 else plan.loop_joints[loop].kind
        assert kind is not None
        result.append((str(name), kind, node, loop, value))
    return result


def _values(name: str, value: Any, width: int, what: str) -> np.ndarray:
    """Return an array (..., width) of numbers; None becomes NaN, in all entries where nothing else is given. One number
    will do where the width is 1."""
    try:
        x = np.full(width, np.nan) if value is None else real_array(value)
    except ValueError as error:
        raise StateError(
            f"joint {name!r}: {shown(value)} is not a number for each {what}: {error}."
        ) from error
    if x.ndim == 0 and width == 1:
        x = x[None]
    if x.ndim == 0 or x.shape[-1] != width:
        raise StateError(
            f"joint {name!r} has {width} {what}{'' if width == 1 else 's'}, but what was given has shape {x.shape}: "
            f"its last dimension must be {width}."
        )
    if np.isinf(x).any():
        raise StateError(
            f"joint {name!r}: an infinite {what} was given; all must be finite, or None where free."
        )
    return x


def _mask(name: str, free: np.ndarray) -> np.ndarray:
    """Return which entries are held, the same in all states."""
    flat = free.reshape(-1, free.shape[-1])
    if len(flat) and (flat != flat[0]).any():
        raise StateError(
            f"joint {name!r}: the entries left free differ between the states given; hold the same in all."
        )
    return ~flat[0] if len(flat) else np.ones(free.shape[-1], dtype=bool)


def free_components(plan: Plan, held: Iterable[Held]) -> np.ndarray:
    """Return which velocity components (nv,) are left free by what is held of joints of the tree."""
    free = np.ones(plan.nv, dtype=bool)
    for h in held:
        if h.node >= 0:
            free[int(plan.v_start[h.node]) + np.flatnonzero(h.mask)] = False
    return free
