"""A four-legged walker that stands on some of its feet."""

from __future__ import annotations

from math import acos

from catena.errors import ModelError
from catena.joints import Fixed, Free, Revolute, Spherical
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.generators.shapes import box, cylinder
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

# Where the hips sit on the trunk. The first two stand on a diagonal, as in a trot.
HIPS = {
    "front_left": (0.3, 0.15, 0.0),
    "hind_right": (-0.3, -0.15, 0.0),
    "front_right": (0.3, -0.15, 0.0),
    "hind_left": (-0.3, 0.15, 0.0),
}
THIGH = SHANK = 0.3
HEIGHT = 0.5
FOOT_HEIGHT = 0.05


@checks_arguments
def walker(standing: int = 4, contact: str = "point") -> Mechanism:
    """A walker with a trunk and four legs, `standing` of which (0 to 4) touch the ground and neither slip nor
    lift.

    Legs are front_left, hind_right, front_right and hind_left; the first `standing` of them stand. Each has a
    hip "{leg}/hip", a thigh and a shank on joints "{leg}/roll" (about x), "{leg}/pitch" and "{leg}/knee" (about
    y: positive angles swing what is below backward). The trunk floats by the unactuated joint "base" (`Free`,
    added first).

    With contact = "point" a leg ends in a point and stands by the spherical joint "{leg}/contact" from ground to
    its shank: the mechanism has 18 - 3 standing dof and no redundant constraints. With contact = "flat" a leg
    has three more joints, "{leg}/yaw" above the hip (body "{leg}/waist"), "{leg}/ankle_pitch" (body
    "{leg}/ankle") and "{leg}/ankle_roll", and a foot "{leg}/foot" that stands by the fixed joint
    "{leg}/contact": 30 - 6 standing dof. Contacts are not actuated.

    All loops are closed at the neutral configuration: the trunk is level with its frame 0.5 m above the ground
    at x = y = 0, knees bent forward, feet right below their hips.
    """
    if not 0 <= standing <= 4:
        raise ModelError(f"walker: it should stand on {standing} feet: give 0 to 4")
    if contact not in ("point", "flat"):
        raise ModelError(f"walker: there is no contact {contact!r}: choose point or flat")
    flat = contact == "flat"
    mechanism = Mechanism(f"walker on {standing} {contact} feet")
    mechanism.add_body("trunk", **box(20.0, (0.7, 0.25, 0.15)))
    mechanism.add_joint(
        "base", "ground", "trunk", Free(), in_parent=Pose(p=(0.0, 0.0, HEIGHT)), actuated=False
    )
    # The ankle or the tip of the shank is right below the hip: an isosceles triangle of thigh and shank.
    drop = HEIGHT - FOOT_HEIGHT if flat else HEIGHT
    lean = acos(drop / (THIGH + SHANK))
    for number, (leg, hip) in enumerate(HIPS.items()):
        _add_leg(mechanism, leg, Pose(p=hip), lean, flat)
        if number < standing:
            where = Pose(p=(hip[0], hip[1], 0.0))
            end, tip = (f"{leg}/foot", Pose(p=(0.0, 0.0, -FOOT_HEIGHT)))
            if not flat:
                # The contact's axes are those of the ground, so that the neutral configuration is closed.
                end, tip = f"{leg}/shank", Pose(p=(0.0, 0.0, -SHANK), rpy=(0.0, -lean, 0.0))
            kind = Fixed() if flat else Spherical()
            mechanism.add_joint(f"{leg}/contact", "ground", end, kind, where, tip, actuated=False)
    return mechanism


def _add_leg(mechanism: Mechanism, leg: str, at: Pose, lean: float, flat: bool) -> None:
    """A leg with its thigh leaning forward and its shank backward by `lean`."""
    above = "trunk"
    if flat:
        mechanism.add_body(f"{leg}/waist", **box(0.5, (0.06, 0.06, 0.06)))
        mechanism.add_joint(f"{leg}/yaw", "trunk", f"{leg}/waist", Revolute("z"), in_parent=at)
        above, at = f"{leg}/waist", Pose()
    mechanism.add_body(f"{leg}/hip", **box(0.7, (0.08, 0.08, 0.08)))
    mechanism.add_body(f"{leg}/thigh", **cylinder(1.2, 0.03, (0.0, 0.0, -THIGH)))
    mechanism.add_body(f"{leg}/shank", **cylinder(0.6, 0.02, (0.0, 0.0, -SHANK)))
    mechanism.add_joint(f"{leg}/roll", above, f"{leg}/hip", Revolute("x"), in_parent=at)
    forward, back = Pose(rpy=(0.0, -lean, 0.0)), Pose(p=(0.0, 0.0, -THIGH), rpy=(0.0, 2.0 * lean, 0.0))
    mechanism.add_joint(f"{leg}/pitch", f"{leg}/hip", f"{leg}/thigh", Revolute("y"), in_parent=forward)
    mechanism.add_joint(f"{leg}/knee", f"{leg}/thigh", f"{leg}/shank", Revolute("y"), in_parent=back)
    if flat:
        mechanism.add_body(f"{leg}/ankle", **box(0.2, (0.04, 0.04, 0.04)))
        mechanism.add_body(f"{leg}/foot", **box(0.4, (0.14, 0.08, 0.03), (0.0, 0.0, -FOOT_HEIGHT + 0.015)))
        level = Pose(p=(0.0, 0.0, -SHANK), rpy=(0.0, -lean, 0.0))
        mechanism.add_joint(f"{leg}/ankle_pitch", f"{leg}/shank", f"{leg}/ankle", Revolute("y"), level)
        mechanism.add_joint(f"{leg}/ankle_roll", f"{leg}/ankle", f"{leg}/foot", Revolute("x"))
