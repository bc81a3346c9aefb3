"""A contact that may be made and broken, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from catena.errors import StateError
from catena.mechanism import GROUND
from catena.validation import is_not_negative, is_one_of, shown

RESTITUTION_LAWS = ("newton", "poisson", "energy")


def require_law(who: str, law: object) -> None:
    """Raise an error unless `law` is a law of restitution."""
    if not is_one_of(law, RESTITUTION_LAWS):
        choice = ", ".join(map(repr, RESTITUTION_LAWS))
        raise StateError(f"{who}: restitution_law is {shown(law)}; choose one of {choice}.")


@dataclass(frozen=True)
class Contact:
    """A point, or a ball of a radius around it, that may touch a plane from above, or a point or a ball from outside.

    The point is the origin of the frame or body `frame` (a foot, a fingertip); the plane is the x-y plane of the frame
    or body `on`, ground unless given; its z axis points to where the point may be. With `on_radius` [m] it is a ball
    around the origin of `on` instead, with 0 that point itself. `friction` is Coulomb's coefficient, `restitution` how
    much of an impact comes back (0 to 1): of its speed ("newton"), of its impulse ("poisson"), or with its square of
    its energy ("energy"), as `restitution_law` says. A ball (`radius` [m]) touches with the point that is nearest to
    the other side, and rolls where it does not slide.
    """

    frame: str
    on: str = GROUND
    friction: float = 0.0
    restitution: float = 0.0
    radius: float = 0.0
    name: str = ""
    on_radius: float | None = None
    restitution_law: str = "newton"

    def __post_init__(self) -> None:
        for what in ("frame", "on", "name"):
            if not isinstance(getattr(self, what), str):
                raise StateError(f"Contact: {what} is {shown(getattr(self, what))}; give a name.")
        for what in ("friction", "restitution", "radius", "on_radius"):
            if what == "on_radius" and self.on_radius is None:
                continue
            if not is_not_negative(getattr(self, what)):
                raise StateError(
                    f"Contact {self.label!r}: {what} is {shown(getattr(self, what))}; give a number, 0 or more."
                )
        if self.restitution > 1.0:
            raise StateError(f"Contact {self.label!r}: restitution is {self.restitution}; give at most 1.")
        require_law(f"Contact {self.label!r}", self.restitution_law)
        if self.on_radius == 0.0 and self.radius == 0.0:
            raise StateError(
                f"Contact {self.label!r}: radius and on_radius are 0, and a point never meets a point; give one of "
                "them a radius."
            )

    @property
    def label(self) -> str:
        """Return its name, or that of its frame."""
        return self.name or self.frame

    @property
    def joint(self) -> str:
        """Return the name of the joint that it is while a point sticks."""
        return f"contact {self.label}"
