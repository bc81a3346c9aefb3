"""One stretch of a force that pulls along a line over several frames, such as a cable over pulleys that it slides on.

The tension is the same everywhere along the line and depends on the whole of it. So stretches come twice, one behind
the other: all of them measure, and then all of them pull. What has been measured so far passes from one to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from catena.forces.contract import FrameForce, Relative
from catena.forces.line import LineForce, LineOfAction
from catena.spatial import Force, Motion

FIRST, NEXT, PULLING, TELLING = "first", "next", "pulling", "telling"


@dataclass(frozen=True, eq=False)
class OnPath(Relative):
    """How frame b stands and moves relative to frame a at the ends of a stretch, and how long the whole line is and how
    fast it grows."""

    length: Any = 0.0
    rate: Any = 0.0

    def at_rest(self) -> OnPath:
        return replace(self, v=Motion.zero(), rate=0.0)


@dataclass(frozen=True)
class LineSection(FrameForce):
    """A stretch of the line that `whole` pulls along. Its `part` is that of the first that measures, of another that
    does, or of one that pulls, of which one tells what is worth recording of the whole. The first counts `fixed` [m],
    the length of all stretches between frames that do not move against each other."""

    whole: LineForce
    part: str
    fixed: float = 0.0

    stores = True
    drawn_as = "none"

    @property
    def described(self) -> LineForce:
        return self.whole

    @property
    def spends(self) -> bool:
        return self.whole.spends

    @property
    def measures(self) -> bool:
        """Whether it measures; else it pulls."""
        return self.part in (FIRST, NEXT)

    def measured(self, at: Relative, length: Any, rate: Any) -> tuple[Any, Any]:
        """Return the length of the line up to the end of this stretch, and its rate, from those up to its beginning."""
        line = LineOfAction.between(at)
        if self.part == FIRST:
            return self.fixed + line.length, line.rate
        return length + line.length, rate + line.rate

    def load(self, at: Relative) -> Force:
        if self.measures:
            return Force.zero()
        line = LineOfAction.between(at)
        return line.pull(self.whole.tension(_whole(at, line)))

    def energy(self, at: Relative) -> Any:
        return self.whole.stored(_whole(at, LineOfAction.between(at))) if self.part == TELLING else 0.0

    def outputs(self, at: Relative) -> Mapping[str, Any]:
        if self.part != TELLING:
            return {}
        line = _whole(at, LineOfAction.between(at))
        return {"length": line.length, "rate": line.rate, "tension": self.whole.tension(line)}


def _whole(at: Relative, own: LineOfAction) -> LineOfAction:
    """Return the whole line in the direction of one stretch, of which that is all where nothing else was measured."""
    return LineOfAction(at.length, at.rate, own.along) if isinstance(at, OnPath) else own
