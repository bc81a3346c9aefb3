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
from catena.simulation.control import PID, Controller, GravityCompensation, sampled
from catena.system import System

BUILT_IN = ("none", "hold", "gravity", "constant")
# How often `hold` is asked unless a rate is given [Hz].
HOLD_RATE = 1000.0
# How quickly it answers at most [rad/s], and how much of its speed a sampling period may take away at once.
BANDWIDTH, PER_SAMPLE = 40.0, 0.6
# Modes that answer less than this part of the quickest are none: loops leave fewer motions than joints.
NO_MODE = 1e-9


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
        return _hold(system, q, gain, rate)
    if name == "gravity":
        return GravityCompensation(system, partial=True, rate=rate)
    if name == "constant":
        return _at_rate(_constant(system, rest), rate)
    raise UsageError(f"there is no control {name!r}: {suggestion(name, BUILT_IN)}, or name file.py:function")


class ConstantForces(Controller):
    """The same forces tau (nv,) for every time and state. A law, so that the steps stay compiled."""

    def __init__(self, tau: np.ndarray) -> None:
        self.tau = tau

    @property
    def compiles(self) -> bool:
        return True

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        """Do nothing: constant forces have no memory."""

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.tau, np.shape(v))

    def memory(self, system: System) -> int:
        """Return that nothing is remembered."""
        return 0

    def inputs(self, t: Any) -> np.ndarray:
        """Return the forces, as data, so that other forces compile nothing."""
        return np.broadcast_to(self.tau, (*np.shape(t), len(self.tau)))

    def evaluate(self, t: Any, q: Any, v: Any, memory: Any, inputs: Any) -> tuple[Any, Any]:
        """Return the forces."""
        return inputs, memory


def suitable_gains(system: System, q: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return kp, ki, kd (nv,) of PID control at q (nq,), sampled at `rate` [Hz].

    With B (actuated x actuated) the accelerations by unit forces, loops respected, h = 1 / diag(B) is what each joint
    feels like if it moves alone. Gains w^2 h, c w^3 h and 2 w h give every mode of the whole, an eigenvalue x of
    B diag(h), the equation s^3 + 2 w x s^2 + w^2 x s + c w^3 x = 0. Sampling allows 2 w x up to a part of the rate,
    which bounds w by the largest x; c below 2 x is stable, so half of the smallest x keeps well away from that.
    """
    actuated = np.flatnonzero(system.plan.actuated)
    if not len(actuated):
        return (np.zeros(system.nv),) * 3
    rest = np.zeros(system.nv)
    forces = np.vstack([rest, np.eye(system.nv)[actuated]])
    vdot = system.forward_dynamics(q, rest, forces, elements=False)[:, actuated]
    B = (vdot[1:] - vdot[0]).T
    # A joint that its loops block does not move at all.
    diagonal = np.diagonal(B)
    h = np.where(diagonal > NO_MODE * diagonal.max(), 1.0 / np.maximum(diagonal, 1e-300), 0.0)
    root = np.sqrt(h)
    modes = np.linalg.eigvalsh(root[:, None] * B * root)
    quickest = float(modes[-1])
    slowest = float(modes[modes > NO_MODE * quickest][0])
    w = min(BANDWIDTH, PER_SAMPLE * rate / (2.0 * quickest))
    inertia = np.zeros(system.nv)
    inertia[actuated] = h
    return w**2 * inertia, min(0.5 * slowest, 0.2) * w**3 * inertia, 2.0 * w * inertia


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
        given = by_name([assignment(word) for word in words])
    except ArgumentTypeError as error:
        raise UsageError(f"--control constant: {error}") from None
    closing = [joint for joint in given if joint in system.loops]
    for joint, force in given.items():
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
        return lambda t, q, v: given
    return ConstantForces(tau)


def _hold(system: System, q: np.ndarray, gain: Sequence[float] | None, rate: float | None) -> PID:
    """Return PID control of all actuated joints at the positions they start from. Unless gains are given, they follow
    from the inertia of the mechanism, and the integral begins with the forces that carry its weight."""
    rate = HOLD_RATE if rate is None else rate
    positions = {joint: q[system.slice_q(joint)] for joint in system.joints}
    if gain is None:
        weight = GravityCompensation(system, partial=True)(0.0, q, np.zeros(system.nv))
        return PID(system, positions, *suitable_gains(system, q, rate), bias=weight, rate=rate)
    if len(gain) > 3:
        raise UsageError(f"--gain has {len(gain)} numbers: give up to three, P,I,D")
    return PID(system, positions, *gain, rate=rate)
