"""Forces known ahead, from the motion that is wanted."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from catena.errors import CatenaError
from catena.simulation.control.following import Ahead, FollowedMotion, StatePath, as_path, known_in_step
from catena.simulation.control.holding_forces import held_in_tree
from catena.simulation.control.mechanism_law import is_formula_tree, required_forces
from catena.simulation.control.protocol import Controller, checked_rate, require_same
from catena.simulation.references import JointPath, PiecewisePolynomial, TaskPath
from catena.simulation.references.as_polynomial import InputPath
from catena.simulation.references.fitted import fitted_values
from catena.simulation.references.in_step import ReferenceInStep
from catena.spatial.scalars import Scalar, Scalars, is_symbolic
from catena.system import System
from catena.system.of_system import as_system
from catena.thresholds import CONTRADICTION


class Feedforward(Controller):
    """The forces of the actuated joints that produce the motion of a reference, by inverse dynamics along it.

    It does not look at the state: add it to a controller that does. `reference` as for `PID`; with loops the whole
    mechanism follows from the joints named.
    """

    def __init__(self, system: System, reference: FollowedMotion, rate: float | None = None) -> None:
        self.system = as_system(system, "Feedforward")
        self.path: StatePath = as_path(system, "Feedforward", reference)
        self.rate = checked_rate(rate, "Feedforward")
        self._ahead = Ahead(self.path, self._forces, self.rate)
        self._known = known_in_step(self.path)

    @property
    def compiles(self) -> bool:
        return True

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        require_same("Feedforward", self.system, system)
        self._ahead.forget()

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        known = self._ahead.at(t)[0] if self._fitted is None else self._fitted.at(t).q
        return np.broadcast_to(known, np.shape(v))

    @cached_property
    def _fitted(self) -> PiecewisePolynomial | None:
        """Return the forces as polynomials where no formula tells them and the reference is known to its end."""
        if (
            self._along is not None
            or not isinstance(self.path, JointPath | TaskPath)
            or self.path.knots is None
        ):
            return None
        try:
            return fitted_values(lambda t: self._forces(t)[0], self.path.knots)
        except CatenaError:
            # Whoever asks at that time says what is wrong.
            return None

    @property
    def _along(self) -> ReferenceInStep | None:
        """Return the reference where the step finds the forces along it by itself."""
        return self._known if is_formula_tree(self.system) else None

    def inputs(self, t: Scalar) -> np.ndarray:
        """Return the forces (..., nv) at the time t, or at times, or what the step finds them from; joints without
        actuator get none."""
        along, fitted = self._along, self._fitted
        if along is not None:
            return along.table.at(t)
        return self._ahead.at(t)[0] if fitted is None else fitted.at(t).q

    def _forces(self, t: Any) -> list[np.ndarray]:
        return [self.system.inverse_dynamics(*self.path.at(t)) * self.system.plan.actuated]

    def input_paths(self) -> tuple[InputPath, ...] | None:
        """Return the reference as polynomials where it is made of such, or the forces along it; None where these are
        none."""
        along, fitted = self._along, self._fitted
        if along is not None:
            return along.paths
        return None if fitted is None else ((fitted, 0),)

    def evaluate(
        self, t: Scalar, q: Scalars, v: Scalars, memory: Scalars, inputs: Scalars
    ) -> tuple[Scalars, Scalars]:
        """Return the forces known ahead."""
        along = self._along
        if along is None:
            return inputs, memory
        motion, plan = along.motion(t, inputs), self.system.plan
        if not is_symbolic(q):
            return self.system.inverse_dynamics(*motion) * plan.actuated, memory
        taken = required_forces(self.system, *motion)
        # Inverse dynamics refuses motions that joints with some motors cannot make, and tells what others would take.
        effort = [
            x if a or p else 0.0 for x, a, p in zip(taken, plan.actuated, plan.partly_driven, strict=True)
        ]
        return held_in_tree(
            effort, plan.actuated, CONTRADICTION if plan.partly_driven.any() else np.inf
        ), memory
