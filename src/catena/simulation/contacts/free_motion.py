"""What moves a mechanism besides the forces of its contacts, and what these would do: its free motion and its mobility
at contacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.dynamics.elements.force_sweeps import with_forces
from catena.dynamics.flexible.flexible_body import tree_dynamics
from catena.kernels import Algorithm
from catena.kinematics import integrate
from catena.simulation.acting import loads
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.contacts.bearing import Bearing
from catena.simulation.contacts.contact import Contact
from catena.simulation.contacts.geometry import ContactPlaces, Touches
from catena.simulation.contacts.kept import Kept, can_keep
from catena.simulation.contacts.stops_in_joints import forces_in_joints
from catena.simulation.contacts.stuck import with_joints
from catena.simulation.lanes import Asked, Going
from catena.simulation.problem import Problem
from catena.simulation.turns import TurnsAlong
from catena.spatial import Pose
from catena.system import System

if TYPE_CHECKING:
    from catena.simulation.contacts.holding import Holding
    from catena.simulation.results.segment import Segment


@dataclass(eq=False)
class FreeMotion:
    """A problem without its contacts, and where these are. Times are those of the whole run."""

    problem: Problem
    places: ContactPlaces
    _some: dict[tuple[int, ...], ContactPlaces] = field(default_factory=dict)
    due: float = -np.inf
    """When a controller with a rate is asked next [s]."""
    _commanded: np.ndarray | None = None
    near: Mapping[str, Any] = field(default_factory=dict)
    """The positions that loop joints are next to when the motion begins."""
    _kept: dict[int, Kept] = field(default_factory=dict)
    bearing: Bearing | None = None
    """The friction that loads of joints make, None where they make none."""
    holding: Holding | None = None
    """Contacts as they were decided about last, for controllers that feel their forces."""

    def places_of(self, contacts: Sequence[int]) -> ContactPlaces:
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
        sticking = [contact for k in key if isinstance(contact := own.contacts[k], Contact)]
        return with_joints(self.system, sticking, places)

    @property
    def system(self) -> System:
        """Return the system without contacts."""
        return self.problem.system

    @cached_property
    def acting(self) -> ActingForces:
        """Return what acts; its controller is started."""
        found = ActingForces(self.problem, ())
        found.start_control()
        return found

    @cached_property
    def turns(self) -> TurnsAlong:
        """Return the turns of loop joints that forces look at."""
        counted = [force.at for force in self.system.mechanics.elements.placed if force.counts]
        return TurnsAlong(self.system, tuple(dict.fromkeys(counted)), self.near)

    def know(self, run: Segment) -> None:
        """Take over how the motion went on."""
        self.turns.know(run.t, run.q, run.v, run.loop_positions)
        self.near = {**self.near, **{joint: x[-1] for joint, x in run.loop_positions.items()}}

    def besides(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> loads.Besides:
        """Return what is known of loop joints at times t (n,) and states q (n, nq), v (n, nv)."""
        return loads.Besides(near=self.turns.at(t, q, v)) if self.turns.joints else loads.NOTHING

    def near_positions(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the positions (1, n) that joints of forces which count turns are near at a time and a state q (nq,), v
        (nv,)."""
        at, joints = (np.array([t]), q[None], v[None]), [force.at for force in self.acting.counted]
        known = {joint: self.turns.one(*at, joint) for joint in dict.fromkeys(joints)}
        return np.concatenate([np.zeros((1, 0)), *(known[joint] for joint in joints)], axis=-1)

    @property
    def load(self) -> np.ndarray:
        """Return the friction of slips (contacts,) that loads of joints made last."""
        return np.zeros(len(self.places.contacts)) if self.bearing is None else self.bearing.load

    def bears(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Return what tells what loads make of friction (states, contacts) under forces (states, contacts, 3) of all
        contacts, at the times t (states,) and states q (states, nq), v (states, nv), under control forces tau (states,
        nv)."""
        assert self.bearing is not None
        return self.bearing.at(q, v, tau, *self.outside(t, q, v), self.besides(t, q, v))

    @cached_property
    def changes_by_itself(self) -> bool:
        """Return whether something acts that may change although nothing moves: it is asked from Python."""
        acting = self.acting
        return bool(acting.forces or acting.motion or acting.is_asked_always)

    @cached_property
    def has_others(self) -> bool:
        """Return whether wrenches are given, or motions prescribed."""
        return bool(self.acting.forces or self.acting.motion)

    def outside(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return the wrenches that are given (samples, 6), and how prescribed joints accelerate (samples, nv of the
        joint), at the times t (samples,) and states there."""
        if not self.has_others:
            return {}, {}
        wrenches = {name: x[0] for name, x in self.acting.wrenches_over(t, q[None], v[None]).items()}
        return wrenches, self.acting.prescribed.accelerations(t)

    def with_contacts(
        self, wrenches: Mapping[str, np.ndarray], q: np.ndarray, v: np.ndarray, forces: np.ndarray,
        at: ContactPlaces | None = None,
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Return wrenches (samples, 6) that are given and those of forces (samples, contacts, 3) of all contacts, or of
        those `at` some places."""
        found, places = dict(wrenches), self.places if at is None else at
        if not places.contacts:
            return found
        for body, wrench in places.wrenches(places.at(q, v), forces).items():
            found[body] = found[body] + wrench if body in found else wrench
        return found

    def command(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the control forces (nv,) of the tree at one state that do what a controller gives; one with a rate is
        taken by what it has given last."""
        if self.acting.control is None:
            return self._nothing
        forces = self.commands(t, q, v)
        if not self.acting.at_loops:
            return forces[: len(v)]
        return self.acting.at_tree(q[None], forces[None])[0]

    def commands(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return what a controller gives, (width,): at joints of the tree, and then at those that close loops."""
        return self.acting.command_of_one(t, q, v) if self._commanded is None else self._commanded

    @cached_property
    def _nothing(self) -> np.ndarray:
        none = np.zeros(self.system.nv)
        none.setflags(write=False)
        return none

    def waiting(self, t: float, q: np.ndarray, v: np.ndarray) -> Going[None]:
        """Wait for the other states of a batch where a controller is due that is asked for all of them at once."""
        clock, waits = self.acting.clock, self.waits
        if clock is not None and waits is not None and t >= self.due - clock.slack:
            yield waits(t, q, v)

    @cached_property
    def waits(self) -> Callable[..., Asked] | None:
        """Return what a state waits for at a sample, None where it is asked for alone."""
        return getattr(self.acting.control, "wait", None)

    def keep_time(self, t: float, q: np.ndarray, v: np.ndarray) -> bool:
        """Ask a controller with a rate if it is due at a state that the motion has come to, and return whether it was.
        It is asked once for each sample, in order: never for a state that a contact may yet forbid."""
        clock = self.acting.clock
        if clock is None or t < self.due - clock.slack:
            return False
        feels = self.feels
        if feels is not None:
            feels(*self._felt(t, q, v))
        self._commanded = self.acting.command_of_one(t, q, v)
        self.due = clock.after(t)
        return True

    @cached_property
    def feels(self) -> Callable[..., None] | None:
        """Return what tells the controller what acts before it is asked, None where it does not want to know."""
        return getattr(self.acting.control, "feel", None)

    def rest_controls(self) -> None:
        """Let the controller give nothing as long as it has not been asked."""
        self._commanded = np.zeros(self.acting.width)

    def _felt(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[dict[str, np.ndarray], ...]:
        """Return what acts at a state under the control forces that were given last: wrenches {frame: (6,)}, how driven
        joints accelerate, and forces inside joints."""
        at, holding, places = (np.array([t]), q[None], v[None]), self.holding, self.places
        wrenches, driven = self.outside(*at)
        stops: dict[str, np.ndarray] = {}
        if holding is not None and holding.closed:
            commanded = np.zeros(self.acting.width) if self._commanded is None else self._commanded
            forces = np.zeros((1, len(places.contacts), 3))
            tau = self.acting.at_tree(q[None], commanded[None])
            forces[:, holding.closed] = holding.forces(*at, tau, at_edge=True).f
            stops = forces_in_joints(places, forces)
            inside = {k for k, *_ in places.in_joints}
            own = [k for k in holding.closed if k not in inside]
            wrenches = self.with_contacts(wrenches, *at[1:], forces[:, own], self.places_of(own))
        first = ({name: x[0] for name, x in each.items()} for each in (wrenches, driven, stops))
        return tuple(first)

    def until(self, end: float) -> float:
        """Return up to when the control forces of a controller with a rate hold, at most up to an end."""
        return end if self.acting.clock is None else min(end, self.due)

    def free(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the accelerations (states, nv) without contacts at the times t (states,), under control forces tau
        (states, nv)."""
        return self.accelerations(t, q, v, tau, np.zeros((len(q), 0, self.system.nv)))[:, 0]

    def mobility(self, q: np.ndarray, touches: Touches) -> tuple[np.ndarray, np.ndarray]:
        """Return what unit forces at contacts accelerate the system by, (states, contacts, 3, nv), and what that does
        at all contacts, (states, contacts, 3, contacts, 3). Joints whose motion is prescribed do not give way."""
        system, nv = self.system, self.system.nv
        states, k = touches.gap.shape
        rows = np.concatenate([np.zeros((states, 1, nv)), touches.A.reshape(states, 3 * k, nv)], axis=1)
        every = np.repeat(q, 3 * k + 1, axis=0)
        tau = rows.reshape(-1, nv)
        rest = np.zeros_like(tau)
        if self.acting.motion:
            held = {joint: np.zeros(len(range(nv)[system.slice_v(joint)])) for joint in self.acting.motion}
            found = system.hybrid_dynamics(every, rest, tau, held, elements=False)[0]
        else:
            found = system.forward_dynamics(every, rest, tau, elements=False)
        return self._mobility(found.reshape(states, 3 * k + 1, nv), touches)

    def weigh(self, q: np.ndarray) -> None:
        """Let components with dry friction yield across their direction by about as much as along it at q (nq,)."""
        places = self.places
        if places.dry:
            W = self.mobility(q[None], places.at(q[None], np.zeros((1, self.system.nv))))[1][0]
            along = np.maximum(W[np.arange(len(W)), 0, np.arange(len(W)), 0], 1e-300)
            places.alone = np.where(places.is_dry, along, 0.0)

    def both(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, touches: Touches
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the accelerations (states, nv) without contacts, what unit forces at contacts add to them (states,
        contacts, 3, nv), and what that does at all contacts (states, contacts, 3, contacts, 3), found together."""
        states, k = touches.gap.shape
        found = self.accelerations(t, q, v, tau, touches.A.reshape(states, 3 * k, -1))
        return found[:, 0], *self._mobility(found, touches)

    def integrated(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return q (+) step for one configuration q (nq,) and a step (nv,)."""
        quick = None if self._integrates is None else self._integrates(q=q[None], qd=step[None])
        return self.system.integrate(q, step) if quick is None else quick["q_next"][0].copy()

    @cached_property
    def _integrates(self) -> Kept | None:
        return Kept(self.system, integrate, 1) if can_keep(self.system) else None

    def accelerations(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, more: np.ndarray
    ) -> np.ndarray:
        """Return the accelerations (states, 1 + n, nv) under control forces tau (states, nv) and all that acts, without
        and with each of the further joint forces (states, n, nv)."""
        acting, system = self.acting, self.system
        n, nv = 1 + more.shape[1], system.nv
        every_q, every_v = np.repeat(q, n, axis=0), np.repeat(v, n, axis=0)
        told = np.repeat(tau, n, axis=0).reshape(len(q), n, nv)
        told[:, 1:] += more
        rows = told.reshape(-1, nv)
        if self._compiled is not None:
            algorithm, target = self._compiled
            given = {"q": every_q, "qd": every_v, target: rows}
            kept = self._kept_for(len(rows)) if len(q) == 1 else None
            quick = None if kept is None else kept(**given)
            if quick is not None:
                return quick["qdd"].reshape(1, n, nv).copy()
            if target == "given":
                found = system.mechanics.evaluator.evaluate(
                    algorithm, given, forces=system.mechanics.elements.placed
                )["qdd"]
                return found.reshape(len(q), n, nv)
        # Each state has a time of its own: states are samples of one motion.
        wrenches = {name: x[0] for name, x in acting.wrenches_over(t, q[None], v[None]).items()}
        besides = self.besides(t, q, v)
        rows = rows + np.repeat(loads.acting_forces(system, q, np.zeros_like(tau), besides), n, axis=0)
        acts = {name: np.repeat(x, n, axis=0) for name, x in wrenches.items()} or None
        near = {joint: np.repeat(x, n, axis=0) for joint, x in besides.near.items()} or None
        if acting.motion:
            driven = {j: np.repeat(x, n, axis=0) for j, x in acting.prescribed.accelerations(t).items()}
            found = system.hybrid_dynamics(every_q, every_v, rows, driven, f_ext=acts, near=near)[0]
        else:
            found = system.forward_dynamics(every_q, every_v, rows, f_ext=acts, near=near)
        return found.reshape(len(q), n, nv)

    @cached_property
    def _compiled(self) -> tuple[Algorithm, str] | None:
        """Return the algorithm of trees that all that acts is compiled into, and what it calls control forces; None
        where something acts that it does not know."""
        acting, system, elements = self.acting, self.system, self.system.mechanics.elements
        if acting.motion or acting.forces or system.plan.total_constraints or system.loops:
            return None
        own = tree_dynamics(system.plan)
        if elements.is_empty:
            return own, "tau"
        return (with_forces(own), "given") if elements.is_compiled else None

    def _kept_for(self, states: int) -> Kept | None:
        """Return the algorithm with workspaces for so many states, None where it cannot be kept."""
        if self._compiled is None or not can_keep(self.system):
            return None
        if states not in self._kept:
            algorithm, target = self._compiled
            absent = {*algorithm.inputs, *algorithm.ground_inputs} - {"q", "qd", target}
            self._kept[states] = Kept(
                self.system, algorithm, states, absent, self.system.mechanics.elements.placed
            )
        return self._kept[states]

    @staticmethod
    def _mobility(found: np.ndarray, touches: Touches) -> tuple[np.ndarray, np.ndarray]:
        states, k = touches.gap.shape
        A = touches.A.reshape(states, 3 * k, -1)
        response = found[:, 1:] - found[:, :1]
        W = response @ np.swapaxes(A, -1, -2)
        W = 0.5 * (W + np.swapaxes(W, -1, -2))
        if touches.alone.any():
            for across in (1, 2):
                rows = np.arange(across, 3 * k, 3)
                W[:, rows, rows] += touches.alone
        return response.reshape(states, k, 3, -1), W.reshape(states, k, 3, k, 3)
