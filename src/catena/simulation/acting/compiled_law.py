"""Control laws inside the compiled loop: what they are given ahead, and what they remember."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from catena.dynamics.loops.elimination.dry_loops import has_dry_friction
from catena.equations.quick_symbols import quick_symbols
from catena.kernels import Algorithm
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.arguments import TimeSpan
from catena.simulation.references.function import as_formula
from catena.simulation.references.path_table import PathTable
from catena.simulation.stepping.methods.steering import ObserverFunction
from catena.simulation.stepping.methods.step import step_algorithm
from catena.simulation.stepping.methods.variant import LawShape, StepVariant
from catena.spatial import is_symbolic
from catena.spatial.scalars import array, where


class CompiledLaw:
    """A controller that is a formula, for the compiled loop of one run from the time `start` [s] on."""

    holds = False
    """Whether control forces stay as they were given, so that the loop leaves them alone."""

    def __init__(self, acting: ActingForces, start: float) -> None:
        self.acting, self.law = acting, acting.control
        self.first = 0 if acting.clock is None else acting.clock.first(start)
        """The number of the first sample."""
        law: Any = acting.control
        self.rate: float | None = acting.rate
        self.width = np.asarray(law.inputs(0.0)).shape[-1]
        self.size = law.memory(acting.system)
        self.asked = self._asked(acting)
        step = acting.problem.step
        self.every = max(1, round(1.0 / (self.rate * step))) if self.rate and step else 1
        along = (acting.law_paths or ()) if self.asked != "due" else ()
        self.shape = LawShape(self.size, self.width, self.asked, tuple(PathTable(along).changing.tolist()))
        self.kept: dict[str, np.ndarray] = {}

    def samples_ahead(self, t: np.ndarray, ends: np.ndarray) -> int:
        """Return how many samples that it finds itself lie between times t (states,) and ends (states,), at most."""
        if self.asked != "timed":
            return 0
        going = np.isfinite(t)
        return int((ends[going] - t[going]).max(initial=0.0) * float(self.rate or 0.0))

    @staticmethod
    def _asked(acting: ActingForces) -> str:
        """Return when the step asks the law: always, when it is told so, or at samples that it finds itself."""
        if acting.rate is None:
            return "always"
        return "due" if CompiledLaw._counts_steps(acting) else "timed"

    @staticmethod
    def _counts_steps(acting: ActingForces) -> bool:
        """Return whether steps of fixed size are counted from sample to sample. Where friction sticks and gives way
        they end in between."""
        return acting.problem.is_fixed and not has_dry_friction(acting.system.plan)

    @staticmethod
    def fits(acting: ActingForces, span: TimeSpan) -> bool:
        """Return whether the loop can ask the law by itself: sampled at whole numbers of fixed steps, or otherwise if
        what it is given is known as polynomials, or at all samples. Between two samples Python asks first, and a memory
        stays there."""
        law: Any = acting.control
        integrator, step = acting.problem.integrator, acting.problem.step
        if not getattr(law, "compiles", False) or acting.has_python_elements:
            return False
        if len(np.asarray(law.inputs(0.0)).shape) != 1:
            return False
        if acting.rate is None:
            return not law.memory(acting.system) and acting.law_paths is not None
        if acting.slows:
            # A step has place for one law, and motors that slow down are one (`HeldCommand`).
            return False
        # A method with a past would take forces that jump for smooth ones, and one that lands has steps of its own.
        if integrator in ("abm4", "time_stepping"):
            return False
        assert acting.clock is not None
        if law.memory(acting.system) and not acting.clock.is_due(span.start):
            return False
        if not CompiledLaw._counts_steps(acting) and not acting.know_ahead(span):
            return False
        if step is None:
            return True
        if acting.paths is not None and len(acting.paths.within(*span)):
            return False
        counts = 1.0 / (acting.rate * step), span.duration / step
        return all(_is_whole(x) for x in counts) and (not span.start or _is_whole(abs(span.start) / step))

    def begin(self, states: int) -> None:
        """Begin a run of so many states, with no memory."""
        self.kept = {"memory": np.zeros((states, self.size))} if self.size else {}
        if self.asked == "timed":
            self.kept["sample"] = np.full((states, 1), float(self.first))

    def inputs_ahead(self, who: np.ndarray, t: float, h: float, plays: int) -> dict[str, np.ndarray]:
        """Return what the law is given in the next steps of the states `who`; polynomials come with those of the
        run."""
        found = {name: np.ascontiguousarray(x[who]) for name, x in self.kept.items()}
        if self.asked == "timed":
            found["rate"] = np.array([self.rate])
        if self.asked != "due":
            return found
        law: Any = self.law
        step = round(t / h) + np.arange(plays)
        found["due"] = np.ascontiguousarray((step % self.every == 0).astype(np.float64)[None, :, None])
        if self.width:
            assert self.rate is not None
            times = (step // self.every) / self.rate
            found["inputs"] = np.ascontiguousarray(np.asarray(law.inputs(times), dtype=np.float64)[None])
        return found

    def remember(self, who: np.ndarray, out: dict[str, np.ndarray]) -> None:
        """Keep the memory of the law, and which sample is next."""
        for name, x in self.kept.items():
            x[who] = out[name][:, -1]


class HeldCommand:
    """What a controller with a rate has given last, behind motors whose limits shrink with their speed: these act at
    every stage, and not at samples alone."""

    holds, asked, kept = True, "always", MappingProxyType[str, np.ndarray]({})

    def __init__(self, acting: ActingForces) -> None:
        nv = acting.system.nv
        self.law, self.shape = _held, LawShape(0, nv, self.asked)
        self.tau = np.zeros((0, nv))

    def begin(self, states: int) -> None:
        """Begin a run of so many states."""

    def inputs_ahead(self, who: np.ndarray, t: float, h: float, plays: int) -> dict[str, np.ndarray]:
        """Return what is held for the states `who`."""
        return {"inputs": np.ascontiguousarray(self.tau[who, : self.shape.inputs])}

    def remember(self, who: np.ndarray, out: dict[str, np.ndarray]) -> None:
        """Remember nothing."""


class _Held:
    """The law that gives what it is given."""

    def evaluate(self, t: Any, q: Any, v: Any, memory: Any, inputs: Any) -> tuple[Any, Any]:
        return inputs, memory


_held = _Held()


def _is_whole(x: float) -> bool:
    return x > 0.5 and abs(x - round(x)) < 1e-9 * x


def algorithm_for(
    variant: StepVariant,
    law: CompiledLaw | HeldCommand | None,
    acting: ActingForces,
    observer: ObserverFunction | None = None,
) -> Algorithm:
    """Return the step of a variant with the law and the formulas for wrenches and driven joints in it, and an observer
    of steps; kept as long as the controller, or the first of what is a formula, lives, so that its next run finds
    it."""
    push, guide = acting.push, acting.guide
    if law is None and push is None and guide is None:
        return step_algorithm(variant, observer=observer)
    guiding = [m for m in acting.motion.values() if as_formula(m) is not None] if guide else []
    pushing = list(acting.forces.values()) if push else []
    owner: Any = [*([] if law is None else [law.law]), *pushing, *guiding][0]
    kept = _algorithms.setdefault(owner, {})
    formulas = (*(w.function for w in pushing), *(as_formula(m) for m in guiding))
    limits = acting.low, acting.high, acting.speed
    key = (
        variant, *(x.tobytes() for x in limits), formulas, tuple(acting.motion) if guide else (), observer,
    )  # fmt: skip
    if key not in kept:
        # The law itself would never go while what is kept for it holds it.
        clipped = None if law is None else partial(_clipped, ref(law.law), *limits)
        kept[key] = step_algorithm(variant, clipped, push, guide, observer)
    return kept[key]


_algorithms: WeakKeyDictionary[Any, dict[Any, Algorithm]] = WeakKeyDictionary()


def _clipped(
    law: Callable[[], Any],
    low: np.ndarray,
    high: np.ndarray,
    speed: np.ndarray,
    t: Any,
    q: Any,
    v: Any,
    memory: Any,
    inputs: Any,
) -> tuple[Any, Any]:
    """Return the law, which a weak reference leads to, behind actuators with limits."""
    with quick_symbols():
        tau, kept = law().evaluate(t, q, v, memory, inputs)
    pairs = zip(tau, low, high, speed, v, strict=True)
    return array([_clip(x, *_at_speed(a, b, s, rate)) for x, a, b, s, rate in pairs]), kept


def _at_speed(low: float, high: float, speed: float, rate: Any) -> tuple[Any, Any]:
    """Return the limits of an actuator that gives nothing at a speed, at another one."""
    if not np.isfinite(speed):
        return low, high
    part = rate / speed
    less, more = (where(x < 0.0, 0.0, where(x > 1.0, 1.0, x)) for x in (1.0 + part, 1.0 - part))
    return low * less, high * more


def _clip(x: Any, low: Any, high: Any) -> Any:
    x = where(x < low, low, x) if is_symbolic(low) or np.isfinite(low) else x
    return where(x > high, high, x) if is_symbolic(high) or np.isfinite(high) else x
