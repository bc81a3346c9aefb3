"""What is decided about the mechanisms of the builder: python -m tests.fuzz.verdicts 0 200 prints one line of JSON for
each, for tools/processors.py to compare between processors.

Verdicts are words and whole numbers, which must be the same everywhere. Measures are numbers of which rounding may
change the last digits, or, as for the steps of a run, a few in a hundred.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import catena as ct
from catena.dynamics.loops.closed_chains import pose_problem, solve
from catena.dynamics.loops.elimination import borrowers
from tests.fuzz.builder import built
from tests.fuzz.test_mechanisms import Subject

# States that are looked at, beside the one in which a mechanism was built, and how far they are from it.
STATES, FAR = 6, 1e-2
NUMBER = re.compile(r"-?\d+(\.\d*)?([eE][-+]?\d+)?")


class Told:
    """What is decided about the mechanism of a seed, and measured."""

    def __init__(self, seed: int) -> None:
        self.subject = Subject(built(seed))
        self.system = self.subject.system
        self.random = np.random.default_rng([seed, 2])
        self.verdicts: dict[str, Any] = {}
        self.measures: dict[str, float] = {}
        self.refused = False
        if not self.system.nv:
            return
        self.ask("diagnosis", self.diagnose)
        self.ask("states", self.states)
        for what, tell in (("lanes", self.lanes), ("forces back", self.there_and_back), ("run", self.run)):
            if not self.refused:
                self.ask(what, tell)
        self.ask("assembly", self.assemble)

    def ask(self, what: str, tell: Callable[[], None]) -> None:
        """Note what is told, or the words in which it is refused, without their numbers."""
        try:
            tell()
        except ct.CatenaError as error:
            self.verdicts[what] = f"{type(error).__name__}: {NUMBER.sub('#', str(error))}"
            self.refused = True
        except np.linalg.LinAlgError as error:
            self.verdicts[what] = f"a bare LinAlgError: {error}"
            self.refused = True

    def diagnose(self) -> None:
        found = self.system.diagnose(self.subject.q)
        self.verdicts |= {
            "mobility": found.mobility,
            "redundancy": found.redundancy,
            "generic mobility": found.generic_mobility,
            "singular": found.singular or found.near_singular,
            "nearly redundant": len(found.nearly_redundant),
        }

    def states(self) -> None:
        """Closed states about the one in which the mechanism was built. Decompositions differ between processors where
        several motions are free, what is left of a motion when they have taken away what opens loops does not."""
        system, units = self.system, self.subject.units
        J = system.closure_jacobian(self.subject.q) * units
        _, sigma, Vt = np.linalg.svd(J, full_matrices=True)
        held = Vt[: int((sigma > 1e-8 * sigma.max(initial=1.0)).sum())]
        wanted = self.random.normal(size=(STATES, system.nv))
        v = units * (wanted - wanted @ held.T @ held)
        v[0] = 0.0
        self.q, self.v = system.project(system.integrate(self.subject.q, FAR * v), v)

    def lanes(self) -> None:
        """Which states are solved in lanes, on which plan, and what comes out."""
        system = self.system
        tau = self.random.normal(size=self.v.shape) * np.diag(system.mass_matrix(self.subject.q))
        system.mechanics.settle(self.subject.q)
        plan = system.mechanics.effective_plan
        self.verdicts["counted constraints"] = plan.total_constraints
        if plan.total_constraints:
            self.verdicts["soft"] = bool(plan.soft)
            problem = pose_problem(system.mechanics.evaluator, {"q": self.q, "qd": self.v, "tau": tau})
            solution = solve(problem, "auto")
            self.verdicts["by singular values"] = solution.handed_over.tolist()
            self.verdicts["lent"] = bool(borrowers(plan))
            self.measures["by auto"] = self.size(solution.vdot)
        self.tau = tau
        self.vdot = system.forward_dynamics(self.q, self.v, tau, method="kkt" if system.loops else "auto")
        self.measures["accelerations"] = self.size(self.vdot)

    def there_and_back(self) -> None:
        tau = self.system.inverse_dynamics(self.q, self.v, self.vdot)
        again = self.system.forward_dynamics(self.q, self.v, tau)
        self.measures["accelerations again"] = self.size(again)

    def assemble(self) -> None:
        """The mechanism assembled from where it was built, its first joint moved by a little."""
        if not self.system.loops:
            return
        first = self.system.joints[0]
        q = self.system.integrate(self.subject.q, 0.05 * self.subject.units)
        found = self.system.assemble({first: q[self.system.slice_q(first)]}, guess=self.subject.q)
        self.measures["assembled"] = float(np.abs(found).sum())

    def run(self) -> None:
        """A short run from the second state."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ct.simulate(
                self.system, self.q[1], self.v[1], 0.005, rtol=1e-8, atol=1e-10, progress=False
            )
        self.verdicts["steps taken by"] = found.settings["steps taken by"]
        self.verdicts["audit"] = found.audit().ok
        self.measures["steps"] = len(found.t)

    def size(self, vdot: np.ndarray) -> float:
        """The size of accelerations, as angles and parts of the mechanism's size."""
        return float(np.linalg.norm(vdot / self.subject.units))


def main(first: int, last: int) -> None:
    """Print what is told about each seed."""
    warnings.simplefilter("ignore")
    for seed in range(first, last):
        told = Told(seed)
        print(json.dumps({"seed": seed, "verdicts": told.verdicts, "measures": told.measures}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
