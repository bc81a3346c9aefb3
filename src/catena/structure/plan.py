"""The plan of a mechanism: a tree and its loops as flat arrays, ready for sweeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from catena.joints import JointKind
from catena.mechanism import Body, Frame, Joint
from catena.spatial import Pose, is_symbolic
from catena.structure.coupled import PlannedCoupling

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Placements(Mapping[str, tuple[int, Pose]]):
    """Where every body and frame sits: name -> (node, pose in the node frame), kept as arrays and turned
    into poses on demand.

    `index` maps a name to its row in `node` (m,), `R` (m, 3, 3; columns are the axes of the placed frame)
    and `p` (m, 3).
    """

    index: Mapping[str, int]
    node: Ints
    R: Floats
    p: Floats

    def __getitem__(self, name: str) -> tuple[int, Pose]:
        row = self.index[name]
        return int(self.node[row]), Pose.unchecked(self.p[..., row, :], self.R[row])

    def __iter__(self) -> Iterator[str]:
        return iter(self.index)

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True, eq=False)
class Loop:
    """A joint that the tree leaves out; it constrains two nodes to each other by 6 - nv conditions, or by fewer if its
    kind is `Reduced`.

    `kind` is canonical and seen from parent to child as the joint was described; a locked joint appears as
    `Fixed`. The canonical joint frame on either side is placed in the node on that side: columns of R are
    its axes, p its origin.
    """

    name: str
    kind: JointKind
    parent_node: int
    parent_R: Floats
    parent_p: Floats
    child_node: int
    child_R: Floats
    child_p: Floats
    constraints: int
    params: tuple[float, ...]
    damping: Floats
    friction: Floats
    actuated: bool
    armature: Floats = field(default_factory=lambda: np.zeros(0))
    bearing: Floats | None = None

    @property
    def rubs(self) -> bool:
        """Whether the joint has friction: coefficients that are not known to be zero."""
        return any(is_symbolic(x) or x != 0.0 for x in (*self.damping, *self.friction))

    @property
    def parent_pose(self) -> Pose:
        """The parent-side canonical joint frame in its node."""
        return Pose.unchecked(self.parent_p[:], self.parent_R[:])

    @property
    def child_pose(self) -> Pose:
        """The child-side canonical joint frame in its node."""
        return Pose.unchecked(self.child_p[:], self.child_R[:])


@dataclass(frozen=True, eq=False)
class Parts:
    """Bodies, joints and frames by name, as a mechanism has them, and the names of the joints that were described."""

    bodies: Mapping[str, Body]
    joints: Mapping[str, Joint]
    frames: Mapping[str, Frame]
    described: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """A mechanism as a rooted tree of nodes plus loops. Node 0 is ground, and parent[i] < i.

    A node is a set of bodies that joints of 0 dof weld together (`bodies[i]`); its frame is the child-side
    canonical frame of its tree joint, and for ground the frame of ground. The pose of node i in its parent
    is placement, then the motion of `kind[i]`.

    Per node (n,): `parent`, `depth`, `joint` (name, "" for ground), `kind` (canonical; seen from the parent
    node, so already flipped where `flipped`; None for ground), `params` (of the canonical kind), `q_start`,
    `q_size`, `v_start`, `v_size`, `inertia` (n, 10) as (mass, first moment, Ixx, Ixy, Ixz, Iyy, Iyz, Izz
    about the node origin), `placement_R` (n, 3, 3) taking parent-node coordinates to coordinates of the
    parent-side joint frame, and `placement_p` (n, 3), the origin of that frame in parent-node coordinates.
    Where bodies are flexible, `owner` (n,) is the node whose coordinates a node has: its own number, or for points of a
    flexible body that of the node of its floating frame; None where every node has its own. `parts` are then the
    bodies and joints that the plan is made of, stars in the place of flexible bodies.
    Per velocity coordinate (nv,): `damping`, `friction`, `actuated`, and `bearing` (7, nv), what compiled code is told
    of friction by load (`forces.load_friction`), None where there is none. Coordinates follow the order in which
    joints were added. `couplings` tie positions of joints of the tree or of loops. `soft` asks for a larger
    regularisation of all loops when they are eliminated.
    """

    name: str
    revision: int
    root: str | None
    cut: tuple[str, ...]
    keep: tuple[str, ...]
    gravity: Floats
    nq: int
    nv: int
    joints: tuple[str, ...]
    loops: tuple[str, ...]
    bodies: tuple[tuple[str, ...], ...]
    parent: Ints
    depth: Ints
    joint: list[str]
    kind: list[JointKind | None]
    params: list[tuple[float, ...]]
    flipped: NDArray[np.bool_]
    q_start: Ints
    q_size: Ints
    v_start: Ints
    v_size: Ints
    placement_R: Floats
    placement_p: Floats
    inertia: Floats
    damping: Floats
    friction: Floats
    actuated: NDArray[np.bool_]
    body_node: dict[str, int]
    body_pose: Placements
    loop_joints: list[Loop] = field(default_factory=list)
    couplings: list[PlannedCoupling] = field(default_factory=list)
    owner: Ints | None = None
    parts: Parts | None = None
    soft: bool = False
    bearing: Floats | None = None

    @property
    def idle(self) -> tuple[str, ...]:
        """The joints of the tree that nothing drives, and the components of those that are driven in part, such as
        "shoulder[0]"."""
        found: list[str] = []
        for i in range(1, self.n):
            own = self.actuated[self.v_of(i)]
            missing = np.flatnonzero(~own)
            if len(missing) and (self.owner is None or self.owner[i] == i):
                parts = [f"{self.joint[i]}[{k}]" for k in missing]
                found += parts if own.any() else [self.joint[i]]
        return tuple(sorted(found, key=lambda name: self.joints.index(name.rpartition("[")[0] or name)))

    @property
    def partly_driven(self) -> NDArray[np.bool_]:
        """Which velocity components (nv,) nothing drives although something drives others of their joint."""
        first = np.cumsum(self.v_size) - self.v_size
        node = np.repeat(np.arange(self.n), self.v_size)
        component = self.v_start[node] + np.arange(len(node)) - first[node]
        has_drive = np.bincount(node, weights=self.actuated[component], minlength=self.n) > 0.0
        found = np.zeros(self.nv, dtype=bool)
        found[component] = ~self.actuated[component] & has_drive[node]
        return found

    def slice_q(self, joint: str) -> slice:
        """Return where the coordinates of a joint of the tree are in q."""
        return self.q_of(self.joint.index(joint))

    def slice_v(self, joint: str) -> slice:
        """Return where the components of a joint of the tree are in v, tau and accelerations."""
        return self.v_of(self.joint.index(joint))

    def q_of(self, i: int) -> slice:
        """Return where the coordinates of a node are in q."""
        return slice(int(self.q_start[i]), int(self.q_start[i] + self.q_size[i]))

    def v_of(self, i: int) -> slice:
        """Return where the components of a node are in v, tau and accelerations."""
        return slice(int(self.v_start[i]), int(self.v_start[i] + self.v_size[i]))

    @property
    def n(self) -> int:
        """The number of nodes, ground included."""
        return len(self.joint)

    def joint_kind(self, i: int) -> JointKind:
        """Return the kind of the joint that carries node i, which is not ground."""
        kind = self.kind[i]
        assert kind is not None
        return kind

    @cached_property
    def quaternions(self) -> tuple[tuple[str, int], ...]:
        """The joints with a unit quaternion (w, x, y, z), and where each begins in q."""
        starts = ((i, self.joint_kind(i).quaternion_start) for i in range(1, self.n))
        return tuple(
            (self.joint[i], int(self.q_start[i]) + start) for i, start in starts if start is not None
        )

    @cached_property
    def floating(self) -> tuple[int, ...]:
        """The nodes that float on ground."""
        return tuple(i for i in range(1, self.n) if self.parent[i] == 0 and self.joint_kind(i).is_floating)

    @cached_property
    def spread(self) -> Plan:
        """The same plan with coordinates of their own for all nodes, as compiled code and work by nodes have it."""
        if self.owner is None:
            return self
        starts = [np.concatenate([[0], np.cumsum(size)[:-1]]) for size in (self.q_size, self.v_size)]
        index = self.v_index
        own = np.repeat(self.owner == np.arange(self.n), self.v_size)
        return replace(
            self, q_start=starts[0], v_start=starts[1], nq=int(self.q_size.sum()), nv=int(self.v_size.sum()),
            damping=np.where(own, self.damping[index], 0.0), friction=np.where(own, self.friction[index], 0.0),
            actuated=self.actuated[index] & own, owner=None,
        )  # fmt: skip

    @cached_property
    def q_index(self) -> Ints:
        """The coordinate of each entry of the q of `spread`."""
        return _index(self.q_start, self.q_size)

    @cached_property
    def v_index(self) -> Ints:
        """The coordinate of each entry of the v of `spread`."""
        return _index(self.v_start, self.v_size)

    @cached_property
    def row_nodes(self) -> Ints:
        """The node that each row (`rows`) belongs to."""
        return self._by_row(np.repeat(np.arange(self.n), self.v_size))

    @cached_property
    def row_columns(self) -> Ints:
        """The velocity coordinate of each row (`rows`)."""
        return self._by_row(self.v_index)

    def _by_row(self, by_node: Ints) -> Ints:
        found = np.empty_like(by_node)
        found[_index(self.spread.v_start, self.v_size)] = by_node
        return found

    @cached_property
    def levels(self) -> list[Ints]:
        """The nodes with the same number of joints to ground, the nearest first, without ground."""
        return [np.flatnonzero(self.depth == d) for d in range(1, int(self.depth.max()) + 1)]

    def rows(self, node: int) -> slice:
        """Return the rows of a node among those of all nodes, each of which has its own."""
        start = int(self.spread.v_start[node])
        return slice(start, start + int(self.v_size[node]))

    def last_common(self, a: int, b: int) -> int:
        """Return the last node on both ways to ground; parents have smaller numbers."""
        while a != b:
            if a > b:
                a = int(self.parent[a])
            else:
                b = int(self.parent[b])
        return a

    def neutral(self) -> Floats:
        """Return the coordinates (nq,) at which every joint's motion is the identity."""
        q = np.zeros(self.nq)
        for i in range(1, self.n):
            kind = self.kind[i]
            assert kind is not None
            q[self.q_of(i)] = kind.neutral()
        return q

    @property
    def total_constraints(self) -> int:
        """The number of conditions all loops and couplings impose together, redundant ones included."""
        return sum(each.constraints for each in self.constraints)

    @property
    def constraints(self) -> tuple[Loop | PlannedCoupling, ...]:
        """What imposes conditions, in the order of their rows: loop joints, then couplings."""
        return (*self.loop_joints, *self.couplings)


def _index(start: Ints, size: Ints) -> Ints:
    """Return the numbers start, start + 1, ... of so many entries for each node, one after the other."""
    return np.concatenate([np.arange(a, a + n) for a, n in zip(start, size, strict=True)]).astype(np.int64)
