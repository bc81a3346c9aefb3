"""What a player plays: segments in time, each with the scene of one structure and the poses of its bodies.

A run of one structure has one segment, a run whose structure changes has one for each, and a player does not know the
difference. Of a batch one motion is the main one and some others accompany it as a cloud; another run may go along
as a ghost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import CatenaError, StateError
from catena.kernels.arrays import as_list
from catena.mechanism.validation import known
from catena.simulation import Segment as RunSegment, Trajectory
from catena.simulation.following.progress import RunProgress
from catena.simulation.results.batch import StateByState
from catena.simulation.results.contact_force_history import ContactForceHistory
from catena.simulation.results.quaternions import quaternions
from catena.system import System
from catena.validation import shown
from catena.view.arrows import Arrows, arrows_of
from catena.view.camera import upward
from catena.view.course import Course
from catena.view.flexing import checked_factor, deflections, exaggerated, flexings
from catena.view.parts import Part
from catena.view.plots.panels import Panel, default_panels, position_panels
from catena.view.points import traceable
from catena.view.scene import Scene, body_colours, scene

Floats = NDArray[np.float64]
Motion = Trajectory | Course
Stretch = RunSegment | Course
"""A motion of one structure."""

RATE = 30.0
"""Frames a second, unless bodies turn too far between them."""
FEWEST, MOST = 60, 4000
"""The least and the greatest number of frames."""
TURN = 0.15
"""How far [rad] a body may turn between two frames, because players go straight from one to the next."""
NUMBERS = 300_000
"""How many numbers poses may have in all, so that a page stays small."""
DEFLECTION = 0.1
"""Deflections that are seen well, in lengths of the body."""
SWING = 8
"""Frames between two turns of a mode."""
SPEEDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
FOOTING = ("ground", "hatching")
"""The roles of what joints stand on."""
CLOUD = 24
"""The greatest number of motions that accompany the main one."""


@dataclass(frozen=True, eq=False)
class MovieSegment:
    """One structure for a while: its scene, the times t (frames,) and the places and quaternions (w, x, y, z) of the
    bodies of the scene, `poses` (motions, frames, bodies, 7), the main motion first.

    Flexible bodies deform by the `amplitudes` (motions, frames, modes) of their modes; `larger` are the poses with
    amplitudes that are `most` times as large, None where nothing deforms."""

    scene: Scene
    t: Floats
    poses: Floats
    arrows: tuple[Arrows, ...] = ()
    amplitudes: Floats | None = None
    larger: Floats | None = None
    most: float = 1.0


@dataclass(frozen=True, eq=False)
class Movie:
    """Segments that follow each other, another run's as a `ghost`, panels over the times `t` (samples,) to plot beside
    them, events as (time, name), and points to trace as (body, point in it) by name."""

    title: str
    segments: tuple[MovieSegment, ...]
    ghost: tuple[MovieSegment, ...] = ()
    t: Floats | None = None
    panels: tuple[Panel, ...] = ()
    events: tuple[tuple[float, str], ...] = ()
    traces: tuple[str, ...] = ()
    speed: float = 1.0
    exaggerate: float = 1.0
    floor: float | None = None
    """How high [m] the floor is on which contacts are; None where it is below everything."""

    @property
    def start(self) -> float:
        """The time at which it begins."""
        return float(self.segments[0].t[0])

    @property
    def end(self) -> float:
        """The time at which it ends."""
        return float(self.segments[-1].t[-1])


def movie(
    run: Motion,
    *,
    ghost: Motion | None = None,
    traces: str | Iterable[str] | None = None,
    forces: bool = True,
    motion: int = 0,
    title: str | None = None,
    plots: bool = True,
    exaggerate: float = 1.0,
    progress: bool | None = None,
) -> Movie:
    """Return the movie of a run.

    `ghost` is another run to compare with, `traces` are frames, bodies (the origins of their axes), joints or mass
    centres ("crank mass centre") whose ways are drawn (the frames of the mechanism, if they are few, unless given),
    `forces` adds arrows of reactions, actuators, contacts and wrenches,
    `motion` says which of a batch is the main one. Flexible bodies deform `exaggerate` times as far as they do, and a
    slider of the page goes from once to as far as can be seen well. What takes long tells its `progress`.
    """
    if not isinstance(run, Motion):
        raise StateError(f"movie shows a run, which {shown(run)} is not; give what ct.simulate returned.")
    if ghost is not None and not isinstance(ghost, Motion):
        raise StateError(f"ghost is {shown(ghost)}; give another run, as ct.simulate returns it.")
    count = prod(run.batch)
    if isinstance(motion, bool) or not isinstance(motion, int | np.integer) or not 0 <= motion < count:
        raise StateError(f"motion is {shown(motion)}; the run has {count} motions, counted from 0.")
    run, events, motion = with_motion(run, int(motion))
    mechanism = run.segments[0].system.mechanism
    if title is not None and not isinstance(title, str):
        raise StateError(f"title is {shown(title)}; give a text.")
    names = _few(mechanism.frames) if traces is None else traced(run, traces)
    factor = checked_factor(exaggerate)
    parts = [_motions(part, motion) for part in run.segments]
    most = max(factor, _visible([main for main, _ in parts]))
    change_names = (
        {change.t: change.name for change in run.transitions} if isinstance(run, Trajectory) else {}
    )
    events += [
        (float(part.t[0]), change_names.get(float(part.t[0]), "structure changes"))
        for part in run.segments[1:]
    ]
    duration = float(run.t[-1] - run.t[0])
    line = RunProgress(max(duration, 1e-9), progress)
    cutter = _Cutter(duration, most, lambda t: line.tick(t - float(run.t[0])))
    made = list[MovieSegment]()
    try:
        for k, (main, others) in enumerate(parts):
            made.append(cutter.segment(main, others, forces, pressing_of(run, k)))
    finally:
        line.done()
    segments = _with_same_footings(made) if len(made) > 1 else tuple(made)
    return Movie(
        title or mechanism.name,
        segments,
        ()
        if ghost is None
        else tuple(
            cutter.segment(_motions(part, 0)[0], None, False) for part in with_motion(ghost, 0)[0].segments
        ),
        np.concatenate([main.t for main, _ in parts]),
        tuple(_panels(run, motion)) if plots else (),
        # A change that an event has made is one thing that happened, not two.
        tuple(sorted({*events})),
        tuple(names),
        _pace(duration),
        factor,
        floor_of(run),
    )


def _with_same_footings(segments: Sequence[MovieSegment]) -> tuple[MovieSegment, ...]:
    """Return the segments with what joints stand on as it is where they are seen first, and with what a later structure
    stands on, so that a handle is there before it is taken hold of."""
    known: dict[str, tuple[Part, ...]] = {}
    for segment in segments:
        footings = [part for part in segment.scene.parts if part.role in FOOTING]
        names = dict.fromkeys(part.name for part in footings)
        known = {n: tuple(p for p in footings if p.name == n) for n in names} | known
    changed: dict[int, Scene] = {}
    later: dict[str, tuple[Part, ...]] = {}
    for segment in reversed(segments):
        own = segment.scene
        standing = dict.fromkeys(part.name for part in own.parts if part.role in FOOTING)
        if id(own) not in changed:
            rest = [part for part in own.parts if part.role not in FOOTING]
            kept = [part for name in standing for part in known[name]]
            missing = [
                part for name, parts in later.items() if name not in own.joint_anchors for part in parts
            ]
            changed[id(own)] = replace(own, parts=(*rest, *kept, *missing))
        later |= {name: known[name] for name in standing}
    return tuple(replace(segment, scene=changed[id(segment.scene)]) for segment in segments)


def traced(run: Motion, traces: Any) -> list[str]:
    """Return the names of points whose ways are drawn, one or several: frames, bodies, joints, and mass centres."""
    names = as_list(
        "traces", [traces] if isinstance(traces, str) else traces, str, "frames, bodies or joints"
    )
    there = {point.name: None for part in run.segments for point in traceable(part.system.mechanism)}
    return [
        known("frame, body or joint", name, there, repr(run.segments[0].system.mechanism.name))
        for name in names
    ]


def checked_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options of a page, or words for one that is none."""
    for name in options:
        known("option", name, [each for each in signature(movie).parameters if each != "run"], "a run")
    return options


