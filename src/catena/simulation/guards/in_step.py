"""Events watched from inside the compiled step, so that states that are far from any event leave nothing behind.

A step adds to a few numbers what `sign_changes` asks of the nodes of a window: how near to zero a function came, its
second and fourth differences, how far it is off in the middle of steps, and how fast joints turned. Where these say
that something may have happened, the steps of these states are taken again and looked at one by one. Only fixed steps
are watched so, because differences are those of equal steps.

A fourth difference is unusual beside those just before it, not beside all of a window: those of a motion that quickens
grow from step to step, and something narrow makes them jump.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catena.simulation.guards.events import Event
from catena.simulation.guards.sign_changes import FAR, FEWEST, OFF, SURE, UNUSUAL, turning
from catena.simulation.stepping.methods.conditions import larger
from catena.simulation.stepping.observing import StepStart, fit
from catena.spatial.on_symbols import on_symbols
from catena.spatial.scalars import absolute, array, logarithm, where
from catena.system import System

# What is added to differences before their logarithm is taken.
TINY = 1e-300
# Of what is usual, the newest fourth difference is this part.
NEWEST = 0.125
# Something narrow is seen at a quarter of a step from it at most, so that it leaves more than this part of its depth
# there, if it is wider than 0.06 steps (the deviation of a Gaussian).
SEEN = 1e-4
NUMBERS = ("g", "middle", "g1", "middle1", "lowest", "bound", "usual", "excess", "off")
"""What is carried for an event: its values at the end and in the middle of the last step and of the one before; how
near it was to zero, its largest second difference, the logarithm of how far it is off the cubics through its neighbours
as a rule, by how much that was more at worst, and how far it was off a straight line in the middle of a step."""


@dataclass(frozen=True, eq=False)
class SymbolicInstant:
    """A state of symbols at a time, read by names of joints of the tree; what is not known here raises an error."""

    system: System
    t: Any
    q: np.ndarray
    v: np.ndarray

    def __getitem__(self, joint: str) -> np.ndarray:
        """Return the position (nq,) of a joint."""
        found: np.ndarray = self.q[self.system.slice_q(joint)]
        return found

    def velocity(self, joint: str) -> np.ndarray:
        """Return the velocity (nv,) of a joint."""
        found: np.ndarray = self.v[self.system.slice_v(joint)]
        return found


@dataclass(frozen=True)
class StepWatch:
    """Watches so many functions of events, which are formulas over the time and the joints of `start`; `text` tells
    them from others. `speeds` (nv) are by how many radians a unit of the velocities of these joints turns a body."""

    text: str
    count: int
    start: StepStart
    speeds: tuple[float, ...]
    values: Callable[[Any, Any, Any], list[Any]] = field(compare=False)
    """The values of all functions at t, q and v."""

    @staticmethod
    def of(events: Sequence[Event], system: System) -> StepWatch | None:
        """Return what watches events in runs of a system; None where their functions are not formulas of the time and
        the coordinates of joints."""
        import casadi

        t = casadi.SX.sym("t")
        q, v = (
            array([casadi.SX.sym(f"{n}{k}") for k in range(m)])
            for n, m in (("q", system.nq), ("v", system.nv))
        )
        try:
            with on_symbols("an event"):
                made = casadi.vertcat(*(_asked(event, system, t, q.copy(), v.copy()) for event in events))
        except Exception:
            # A function that needs numbers is asked for them, behind the steps.
            return None
        if made.shape != (len(events), 1):
            return None
        symbols = [t, casadi.vertcat(*q), casadi.vertcat(*v)]
        function = casadi.Function("events", symbols, [made])
        used = {x.name() for x in casadi.symvar(made)}
        places = {j: (system.slice_q(j), system.slice_v(j)) for j in system.joints}
        start = StepStart.of(
            system,
            {
                joint
                for joint, (own_q, own_v) in places.items()
                if used & {x.name() for x in (*q[own_q], *v[own_v])}
            },
        )
        if start is None:
            return None

        def values(t: Any, q: Any, v: Any) -> list[Any]:
            found = function(t, casadi.vertcat(*q), casadi.vertcat(*v))
            return [found[k] for k in range(len(events))]

        # How far other joints turn says nothing about these functions.
        own = np.zeros(system.nv)
        for joint in start.joints:
            own[joint.columns[1]] = 1.0
        speeds = tuple(float(x) for x in own * turning(system.plan))
        return fit(StepWatch(function.serialize(), len(events), start, speeds, values))

    @property
    def size(self) -> int:
        """Return how many numbers each state carries."""
        return self.start.size + 2 + len(NUMBERS) * self.count

    def started(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return what states carry (states, size) that are looked at from times t (states,) on with q (states, nq), v
        (states, nv) and these `values` (events, states)."""
        speed = np.max(np.abs(v) * self.speeds, axis=1, initial=0.0)
        none = np.zeros(len(t))
        own = (x for g in values for x in (g, g, g, g, np.abs(g), none, none, none, none))
        return np.stack([*self.start.at(t, q.T, v.T), none, speed, *own], axis=1)

    def looked_at(self, carried: np.ndarray, v: np.ndarray) -> None:
        """Let states begin anew with what is found, in place, from v (states, nv) on; they go on with the differences
        of what they carry (states, size)."""
        carried[:, self.start.size + 1] = np.max(np.abs(v) * self.speeds, axis=1, initial=0.0)
        for k in range(self.count):
            own = carried[:, self.start.size + 2 + len(NUMBERS) * k :][:, : len(NUMBERS)]
            own[:, [NUMBERS.index(name) for name in ("bound", "excess", "off")]] = 0.0
            own[:, NUMBERS.index("lowest")] = np.abs(own[:, 0])

    def after(self, t: Any, q: Any, v: Any, vdot: Any, carried: Any) -> list[Any]:
        """Return what a state carries behind a step."""
        size, wide = self.start.size, len(NUMBERS)
        steps, speed = carried[size] + 1.0, carried[size + 1]
        for unit, rate in zip(self.speeds, v, strict=True):
            speed = larger(speed, unit * absolute(rate)) if unit else speed
        middle = self.values(*self.start.between(0.5, t, q, v, vdot, carried))
        found = [*self.start.at(t, q, v), steps, speed]
        for k, (g, between) in enumerate(zip(self.values(t, q, v), middle, strict=True)):
            found += _watched(steps, g, between, carried[size + 2 + wide * k : size + 2 + wide * (k + 1)])
        return found

    def values_at(self, carried: np.ndarray) -> np.ndarray:
        """Return the last values (events, states) of functions, from what states carry (states, size)."""
        return carried[:, self.start.size + 2 :: len(NUMBERS)].T

    def doubtful(self, carried: np.ndarray, h: float) -> np.ndarray:
        """Return to which states (states,) something may have happened in steps of h seconds, from what they carry
        (states, size)."""
        steps, speed = carried[:, self.start.size : self.start.size + 2].T
        clear = (steps >= FEWEST) & (speed * h <= FAR)
        for k in range(self.count):
            numbers = carried[:, self.start.size + 2 + len(NUMBERS) * k :][:, : len(NUMBERS)].T
            lowest, bound, _, excess, off = numbers[4:]
            clear &= (lowest > SURE * bound) & (off <= np.maximum(SURE * bound, OFF * lowest))
            clear &= excess <= np.log(UNUSUAL)
        return ~clear


