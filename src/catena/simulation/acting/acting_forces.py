"""What acts on a mechanism during a run: a controller behind actuators with limits, the mechanism's own springs, stops
and wrenches, wrenches as functions of time, and joints whose motion is prescribed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from catena.dynamics.contacts.tip_forces import ContactForces
from catena.dynamics.tree.friction import rubs
from catena.errors import CatenaError, SimulationError, StateError
from catena.forces import PlacedForce
from catena.kernels.evaluation import Evaluator
from catena.mechanism.elements import driven
from catena.questions.actuator_limits import ActuatorLimits
from catena.simulation.acting.commands import forces_by_name, forces_given, require_actuated
from catena.simulation.acting.external import Push, as_wrench, push_of
from catena.simulation.acting.paths import Paths
from catena.simulation.acting.prescribed_joints import Guide, PrescribedJoints
from catena.simulation.acting.run_part import RunPart
from catena.simulation.acting.through_samples import through_samples
from catena.simulation.acting.tips import TipForces, with_tips
from catena.simulation.arguments import TimeSpan
from catena.simulation.guards.clock import Clock
from catena.simulation.problem import Problem
from catena.simulation.references.as_polynomial import InputPath
from catena.system import System, tree_forces
from catena.system.wrenches import on_nodes


class ActingForces(RunPart):
    """The forces on a batch of states of one system. `batch` is the shape that controllers see; without a controller
    forces may be `named` by who moves the states."""

    def __init__(self, problem: Problem, batch: tuple[int, ...], named: bool = False) -> None:
        system = problem.system
        self.named = named or (
            problem.control is not None and not getattr(problem.control, "compiles", False)
        )
        """Whether forces may be given by joint, as they are not by a formula."""
        self.problem, self.system, self.batch = problem, system, batch
        self.control, self.rate = problem.control, problem.rate
        self.clock = None if self.rate is None else Clock(self.rate)
        """When the controller is asked; None for always, or for no controller."""
        self.is_asked_always = self.control is not None and self.rate is None
        """Whether there is a controller without a rate of its own."""
        self.forces = {frame: as_wrench(applied) for frame, applied in problem.forces.items()}
        self.wrench_width = 6 * (len(self.forces) + len(problem.tips))
        """How many numbers of wrenches the compiled step is told."""
        self.motion = dict(problem.motion)
        self.limits = system.mechanics.evaluator.once(_limits)
        self.low, self.high, self.speed = self.limits.low, self.limits.high, self.limits.speed
        self.is_limited = self.limits.are_there
        self.slows = self.limits.slow_down
        self.holds_commands = False
        """Whether commands are told as they hold from one sample to the next, and motors that slow down limit them at
        every stage (`at_speed`)."""
        self.width = system.nv
        """How many control forces there are."""
        self.loop_columns: dict[str, slice] = {}
        """Where the control forces of loop joints are, behind those of the tree, if the controller may give some."""
        for loop in system.plan.loop_joints if self.named else ():
            self.loop_columns[loop.name] = slice(self.width, self.width + loop.kind.nv)
            self.width += loop.kind.nv
        self.at_loops: set[str] = set()
        """The loop joints that got forces by name."""
        self.idle_at_loops: set[str] = set()
        """Those of them that got forces where nothing drives them."""
        self.motors: tuple[str, ...] = ()
        """The loop joints whose forces the compiled step is told."""
        self.fault: tuple[float, str] | None = None
        """When a function last gave something that is not finite for a trial, and the words for it."""
        self.driven = self.prescribed.columns if self.motion else np.zeros(0, dtype=int)
        """The components of velocities that are prescribed."""
        elements = system.mechanics.elements
        for force in elements.placed:
            if force.kind.inputs:
                raise StateError(
                    f"Force {force.name!r}, a {type(force.kind).__name__}, is told {force.kind.inputs} numbers from "
                    "outside at every instant, and in a run nobody does so: take it out of the mechanism, and give "
                    "wrenches by simulate(..., forces={frame: function})."
                )
        self.has_python_elements = not elements.is_compiled
        own = () if self.has_python_elements else elements.placed
        watched = [f for joint in self._looked_at() for f in elements.watch(joint)] if system.loops else []
        pushing = [elements.applied(f, w.axes or f) for f, w in self.forces.items()]
        self.tips = TipForces(problem) if problem.tips else None
        felt = [elements.applied(x.frame, x.frame) for x in problem.tips]
        self.placed = (*own, *([] if self.has_python_elements else watched), *pushing, *felt)
        """The forces inside the compiled step: those of the mechanism, and wrenches that are told at every stage, with
        motors of loop joints behind them."""
        self._seen: tuple[np.ndarray, np.ndarray] | None = None
        self.paths: Paths | None = None
        self.push: Push | None = None
        self.guide: Guide | None = None
        self.energy = 0.0
        """The energy [J] by which works are judged at the start of a run: what is there to be moved about."""
        self.longest = np.inf
        """The longest step [s] of a run in which joints are driven."""
        self.compiled_motion = self.compiled_wrenches = False

    def start_control(self) -> None:
        """Let the controller forget the last run; one that goes on from another motion is not started anew."""
        start = getattr(self.control, "start", None)
        if start is not None:
            start(self.system, self.batch)
        tell = getattr(self.control, "tell_near", None)
        if tell is not None:
            tell(self.problem.near)

    def _looked_at(self) -> tuple[str, ...]:
        """Return the loop joints whose angles somebody looks at, besides the forces of the mechanism."""
        asked = (*getattr(self.control, "joints_looked_at", ()), *self.problem.looked_at)
        if not asked:
            return ()
        own = {force.at for force in self.system.mechanics.elements.placed}
        return tuple(dict.fromkeys(x for x in asked if x in self.system.loops and x not in own))

    @cached_property
    def prescribed(self) -> PrescribedJoints:
        """Return the joints that follow a motion each."""
        return PrescribedJoints(self.system, self.motion)

    @cached_property
    def counted(self) -> tuple[PlacedForce, ...]:
        """Return the forces at loop joints whose turns are counted."""
        placed = self.system.mechanics.elements.placed if self.has_python_elements else self.placed
        return tuple(force for force in placed if force.counts)

    def near_at(self, q: np.ndarray, by_joint: Mapping[str, Any]) -> np.ndarray:
        """Return the positions (states, n) that the joints of counted forces are near at q (states, nq): those next to
        the ones that are given by joint, or within half a turn of zero."""
        system, known = self.system, {}
        columns = [np.zeros((len(q), 0))]
        if not self.counted:
            return columns[0]
        for force in self.counted:
            if force.at not in known:
                near = by_joint.get(force.at)
                known[force.at] = np.asarray(system.joint_position(q, force.at, near))
            columns.append(known[force.at])
        return np.concatenate(columns, axis=-1)

    def near_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return how fast the positions (states, n) change that joints of counted forces are near."""
        rates = {force.at: None for force in self.counted}
        found = {joint: np.asarray(self.system.joint_velocity(q, v, joint)) for joint in rates}
        return np.concatenate([np.zeros((len(q), 0)), *(found[force.at] for force in self.counted)], axis=-1)

    def near_by_joint(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return positions (..., n) that joints of counted forces are near by joint, (..., nq of the joint)."""
        found, start = {}, 0
        for force in self.counted:
            assert force.joint is not None
            found[force.at] = rows[..., start : start + force.joint.nq]
            start += force.joint.nq
        return found

    @property
    def needs_motors(self) -> bool:
        """Return whether forces at loop joints are held while the mechanism moves, and the compiled step does not know
        them yet."""
        return not self.is_asked_always and bool(self.at_loops.difference(self.motors))

    def use_motors(self) -> None:
        """Let the compiled step know the forces at loop joints that the controller names."""
        self.placed = tuple(force for force in self.placed if force not in self._motors())
        self.motors = tuple(sorted({*self.motors, *self.at_loops}))
        self.placed = (*self.placed, *self._motors())

    def _motors(self) -> list[PlacedForce]:
        found = [force for joint in self.motors for force in self.system.mechanics.elements.motor(joint)]
        return found if all(force.is_compiled for force in found) else []

    @property
    def told_motors(self) -> list[int]:
        """Return which of the control forces the compiled step is told as forces at loop joints."""
        if not self._motors():
            return []
        return [k for joint in self.motors for k in range(self.width)[self.loop_columns[joint]]]

    def at_tree(self, q: np.ndarray, tau: np.ndarray, but_motors: bool = False) -> np.ndarray:
        """Return the forces (states, nv) of joints of the tree that move the mechanism at q (states, nq) as control
        forces tau (states, width) do; those that the compiled step is told may be left out."""
        own = tau[..., : self.system.nv]
        if not self.at_loops:
            return own
        known = self.motors if but_motors and self.told_motors else ()
        beside = {
            joint: tau[..., columns]
            for joint, columns in self.loop_columns.items()
            if joint not in known and tau[..., columns].any()
        }
        return own + tree_forces(self.system, q, beside) if beside else own

    def loop_forces(self, tau: np.ndarray) -> dict[str, np.ndarray]:
        """Return the control forces at loop joints by joint, (..., nv of the joint), of those that got some."""
        if not self.at_loops:
            return {}
        return {joint: tau[..., c] for joint, c in self.loop_columns.items() if joint in self.at_loops}

    def as_given(self, tau: np.ndarray) -> np.ndarray | dict[str, np.ndarray]:
        """Return control forces (width,) of one state as a controller gives them: (nv,), or by joint."""
        system, motors = self.system, self.loop_forces(tau)
        if not motors:
            return tau[: system.nv].copy()
        return {**{joint: tau[system.slice_v(joint)] for joint in system.joints}, **motors}

    def use_paths(self, start: float) -> None:
        """Let prescribed motions and wrenches compile into the step where they can, from the time `start` [s] on."""
        inside = self.prescribed.compiled() if self.motion else None
        self.compiled_motion = inside is not None
        motion, self.guide = inside or ({}, None)
        wrenches = [w.polynomial for w in self.forces.values()]
        if self.tips is not None:
            # Contacts must know all wrenches, from Python.
            pass
        elif self.forces and all(w.symbolic for w in self.forces.values()):
            self.push = push_of(tuple(self.forces.values()))
        elif self.forces and None not in wrenches:
            self.compiled_wrenches = True
        if motion or self.compiled_wrenches:
            known = [w for w in wrenches if w is not None] if self.compiled_wrenches else []
            self.paths = Paths(self.system, motion, known, start=start)

    @cached_property
    def law_paths(self) -> tuple[InputPath, ...] | None:
        """Return what a controller that is a formula is given, as polynomials; None where it is something else."""
        asked = getattr(self.control, "input_paths", None)
        return asked() if asked is not None else None

    def know_ahead(self, span: TimeSpan) -> bool:
        """Return whether what a controller that is a formula is given is known as polynomials in a run: its references,
        or for a sampled one what they are at all samples."""
        if self.law_paths is None and self.clock is not None:
            self.law_paths = through_samples(self.control, self.clock, span)
        return self.law_paths is not None

    def use_law_paths(self, start: float) -> None:
        """Let what the controller is given compile into the step, from the time `start` [s] on."""
        if self.law_paths:
            known = self.paths or Paths(self.system, {}, [])
            wrenches = [path for path, _ in known.wrenches]
            self.paths = Paths(self.system, known.motion, wrenches, self.law_paths, start)

    @property
    def asks_motion(self) -> bool:
        """Return whether Python must be asked where prescribed joints are."""
        return bool(self.motion) and not self.compiled_motion

    @property
    def asks_wrenches(self) -> bool:
        """Return whether Python must be asked for wrenches."""
        is_pushed = bool(self.forces) and not self.compiled_wrenches and self.push is None
        return is_pushed or self.tips is not None

    @property
    def is_python(self) -> bool:
        """Return whether something besides the controller must be asked from Python at every stage."""
        return self.asks_motion or self.asks_wrenches or self.has_python_elements

    @property
    def is_left_alone(self) -> bool:
        """Return whether nothing acts but what belongs to the mechanism, and nobody looks at its joints."""
        problem = self.problem
        acts = self.control is not None or self.named or bool(self.forces or self.motion or problem.looked_at)
        return not (acts or problem.tips) and problem.touching is None and problem.landing is None

    @property
    def exchanges_energy(self) -> bool:
        """Return whether something may exchange energy with the mechanism, which is work that counts."""
        acts = self.control is not None or bool(self.forces or self.motion or self.tips)
        met = self.problem.touching is not None or self.problem.landing is not None
        return acts or met or not self.system.mechanics.elements.is_empty or rubs(self.system.plan)

    def command(
        self, t: float, q: np.ndarray, v: np.ndarray, states: np.ndarray | None = None, trial: bool = False
    ) -> np.ndarray:
        """Return what the controller gives for the states q (n, nq), v (n, nv) within the limits of the actuators,
        (n, width): at joints of the tree, and behind them at those that close loops. `states` (n,) says which states of
        the batch they are, all in order if None. Forces that are not finite are returned for a `trial`, which may have
        gone astray; otherwise they are an error."""
        if self.control is None:
            return np.zeros((len(q), self.width))
        if not self.batch:
            return np.array([self.command_of_one(t, *one, trial) for one in zip(q, v, strict=True)])
        # A controller may have gains for each state of its batch, so it is always asked for all of them.
        rows = np.arange(len(q)) if states is None else states
        if self._seen is None or len(self._seen[0]) != int(np.prod(self.batch)):
            self._seen = q.copy(), v.copy()
        self._seen[0][rows], self._seen[1][rows] = q, v
        everyone = [x.reshape(*self.batch, x.shape[-1]).copy() for x in self._seen]
        at = self._seen[0].reshape(everyone[0].shape)
        return self._checked(t, self.control(t, *everyone), self.batch, at, self._seen[1], trial)[rows]

    def command_of_one(self, t: float, q: np.ndarray, v: np.ndarray, trial: bool = False) -> np.ndarray:
        """Return what `command` does, (width,), for the one state q (nq,), v (nv,) that there is."""
        if self.control is None:
            return np.zeros(self.width)
        # Controllers get copies: what they do to their arguments is their own business.
        given = self.control(t, q.copy(), v.copy())
        if type(given) is np.ndarray and given.dtype == np.float64 and given.shape == v.shape:
            # A sum of squares that is finite is one of numbers that are.
            if isfinite(given.dot(given)):
                tau = self.limited(given, v)
                return tau if self.width == len(tau) else self._wide(tau[None])[0]
        return self._checked(t, given, (), q, v[None], trial)[0]

    def command_at(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return what the controller gives to states (states, ...) at their times t (states,)."""
        times = np.where(np.isfinite(t), t, 0.0)
        if np.all(times == times[0]):
            return self.command(float(times[0]), q, v)
        found = np.zeros((len(q), self.width))
        for x in np.unique(times):
            who = np.flatnonzero(times == x)
            found[who] = self.command(float(x), q[who], v[who], who)
        return found

    def checked(self, t: float, answer: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return forces (nv,) within limits that do at the tree what a controller gave at a state q (nq,), v (nv,)."""
        return self.at_tree(q[None], self._checked(t, answer, (), q, v[None]))[0]

    def _wide(self, tau: np.ndarray) -> np.ndarray:
        """Return forces (n, nv) of the tree with none at loop joints, (n, width)."""
        if self.width == tau.shape[-1]:
            return tau
        return np.concatenate([tau, np.zeros((len(tau), self.width - tau.shape[-1]))], axis=-1)

    def limited(self, tau: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return forces (..., nv) that actuators can give at velocities v (..., nv), or at rest where commands are
        held."""
        if not self.is_limited:
            return tau.copy()
        return self.limits.limited(tau, 0.0 * v if self.holds_commands else v)

    def at_speed(self, tau: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return what actuators give of commands (..., width) at velocities v (..., nv)."""
        nv = self.system.nv
        limited = self.limits.limited(tau[..., :nv], v)
        return limited if tau.shape[-1] == nv else np.concatenate([limited, tau[..., nv:]], axis=-1)

    def _checked(
        self, t: float, answer: Any, batch: tuple[int, ...], q: np.ndarray, v: np.ndarray, trial: bool = False
    ) -> np.ndarray:
        """Return forces (states, nv) from what a controller gave for states of the shape `batch` at q (..., nq), which
        move at v (states, nv)."""
        if not isinstance(answer, Mapping):
            tau, fault = forces_given(self.system, self.control, t, answer, batch)
            if fault and not trial:
                raise SimulationError(fault)
            self.fault = (t, fault) if fault else self.fault
            return self._wide(self.limited(tau, v))
        try:
            own, there = self.by_name(answer, q, v.reshape(*q.shape[:-1], self.system.nv))
            tau = self._checked(t, own, batch, q, v, trial)
            for joint, force in there.items():
                columns = self.loop_columns[joint]
                wide = np.broadcast_to(force, (*batch, columns.stop - columns.start))
                tau[:, columns] = wide.reshape(len(tau), -1)
        except SimulationError:
            raise
        except CatenaError as error:
            raise SimulationError(f"The controller gave forces by name at t = {t:.9g} s: {error}") from error
        return tau

    def by_name(
        self, forces: Mapping[str, Any], q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return forces (..., nv) at joints of the tree from those given by joint at q (..., nq) and v (..., nv), and
        those at loop joints by joint, (..., nv of the joint), within the limits of their actuators."""
        at_tree, found = forces_by_name(self.system, forces, q, v)
        joints, actuators = self.system.mechanism.joints, self.system.mechanism.actuators
        for joint, x in found.items():
            forced = x.reshape(-1, x.shape[-1]).any(axis=0)
            if forced.any():
                self.at_loops.add(joint)
            if np.any(forced & ~driven(joints[joint], actuators)):
                self.idle_at_loops.add(joint)
        return at_tree, found

    def begun(self, t: float, q: np.ndarray, v: np.ndarray, held: Any = None) -> np.ndarray:
        """Return what the controller gives to begin with, (n, nv), or what it is `held` to have given before, and
        refuse it at joints that are not actuated. What it gives there later on, the audit tells: no run is lost for
        it."""
        if held is None and self.control is None:
            return np.zeros((len(q), self.width))
        if held is None:
            tau = self.command(t, q, v)
        else:
            tau = self._checked(t, held, self.batch, q.reshape(*self.batch, -1), v)
        require_actuated(self.system, t, tau[:, : self.system.nv], sorted(self.idle_at_loops))
        return tau

    def told_wrenches(
        self, t: float, q: np.ndarray, v: np.ndarray, trial: bool = False, tau: np.ndarray | None = None,
        near: np.ndarray | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Return the wrenches that the compiled step is given, (states, 6 for each), each in its axes; they need not be
        finite for a `trial`. Those that contacts of tips need the control forces tau (states, width) for are behind the
        others."""
        rows = []
        for frame, w in self.forces.items():
            rows.append(np.broadcast_to(w.at(frame, t, q, v, trial), (len(q), 6)))
            if trial and not np.isfinite(rows[-1]).all():
                self.fault = (
                    t,
                    f"The wrench on {frame!r} is not finite at t = {t:.9g} s; give finite numbers.",
                )
        if self.tips is None:
            return np.concatenate(rows, axis=1)
        try:
            if not all(np.isfinite(x).all() for x in rows):
                raise SimulationError(self.fault[1] if self.fault else "a wrench is not finite")
            passing = self.tip_forces(t, q, v, tau, near)
            rows += [contact.on_tip for contact in passing]
        except CatenaError as error:
            if not trial:
                raise SimulationError(f"At t = {t:.9g} s: {error}") from error
            self.fault = t, f"At t = {t:.9g} s: {error}"
            rows.append(np.full((len(q), 6 * len(self.tips.contacts)), np.nan))
        return np.concatenate(rows, axis=1)

    def tip_forces(
        self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray | None, near: np.ndarray | None = None
    ) -> tuple[ContactForces, ...]:
        """Return what passes through the contacts of tips at one time, under control forces tau (states, width), where
        loop joints are next to positions near (states, n)."""
        assert self.tips is not None and tau is not None
        driven = {joint: parts[2] for joint, parts in self.prescribed.at(t).items()} if self.motion else {}
        turned = None if near is None else self.near_by_joint(near) or None
        return self.tips.at(t, q, v, self.at_tree(q, tau), self._given_wrenches(t, q, v), driven, turned)

    def beyond_compiled(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the joint forces (states, nv) and the wrenches on nodes (states, 6 n) of what does not compile,
        added to the control forces tau (states, nv), where loop joints are next to positions near (states, n)."""
        plan, own = self.system.plan, self.system.forces.loads(q, v, self.near_by_joint(near))
        wrenches = (
            on_nodes(plan, own.f_ext, lambda name: name) if own.f_ext else np.zeros((len(q), 6 * plan.n))
        )
        return tau + own.tau, wrenches

    def wrenches(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        near: np.ndarray | None = None,
    ) -> dict[str, np.ndarray]:
        """Return the wrenches (states, 6) on their frames, in the axes of these frames, at one time; with those of
        contacts of tips, which the control forces tau (states, width) are needed for."""
        found = self._given_wrenches(t, q, v)
        return found if self.tips is None else with_tips(found, self.tip_forces(t, q, v, tau, near))

    def _given_wrenches(self, t: float, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        wrenches = {f: np.broadcast_to(w.at(f, t, q, v), (len(q), 6)) for f, w in self.forces.items()}
        return self._turned(self.system, q, wrenches)

    def wrenches_over(self, times: np.ndarray, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return the wrenches (states, samples, 6) on their frames, in the axes of these frames, at the times
        (samples,) and the states q (states, samples, nq), v (states, samples, nv) there."""
        wrenches = {f: w.over(f, times, q, v) for f, w in self.forces.items()}
        # Parameters that differ from state to state are the same at all samples.
        system = self.system.variants.reshaped((len(q), 1)) if self.system.variants.shape else self.system
        return self._turned(system, q, wrenches)

    def _turned(
        self, system: System, q: np.ndarray, wrenches: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return wrenches (..., 6) in the axes of the frames they act on, from those in the axes they are given in."""
        axes = {frame: self.forces[frame].axes for frame in wrenches}
        turned = {frame: a for frame, a in axes.items() if a not in (None, frame)}
        if not turned:
            return wrenches
        names = {*turned, *turned.values()}
        # One state more in front, so that poses are matrices whatever the shape of q.
        turns = {name: np.asarray(system.pose(q[None], name))[0, ..., :3, :3] for name in names}
        for frame, a in turned.items():
            turn = np.swapaxes(turns[frame], -1, -2) @ turns[a]
            wrench = wrenches[frame]
            parts = turn[..., None, :, :] @ wrench.reshape(*wrench.shape[:-1], 2, 3, 1)
            wrenches[frame] = parts.reshape(wrench.shape)
        return wrenches

    def accelerations(
        self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray, near: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the accelerations (states, nv) under the control forces tau (states, width) and everything else, where
        loop joints are next to positions near (states, n)."""
        acts = self.forces or self.tips is not None
        tau, f_ext = self.at_tree(q, tau), self.wrenches(t, q, v, tau, near) if acts else None
        turned = None if near is None else self.near_by_joint(near) or None
        if self.motion:
            vdot = {joint: parts[2] for joint, parts in self.prescribed.at(t).items()}
            return self.system.hybrid_dynamics(q, v, tau, vdot, f_ext=f_ext, near=turned)[0]
        if f_ext is None and turned is None and len(q) == 1:
            # One state takes the short way.
            return self.system.forward_dynamics(q[0], v[0], tau[0])[None]
        return self.system.forward_dynamics(q, v, tau, f_ext=f_ext, near=turned)


def _limits(evaluator: Evaluator) -> ActuatorLimits:
    return ActuatorLimits.of(evaluator.mechanism, evaluator.plan)
