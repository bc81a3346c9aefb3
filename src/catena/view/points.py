"""Points of a mechanism whose ways can be drawn, by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catena.mechanism import GROUND, Mechanism


@dataclass(frozen=True, eq=False)
class TracePoint:
    """A point (3,) of a body: its name, and what it is in words."""

    name: str
    words: str
    body: str
    point: NDArray[np.float64]


def traceable(mechanism: Mechanism) -> Iterator[TracePoint]:
    """Frames first, then joints (on the body that they move), then bodies, whose name stands for the origin of their
    axes, and their mass centres, "coupler mass centre"."""
    known = {*mechanism.frames, *mechanism.bodies}
    for name, frame in mechanism.frames.items():
        yield TracePoint(name, f"{name} (frame)", frame.body, frame.pose.p)
    for name, joint in mechanism.joints.items():
        if joint.child != GROUND and joint.kind.drawn_as != "none":
            own = name if name not in known else f"joint {name}"
            yield TracePoint(own, f"{name} (joint)", joint.child, joint.in_child.p)
    for name, body in mechanism.bodies.items():
        if name == GROUND:
            continue
        yield TracePoint(name, f"{name} (origin of its axes)", name, np.zeros(3))
        if body.mass > 0.0:
            yield TracePoint(f"{name} mass centre", f"{name} (mass centre)", name, np.asarray(body.com))
