"""A Catena tree mechanism as a Pinocchio model."""

from typing import Any

import numpy as np
import pinocchio as pin

from benchmarks.peers.coordinates import Coordinates
from benchmarks.peers.links import Link, Motion, damping_and_friction, links
from catena.bridges.conventions import JointCoordinates
from catena.bridges.conventions.joint_maps import FlippedBall, FlippedFree, JointMap, Same, reversed_order
from catena.bridges.conventions.pinocchio import FLOATING, SPHERICAL


def to_pinocchio(mechanism: Any) -> tuple[pin.Model, Coordinates]:
    """The model, and the translation of coordinates that goes with it.

    Joints along a coordinate axis become Pinocchio's aligned joints, which are its quickest; joints of
    several elementary motions become composites. Damping and friction stay out of the model; the translation
    of efforts has them.
    """
    tree = links(mechanism)
    model = pin.Model()
    model.name = mechanism.name
    model.gravity.linear = np.asarray(mechanism.gravity, dtype=float)
    index_of_link = {-1: 0}
    blocks = []
    for number, link in enumerate(tree):
        parent, placement = index_of_link[link.parent], pin.SE3(link.placement[:3, :3], link.placement[:3, 3])
        index = model.addJoint(parent, _joint(link.motions), placement, link.joint)
        model.appendBodyToJoint(index, pin.Inertia(link.mass, link.com, link.inertia), pin.SE3.Identity())
        index_of_link[number] = index
        q, v = model.joints[index].idx_q, model.joints[index].idx_v
        blocks.append(
            JointCoordinates(
                q=slice(link.q_start, link.q_start + link.nq),
                v=slice(link.v_start, link.v_start + link.nv),
                q_there=slice(q, q + link.nq),
                v_there=slice(v, v + link.nv),
                map=_map(link),
            )
        )
    damping, friction = damping_and_friction(tree)
    return model, Coordinates.of(model.nq, model.nv, blocks, damping, friction)


def _map(link: Link) -> JointMap:
    kinds = [motion.kind for motion in link.motions]
    if kinds == ["free"]:
        return FLOATING
    if "ball" not in kinds:
        return reversed_order(link.nv) if link.flipped else Same()
    if not link.flipped:
        return SPHERICAL
    return FlippedFree(SPHERICAL.q_order) if len(kinds) > 1 else FlippedBall(SPHERICAL.q_order)


def _joint(motions: tuple[Motion, ...]) -> Any:
    if len(motions) == 1:
        return _elementary(motions[0])
    composite = pin.JointModelComposite()
    for motion in motions:
        composite.addJoint(_elementary(motion), pin.SE3.Identity())
    return composite


def _elementary(motion: Motion) -> Any:
    if motion.kind == "ball":
        return pin.JointModelSpherical()
    if motion.kind == "free":
        return pin.JointModelFreeFlyer()
    aligned = [letter for letter, unit in zip("XYZ", np.eye(3)) if np.array_equal(motion.axis, unit)]
    pitch = (motion.pitch,) if motion.kind == "helix" else ()
    if aligned:
        prefix = {"hinge": "R", "slide": "P", "helix": "H"}[motion.kind]
        return getattr(pin, f"JointModel{prefix}{aligned[0]}")(*pitch)
    word = {"hinge": "Revolute", "slide": "Prismatic", "helix": "Helical"}[motion.kind]
    return getattr(pin, f"JointModel{word}Unaligned")(motion.axis, *pitch)
