"""A contact that may be made and broken, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.dynamics.contacts.contact_forces import FLAT
from catena.errors import StateError
from catena.mechanism import GROUND
from catena.simulation.contacts.height_field import HeightField
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
    the other side, and rolls where it does not slide. With `rim` [m] what touches is the edge of a disc or a wheel: the
    circle of that radius around the z axis of `frame`, as thick as `radius` says. With a `floor` the plane is a
    `HeightField`.
    """

    frame: str
    on: str = GROUND
    friction: float = 0.0
    restitution: float = 0.0
    radius: float = 0.0
    name: str = ""
    on_radius: float | None = None
    restitution_law: str = "newton"
    rim: float = 0.0
    floor: HeightField | None = None

    def __post_init__(self) -> None:
        for what in ("frame", "on", "name"):
            if not isinstance(getattr(self, what), str):
                raise StateError(f"Contact: {what} is {shown(getattr(self, what))}; give a name.")
        for what in ("friction", "restitution", "radius", "on_radius", "rim"):
            if what == "on_radius" and self.on_radius is None:
                continue
            if not is_not_negative(getattr(self, what)):
                raise StateError(
                    f"Contact {self.label!r}: {what} is {shown(getattr(self, what))}; give a number, 0 or more."
                )
        if self.restitution > 1.0:
            raise StateError(f"Contact {self.label!r}: restitution is {self.restitution}; give at most 1.")
        require_law(f"Contact {self.label!r}", self.restitution_law)
        if self.floor is not None and not isinstance(self.floor, HeightField):
            raise StateError(f"Contact {self.label!r}: floor is {shown(self.floor)}; give a HeightField.")
        bent = [what for what in ("on_radius", "floor") if getattr(self, what) is not None]
        if len(bent) + bool(self.rim) > 1:
            named = " and ".join([*(["rim"] if self.rim else []), *bent])
            raise StateError(
                f"Contact {self.label!r}: {named} are given, and rims touch planes, height fields points and balls; "
                "give one of them."
            )
        if self.on_radius == 0.0 and self.radius == 0.0:
            raise StateError(
                f"Contact {self.label!r}: radius and on_radius are 0, and a point never meets a point; give one of "
                "them a radius."
            )

    @property
    def label(self) -> str:
        """Return its name, or that of its frame."""
        return self.name or self.frame

    def met(
        self, at: np.ndarray, axis: np.ndarray, rate: np.ndarray, turns: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the gaps (...), the normals (..., 3), where the points that touch are from the origin of `frame`, and
        how both change, (..., 3) each, where that is `at` (..., 3), the z axis of `frame` is `axis` (..., 3), and both
        change so fast (`rate`, `turns`): all as seen in the axes of `on`."""
        r, up = self.radius, np.array([0.0, 0.0, 1.0])
        if self.floor is not None:
            gap, n, bends = self.floor.nearest(at)
            tilts = (bends @ rate[..., None])[..., 0]
            return gap - r, n, tilts, -r * n, -r * tilts
        if self.on_radius is not None:
            far = np.maximum(np.linalg.norm(at, axis=-1, keepdims=True), np.finfo(float).tiny)
            n = at / far
            tilts = (rate - (rate * n).sum(axis=-1, keepdims=True) * n) / far
            return far[..., 0] - r - self.on_radius, n, tilts, -r * n, -r * tilts
        n, still = np.broadcast_to(up, at.shape), np.zeros(at.shape)
        if not self.rim:
            return at[..., 2] - r, n, still, -r * n, still
        # The lowest place of the rim is where the plane falls away from the axis most.
        across = axis[..., 2:] * axis - up
        size = np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), FLAT)
        down = across / size
        moves = turns[..., 2:] * axis + axis[..., 2:] * turns
        changes = (moves - (moves * down).sum(axis=-1, keepdims=True) * down) / size
        return at[..., 2] - r - self.rim * size[..., 0], n, still, self.rim * down - r * n, self.rim * changes

    @property
    def joint(self) -> str:
        """Return the name of the joint that it is while a point sticks."""
        return f"contact {self.label}"
