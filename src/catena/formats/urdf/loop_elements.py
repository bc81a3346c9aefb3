"""Ways to say in a URDF text that a joint closes a loop; which of them somebody reads depends on the program.

A way says some joints wholly, for the rest there is the side file: <loop> of URDF+, <constraint> as proposed for
urdfdom, <drake:ball_constraint>, and pairs of frames called closing_<name>_1 and _2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from catena.formats.ball_constraints import BALL
from catena.formats.markup import quoted
from catena.formats.urdf.numbers import numbers, origin
from catena.joints import Cylindrical, Fixed, JointKind, Prismatic, Revolute, Spherical
from catena.mechanism import GROUND, Joint
from catena.spatial import Pose

WORLD = "world"
CLOSING = "closing_"


@dataclass(frozen=True)
class LoopNotation:
    """The kinds of joints that a way can say, and the lines in which it says one."""

    kinds: tuple[type[JointKind], ...]
    lines: Callable[[Joint], list[str]]

    def says(self, joint: Joint) -> bool:
        """Return whether nothing of a joint is lost: an element has its kind and its place and nothing else."""
        numbers_of_joint = (joint.limits, joint.armature, joint.velocity_limit)
        rubs = joint.damping.any() or joint.friction.any()
        is_bare = not rubs and not joint.actuated and all(number is None for number in numbers_of_joint)
        return is_bare and type(joint.kind) in self.kinds


def link_of(body: str) -> str:
    """Return the link of a body."""
    return WORLD if body == GROUND else body


def frame_link(name: str, body: str, place: Pose) -> list[str]:
    """Return the lines of a massless link that is fixed to a body."""
    return [
        f"  <link name={quoted(name)}/>",
        f'  <joint name={quoted(f"{name} mount")} type="fixed">',
        f"    {origin(place)}",
        f"    <parent link={quoted(link_of(body))}/>",
        f"    <child link={quoted(name)}/>",
        "  </joint>",
    ]


def _ends(joint: Joint) -> list[tuple[str, Pose]]:
    return [(link_of(joint.parent), joint.in_parent), (link_of(joint.child), joint.in_child)]


def _loop(joint: Joint) -> list[str]:
    """Return the element of URDF+."""
    lines = [f'  <loop name={quoted(joint.name)} type="{TYPES[type(joint.kind)]}">']
    for tag, (link, place) in zip(("predecessor", "successor"), _ends(joint)):
        lines.append(f"    <{tag} link={quoted(link)}>{origin(place)}</{tag}>")
    axis = getattr(joint.kind, "axis", None)
    if axis is not None:
        lines.append(f'    <axis xyz="{numbers(axis)}"/>')
    return [*lines, "  </loop>"]


def _constraint(joint: Joint) -> list[str]:
    """Return the element that was proposed for urdfdom: origin and axis on both sides."""
    lines = [f'  <constraint name={quoted(joint.name)} type="{TYPES[type(joint.kind)]}">']
    axis = getattr(joint.kind, "axis", None)
    for tag, (link, place) in zip(("parent", "child"), _ends(joint)):
        lines.append(f"    <{tag} link={quoted(link)}/>")
        lines.append(f"    {origin(place, f'{tag}_origin')}")
        if axis is not None:
            lines.append(f'    <{tag}_axis xyz="{numbers(axis)}"/>')
    return [*lines, "  </constraint>"]


def _ball(joint: Joint) -> list[str]:
    """Return the element of Drake: two points."""
    lines = [f"  <{BALL} name={quoted(joint.name)}>"]
    for end, point, (link, place) in zip(("body_A", "body_B"), ("p_AP", "p_BQ"), _ends(joint)):
        lines.append(f"    <{BALL}_{end} name={quoted(link)}/>")
        lines.append(f'    <{BALL}_{point} value="{numbers(place.p)}"/>')
    return [*lines, f"  </{BALL}>"]


def _frames(joint: Joint) -> list[str]:
    """Two links whose names say that they coincide."""
    name = joint.name if joint.name.startswith(CLOSING) else f"{CLOSING}{joint.name}"
    ends = (joint.parent, joint.in_parent), (joint.child, joint.in_child)
    return [
        line for k, (body, place) in enumerate(ends) for line in frame_link(f"{name}_{k + 1}", body, place)
    ]


TYPES: dict[type[JointKind], str] = {
    Fixed: "fixed", Revolute: "continuous", Prismatic: "prismatic", Cylindrical: "cylindrical", Spherical: "spherical",
}  # fmt: skip
WAYS = {
    "elements": LoopNotation(tuple(TYPES), _loop),
    "constraints": LoopNotation(tuple(TYPES), _constraint),
    "drake": LoopNotation((Spherical,), _ball),
    "frames": LoopNotation((Spherical,), _frames),
}
"""The ways by the word that users give for them."""


def is_axis(axis: object, letter: str) -> bool:
    """Return whether an axis is exactly that of a letter."""
    return bool(np.array_equal(np.asarray(axis, dtype=np.float64), np.eye(3)["xyz".index(letter)]))
