"""A system whose calculations are compiled for its very mechanism, in the background: a cache behind the same calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catena import dynamics
from catena.dynamics.loops import closed_chains
from catena.dynamics.loops.formulations.certified_elimination import elimination_of
from catena.equations.specialising import Specialiser
from catena.kernels import Algorithm, Program
from catena.kernels.evaluation import Evaluator
from catena.mechanism.validation import known
from catena.structure import Plan

if TYPE_CHECKING:
    from catena.system.system import System

_NO_WRENCH = frozenset({"f_ext", "a_base"})


def specialised(system: System, names: tuple[str, ...]) -> System:
    """Return a system of the same plan with the same answers. Calls never wait: the general code serves until the
    specialised one has been made."""
    plan = system.mechanics.effective_plan
    wanted = _usual(plan)
    for name in names:
        known("calculation that can be specialised", name, wanted, repr(system.mechanism.name))
    chosen = [wanted[name] for name in dict.fromkeys(names)]
    algorithms = frozenset(algorithm.name for algorithm, _ in chosen)
    made: list[System] = []

    def find_again() -> None:
        """Let single states find the new program when they are computed next."""
        for each in made:
            each.mechanics.forward = each._inverse = None

    specialiser = Specialiser(plan, find_again)

    def special(algorithm: Algorithm, absent: frozenset[str]) -> Program | None:
        return specialiser.program(algorithm, absent) if algorithm.name in algorithms else None

    def of(evaluator: Evaluator) -> Evaluator:
        is_used = evaluator.plan is plan
        return Evaluator(evaluator.mechanism, evaluator.plan, special=special if is_used else None)

    counted = system._counted.with_evaluators(of)
    counted.looks = system._counted.looks
    fast = system._planned(system.mechanism, system.plan, system.mechanics.accuracy, counted)
    fast._specialiser = specialiser
    made.append(fast)
    for algorithm, absent in chosen:
        specialiser.program(algorithm, absent)
    return fast


def _usual(plan: Plan) -> dict[str, tuple[Algorithm, frozenset[str]]]:
    """Return the calculations that can be specialised: their algorithm, and the inputs that are usually absent."""
    forward = elimination_of(plan) if closed_chains.is_closed(plan) else dynamics.tree_dynamics(plan)
    return {
        "forward_dynamics": (forward, _NO_WRENCH),
        "inverse_dynamics": (dynamics.newton_euler, _NO_WRENCH),
        "bias_force": (dynamics.newton_euler, _NO_WRENCH | {"qdd"}),
        "mass_matrix": (dynamics.composite_body, frozenset()),
    }