def pressing_of(run: Motion, segment: int) -> tuple[ContactForceHistory, ...]:
    """Return what contacts are pushed with during a segment of a run."""
    part = run.segments[segment]
    return part.contact_force_histories if isinstance(part, RunSegment) else ()


def floor_of(run: Motion) -> float | None:
    """Return how high [m] the level plane of ground is that contacts are on; None where there is none, or several."""
    heights = set()
    for contact in run.contacts if isinstance(run, Trajectory) else ():
        system = run.segments[0].system
        up = upward(system.mechanism.gravity)
        if contact.on_radius is not None or contact.floor is not None:
            continue
        node, pose = system.plan.body_pose[contact.on]
        if node == 0 and pose.R[:, 2] @ up > 0.999:
            heights.add(round(float(pose.p @ up), 9))
    return heights.pop() if len(heights) == 1 else None


def _visible(parts: Sequence[Stretch]) -> float:
    """Return how many times as large deformations can be seen well: 1, 2 or 5 times a power of ten."""
    bending = [part for part in parts if part.system.plan.owner is not None]
    largest = max((deflections(flexings(part.system), part.q) for part in bending), default=0.0)
    if largest <= 1e-12:
        return 1.0
    wanted = DEFLECTION / largest
    power = 10.0 ** np.floor(np.log10(wanted))
    return max(1.0, float(power * max(x for x in (1.0, 2.0, 5.0) if x * power <= wanted * (1.0 + 1e-9))))


