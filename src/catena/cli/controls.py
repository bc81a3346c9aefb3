"""From what a user types for --control to a controller of a simulation."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from catena.cli.assignments import assignment, by_name
from catena.cli.constant_forces import ConstantForces
from catena.cli.faults import UsageError, in_words
from catena.cli.holding import suitable_gains
from catena.cli.parsing import suggestion
from catena.cli.python_files import find, read_reference
from catena.errors import SimulationError
from catena.simulation.control import PID, GravityCompensation, sampled
from catena.system import System

BUILT_IN = ("none", "hold", "gravity", "constant")
# How often `hold` is asked unless a rate is given [Hz].
HOLD_RATE = 1000.0


def make(
    system: System, q: np.ndarray, words: Sequence[str], gain: Sequence[float] | None, rate: float | None
) -> Any:
    """The controller of `words`, or None."""
    name, *rest = words
    if name != "constant" and rest:
        raise UsageError(f"--control {' '.join(words)}: {rest[0]!r} is one word too many; MODEL goes first")
    if gain is not None and name != "hold":
        raise UsageError(f"--gain belongs to --control hold, and the control is {name}: leave it out")
    reference = read_reference(name)
    if reference is not None:
        file, call = reference
        function = find(file, call.name)
        try:
            control = call.on(function, system) if call.called else function
        except Exception as error:
            raise UsageError(in_words(error, file)) from error
        if not callable(control):
            raise UsageError(f"--control {name}: {control!r} is no function of (t, q, v)")
        return _at_rate(_guarded(control, file), rate)
    if name == "none":
        return None
    if name == "hold":
        return _hold(system, q, gain, rate)
    if name == "gravity":
        return GravityCompensation(system, partial=True, rate=rate)
    if name == "constant":
        return _at_rate(_constant(system, rest), rate)
    raise UsageError(f"there is no control {name!r}: {suggestion(name, BUILT_IN)}, or name file.py:function")


def _guarded(control: Any, file: Path) -> Any:
    """A user's function whose errors stop the simulation instead of losing it, and name the line."""
    if hasattr(control, "rate"):
        return control

    def ask(t: float, q: np.ndarray, v: np.ndarray) -> Any:
        try:
            return control(t, q, v)
        except Exception as error:
            raise SimulationError(f"{in_words(error, file)} (in the control, at t = {t:.6g} s)") from error

    return ask


def _at_rate(control: Any, rate: float | None) -> Any:
    """The control asked at a rate, if one was given."""
    return control if rate is None else sampled(control, rate)


def _constant(system: System, words: Sequence[str]) -> ConstantForces:
    """The same forces at all times."""
    if not words:
        raise UsageError("--control constant: which forces? Write --control constant JOINT=VALUE ...")
    tau = np.zeros(system.nv)
    try:
        given = by_name([assignment(word) for word in words])
    except ArgumentTypeError as error:
        raise UsageError(f"--control constant: {error}") from None
    for joint, force in given.items():
        where = system.slice_v(joint)
        if np.size(force) != where.stop - where.start:
            raise UsageError(
                f"--control constant {joint}: {np.size(force)} forces were given: the joint has "
                f"{where.stop - where.start} degrees of freedom"
            )
        tau[where] = force
    return ConstantForces(tau)


def _hold(system: System, q: np.ndarray, gain: Sequence[float] | None, rate: float | None) -> PID:
    """PID control of all actuated joints at the positions they start from; unless gains are given, with some that suit
    the mechanism, and beginning with the forces that carry its weight."""
    rate = HOLD_RATE if rate is None else rate
    positions = {joint: q[system.slice_q(joint)] for joint in system.joints}
    if gain is None:
        weight = GravityCompensation(system, partial=True)(0.0, q, np.zeros(system.nv))
        return PID(system, positions, *suitable_gains(system, q, rate), bias=weight, rate=rate)
    if len(gain) > 3:
        raise UsageError(f"--gain has {len(gain)} numbers: give up to three, P,I,D")
    return PID(system, positions, *gain, rate=rate)
