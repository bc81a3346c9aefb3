"""Motions with contacts that are made and broken.

Between two changes every contact has one mode. One that is open does nothing. A point that sticks is a spherical joint
to its plane: a loop like any other, exact and compiled. What slides, and balls that roll, get forces: those with which
the contact neither leaves its plane nor enters it, and that rub as Coulomb's law says. After every stretch of motion
gaps and forces are looked at; where a gap closes, a force would pull or leave its cone, or a slip ends, that time is
found and all contacts that touch are decided about together (`coulomb`), impulses first, then forces.

The joints of contacts are left out of the tree, so coordinates are those of the system all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.given import is_positive, shown
from catena.joints import Spherical
from catena.kinematics.extent import extent
from catena.mechanism.validation import known
from catena.simulation import loads
from catena.simulation.arguments import initial_state
from catena.simulation.contacts.contact import Contact
from catena.simulation.contacts.coulomb import Pressed, pressed
from catena.simulation.contacts.geometry import Touch, gaps, touch, wrenches
from catena.simulation.contacts.joining import joined
from catena.simulation.problem import Problem
from catena.simulation.run import Run
from catena.simulation.segments import SegmentedTrajectory, Transition
from catena.simulation.structure_changes import CHATTERING, SHORT, LaterControl, PerStructure
from catena.simulation.trajectory import Trajectory
from catena.spatial import Pose
from catena.system import System

# Gaps [sizes of the mechanism] and velocities [sizes/s] that are none.
CLOSED, RESTS = 1e-8, 1e-7
# Below this speed [m/s] nothing bounces or parts, so that bounces that become shorter and shorter come to an end.
DEAD = 1e-4
# How errors of contacts that get forces are led back to zero [1/s].
PULL = 20.0
# A stretch of motion that is looked at as a whole: the first, and the longest, as parts of the duration.
FIRST, LONGEST = 0.05, 0.4
# Places within an interval that are looked at, and how often that is repeated to find a time.
PLACES, ROUNDS = 8, 4
# Slips slower than this [sizes/s] do not turn at once.
SLOW = 0.05
# A force that pulls by less than this part of the largest does not.
PULLS = 1e-7


@dataclass(frozen=True, eq=False)
class Standing:
    """What contacts do: their modes "open", "stick" or "slide" by label, and the directions (2,) of those that begin to
    slide from rest."""

    modes: Mapping[str, str]
    slip: Mapping[str, np.ndarray]

    def those(self, contacts: Sequence[Contact], *modes: str) -> list[Contact]:
        """Return the contacts in some of the modes."""
        return [contact for contact in contacts if self.modes[contact.label] in modes]


class ContactRun:
    """A motion of one state of a system with contacts. The arguments are those of `simulate`."""

    def __init__(
        self, system: System, contacts: Sequence[Contact], duration: float, control: Any, motion: Mapping[str, Any],
        forces: Mapping[str, Any], options: Mapping[str, Any], check: bool,
    ) -> None:  # fmt: skip
        if not is_positive(duration):
            raise StateError(f"duration is {shown(duration)}; give a positive number of seconds.")
        self.system, self.contacts, self.duration = system, tuple(contacts), float(duration)
        self.control, self.motion, self.forces = control, motion, forces
        self.options, self.check = dict(options), check
        frames = system.plan.body_pose
        for contact in self.contacts:
            if not isinstance(contact, Contact):
                raise StateError(f"contacts: {shown(contact)} is none; give ct.Contact(frame, ...).")
            for frame in (contact.frame, contact.on):
                known("body or frame", frame, frames, f"contact {contact.label!r}")
            if frames[contact.frame][0] == frames[contact.on][0]:
                raise StateError(
                    f"Contact {contact.label!r}: {contact.frame!r} and {contact.on!r} move together, so they never "
                    "come to touch; give frames of two bodies."
                )
        labels = [contact.label for contact in self.contacts]
        if len(set(labels)) < len(labels):
            raise StateError(f"Two contacts are called {max(labels, key=labels.count)!r}; give each a name.")
        self.length = extent(system.plan)
        self._looked: tuple[System, bool] | None = None

    def go(self, q: Any, v: Any) -> SegmentedTrajectory:
        """Return the motion from one state q (nq,), v (nv,)."""
        q, v = initial_state(self.system, q, v)
        if q.ndim > 1 or v.ndim > 1:
            raise StateError(
                "Contacts are for one state: every motion of a batch would touch at times of its own."
            )
        inside = gaps(self.system, self.contacts, q)
        for contact, gap in zip(self.contacts, inside, strict=True):
            if gap < -CLOSED * self.length:
                raise StateError(
                    f"Contact {contact.label!r}: {contact.frame!r} begins {-gap:.3g} m beyond the plane of "
                    f"{contact.on!r}; begin above it."
                )
        t, segments, made, note = 0.0, [], [], ""
        standing, v, first = self._decide(t, q, v, None)
        made += first
        while t < self.duration * (1.0 - 1e-12):
            run, why = self._stretch(standing, q, v, t)
            segments.append(run)
            t, q, v = float(run.t[-1]), run.q[-1], run.v[-1]
            if why is None:
                break
            standing, v, change = self._decide(t, q, v, standing, why)
            made += change
            note = _chatters(made, self.duration)
            if note:
                break
        found = SegmentedTrajectory(tuple(segments), tuple(made), note, self.contacts)
        if self.check:
            for audit in found.audit()[len(segments) :]:
                audit.warn(stacklevel=4)
        return found

    # What contacts do from now on.

    def _decide(
        self, t: float, q: np.ndarray, v: np.ndarray, before: Standing | None, why: str = "at the start"
    ) -> tuple[Standing, np.ndarray, list[Transition]]:
        """Return what contacts do from a state on, its velocities after impacts, and what there is to tell."""
        touches = [touch(self.system, contact, q, v) for contact in self.contacts]
        near = [x for x in touches if x.gap <= CLOSED * self.length]
        names = [x.contact.label for x in near]
        impulse: dict[str, np.ndarray] = {}
        lost, slow = 0.0, RESTS * self.length
        if any(x.u[2] < -slow for x in near):
            response, W = self._mobility(q, near)
            c = np.array([x.u for x in near])
            for k, x in enumerate(near):
                if x.u[2] < -max(slow, DEAD if x.contact.restitution else 0.0):
                    c[k, 2] *= 1.0 + x.contact.restitution
            hit = pressed(W, c, _mu(near), [None] * len(near), names)
            energy = float(self.system.kinetic_energy(q, v))
            v = v + np.einsum("ia,ian->n", hit.f, response)
            lost = energy - float(self.system.kinetic_energy(q, v))
            impulse = {name: f for name, f in zip(names, hit.f, strict=True) if f.any()}
            near = [touch(self.system, x.contact, q, v) for x in near]
        staying = [x for x in near if x.u[2] <= DEAD]
        v, staying = self._brought_to_rest(q, v, staying)
        now = dict.fromkeys((contact.label for contact in self.contacts), "open")
        slip: dict[str, np.ndarray] = {}
        if staying:
            found = self._forces(t, q, v, self.system, staying)
            found, staying = self._at_the_edge(t, q, v, before, why, found, staying)
            for k, x in enumerate(staying):
                now[x.contact.label] = found.modes[k]
                slip[x.contact.label] = found.slip[k]
        told = tuple(
            f"{name}: {mode if before is None else f'{before.modes[name]} -> {mode}'}"
            for name, mode in now.items()
            if before is None or before.modes[name] != mode
        )
        standing = Standing(now, slip)
        if before is None and not impulse and not staying:
            return standing, v, []
        return standing, v, [Transition(t, why, lost, impulse, np.nan, told)]

    def _brought_to_rest(
        self, q: np.ndarray, v: np.ndarray, staying: list[Touch]
    ) -> tuple[np.ndarray, list[Touch]]:
        """Return velocities with which contacts that part so slowly that they do not part stay, and these contacts."""
        if not any(abs(x.u[2]) > 1e-3 * RESTS * self.length for x in staying):
            return v, staying
        response, W = self._mobility(q, staying)
        push = np.linalg.lstsq(W[:, 2, :, 2], -np.array([x.u[2] for x in staying]), rcond=1e-11)[0]
        v = v + push @ response[:, 2]
        return v, [touch(self.system, x.contact, q, v) for x in staying]

    def _at_the_edge(
        self, t: float, q: np.ndarray, v: np.ndarray, before: Standing | None, why: str, found: Pressed,
        staying: list[Touch],
    ) -> tuple[Pressed, list[Touch]]:  # fmt: skip
        """Return the forces of contacts, and which they are, where one has come to the edge of what it can hold and
        would be found to hold just so: it lets go, or begins to slide."""
        labels = [x.contact.label for x in staying]
        for k, label in enumerate(labels):
            if before is None or found.modes[k] != before.modes[label]:
                continue
            if why == f"{label} lifts":
                rest = staying[:k] + staying[k + 1 :]
                if not rest:
                    return replace(found, modes=(), slip=np.zeros((0, 2))), rest
                return self._forces(t, q, v, self.system, rest), rest
            if why == f"{label} slips":
                along = -found.f[k, :2]
                size = float(np.hypot(along[0], along[1]))
                if size > 0.0:
                    return self._forces(t, q, v, self.system, staying, {k: along / size}), staying
        return found, staying

    def _mobility(
        self, q: np.ndarray, touches: Sequence[Touch], system: System | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what unit forces at contacts accelerate the system by, (contacts, 3, nv), and what that does at all
        contacts, (contacts, 3, contacts, 3)."""
        system = self.system if system is None else system
        rows = np.concatenate([np.zeros((1, system.nv)), *(x.A for x in touches)])
        rest = np.zeros_like(rows)
        found = system.forward_dynamics(np.broadcast_to(q, (len(rows), system.nq)), rest, rows)
        response = (found[1:] - found[0]).reshape(len(touches), 3, system.nv)
        A = np.array([x.A for x in touches])
        return response, np.einsum("ian,jbn->iajb", A, response)

    def _free_motion(self, t: float, q: np.ndarray, v: np.ndarray, system: System) -> np.ndarray:
        """Return the accelerations (nv,) without the forces of contacts that are no joints."""
        control = self._control(system, 0.0)
        tau = (
            np.zeros(system.nv)
            if control is None
            else np.asarray(control(t, q.copy(), v.copy()), dtype=float)
        )
        if self.motion or self.forces:
            raise StateError(
                "Contacts do not go together with prescribed motions and wrenches yet; use forces of the mechanism."
            )
        given, f_ext = loads.applied(system, q[None], v[None], tau[None], {})
        return np.asarray(system.forward_dynamics(q[None], v[None], given, f_ext=f_ext)[0])

    def _forces(
        self, t: float, q: np.ndarray, v: np.ndarray, system: System, touches: Sequence[Touch],
        edges: Mapping[int, np.ndarray] | None = None,
    ) -> Pressed:  # fmt: skip
        """Return the forces of contacts that touch and do not part; `edges` are directions in which some begin to
        slide."""
        _, W = self._mobility(q, touches, system)
        vdot = self._free_motion(t, q, v, system)
        c = np.array([x.A @ vdot + x.b for x in touches])
        sliding = [
            self._direction(x) if k not in (edges or {}) else (edges or {})[k] for k, x in enumerate(touches)
        ]
        return pressed(W, c, _mu(touches), sliding, [x.contact.label for x in touches])

    def _direction(self, x: Touch) -> np.ndarray | None:
        """Return the direction (2,) in which a contact slides, None for one that does not."""
        speed = float(np.hypot(x.u[0], x.u[1]))
        return x.u[:2] / speed if speed > RESTS * self.length else None

    # Motion with the contacts as they are.

    def _control(self, system: System, start: float) -> Any:
        if isinstance(self.control, PerStructure):
            return self.control.control(system, start)
        return None if self.control is None else _Of(self.control, self.system, start)

    def _structure(self, standing: Standing, q: np.ndarray) -> System:
        """Return the system in which points that stick are joints; its coordinates are those of the system."""
        stuck = [c for c in standing.those(self.contacts, "stick") if not c.radius]
        if not stuck:
            return self.system
        here = self.system.configuration(q)
        m, names = self.system.mechanism, []
        for contact in stuck:
            name = _joint_name(contact)
            at = here.pose_of(contact.on).inverse() * here.pose_of(contact.frame)
            m = m.attach(
                name, contact.on, contact.frame, Spherical(), Pose(p=at.p), None, at=here, actuated=False
            )
            names.append(name)
        plan = self.system.plan
        return m.system(root=plan.root, cut=(*plan.cut, *names))

    def _stretch(
        self, standing: Standing, q: np.ndarray, v: np.ndarray, start: float
    ) -> tuple[Trajectory, str | None]:
        """Return the motion from `start` [s] on with the contacts as they are, and why it ended; None at the end."""
        system = self._structure(standing, q)
        pushing = _Pushing(self, standing, system)
        runs: list[Trajectory] = []
        t, part = start, FIRST
        while True:
            span = min(part * self.duration, self.duration - t)
            control = self._control(system, t)
            problem = Problem(system, control, {}, pushing.forces(t, q, v), **self.options)
            run = Run(problem, q, v, span, (), None, False, False).go().shifted(t)
            found = self._first(run, system, standing, pushing)
            if found is not None:
                time, why = found
                runs.append(
                    run.resample(np.append(run.t[run.t < time], time)) if time > run.t[0] else _start(run)
                )
                return joined(runs), why
            runs.append(run)
            t, q, v = float(run.t[-1]), run.q[-1], run.v[-1]
            if self.duration - t <= 1e-12 * self.duration:
                return joined(runs), None
            part = min(2.0 * part, LONGEST)

    def _first(
        self, run: Trajectory, system: System, standing: Standing, pushing: _Pushing
    ) -> tuple[float, str] | None:
        """Return when and why the first contact of a stretch changes, None if none does."""
        times = run.t
        if not pushing.contacts and not standing.those(self.contacts, "stick"):
            inner = np.linspace(0.0, 1.0, 4, endpoint=False)
            times = np.unique(
                np.concatenate([(run.t[:-1, None] + np.diff(run.t)[:, None] * inner).ravel(), run.t[-1:]])
            )
        best: tuple[float, str] | None = None
        for why, margin in self._margins(run, system, standing, pushing):
            values = margin(times)
            beyond = np.flatnonzero(values < 0.0)
            if not len(beyond):
                continue
            k = int(beyond[0])
            time = float(times[0]) if k == 0 else _located(margin, float(times[k - 1]), float(times[k]))
            if best is None or time < best[0]:
                best = (time, why)
        return best

    def _margins(
        self, run: Trajectory, system: System, standing: Standing, pushing: _Pushing
    ) -> list[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
        """Return what must stay above zero, as functions of times (n,) of a run, with words for when it does not."""
        found: list[tuple[str, Callable[[np.ndarray], np.ndarray]]] = []
        opened = standing.those(self.contacts, "open")
        slack = 0.1 * CLOSED * self.length

        def gap(k: int) -> Callable[[np.ndarray], np.ndarray]:
            return lambda times: gaps(system, opened[k : k + 1], run.at(times)[0])[:, 0] + slack

        found += [(f"{contact.label} touches", gap(k)) for k, contact in enumerate(opened)]
        stuck = [c for c in standing.those(self.contacts, "stick") if not c.radius]
        if stuck:
            found += self._grips(run, system, stuck)
        return found + pushing.margins(run)

    def _grips(
        self, run: Trajectory, system: System, stuck: Sequence[Contact]
    ) -> list[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
        """Return by how much points that stick press, and what is left of their cones. Where constraints are redundant
        many forces do, and it is asked whether some of them do without pulling."""
        if self._are_redundant(system, run.q[0], run.v[0], stuck):

            def holds(times: np.ndarray) -> np.ndarray:
                states = zip(np.atleast_1d(times), *run.at(np.atleast_1d(times)), strict=True)
                return np.array([1.0 if self._all_stick(t, q, v, stuck) else -1.0 for t, q, v in states])

            return [("contacts change", holds)]

        # All contacts ask for the same times one after the other.
        known_forces: dict[bytes, dict[str, np.ndarray]] = {}

        def forces(times: np.ndarray) -> dict[str, np.ndarray]:
            key = times.tobytes()
            if key not in known_forces:
                asked = times if len(times) > 1 else np.append(times, run.t[-1])
                same = len(asked) == len(run.t) and bool(np.all(asked == run.t))
                part = run if same else run.resample(asked)
                wrench, poses = part.reactions(), system.body_poses(part.q)
                found = {}
                for contact in stuck:
                    joint = system.mechanism.joints[_joint_name(contact)]
                    axes = poses[joint.child][..., :3, :3] @ joint.in_child.R
                    ground = np.einsum("sij,sj->si", axes, wrench[joint.name][:, 3:])
                    own = np.einsum("sji,sj->si", poses[contact.on][..., :3, :3], ground)
                    found[contact.label] = np.asarray(own)[: len(times)]
                known_forces[key] = found
            return known_forces[key]

        def force(contact: Contact, times: np.ndarray) -> np.ndarray:
            return forces(times)[contact.label]

        def pressing(contact: Contact) -> Callable[[np.ndarray], np.ndarray]:
            def margin(times: np.ndarray) -> np.ndarray:
                f = force(contact, times)
                return f[:, 2] + PULLS * np.abs(f).max(initial=1e-300)

            return margin

        def sticking(contact: Contact) -> Callable[[np.ndarray], np.ndarray]:
            def margin(times: np.ndarray) -> np.ndarray:
                f = force(contact, times)
                return (
                    contact.friction * f[:, 2]
                    - np.hypot(f[:, 0], f[:, 1])
                    + PULLS * np.abs(f).max(initial=1e-300)
                )

            return margin

        return [
            pair
            for contact in stuck
            for pair in (
                (f"{contact.label} lifts", pressing(contact)),
                (f"{contact.label} slips", sticking(contact)),
            )
        ]

    def _are_redundant(self, system: System, q: np.ndarray, v: np.ndarray, stuck: Sequence[Contact]) -> bool:
        """Return whether points that stick hold more than there is to hold, looked at once for a structure."""
        if self._looked is None or self._looked[0] is not system:
            touches = [touch(self.system, contact, q, v) for contact in stuck]
            W = self._mobility(q, touches)[1].reshape(3 * len(stuck), -1)
            rank = np.linalg.matrix_rank(W, tol=1e-9 * np.abs(W).max())
            self._looked = system, bool(rank < 3 * len(stuck))
        return self._looked[1]

    def _all_stick(self, t: float, q: np.ndarray, v: np.ndarray, stuck: Sequence[Contact]) -> bool:
        touches = [replace(x, u=np.zeros(3)) for x in (touch(self.system, c, q, v) for c in stuck)]
        return all(mode == "stick" for mode in self._forces(t, q, v, self.system, touches).modes)


class _Of:
    """A controller made for the system, asked for another one with the same coordinates."""

    def __init__(self, control: Any, system: System, start: float) -> None:
        self.control, self.system = LaterControl(control, start), system
        self.rate = self.control.rate
        self.__name__ = self.control.__name__

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        """Let the controller forget the last run."""
        self.control.start(self.system, batch)

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        return self.control(t, q, v)


class _Pushing:
    """The forces of contacts that slide or roll, as functions of time and state."""

    def __init__(self, run: ContactRun, standing: Standing, system: System) -> None:
        self.run, self.system, self.standing = run, system, standing
        self.contacts = [
            c for c in run.contacts
            if standing.modes[c.label] == "slide" or (standing.modes[c.label] == "stick" and c.radius)
        ]  # fmt: skip
        self.last: tuple[Any, ...] = ()
        self.along: dict[str, np.ndarray] = {}

    def forces(self, start: float, q: np.ndarray, v: np.ndarray) -> dict[str, Any]:
        """Return the wrenches on frames as `simulate` takes them, in the time of a run that begins at `start` [s] with
        q (nq,) and v (nv,)."""
        self.last = ()
        for contact in self.contacts:
            u = touch(self.system, contact, q, v).u[:2]
            speed = float(np.linalg.norm(u))
            slow = speed <= RESTS * self.run.length
            self.along[contact.label] = self.standing.slip[contact.label] if slow else u / speed
        frames = {
            frame: None
            for c in self.contacts
            for frame in (c.frame, c.on)
            if self.system.plan.body_pose[frame][0]
        }

        def on(frame: str) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
            def wrench(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
                rows = [self.solved(t + start, *row)[2][frame] for row in zip(q, v, strict=True)]
                return np.array(rows)

            return wrench

        return {frame: on(frame) for frame in frames}

    def solved(
        self, t: float, q: np.ndarray, v: np.ndarray
    ) -> tuple[list[Touch], np.ndarray, dict[str, np.ndarray]]:
        """Return the contacts, their forces (contacts, 3) and the wrenches on frames, at one state."""
        key = (t, q.tobytes(), v.tobytes())
        if self.last and self.last[0] == key:
            return self.last[1]
        run, system = self.run, self.system
        touches = [touch(system, contact, q, v) for contact in self.contacts]
        _, W = run._mobility(q, touches, system)
        vdot = run._free_motion(t, q, v, system)
        columns, wanted = [], []
        for k, x in enumerate(touches):
            c = x.A @ vdot + x.b
            if self.standing.modes[x.contact.label] == "slide":
                # Beyond the end of a slip, which is found afterwards, forces go on as they were: they must not jump.
                # Slow slips keep their direction, which would otherwise turn as fast as they are slow.
                d = self.along[x.contact.label]
                slow = SLOW * run.length
                d = x.u[:2] + (slow - min(0.0, float(x.u[:2] @ d))) * d
                d = d / float(np.hypot(d[0], d[1])) if d.any() else d
                force = np.array([-x.contact.friction * d[0], -x.contact.friction * d[1], 1.0])
                columns.append((k, force))
                wanted.append((k, 2, c[2] + 2.0 * PULL * x.u[2] + PULL * PULL * x.gap))
            else:
                columns += [(k, unit) for unit in np.eye(3)]
                wanted += [
                    (k, a, c[a] + 2.0 * PULL * x.u[a] + (PULL * PULL * x.gap if a == 2 else 0.0))
                    for a in range(3)
                ]
        M = np.array([[W[i, a, k] @ f for k, f in columns] for i, a, _ in wanted])
        z = np.linalg.lstsq(M, -np.array([x for _, _, x in wanted]), rcond=1e-11)[0]
        f = np.zeros((len(touches), 3))
        for (k, unit), amount in zip(columns, z, strict=True):
            f[k] += amount * unit
        result = (touches, f, wrenches(system, touches, f, q))
        self.last = (key, result)
        return result

    def margins(self, run: Trajectory) -> list[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
        """Return what must stay above zero along a run: pressure, slip of what slides, cones of what rolls."""
        known_times: dict[float, tuple[list[Touch], np.ndarray]] = {}

        def at(times: np.ndarray) -> list[tuple[list[Touch], np.ndarray]]:
            missing = [float(t) for t in times if float(t) not in known_times]
            if missing:
                for t, q, v in zip(missing, *run.at(np.array(missing)), strict=True):
                    known_times[t] = self.solved(t, q, v)[:2]
            return [known_times[float(t)] for t in times]

        def pressure(k: int) -> Callable[[np.ndarray], np.ndarray]:
            def margin(times: np.ndarray) -> np.ndarray:
                n = np.array([f[k, 2] for _, f in at(times)])
                return n + PULLS * np.abs(n).max(initial=1e-300)

            return margin

        def slipping(k: int) -> Callable[[np.ndarray], np.ndarray]:
            d = self.along[self.contacts[k].label]
            slack = 0.01 * RESTS * self.run.length
            return lambda times: np.array([x[k].u[:2] @ d for x, _ in at(times)]) + slack

        def cone(k: int) -> Callable[[np.ndarray], np.ndarray]:
            mu = self.contacts[k].friction

            def margin(times: np.ndarray) -> np.ndarray:
                f = np.array([f[k] for _, f in at(times)])
                return mu * f[:, 2] - np.hypot(f[:, 0], f[:, 1]) + PULLS * np.abs(f).max(initial=1e-300)

            return margin

        found: list[tuple[str, Callable[[np.ndarray], np.ndarray]]] = []
        for k, contact in enumerate(self.contacts):
            found.append((f"{contact.label} lifts", pressure(k)))
            if self.standing.modes[contact.label] == "slide":
                if contact.friction:
                    found.append((f"{contact.label} stops sliding", slipping(k)))
            else:
                found.append((f"{contact.label} slips", cone(k)))
        return found


def _located(margin: Callable[[np.ndarray], np.ndarray], first: float, last: float) -> float:
    """Return the time between two at which a margin comes to zero."""
    for _ in range(ROUNDS):
        times = np.linspace(first, last, PLACES + 1)
        values = margin(times)
        k = max(1, int(np.argmax(values < 0.0))) if (values < 0.0).any() else PLACES
        first, last = float(times[k - 1]), float(times[k])
        a, b = float(values[k - 1]), float(values[k])
    return first if a <= 0.0 or b >= 0.0 or a == b else first + (last - first) * a / (a - b)


def _start(run: Trajectory) -> Trajectory:
    """Return a run that ends where it begins."""
    some = {name: x[..., :1] for name, x in run.work.items()}
    forces = {name: x[..., :1, :] for name, x in run.wrenches.items()}
    return replace(run, t=run.t[:1], q=run.q[:1], v=run.v[:1], tau=run.tau[:1], work=some, wrenches=forces)


def _joint_name(contact: Contact) -> str:
    return contact.joint


def _mu(touches: Sequence[Touch]) -> np.ndarray:
    return np.array([x.contact.friction for x in touches])


def _chatters(made: Sequence[Transition], duration: float) -> str:
    """Return a sentence if contacts were made and broken without end."""
    if len(made) < CHATTERING or made[-1].t - made[-CHATTERING].t > SHORT * duration:
        return ""
    names = ", ".join(sorted({change.name for change in made[-CHATTERING:]})[:4])
    return (
        f"The contacts chatter: {CHATTERING} changes ({names}) between t = {made[-CHATTERING].t:.9g} s and "
        f"{made[-1].t:.9g} s. Give them less restitution, or other positions to begin with."
    )
