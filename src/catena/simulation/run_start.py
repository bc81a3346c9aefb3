"""How a run begins: whether it goes on from another motion, whether loops are closed there, and what is little."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from catena.errors import LoopError, StateError, raise_for_states
from catena.kinematics.extent import extent
from catena.kinematics.loops.scales import scales_of
from catena.simulation.stepping.drift import Drift
from catena.system import System

# How often a run is looked at for an event that ends it, and for forces on joints that are driven.
LOOKS, LOOKS_DRIVEN = 50, 200
# Loops that are open by no more than this at the start [rad or sizes of the mechanism] are closed by the first step,
# and up to the second number if they can be closed; beyond that it is an error of the caller's. Up to the third number
# inaccurate dimensions may be the reason.
CLOSED, OPEN, COARSE = 1e-8, 1e-6, 1e-3


@dataclass(frozen=True, eq=False)
class RunStart:
    """How a run begins that goes on from another motion: whether its states begin to move here (`begins`), and are not
    those behind an event or another structure; whether it `starts` its controller; the control forces that are `held`,
    as a controller gives them, until its next sample; the `longest` step [s] where joints are driven; whether it is
    `open_ended`: it goes on step by step, without an end and without a record; and the duration `of` the whole motion
    [s], None if this is the whole, in which it is looked for ends that may come early."""

    begins: bool = True
    starts: bool = True
    held: Any = None
    longest: float | None = None
    open_ended: bool = False
    of: float | None = None

    def looks(self, duration: float) -> int:
        """Return how often a part of so many seconds is looked at for an event that ends it."""
        return LOOKS if not self.of else max(1, min(LOOKS, ceil(LOOKS * duration / self.of)))


ANEW = RunStart()
"""A motion that goes on from no other one."""


def require_closed(drift: Drift, q: np.ndarray, v: np.ndarray, batch: tuple[int, ...], each: bool) -> None:
    """Raise unless states q (states, nq), v (states, nv) of a batch begin with loops closed, or nearly so; for `each`
    of them that does not, or for the worst."""
    system = drift.system
    scales = scales_of(system.plan)
    position, velocity = map(scales.largest, system.closure(q, v))
    # A velocity is rounded like itself, so that what moves fast may open its loops by a part of its speed.
    errors = np.maximum(position, velocity / np.abs(v / scales.units).max(axis=-1, initial=1.0))
    worst = float(errors.max(initial=0.0))
    if worst <= CLOSED or (worst <= OPEN and _can_be_closed(drift, q, v)):
        return

    def fault(k: int) -> StateError:
        own = system.variants.state(k)
        return _open_error(own, q[k], v[k], float(errors[k]), f" in state {k}" if batch else "")

    if each and batch:
        worse = np.flatnonzero(errors > (OPEN if worst > OPEN else CLOSED))
        raise_for_states({(int(k),): fault(int(k)) for k in worse})
    raise fault(int(np.argmax(errors)))


def _can_be_closed(drift: Drift, q: np.ndarray, v: np.ndarray) -> bool:
    if drift.in_python:
        return True
    try:
        drift.system.project(q, v)
    except LoopError:
        return False
    return True


def _open_error(system: System, q: np.ndarray, v: np.ndarray, worst: float, where: str) -> StateError:
    """Return the error of a state q (nq,), v (nv,) that begins with loops open by so much."""
    try:
        near, rates = system.project(q, v)
        shown = f"The nearest closed state is q = {_shown(near)}, v = {_shown(rates)}"
    except LoopError:
        try:
            near = system.assemble(guess=q, slack=0.0)
            shown = f"A closed configuration near it is q = {_shown(near)}"
        except LoopError:
            shown = "No closed state was found near it"
    trusted = " If its dimensions are no more accurate than that, plan it with m.system(accuracy=...)."
    return StateError(
        f"The loops of {system.mechanism.name!r} are not closed at the start{where} (the largest "
        f"error is {worst:.3g} rad or sizes of the mechanism). {shown}; begin with `q, v = s.project(q, v)`, or "
        f"with s.assemble and s.velocity.{trusted if worst <= COARSE else ''}"
    )


def longest_step(duration: float, times: np.ndarray | None) -> float:
    """Return the longest step [s] of a run in which joints are driven, and which is recorded at these times, so that no
    step passes over forces that act for a while: a part of the duration, and what is recorded if that is more."""
    return duration / max(LOOKS_DRIVEN, 0 if times is None else len(times) - 1)


def energy_at_hand(system: System, q: np.ndarray, v: np.ndarray) -> float:
    """Return the energy [J] that is nothing new at the states q (states, nq), v (states, nv): what moves, what springs
    store, and what lifts the mechanism by a thousandth of its size, in which the rounding of forces is lost."""
    plan = system.plan
    lifted = 1e-3 * float(plan.inertia[1:, 0].sum() * np.linalg.norm(plan.gravity)) * extent(plan)
    moving = system.kinetic_energy(q, v) + np.abs(system.forces.energy(q))
    return float(np.max(moving)) + lifted


def _shown(x: np.ndarray) -> str:
    return np.array2string(x, precision=8, separator=", ", threshold=60, max_line_width=10_000)
