"""Which nodes of a plan share coordinates: the points of a flexible body follow the node of its floating frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catena.bodies.contract import FlexibleBody
from catena.joints import Flipped, JointKind
from catena.joints.modal import Modal
from catena.mechanism import MODES, Joint
from catena.structure.expansion import Expanded
from catena.structure.plan import Ints


@dataclass(frozen=True, eq=False)
class Sharing:
    """`owner` (n,) has the node whose coordinates each node has; `flexible` maps the joints that own modes, by index,
    to their bodies."""

    owner: Ints
    flexible: dict[int, tuple[str, FlexibleBody]]

    @property
    def followers(self) -> frozenset[int]:
        """The nodes that have the coordinates of another one."""
        return frozenset(np.flatnonzero(self.owner != np.arange(len(self.owner))).tolist())

    def give(self, q_start: Ints, q_size: Ints, v_start: Ints, v_size: Ints) -> None:
        """Give followers the coordinates of their owners."""
        for values in (q_start, q_size, v_start, v_size):
            values[:] = values[self.owner]

    def described(self, joint: Joint, index: int) -> Joint:
        """The joint that has the modes of a body, as one of that body, with its damping."""
        if index not in self.flexible:
            return joint
        name, body = self.flexible[index]
        return replace(joint, name=name + MODES, damping=body.damping)


def share_modes(
    parts: Expanded, tree_joints: Sequence[int], body_node: Sequence[int], kinds: list[JointKind | None],
    names: list[str],
) -> Sharing | None:  # fmt: skip
    """Let the node of each floating frame own the modes, with their stiffness, and the points around it follow; None
    where nothing is flexible. Changes the kinds and names of these nodes."""
    if not parts.flexible:
        return None
    node_of = {body.name: node for body, node in zip(parts.bodies, body_node, strict=True)}
    owner = np.arange(len(kinds), dtype=np.int64)
    flexible: dict[int, tuple[str, FlexibleBody]] = {}
    for node, joint in enumerate(tree_joints, 1):
        name = parts.star.get(joint)
        if name is None or name not in parts.flexible:
            continue
        middle, body = node_of[name], parts.flexible[name]
        squares = tuple((body.free_frequencies**2).tolist())
        if node == middle:
            kinds[node] = _changed(
                kinds[node],
                stiffness=tuple(body.stiffness.tolist()),
                squares=squares,
                hardening=tuple(body.hardening.values()),
                products=body.products,
            )
            names[node] = name + MODES
            flexible[joint] = (name, body)
        else:
            owner[node] = middle
            own = {} if _has_mass(kinds[node]) else {"squares": squares}
            kinds[node] = _changed(kinds[node], is_follower=True, **own)
    return Sharing(owner, flexible)


def _has_mass(kind: Any) -> bool:
    """Return whether a point is one that has the mass of its body."""
    return bool(getattr(kind, "kind", kind).has_mass)


def _changed(kind: Any, **changes: Any) -> JointKind:
    if isinstance(kind, Flipped):
        return Flipped(_changed(kind.kind, **changes))
    assert isinstance(kind, Modal)
    return replace(kind, **changes)
