"""The forces of a mechanism whose numbers differ from state to state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.dynamics.elements.elements import Elements, Near
from catena.forces import JointStop, PlacedForce
from catena.kernels import arrays, is_plain
from catena.kinematics import stacks
from catena.mechanism import LIMITS

if TYPE_CHECKING:
    from catena.system.varied import VariedSystem


class VariedElements(Elements):
    """The forces of a mechanism whose numbers differ from state to state."""

    def __init__(self, system: VariedSystem) -> None:
        super().__init__(system._settling)
        self._system, self._told = system, False

    @property
    def placed(self) -> tuple[PlacedForce, ...]:
        """Return all forces, as algorithms with force sweeps take them."""
        placed = self._system.base.elements.placed
        if not self._told:
            self._told = True
            for force in placed:
                if isinstance(force.kind, JointStop) and force.name.endswith(LIMITS):
                    self._tell_stops(force, force.name.removesuffix(LIMITS))
        return placed

    @property
    def frictions(self) -> tuple[PlacedForce, ...]:
        """Return the friction of all joints, as forces that are only counted."""
        return self._system.base.elements.frictions

    def applied(self, frame: str, axes: str = "ground") -> PlacedForce:
        """Return a wrench on a frame, in the axes of a frame, that is told from outside at every instant."""
        force = self._system.base.elements.applied(frame, axes)
        for evaluator in self._system.evaluators:
            evaluator.rows.tell_ends(force, frame, axes)
        return force

    def at_joints(
        self, q: Any, v: Any, forces: tuple[PlacedForce, ...] | None = None, near: Near | None = None
    ) -> np.ndarray:
        """Return the forces (..., nv) of the tree's joints that do what all forces do, or these, in each state."""
        if self.is_compiled and not is_plain():
            return super().at_joints(q, v, forces, near)
        names = None if forces is None else {force.name for force in forces}

        def alone(state: int, row: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            own = self._system.state(state).elements
            some = None if names is None else tuple(force for force in own.placed if force.name in names)
            here = {joint: x[row] for joint, x in (near or {}).items()}
            return own.at_joints(q, v, some, here)

        batch, _, _ = self._system.states(q, v)
        batch = np.broadcast_shapes(batch, self._system.variation.batch)
        rows = [arrays.rows(np.asarray(x, dtype=np.float64), batch) for x in (q, v)]
        numbers = np.arange(self._system.count).reshape(self._system.variation.batch)
        which = np.broadcast_to(numbers, batch).reshape(-1).tolist()
        found = [alone(k, at, *row) for at, (k, *row) in enumerate(zip(which, *rows, strict=True))]
        return np.array(found).reshape(*batch, self._system.nv)

    @property
    def shortest(self) -> Callable[..., np.ndarray | None]:
        """Return a function that declines all states."""
        return lambda *rows: None

    def watch(self, joint: str) -> tuple[PlacedForce, ...]:
        """Return what counts the turns of a joint that somebody looks at."""
        return self._system.base.elements.watch(joint)

    def motor(self, joint: str) -> tuple[PlacedForce, ...]:
        """Return a force at a joint that closes a loop which is told from outside at every instant."""
        return self._system.base.elements.motor(joint)

    def _tell_stops(self, force: PlacedForce, joint: str) -> None:
        """Rigid stops take their stiffness from the inertia that the joint feels in each state."""
        mechanism = self._system.mechanism
        if mechanism.joints[joint].limit_stiffness is not None:
            return
        system = self._system
        own = [system.state(k).elements.stops[joint].kind.params() for k in range(system.count)]
        rows = np.array(own).reshape(*system.variation.batch, len(force.kind.params()))
        for evaluator in self._system.evaluators:
            evaluator.rows.tell_stops(force, rows)

    def _from_node(self, body: str) -> np.ndarray:
        """Return the matrices (states, 6, 6) that take motions from a body to its node."""
        R, p = self._system.evaluators[0].rows.place(body)
        turn = np.broadcast_to(R.T, (*p.shape[:-1], 3, 3))
        return stacks.inverse(stacks.motion_matrices(turn, p))
