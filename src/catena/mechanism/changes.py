"""Parts of a mechanism with some of their numbers changed, checked as new parts are.

A changed part is made by adding it, with what was there and what is new, to a mechanism that lacks it. So everything
that `add_body`, `add_joint` or `add_spring` says about wrong numbers is said here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from catena.errors import ModelError
from catena.forces import ForceKind
from catena.mechanism.elements import JointSpring, Spring
from catena.mechanism.parts import Body, Joint
from catena.mechanism.validation import known

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism

OF_BODY = ("mass", "com", "inertia", "density", "visuals", "collisions", "physical", "flexible")
OF_JOINT = (
    "kind", "in_parent", "in_child", "damping", "friction", "limits", "actuated", "limit_stiffness", "limit_damping",
    "armature", "velocity_limit",
)  # fmt: skip
OF_JOINT_SPRING = ("stiffness", "rest", "damping")
OF_POINT_SPRING = ("stiffness", "rest_length", "damping")


def changed_body(empty: Mechanism, old: Body, given: Mapping[str, Any]) -> Body:
    """Return a body with other numbers; its inertia must be possible unless it is the one that was there."""
    _require(f"body {old.name!r}", given, OF_BODY)
    there: dict[str, Any] = {"visuals": old.visuals, "collisions": old.collisions}
    if given.get("flexible", old.flexible) is not None:
        # A flexible body has its own mass; whoever gives another is told so.
        made = empty.add_body(old.name, **{**there, "flexible": old.flexible, **given})
        return replace(made, locked_at=old.locked_at) if made.flexible is old.flexible else made
    if given.get("density") is None:
        there |= {"mass": old.mass, "com": old.com, "inertia": old.inertia}
        # What came from a file may never have been possible.
        there["physical"] = given.get("inertia") is not None
    return empty.add_body(old.name, **{**there, **given})


def changed_joint(empty: Mechanism, old: Joint, given: Mapping[str, Any]) -> Joint:
    """Return a joint between the same bodies with other numbers, or of another kind; a locked one stays locked."""
    _require(f"joint {old.name!r}", given, OF_JOINT)
    there = {name: getattr(old, name) for name in OF_JOINT}
    if old.limit_damping is None:
        del there["limit_damping"]
    kind = given.get("kind", old.kind)
    if getattr(kind, "nv", old.kind.nv) != old.kind.nv:
        # Numbers for each velocity of the old kind say nothing about those of the new one.
        for name in (
            "damping",
            "friction",
            "limits",
            "limit_stiffness",
            "limit_damping",
            "armature",
            "velocity_limit",
        ):
            there.pop(name, None)
    for body in (old.parent, old.child):
        if body not in empty.bodies:
            empty.add_body(body)
    made = empty.add_joint(old.name, old.parent, old.child, **{**there, **given})
    if old.locked and (made.kind.nq, made.kind.nv) != (old.kind.nq, old.kind.nv):
        raise ModelError(f"joint {old.name!r}: it is locked at coordinates of its old kind: unlock it first")
    return replace(made, locked_at=old.locked_at)


def changed_spring(changed: Mechanism, old: Spring, given: Mapping[str, Any]) -> Spring:
    """Return a spring at the same place with other numbers; `changed` is the mechanism without it."""
    who = f"spring {old.name!r}"
    if isinstance(old, JointSpring):
        _require(who, given, OF_JOINT_SPRING)
        there = {name: getattr(old, name) for name in OF_JOINT_SPRING}
        return changed.add_spring(old.name, old.joint, **{**there, **given})
    _require(who, given, OF_POINT_SPRING)
    there = {name: getattr(old, name) for name in OF_POINT_SPRING}
    return changed.add_spring_between(old.name, old.frame_a, old.frame_b, **{**there, **given})


def changed_kind(who: str, kind: ForceKind, given: Mapping[str, Any]) -> ForceKind:
    """Return a kind of force with other values of its fields."""
    if not is_dataclass(kind):
        raise ModelError(f"{who}: {type(kind).__name__} is no dataclass: add the force anew")
    _require(who, given, [one.name for one in fields(kind)])
    try:
        return replace(kind, **given)
    except ModelError as error:
        raise ModelError(f"{who}: {error}") from None


def _require(who: str, given: Mapping[str, Any], names: Any) -> None:
    for name in given:
        known("number or property to change", name, names, who)
