"""From what a user types for --control to a controller of a simulation."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from catena.cli.console import UsageError, in_words
from catena.cli.models import find_function, read_reference
from catena.cli.parsing import assignment, by_name, suggestion
from catena.errors import SimulationError
from catena.mechanism.validation import known
from catena.simulation.control import ConstantForces, GravityCompensation, hold, sampled
from catena.system import System

BUILT_IN = ("none", "hold", "gravity", "constant")


def make_control(
    system: System, q: np.ndarray, words: Sequence[str], gain: Sequence[float] | None, rate: float | None
) -> Any:
    """Return the controller that the words of --control ask for, None for no control."""
    name, *rest = words
    if name != "constant" and rest:
        raise UsageError(f"--control {' '.join(words)}: {rest[0]!r} is one word too many; MODEL goes first")
    if gain is not None and name != "hold":
        raise UsageError(f"--gain belongs to --control hold, and the control is {name}: leave it out")
    reference = read_reference(name)
    if reference is not None:
        file, call = reference
        function = find_function(file, call.name)
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
        if gain is not None and len(gain) > 3:
            raise UsageError(f"--gain has {len(gain)} numbers: give up to three, P,I,D")
        return hold(system, gain, rate, initial={joint: q[system.slice_q(joint)] for joint in system.joints})
    if name == "gravity":
        return GravityCompensation(system, partial=True, rate=rate)
    if name == "constant":
        return _at_rate(_constant(system, rest), rate)
    raise UsageError(f"there is no control {name!r}: {suggestion(name, BUILT_IN)}, or name file.py:function")


def _guarded(control: Any, file: Path) -> Any:
    """Return a user's function whose errors stop the simulation instead of losing it, and name the line."""
    if hasattr(control, "rate"):
        return control

    def ask(t: float, q: np.ndarray, v: np.ndarray) -> Any:
        try:
            return control(t, q, v)
        except Exception as error:
            raise SimulationError(f"{in_words(error, file)} (in the control, at t = {t:.6g} s)") from error

    return ask


def _at_rate(control: Any, rate: float | None) -> Any:
    """Return the control asked at a rate, if one was given."""
    return control if rate is None else sampled(control, rate)


def _constant(system: System, words: Sequence[str]) -> Any:
    """Return a controller that gives the forces in words such as JOINT=VALUE at all times."""
    if not words:
        raise UsageError("--control constant: which forces? Write --control constant JOINT=VALUE ...")
    tau = np.zeros(system.nv)
    try:
        by_joint = by_name([assignment(word) for word in words])
    except ArgumentTypeError as error:
        raise UsageError(f"--control constant: {error}") from None
    closing = [joint for joint in by_joint if joint in system.loops]
    for joint, force in by_joint.items():
        known("joint", joint, [*system.joints, *system.loops], repr(system.mechanism.name))
        freedom = system.mechanism.joints[joint].dof
        if np.size(force) != freedom:
            raise UsageError(
                f"--control constant {joint}: {np.size(force)} forces were given: the joint has {freedom} degrees of "
                f"freedom"
            )
        if joint not in closing:
            tau[system.slice_v(joint)] = force
    if closing:
        return lambda t, q, v: by_joint
    return ConstantForces(tau)
