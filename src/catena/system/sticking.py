"""Dry friction at given states, as runs have it: what moves rubs against its slip, what is at rest sticks or slips.

Which components at rest stick is found as in a step (`stepping.methods.sticking`): those that would need more force
than there is begin to slip, those that would slip the other way stick, all at once and in the end one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from catena import dynamics
from catena.dynamics.bearing_loads import loaded_elimination, loaded_tree, settle
from catena.dynamics.loops.elimination import shape_for
from catena.dynamics.loops.elimination.dry_loops import COMPONENTS, dry_loops, with_dry_loops
from catena.dynamics.loops.elimination.hybrid import hybrid_elimination
from catena.dynamics.loops.least_holding import component_rows, held_still, least_holding
from catena.dynamics.loops.motion_problem import motion_problem
from catena.dynamics.loops.prescribed import prescribed_accelerations
from catena.errors import CatenaError, SimulationError, StateError
from catena.forces.dry import slip_friction
from catena.forces.load_friction import NUMBERS
from catena.forces.smooth import smooth_sign
from catena.kernels import Algorithm, arrays
from catena.kinematics.loops.closure import forces_at_tree
from catena.structure import Plan
from catena.system.by_name import Given, as_arrays

if TYPE_CHECKING:
    from catena.system.system import System

# A force that holds is too large beyond this part of its limit; accelerations [rad/s^2 or m/s^2] that are rounding.
LOOSE, STILL = 1e-10, 1e-11
# All wrong senses change together so often, then one at a time; after that none are found.
TOGETHER, PIVOTS = 8, 400
# With loops joints are at rest below this velocity [rad/s or m/s], and below this part of the fastest of the tree.
AT_REST, ROUNDED = 1e-11, 1e-10
# Configurations at which it is looked whether loops hold joints still, and how far they are apart [rad or m].
LOOKS, AWAY = 4, 0.1


@dataclass(frozen=True, eq=False)
class Sticking:
    """How a mechanism with dry friction goes on from states, each (..., nv): the accelerations `vdot`, the `force` of
    dry friction on each component, its `sense` (the sign of the slip, 0 where it sticks or there is none), and the
    `limit` up to which it holds. `at_loops` has the forces of dry friction in joints that close loops, {joint: (...,
    nv of the joint)}, and `loop_senses` their senses."""

    vdot: np.ndarray
    force: np.ndarray
    sense: np.ndarray
    limit: np.ndarray
    at_loops: Mapping[str, np.ndarray] = field(default_factory=dict)
    loop_senses: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def holds(self) -> np.ndarray:
        """Return whether nothing moves in a state (...), nor begins to."""
        return np.asarray(np.all(self.vdot == 0.0, axis=-1))


@dataclass(frozen=True, eq=False)
class DryFriction:
    """The dry friction of joints, of those of the tree each (nv,), of those that close loops each (loops, 6), with
    zeros behind: that of a slip, by how much more holds at rest (`excess`), how much of this falls with the slip
    (`fading`), and how fast, one over Stribeck's velocity squared (`fall`); of friction by load its `NUMBERS` (7, ...),
    or None."""

    friction: np.ndarray
    excess: np.ndarray
    fading: np.ndarray
    fall: np.ndarray
    bearing: np.ndarray | None = None

    @staticmethod
    def of(system: System) -> DryFriction:
        """Return that of the tree of a system."""
        bearing = np.zeros((len(NUMBERS), system.nv)) if bears(system) else None
        if bearing is not None and system.plan.bearing is not None:
            bearing[:] = system.plan.bearing
        excess, fading, fall = np.zeros((3, system.nv))
        found = DryFriction(system.plan.friction, excess, fading, fall, bearing)
        for name in system.joints:
            found._take(system, name, system.slice_v(name))
        return found

    @staticmethod
    def of_loops(system: System) -> DryFriction:
        """Return that of the loops of a system; couplings come after them, and have none."""
        plan = system.mechanics.evaluator.plan
        wide = (len(plan.loop_joints) + len(plan.couplings), COMPONENTS)
        bearing = np.zeros((len(NUMBERS), *wide)) if bears(system) else None
        friction, excess, fading, fall = np.zeros((4, *wide))
        found = DryFriction(friction, excess, fading, fall, bearing)
        for k in dry_loops(plan):
            loop = plan.loop_joints[k]
            if bearing is not None and loop.bearing is not None:
                bearing[:, k, : loop.kind.nv] = loop.bearing
            found.friction[k, : loop.kind.nv] = loop.friction
            found._take(system, loop.name, (k, slice(loop.kind.nv)))
        return found

    def without(self, still: np.ndarray) -> DryFriction:
        """Return the same with none at components that are held `still` anyway: nothing holds there, and what a slip
        would take fades at once."""
        none = np.where(still, -self.friction, 0.0)
        excess, fading = (np.where(still, none, x) for x in (self.excess, self.fading))
        bearing = None if self.bearing is None else np.where(still, 0.0, self.bearing)
        return DryFriction(self.friction, excess, fading, np.where(still, 0.0, self.fall), bearing)

    def _take(self, system: System, name: str, own: Any) -> None:
        """Take the numbers of a joint."""
        joint = system.mechanism.joints.get(name)
        if joint is None or joint.static_friction is None:
            return
        self.excess[own] = joint.static_friction - joint.friction
        if joint.stribeck_velocity is not None:
            self.fading[own], self.fall[own] = self.excess[own], joint.stribeck_velocity**-2.0

    @property
    def tree_inputs(self) -> dict[str, np.ndarray]:
        """Return what steps are told of the tree besides the friction of slips, where there is something to tell."""
        found = {"excess": self.excess, "fading": self.fading, "fall": self.fall}
        numbers = {name: x for name, x in found.items() if np.any(x)}
        return numbers if self.bearing is None else numbers | dict(zip(NUMBERS, self.bearing, strict=True))

    @property
    def loop_inputs(self) -> dict[str, np.ndarray]:
        """Return what steps are told of loops besides the friction of slips."""
        found = {"loop_excess": self.excess, "loop_fading": self.fading, "loop_fall": self.fall}
        if self.bearing is not None:
            found |= {f"loop_{name}": x for name, x in zip(NUMBERS, self.bearing, strict=True)}
        return {name: x.ravel() for name, x in found.items()}

    @property
    def limit(self) -> np.ndarray:
        """Return with how much components hold at rest."""
        return np.asarray(self.friction + self.excess)

    @property
    def rubs(self) -> np.ndarray:
        """Return which components have dry friction."""
        return (
            self.limit > 0.0
            if self.bearing is None
            else (self.limit > 0.0) | (self.bearing[:3] > 0.0).any(axis=0)
        )

    def limit_under(self, load: np.ndarray) -> np.ndarray:
        """Return with how much components hold at rest whose load makes so much friction of a slip."""
        return self.limit if self.bearing is None else np.asarray(self.limit + (1.0 + self.bearing[5]) * load)

    def of_slip(self, v: np.ndarray, load: np.ndarray | float = 0.0) -> np.ndarray:
        """Return what components take that slip at v (..., nv) and whose load makes so much of it."""
        fading = 0.0 if self.bearing is None else self.bearing[6]
        return np.asarray(slip_friction(self.friction, self.fading, self.fall, v, load, fading))


def bears(system: System) -> bool:
    """Return whether some joint has friction in proportion to its load."""
    plan = system.mechanics.evaluator.plan
    return plan.bearing is not None or any(loop.bearing is not None for loop in plan.loop_joints)


def loop_rates(system: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the velocities (..., loops, 6) of joints with dry friction that close loops, zero `at_rest`."""
    plan = system.mechanics.evaluator.plan
    found = np.zeros((*v.shape[:-1], len(plan.loop_joints) + len(plan.couplings), COMPONENTS))
    for k in dry_loops(plan):
        rate = system.joint_velocity(q, v, plan.loop_joints[k].name)
        found[..., k, : rate.shape[-1]] = rate
    return at_rest(found.reshape(*v.shape[:-1], found.shape[-2] * COMPONENTS), v).reshape(found.shape)


