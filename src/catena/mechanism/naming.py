"""Names in a mechanism: which are free, what they stand for, and which a user means: patterns such as "arm2/*" stand
for all names that look so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from catena.errors import ModelError, UnknownNameError
from catena.mechanism import validation
from catena.mechanism.flexible_bodies import MODES
from catena.mechanism.parts import GROUND, Joint
from catena.mechanism.validation import known
from catena.spatial import Pose
from catena.validation import entries

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


WILD = frozenset("*?[")


def selected(
    what: str, words: str | Iterable[str], names: Collection[str], wanted: Callable[[str], bool] | None = None
) -> tuple[str, ...]:
    """Return the names that are given or look like one of the given patterns, each once, in the order of `names`.

    A pattern takes those names only that are `wanted`; a name that is given in full is taken in any case, also where it
    has a wildcard in it. What stands for no name at all is an error.
    """
    try:
        asked: tuple[Any, ...] = (words,) if isinstance(words, Mapping) else entries(words)
    except ValueError:
        asked = (words,)
    found: set[str] = set()
    for one in asked:
        if not isinstance(one, str) or one in names or not WILD & set(one):
            found.add(known(what, one, names))
            continue
        alike = [name for name in names if fnmatchcase(name, one)]
        fitting = alike if wanted is None else [name for name in alike if wanted(name)]
        if not fitting:
            some = ", ".join(repr(name) for name in (alike or list(names))[:8])
            why = f"those that it stands for ({some}) are no such" if alike else f"there are {some or 'none'}"
            raise UnknownNameError(f"no {what} to change looks like {one!r}: {why}")
        found.update(fitting)
    return tuple(name for name in names if name in found)
