"""The compiled step that a run takes: what it is compiled for, and by which names it is told what acts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.dynamics.contacts.impulse_law import held_size
from catena.kernels import Algorithm
from catena.kernels.algorithm import FORCE_INPUTS
from catena.kernels.evaluation import Evaluator
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.acting.compiled_law import CompiledLaw, HeldCommand, algorithm_for
from catena.simulation.stepping.drift import Drift
from catena.simulation.stepping.integrators import ADAPTIVE
from catena.simulation.stepping.methods.loads import miss_names
from catena.simulation.stepping.methods.method import method_of
from catena.simulation.stepping.methods.step import judges_works, reuses_last_stage, start_acceleration
from catena.simulation.stepping.methods.variant import StepVariant
from catena.simulation.stepping.observing import Observers
from catena.simulation.stepping.variant_for import variant_for
from catena.system.dry_friction import DryFriction

# The longest step [s] where none is too long.
UNBOUNDED = 1e300


@dataclass(frozen=True, eq=False)
class ChosenStep:
    """A step of one `variant` by its `algorithm`: whether the next one `reuses` its last stage, and works are `judges`
    of its size; the `target` that takes control forces and the `wrench` that takes forces which do not compile, and
    which inputs are `absent`; where the accelerations are with which it `starts`; how many numbers states carry along
    for what contacts hold (`held_width`) and for loop joints (`near_width`); which control forces are told as those of
    `motors` at loop joints."""

    variant: StepVariant
    algorithm: Algorithm
    adaptive: bool
    reuses: bool
    judges: bool
    target: str
    wrench: str
    absent: frozenset[str]
    starts: str
    held_width: int
    near_width: int
    motors: tuple[int, ...]
    rubs: bool
    """Whether dry friction is among the units along which it finds impulses."""
    bends: bool
    """Whether contacts with height fields are among these."""
    chooses: bool
    """Whether independent coordinates are chosen for each state."""


def chosen_step(
    acting: ActingForces, drift: Drift, law: CompiledLaw | HeldCommand | None, method: str, coordinates: str,
    observers: Observers | None,
) -> ChosenStep:  # fmt: skip
    """Return the step by a method in these coordinates, with a law for the joint forces inside it or none, and with
    whoever looks at every step. Where nobody acts from outside it depends on the mechanism alone, and the next run
    finds it."""
    problem = acting.problem
    if law is not None or observers is not None or not acting.is_left_alone:
        return _made(acting, drift, law, method, coordinates, observers)
    known = acting.system.mechanics.evaluator.once(_none_yet)
    key = method, coordinates, drift.name, problem.sticks, problem.coordinates
    if key not in known:
        known[key] = _made(acting, drift, law, method, coordinates, None)
    return known[key]


def _none_yet(evaluator: Evaluator) -> dict[Any, ChosenStep]:
    return {}


def _made(
    acting: ActingForces, drift: Drift, law: CompiledLaw | HeldCommand | None, method: str, coordinates: str,
    observers: Observers | None,
) -> ChosenStep:  # fmt: skip
    variant = variant_for(acting, drift, law, method, coordinates, 0 if observers is None else observers.size)
    wrench = "f_given" if acting.placed else "f_ext"
    return ChosenStep(
        variant,
        algorithm_for(variant, law, acting, observers),
        adaptive=method in ADAPTIVE,
        reuses=reuses_last_stage(variant),
        judges=judges_works(variant),
        target="given" if acting.placed or variant.sticks else "tau",
        wrench=wrench,
        # Forces that do not compile are told as joint forces and wrenches on nodes.
        absent=frozenset({"a_base"} if acting.has_python_elements else {"a_base", wrench}),
        starts=start_acceleration(method),
        held_width=held_size(variant.rows),
        near_width=sum(force.joint.nq for force in acting.counted if force.joint is not None),
        motors=tuple(acting.told_motors),
        rubs=variant.rubs,
        bends=variant.bent_rows > 0,
        chooses=variant.is_minimal,
    )


def constant_inputs(
    chosen: ChosenStep,
    acting: ActingForces,
    drift: Drift,
    dry: DryFriction | None,
    in_loops: DryFriction | None,
) -> dict[str, np.ndarray]:
    """Return the inputs of a step that are the same for all states at all times, unless Python tells something else;
    with the dry friction of joints of the tree, and of those that close loops, where it sticks."""
    system, problem = acting.system, acting.problem
    found = {"rtol": np.array([problem.rtol]), "atol": np.array([problem.atol]), "halt": np.zeros(1)}
    if acting.motion:
        mask = "prescribed" if chosen.variant.sticks else "driven"
        found |= {mask: np.zeros(system.nv), "qdd_given": np.zeros(system.nv)}
        found[mask][acting.driven] = 1.0
    if chosen.judges:
        # Numbers that are not finite are taken for a trial that went astray.
        longest = min(acting.longest, UNBOUNDED)
        found["longest"], found["energy"] = np.array([longest]), np.array([acting.energy])
    if acting.has_python_elements:
        found[chosen.wrench] = np.zeros(6 * system.plan.n)
    if acting.wrench_width or chosen.motors:
        found[FORCE_INPUTS] = np.zeros(acting.wrench_width + len(chosen.motors))
    if dry is not None:
        found |= dry.tree_inputs
    if in_loops is not None and chosen.variant.loops_stick:
        found |= in_loops.loop_inputs
    if chosen.variant.bears:
        # What guesses missed is kept within a call of the step only.
        times = method_of(chosen.variant.method).times
        found |= {name: np.zeros(system.nv) for name in miss_names(times, "")}
        if in_loops is not None and chosen.variant.loops_stick:
            found |= {name: np.zeros(in_loops.friction.size) for name in miss_names(times, "loop_")}
    if drift.feedback is not None:
        found["feedback_given"] = np.array(drift.feedback)
    if drift.pulls:
        found["pull_given"] = np.array(drift.strength)
    if problem.touching is not None:
        found["contacts"] = problem.touching.numbers
    return found
