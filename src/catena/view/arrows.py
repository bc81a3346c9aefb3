"""Forces and moments of a run as arrows: reactions of joints, actuators, contacts, applied wrenches.

All of them have one scale: the longest arrow of what is shown is a part of the mechanism's size, impacts aside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from catena.errors import CatenaError
from catena.mechanism import Joint
from catena.simulation import Segment
from catena.simulation.results.contact_force_history import ContactForceHistory
from catena.view.scene import Scene
from catena.view.sites import SLIDES

Floats = NDArray[np.float64]


GROUPS = ("reactions", "actuators", "contacts", "applied")
PIECE = 64
"""Samples of which forces are found at once."""
IMPACT = 2.5
"""Arrows may become so many times as long as those that nine tenths of the time have at most."""


@dataclass(frozen=True, eq=False)
class Arrows:
    """An arrow over time: who it belongs to, its group (one of GROUPS), whether it is a moment, the body and the point
    (3,) in it where it acts, and its vectors (frames, 3) in ground axes [N or N m].

    `offset` (frames, 3) in ground axes leads from that point to where it acts, for balls that roll.
    """

    name: str
    group: str
    is_moment: bool
    body: str
    point: Floats
    vectors: Floats
    offset: Floats | None = None


def usual_sizes(parts: Sequence[tuple[Floats, Sequence[Arrows]]]) -> dict[str, tuple[float, float]]:
    """Return the sizes {group: (N, N m)} that have the length `longest_arrow`, for arrows over the times (frames,) of
    one part of a motion after the other.

    It is the largest of all, but where an impact makes that many times as large as what is there for most of the time,
    everything else would be too small to see.
    """
    found = {}
    for group in GROUPS:
        sizes = []
        for is_moment in (False, True):
            values, weights = [np.zeros(1)], [np.zeros(1)]
            for t, arrows in parts:
                own = [a.vectors for a in arrows if a.group == group and a.is_moment == is_moment]
                if own:
                    values.append(np.max([np.linalg.norm(x, axis=-1) for x in own], axis=0))
                    weights.append(np.gradient(t) if len(t) > 1 else np.zeros(len(t)))
            size, weight = np.concatenate(values), np.concatenate(weights)
            order = np.argsort(size)
            gone = np.cumsum(weight[order])
            most = float(size.max())
            usual = float(size[order][np.searchsorted(gone, 0.9 * gone[-1])]) if gone[-1] > 0.0 else most
            sizes.append(min(most, IMPACT * usual) if usual > 0.0 else most)
        found[group] = (sizes[0], sizes[1])
    return found


def longest_arrow(scene: Scene) -> float:
    """Return the length [m] that the longest arrow of those that are shown has."""
    return 0.45 * max(scene.extent, 12.0 * scene.bar_radius)


def arrows_of(
    run: Segment,
    scene: Scene,
    pressing: Sequence[ContactForceHistory] = (),
    tick: Callable[[float], None] = lambda t: None,
) -> tuple[Arrows, ...]:
    """Return all arrows of a single motion; those that are zero throughout are left out, and so are reactions that
    cannot be found. `pressing` is what contacts are pushed with in the meantime; `tick` is told the time [s] that is
    reached, because reactions of redundant loops take long."""
    # Accelerations that are prescribed need the samples around them.
    size = len(run.t) if run.driven else PIECE
    pieces = []
    for first in range(0, len(run.t), size):
        piece = _stretch(run, slice(first, first + size)) if size < len(run.t) else run
        pieces.append(_piece(piece, scene, pressing))
        tick(float(piece.t[-1]))
    return tuple(_joined(pieces)) if len(pieces) > 1 else tuple(pieces[0][1])


def _stretch(run: Segment, at: slice) -> Segment:
    """Some samples of a run that follow each other."""
    return run.picked(np.arange(len(run.t))[at])


def _joined(pieces: Sequence[tuple[int, Sequence[Arrows]]]) -> Iterable[Arrows]:
    """Arrows over pieces (frames, arrows) one behind the other; what is left out of a piece is zero there."""
    found: dict[tuple[str, str, bool], Arrows] = {}
    for _, arrows in pieces:
        for arrow in arrows:
            found.setdefault((arrow.name, arrow.group, arrow.is_moment), arrow)
    for key, one in found.items():
        vectors, offsets = [], []
        for count, arrows in pieces:
            own = next((a for a in arrows if (a.name, a.group, a.is_moment) == key), None)
            vectors.append(np.zeros((count, 3)) if own is None else own.vectors)
            offsets.append(np.zeros((count, 3)) if own is None or own.offset is None else own.offset)
        offset = None if one.offset is None else np.concatenate(offsets)
        yield replace(one, vectors=np.concatenate(vectors), offset=offset)


def _piece(run: Segment, scene: Scene, pressing: Sequence[ContactForceHistory]) -> tuple[int, list[Arrows]]:
    """Return the number of samples of a run, and its arrows."""
    system, joints = run.system, run.system.mechanism.joints
    poses = scene.poses(run.q)
    found: list[Arrows] = []
    try:
        reactions = run.reactions()
    except CatenaError:
        # Joints that carry what no law determines: the motion is still worth seeing.
        reactions = {}
    sticking = {each.contact.joint for each in pressing}
    for name, wrench in reactions.items():
        if name not in joints or name in sticking:
            continue
        found += _pair(name, "reactions", *_at_sign(scene, poses, joints[name], wrench))
    for name in (*system.joints, *run.loop_forces):
        # A pinned root hangs on a free joint that nobody described, and no motor.
        if name not in joints:
            continue
        joint = joints[name]
        tau = run.force(name)
        if not np.any(tau):
            continue
        q = run[name]
        wrench = np.stack([_along(joint.kind, q[k], tau[k]) for k in range(len(tau))])
        found += _pair(name, "actuators", *_at_sign(scene, poses, joint, wrench))
    frames = system.mechanism.frames
    sides = {side for each in pressing for side in (each.contact.frame, each.contact.on)}
    touching = {frames[side].body if side in frames else side for side in sides}
    found += _pushing(scene, pressing, poses, run.t)
    for name, wrench in run.wrenches.items():
        if name in touching:
            continue
        body, point = _place(scene, name)
        found += _pair(name, "applied", body, point, poses[name][..., :3, :3], wrench)
    return len(run.t), found


def _at_sign(
    scene: Scene, poses: Mapping[str, Floats], joint: Joint, wrench: Floats
) -> tuple[str, Floats, Floats, Floats]:
    """Return what carries the place where a joint is drawn, that place (3,) in it, the axes R (frames, 3, 3) of the
    joint's child side, and the wrench (frames, 6) in them, about that place instead of the origin of the child side.

    The child side of a slide may be far from where parts touch; an arrow there would hang in the air.
    """
    carrier, point = scene.carriage(joint.child, joint.in_child.p)
    pose = poses[carrier]
    R = pose[..., :3, :3] @ joint.in_child.R
    if joint.kind.drawn_as not in SLIDES:
        return carrier, point, R, wrench
    sign = scene.joint_anchors[joint.name]
    other = poses[sign.body]
    away = pose[..., :3, :3] @ point + pose[..., :3, 3] - other[..., :3, :3] @ sign.point - other[..., :3, 3]
    moment = wrench[..., :3] + np.cross(np.einsum("...ji,...j->...i", R, away), wrench[..., 3:])
    return sign.body, sign.point, R, np.concatenate([moment, wrench[..., 3:]], axis=-1)


def _pushing(
    scene: Scene, pressing: Sequence[ContactForceHistory], poses: dict[str, Floats], times: Floats
) -> list[Arrows]:
    """Return what planes push points and balls with that stick, slide or roll on them."""
    found: list[Arrows] = []
    for each in pressing:
        contact, on = each.contact, poses[each.contact.on]
        force = np.einsum("...ij,...j->...i", on[..., :3, :3], each.at(times))
        if not np.any(force):
            continue
        body, point = _place(scene, contact.frame)
        offset = None
        if contact.radius or contact.rim:
            own, R = poses[contact.frame], on[..., :3, :3]
            at, axis = (
                np.einsum("...ji,...j->...i", R, x)
                for x in (own[..., :3, 3] - on[..., :3, 3], own[..., :3, 2])
            )
            arm = contact.met(at, axis, 0.0 * at, 0.0 * at)[3]
            offset = np.einsum("...ij,...j->...i", R, np.broadcast_to(arm, force.shape))
        found.append(Arrows(contact.label, "contacts", False, body, point, force, offset))
    return found


def _along(kind: object, q: Floats, tau: Floats) -> Floats:
    """Return the least wrench [moment; force] in child-side axes whose power along the motions of a joint is that of
    tau."""
    S = np.asarray(kind.motion_space(q).array, dtype=np.float64)  # type: ignore[attr-defined]
    return np.linalg.pinv(S.T) @ tau


def _place(scene: Scene, name: str) -> tuple[str, Floats]:
    """Return what carries a frame or body, and its origin there; the origin of a flexible body does not deform."""
    frame = scene.system.mechanism.frames.get(name)
    return scene.carriage(frame.body, frame.pose.p) if frame else (name, np.zeros(3))


def _pair(name: str, group: str, body: str, point: Floats, R: Floats, wrench: Floats) -> list[Arrows]:
    """Return the force and the moment of a wrench (frames, 6) in axes R (frames, 3, 3), where there is any."""
    arrows = []
    for is_moment, part in ((False, wrench[..., 3:]), (True, wrench[..., :3])):
        vectors = np.einsum("...ij,...j->...i", R, part)
        if np.any(np.abs(vectors) > 1e-9 * max(1.0, float(np.max(np.abs(wrench))))):
            arrows.append(Arrows(name, group, is_moment, body, point, vectors))
    return arrows
