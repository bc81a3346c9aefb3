"""A planned mechanism as it is computed with: the constraints that count, the forces of the mechanism, what moves no
inertia. What is asked of a mechanism is asked of this; names and forms of arguments are for its users to settle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from catena.dynamics.elements.elements import Elements
from catena.dynamics.elements.placed_forces import has_forces, place_forces
from catena.dynamics.loops.closed_chains import is_closed
from catena.dynamics.loops.closing.counted_constraints import CountedConstraints
from catena.dynamics.loops.closing.projection import project_holding
from catena.dynamics.tree.articulated_body import articulated_body
from catena.dynamics.tree.conserved import potential_energy
from catena.dynamics.tree.friction import strain_energy
from catena.dynamics.tree.moved_inertia import moving_nothing
from catena.errors import SingularDynamicsError
from catena.forces import PlacedForce
from catena.kernels import Algorithm, Program, arrays
from catena.kernels.evaluation import Evaluator
from catena.kinematics import integrate, rate
from catena.structure import Plan


class Mechanics:
    """The plan of one mechanism and all that belongs to it. Whatever is expensive is found when first asked for.

    `base` is the model of one mechanism whose forces these are, where numbers differ from state to state.
    """

    def __init__(self, counted: CountedConstraints, base: Mechanics | None = None) -> None:
        self.counted, self.base = counted, base
        self.mechanism, self.plan = counted.described.mechanism, counted.described.plan
        self.nv, self.constrained = self.plan.nv, self.plan.total_constraints > 0
        self.inertia = InertiaCheck(self.plan)
        self.is_closed, self.acts = is_closed(self.plan), has_forces(self.mechanism)
        self._elements: Elements | None = None
        # The shortest way to the accelerations of one ordinary state, where it has been found.
        self.forward: Callable[..., np.ndarray | None] | None = None

    @property
    def evaluator(self) -> Evaluator:
        """Return what runs algorithms on the plan that is computed with."""
        return self.counted.effective

    def settle(self, q: Any = None) -> bool:
        """Look which constraints count, at q (..., nq) or in the neutral configuration, and at q whether loops can be
        eliminated as they are, unless that has been done; return whether something else is computed with than before.

        Everything that computes with loops does so first, and a CatenaWarning tells what was found.
        """
        counted = self.counted
        if not (counted.looks or counted.tries) or not counted.look(q):
            return False
        self.forward = None
        return True

    @property
    def effective_plan(self) -> Plan:
        """Return the plan that is computed with: `plan`, but loops leave out what is redundant up to the accuracy of
        the model where that was found, and are soft where they have to be."""
        self.settle()
        return self.evaluator.plan

    @property
    def accuracy(self) -> float:
        """Return the error [rad, or part of the mechanism's size] that dimensions may have."""
        return self.counted.accuracy

    @property
    def gravity(self) -> np.ndarray:
        """Return the acceleration of gravity (3,) in ground axes; (..., 3) where it differs from state to state."""
        by_state = self.counted.described.by_state
        return np.asarray(self.plan.gravity) if by_state is None else by_state.gravity()

    def program(
        self,
        algorithm: Algorithm,
        absent: frozenset[str] = frozenset(),
        lanes: int | None = None,
        forces: tuple[PlacedForce, ...] = (),
    ) -> Program:
        """Return an algorithm on this plan, ready to run on arrays that are known to be good, with so many lanes
        (those of the processor unless given) and with these forces, such as `elements.placed`."""
        self.evaluator.check_current()
        self.settle()
        return self.evaluator.program(algorithm, absent, lanes=lanes, forces=forces)

    @property
    def elements(self) -> Elements:
        """Return the springs, stops, wrenches and other forces of the mechanism on this plan."""
        self.evaluator.check_current()
        if self._elements is None:
            self.settle()
            own = None if self.base is None else self.base.elements
            self._elements = Elements(self.counted) if own is None else own.for_states(self.counted)
        return self._elements

    @elements.setter
    def elements(self, elements: Elements) -> None:
        self._elements = elements

    def with_own(self, q: Any, v: Any, tau: Any) -> Any:
        """Return joint forces (..., nv) with those of the mechanism at q (..., nq) and v (..., nv); as they are where
        nothing acts."""
        if not self.acts or self.elements.is_empty:
            return tau
        return self.added(self.elements.at_joints(q, v), tau)

    def added(self, own: np.ndarray, tau: Any) -> np.ndarray:
        """Return forces of the mechanism (..., nv) and those given, checked, together."""
        if tau is None:
            return own
        besides = self.evaluator.checked(articulated_body, "tau", tau)
        arrays.batch_shape({"q and v": own, "tau": besides})
        return own + besides

    def placing(self) -> Callable[[Plan], tuple[PlacedForce, ...]] | None:
        """Return how the forces of the mechanism are placed on a plan of it, None where nothing acts."""
        if not self.acts or self.elements.is_empty:
            return None
        mechanism, stops = self.mechanism, self.elements.stops
        return lambda plan: place_forces(mechanism, plan, stops)

    def require_inertia(self) -> None:
        """Raise where the mechanism was edited, or where some joint of the tree moves no inertia."""
        self.evaluator.check_current()
        self.inertia.require()

    def states(self, q: Any, v: Any) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
        """Return the batch shape, and checked rows q (states, nq) and v (states, nv)."""
        checked = {
            name: self.evaluator.checked(rate, key, x) for name, key, x in (("q", "q", q), ("v", "qd", v))
        }
        self.evaluator.check_positions("q", checked["q"])
        batch = arrays.batch_shape(checked)
        return batch, arrays.rows(checked["q"], batch), arrays.rows(checked["v"], batch)

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return q (+) step, with loops closed whatever their rank."""
        q = self.evaluator.evaluate(integrate, {"q": q, "qd": step})["q_next"]
        return self.closed(q)

    def closed(self, q: np.ndarray) -> np.ndarray:
        """Return the closed configuration next to q (..., nq), whatever the rank of the loops."""
        if not self.constrained:
            return q
        self.settle()
        return project_holding(self.evaluator, q, None, np.zeros(0, dtype=int))[0]

    def potential_energy(self, q: Any) -> np.ndarray:
        """Return the potential energy (...) of gravity and of the strain in flexible bodies."""
        energy = self.evaluator.evaluate(potential_energy, {"q": q})["V"][..., 0]
        return energy if self.plan.owner is None else energy + self.strain_energy(q)

    def strain_energy(self, q: Any) -> np.ndarray:
        """Return the strain energy (...) in all flexible bodies."""
        return strain_energy(self.plan, self.evaluator.checked(rate, "q", q))


class InertiaCheck:
    """What is known of the joints of a plan that move no inertia; it is looked at when it first matters."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._beside: dict[bytes, bool] = {}

    @cached_property
    def lacking(self) -> str | None:
        """Return why articulated bodies do not exist in the neutral configuration, None where they do."""
        return _lacking_inertia(self._plan)

    def lacking_beside(self, driven: np.ndarray) -> bool:
        """Return whether a joint that is not driven (nv,) moves no inertia in the neutral configuration."""
        key = driven.tobytes()
        if key not in self._beside:
            self._beside[key] = _lacking_inertia(self._plan, driven) is not None
        return self._beside[key]

    def require(self) -> None:
        """Raise a SingularDynamicsError where articulated bodies do not exist."""
        if self.lacking is not None:
            raise SingularDynamicsError(self.lacking)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Let an error about singular dynamics name the joint of the tree that moves no inertia, where there is one."""
        try:
            yield
        except SingularDynamicsError:
            if self.lacking is None:
                raise
            raise SingularDynamicsError(self.lacking) from None


def _lacking_inertia(plan: Plan, driven: np.ndarray | None = None) -> str | None:
    """Return what to say of a joint whose motion moves no inertia in the neutral configuration, None if all move
    some. The velocity components `driven` (nv,) move as they are told and need none."""
    free = None if driven is None else ~driven
    for i in moving_nothing(plan, lambda kind: kind.neutral(), free):
        bodies = ", ".join(repr(b) for b in plan.bodies[i])
        return (
            f"Joint {plan.joint[i]!r} can move without moving any inertia: the body {bodies} and what hangs on it "
            f"have no mass or no rotational inertia in that direction, so its acceleration is not determined. "
            f"Give the body mass and inertia, or lock the joint."
        )
    return None