def _panels(run: Motion, motion: int) -> Iterable[Panel]:
    """Return what is plotted beside the main motion of a run."""
    if isinstance(run, Course):
        found = position_panels(run)
    else:
        main = run.state(*(int(k) for k in np.unravel_index(motion, run.batch))) if run.batch else run
        found = default_panels(main)
    return [panel for panel in found if isinstance(panel, Panel) and panel.curves]


def with_motion(run: Motion, motion: int) -> tuple[Motion, list[tuple[float, str]], int]:
    """Return the run that has a motion, the events of that, and its number in it. States that moved one by one have
    segments of their own, so that none accompanies another."""
    events = [(hit.t, hit.name) for hit in run.events if _is_of(hit.state, run.batch, motion)]
    if isinstance(run, StateByState):
        return run.states[motion], events, 0
    return run, events, motion


def still(scene_of: Scene, q: Floats, title: str) -> Movie:
    """Return the movie of one configuration q (nq,): a single frame."""
    poses, amplitudes = body_frames(scene_of, q[None]), scene_of.amplitudes(q[None])
    return Movie(title, (MovieSegment(scene_of, np.zeros(1), poses[None], amplitudes=amplitudes[None]),))


def body_frames(scene_of: Scene, q: Floats) -> Floats:
    """Return the places and quaternions (..., bodies, 7) of the bodies of a scene at q (..., nq)."""
    poses = scene_of.system.body_poses(q)
    matrices = np.stack([np.broadcast_to(poses[name], (*q.shape[:-1], 4, 4)) for name in scene_of.bodies], -3)
    return np.concatenate([matrices[..., :3, 3], quaternions(matrices[..., :3, :3])], axis=-1)


def _few(frames: Iterable[str]) -> list[str]:
    """Return the names of the frames where they are few enough for their ways to be told apart."""
    names = list(frames)
    return names if len(names) <= 3 else []


def _is_of(state: tuple[int, ...], batch: tuple[int, ...], motion: int) -> bool:
    """Return whether an index into a batch is that of a motion, counted through all of them."""
    return not batch or int(np.ravel_multi_index(state, batch)) == motion


def _pace(duration: float) -> float:
    """Return the speed at which a motion lasts some seconds."""
    if 1.0 <= duration <= 60.0 or duration == 0.0:
        return 1.0
    wanted = duration / (4.0 if duration < 1.0 else 30.0)
    return min(SPEEDS, key=lambda speed: abs(np.log(speed / wanted)))


def _motions(run: Stretch, motion: int) -> tuple[Stretch, Stretch | None]:
    """Return the main motion of a run, and some others of its batch."""
    if isinstance(run, Course) or not run.batch:
        return run, None
    count = prod(run.batch)

    def only(which: Sequence[int] | int) -> RunSegment:
        def pick(x: np.ndarray, trailing: int) -> np.ndarray:
            return x.reshape(count, *x.shape[x.ndim - trailing :])[which]

        return replace(
            run, q=pick(run.q, 2), v=pick(run.v, 2), tau=pick(run.tau, 2), work={}, events=(),
            wrenches={name: pick(x, 2) for name, x in run.wrenches.items()},
            driven={name: pick(x, 2) for name, x in run.driven.items()},
            loop_forces={name: pick(x, 2) for name, x in run.loop_forces.items()},
            stop_forces={name: pick(x, 2) for name, x in run.stop_forces.items()},
            loop_positions={name: pick(x, 2) for name, x in run.loop_positions.items()},
            contact_forces={name: pick(x, 2) for name, x in run.contact_forces.items()},
        )  # fmt: skip

    others = [k for k in range(count) if k != motion]
    if len(others) > CLOUD:
        others = [others[k] for k in np.linspace(0, len(others) - 1, CLOUD).round().astype(int)]
    return only(motion), only(others) if others else None


