"""Running a simulation to its end, or to wherever it stops, without losing what there is."""

from __future__ import annotations

import re
import warnings
from argparse import Namespace
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from catena.cli.console import Console, Exit, UsageError, in_words
from catena.cli.controls import make_control
from catena.cli.options import initial_state
from catena.cli.parsing import by_name
from catena.errors import CatenaError, CatenaWarning, StateError
from catena.mechanism import Mechanism
from catena.simulation import Event, Trajectory, simulate
from catena.system import System

# What errors say to those who call `simulate` from Python.
_IN_PYTHON = re.compile(r"[;.]? [Tt]he trajectory so far is in the attribute `trajectory` of this error\.?")


@dataclass(frozen=True, eq=False)
class Task:
    """A simulation that was asked for: its start, and the keyword arguments of `simulate`."""

    system: System
    q: np.ndarray
    v: np.ndarray
    duration: float
    keywords: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a simulation ended: the motion as far as it came, if there is any, and in `reason` why it is not all."""

    task: Task
    run: Trajectory | None
    wall_time: float
    code: Exit = Exit.OK
    reason: str = ""


def prepare(mechanism: Mechanism, arguments: Namespace) -> Task:
    """Return the simulation that a command line asks for; raise an error for a request that cannot be fulfilled."""
    if arguments.gravity is not None:
        mechanism.gravity = arguments.gravity
    system = mechanism.system()
    q, v = initial_state(system, by_name(arguments.q), by_name(arguments.v))
    control = make_control(system, q, arguments.control, arguments.gain, arguments.rate)
    options = {name: getattr(arguments, name) for name in ("step", "rtol", "atol", "drift", "samples")}
    keywords = {name: value for name, value in options.items() if value is not None}
    keywords |= {"integrator": arguments.integrator, "control": control}
    if arguments.event:
        keywords["events"] = [_event(system, name, values) for name, values in arguments.event]
    if arguments.quiet:
        keywords["progress"] = False
    return Task(system, q, v, arguments.time, keywords)


def follow(task: Task, console: Console) -> Outcome:
    """Simulate a task and return its outcome; a motion that stops early has one as well."""
    start = perf_counter()

    def outcome(run: Any, code: Exit = Exit.OK, reason: str = "") -> Outcome:
        return Outcome(task, run, perf_counter() - start, code, reason)

    try:
        with warnings.catch_warnings():
            # The summary says it again, in its own place.
            warnings.simplefilter("ignore", CatenaWarning)
            run = simulate(task.system, task.q, task.v, task.duration, **task.keywords)
    except KeyboardInterrupt:
        return outcome(None, Exit.INTERRUPTED, "interrupted by Ctrl-C before the first step")
    except StateError:
        raise
    except CatenaError as error:
        console.trace(error)
        return outcome(getattr(error, "trajectory", None), Exit.STOPPED, _IN_PYTHON.sub("", in_words(error)))
    assert isinstance(run, Trajectory)
    if run.ended.startswith("interrupted"):
        return outcome(run, Exit.INTERRUPTED, "interrupted by Ctrl-C")
    return outcome(run)


def _event(system: System, joint: str, values: tuple[float, ...]) -> Event:
    """Return an event that ends the motion when a joint of one coordinate reaches a value."""
    size = system.joint_position(system.neutral(), joint).shape[-1]
    if size != 1 or len(values) != 1:
        raise UsageError(
            f"--event {joint}={','.join(map(str, values))}: the joint has {size} coordinates; name one that has a "
            "single coordinate, and one value"
        )

    def distance(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.asarray(system.joint_position(q, joint)[..., 0] - values[0])

    return Event(distance, name=f"{joint} = {values[0]:g}", terminal=True)