def at_rest(rates: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return velocities (..., n) of joints of a mechanism with loops that moves at v (..., nv), zero where they are no
    more than rounding: what loops hold still, or what moves because the tree does, is never just zero."""
    still = AT_REST + ROUNDED * np.max(np.abs(v), axis=-1, initial=0.0, keepdims=True)
    return np.where(np.abs(rates) > still, rates, 0.0)


def still_beside(vdot: np.ndarray) -> np.ndarray:
    """Return accelerations (..., 1) that are rounding beside those of the tree (..., nv)."""
    return STILL * (1.0 + np.max(np.abs(vdot), axis=-1, initial=0.0, keepdims=True))


def loop_senses(
    system: System, q: np.ndarray, v: np.ndarray, dry: DryFriction, before: np.ndarray | None
) -> np.ndarray:
    """Return the senses (states, n) of joints with dry friction that close loops: as they move, and at rest those they
    had `before` (states, n), or 0."""
    rates = loop_rates(system, q, v)
    rest = 0.0 if before is None else before.reshape(rates.shape)
    senses = np.where(dry.rubs, np.where(rates != 0.0, np.sign(rates), rest), 1.0)
    return senses.reshape(len(senses), dry.limit.size)


def sticking(
    system: System, q: Any, v: Any, tau: Any, f_ext: Mapping[str, ArrayLike] | None, prescribed: Given | None,
    near: Mapping[str, ArrayLike] | None,
) -> Sticking:  # fmt: skip
    """Return how a mechanism goes on from states q (..., nq), v (..., nv) under joint forces tau (..., nv)."""
    return sense_search(system, q, v, tau, f_ext, None, prescribed, near).found()


def sense_search(
    system: System, q: Any, v: Any, tau: Any, f_ext: Mapping[str, ArrayLike] | None, base_acceleration: Any,
    prescribed: Given | None, near: Mapping[str, ArrayLike] | None,
) -> SenseSearch:  # fmt: skip
    """Return the search for what sticks in states q (..., nq), v (..., nv) under joint forces tau (..., nv)."""
    q, v, tau, loop_tau = as_arrays(system, q, v, tau)
    driven, accelerations, drives = prescribed_accelerations(
        system.mechanism, system.plan, {} if prescribed is None else prescribed
    )
    if drives:
        raise StateError(
            f"sticking: prescribed accelerations at joints that close loops ({list(system.loops)}) are not taken here; "
            f"keep these joints in the tree, m.system(keep=[...])."
        )
    tau = np.zeros(system.nv) if tau is None else tau
    if loop_tau is not None:
        tau = tau + forces_at_tree(system.mechanics.evaluator, q, loop_tau)
    state = {"q": q, "qd": v, "tau": tau}
    q, v, tau = (
        system.mechanics.evaluator.checked(dynamics.articulated_body, name, x) for name, x in state.items()
    )
    outside = system._outside(f_ext, base_acceleration)
    shaped = {"q": q, "v": v, "tau": tau, "prescribed": accelerations}
    if outside["f_ext"] is not None:
        shaped["f_ext"] = outside["f_ext"]
    batch = arrays.batch_shape(shaped)
    shape = (*batch, system.nv)
    if bears(system):
        tau, outside["f_ext"] = _in_place(system, q, v, tau, outside["f_ext"], batch, near)
    else:
        tau = system._with_own(q, v, tau, near)
    v, acting, accelerations = (np.array(np.broadcast_to(x, shape)) for x in (v, tau, accelerations))
    q = np.broadcast_to(q, (*batch, system.nq))
    return SenseSearch(system, q, v, acting, driven, accelerations, outside)


def _in_place(
    system: System, q: Any, v: Any, tau: Any, f_ext: Any, batch: tuple[int, ...], near: Any
) -> tuple[np.ndarray, Any]:
    """Return joint forces (..., nv) and wrenches on nodes (..., n, 6) with the forces of the mechanism where they act:
    joints bear what wrenches do, and not what joint forces in their place would do."""
    elements = system.mechanics.elements
    if not system.mechanics.acts or elements.is_empty:
        return tau, f_ext
    at, rate = (np.broadcast_to(x, (*batch, n)).reshape(-1, n) for x, n in ((q, system.nq), (v, system.nv)))
    own = elements.element_forces(at, rate, near=system._near_rows(near, batch))
    pushed = {name: x.reshape(*batch, 6) for name, x in own.f_ext.items()}
    tau = tau + own.tau.reshape(*batch, system.nv)
    if not pushed:
        return tau, f_ext
    pushed_nodes = system._outside(pushed, None)["f_ext"]
    return tau, pushed_nodes if f_ext is None else pushed_nodes + f_ext


class SenseSearch:
    """Which components of states q (..., nq), v (..., nv) stick, those of the tree first and those of loops behind."""

    def __init__(
        self, system: System, q: np.ndarray, v: np.ndarray, acting: np.ndarray, driven: np.ndarray,
        accelerations: np.ndarray, outside: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.system, self.v, self.acting, self.driven, self.accelerations = (
            system,
            v,
            acting,
            driven,
            accelerations,
        )
        self.inputs = {"q": q, "qd": v, "qdd_given": accelerations, **outside}
        plan = system.mechanics.effective_plan
        self.loops = dry_loops(plan)
        self.dry, of_loops = dry_friction(system, q.reshape(-1, system.nq)[0] if q.size else system.neutral())
        self.of_loops = of_loops if self.loops else None
        self.bears = bears(system)
        self.algorithm = _algorithm(plan, bool(self.loops), self.bears)
        rates, rubs = at_rest(v, v) if system.mechanics.constrained else v, self.dry.rubs
        if self.of_loops is not None:
            loops = loop_rates(system, q, v)
            rates = np.concatenate([rates, loops.reshape(*v.shape[:-1], self.of_loops.limit.size)], axis=-1)
            rubs = np.concatenate([rubs, self.of_loops.rubs.ravel()])
        self.rates, self.has_friction = rates, np.broadcast_to(rubs, rates.shape)
        free = np.zeros(rates.shape[-1], dtype=bool)
        free[: system.nv] = driven
        self.rubs = self.has_friction & ~free
        self.load, self.settled = np.zeros(rates.shape), True
        """What the load of each component makes of friction, and whether it is the one that friction itself makes."""
        self._take_load()

    def _take_load(self) -> None:
        """Let friction be what the load makes it."""
        nv, flat = self.system.nv, self.rates.shape[:-1]
        parts = [(self.dry, self.v, self.load[..., :nv])]
        if self.of_loops is not None:
            shape = (*flat, *self.of_loops.limit.shape)
            parts.append(
                (self.of_loops, self.rates[..., nv:].reshape(shape), self.load[..., nv:].reshape(shape))
            )
        self.limit = np.concatenate(
            [
                np.broadcast_to(dry.limit_under(load), load.shape).reshape(*flat, dry.limit.size)
                for dry, _, load in parts
            ],
            axis=-1,
        )
        self.slipping = np.concatenate(
            [dry.of_slip(v, load).reshape(*flat, dry.limit.size) for dry, v, load in parts], axis=-1
        )

    def found(self) -> Sticking:
        """Return which senses go on together, and how."""
        begins = np.zeros(self.rates.shape)
        begins[..., : self.system.nv] = np.sign(self.accelerations) * self.driven
        moves = np.where(self.rates == 0.0, begins, np.sign(self.rates))
        sense = np.where(self.has_friction, moves, 0.0)
        for turn in range(PIVOTS):
            stuck = self.rubs & (sense == 0.0)
            vdot, rises, held = self._settled(sense, stuck) if self.bears else self._tried(sense, stuck)
            backwards = self.rubs & (self.rates == 0.0) & (sense * rises < -STILL)
            wrong = np.where(stuck, np.abs(held) > (1.0 + LOOSE) * self.limit, backwards)
            if not wrong.any():
                if not self.settled:
                    raise SimulationError(no_load_message(self.system))
                force = np.where(stuck, held, -self.slipping * sense)
                if self.system.mechanics.constrained:
                    rests = self.rubs & (self.rates == 0.0) & (np.abs(rises) <= still_beside(vdot))
                    force, sense = self._shared(rests, force), np.where(rests, 0.0, sense)
                    vdot = np.where(np.abs(vdot) <= still_beside(vdot), 0.0, vdot)
                return self._told(vdot, force, sense)
            if turn >= TOGETHER:
                wrong &= np.cumsum(wrong, axis=-1) == 1
            sense = np.where(wrong, np.where(stuck, -np.sign(held), 0.0), sense)
        raise SimulationError(
            f"It was not found which joints of {self.system.mechanism.name!r} stick and which slip: they change "
            f"without end."
        )

    def smooth(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the forces of friction by load where it goes smoothly through rest: (..., nv) at joints of the tree,
        and {joint: (..., nv of the joint)} at those that close loops."""
        nv, sign = self.system.nv, smooth_sign(self.rates)
        none, slip = np.zeros(self.rates.shape, dtype=bool), np.ones(self.rates.shape)

        def bearing(load: np.ndarray) -> np.ndarray:
            total = self.acting - (sign * load)[..., :nv]
            return self._evaluated(total, none, slip, (sign * load)[..., nv:])[3]

        load, settled = settle(bearing, self.load, ~none)
        if not settled.all():
            raise SimulationError(no_load_message(self.system))
        return -(sign * load)[..., :nv], self._by_loop(-(sign * load)[..., nv:])

    def smooth_loads(self, tau: np.ndarray, wrenches: Mapping[str, ArrayLike]) -> np.ndarray:
        """Return the friction (..., nv) of slips that loads make at joints of the tree under further joint forces tau
        (..., nv) and wrenches {body: (..., 6)}; friction without load goes smoothly through rest."""
        applied, slip = self.inputs["f_ext"], np.ones(self.rates.shape)
        if wrenches:
            pushed = self.system._outside(wrenches, None)["f_ext"]
            self.inputs["f_ext"] = pushed if applied is None else applied + pushed
        nv = self.system.nv
        found = self._evaluated(self.acting + tau, slip < 0.0, slip, 0.0 * slip[..., nv:])[3]
        self.inputs["f_ext"] = applied
        return found[..., :nv]

    def at_tree(self, force: np.ndarray, at_loops: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return forces (..., nv) at joints of the tree that do what these and those at loop joints do."""
        loops = self.system.mechanics.evaluator.plan.loop_joints
        if not at_loops:
            return force
        none = (*force.shape[:-1],)
        efforts = [at_loops.get(loop.name, np.zeros((*none, loop.kind.nv))) for loop in loops]
        q, evaluator = self.inputs["q"], self.system.mechanics.evaluator
        return np.asarray(force + forces_at_tree(evaluator, q, np.concatenate(efforts, axis=-1)))

    def _by_loop(self, across: np.ndarray) -> dict[str, np.ndarray]:
        """Return numbers of loop joints (..., n) by their names."""
        joints = self.system.mechanics.evaluator.plan.loop_joints
        wide = across.reshape(*across.shape[:-1], across.shape[-1] // COMPONENTS, COMPONENTS)
        return {joints[k].name: wide[..., k, : joints[k].kind.nv] for k in self.loops}

    def _settled(self, sense: np.ndarray, stuck: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what `_tried` does where loads and friction agree; `settled` says whether they do."""
        found: list[tuple[np.ndarray, ...]] = []

        def bearing(load: np.ndarray) -> np.ndarray:
            self.load = load
            self._take_load()
            found[:] = [self._tried(sense, stuck)]
            return self.bearing

        load, settled = settle(bearing, self.load, self.rubs & (sense != 0.0))
        self.settled = bool(settled.all())
        # What sticks holds by the load that it has then.
        self.load = np.where(stuck, self.bearing, load)
        self._take_load()
        vdot, rises, held = found[0]
        return vdot, rises, held

    def _tried(self, sense: np.ndarray, stuck: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the accelerations (..., nv) with these senses, those of all components, and what is held with."""
        nv = self.system.nv
        total = self.acting + self.dry.friction * smooth_sign(self.v) - (self.slipping * sense)[..., :nv]
        vdot, rises, held, self.bearing = self._evaluated(total, stuck, sense)
        return vdot, rises, held

    def _evaluated(
        self, total: np.ndarray, stuck: np.ndarray, sense: np.ndarray, smooth: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the accelerations (..., nv) under joint forces, those of all components, what is held with, and the
        friction that loads make; `smooth` is what loads at loop joints take where friction passes rest smoothly."""
        nv = self.system.nv
        inputs = {**self.inputs, "tau": total, "driven": (stuck[..., :nv] | self.driven) * 1.0}
        if self.bears:
            inputs |= {name: x for name, x in self.dry.tree_inputs.items() if name in NUMBERS}
        if self.of_loops is not None:
            # A component without friction slips, with none.
            loop_sense = np.where(self.has_friction, sense, 1.0)[..., nv:]
            inputs |= {"loop_sense": loop_sense, **self.of_loops.loop_inputs}
            if self.bears:
                inputs["loop_load"] = self.load[..., nv:]
            if smooth is not None:
                # One that slips takes what it is told to fade.
                constant = self.of_loops.friction.ravel()
                fades = smooth + constant * (smooth_sign(self.rates[..., nv:]) - 1.0)
                taken: dict[str, Any] = {"loop_fading": fades, "loop_fall": 0.0, "loop_load": 0.0}
                inputs |= {name: np.broadcast_to(x, loop_sense.shape) for name, x in taken.items()}
        found = self.system.mechanics.evaluator.evaluate(self.algorithm, inputs)
        vdot, held = found["qdd"], found["drive"] - total
        bearing = found["bears"] if self.bears else np.zeros_like(vdot)
        if self.of_loops is None:
            return vdot, vdot, held, bearing
        flat = (*vdot.shape[:-1], self.of_loops.limit.size)
        rise, hold = (found[name].reshape(flat) for name in ("rise", "hold"))
        of_loops = found["loop_bears"].reshape(flat) if self.bears else np.zeros_like(rise)
        wide = ((vdot, rise), (held, hold), (bearing, of_loops))
        rises, held, bearing = (np.concatenate(pair, axis=-1) for pair in wide)
        return vdot, rises, held, bearing

    def _shared(self, rests: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return the forces of friction where those components that rest share what they hold in the least way."""
        chosen = np.flatnonzero(rests.any(axis=tuple(range(rests.ndim - 1))))
        if not len(chosen):
            return force
        problem = motion_problem(self.system.mechanics.evaluator, self.inputs["q"])
        flat = [x[..., chosen].reshape(problem.states, -1) for x in (rests, force, self.limit)]
        found = np.array(force)
        least = least_holding(problem, component_rows(problem, chosen)[0], *flat)
        found[..., chosen] = least.reshape(rests[..., chosen].shape)
        return found

    def _told(self, vdot: np.ndarray, force: np.ndarray, sense: np.ndarray) -> Sticking:
        nv = self.system.nv
        return Sticking(
            vdot, force[..., :nv], sense[..., :nv], np.array(self.limit[..., :nv]), self._by_loop(force[..., nv:]),
            self._by_loop(sense[..., nv:]),
        )  # fmt: skip


_still: WeakKeyDictionary[System, np.ndarray] = WeakKeyDictionary()


def dry_friction(system: System, q: np.ndarray) -> tuple[DryFriction, DryFriction]:
    """Return the dry friction of the tree and of the loops of a system whose states begin at q (nq,), without that of
    joints that loops hold still."""
    tree, loops = DryFriction.of(system), DryFriction.of_loops(system)
    if not system.mechanics.constrained:
        return tree, loops
    if system.variants.laid_out not in _still:
        # It is the same wherever a mechanism stands, so it is looked at once.
        limit = np.concatenate([tree.rubs, loops.rubs.ravel()]) * 1.0
        _still[system.variants.laid_out] = never_moving(system.variants.state(0), q, limit)
    still = _still[system.variants.laid_out]
    return tree.without(still[: system.nv]), loops.without(still[system.nv :].reshape(loops.limit.shape))


def no_load_message(system: System) -> str:
    """Return the words where no friction belongs to the loads that it makes."""
    names = [name for name, joint in system.mechanism.joints.items() if joint.load_friction is not None]
    return (
        f"No friction was found that fits the loads of the joints of {system.mechanism.name!r} that it makes itself "
        f"({', '.join(map(repr, names))}): where mu and lever arms are large, rigid bodies that slip have no answer or "
        f"several (Painleve's paradox). Give a smaller mu, or a longer guide."
    )


def friction_limits(system: System, q: np.ndarray) -> dict[str, np.ndarray]:
    """Return with how much dry friction holds at rest, {joint: (nv of the joint,)}, of a system whose states begin at q
    (nq,); none where loops hold still."""
    tree, loops = dry_friction(system, q)
    found = {joint: tree.limit[system.slice_v(joint)] for joint in system.joints}
    for k, loop in enumerate(system.mechanics.evaluator.plan.loop_joints):
        found[loop.name] = loops.limit[k, : loop.kind.nv]
    return found


def never_moving(system: System, q: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """Return which components (n,) with friction (n,) loops hold still, those of the tree counted first: at q (nq,),
    and where the mechanism may go from there, because at dead points joints rest that move elsewhere."""
    still, looked = np.zeros(len(friction), dtype=bool), np.flatnonzero(friction > 0.0)
    if not len(looked):
        return still
    at, rng = q, np.random.default_rng(0)
    for _ in range(LOOKS):
        problem = motion_problem(system.mechanics.evaluator, at)
        looked = looked[held_still(problem, component_rows(problem, looked)[0])[0]]
        if not len(looked):
            return still
        try:
            _, v = system.project(at, rng.standard_normal(system.nv))
            size = float(np.abs(v).max(initial=0.0))
            at, _ = system.project(system.integrate(at, v * (AWAY / size if size else 0.0)), v)
        except CatenaError:
            break
    still[looked] = True
    return still


def tree_loads(
    system: System, q: Any, v: Any, vdot: Any, f_ext: Mapping[str, ArrayLike] | None, base_acceleration: Any
) -> np.ndarray:
    """Return the friction of slips (..., nv) that the loads of joints make where a tree accelerates by vdot."""
    dry, plan = DryFriction.of(system), system.plan
    outside = system._outside(f_ext, base_acceleration)
    batch = np.broadcast_shapes(np.shape(q)[:-1], np.shape(v)[:-1], np.shape(vdot)[:-1])
    tau, outside["f_ext"] = _in_place(system, q, v, np.zeros(system.nv), outside["f_ext"], batch, None)
    inputs = {"q": q, "qd": v, "tau": tau, "qdd_given": vdot, "driven": np.ones(system.nv), **outside}
    inputs |= dict(zip(NUMBERS, dry.bearing, strict=True))  # type: ignore[arg-type]
    return system.mechanics.evaluator.evaluate(_algorithm(plan, False, True), inputs)["bears"]


def _algorithm(plan: Plan, loops_stick: bool, loaded: bool = False) -> Algorithm:
    """Return the dynamics in which some accelerations are given, and joints of loops may stick; with `loaded` it tells
    what loads make of friction."""
    if not plan.loop_joints and not plan.couplings:
        tree = dynamics.tree_dynamics(plan, drives=True)
        return loaded_tree(tree) if loaded else tree
    found = hybrid_elimination(shape_for(plan, loops_stick))
    found = loaded_elimination(found) if loaded else found
    return with_dry_loops(found, loaded) if loops_stick else found
