"""Names in a mechanism: which are free, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from catena.errors import ModelError
from catena.mechanism import validation
from catena.mechanism.flexible_bodies import MODES
from catena.mechanism.parts import GROUND, Joint
from catena.spatial import Pose

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism

VIRTUAL_ROOT = "root:"
LIMITS = ".limits"


def require_new_frame(mechanism: Mechanism, what: str, name: Any) -> None:
    """Raise a ModelError unless a body or a frame may have this name."""
    validation.name_of(what, name)
    if name == GROUND:
        raise ModelError(f"{what} 'ground': every mechanism has its ground already: choose a different name")
    taken = "body" if name in mechanism.bodies else "frame" if name in mechanism.frames else None
    if taken is not None:
        raise ModelError(f"{what} {name!r}: the name is taken by a {taken}: choose a different name")


def require_new_joint(mechanism: Mechanism, name: Any) -> None:
    """Raise a ModelError unless a joint may have this name."""
    require_new("joint", name, mechanism.joints)
    if name.startswith(VIRTUAL_ROOT):
        raise ModelError(
            f"joint {name!r}: names starting with {VIRTUAL_ROOT!r} are kept for pinned roots: choose another"
        )
    if name.endswith(MODES):
        raise ModelError(
            f"joint {name!r}: names ending with {MODES!r} are kept for flexible bodies: choose another"
        )


def require_new_force(mechanism: Mechanism, what: str, name: Any) -> None:
    """Raise a ModelError unless a force may have this name. Forces of all sorts, the stops of joints among them, share
    their names, because their outputs are told by name."""
    validation.name_of(what, name)
    if name.endswith(LIMITS):
        raise ModelError(
            f"{what} {name!r}: names ending in {LIMITS!r} are kept for stops of joints: choose another"
        )
    for word, taken in (
        ("spring", mechanism.springs),
        ("wrench", mechanism.wrenches),
        ("force", mechanism.forces),
    ):
        if name in taken:
            raise ModelError(f"{what} {name!r}: the name is taken by another {word}: choose a different name")


def require_new(what: str, name: Any, taken: Mapping[str, Any]) -> None:
    """Raise a ModelError unless something that has its names for itself may have this one."""
    validation.name_of(what, name)
    if name in taken:
        raise ModelError(f"{what} {name!r}: the name is taken by another {what}: choose a different name")


def moving_joint(mechanism: Mechanism, who: str, name: Any) -> Joint:
    """Return the joint that an actuator or a force acts on."""
    joint = mechanism.joints[validation.known("joint", name, mechanism.joints, who)]
    if joint.kind.nv == 0:
        raise ModelError(f"{who}: joint {name!r} has no degree of freedom: choose one that moves")
    return joint


def body_of(mechanism: Mechanism, who: str, frame: Any) -> str:
    """Return the body that carries a frame; a body carries the frame of its own name."""
    frames = mechanism.frames
    validation.known("body or frame", frame, [*mechanism.bodies, *frames], who)
    return frames[frame].body if frame in frames else frame


def end_of_joint(mechanism: Mechanism, who: str, end: Any) -> tuple[str, Pose]:
    """Return the body that a joint ends on, and the pose in it that the joint is placed from: a frame lends its own."""
    frames = mechanism.frames
    what = "body or frame" if frames else "body"
    validation.known(what, end, [*mechanism.bodies, *frames], who)
    return (frames[end].body, frames[end].pose) if end in frames else (end, Pose())
