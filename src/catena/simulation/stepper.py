"""One step at a time, for those who own the loop: control, learning, hardware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.dynamics.contacts.tip_contact import TipContact
from catena.errors import SimulationError, StateError
from catena.kernels import FORCE_INPUTS, NEAR, Session
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.arguments import initial_state
from catena.simulation.contacts import Contact, Stop, tips_apart
from catena.simulation.contacts.landing import Landing
from catena.simulation.following import nobody_follows
from catena.simulation.guards.events import Event
from catena.simulation.guards.instant import Instant
from catena.simulation.problem import Applied, Control, ForcesByFormula, Problem
from catena.simulation.references.protocol import Prescribed
from catena.simulation.scenario import Change, Described
from catena.simulation.scenario.resolving import controller, events_of, motions, named_numbers, wrenches
from catena.simulation.several import HeldForces, Several
from catena.simulation.starting import begun
from catena.simulation.stepping.compiled import CompiledSteps
from catena.simulation.stepping.drift import Drift, Remedy
from catena.simulation.stepping.faults import RUNAWAY, joint_of
from catena.simulation.stepping.integrators import ADAPTIVE, FIXED_STEPS, INTEGRATORS, SOLVERS
from catena.simulation.stepping.methods.method import method_of
from catena.simulation.stepping.methods.sticking import STICKING_NUMBERS
from catena.simulation.structure_changes import is_changing
from catena.simulation.timeline import Happened, Timeline
from catena.simulation.turns import near_rows
from catena.system import System
from catena.validation import is_finite, is_one_of, is_positive, real_array, shown

# Steps of "abm4" need three before them, which a motion that goes on step by step does not keep.
METHODS = tuple(name for name in INTEGRATORS if name != "abm4")
# Adaptive methods take the step they are told to, whatever its error.
ANY_ERROR = 1e280


@dataclass(frozen=True, eq=False)
class StepperState:
    """What a stepper has saved at the time t [s]."""

    stepper: Stepper
    t: float
    timeline: Timeline | None
    held: Any


class Stepper:
    """Moves a state, or a batch of states, by steps of `step` seconds under forces that its caller gives, or under a
    controller.

    `q` (..., nq) and `v` (..., nv) are where it begins, the mechanism's own initial state unless given. The other
    arguments are those of `simulate`, formulas among them, and so are all methods but "abm4"; the motion begins at
    `start` [s]. Springs, stops, wrenches and friction of the mechanism act. Everything is laid out when the stepper is
    made, so that a step costs little.

    With a controller, contacts, events or changes, with a stiff method, and in other `coordinates` than those of
    joints, a step is what a run does in that time: methods that choose their steps do so within it by `rtol` and
    `atol`. Without, "dopri5" and "dop853" take the step as told and do not look at its error. `happened` tells the
    events and the changes of the last step, `system` is the structure now, and `ended` says why nothing goes on, if an
    event ended the motion. With contacts, or events that change the structure, every state of a batch has a motion of
    its own, and a structure, `stepper.state(k)`: where structures differ, q and v are arrays of the shape of the batch,
    of arrays (nq,) and (nv,). A controller then has a memory of its own for each state. `save_state` and
    `restore_state` let it go on from where it was.
    """

    def __init__(
        self,
        system: System,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        step: float = 1e-3,
        integrator: str = "rk4",
        motion: Mapping[str, Prescribed | ArrayLike | str] | None = None,
        forces: Mapping[str, Applied | Sequence[float | str]] | None = None,
        drift: str | Remedy = "projection",
        near: Mapping[str, ArrayLike] | None = None,
        control: Control | Described | ForcesByFormula | None = None,
        contacts: Sequence[Contact | Stop | TipContact] = (),
        events: Sequence[Event | Control | str] | Event | Control | str = (),
        changes: Sequence[Change] = (),
        parameters: Mapping[str, ArrayLike] | None = None,
        start: float = 0.0,
        rtol: float = 1e-11,
        atol: float = 1e-13,
        coordinates: str = "joint",
        independent: str | Sequence[str] | None = None,
    ) -> None:
        if not is_one_of(integrator, METHODS):
            raise StateError(
                f"Stepper: there is no method {shown(integrator)} here; choose {', '.join(METHODS)}."
            )
        if not is_positive(step):
            raise StateError(f"Stepper: step is {shown(step)}; give a positive number of seconds.")
        self._named, parameters = named_numbers(parameters)
        if parameters is not None and isinstance(system, System):
            system = system.vary(parameters)
        (contacts, tips), events = tips_apart(contacts), events_of(events, changes, self._named)
        self._contacts, self._events, self._changes = contacts, events, is_changing(events)
        self._control, self._told = control, None
        lands = is_one_of(integrator, ("time_stepping",))
        self._is_timeline = bool(
            control is not None
            or contacts
            or events
            or lands
            or coordinates != "joint"
            or integrator in SOLVERS
        )
        if self._is_timeline and control is None:
            self._control = self._told = HeldForces()
        elif not self._is_timeline and integrator in ADAPTIVE:
            rtol = atol = ANY_ERROR
        if (contacts or self._changes) and integrator == "implicit_leapfrog":
            raise StateError(
                "Stepper: implicit_leapfrog remembers its last step, which contacts and changes of the structure take "
                "from it; choose another integrator."
            )
        moves, pushes = motions(motion, self._named), wrenches(forces, self._named)
        self.problem = Problem(
            system, self._controller(system, q, v), {} if moves is None else moves, {} if pushes is None else pushes,
            integrator, float(step) if is_one_of(integrator, FIXED_STEPS) else None, rtol, atol, drift,
            near={} if near is None else near, coordinates=coordinates, independent=independent, tips=tips,
            landing=Landing.of(system, contacts) if lands and isinstance(system, System) else None,
        )  # fmt: skip
        q, v = initial_state(system, q, v)
        self.batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], system.variants.shape)
        if system.variants.origin is not system:
            # Parameters that differ from state to state do so for the states one behind the other.
            system = system.variants.over(self.batch)
            self.problem = replace(self.problem, system=system)
        self.size = float(step)
        if not system.nv or 0 in self.batch:
            raise StateError(f"Stepper: there is nothing to move in {system.mechanism.name!r}.")
        self._timeline: Timeline | None = None
        self.happened = Happened()
        """The events and the changes of structure and contacts of the last step."""
        if self._is_timeline:
            self.reset(q, v, start, near)
            return
        self._states = int(np.prod(self.batch, dtype=int))
        self._shape = (*self.batch, system.nv)
        self._acting = ActingForces(self.problem, self.batch, named=True)
        self._drift = Drift(system, drift, q.reshape(-1, system.nq)[0])
        self._lay_out()
        self.reset(q, v, start, near)

    def _controller(self, system: Any, q: Any, v: Any) -> Any:
        """Return the controller of a motion that begins at q, v."""
        if not isinstance(system, System):
            return self._control
        return controller(self._control, system, q, v, self._named, self._changes)

    def _lay_out(self) -> None:
        """Lay out the step for what acts."""
        self._mover = CompiledSteps(self._acting, self._drift, None, np.inf, nobody_follows)
        self._mover.begin(self._states, self.size)
        self._prepare()
        # What the step is told, until forces at loop joints are named.
        self._tau = self._given

    def _prepare(self) -> None:
        """Lay out the whole step as one piece, and one without the closing of loops where that is not due."""
        mover = self._mover
        self._session = session = Session(mover.program, self._states)
        b = session.buffers
        for name, value in (mover.constant | mover.varying).items():
            b[name][:] = value
        b["h"][:], b["end"][:] = self.size, self.size
        # What does not change stays where it is: only states and forces are packed again.
        session.piece(0, 0, mover.program.input_names, ())()
        inputs: tuple[str, ...] = ("q", "qd", mover.target, "t", "h", "halt", "row", "wish")
        found: tuple[str, ...] = ("q", "qd", "halt", "accepted")
        self._past = {name: b[name] for name in method_of(mover.method).past}
        if mover.turns:
            self._past[NEAR] = b[NEAR]
        if mover.motors:
            inputs = (*inputs, FORCE_INPUTS)
        senses = ("sense", *(("loop_sense",) if mover.loops_stick else ()))
        self._senses = {name: b[name] for name in ((*senses, *STICKING_NUMBERS) if mover.sticks else ())}
        inputs, found = (*inputs, *self._past, *self._senses), (*found, *self._past, *self._senses)
        self._whole = session.piece(0, None, inputs, found)
        self._first = session.piece(0, session.row("closing"), inputs, ())
        self._second = session.piece(session.row("decide"), None, (), found)
        self._every, self._since = self._drift.every, 0
        self._q, self._v, self._given = b["q"], b["qd"], b[mover.target]
        self._halt, self._accepted = b["halt"], b["accepted"]

    def reset(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        t: float = 0.0,
        near: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        """Begin again at q (..., nq), v (..., nv) and the time t, with the batch shape of the first state; without q
        and v at the mechanism's own initial state. `near` are positions by joint that loop joints are next to, where
        whole turns matter."""
        system = self.problem.system
        q, v = initial_state(system, q, v)
        try:
            q, v = (np.broadcast_to(x, (*self.batch, x.shape[-1])) for x in (q, v))
        except ValueError:
            raise StateError(
                f"Stepper: q has shape {q.shape} and v {v.shape}; this stepper moves a batch of shape {self.batch}."
            ) from None
        if not is_finite(t):
            raise StateError(f"Stepper: t is {shown(t)}; give a time in seconds.")
        self.t = float(t)
        if self._is_timeline:
            control = self._controller(self.problem.system, q, v)
            problem = replace(self.problem, control=control, near={} if near is None else near)
            self._timeline = begun(problem, q, v, self.t, self.size, self._contacts, self._events)
            return
        self._q[:], self._v[:] = q.reshape(-1, system.nq), v.reshape(-1, system.nv)
        for x in self._past.values():
            x[:] = 0.0
        if self._acting.motion:
            self._q[:], self._v[:], _ = self._acting.prescribed.imposed(self.t, self._q, self._v)
        if self._acting.tips is not None:
            self._acting.tips.require_start(self.t, self._q, self._v, self.batch)
        rows = near_rows(system, {} if near is None else near, self.batch)
        self._mover.near[:] = self._acting.near_at(self._q, rows)
        if NEAR in self._past:
            self._past[NEAR][:] = self._mover.near
        self._since = 0

    def position(self, joint: str) -> np.ndarray:
        """Return the position of a joint now, tree or loop, (..., nq of the joint); of loop joints that forces of the
        mechanism look at with all their turns."""
        if isinstance(self._timeline, Several):
            there = [self._timeline.state(k)[joint] for k in range(len(self._timeline.parts))]
            return np.array(there).reshape(*self.batch, -1)
        if self._is_timeline:
            return np.asarray(self.system.variants.reshaped(self.batch).joint_position(self.q, joint))
        near = self._acting.near_by_joint(self._mover.near).get(joint)
        if near is not None:
            near = near.reshape(*self.batch, near.shape[-1])
        return self.system.variants.reshaped(self.batch).joint_position(self.q, joint, near)

    @property
    def q(self) -> np.ndarray:
        """Return the positions now, (..., nq)."""
        if self._timeline is not None:
            return self._in_batch(self._timeline.q)
        return self._q.reshape(*self.batch, -1).copy()

    @property
    def v(self) -> np.ndarray:
        """Return the velocities now, (..., nv)."""
        if self._timeline is not None:
            return self._in_batch(self._timeline.v)
        return self._v.reshape(*self.batch, -1).copy()

    def _in_batch(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (states, n), or an array (states,) of arrays, in the shape of the batch."""
        if rows.dtype == object:
            return rows.reshape(self.batch)
        return np.array(rows).reshape(*self.batch, -1)

    @property
    def system(self) -> System:
        """Return the system that moves now; events may change its structure."""
        return self.problem.system if self._timeline is None else self._timeline.system

    def state(self, *index: int) -> Instant:
        """Return one state of the batch, given by its index, with its structure and the time it has come to: it is
        asked by the names of joints and frames."""
        try:
            number = int(np.ravel_multi_index(index, self.batch)) if self.batch or index else 0
        except (ValueError, TypeError):
            raise StateError(
                f"Stepper: there is no state {shown(index)}; the batch has shape {self.batch}: give an index for each "
                "dimension."
            ) from None
        if isinstance(self._timeline, Several):
            return self._timeline.state(number)
        rows = (x.reshape(-1, x.shape[-1])[number] for x in (self.q, self.v))
        return Instant(self.system.variants.state(number), self.t, *rows)

    @property
    def ended(self) -> str:
        """Return what ended the motion of all states, if an event did."""
        return "" if self._timeline is None else self._timeline.over

    def save_state(self) -> StepperState:
        """Return all that this stepper needs to go on from here as it will, with what its controller remembers."""
        if self._timeline is not None:
            return StepperState(self, self.t, self._timeline, self._timeline.save())
        past = {name: x.copy() for name, x in self._past.items()}
        return StepperState(self, self.t, None, (self.q, self.v, past, self._mover.near.copy(), self._since))

    def restore_state(self, state: StepperState) -> None:
        """Go back, or forth, to a state that this stepper has saved."""
        if not isinstance(state, StepperState) or state.stepper is not self:
            raise StateError(
                f"Stepper: {shown(state)} is no state that this stepper has saved; give what its save_state returned."
            )
        self.t, self.happened = state.t, Happened()
        if state.timeline is not None:
            self._timeline = state.timeline
            state.held.restore()
            return
        q, v, past, near, self._since = state.held
        self._q[:], self._v[:], self._mover.near[:] = (x.reshape(self._states, -1) for x in (q, v, near))
        for name, x in past.items():
            self._past[name][:] = x

    def _go_on(self, tau: Any) -> tuple[np.ndarray, np.ndarray]:
        """Take a step as a run does."""
        timeline = self._timeline
        assert timeline is not None
        if timeline.over:
            raise StateError(f"Stepper: the motion has ended ({timeline.over}); reset it to begin again.")
        if tau is not None and self._told is None:
            raise StateError(
                "Stepper: forces come from the controller; step without tau, or make a stepper without a controller."
            )
        saved = timeline.save()
        try:
            if self._told is not None:
                self._told.tau = tau
                timeline.ask()
            timeline.advance(self.t + self.size)
        except Exception:
            saved.restore()
            raise
        self.happened = timeline.taken()
        self.t = timeline.now
        return self.q, self.v

    def step(self, tau: ArrayLike | Mapping[str, ArrayLike] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Take one step with the joint forces tau, (..., nv) or by joint, held over it (none if None), and return q
        and v at its end. A step that fails leaves the stepper where it was."""
        if self._is_timeline:
            return self._go_on(tau)
        if tau is not None:
            self._take(tau)
        else:
            self._tau[:] = 0.0
        if self._tau is not self._given:
            self._tell()
        if self._mover.asks:
            self._advance()
        else:
            before, past = (self._q.copy(), self._v.copy()), {n: x.copy() for n, x in self._past.items()}
            self._since += 1
            if self._senses:
                self._mover.take_senses(self._q, self._v)
                for name, x in self._senses.items():
                    x[:] = self._mover.kept[name]
            if self._every == 1 or self._since % self._every == 0:
                status = self._whole()
            else:
                status = self._first() | self._second()
            stays = bool(self._senses) and not self._accepted.all()
            if status or stays or (self._halt.item() if self._states == 1 else self._halt.any()):
                self._q[:], self._v[:] = before
                for name, x in past.items():
                    self._past[name][:] = x
                self._halt[:] = 0.0
                self._advance()
                stays = True
            elif NEAR in self._past:
                self._mover.near[:] = self._past[NEAR]
            if self._senses and not stays:
                for name in self._senses.keys() - set(STICKING_NUMBERS):
                    self._mover.kept[name][:] = self._senses[name]
        self.t += self.size
        if self.batch:
            return self.q, self.v
        return self._q[0].copy(), self._v[0].copy()

    def _take(self, tau: Any) -> None:
        """Take over the joint forces tau (..., nv) within the limits of actuators; raise an error if their shape is
        wrong."""
        acting, nv = self._acting, self.system.nv
        if type(tau) is np.ndarray and tau.dtype == np.float64 and tau.shape == self._shape:
            # What fits as it is goes the short way: broadcasting alone costs more than a step of an arm.
            self._set(tau if not self.batch else tau.reshape(-1, nv))
            self._limit(acting)
            return
        if isinstance(tau, Mapping):
            own, there = acting.by_name(tau, self.q, self.v)
            self._take(own)
            if there and self._tau is self._given:
                self._tau = np.zeros((self._states, acting.width))
                self._tau[:, :nv] = self._given
            for joint, force in there.items():
                columns = acting.loop_columns[joint]
                wide = np.broadcast_to(force, (*self.batch, columns.stop - columns.start))
                self._tau[:, columns] = wide.reshape(self._states, -1)
            if acting.needs_motors:
                self._use_motors()
            return
        if type(tau) is not np.ndarray or tau.dtype != np.float64:
            try:
                tau = real_array(tau)
            except ValueError as error:
                raise StateError(
                    f"Stepper: tau is {shown(tau)} ({error}); give one number for each velocity component."
                ) from None
        if tau.shape[-1:] != (nv,):
            raise StateError(
                f"Stepper: tau has shape {tau.shape}; its last dimension must be {nv}, one for each velocity "
                f"component of the joints {', '.join(self.system.joints[:8])}."
            )
        try:
            self._set(np.broadcast_to(tau, (*self.batch, nv)).reshape(-1, nv))
        except ValueError:
            raise StateError(
                f"Stepper: tau has shape {tau.shape}; it must fit to {(*self.batch, nv)}."
            ) from None
        self._limit(acting)

    def _set(self, tau: np.ndarray) -> None:
        """Take over joint forces of the tree (states, nv), and none at loop joints."""
        if self._tau is self._given:
            self._given[:] = tau
            return
        self._tau[:] = 0.0
        self._tau[:, : self.system.nv] = tau

    def _limit(self, acting: ActingForces) -> None:
        """Keep the joint forces within the limits of actuators."""
        if acting.is_limited:
            own = self._tau[:, : self.system.nv]
            if acting.slows:
                own[:] = acting.limited(own, self._v)
                return
            np.minimum(np.maximum(own, acting.low, out=own), acting.high, out=own)

    def _tell(self) -> None:
        """Tell the step the joint forces."""
        for name, x in self._mover.held_effort(self._q, self._tau).items():
            self._session[name][:] = x

    def _use_motors(self) -> None:
        """Lay out the step anew for forces at loop joints that are named now."""
        self._acting.use_motors()
        q, v, tau, near = self._q.copy(), self._v.copy(), self._tau, self._mover.near.copy()
        past = {name: x.copy() for name, x in self._past.items()}
        self._lay_out()
        self._q[:], self._v[:], self._tau, self._mover.near[:] = q, v, tau, near
        for name, x in past.items():
            self._past[name][:] = x

    def _advance(self) -> None:
        """Take the step in pieces, where Python is asked or where the compiled step is not certain."""
        t = np.full(self._states, self.t)
        own = self._tau[:, : self.system.nv]
        if not np.isfinite(own).all():
            component = int(np.argwhere(~np.isfinite(own))[0][1])
            raise StateError(
                f"Stepper: tau for joint {joint_of(self.system, component)!r} is "
                f"{own[~np.isfinite(own)][0]}; it must be finite."
            )
        mover = self._mover
        mover.kept["h"][:], mover.kept["row"][:] = self.size, 0.0
        mover.past = {name: x.copy() for name, x in self._past.items() if name != NEAR}
        before = mover.near.copy()
        try:
            _, q, v = mover.advance(t, self._q, self._v, self._tau.copy(), self.t + self.size, None)
        except Exception:
            mover.near[:] = before
            raise
        if not (np.isfinite(q).all() and np.isfinite(v).all()) or np.abs(v).max() > RUNAWAY:
            raise SimulationError(
                f"Stepper: the step from t = {self.t:.9g} s does not end in a finite state; take smaller steps."
            )
        self._q[:], self._v[:] = q, v
        for name, x in self._past.items():
            x[:] = mover.near if name == NEAR else mover.past[name]
