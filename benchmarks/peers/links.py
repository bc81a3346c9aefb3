"""A tree mechanism as a list of links, each moved by elementary motions: the form other engines can take.

A link is a set of bodies welded together by joints of no freedom. Its frame is the child-side frame of the
joint that moves it, so that no peer needs a second frame per body.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena import joints

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Motion:
    """One elementary motion: "hinge", "slide" or "helix" along an axis, or "ball", or "free"."""

    kind: str
    axis: Array = field(default_factory=lambda: np.zeros(3))
    pitch: float = 0.0


@dataclass(frozen=True)
class Link:
    """A rigid link and the joint that moves it; `parent` indexes the list of links and is -1 for ground.

    `placement` (4 x 4) is the parent-side joint frame seen from the parent link's frame. `com` and `inertia`
    (about the centre of mass) are in the link's own frame. `q_start` and `v_start` say where Catena keeps the
    joint's coordinates: in the order in which joints were added to the mechanism.

    `motions` lead from the parent link to this one. A joint that was declared the other way round is
    `flipped`: its inverse is made of the inverse motions in reversed order. A free joint comes as one motion
    "free", its inverse as a ball followed by three slides.
    """

    joint: str
    flipped: bool
    parent: int
    placement: Array
    motions: tuple[Motion, ...]
    q_start: int
    nq: int
    v_start: int
    nv: int
    damping: Array
    friction: Array
    mass: float
    com: Array
    inertia: Array


@dataclass(frozen=True)
class Edge:
    """A joint met from the side of ground: the far body, the joint, and whether it is met from its child."""

    body: str
    joint: Any
    flipped: bool


def links(mechanism: Any) -> list[Link]:
    """The links of a tree mechanism in depth-first order; raises ValueError if a joint closes a loop."""
    return links_and_places(mechanism)[0]


def links_and_places(mechanism: Any) -> tuple[list[Link], dict[str, tuple[int, Array]]]:
    """The links, and for every body the index of its link (-1 for ground) and its pose (4 x 4) in it."""
    edges = _edges_by_body(mechanism)
    q_starts, v_starts = _coordinate_starts(mechanism)
    result: list[Link] = []
    places = {"ground": (-1, np.eye(4))}
    # A pending entry: the edge to follow, the link that the near body belongs to and that body's pose in it.
    pending = [(edge, -1, np.eye(4), "") for edge in reversed(edges["ground"])]
    while pending:
        edge, near, pose_of_near_body, arrived_by = pending.pop()
        joint = edge.joint
        if joint.name == arrived_by:
            continue
        if edge.body in places:
            raise ValueError(f"Joint {joint.name!r} closes a loop; the peers' converters take trees only.")
        near_side, far_side = joint.in_parent.matrix(), joint.in_child.matrix()
        if edge.flipped:
            near_side, far_side = far_side, near_side
        placement = pose_of_near_body @ near_side
        pose_of_far_body = np.linalg.inv(far_side)
        if _freedom(joint) == (0, 0):
            pose_of_far_body = placement @ _held(joint, edge.flipped) @ pose_of_far_body
            far = near
        else:
            far = len(result)
            motions = _motions(joint.name, joint.kind)
            result.append(
                Link(
                    joint=joint.name,
                    flipped=edge.flipped,
                    parent=near,
                    placement=placement,
                    motions=_flipped(motions) if edge.flipped else motions,
                    q_start=q_starts[joint.name],
                    nq=joint.kind.nq,
                    v_start=v_starts[joint.name],
                    nv=joint.kind.nv,
                    damping=np.broadcast_to(joint.damping, joint.kind.nv).astype(float),
                    friction=np.broadcast_to(joint.friction, joint.kind.nv).astype(float),
                    mass=0.0,
                    com=np.zeros(3),
                    inertia=np.zeros((3, 3)),
                )
            )
        places[edge.body] = far, pose_of_far_body
        if far >= 0:
            result[far] = _with_body(result[far], mechanism.bodies[edge.body], pose_of_far_body)
        onward = [(onward, far, pose_of_far_body, joint.name) for onward in edges[edge.body]]
        pending.extend(reversed(onward))
    unreached = [name for name in mechanism.bodies if name not in places]
    if unreached:
        raise ValueError(f"No joint leads from ground to {unreached}.")
    return result, places


def damping_and_friction(tree: list[Link]) -> tuple[Array, Array]:
    """Viscous and Coulomb coefficients (nv,) in Catena's order."""
    damping, friction = np.zeros((2, sum(link.nv for link in tree)))
    for link in tree:
        damping[link.v_start : link.v_start + link.nv] = link.damping
        friction[link.v_start : link.v_start + link.nv] = link.friction
    return damping, friction


