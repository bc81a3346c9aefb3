"""How the segments of a run go together: which of them have the same coordinates, what has happened before each, and
what they tell by a name that not all of them know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catena.errors import StateError, UnknownNameError
from catena.joints import JointKind
from catena.simulation.results.segment import Segment
from catena.system import System

Structure = tuple[tuple[str, type[JointKind] | None, int, int], ...]
"""The joints along q in their order, with their kinds and numbers of coordinates and velocities."""
# Segments follow each other where their times differ by no more than this part of the whole time.
GAP = 1e-9


@dataclass(frozen=True, eq=False)
class Before:
    """What has happened before a segment: the `energy` (...) that its plan leaves out, because it is that of bodies
    which the structure holds still, and the `work` (...) by source."""

    energy: np.ndarray | float = 0.0
    work: Mapping[str, np.ndarray | float] = field(default_factory=dict)


def before_each(segments: Sequence[Segment]) -> tuple[Before, ...]:
    """Return what happened before each of the segments, which follow each other without a gap."""
    found = [Before()]
    for one, after in zip(segments, segments[1:], strict=False):
        found.append(before_next(one, found[-1], after))
    return tuple(found)


def before_next(one: Segment, before: Before, after: Segment) -> Before:
    """Return what happened before the segment `after` one, before which something has happened too."""
    energy, work = before.energy, before.work
    if after.system is not one.system:
        # A plan leaves out what does not move, so that its energy is known up to a constant.
        gone, new = _stored_alone(one, after, -1), _stored_alone(after, one, 0)
        energy = one.potential_energy[..., -1] + energy - gone + new - after.potential_energy[..., 0]
    return Before(energy, {name: x[..., -1] + work.get(name, 0.0) for name, x in one.work.items()})


def filled(
    parts: Sequence[Any], ask: Callable[[Any], np.ndarray], axes: int, over: Callable[[Any], Any]
) -> list[np.ndarray]:
    """Return what parts of a run tell; NaN of the shape `over` and further axes where one does not know the name."""
    found: list[np.ndarray | None] = []
    fault: UnknownNameError | None = None
    for part in parts:
        try:
            found.append(ask(part))
        except UnknownNameError as error:
            found.append(None)
            fault = fault or error
    rests = {x.shape[x.ndim - axes :] for x in found if x is not None}
    if fault is not None and not rests:
        raise fault
    if len(rests) > 1:
        raise StateError(
            f"What is asked for has the shapes {' and '.join(str(rest) for rest in sorted(rests))} in different "
            f"structures; read it from `segments` one by one."
        )
    rest = rests.pop()
    return [
        np.full((*over(part), *rest), np.nan) if x is None else x
        for part, x in zip(parts, found, strict=True)
    ]


def require_one_behind_the_other(parts: Sequence[Segment]) -> None:
    for k, (one, after) in enumerate(zip(parts, parts[1:], strict=False)):
        if one.batch != after.batch:
            raise StateError(
                f"Segment {k} has the batch shape {one.batch} and segment {k + 1} has {after.batch}; simulate all of "
                f"them with the same states."
            )
        if abs(after.t[0] - one.t[-1]) > GAP * max(abs(after.t[-1]), abs(one.t[-1])):
            raise StateError(
                f"Segment {k} ends at t = {one.t[-1]:.9g} s and segment {k + 1} begins at t = {after.t[0]:.9g} s; give "
                f"segments that follow each other (`run.shifted(t)` moves one in time)."
            )


def structure_of(system: System) -> Structure:
    """Return what lies along q: two systems for which it is the same have the same coordinates."""
    described = system.mechanism.joints
    found = []
    for name in system.joints:
        kind = type(described[name].kind) if name in described else None
        q, v = system.slice_q(name), system.slice_v(name)
        found.append((name, kind, q.stop - q.start, v.stop - v.start))
    return tuple(found)


def _stored_alone(one: Segment, other: Segment, sample: int) -> np.ndarray:
    """Return the energy (...) at a sample of one segment that is in forces which the mechanism of the other does not
    have."""
    there, elsewhere = (part.system.mechanism.force_elements for part in (one, other))
    q, v = one.q[..., sample, :], one.v[..., sample, :]
    names = [name for name in there if name not in elsewhere]
    outputs = one.system.forces.outputs(q, v) if names else {}
    stored = [outputs[name]["energy"] for name in names if "energy" in outputs.get(name, ())]
    return np.asarray(sum(stored, np.zeros(q.shape[:-1])))
