"""Flattening: from a chosen tree to the arrays of a plan. Works on stacks of matrices, never joint by
joint. Masses, lengths and inertias may be symbols; the arrays that they enter then hold objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.bodies.contract import FlexibleBody
from catena.forces.load_friction import NUMBERS, numbers_of, with_trace
from catena.joints import Fixed, Flipped, JointKind, WithRotor
from catena.joints.modal import Modal
from catena.mechanism import MODES, VIRTUAL_ROOT, Body, Frame, Joint, Mechanism
from catena.mechanism.elements import driven
from catena.spatial import Pose, array, is_symbolic
from catena.structure.coupled import plan_couplings
from catena.structure.expansion import Expanded
from catena.structure.plan import Ints, Loop, Parts, Placements, Plan
from catena.structure.spanning_tree import Tree
from catena.structure.welding import Welds, motion_when_locked

Canonical = tuple[NDArray[np.float64], JointKind, tuple[float, ...]]


def canonical(kind: JointKind, flipped: bool) -> Canonical:
    """Return (R, canonical kind, its parameters), seen from parent to child or, when flipped, from child to
    parent.

    R takes canonical axes to the axes of the joint frame: motion(q) = R motion_canonical(q) R^-1.
    """
    try:
        return _remembered(kind, flipped)
    except TypeError:  # a user's kind that cannot be hashed
        return _compute(kind, flipped)


def _compute(kind: JointKind, flipped: bool) -> Canonical:
    R, plain = (kind.flip() if flipped else kind).canonical()
    return np.asarray(R, dtype=np.float64), plain, tuple(plain.params())


_remembered = lru_cache(maxsize=4096)(_compute)


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FlatteningChoice:
    """What planning decided: the welds, the tree over the groups of welded bodies, and its joints.

    `ends[k]` are the body indices of joint k, parent first; `order` lists the groups node by node; `via[g]`
    is the tree joint of group g. The virtual joint of a pinned root, if there is one, is the last of
    `joints`.
    """

    bodies: Sequence[Body]
    joints: Sequence[Joint]
    ends: Sequence[tuple[int, int]]
    welds: Welds
    tree: Tree
    order: Sequence[int]
    via: Sequence[int]
    parts: Expanded


def flatten(
    mechanism: Mechanism,
    root: str | None,
    cut: tuple[str, ...],
    keep: tuple[str, ...],
    choice: FlatteningChoice,
) -> Plan:
    """Lay the chosen tree out as arrays."""
    bodies, joints, ends = choice.bodies, choice.joints, choice.ends
    welds, tree, order = choice.welds, choice.tree, choice.order
    n = len(order)
    node_of_group = [0] * n
    for node, g in enumerate(order):
        node_of_group[g] = node
    parent = [node_of_group[tree.parent[g]] for g in order]
    body_node = [node_of_group[g] for g in welds.group]

    tree_joints = [choice.via[g] for g in order[1:]]
    flipped = [body_node[ends[k][0]] != parent[node] for node, k in enumerate(tree_joints, 1)]
    canon = [canonical(joints[k].kind, f) for k, f in zip(tree_joints, flipped, strict=True)]
    kinds: list[JointKind | None] = [None]
    kinds.extend(_geared(joints[k], c[1]) for k, c in zip(tree_joints, canon, strict=True))

    turn = np.array([c[0] for c in canon]).reshape(n - 1, 3, 3)
    outer = [(ends[k][0], joints[k].in_parent) for k in tree_joints]
    inner = [(ends[k][1], joints[k].in_child) for k in tree_joints]
    near = [i if f else o for o, i, f in zip(outer, inner, flipped, strict=True)]
    far = [o if f else i for o, i, f in zip(outer, inner, flipped, strict=True)]
    near_R, near_p = _joint_frames(welds, near, turn)
    far_R, far_p = _joint_frames(welds, far, turn)

    # Node frames in the frames of their groups.
    node_R, node_p = np.empty((n, 3, 3), far_R.dtype), np.zeros((n, 3), far_p.dtype)
    node_R[0], node_R[1:], node_p[1:] = np.eye(3), far_R, far_p
    above = np.array(parent, dtype=np.int64)
    kind_of_number = np.result_type(near_p, node_p)
    placement_R, placement_p = np.empty((n, 3, 3), near_R.dtype), np.zeros((n, 3), kind_of_number)
    placement_R[0] = np.eye(3)
    placement_R[1:] = near_R.transpose(0, 2, 1) @ node_R[above[1:]]
    placement_p[1:] = _rotate_back(node_R[above[1:]], near_p - node_p[above[1:]])

    nodes = np.array(body_node, dtype=np.int64)
    body_R = node_R[nodes].transpose(0, 2, 1) @ welds.R
    body_p = _rotate_back(node_R[nodes], welds.p - node_p[nodes])
    names = ["", *(joints[k].name for k in tree_joints)]
    sharing = share_modes(choice.parts, tree_joints, body_node, kinds, names)
    followers = sharing.followers if sharing else frozenset()
    q_start, q_size, v_start, v_size, in_order = _coordinates(kinds, tree_joints, joints, followers)
    if sharing:
        sharing.give(q_start, q_size, v_start, v_size)
    body_index = {body.name: i for i, body in enumerate(bodies)}
    placements = _placements(choice.parts.frames, body_index, nodes, body_R, body_p)
    members: list[list[str]] = [[] for _ in range(n)]
    for body, node in zip(bodies, body_node, strict=True):
        members[node].append(body.name)

    in_tree = set(tree_joints)
    left_out = [k for k in range(len(joints)) if k not in in_tree and k not in welds.used]
    moving = [sharing.described(joints[k], k) if sharing else joints[k] for k in in_order]
    nv = sum(j.kind.nv for j in moving)
    loops = tuple(joints[k].name for k in left_out)
    return Plan(
        name=mechanism.name,
        revision=mechanism.revision,
        root=root,
        cut=cut,
        keep=keep,
        gravity=mechanism.gravity,
        nq=sum(j.kind.nq for j in moving),
        nv=nv,
        joints=tuple(j.name for j in moving),
        loops=loops,
        bodies=tuple(tuple(names) for names in members),
        parent=above,
        depth=np.array([tree.depth[g] for g in order], dtype=np.int64),
        joint=names,
        kind=kinds,
        params=[(), *(kind.params() for kind in kinds if kind is not None)],
        flipped=np.array([False, *flipped]),
        q_start=q_start,
        q_size=q_size,
        v_start=v_start,
        v_size=v_size,
        placement_R=placement_R,
        placement_p=placement_p,
        inertia=_inertias(bodies, nodes, body_R, body_p, n),
        damping=np.concatenate([j.damping for j in moving]) if moving else np.zeros(0),
        friction=np.concatenate([with_trace(j) for j in moving]) if moving else np.zeros(0),
        bearing=_bearing(moving, dict(zip(names[1:], flipped, strict=True))),
        actuated=np.concatenate([np.zeros(0, dtype=bool), *(driven(j, mechanism.actuators) for j in moving)]),
        body_node=dict(zip(body_index, body_node, strict=True)),
        body_pose=placements,
        loop_joints=[_loop(joints[k], ends[k], body_node, body_R, body_p) for k in left_out],
        couplings=plan_couplings(mechanism, names, loops),
        owner=sharing.owner if sharing else None,
        parts=_named_parts(choice, names, tree_joints) if choice.parts.star else None,
    )


def _named_parts(choice: FlatteningChoice, names: Sequence[str], tree_joints: Sequence[int]) -> Parts:
    """Return the parts of an expanded mechanism by name; the arm that has the modes is known by their name too."""
    parts = choice.parts
    joints = {joint.name: joint for joint in parts.joints if not joint.name.startswith(VIRTUAL_ROOT)}
    for name, k in zip(names[1:], tree_joints, strict=True):
        if name not in joints and k in parts.star:
            joints[name] = parts.joints[k]
    described = [
        joint.name for k, joint in enumerate(parts.joints) if k not in parts.star and joint.name in joints
    ]
    return Parts(
        {body.name: body for body in choice.bodies},
        joints,
        {frame.name: frame for frame in parts.frames},
        tuple(described),
    )


def _joint_frames(welds: Welds, sides: Sequence[tuple[int, Pose]], turn: Floats) -> tuple[Floats, Floats]:
    """Joint frames in the frames of their groups: R (m, 3, 3) turned into canonical axes, and p (m, 3)."""
    body = np.array([b for b, _ in sides], dtype=np.int64)
    R = np.array([pose.R for _, pose in sides]).reshape(-1, 3, 3)
    p = _stacked([pose.p for _, pose in sides], (3,))
    body_R = welds.R[body]
    return body_R @ R @ turn, welds.p[body] + (body_R @ p[:, :, None])[:, :, 0]


def _stacked(arrays: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
    """Arrays of one shape as one array (n, *shape), of objects when one of them has symbols."""
    return np.stack(arrays) if len(arrays) else np.zeros((0, *shape))


def _rotate_back(R: Floats, p: Floats) -> Floats:
    """R^T p for stacks of R (m, 3, 3) and p (m, 3)."""
    rotated: Floats = (p[:, None, :] @ R)[:, 0, :]
    return rotated


def _coordinates(
    kinds: Sequence[Any], tree_joints: Sequence[int], joints: Sequence[Joint], followers: frozenset[int]
) -> tuple[Any, Any, Any, Any, list[int]]:
    """Return where each node's coordinates start, numbered in the order the joints were added (a pinned root
    first), and that order; nodes that follow another one have none."""
    n = len(kinds)
    q_start, q_size, v_start, v_size = (np.zeros(n, dtype=np.int64) for _ in range(4))
    q = v = 0
    by_addition = sorted(range(1, n), key=lambda node: tree_joints[node - 1])
    if by_addition and joints[tree_joints[by_addition[-1] - 1]].name.startswith(VIRTUAL_ROOT):
        by_addition.insert(0, by_addition.pop())
    if followers:
        by_addition = [node for node in by_addition if node not in followers]
    for node in by_addition:
        nq, nv = kinds[node].nq, kinds[node].nv
        q_start[node], q_size[node], v_start[node], v_size[node] = q, nq, v, nv
        q += nq
        v += nv
    return q_start, q_size, v_start, v_size, [tree_joints[node - 1] for node in by_addition]


def _placements(
    frames: Sequence[Frame],
    body_index: dict[str, int],
    nodes: NDArray[np.int64],
    body_R: Floats,
    body_p: Floats,
) -> Placements:
    """Bodies first, then frames, each in its node."""
    index = dict(body_index)
    if not frames:
        return Placements(index, nodes, body_R, body_p)
    rows = np.array([body_index[f.body] for f in frames], dtype=np.int64)
    index.update((f.name, len(body_index) + i) for i, f in enumerate(frames))
    R = body_R[rows] @ np.array([f.pose.R for f in frames])
    p = body_p[rows] + (body_R[rows] @ _stacked([f.pose.p for f in frames], (3,))[:, :, None])[:, :, 0]
    return Placements(
        index, np.concatenate([nodes, nodes[rows]]), np.concatenate([body_R, R]), np.concatenate([body_p, p])
    )


def _inertias(bodies: Sequence[Body], nodes: NDArray[np.int64], R: Floats, p: Floats, n: int) -> Floats:
    """Return the ten inertia numbers of every node: those of its bodies, turned and shifted to the node frame and
    added."""
    m = array([body.mass for body in bodies])
    c = p + (R @ _stacked([body.com for body in bodies], (3,))[:, :, None])[:, :, 0]
    I_com = R @ _stacked([body.inertia for body in bodies], (3, 3)) @ R.transpose(0, 2, 1)
    h = m[:, None] * c
    I = I_com - h[:, :, None] * c[:, None, :]  # noqa: E741
    I[:, (0, 1, 2), (0, 1, 2)] += (h * c).sum(axis=1)[:, None]
    rows = np.concatenate([m[:, None], h, I[:, (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)]], axis=1)
    total = np.zeros((n, 10), rows.dtype)
    np.add.at(total, nodes, rows)
    return total


def _loop(
    joint: Joint, ends: tuple[int, int], body_node: Sequence[int], body_R: Floats, body_p: Floats
) -> Loop:
    """Return a joint left out of the tree, with its canonical frames placed in the nodes on its two sides."""
    outer, inner = joint.in_parent, joint.in_child
    parent_R, parent_p = outer.R, outer.p
    kind: JointKind = joint.kind
    moves = joint.dof > 0
    if joint.locked:
        motion_R, motion_p = motion_when_locked(joint)
        parent_R, parent_p = parent_R @ motion_R, parent_p + parent_R @ motion_p
        kind = Fixed()
    turn, kind, params = canonical(kind, False)
    a, b = ends
    return Loop(
        name=joint.name,
        kind=kind,
        parent_node=body_node[a],
        parent_R=body_R[a] @ parent_R @ turn,
        parent_p=body_p[a] + body_R[a] @ parent_p,
        child_node=body_node[b],
        child_R=body_R[b] @ inner.R @ turn,
        child_p=body_p[b] + body_R[b] @ inner.p,
        constraints=6 - joint.dof,
        params=params,
        damping=joint.damping if moves else np.zeros(0),
        friction=with_trace(joint) if moves else np.zeros(0),
        bearing=numbers_of(joint, False) if moves else None,
        actuated=joint.actuated and moves,
        armature=np.zeros(0) if joint.armature is None or not moves else joint.armature,
    )


def _bearing(moving: Sequence[Joint], flipped: dict[str, bool]) -> Floats | None:
    """Return what compiled code is told of friction by load, (7, nv); None where no joint of the tree has any."""
    if all(joint.load_friction is None for joint in moving):
        return None
    bearings = [numbers_of(joint, flipped.get(joint.name, False)) for joint in moving]
    wide = [
        np.zeros((len(NUMBERS), j.kind.nv)) if x is None else x for j, x in zip(moving, bearings, strict=True)
    ]
    return np.concatenate(wide, axis=1)


def _geared(joint: Joint, kind: JointKind) -> JointKind:
    """Return a canonical kind with the rotors of its joint."""
    if joint.armature is None or not any(is_symbolic(x) or x != 0.0 for x in joint.armature):
        return kind
    return WithRotor(kind, tuple(joint.armature))


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
        """Return the joint that has the modes of a body, as one of that body, with its damping."""
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