def _watched(steps: Any, g: Any, between: Any, carried: Any) -> list[Any]:
    """Return the numbers that are carried for an event behind a step to which its function has the value g, and the
    value `between` in its middle; so many `steps` have been taken."""
    g1, middle1, g2, middle2, lowest, bound, usual, excess, off = carried
    near = where(absolute(g) < lowest, absolute(g), lowest)
    changes = where(g < 0.0, where(g1 < 0.0, 0.0, 1.0), where(g1 < 0.0, 1.0, 0.0))
    bend = where(steps > 1.5, absolute(g - 2.0 * g1 + g2), absolute(0.0 * g))
    # Off the cubics through two neighbours on both sides, half a step apart.
    here = absolute(g - 4.0 * between + 6.0 * g1 - 4.0 * middle1 + g2) / 6.0
    cubic = larger(here, absolute(between - 4.0 * g1 + 6.0 * middle1 - 4.0 * g2 + middle2) / 6.0)
    now = logarithm(cubic + TINY)
    counts = where(steps > 3.5, where(cubic > SEEN * near, 1.0, 0.0), 0.0) > 0.5
    return [
        g, between, g1, middle1, where(changes > 0.5, 0.0, near), larger(bound, bend),
        where(steps > 3.5, usual + NEWEST * (now - usual), now), where(counts, larger(excess, now - usual), excess),
        larger(off, absolute(between - 0.5 * (g + g1))),
    ]  # fmt: skip


def _asked(event: Event, system: System, t: Any, q: np.ndarray, v: np.ndarray) -> Any:
    """Return the function of an event for symbols."""
    by_name = event.by_name
    answer = event.asked(t, q, v) if by_name is None else by_name.asked(SymbolicInstant(system, t, q, v))
    return np.asarray(answer, dtype=object).item()
