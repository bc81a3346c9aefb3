"""One step in time as an algorithm: the stages of a method around the dynamics, the return of the loops to closed
states, and the decision whether the step is good enough, all in compiled lanes.

Positions live on a manifold, so a step is taken in the local coordinates xi of q = q0 (+) xi, whose rate is the joint's
`local_rate` of the velocity (Munthe-Kaas): quaternions stay of unit length and the order of the method is kept.

What the ground holds from step to step: the time t, the step h that is planned next, the `end` that is not passed, and
`halt`, which is not zero once a step could not be vouched for. Every state of a batch has its own.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from catena.dynamics import articulated_body
from catena.dynamics.force_sweeps import GIVEN, SHARED, force_sweeps
from catena.dynamics.loop_elimination import loop_elimination
from catena.dynamics.loop_elimination.closing import stand, start_open, start_opening
from catena.kernels import (
    POSITION,
    VELOCITY,
    Algorithm,
    OnCall,
    Sweep,
    at_ground,
    whole_state,
    with_ground,
)
from catena.simulation.steps.closing import (
    close_positions,
    close_velocities,
    forget_shift,
    rest,
    shift_positions,
    shift_velocities,
)
from catena.simulation.steps.judging import both, certify, decide, keep_first_doubt, larger, settle
from catena.simulation.steps.making import LawShape, Making, Numbers
from catena.simulation.steps.multistep import HISTORY, adams_sweeps, remember, scaled
from catena.simulation.steps.tableaus import Tableau, tableau
from catena.spatial.scalars import absolute, array, where

# A step turns a joint on a manifold by no more than this [rad]: local coordinates are good short of half a turn.
FAR = 1.5

LawFunction = Callable[[Any, Any, Any, Any, Any], tuple[Any, Any]]


@at_ground
def open_step(ground: Any) -> None:
    """The size of this step: none where the end is reached or the motion halted."""
    left = ground.end - ground.t
    reaches = (1.0 + 1e-9) * ground.h >= left
    ground.last = where(reaches, 1.0, 0.0)
    ground.dt = where(ground.halt > 0.5, 0.0, where(reaches, left, ground.h))
    ground.error_0 = ground.error_1 = ground.doubt = ground.first_doubt = ground.shift = 0.0


@with_ground
def begin(body: Any, ground: Any) -> None:
    """Where the step begins."""
    body.q0, body.v0 = body.q, body.qd
    body.xi = np.zeros(body.joint.nv)


@with_ground
def semi_implicit(body: Any, ground: Any) -> None:
    """Euler's step with the new velocity: symplectic where nothing depends on the velocity."""
    body.qd = body.v0 + scaled(ground.dt, body.qdd)
    body.q = body.joint.integrate(body.q0, scaled(ground.dt, body.qd))


def advance(method: Tableau, stage: int) -> Sweep:
    """Keep the rates of a stage and go on to the next, or to the end of the step."""
    last = stage + 1 == method.stages
    weights = method.b if last else method.a[stage + 1]

    def move_on(body: Any, ground: Any) -> None:
        h = ground.dt
        setattr(body, f"rate_xi_{stage}", body.joint.local_rate(body.xi, body.qd))
        setattr(body, f"rate_v_{stage}", body.qdd)
        if last and method.errors:
            v_stage = body.qd
        body.xi = scaled(h, _sum(body, "rate_xi", weights))
        body.qd = body.v0 + scaled(h, _sum(body, "rate_v", weights))
        body.q = body.joint.integrate(body.q0, body.xi)
        if last and method.errors:
            for k, rest in enumerate(method.errors):
                worst = getattr(ground, f"error_{k}")
                if not k and body.joint.nq != body.joint.nv:
                    for x in body.xi:
                        worst = larger(worst, absolute(x) / FAR)
                for e in scaled(h, _sum(body, "rate_xi", rest)):
                    worst = larger(worst, absolute(e) / (ground.atol + ground.rtol))
                for e, before, after in zip(
                    scaled(h, _sum(body, "rate_v", rest)), body.v0, v_stage, strict=True
                ):
                    scale = ground.atol + ground.rtol * larger(absolute(before), absolute(after))
                    worst = larger(worst, absolute(e) / scale)
                setattr(ground, f"error_{k}", worst)

    return with_ground(move_on)


def _sum(body: Any, name: str, weights: Any) -> Any:
    """The weighted sum of the rates of the stages so far."""
    total: Any = np.zeros(body.joint.nv)
    for j, weight in enumerate(weights):
        if weight:
            total = total + weight * getattr(body, f"{name}_{j}")
    return total


def steer(law: LawFunction, making: LawShape, stage_time: float, target: str) -> Sweep:
    """Ask the law for joint forces."""

    def ask(whole: Any) -> None:
        t = whole.t + stage_time * whole.dt if stage_time else whole.t
        memory = _listed(whole.memory) if making.memory else np.zeros(0)
        inputs = _listed(whole.inputs) if making.inputs else np.zeros(0)
        force, kept = law(t, whole.q, whole.qd, memory, inputs)
        before = getattr(whole, target)
        if not making.continuous:
            due = both(whole.due > 0.5, whole.halt < 0.5)
            force = array([where(due, x, y) for x, y in zip(force, before, strict=True)])
            kept = array([where(due, x, y) for x, y in zip(kept, memory, strict=True)])
        setattr(whole, target, force)
        if making.memory:
            whole.memory = kept

    return whole_state(ask)


