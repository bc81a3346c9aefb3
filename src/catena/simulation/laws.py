"""Control laws inside the compiled loop: what they are given ahead, and what they remember."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from catena.kernels import Algorithm
from catena.simulation.acting import Acting
from catena.simulation.steps.stepping import step_algorithm
from catena.simulation.steps.variant import LawShape, StepVariant
from catena.spatial.scalars import array, where


class CompiledLaw:
    """A controller that is a formula, for the compiled loop of one run."""

    def __init__(self, acting: Acting) -> None:
        step = acting.problem.step
        self.acting, self.law = acting, acting.control
        law: Any = acting.control
        self.rate: float | None = acting.rate
        self.width = np.asarray(law.inputs(0.0)).shape[-1]
        self.size = law.memory(acting.system)
        self.every = 1 if self.rate is None or step is None else max(1, round(1.0 / (self.rate * step)))
        self.shape = LawShape(self.size, self.width, self.rate is None)
        self.kept = np.zeros((0, self.size))

    @staticmethod
    def fits(acting: Acting, duration: float) -> bool:
        """Whether the loop can ask the law by itself: a sampled one at whole numbers of fixed steps, and one that is
        always asked if what it is given does not change."""
        law: Any = acting.control
        integrator, step = acting.problem.integrator, acting.problem.step
        if not getattr(law, "compiles", False) or acting.has_python_elements:
            return False
        shape = np.asarray(law.inputs(0.0)).shape
        if len(shape) != 1:
            return False
        if acting.rate is None:
            times = np.linspace(0.0, duration, 7)
            return not law.memory(acting.system) and all(
                np.array_equal(law.inputs(float(t)), law.inputs(0.0)) for t in times
            )
        # A method with a past would take forces that jump for smooth ones.
        if step is None or integrator == "abm4":
            return False
        if acting.paths is not None and len(acting.paths.knots(duration)):
            return False
        return all(_is_whole(x) for x in (1.0 / (acting.rate * step), duration / step))

    def begin(self, states: int) -> None:
        """A run of so many states begins with nothing to remember."""
        self.kept = np.zeros((states, self.size))

    def given(self, who: np.ndarray, t: float, h: float, plays: int) -> dict[str, np.ndarray]:
        """What the law is given in the next steps of the states `who`."""
        law: Any = self.law
        found: dict[str, np.ndarray] = {}
        first = round(t / h) if self.rate is not None else 0
        step = first + np.arange(plays)
        if self.size:
            found["memory"] = np.ascontiguousarray(self.kept[who])
        if self.rate is not None:
            found["due"] = np.ascontiguousarray((step % self.every == 0).astype(np.float64)[None, :, None])
        if self.width:
            if self.rate is None:
                found["inputs"] = np.ascontiguousarray(law.inputs(0.0), dtype=np.float64)
            else:
                times = (step // self.every) / self.rate
                found["inputs"] = np.ascontiguousarray(np.asarray(law.inputs(times), dtype=np.float64)[None])
        return found

    def remember(self, who: np.ndarray, out: dict[str, np.ndarray]) -> None:
        """Keep what the law remembers."""
        if self.size:
            self.kept[who] = out["memory"][:, -1]


def _is_whole(x: float) -> bool:
    return x > 0.5 and abs(x - round(x)) < 1e-9 * x


def algorithm_for(variant: StepVariant, law: CompiledLaw | None, acting: Acting) -> Algorithm:
    """The step of a variant with the law and the formulas for wrenches in it; kept as long as the controller, or the
    first of the wrenches, lives, so that its next run finds it."""
    if law is None and acting.push is None:
        return step_algorithm(variant)
    owner: Any = next(iter(acting.forces.values())) if law is None else law.law
    kept = _algorithms.setdefault(owner, {})
    formulas = tuple(w.function for w in acting.forces.values()) if acting.push is not None else ()
    key = (variant, acting.low.tobytes(), acting.high.tobytes(), formulas)
    if key not in kept:
        # The law itself would never go while what is kept for it holds it.
        clipped = None if law is None else partial(_clipped, ref(law.law), acting.low, acting.high)
        kept[key] = step_algorithm(variant, clipped, acting.push)
    return kept[key]


_algorithms: WeakKeyDictionary[Any, dict[Any, Algorithm]] = WeakKeyDictionary()


def _clipped(
    law: Callable[[], Any],
    low: np.ndarray,
    high: np.ndarray,
    t: Any,
    q: Any,
    v: Any,
    memory: Any,
    inputs: Any,
) -> tuple[Any, Any]:
    """The law, which a weak reference leads to, behind actuators with limits."""
    tau, kept = law().evaluate(t, q, v, memory, inputs)
    return array([_clip(x, a, b) for x, a, b in zip(tau, low, high, strict=True)]), kept


def _clip(x: Any, low: float, high: float) -> Any:
    x = where(x < low, low, x) if np.isfinite(low) else x
    return where(x > high, high, x) if np.isfinite(high) else x
