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
from catena.simulation import Event, Scenario, Trajectory
from catena.simulation.stepping.integrators import FIXED_STEPS
from catena.system import System

# How long a motion takes where nobody says so [s].
USUAL_TIME = 10.0
# What errors say to those who call `simulate` from Python.
_IN_PYTHON = re.compile(r"[;.]? [Tt]he trajectory so far is in the attribute `trajectory` of this error\.?")


@dataclass(frozen=True, eq=False)
class RunRequest:
    """A simulation that was asked for, and whether its progress is shown."""

    scenario: Scenario
    progress: bool | None


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a simulation ended: the motion as far as it came, if there is any, and in `reason` why it is not all."""

    task: RunRequest
    run: Trajectory | None
    wall_time: float
    code: Exit = Exit.OK
    reason: str = ""


def prepare(scenario: Scenario, arguments: Namespace) -> RunRequest:
    """Return the simulation that a command line asks for: a scenario, with what options say instead. Raise an error for
    a request that cannot be fulfilled."""
    if arguments.gravity is not None:
        changed = scenario.mechanism.copy()
        changed.gravity = arguments.gravity
        scenario = scenario.with_(mechanism=changed)
    settings = {
        name: getattr(arguments, name) for name in ("step", "rtol", "atol", "drift", "samples", "integrator")
    }
    overrides = {name: value for name, value in settings.items() if value is not None}
    if overrides.get("integrator", scenario.integrator) not in FIXED_STEPS and "integrator" in overrides:
        # The step that a file says belongs to the method that it says.
        overrides.setdefault("step", None)
    if arguments.time is not None or not scenario.says("duration"):
        overrides["duration"] = USUAL_TIME if arguments.time is None else arguments.time
    scenario = scenario.with_(**overrides)
    system = scenario.system
    if arguments.q or arguments.v:
        q, v = initial_state(system, by_name(arguments.q), by_name(arguments.v))
        scenario = scenario.with_(mechanism=system, initial=q, velocity=v)
    if arguments.control is not None:
        q, _ = scenario.state
        control = make_control(scenario.system, q, arguments.control, arguments.gain, arguments.rate)
        scenario = scenario.with_(mechanism=scenario.system, control=control)
    elif arguments.gain is not None or arguments.rate is not None:
        option, whose = (
            ("--gain", "--control hold") if arguments.gain is not None else ("--rate", "--control")
        )
        raise UsageError(f"{option} belongs to {whose}, and no control was named: leave it out")
    if arguments.event:
        events = [_event(system, name, values) for name, values in arguments.event]
        scenario = scenario.with_(mechanism=scenario.system, events=[*_listed(scenario.events), *events])
    return RunRequest(scenario, False if arguments.quiet else None)


def _listed(values: Any) -> list[Any]:
    return list(values)


def follow(task: RunRequest, console: Console) -> Outcome:
    """Simulate a task and return its outcome; a motion that stops early has one as well."""
    start = perf_counter()

    def outcome(run: Any, code: Exit = Exit.OK, reason: str = "") -> Outcome:
        return Outcome(task, run, perf_counter() - start, code, reason)

    try:
        with warnings.catch_warnings():
            # The summary says it again, in its own place.
            warnings.simplefilter("ignore", CatenaWarning)
            run = task.scenario.run(progress=task.progress)
    except KeyboardInterrupt:
        return outcome(None, Exit.INTERRUPTED, "interrupted by Ctrl-C before the first step")
    except StateError:
        raise
    except CatenaError as error:
        console.trace(error)
        return outcome(getattr(error, "trajectory", None), Exit.STOPPED, _IN_PYTHON.sub("", in_words(error)))
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