def _listed(x: Any) -> np.ndarray:
    """An array, also of a single number."""
    return x if isinstance(x, np.ndarray) else array([x])


def step_algorithm(making: Making, law: LawFunction | None = None) -> Algorithm:
    """A step by the method, of a tree or of a mechanism with loops, with `law` where one is compiled in."""
    return _steps(making) if law is None else _step_algorithm(making, law)


@lru_cache(maxsize=64)
def _steps(making: Making) -> Algorithm:
    return _step_algorithm(making, None)


def _step_algorithm(making: Making, law: LawFunction | None) -> Algorithm:
    columns = making.columns
    dynamics = loop_elimination(columns) if columns else articulated_body
    method = None if making.method in ("semi_implicit", "abm4") else tableau(making.method)
    begin_dynamics = at_ground(dynamics.ground)
    target = "given" if making.elements else "tau"

    def accelerations(stage_time: float = 0.0) -> list[Sweep]:
        """The accelerations of a stage, and whether they can be trusted."""
        sweeps: list[Sweep] = []
        if making.fragile and stage_time:
            sweeps += 2 * [rest, close_positions, shift_positions] + [
                rest,
                close_velocities,
                shift_velocities,
            ]
        sweeps.append(begin_dynamics)
        if law is not None and making.law is not None and making.law.continuous:
            sweeps.append(steer(law, making.law, stage_time, target))
        if making.elements:
            sweeps += force_sweeps()
        sweeps += [sweep for sweep in dynamics.sweeps if not isinstance(sweep, OnCall)]
        return [*sweeps, certify] if columns else sweeps

    # What schedules call is traced first, because it writes what other steps read.
    called = [sweep for sweep in dynamics.sweeps if isinstance(sweep, OnCall)]
    sweeps: list[Sweep] = []
    if columns:
        sweeps += [*called, stand, start_open, start_opening]
    sweeps.append(open_step)
    if law is not None and making.law is not None and not making.law.continuous:
        sweeps.append(steer(law, making.law, 0.0, target))
    sweeps.append(begin)
    outputs: dict[str, Any] = {"q": POSITION, "qd": VELOCITY}
    inputs: dict[str, Any] = dict(dynamics.inputs)
    rewritten = {
        "q",
        "qd",
        "qdd",
        "xi",
        "tau",
        "c",
        "p0",
        "effort",
        "X",
        "S",
        "d_inv",
        "U",
    } | dynamics.rewritten
    if making.method == "abm4":
        sweeps += adams_sweeps(accelerations)
        inputs |= HISTORY
        outputs |= HISTORY
        rewritten |= {"first", "xi_ahead", "rate_0", "rate_1", "rate_2", "rate_3"}
    elif method is None:
        sweeps += [*accelerations(), semi_implicit]
    else:
        for stage in range(method.stages):
            sweeps += accelerations(method.c[stage])
            if columns and not stage:
                sweeps.append(keep_first_doubt)
            sweeps.append(advance(method, stage))
            rewritten |= {f"rate_xi_{stage}", f"rate_v_{stage}"}
    corrections, occasional = 0, (0, 0)
    if columns and making.projects:
        corrections = 1 if method is not None and method.is_adaptive and not making.fragile else 2
        first = len(sweeps) + 1
        for _ in range(corrections):
            sweeps += [rest, forget_shift, close_positions, shift_positions]
        sweeps += [rest, close_velocities, shift_velocities]
        occasional = (first, len(sweeps) + 1)
    sweeps += [decide(method, corrections), settle]
    if making.method == "abm4":
        sweeps.append(remember)

    if making.elements:
        inputs |= GIVEN
        del inputs["tau"], inputs["f_ext"]
        outputs["tau"] = VELOCITY
    if law is not None:
        outputs[target] = VELOCITY
    ground_inputs = {
        **dynamics.ground_inputs,
        **{n: Numbers(1) for n in ("t", "h", "end", "halt", "rtol", "atol", "row", "wish")},
    }
    ground_outputs: tuple[str, ...] = ("t", "h", "accepted", "halt", "doubt")
    if making.law is not None:
        if making.law.memory:
            ground_inputs["memory"] = Numbers(making.law.memory)
            ground_outputs = (*ground_outputs, "memory")
        if making.law.inputs:
            ground_inputs["inputs"] = Numbers(making.law.inputs)
        if not making.law.continuous:
            ground_inputs["due"] = Numbers(1)

    @at_ground
    def hold(ground: Any) -> None:
        """What the ground is given takes its places, whoever reads it first."""
        for name in ground_inputs:
            if name != "a_base":
                getattr(ground, name)

    return Algorithm(
        making.name, dynamics.ground, (hold, *sweeps),
        inputs=inputs, outputs=outputs, ground_inputs=ground_inputs, ground_outputs=ground_outputs,
        optional=dynamics.optional | GIVEN.keys(), views=dynamics.views, columns=dynamics.columns,
        rewritten=frozenset(rewritten),
        replayed=True, occasional=occasional, shared=SHARED if making.elements else {},
    )  # fmt: skip