def _edges_by_body(mechanism: Any) -> dict[str, list[Edge]]:
    edges: dict[str, list[Edge]] = {name: [] for name in mechanism.bodies}
    for joint in mechanism.joints.values():
        edges[joint.parent].append(Edge(joint.child, joint, flipped=False))
        edges[joint.child].append(Edge(joint.parent, joint, flipped=True))
    return edges


def _freedom(joint: Any) -> tuple[int, int]:
    return (0, 0) if joint.locked_at is not None else (joint.kind.nq, joint.kind.nv)


def _coordinate_starts(mechanism: Any) -> tuple[dict[str, int], dict[str, int]]:
    q_starts, v_starts, nq, nv = {}, {}, 0, 0
    for joint in mechanism.joints.values():
        q_starts[joint.name], v_starts[joint.name] = nq, nv
        joint_nq, joint_nv = _freedom(joint)
        nq, nv = nq + joint_nq, nv + joint_nv
    return q_starts, v_starts


def _held(joint: Any, flipped: bool) -> Array:
    """The pose of the far joint frame in the near one for a joint without freedom."""
    pose = np.eye(4)
    if joint.locked_at is not None:
        transform = joint.kind.transform(np.asarray(joint.locked_at, dtype=float))
        pose[:3, :3], pose[:3, 3] = transform.R.T, transform.p
    return np.asarray(np.linalg.inv(pose)) if flipped else pose


def _with_body(link: Link, body: Any, pose: Array) -> Link:
    """The link with one more body welded to it, whose frame has the given pose in the link's frame."""
    if body.mass == 0.0:
        return link
    R, com = pose[:3, :3], pose[:3, :3] @ np.asarray(body.com) + pose[:3, 3]
    mass = link.mass + body.mass
    joint_com = (link.mass * link.com + body.mass * com) / mass
    inertia = link.inertia + R @ np.asarray(body.inertia) @ R.T
    for part_mass, part_com in ((link.mass, link.com), (body.mass, com)):
        d = part_com - joint_com
        inertia = inertia + part_mass * (d @ d * np.eye(3) - np.outer(d, d))
    return replace(link, mass=mass, com=joint_com, inertia=0.5 * (inertia + inertia.T))


def _flipped(motions: tuple[Motion, ...]) -> tuple[Motion, ...]:
    """The motions from the child of a joint to its parent."""
    if motions[0].kind == "free":
        motions = (*(Motion("slide", unit) for unit in np.eye(3)), Motion("ball"))
    return tuple(Motion(motion.kind, 0.0 - motion.axis, motion.pitch) for motion in reversed(motions))


def _motions(name: str, kind: Any) -> tuple[Motion, ...]:
    """The elementary motions of a joint from its parent to its child, in the order of its coordinates."""
    match kind:
        case joints.Revolute():
            return (Motion("hinge", _unit(kind.axis)),)
        case joints.Prismatic():
            return (Motion("slide", _unit(kind.axis)),)
        case joints.Helical():
            return (Motion("helix", _unit(kind.axis), float(kind.pitch)),)
        case joints.Cylindrical():
            return (Motion("hinge", _unit(kind.axis)), Motion("slide", _unit(kind.axis)))
        case joints.Universal():
            return (Motion("hinge", _unit(kind.axis1)), Motion("hinge", _unit(kind.axis2)))
        case joints.Planar():
            normal = _unit(kind.normal)
            e1, e2 = _plane_axes(normal)
            return (Motion("slide", e1), Motion("slide", e2), Motion("hinge", normal))
        case joints.Sdof():
            letters = {"r": "hinge", "d": "slide"}
            return tuple(Motion(letters[m[0]], _unit(m[1])) for m in kind.motions)
        case joints.Spherical():
            return (Motion("ball"),)
        case joints.Free():
            return (Motion("free"),)
    raise ValueError(f"Joint {name!r} is of kind {type(kind).__name__}, which no converter to a peer knows.")


def _unit(axis: Any) -> Array:
    """A unit axis from "x", "-y", ... or from a 3-vector."""
    if isinstance(axis, str):
        unit = np.zeros(3)
        unit["xyz".index(axis[-1])] = -1.0 if axis.startswith("-") else 1.0
        return unit
    vector = np.asarray(axis, dtype=float)
    return vector / np.linalg.norm(vector)


def _plane_axes(normal: Array) -> tuple[Array, Array]:
    """The two axes of translation of a Planar joint, as its documentation fixes them."""
    candidate = np.eye(3)[(int(np.argmax(np.abs(normal))) + 1) % 3]
    e1 = candidate - normal * (normal @ candidate)
    e1 /= np.linalg.norm(e1)
    return e1, np.cross(normal, e1)
