"""New forces of a mechanism from what users give, checked: springs, wrenches, forces of any kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from catena.errors import ModelError
from catena.forces import Bushing, ForceKind, FrameForce, JointForce, LineForce
from catena.mechanism import validation
from catena.mechanism.elements import JointSpringElement, KindElement, PointSpringElement, WrenchElement
from catena.mechanism.naming import body_of, moving_joint
from catena.mechanism.parts import GROUND
from catena.validation import entries, shown

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism


def make_spring(
    mechanism: Mechanism, name: str, joint: str, stiffness: ArrayLike, rest: ArrayLike | None, damping: ArrayLike
) -> JointSpringElement:  # fmt: skip
    """Return a spring with a damper at a joint."""
    who = f"spring {name!r}"
    kind = moving_joint(mechanism, who, joint).kind
    relaxed = validation.coordinates(who, "rest", kind.neutral() if rest is None else rest, kind.nq)
    kind.check(relaxed, joint)
    spring = JointSpringElement(
        name,
        joint,
        validation.coefficients(who, "stiffness", stiffness, kind.nv),
        relaxed,
        validation.coefficients(who, "damping", damping, kind.nv),
    )
    validation.acting(who, spring.stiffness, spring.damping)
    return spring


def make_spring_between(
    mechanism: Mechanism, name: str, frame_a: str, frame_b: str, stiffness: float, rest_length: float, damping: float
) -> PointSpringElement:  # fmt: skip
    """Return a spring with a damper between the origins of two frames."""
    who = f"spring {name!r}"
    body_a, body_b = body_of(mechanism, who, frame_a), body_of(mechanism, who, frame_b)
    if body_a == body_b:
        raise ModelError(
            f"{who}: both ends move with body {body_a!r}, so its length never changes: "
            "give frames of two different bodies"
        )
    spring = PointSpringElement(
        name,
        frame_a,
        frame_b,
        validation.coefficient(who, "stiffness", stiffness),
        validation.coefficient(who, "rest_length", rest_length),
        validation.coefficient(who, "damping", damping),
    )
    validation.acting(who, spring.stiffness, spring.damping)
    return spring


def make_wrench(
    mechanism: Mechanism, name: str, frame: str, moment: ArrayLike, force: ArrayLike, axes: str
) -> WrenchElement:
    """Return a constant wrench on the body of a frame."""
    who = f"wrench {name!r}"
    if body_of(mechanism, who, frame) == GROUND:
        raise ModelError(f"{who}: frame {frame!r} is part of ground, which no wrench moves: give another")
    body_of(mechanism, who, axes)
    moment3 = validation.vector(who, "moment", moment)
    return WrenchElement(name, frame, moment3, validation.vector(who, "force", force), axes)


def make_force(
    mechanism: Mechanism, name: str, kind: ForceKind, joint: str | None, between: Iterable[str] | None
) -> KindElement:
    """Return a force of any kind at a joint or between two frames."""
    who = f"force {name!r}"
    if not isinstance(kind, FrameForce | JointForce):
        raise ModelError(
            f"{who}: kind is {shown(kind)}, which is no kind of force: give an instance such as "
            "catena.forces.PointSpring(100.0)"
        )
    if isinstance(kind, JointForce):
        if joint is None or between is not None:
            raise ModelError(
                f"{who}: a {type(kind).__name__} acts at a joint: give joint='...' and nothing else"
            )
        kind.check(moving_joint(mechanism, who, joint).kind, who)
        return KindElement(name, kind, joint)
    try:
        ends = () if between is None or isinstance(between, str) else entries(between)
    except ValueError:
        ends = ()
    if joint is not None or len(ends) < 2 or (len(ends) > 2 and not isinstance(kind, LineForce)):
        more = " or more" if isinstance(kind, LineForce) else ""
        raise ModelError(
            f"{who}: a {type(kind).__name__} acts between two frames{more}: give between=('...', '...') and "
            "nothing else"
        )
    return KindElement(name, kind, _ends(mechanism, who, kind, ends))


def make_bushing(name: str, stiffness: Any, damping: Any) -> Bushing:
    """Return the kind of a bushing, whose complaints name the force."""
    try:
        return Bushing(stiffness, damping)
    except ModelError as error:
        raise ModelError(f"force {name!r}: {error}") from None


def _ends(mechanism: Mechanism, who: str, kind: FrameForce, ends: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the frames of a force, between which something can move."""
    bodies = [body_of(mechanism, who, frame) for frame in ends]
    # Of more than two one that is on another body than the first.
    body_a, body_b = bodies[0], next((body for body in bodies[1:] if body != bodies[0]), bodies[0])
    if kind.weighs and ends[0] != GROUND:
        raise ModelError(
            f"{who}: a {type(kind).__name__} acts between {GROUND!r} and a frame, but {ends[0]!r} was given"
        )
    if kind.reacts and body_a == body_b:
        raise ModelError(
            f"{who}: both ends move with body {body_a!r}, so it moves nothing: give frames of two different bodies"
        )
    if not kind.reacts and body_b == GROUND:
        raise ModelError(f"{who}: frame {ends[1]!r} is part of ground, which no force moves: give another")
    return ends
