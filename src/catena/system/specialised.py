"""A system whose algorithms are specialised to its mechanism as soon as that has been done in the background."""

from typing import Any

from catena import dynamics
from catena.dynamics.loops.closing.settling import Settling
from catena.dynamics.loops.formulations.certified_elimination import elimination_of
from catena.equations.specialising import Specialiser
from catena.forces import PlacedForce
from catena.kernels import Algorithm, Program
from catena.kernels.evaluation import Evaluator
from catena.mechanism import Mechanism
from catena.mechanism.validation import known
from catena.structure import Plan
from catena.system import closed_chains
from catena.system.system import System

_NO_WRENCH = frozenset({"f_ext", "a_base"})


class SpecialisedEvaluator(Evaluator):
    """Runs algorithms as the general evaluator does until they are specialised."""

    def __init__(
        self, mechanism: Mechanism, plan: Plan, special: Specialiser, chosen: frozenset[str]
    ) -> None:
        super().__init__(mechanism, plan)
        self._special, self._chosen = special, chosen

    def program(
        self,
        algorithm: Algorithm,
        absent: frozenset[str],
        frame: str | None = None,
        lanes: int | None = None,
        forces: tuple[PlacedForce, ...] = (),
    ) -> Program:
        """Return the specialised program where there is one by now, else the general one."""
        if algorithm.name in self._chosen and frame is None and lanes is None:
            found = self._special.program(algorithm, absent)
            if found is not None:
                return found
        return super().program(algorithm, absent, frame, lanes, forces)


class SpecialisedSystem(System):
    """A system with the same names and answers as the one it was made from by `System.specialise`. Calls never wait:
    the general code serves until the specialised one has been made."""

    def __init__(self, mechanism: Mechanism, plan: Plan, settling: Settling, names: tuple[str, ...]) -> None:
        super().__init__(mechanism, plan.root, plan.cut, settling.accuracy)
        self._settling.take_over(settling)
        used = self.effective_plan
        wanted = _usual(used)
        for name in names:
            known("calculation that can be specialised", name, wanted, repr(mechanism.name))
        chosen = [wanted[name] for name in dict.fromkeys(names)]
        self._special = Specialiser(used, self._forget_shortest)
        algorithms = frozenset(algorithm.name for algorithm, _ in chosen)
        self._settling.effective = SpecialisedEvaluator(mechanism, used, self._special, algorithms)
        for algorithm, absent in chosen:
            self._special.program(algorithm, absent)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until what was asked for is specialised, and return whether it is after `timeout` seconds."""
        return self._special.wait(timeout)

    @property
    def is_ready(self) -> bool:
        """Return whether everything that was asked for is specialised."""
        return self._special.wait(0.0)

    @property
    def seconds(self) -> dict[str, float]:
        """Return how long each algorithm took to specialise, unrolling and compiling, when that was done."""
        return dict(self._special.seconds)

    def _forget_shortest(self) -> None:
        """Forget the shortest ways, so that single states find the new program when they are computed next."""
        self._forward = self._inverse = None


def _usual(plan: Plan) -> dict[str, tuple[Algorithm, frozenset[str]]]:
    """Return the calculations that can be specialised: their algorithm, and the inputs that are usually absent."""
    closed = closed_chains.is_closed(plan)
    forward: Any = elimination_of(plan) if closed else dynamics.tree_dynamics(plan)
    return {
        "forward_dynamics": (forward, _NO_WRENCH),
        "inverse_dynamics": (dynamics.newton_euler, _NO_WRENCH),
        "bias_force": (dynamics.newton_euler, _NO_WRENCH | {"qdd"}),
        "mass_matrix": (dynamics.composite_body, frozenset()),
    }
