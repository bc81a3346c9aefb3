"""What a simulation leaves behind: a motion of one or more segments, each with one structure, asked by names.

The samples of all segments share one time axis, on which the time of a change comes twice: just before it and just
behind it. What is read across them is in `across_segments`; here they are put together, cut, moved and resampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.simulation.results.across_segments import AcrossSegments
from catena.simulation.results.dense import SLACK
from catena.simulation.results.energies import Energies
from catena.simulation.results.extremes import Extremes
from catena.simulation.results.joining import (
    GAP,
    Before,
    require_one_behind_the_other,
    structure_of,
)
from catena.simulation.results.presentable import PathLike, Presentable
from catena.simulation.results.segment import Segment
from catena.simulation.results.states import StatesAt
from catena.simulation.results.times import asked_times, increasing_times, start_offset
from catena.simulation.results.transition import Transition
from catena.system import System
from catena.validation import real_array, shown

if TYPE_CHECKING:
    from catena.simulation.results.contact_channel import ContactChannel

# So many changes are listed when a run is printed.
LISTED = 8


class Trajectory(AcrossSegments, Energies, Extremes, Presentable):
    """A motion, or a batch of motions, over time: `segments` in the order of their times, each with one structure and
    beginning where the one before it ends; `transitions` tell what happened between them, and `note` why the motion
    stopped early, if the last segment does not say.

    `run["A"]`, `run.pose("tool")`, `run.reaction("A")` and all else that is asked by a name work across segments; so
    do energies, powers, works, `audit`, `plot`, `view`, tables and files. `run.q`, `run.v`, `run.tau` and
    `run.acceleration` are there while q has the same joints, which contacts that open and close do not change. Of a
    batch, `run.state(k)` is one motion. `failed` maps indices of the batch that was asked for to words, where states of
    it could not be simulated and are left out.
    """

    def __init__(
        self,
        segments: Sequence[Segment | Trajectory],
        transitions: Sequence[Transition] = (),
        note: str = "",
        failed: Mapping[tuple[int, ...], str] = MappingProxyType({}),
        before: Sequence[Before] | None = None,
    ) -> None:
        """Put segments, or runs that follow each other, together; `before` says what happened before each of them
        where samples do not tell, because there is none at the end of the one before."""
        if isinstance(segments, System):
            raise StateError(
                "A trajectory is made of segments; of states from elsewhere make it with Trajectory.of(system, t, q, "
                "v, tau)."
            )
        if isinstance(segments, Segment | Trajectory) or not isinstance(segments, Sequence):
            raise StateError(f"A trajectory is made of a list of segments or runs; found {shown(segments)}.")
        parts: list[Segment] = []
        changes = list(transitions)
        for part in segments:
            if isinstance(part, Trajectory):
                parts += part.segments
                changes += part.transitions
                note = note or part.note
            elif isinstance(part, Segment):
                parts.append(part)
            else:
                raise StateError(
                    f"A trajectory is made of segments or runs, at least one; found {shown(part)}."
                )
        if not parts:
            raise StateError("A trajectory is made of segments or runs, at least one; found none.")
        if before is None and len(parts) > 1:
            require_one_behind_the_other(parts)
        self._segments = tuple(parts)
        self.transitions: tuple[Transition, ...] = tuple(changes)
        self.note: str = note
        self.failed = failed
        self.given_before = None if before is None else tuple(before)
        self.told_of: tuple[int, ...] = ()
        """The state of a batch that this part of a run tells of, where states move one after the other; else ()."""

    @classmethod
    def of(
        cls,
        system: System,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        steps: int = 0,
        **acted: Any,
    ) -> Trajectory:
        """Return a trajectory of states from elsewhere: at times t (samples,), q (..., samples, nq), v (..., samples,
        nv) and control forces tau (..., samples, nv), zero unless given. `acted` are further fields of a segment, such
        as `wrenches` and `work`."""
        if not isinstance(system, System):
            raise StateError(f"Trajectory.of: {shown(system)} is no system; give what m.system() returns.")
        arrays = {"t": t, "q": q, "v": v, "tau": tau if tau is not None else np.zeros(np.shape(v))}
        rows: dict[str, np.ndarray] = {}
        for name, x in arrays.items():
            try:
                rows[name] = np.array(real_array(x), dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise StateError(f"Trajectory.of: {name} is {shown(x)} ({error}); give numbers.") from None
        over = rows["q"].shape[:-1]
        shapes = {"t": over[-1:], "q": (*over, system.nq), "v": (*over, system.nv), "tau": (*over, system.nv)}
        for name, x in rows.items():
            if not over or x.shape != shapes[name] or not len(rows["t"]):
                raise StateError(
                    f"Trajectory.of: {name} has shape {x.shape}; give t (samples,), q (..., samples, {system.nq}), v "
                    f"and tau (..., samples, {system.nv}), with one sample or more."
                )
        if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 0:
            raise StateError(f"Trajectory.of: steps is {shown(steps)}; give a whole number, 0 or more.")
        _require_fields("Trajectory.of", acted)
        return cls((Segment(system, rows["t"], rows["q"], rows["v"], rows["tau"], int(steps), **acted),))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy or a pickle is made of; what was found from it is found again."""
        made = self._segments, self.transitions, self.note, dict(self.failed), self.given_before
        return type(self), made, {"told_of": self.told_of}

    def __repr__(self) -> str:
        name, parts = repr(self.segments[0].system.mechanism.name), len(self.segments)
        if parts == 1:
            return f"Trajectory({name}, {self.segments[0].summary})"
        batch = f"{self.batch} states, " if self.batch else ""
        return (
            f"Trajectory({name}, {batch}{parts} segments, {len(self.t)} samples from {self.t[0]:g} s to "
            f"{self.t[-1]:g} s, {self.steps} steps)"
        )

    def __str__(self) -> str:
        lines = [
            repr(self),
            *(f"  {line}" for x in self.transitions[:LISTED] for line in str(x).splitlines()),
        ]
        more = len(self.transitions) - LISTED
        lines += [f"  and {more} more changes: run.transitions tells each"] if more > 0 else []
        return "\n".join(lines + ([f"  ended: {self.ended}"] if self.ended else []))

    def state(self, *index: int) -> Trajectory:
        """Return the motion of one state of a batch, given by its index, with a system of its own where parameters
        differ from state to state."""
        parts = [part.state(*index) for part in self.segments]
        return Trajectory(parts, self.transitions, self.note, self.failed, self._alone(index))

    def _alone(self, index: tuple[int, ...]) -> list[Before] | None:
        if self.given_before is None:
            return None
        return [
            Before(np.broadcast_to(x.energy, self.batch)[index],
                   {name: np.broadcast_to(w, self.batch)[index] for name, w in x.work.items()})
            for x in self.given_before
        ]  # fmt: skip

    def with_(self, **changes: Any) -> Trajectory:
        """Return a run of one segment with other fields of that segment, as run.with_(q=q, ended="by hand")."""
        if len(self.all_segments) > 1:
            raise StateError(
                "with_ changes a run of one segment; change `segments` and make a Trajectory of them."
            )
        _require_fields("with_", changes)
        return Trajectory([replace(self.segments[0], **changes)], self.transitions, self.note, self.failed)

    def shifted(self, start: float) -> Trajectory:
        """Return this run with its times moved so that it begins at `start` [s]."""
        offset = start_offset(self.t, start)
        parts = [part.later(offset) for part in self.segments]
        changes = [replace(change, t=change.t + offset) for change in self.transitions]
        return Trajectory(parts, changes, self.note, self.failed, self.given_before)

    def contact(self, name: str) -> ContactChannel:
        """Return what a contact did along the run: force, gap, slip and mode at all samples, and its impacts."""
        from catena.simulation.results.contact_channel import contact_channel

        return contact_channel(self, name)

    # Values between samples.

    def at(self, times: ArrayLike) -> StatesAt:
        """Return q and v at any time of the run: (..., nq) and (..., nv) for one number, (..., times, nq) and (...,
        times, nv) for times (times,), with the `system` that they belong to. At the time of a change they are those
        behind it; several times must be of one structure.

        Between samples the motion is a quintic polynomial on the manifold of q, from positions, velocities and
        accelerations at both; its error falls with the sixth power of their distance in q and the fifth in v, and by
        one power less where control forces jump, and wrenches may with them. Loops are closed again where the samples
        are closed.
        """
        asked = asked_times(self.t, times)
        places = self._places(asked)
        parts = [self.segments[k] for k in dict.fromkeys(places.tolist())]
        if len({structure_of(part.system) for part in parts}) > 1:
            raise StateError(
                f"The structure changes between t = {asked.min():.9g} s and {asked.max():.9g} s, and q with it; ask "
                'for one time after the other, or by names: run.resample(times)["A"].'
            )
        if len(parts) == 1:
            q, v = parts[0].at(self._inside(parts[0], asked))
        else:
            found = [
                (part.at(self._inside(part, asked[places == k])), places == k)
                for k, part in enumerate(self.segments)
                if (places == k).any()
            ]
            system = parts[0].system
            q, v = (
                np.empty((*self.batch, len(asked), system.nq)),
                np.empty((*self.batch, len(asked), system.nv)),
            )
            for (q_there, v_there), here in found:
                q[..., here, :], v[..., here, :] = q_there, v_there
        if not np.ndim(times):
            q, v = q[..., 0, :], v[..., 0, :]
        return StatesAt(q, v, parts[0].system)

    def resample(self, times: int | ArrayLike) -> Trajectory:
        """Return this run at other times: increasing ones within it, or a whole number of them from first to last.
        States are those of `at`, works are cubic between samples, and control forces held, or, as those of drives
        always, cubic without overshoot, as forces of contacts are, which a run with `samples` finds from the states
        there. At the time of a change the state is the one behind it; segments within which none of the times lies
        are left out."""
        asked = increasing_times(self.t, times)
        if len(self.segments) == 1:
            return Trajectory(
                [self.segments[0].resample(asked)],
                self.transitions,
                self.note,
                self.failed,
                self.given_before,
            )
        places = self._places(asked)
        kept = [
            (part.resample(self._inside(part, asked[places == k])), before)
            for k, (part, before) in enumerate(zip(self.segments, self._before, strict=True))
            if (places == k).any()
        ]
        parts, before = zip(*kept, strict=True)
        return Trajectory(parts, self.transitions, self.note, self.failed, before)

    def _places(self, asked: np.ndarray) -> np.ndarray:
        """Return the numbers (times,) of the segments at times within the run."""
        slack = SLACK * max(abs(float(self.t[0])), abs(float(self.t[-1])))
        return np.searchsorted(self.changes - slack, asked, side="right")

    def _inside(self, part: Segment, asked: np.ndarray) -> np.ndarray:
        """Return times within a segment; those between its last sample and the next segment are refused."""
        slack = GAP * max(abs(float(self.t[0])), abs(float(self.t[-1])))
        late = asked[asked > part.t[-1] + slack]
        if len(late):
            raise StateError(
                f"Something changes between t = {part.t[-1]:.9g} s, the last sample before t = {late[0]:.9g} s, and "
                "the next: samples do not tell when. Ask the run that was not resampled."
            )
        return np.clip(asked, part.t[0], part.t[-1])

    @staticmethod
    def load(path: PathLike, system: System | None = None, kinds: Iterable[type | str] = ()) -> Trajectory:
        """Read a run from a .nc or .h5 file; its mechanism comes from the file unless a system is given. `kinds` are
        those of your own that it may use."""
        from catena.simulation.results.recording import load_run

        return load_run(path, system, kinds)


def _require_fields(who: str, named: Mapping[str, Any]) -> None:
    """Raise unless all names are those of fields of a segment."""
    known = [each.name for each in fields(Segment)]
    for name in named:
        if name not in known:
            raise StateError(f"{who}: a segment has no {name!r}; it has {', '.join(known)}.")
