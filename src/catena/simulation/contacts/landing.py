"""What steps with contacts of their own (`integrator="time_stepping"`) are told: units, and numbers of each state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.dynamics.contacts.contact_forces import PLACES, Pair
from catena.dynamics.contacts.impulse_law import BIG, rows_of
from catena.errors import StateError
from catena.forces.smooth import smooth_sign
from catena.kernels import is_plain
from catena.kinematics.extent import extent
from catena.mechanism.validation import known
from catena.simulation.acting.loads import Besides, with_drives_or_nan
from catena.simulation.arguments import TimeSpan
from catena.simulation.contacts.checking import require_contacts, require_outside
from catena.simulation.contacts.contact import Contact
from catena.simulation.contacts.dry_component import components_of_loops
from catena.simulation.contacts.geometry import ContactPlaces, Touches, turned_from
from catena.simulation.contacts.inside import Inside, is_rigid_tree
from catena.simulation.contacts.run import ContactRun
from catena.simulation.contacts.stop import Stop, StopSide
from catena.simulation.following import Following
from catena.simulation.problem import Problem
from catena.simulation.results.on_demand import OnDemand
from catena.simulation.results.segment import Segment
from catena.simulation.stepping.drift import loops_compile, name_of
from catena.simulation.structure_changes import ChangingRun
from catena.structure.stations import has_many_modes
from catena.system import System
from catena.system.dry_friction import DryFriction, bears, dry_friction
from catena.validation import real_array, shown

if TYPE_CHECKING:
    from catena.simulation.acting.acting_forces import ActingForces

# How states go on whose impulses were not found, and how far contacts may be in the other side then, as a part of the
# size of the mechanism.
EXACT = {"integrator": "dopri5", "step": None, "rtol": 1e-8, "atol": 1e-10, "drift": "projection"}
INSIDE = 1e-2
# How far contacts may be in the other side where a motion begins, which may go on from another one.
BEHIND_STEPS = 1e-3
VARIED = ("friction", "restitution")
"""What may differ from state to state of a contact."""


@dataclass(frozen=True, eq=False)
class Landing:
    """Contacts and stops of a system, and the dry friction of its joints, as units of a step. `varied` are numbers of
    contacts that differ from state to state, {(contact, what): (...)}."""

    system: System
    contacts: tuple[Contact, ...]
    stops: tuple[Stop, ...]
    varied: Mapping[tuple[str, str], np.ndarray] = field(default_factory=lambda: MappingProxyType({}))
    begins: np.ndarray | None = None
    """The configuration (nq,) with which a motion begins, which says what loops hold still."""

    @staticmethod
    def of(
        system: System,
        given: Sequence[Contact | Stop],
        varied: Mapping[tuple[str, str], np.ndarray] | None = None,
    ) -> Landing:
        """Return the contacts and stops that a user gave."""
        contacts = tuple(x for x in given if isinstance(x, Contact))
        stops = tuple(x for x in given if isinstance(x, Stop))
        found = Landing(system, contacts, stops, varied or {})
        require_contacts(system, found.sides)
        labels = {contact.label for contact in contacts}
        for label, _ in found.varied:
            known("contact", label, labels, "parameters")
        return found

    def require_possible(self, problem: Problem) -> None:
        """Raise an error where loops are to be kept closed in a way that these steps do not have."""
        if not is_rigid_tree(self.system) and name_of(problem.drift) not in ("projection", "none"):
            raise StateError(
                f"time_stepping leads loops back by projection, or not at all: drift is {name_of(problem.drift)!r}; "
                "leave it out, or give 'none'."
            )

    @cached_property
    def sides(self) -> tuple[Contact | StopSide, ...]:
        """Return contacts, and both sides of all stops."""
        return (*self.contacts, *(side for stop in self.stops for side in stop.sides(self.system)))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return the names of contacts and sides of stops."""
        return tuple(side.label for side in self.sides)

    @cached_property
    def places(self) -> ContactPlaces:
        """Return where contacts and stops are."""
        return ContactPlaces(self.system, self.sides)

    @cached_property
    def dry(self) -> DryFriction:
        """Return the dry friction of joints of the tree."""
        return self._both_dry[0]

    @cached_property
    def _both_dry(self) -> tuple[DryFriction, DryFriction]:
        """Return the dry friction of joints of the tree and of those that close loops, but where these hold joints
        still."""
        if self.begins is None or is_rigid_tree(self.system):
            return DryFriction.of(self.system), DryFriction.of_loops(self.system)
        return dry_friction(self.system, self.begins)

    @cached_property
    def cut(self) -> ContactPlaces:
        """Return the components with dry friction of joints that close loops and keep their motions."""
        joints, rubbing = self.system.mechanism.joints, components_of_loops(self.system, self._both_dry[1])
        keep = [one for one in rubbing if joints[one.of].kind.has_constant_motion_space]
        return ContactPlaces(self.system, keep)

    @cached_property
    def units(self) -> tuple[Pair, ...]:
        """Return contacts, stops and components that rub, in this order."""
        plan, found = self.system.plan, list(Inside(ContactPlaces(self.system, self.contacts)).nodes)
        for stop in self._moving_stops:
            found.append(Pair(plan.joint.index(stop.joint), 0, False, stop.index))
        for node in range(1, plan.n):
            own = range(int(plan.v_start[node]), int(plan.v_start[node]) + int(plan.v_size[node]))
            found += [Pair(node, 0, False, k, True) for k, c in enumerate(own) if self.dry.limit[c] > 0.0]
        found += [
            Pair(a, b, rubs=True) for a, b in zip(self.cut.a.tolist(), self.cut.b.tolist(), strict=True)
        ]
        return tuple(found)

    @cached_property
    def _moving_stops(self) -> tuple[Stop, ...]:
        """Return the stops of joints that are not locked."""
        return tuple(stop for stop in self.stops if stop.joint in self.system.joints)

    def told(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return what steps are told of contacts that begin at q (states, nq): for all states, or (states, n)."""
        found: dict[str, np.ndarray] = {}
        if self.contacts:
            found["contacts"] = self._numbers(q)
            bounces = np.array([contact.restitution for contact in self.contacts])
            found["bounces"] = self._with_varied("restitution", bounces)
        if self._moving_stops:
            spans = []
            for stop in self._moving_stops:
                limits = {side.sign: side.limit for side in stop.sides(self.system)}
                spans.append((limits.get(1.0, -BIG), limits.get(-1.0, BIG), stop.restitution))
            found["spans"] = np.array(spans).reshape(-1)
        if any(unit.is_inside and unit.rubs for unit in self.units):
            found |= self.dry.tree_inputs
        if self.cut.contacts:
            found["cut_joints"] = self._cut_numbers()
        return found

    def _cut_numbers(self) -> np.ndarray:
        """Return what joints that close loops and rub are (numbers,), or (states, numbers) where that differs."""
        variants, cut = self.system.variants, {dry.of for _, dry in self.cut.dry}
        varied = variants.parameters if variants.origin is not self.system else {}
        if any(name.split(".")[0] in cut for name in varied):
            states = range(int(np.prod(variants.shape, dtype=int)))
            own = [replace(self, system=variants.state(k)).cut for k in states]
        else:
            own = [self.cut]
        rows = []
        for places in own:
            limits = [(x.friction, x.excess, x.fading, x.fall) for _, x in places.dry]
            rows.append(np.concatenate([places.unit, np.reshape(limits, (-1, 4))], axis=-1).ravel())
            if len(rows[-1]) != len(rows[0]):
                raise StateError(
                    f"time_stepping: some states have friction in {', '.join(map(repr, sorted(cut)))} and others none; "
                    "give all of them some, or keep these joints in the tree (m.system(keep=[...]))."
                )
        return rows[0] if len(rows) == 1 else np.stack(rows)

    def fields(self, q: np.ndarray, v: np.ndarray, ahead: np.ndarray) -> np.ndarray:
        """Return what height fields are near the places (states, numbers) where contacts come to in times `ahead`
        (states, 1) from q (states, nq), v (states, nv)."""
        places = ContactPlaces(self.system, self.contacts)
        return places.fields(self.system.integrate(q, ahead * v))

    def _numbers(self, q: np.ndarray) -> np.ndarray:
        """Return what contacts are (numbers,), or (states, numbers) where that differs."""
        places = ContactPlaces(self.system, self.contacts)
        rows, k = Inside(places).numbers, len(self.contacts)
        mu = self._with_varied("friction", rows[:, PLACES["friction"].start])
        if mu.ndim == 1 and not places.round.any():
            return rows.reshape(-1)
        rows = np.array(np.broadcast_to(rows, (len(q), *rows.shape)))
        rows[:, :, PLACES["friction"].start] = mu
        if places.round.any():
            at = places.at(q, np.zeros((len(q), self.system.nv))).at
            z = at / np.maximum(np.linalg.norm(at, axis=-1), 1e-300)[..., None]
            z = np.where(places.round[:, None], z, rows[:, :, PLACES["reference"]])
            rows[:, :, PLACES["reference"]] = z
            rows[:, :, PLACES["across"]] = turned_from(z.reshape(-1, 3)).reshape(len(q), k, 3)
        return np.ascontiguousarray(rows.reshape(len(q), -1))

    def _with_varied(self, what: str, rows: np.ndarray) -> np.ndarray:
        """Return numbers (contacts,), or (states, contacts) where some of them differ from state to state."""
        own = {
            k: x for k, c in enumerate(self.contacts) if (x := self.varied.get((c.label, what))) is not None
        }
        if not own:
            return rows
        found = np.array(np.broadcast_to(rows, (max(len(x) for x in own.values()), len(rows))))
        for k, x in own.items():
            found[:, k] = x
        return found

    def over(self, system: System, batch: tuple[int, ...], begins: np.ndarray) -> Landing:
        """Return the same for a system with the parameters of a batch, each state by itself, whose motions begin about
        the configuration (nq,)."""
        varied = {
            name: np.ascontiguousarray(np.broadcast_to(x, batch)).reshape(-1)
            for name, x in self.varied.items()
        }
        return Landing(system, self.contacts, self.stops, varied, begins)

    def require_outside(self, q: np.ndarray, length: float) -> None:
        """Raise an error if a contact of a state q (states, nq) begins inside the other side, by more than steps before
        may have left."""
        if self.sides:
            # The one that is deepest inside tells it.
            gaps = self.places.gaps(q)
            require_outside(self.sides, gaps[np.argmin(gaps.min(axis=-1))] + BEHIND_STEPS * length, length)

    def finished(
        self, problem: Problem, state: int, span: TimeSpan, q: np.ndarray, v: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return one state of a batch, q (nq,) and v (nv,), at the end of a span by the law that locates what contacts
        do, with control forces tau (nv,) that are held unless a controller is always asked."""
        held = problem.control if problem.control is None or problem.rate is None else _held(tau)
        changing = ChangingRun(
            self.system.variants.state(state), span, held, problem.motion, problem.forces, EXACT, (), None,
            Following(span, False), False,
        )  # fmt: skip
        run = ContactRun(self.given(state), changing)
        run.begin(q, v, INSIDE * extent(self.system.plan))
        run.advance(span.end)
        return run.q, run.v

    def given(self, state: int) -> list[Contact | Stop]:
        """Return the contacts and stops of one state of a batch."""
        mu, e = (
            self._with_varied(what, np.array([getattr(c, what) for c in self.contacts])) for what in VARIED
        )
        mu, e = (x if x.ndim == 1 else x[state] for x in (mu, e))
        contacts = [
            replace(c, friction=float(m), restitution=float(r))
            for c, m, r in zip(self.contacts, mu, e, strict=True)
        ]
        return [*contacts, *self.stops]

    def forces(self, held: np.ndarray) -> dict[str, np.ndarray]:
        """Return the forces (..., 3) of contacts and sides of stops, in the axes of contacts, from what was held (...,
        n)."""
        found, at = dict[str, np.ndarray](), 0
        for contact in self.contacts:
            found[contact.label] = held[..., at + 1 : at + 4]
            at += 4
        for stop in self.stops:
            force = np.zeros(held.shape[:-1])
            if stop in self._moving_stops:
                force = held[..., at + 1]
                at += 2
            for side in stop.sides(self.system):
                pushes = np.maximum(side.sign * force, 0.0)
                found[side.label] = np.stack([0.0 * pushes, 0.0 * pushes, pushes], axis=-1)
        return found

    def with_forces(self, run: Segment, held: np.ndarray, besides: Besides) -> Segment:
        """Return a run with the forces of contacts and stops, from what was held (..., samples, n), and those with
        which joints are driven then, `besides` what acts in loops."""
        k, places, given = len(self.contacts), ContactPlaces(self.system, self.contacts), run.wrenches
        wrenches = given

        @cache
        def pushes() -> np.ndarray:
            forces = self.forces(held)
            return np.stack([forces[label] for label in self.labels], axis=-2)

        def compute_forces() -> dict[str, np.ndarray]:
            f = pushes()
            if k and places.turns.any():
                rotated = [
                    touches.in_frame_axes(x) for touches, x in _each_sample(places, run, f[..., :k, :])
                ]
                f = np.concatenate([_arranged(np.concatenate(rotated), run), f[..., k:, :]], axis=-2)
            return {label: f[..., i, :] for i, label in enumerate(self.labels)}

        def compute_wrenches() -> dict[str, np.ndarray]:
            pushed = pushes()[..., :k, :]
            rows = [places.wrenches(touches, x) for touches, x in _each_sample(places, run, pushed)]
            found = dict(given)
            for body in rows[0]:
                own = _arranged(np.concatenate([row[body] for row in rows]), run)
                found[body] = own + found[body] if body in found else own
            return found

        if k:
            names = tuple(dict.fromkeys((*given, *places.bodies_of(range(k)))))
            wrenches = OnDemand(names, compute_wrenches)
        tau = run.tau
        of_tree = {self.system.plan.joint[unit.node] for unit in self.units if unit.is_inside}
        joints = tuple(dict.fromkeys([*of_tree, *(dry.of for _, dry in self.cut.dry)]))
        inside = OnDemand(joints, lambda: self._in_joints(held, run.q, run.v)) if joints else {}
        if run.driven:
            holding = replace(besides, stops=inside)
            found = with_drives_or_nan(run.system, run.q, run.v, tau, wrenches, run.driven, holding)
            driven = np.zeros(self.system.nv, dtype=bool)
            for joint in run.driven:
                driven[self.system.slice_v(joint)] = True
            tau = np.where(driven, found, tau)
        return replace(
            run, contacts=self.contacts, contact_forces=OnDemand(tuple(self.labels), compute_forces),
            wrenches=wrenches, stop_forces=inside, tau=tau,
        )  # fmt: skip

    def let_feel(
        self, acting: ActingForces, t: float, q: np.ndarray, v: np.ndarray, kept: Mapping[str, np.ndarray]
    ) -> None:
        """Tell a controller that wants to know what acts at a time on states q (states, nq), v (states, nv) beside
        control forces: wrenches {frame: (..., 6)}, with those of contacts from what is `kept` of the last step, how
        driven joints accelerate, and forces inside joints."""
        feels = getattr(acting.control, "feel", None)
        if feels is None:
            return
        held = kept.get("held", np.zeros((len(q), 0)))
        wrenches, places = acting.wrenches(t, q, v), ContactPlaces(self.system, self.contacts)
        if self.contacts:
            f = np.stack(list(self.forces(held).values()), axis=-2)[:, : len(self.contacts)]
            for body, wrench in places.wrenches(places.at(q, v), f).items():
                wrenches[body] = wrenches[body] + wrench if body in wrenches else wrench
        moving = acting.prescribed.accelerations(np.array([t])) if acting.motion else {}
        driven = {name: np.broadcast_to(x, (len(q), x.shape[-1])) for name, x in moving.items()}
        found = (wrenches, driven, self._in_joints(held, q, v))
        feels(*({name: x.reshape(*acting.batch, x.shape[-1]) for name, x in each.items()} for each in found))

    def _in_joints(self, held: np.ndarray, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return the forces (..., nv of the joint) of stops in joints at states q (..., nq), v (..., nv), and by how
        much dry friction differs from the smooth one."""
        force, system = self._beyond_smooth(held, v), self.system
        names = {system.plan.joint[unit.node] for unit in self.units if unit.is_inside}
        found = {name: force[..., system.slice_v(name)] for name in system.joints if name in names}
        first = held.shape[-1] - 2 * len(self.cut.contacts)
        for k, dry in self.cut.dry:
            rate = system.joint_velocity(q, v, dry.of)
            own = found.setdefault(dry.of, np.zeros_like(rate))
            smooth = dry.friction * smooth_sign(rate[..., dry.index])
            own[..., dry.index] = held[..., first + 2 * k + 1] + (held[..., first + 2 * k] > 0.0) * smooth
        return found

    def _beyond_smooth(self, held: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the forces (..., nv) of stops and dry friction on joints that move at v (..., nv), from what was held
        (..., n), friction less that which goes smoothly through rest and is known of the system. Where no step has been
        taken yet nothing is known of friction but that."""
        plan, at = self.system.plan, 0
        smooth = plan.friction * smooth_sign(v)
        found = np.zeros((*held.shape[:-1], self.system.nv))
        for unit in self.units:
            if unit.is_inside:
                k = int(plan.v_start[unit.node]) + unit.stopped
                rubs = (held[..., at] > 0.0) * smooth[..., k] if unit.rubs else 0.0
                found[..., k] += held[..., at + 1] + rubs
            at += 1 + rows_of(unit)
        return found


def _each_sample(places: ContactPlaces, run: Segment, f: np.ndarray) -> Iterator[tuple[Touches, np.ndarray]]:
    """Give contacts, and forces (states, contacts, 3) of them, at the samples of a run: all at once, or one sample
    after the other where numbers of the mechanism differ from state to state."""
    system, count = places.system, f.shape[-2]
    if system.variants.origin is system:
        rows = (x.reshape(-1, x.shape[-1]) for x in (run.q, run.v))
        yield places.at(*rows), f.reshape(-1, count, 3)
        return
    for k in range(len(run.t)):
        rows = (x[..., k, :].reshape(-1, x.shape[-1]) for x in (run.q, run.v))
        yield places.at(*rows), f[..., k, :, :].reshape(-1, count, 3)


def _arranged(rows: np.ndarray, run: Segment) -> np.ndarray:
    """Return what was found for all samples, or for one after the other, in the order of a run."""
    over, rest = run.q.shape[:-1], rows.shape[1:]
    if run.system.variants.origin is run.system:
        return rows.reshape(*over, *rest)
    return np.moveaxis(rows.reshape(len(run.t), *run.batch, *rest), 0, len(run.batch))


def _held(tau: np.ndarray) -> Any:
    """Return a controller that goes on as it did."""

    def hold(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return tau

    return hold


def goes_in_lanes(system: Any) -> bool:
    """Return whether time stepping takes compiled steps, all states at once: unless a loop is closed by a kind of joint
    that only Python knows, friction comes from loads beside loops, or bodies have so many modes that code for their
    number would be long. With plain numbers only trees of rigid bodies go so."""
    if not isinstance(system, System) or is_rigid_tree(system):
        return True
    if is_plain() or has_many_modes(system.plan) or bears(system):
        return False
    return not system.mechanics.is_closed or loops_compile(system.plan)


def stepping(
    asked: ChangingRun,
    contacts: Sequence[Contact | Stop],
    varied: Mapping[tuple[str, str], np.ndarray],
    every: System | None,
) -> ChangingRun | ContactRun:
    """Return what moves one state by time stepping: compiled steps, careful steps where there are none
    (`goes_in_lanes`), and steps of Runge and Kutta there if nothing can touch. Each contact has numbers (), those of
    the state; `every` is the system of all states of a batch."""
    if goes_in_lanes(asked.system):
        asked.landing = partial(Landing.of, given=contacts, varied=varied)
        return asked
    if not contacts:
        # Other coordinates are for other integrators, which is said in words.
        if asked.options["coordinates"] == "joint":
            asked.options = {**asked.options, "integrator": "rk4"}
        return asked
    own = Landing.of(asked.system, contacts, {name: x.reshape(1, 1) for name, x in varied.items()}).given(0)
    step = asked.options["step"]
    asked.options = {**asked.options, **EXACT, "drift": asked.options["drift"]}
    return ContactRun(own, asked, every, step)


def varied_of(
    parameters: Mapping[str, Any] | None, contacts: Sequence[Contact | Stop]
) -> tuple[Mapping[str, Any] | None, dict[tuple[str, str], np.ndarray]]:
    """Take the numbers of contacts, {"foot.friction": (...)}, out of parameters. Returns the others, and these."""
    if not isinstance(parameters, Mapping) or not contacts:
        # What is no mapping of names is told by who takes parameters of mechanisms.
        return parameters, {}
    labels = {contact.label for contact in contacts if isinstance(contact, Contact)}
    rest, found = dict[str, Any](), dict[tuple[str, str], np.ndarray]()
    for name, value in parameters.items():
        label, _, what = str(name).rpartition(".")
        if label not in labels or what not in VARIED:
            rest[name] = value
            continue
        try:
            numbers = np.asarray(real_array(value), dtype=np.float64)
        except (TypeError, ValueError):
            raise StateError(f"parameters: {name!r} is {shown(value)}; give numbers.") from None
        if not np.all(numbers >= 0.0) or (what == "restitution" and not np.all(numbers <= 1.0)):
            least = "0 to 1" if what == "restitution" else "0 or more"
            raise StateError(f"parameters: {name!r} is {shown(value)}; give numbers, {least}.")
        found[label, what] = numbers
    return rest or None, found
