"""Stress resultants along a beam by equilibrium: what holds the part beyond a section.

At a section the part beyond it is held by what joints and wrenches leave of its weight and inertia,

    F = sum of forces beyond - integral of (a - g) dm,      M likewise with moments about the section,

in the axes of the section. So the axial force of a beam that does not stretch is found too, and a few modes give what
takes many of them to show in the curvature. Accelerations of points are those of x = s + S eta + eta^T B eta / 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.bodies import Beam
from catena.bodies.contract import fourth_powers_moving
from catena.errors import StateError
from catena.kinematics import stacks
from catena.mechanism import MODES, Body, Mechanism
from catena.mechanism.validation import known
from catena.spatial import Pose
from catena.structure import Plan
from catena.validation import real_array, shown

NAMES = ("T", "My", "Mz", "N", "Qy", "Qz")
"""The resultants in the order of a wrench [moment; force] in the axes of a section."""
SAME_PLACE = 1e-9
"""What attaches within this part of the length is at a section."""


@dataclass(frozen=True, eq=False)
class BeamMotion:
    """States q (..., nq), v (..., nv) that accelerate by vdot (..., nv), the poses of all bodies {name: (..., 4, 4)},
    and `twist` and `acceleration` (..., 6) of the beam's own frame, in its axes."""

    q: np.ndarray
    v: np.ndarray
    vdot: np.ndarray
    poses: Mapping[str, np.ndarray]
    twist: np.ndarray
    acceleration: np.ndarray


