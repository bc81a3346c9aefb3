"""What moves a mechanism besides the forces of its contacts, and what these would do: its free motion and its mobility
at contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from catena.dynamics.flexible_body import tree_dynamics
from catena.dynamics.force_sweeps import with_forces
from catena.simulation import loads
from catena.simulation.contacts.geometry import Places, Touches
from catena.simulation.contacts.stuck import with_joints
from catena.simulation.excitation import Excitation
from catena.simulation.problem import Problem
from catena.spatial import Pose
from catena.system import System


@dataclass(eq=False)
class Acting:
    """A problem without its contacts, and where these are. Times are those of the whole run."""

    problem: Problem
    places: Places
    _some: dict[tuple[int, ...], Places] = field(default_factory=dict)
    _stuck: dict[tuple[int, ...], System] = field(default_factory=dict)

    def places_of(self, contacts: Sequence[int]) -> Places:
        """Return where some of the contacts are."""
        key = tuple(contacts)
        if key not in self._some:
            self._some[key] = self.places.some(key)
        return self._some[key]

    def stuck(self, contacts: Sequence[int], q: np.ndarray, v: np.ndarray) -> System:
        """Return the system in which some of the contacts stick where they touch at a state q (nq,), v (nv,)."""
        key, touches, own = tuple(contacts), self.places.at(q[None], v[None]), self.places
        places = []
        for k in key:
            if own.r[k] > 0.0:
                # A point of the other side sticks on the ball.
                R = touches.stands[0, own.a[k], :9].reshape(3, 3)
                back = own.back_a[k] @ R @ touches.axes[0, k].T
                places.append((Pose(), Pose(p=-back @ touches.at[0, k])))
            else:
                places.append((Pose(p=touches.at[0, k]), Pose()))
        before = self._stuck.get(key)
        found = with_joints(self.system, [self.places.contacts[k] for k in key], places, before)
        self._stuck.setdefault(key, found)
        return found

    @property
    def system(self) -> System:
        """Return the system without contacts."""
        return self.problem.system

    @cached_property
    def excitation(self) -> Excitation:
        """Return what acts."""
        return Excitation(self.problem, ())

    def command(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the control forces (nv,) at one state."""
        return self.excitation.command(t, q[None], v[None])[0]

    def free(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the accelerations (states, nv) without contacts at the times t (states,), under control forces tau
        (states, nv)."""
        return self._accelerations(t, q, v, tau, np.zeros((len(q), 0, self.system.nv)))[:, 0]

    def mobility(self, q: np.ndarray, touches: Touches) -> tuple[np.ndarray, np.ndarray]:
        """Return what unit forces at contacts accelerate the system by, (states, contacts, 3, nv), and what that does
        at all contacts, (states, contacts, 3, contacts, 3). Joints whose motion is prescribed do not give way."""
        system, nv = self.system, self.system.nv
        states, k = touches.gap.shape
        rows = np.concatenate([np.zeros((states, 1, nv)), touches.A.reshape(states, 3 * k, nv)], axis=1)
        every = np.repeat(q, 3 * k + 1, axis=0)
        tau = rows.reshape(-1, nv)
        rest = np.zeros_like(tau)
        if self.excitation.motion:
            held = {
                joint: np.zeros(len(range(nv)[system.slice_v(joint)])) for joint in self.excitation.motion
            }
            found = system.hybrid_dynamics(every, rest, tau, held)[0]
        else:
            found = system.forward_dynamics(every, rest, tau)
        return self._mobility(found.reshape(states, 3 * k + 1, nv), touches)

    def both(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, touches: Touches
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the accelerations (states, nv) without contacts, and what unit forces do at all contacts (states,
        contacts, 3, contacts, 3), found together."""
        states, k = touches.gap.shape
        found = self._accelerations(t, q, v, tau, touches.A.reshape(states, 3 * k, -1))
        return found[:, 0], self._mobility(found, touches)[1]

    def _accelerations(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, more: np.ndarray
    ) -> np.ndarray:
        """Return the accelerations (states, 1 + n, nv) under control forces tau (states, nv) and all that acts, without
        and with each of the further joint forces (states, n, nv)."""
        excitation, system = self.excitation, self.system
        n, nv = 1 + more.shape[1], system.nv
        every_q, every_v = np.repeat(q, n, axis=0), np.repeat(v, n, axis=0)
        told = np.repeat(tau, n, axis=0).reshape(len(q), n, nv)
        told[:, 1:] += more
        rows = told.reshape(-1, nv)
        if self._compiles:
            given = {"q": every_q, "qd": every_v, "given": rows}
            algorithm = with_forces(tree_dynamics(system.plan))
            found = system.evaluator.evaluate(algorithm, given, forces=system.elements.placed)["qdd"]
            return found.reshape(len(q), n, nv)
        # Each state has a time of its own: states are samples of one motion.
        wrenches = {name: x[0] for name, x in excitation.wrenches_over(t, q[None], v[None]).items()}
        own, f_ext = loads.applied(system, q, v, np.zeros_like(tau), wrenches)
        rows = rows + np.repeat(own, n, axis=0)
        acts = None if f_ext is None else {name: np.repeat(x, n, axis=0) for name, x in f_ext.items()}
        if excitation.motion:
            driven = {j: np.repeat(x, n, axis=0) for j, x in excitation.accelerations_driven(t).items()}
            found = system.hybrid_dynamics(every_q, every_v, rows, driven, f_ext=acts)[0]
        else:
            found = system.forward_dynamics(every_q, every_v, rows, f_ext=acts)
        return found.reshape(len(q), n, nv)

    @cached_property
    def _compiles(self) -> bool:
        """Return whether all that acts is compiled into one algorithm of trees."""
        excitation, system = self.excitation, self.system
        nothing_else = not excitation.motion and not excitation.forces and not system.plan.total_constraints
        elements = system.elements
        return nothing_else and not elements.is_empty and elements.is_compiled and not system.loops

    @staticmethod
    def _mobility(found: np.ndarray, touches: Touches) -> tuple[np.ndarray, np.ndarray]:
        states, k = touches.gap.shape
        A = touches.A.reshape(states, 3 * k, -1)
        response = found[:, 1:] - found[:, :1]
        W = response @ np.swapaxes(A, -1, -2)
        W = 0.5 * (W + np.swapaxes(W, -1, -2))
        return response.reshape(states, k, 3, -1), W.reshape(states, k, 3, k, 3)