class _Cutter:
    """Makes the segments of a movie that lasts some seconds in all; a structure that comes back looks as before."""

    def __init__(self, duration: float, most: float, tick: Callable[[float], None]) -> None:
        self._duration, self._most, self._tick = duration, most, tick
        self._scenes: dict[System, Scene] = {}
        self._colours: dict[str, str] = {}

    def segment(
        self, run: Stretch, others: Stretch | None, forces: bool, pressing: Sequence[ContactForceHistory] = ()
    ) -> MovieSegment:
        """Return the run at times that are close enough to go straight from one to the next."""
        if run.system not in self._scenes:
            found = scene(run.system, run.q[0], motion=run.q, colours=self._colours)
            self._colours = body_colours(found) | self._colours
            self._scenes[run.system] = found
        picture = self._scenes[run.system]
        share = float(run.t[-1] - run.t[0]) / self._duration if self._duration else 1.0
        motions = 1 + (len(others.q) if others is not None else 0)
        run, others = _at(run, others, _times(run, picture, motions, min(1.0, share)))
        q = run.q[None] if others is None else np.concatenate([run.q[None], others.q])
        arrows: tuple[Arrows, ...] = ()
        if forces and isinstance(run, RunSegment):
            arrows = arrows_of(run, picture, pressing, self._tick)
        deforms, most = bool(picture.flexings), self._most
        return MovieSegment(
            picture, run.t, body_frames(picture, q), arrows,
            picture.amplitudes(q) if deforms else None,
            body_frames(picture, exaggerated(run.system, q, most)) if deforms and most > 1.0 else None, most,
        )  # fmt: skip


def _at(run: Stretch, others: Stretch | None, times: Floats) -> tuple[Stretch, Stretch | None]:
    """Runs at other times; at some of their own samples where these are too far apart to say what is between them."""
    if len(times) == 1 or np.array_equal(times, run.t):
        return run, others
    try:
        return run.resample(times), None if others is None else others.resample(times)
    except CatenaError:
        return own_samples(run, times), None if others is None else own_samples(others, times)


def own_samples(run: Stretch, times: Floats) -> Stretch:
    """Return the samples of a run next to some times, each once."""
    nearest = np.clip(np.searchsorted(0.5 * (run.t[1:] + run.t[:-1]), times), 0, len(run.t) - 1)
    kept = np.unique(np.concatenate([[0], nearest, [len(run.t) - 1]]))
    if isinstance(run, Course):
        return Course(run.system, run.q[kept], run.t[kept])
    return run.picked(kept)


def _times(run: Stretch, picture: Scene, motions: int, share: float) -> Floats:
    """Times of frames: evenly through the run, as many as the turning of its bodies asks for; of the least and the
    greatest number of frames a run has its share."""
    first, last = float(run.t[0]), float(run.t[-1])
    if last == first:
        return run.t
    R = body_frames(picture, run.q)[..., 3:]
    turn = 2.0 * np.arccos(np.clip(np.abs(np.sum(R[1:] * R[:-1], axis=-1)), 0.0, 1.0))
    # The fastest turning on average between two samples, which long steps hide: samples of a run follow its motion.
    fastest = float(np.max(np.max(turn, axis=-1, initial=0.0) / np.diff(run.t), initial=0.0))
    swings = _swings(picture.amplitudes(run.q)) if picture.flexings else 0
    fewest = max(1.0, FEWEST * share)
    asked = max(fewest, RATE * (last - first), fastest * (last - first) / TURN, SWING * swings)
    most = max(fewest, share * min(MOST, NUMBERS // (7 * len(picture.bodies) * motions)))
    return np.linspace(first, last, int(np.ceil(min(asked, most))) + 1)


def _swings(amplitudes: Floats) -> int:
    """Return how often the mode that swings fastest turns back, of those (samples, modes) that swing visibly."""
    if len(amplitudes) < 3:
        return 0
    steps = np.diff(amplitudes, axis=0)
    turns = np.sum(steps[1:] * steps[:-1] < 0.0, axis=0)
    sizes = np.ptp(amplitudes, axis=0)
    return int(np.max(turns[sizes > 0.02 * np.max(sizes)], initial=0))