def along_beam(
    mechanism: Mechanism, plan: Plan, name: Any, x: Any, motion: Callable[[], BeamMotion],
    reactions: Mapping[str, np.ndarray], f_ext: Mapping[str, Any] | None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return the resultants {name: (..., n)} of a beam at places x (n,) while it moves, with the wrenches (..., 6) of
    joints and those that press on frames and bodies."""
    body = mechanism.bodies[known("body", name, mechanism.bodies)]
    beam = body.flexible
    if not isinstance(beam, Beam):
        raise StateError(
            f"body {name!r} is no Beam, and resultants by equilibrium are those of one; a frame of beams tells those "
            "of its members by BeamFrame.resultants(eta, member, x)."
        )
    try:
        at = np.atleast_1d(real_array(x))
    except (TypeError, ValueError):
        raise StateError(f"x is {shown(x)}; give places along the beam in metres.") from None
    if at.ndim != 1 or not at.size or not np.all((at >= 0.0) & (at <= beam.length * (1.0 + SAME_PLACE))):
        raise StateError(f"x is {shown(x)}; give places from 0 to the length {beam.length:g} m of {name!r}.")
    moving = _MovingBeam(mechanism, plan, body, motion())
    # About the origin of the floating frame, in its axes.
    total = np.zeros((*moving.batch, len(at), 6))
    order = np.argsort(at)[::-1]
    held, end = np.zeros((*moving.batch, 6)), float(beam.length)
    for k in order:
        held = held - moving.inertial(min(at[k], end), end)
        end = min(at[k], end)
        total[..., k, :] = held
    for place, wrench in _loads(mechanism, plan, moving, reactions, f_ext):
        # A section at the root is beyond what holds it there, all others are before what attaches to them.
        near = SAME_PLACE * beam.length
        beyond = np.where(at > near, place >= at - near, place > near)
        total += np.where(beyond[:, None], wrench[..., None, :], 0.0)
    r, R = moving.points(np.stack([at, 0.0 * at, 0.0 * at], axis=1))
    moment = total[..., :3] - np.cross(r, total[..., 3:])
    found = np.concatenate([np.einsum("...ij,...i->...j", R, w) for w in (moment, total[..., 3:])], axis=-1)
    return {name: found[..., k] for k, name in enumerate(NAMES)}


class _MovingBeam:
    """A beam at states (...) that move and accelerate: pose, velocity and acceleration of its floating frame, in its
    axes, and the amplitudes of its modes with two derivatives."""

    def __init__(self, mechanism: Mechanism, plan: Plan, body: Body, motion: BeamMotion) -> None:
        q, v, vdot = motion.q, motion.v, motion.vdot
        assert isinstance(body.flexible, Beam)
        self.body, self.beam = body, body.flexible
        self.batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], vdot.shape[:-1])
        self.poses = motion.poses
        self.amplitudes = {
            name: _amplitudes(plan, name, other, q)
            for name, other in mechanism.bodies.items()
            if other.flexible is not None
        }
        self.pose = self.poses[body.name]
        twist, acceleration = motion.twist, motion.acceleration
        self.w, self.turns = twist[..., :3], acceleration[..., :3]
        gravity = np.einsum("...ij,i->...j", self.pose[..., :3, :3], np.asarray(mechanism.gravity))
        self.falls = acceleration[..., 3:] - gravity
        self.eta = self.amplitudes[body.name]
        if body.locked_at is None:
            modes = plan.slice_v(body.name + MODES)
            self.rate, self.change = v[..., modes], vdot[..., modes]
        else:
            self.rate = self.change = np.zeros_like(self.eta)

    def points(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where points that rest at s (n, 3) are, (..., n, 3), and how they are turned, (..., n, 3, 3)."""
        places = [_place(self.body, self.eta, p) for p in s]
        return np.stack([p for p, _ in places], axis=-2), np.stack([R for _, R in places], axis=-3)

    def inertial(self, begin: float, end: float) -> np.ndarray:
        """Return the wrench (..., 6) about the floating frame's origin that weight and motion of the part between two
        places take."""
        part = self.beam.particles(begin, end)
        if not len(part.mass):
            return np.zeros((*self.batch, 6))

        def moved(first: np.ndarray) -> np.ndarray:
            return np.einsum("nik,...k->...ni", part.S, first)

        def bent(one: np.ndarray, other: np.ndarray) -> np.ndarray:
            return np.einsum("nikl,...k,...l->...ni", part.B, one, other)

        x = part.s + moved(self.eta) + 0.5 * bent(self.eta, self.eta)
        rate = moved(self.rate) + bent(self.eta, self.rate)
        change = moved(self.change) + bent(self.eta, self.change) + bent(self.rate, self.rate)
        if part.F is not None:
            moving = fourth_powers_moving(self.eta, self.rate, self.change, self.beam.products)
            fourth = [np.einsum("nip,...p->...ni", part.F, each) for each in moving]
            x, rate, change = x + fourth[0], rate + fourth[1], change + fourth[2]
        w, turns = self.w[..., None, :], self.turns[..., None, :]
        a = self.falls[..., None, :] + np.cross(turns, x) + np.cross(w, np.cross(w, x))
        force = part.mass[:, None] * (a + 2.0 * np.cross(w, rate) + change)
        # Sections of a slender beam turn about its axis with the floating frame.
        J = self.beam.turning_between(begin, end)
        own = self.turns @ J + np.cross(self.w, self.w @ J)
        return np.concatenate([np.cross(x, force).sum(axis=-2) + own, force.sum(axis=-2)], axis=-1)


def _loads(
    mechanism: Mechanism,
    plan: Plan,
    moving: _MovingBeam,
    reactions: Mapping[str, np.ndarray],
    f_ext: Mapping[str, Any] | None,
) -> Iterator[tuple[float, np.ndarray]]:
    """Return where joints and wrenches press on a beam, and their wrenches (..., 6) about the origin of its floating
    frame, in its axes."""
    name = moving.body.name
    back = np.linalg.inv(moving.pose)
    for joint in mechanism.joints.values():
        if name not in (joint.parent, joint.child):
            continue
        p, R = _placed(moving, mechanism.bodies[joint.child], joint.in_child)
        local = back @ moving.poses[joint.child]
        p = np.einsum("...ij,...j->...i", local[..., :3, :3], p) + local[..., :3, 3]
        wrench = _about_origin(p, local[..., :3, :3] @ R, reactions[joint.name])
        if joint.child == name:
            yield float(joint.in_child.p[0]), wrench
        if joint.parent == name:
            yield float(joint.in_parent.p[0]), -wrench
    arms = {} if plan.parts is None else plan.parts.joints
    for where, numbers in (f_ext or {}).items():
        frame, wrench = mechanism.frames.get(where), np.broadcast_to(numbers, (*moving.batch, 6))
        if where == name:
            # A wrench on the body itself acts at the origin of its floating frame.
            yield 0.0, wrench
        elif frame is not None and frame.body == name:
            yield float(frame.pose.p[0]), _about_origin(*_placed(moving, moving.body, frame.pose), wrench)
        elif where in arms and arms[where].parent == name:
            at = arms[where].in_parent
            yield float(at.p[0]), _about_origin(*_placed(moving, moving.body, at), wrench)


def _about_origin(p: np.ndarray, R: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """Return a wrench (..., 6) at p (..., 3) in axes R (..., 3, 3) as one about the origin."""
    moment, force = (np.einsum("...ij,...j->...i", R, x) for x in (wrench[..., :3], wrench[..., 3:]))
    return np.concatenate([moment + np.cross(p, force), force], axis=-1)


def _placed(moving: _MovingBeam, body: Body, pose: Pose) -> tuple[np.ndarray, np.ndarray]:
    """Return origin (..., 3) and axes (..., 3, 3) in its body, or floating frame, of what rests at a pose."""
    if body.flexible is None:
        return np.asarray(pose.p), pose.R
    p, R = _place(body, moving.amplitudes[body.name], np.asarray(pose.p))
    return p, R @ pose.R


def _place(body: Body, eta: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the point of a flexible body that rests at s (3,) is, (..., 3), and its rotation (..., 3, 3)."""
    assert body.flexible is not None
    shapes = body.flexible.shapes(tuple(s))
    return s + shapes.displacement(eta, body.flexible.products), stacks.cayley(
        0.5 * np.einsum("ik,...k->...i", shapes.R, eta)
    )


def _amplitudes(plan: Plan, name: str, body: Body, q: np.ndarray) -> np.ndarray:
    if body.locked_at is None:
        return q[..., plan.slice_q(name + MODES)]
    return np.broadcast_to(body.locked_at, (*q.shape[:-1], len(body.locked_at)))
