"""What is known ahead inside a step: control laws, prescribed motions and wrenches, as formulas or polynomials."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from catena.dynamics.flexible.particles import but_particles
from catena.kernels import Sweep, at_ground, each_body, whole_state, with_ground
from catena.simulation.stepping.methods.conditions import both
from catena.simulation.stepping.methods.variant import LawShape
from catena.spatial.scalars import array, where

LawFunction = Callable[[Any, Any, Any, Any, Any], tuple[Any, Any]]
PushFunction = Callable[[Any, Any, Any], Any]
GuideFunction = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]]
ObserverFunction = Callable[[Any, Any, Any, Any, Any, Any], Any]
# The degree of polynomials that driven joints and wrenches follow.
DEGREE = 5


@dataclass(frozen=True)
class CompiledLaws:
    """What is compiled into a step: a `law` for joint forces, `push` for wrenches, `guide` for driven joints, and an
    `observer` of every step that was taken."""

    law: LawFunction | None = None
    push: PushFunction | None = None
    guide: GuideFunction | None = None
    observer: ObserverFunction | None = None


def keep_force(target: str) -> Sweep:
    """Keep the control force with which the step begins."""

    def keep(body: Any) -> None:
        body.tau_start = getattr(body, target)

    return each_body(but_particles(keep))


@lru_cache(maxsize=64)
def steer(law: LawFunction, shape: LawShape, target: str) -> Sweep:
    """Ask the law for joint forces at the time `now`."""

    def ask(whole: Any) -> None:
        t = whole.now
        memory = _listed(whole.memory) if shape.memory else np.zeros(0)
        inputs = _listed(whole.inputs) if shape.inputs else np.zeros(0)
        if shape.changing:
            later = [_listed(getattr(whole, f"input_{j}")) for j in range(1, DEGREE + 1)]
            s = t - whole.path_origin
            for n, k in enumerate(shape.changing):
                inputs[k] = _polynomial(s, [array([c]) for c in (inputs[k], *(row[n] for row in later))])[0]
        force, kept = law(t, whole.q, whole.qd, memory, inputs)
        before = getattr(whole, target)
        if shape.asked != "always":
            is_due = whole.due > 0.5 if shape.asked == "due" else whole.t >= whole.sample / whole.rate
            due = both(is_due, whole.halt < 0.5)
            if shape.asked == "timed":
                # What is due at the end is asked by who goes on from there.
                due = both(due, whole.t < whole.end)
                whole.sample = where(due, whole.sample + 1.0, whole.sample)
            force = array([where(due, x, y) for x, y in zip(force, before, strict=True)])
            kept = array([where(due, x, y) for x, y in zip(kept, memory, strict=True)])
        setattr(whole, target, force)
        if shape.memory:
            whole.memory = kept

    return whole_state(ask)


def observe(observer: ObserverFunction, first: str) -> Sweep:
    """Show a step that is decided about, which began with accelerations in the field `first`, to an observer: the time
    and the state behind it, whether it was taken, and the numbers that the observer carries."""

    def look(whole: Any) -> None:
        taken = whole.accepted > 0.5
        whole.observed = observer(whole.t, whole.q, whole.qd, getattr(whole, first), taken, whole.observed)

    return whole_state(look)


@lru_cache(maxsize=64)
def look_at_the_clock(stage_time: float) -> Sweep:
    """Tell the time at a part of the step, a number of the ground, so that formulas are compiled once for all
    stages."""

    def tell(ground: Any) -> None:
        ground.now = ground.t + stage_time * ground.dt if stage_time else ground.t

    return at_ground(tell)


def _listed(x: Any) -> np.ndarray:
    """Return an array, also of a single number."""
    return x if isinstance(x, np.ndarray) else array([x])


def follow(stage_time: float) -> Sweep:
    """Put driven joints where their polynomials have them at a part of the step."""

    def put(body: Any, ground: Any) -> None:
        if body.joint.nq != body.joint.nv:
            return
        s = ground.t + stage_time * ground.dt - ground.path_origin
        c = [getattr(body, f"path_{j}") for j in range(DEGREE + 1)]
        position = _polynomial(s, c)
        rate = _polynomial(s, [j * c[j] for j in range(1, DEGREE + 1)])
        change = _polynomial(s, [j * (j - 1) * c[j] for j in range(2, DEGREE + 1)])
        body.q = _where_driven(body, position, body.q)
        body.qd = _where_driven(body, rate, body.qd)
        body.qdd_given = change

    return with_ground(but_particles(put))


def follow_formulas(guide: GuideFunction, stage_time: float) -> list[Sweep]:
    """Put driven joints where formulas have them at a part of the step."""

    def put(whole: Any) -> None:
        whole.q, whole.qd, whole.qdd_given = guide(whole.now, whole.q, whole.qd, whole.qdd_given)

    return [look_at_the_clock(stage_time), whole_state(put)]


def _polynomial(s: Any, coefficients: list[Any]) -> Any:
    """Return the sum of coefficients[j] s^j, entry by entry."""
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = array([s * x + y for x, y in zip(total, c, strict=True)])
    return total


def _where_driven(body: Any, prescribed: Any, free: Any) -> Any:
    return array([where(d > 0.5, x, y) for d, x, y in zip(body.driven, prescribed, free, strict=True)])


def push_by_paths(stage_time: float) -> Sweep:
    """Tell forces the wrenches that their polynomials have at a part of the step."""

    def tell(whole: Any) -> None:
        s = whole.t + stage_time * whole.dt - whole.path_origin
        _tell_wrenches(whole, _polynomial(s, [getattr(whole, f"wrench_{j}") for j in range(DEGREE + 1)]))

    return whole_state(tell)


def push_by_law(push: PushFunction, stage_time: float) -> Sweep:
    """Tell forces the wrenches that a formula gives."""

    def tell(whole: Any) -> None:
        t = whole.t + stage_time * whole.dt if stage_time else whole.t
        _tell_wrenches(whole, push(t, whole.q, whole.qd))

    return whole_state(tell)


def _tell_wrenches(whole: Any, wrenches: Any) -> None:
    """Tell forces these wrenches; motors of loop joints, which come behind them, are told what they were."""
    inputs = whole.force_inputs
    whole.force_inputs = (
        array([*wrenches, *inputs[len(wrenches) :]]) if len(inputs) > len(wrenches) else wrenches
    )
