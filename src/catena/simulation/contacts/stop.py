"""Rigid stops of joints: contacts without friction that hold a joint within its limits, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from catena.errors import StateError
from catena.mechanism.validation import known
from catena.system import System
from catena.validation import is_count, is_finite, is_not_negative, shown


@dataclass(frozen=True)
class Stop:
    """Rigid stops of a joint that carries coordinates: its position stays between `lower` and `upper`, those of its
    `limits` unless given. They are hit with a `restitution` (0 to 1), push the joint back as contacts do, and let go
    when they would have to pull. `index` tells which position of a joint that has several."""

    joint: str
    lower: float | None = None
    upper: float | None = None
    restitution: float = 0.0
    index: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.joint, str):
            raise StateError(f"Stop: joint is {shown(self.joint)}; give a name.")
        for what in ("lower", "upper"):
            value = getattr(self, what)
            if value is not None and not is_finite(value):
                raise StateError(f"Stop of {self.joint!r}: {what} is {shown(value)}; give a number.")
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise StateError(
                f"Stop of {self.joint!r}: lower is {self.lower} and upper {self.upper}; leave room between them."
            )
        if not is_not_negative(self.restitution) or self.restitution > 1.0:
            raise StateError(
                f"Stop of {self.joint!r}: restitution is {shown(self.restitution)}; give a number from 0 to 1."
            )
        if not is_count(self.index):
            raise StateError(f"Stop of {self.joint!r}: index is {shown(self.index)}; give 0, 1, ...")

    def sides(self, system: System) -> tuple[StopSide, ...]:
        """Return its one or two sides on a system."""
        known("joint", self.joint, system.mechanism.joints, "Stop")
        joint = system.mechanism.joints[self.joint]
        if self.joint in system.loops:
            raise StateError(
                f"Stop of {self.joint!r}: the joint closes a loop in this plan and carries no coordinates; keep it in "
                f"the tree, m.system(keep=[{self.joint!r}])."
            )
        if joint.kind.nq != joint.kind.nv or self.index >= joint.kind.nq:
            raise StateError(
                f"Stop of {self.joint!r}: {type(joint.kind).__name__} has no position number {self.index} that a stop "
                "can hold; choose a joint whose positions are angles and distances."
            )
        low, high = (None, None) if joint.limits is None else joint.limits[self.index]
        found = []
        for sign, given, limit in ((1.0, self.lower, low), (-1.0, self.upper, high)):
            at = limit if given is None and self.lower is None and self.upper is None else given
            if at is not None and is_finite(float(at)):
                found.append(StopSide(self.joint, self.index, float(at), sign, self.restitution))
        if not found:
            raise StateError(
                f"Stop of {self.joint!r}: it has no limits; give lower or upper, or limits of the joint."
            )
        return tuple(found)


@dataclass(frozen=True)
class StopSide:
    """One side of a stop: the position `index` of a joint is at `limit` or beyond it in the direction of `sign`."""

    of: str
    index: int
    limit: float
    sign: float
    restitution: float

    @property
    def label(self) -> str:
        """Return its name."""
        return f"{self.of} {'lower' if self.sign > 0.0 else 'upper'}"
