"""Several arms at once: on one object, and on a free-flying base."""

from __future__ import annotations

from math import pi

import numpy as np

from catena.errors import ModelError
from catena.joints import Fixed, Free, JointKind, Revolute
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.generators.arms import add_arm, bent_posture
from catena.mechanism.generators.shapes import box, cylinder
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

OBJECT_RADIUS = 0.25


@checks_arguments
def arms_on_object(m: int, dof: int = 6, grip: JointKind | None = None) -> Mechanism:
    """m arms of `dof` joints each that hold one object, which closes m - 1 loops.

    With the default welded grip and dof >= 6 the object moves with 6 dof and each arm has dof - 6 more.

    Arm k = 1..m has bodies "arm{k}/link{i}", joints "arm{k}/joint{i}" and frame "arm{k}/tool" (arm6 for dof
    = 6, arm7 for 7, else a plain chain); its base stands on a circle and faces the centre. Joint "grip{k}"
    of kind `grip` (default `Fixed`) leads from its last link to the body "object", a 10 kg block in the
    middle that it holds 0.25 m from the centre. All loops are closed at the neutral configuration, where
    every arm has its elbow bent.
    """
    if m < 1:
        raise ModelError(f"arms_on_object: {m} arms were asked for: give 1 or more")
    mechanism = Mechanism(f"{m} arms on object")
    posture = bent_posture(dof)
    _, last, tool = add_arm(Mechanism("rehearsal"), dof, posture=posture)
    reach = (last * tool).p
    centre = Pose(p=(0.0, 0.0, float(reach[2])))
    kind = Fixed() if grip is None else grip
    mechanism.add_body("object", **box(10.0, (0.3, 0.3, 0.2)))
    for k in range(1, m + 1):
        around = Pose(rpy=(0.0, 0.0, 2.0 * pi * (k - 1) / m))
        base = around * Pose(p=(-OBJECT_RADIUS - float(reach[0]), 0.0, 0.0))
        hand, last, tool = add_arm(mechanism, dof, prefix=f"arm{k}/", at=base, posture=posture)
        mechanism.add_joint(
            f"grip{k}", hand, "object", kind, in_parent=tool, in_child=centre.inverse() * last * tool
        )
    return mechanism


@checks_arguments
def free_flyer(arms: int = 4, dof: int = 7, wheels: int = 3) -> Mechanism:
    """A free-flying space robot without gravity: 6 + arms * dof + wheels dof, 37 by default.

    Joint "base" floats the body "bus" (a 150 kg block) and comes first, unactuated. Arm k = 1..arms has
    bodies "arm{k}/link{i}", joints "arm{k}/joint{i}" and frame "arm{k}/tool"; the bases are spread around
    the bus and point outward, elbows bent at q = 0. Reaction wheels "wheel{k}" turn about x, y, z in
    rotation by joints "spin{k}".
    """
    mechanism = Mechanism("free-flyer", gravity=(0.0, 0.0, 0.0))
    mechanism.add_body("bus", **box(150.0, (1.0, 1.0, 0.8)))
    mechanism.add_joint("base", "ground", "bus", Free(), actuated=False)
    posture = bent_posture(dof) if arms else ()
    for k in range(1, arms + 1):
        around = Pose(rpy=(0.0, 0.0, 2.0 * pi * (k - 1) / arms))
        at = around * Pose(p=(0.5, 0.0, 0.0), rpy=(0.0, pi / 2, 0.0))
        add_arm(mechanism, dof, prefix=f"arm{k}/", on="bus", at=at, posture=posture)
    for k in range(1, wheels + 1):
        axis = (k - 1) % 3
        rim = 0.05 * np.eye(3)[axis]
        mechanism.add_body(f"wheel{k}", **cylinder(4.0, 0.12, rim))
        at = Pose(p=0.2 * np.eye(3)[axis] + (0.0, 0.0, -0.1 * ((k - 1) // 3)))
        mechanism.add_joint(f"spin{k}", "bus", f"wheel{k}", Revolute("xyz"[axis]), in_parent=at)
    return mechanism
