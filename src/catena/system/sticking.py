"""Dry friction at given states, as runs have it: what moves rubs against its slip, what is at rest sticks or slips.

Which components at rest stick is looked for as in a step (`stepping.methods.sticking`): those that would need more
force than there is begin to slip, and those that would slip the other way stick. Where that does not end at once, with
loops, it is found from what holds most on (`questions.holding_friction`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena import dynamics
from catena.dynamics.bearing_loads import loaded_elimination, loaded_tree, settle
from catena.dynamics.loops.elimination import shape_for
from catena.dynamics.loops.elimination.dry_loops import COMPONENTS, dry_loops, with_dry_loops
from catena.dynamics.loops.elimination.hybrid import hybrid_elimination
from catena.dynamics.loops.least_holding import component_rows, least_holding
from catena.dynamics.loops.motion_problem import motion_problem
from catena.dynamics.loops.prescribed import prescribed_accelerations
from catena.errors import SimulationError, StateError
from catena.forces.load_friction import NUMBERS
from catena.forces.smooth import smooth_sign
from catena.kernels import Algorithm, arrays
from catena.kinematics.loops.closure import forces_at_tree, wrenches_on_nodes
from catena.questions.holding_friction import holding_friction
from catena.structure import Plan
from catena.system.by_name import Given, as_arrays
from catena.system.dry_friction import (
    STILL,
    DryFriction,
    at_rest,
    bears,
    dry_friction,
    loop_rates,
    no_load_message,
    still_beside,
)

if TYPE_CHECKING:
    from catena.system.system import System

# A force that holds is too large beyond this part of its limit.
LOOSE = 1e-10
# In trees all wrong senses change together so often, before they are found one state after the other.
TOGETHER = 8


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
    if loop_tau is not None and not bears(system):
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
        if loop_tau is not None:
            pairs = wrenches_on_nodes(system.mechanics.evaluator, q, loop_tau)
            outside["f_ext"] = pairs if outside["f_ext"] is None else pairs + outside["f_ext"]
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
        self.system, self.v, self.acting, self.driven, self.given = system, v, acting, driven, accelerations
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
        begins[..., : self.system.nv] = np.sign(self.given) * self.driven
        moves = np.where(self.rates == 0.0, begins, np.sign(self.rates))
        sense = np.where(self.has_friction, moves, 0.0)
        for _ in range(1 if self.system.mechanics.constrained else TOGETHER):
            stuck = self.rubs & (sense == 0.0)
            vdot, rises, held = self._settled(sense, stuck)
            wrong = np.where(stuck, np.abs(held) > (1.0 + LOOSE) * self.limit, self._backwards(sense, rises))
            if not wrong.any():
                break
            sense = np.where(wrong, np.where(stuck, -np.sign(held), 0.0), sense)
        again = np.asarray(wrong.any(axis=-1))
        if again.any():
            sense, held = self._held_first(np.where(self.rests, 0.0, sense), held, again)
            stuck = self.rubs & (sense == 0.0)
            vdot, rises, _ = self._tried(-self.slipping * sense, stuck)
            if np.any(self._backwards(sense, rises) & (rises * sense < -10.0 * still_beside(vdot))):
                raise SimulationError(
                    f"It was not found which joints of {self.system.mechanism.name!r} stick and which slip: none of "
                    f"what was tried goes on."
                )
        if not self.settled:
            raise SimulationError(no_load_message(self.system))
        force = np.where(stuck, held, -self.slipping * sense)
        if self.system.mechanics.constrained:
            rests = self.rests & (np.abs(rises) <= still_beside(vdot))
            force, sense = self._shared(rests, force), np.where(rests, 0.0, sense)
            vdot = np.where(np.abs(vdot) <= still_beside(vdot), 0.0, vdot)
        return self._told(vdot, force, sense)

    @property
    def rests(self) -> np.ndarray:
        """Return which components with friction are at rest, and not driven."""
        return np.asarray(self.rubs & (self.rates == 0.0))

    def _backwards(self, sense: np.ndarray, rises: np.ndarray) -> np.ndarray:
        """Return which components at rest begin to slip against their sense."""
        return np.asarray(self.rests & (sense * rises < -STILL))

    def _held_first(
        self, sense: np.ndarray, held: np.ndarray, again: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return senses, and with what components hold, found in the states (...) that are looked at `again` from what
        holds most on; those of others are given."""
        rests, nothing = self.rests & again[..., None], np.zeros(self.rates.shape, dtype=bool)
        chosen = np.flatnonzero(rests.any(axis=tuple(range(rests.ndim - 1))))
        mobility, slides = self._mobility(chosen), nothing
        sense, held = np.array(sense), np.array(held)

        def bearing(load: np.ndarray) -> np.ndarray:
            self.load = load
            self._take_load()
            known = np.where(rests, 0.0, -self.slipping * sense)
            free = self._tried(known, nothing)[1]
            limit = np.where(slides, self.slipping, (1.0 + LOOSE) * self.limit)
            for at in filter(again.__getitem__, np.ndindex(again.shape)):
                own = np.flatnonzero(rests[at])
                block = mobility[at][np.ix_(rests[at][chosen], rests[at][chosen])]
                held[(*at, own)], sense[(*at, own)] = holding_friction(block, free[at][own], limit[at][own])
            if self.bears:
                self._tried(np.where(rests, held, known), nothing)
            return self.bearing

        while True:
            if self.bears:
                self.load, settled = settle(bearing, self.load, self.rubs & again[..., None])
                self.settled = bool(settled.all())
            bearing(self.load)
            more = rests & (sense != 0.0) & ~slides
            if not more.any():
                return sense, held
            slides = slides | more

    def _mobility(self, chosen: np.ndarray) -> np.ndarray:
        """Return how components that are chosen (c,) accelerate by friction in each of them, (..., c, c)."""
        nothing, none = np.zeros(self.rates.shape), np.zeros(self.rates.shape, dtype=bool)
        free = self._tried(nothing, none)[1][..., chosen]
        found = np.zeros((*free.shape, len(chosen)))
        for k, component in enumerate(chosen):
            pull = nothing.copy()
            pull[..., component] = np.maximum(1.0, self.limit[..., component])
            rises = self._tried(pull, none)[1][..., chosen]
            found[..., k] = (rises - free) / pull[..., component, None]
        return 0.5 * (found + np.swapaxes(found, -1, -2))

    def smooth(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the forces of friction by load where it goes smoothly through rest: (..., nv) at joints of the tree,
        and {joint: (..., nv of the joint)} at those that close loops."""
        nv, sign, none = self.system.nv, smooth_sign(self.rates), np.zeros(self.rates.shape, dtype=bool)
        smooth = self._smooth_in_loops()

        def bearing(load: np.ndarray) -> np.ndarray:
            taken = sign * load
            return self._evaluated(self.acting - taken[..., :nv], none, taken[..., nv:] + smooth)[3]

        load, settled = settle(bearing, self.load, ~none)
        if not settled.all():
            raise SimulationError(no_load_message(self.system))
        return -(sign * load)[..., :nv], self._by_loop(-(sign * load)[..., nv:])

    def smooth_loads(self, forces: np.ndarray, wrenches: Mapping[str, ArrayLike]) -> np.ndarray:
        """Return the friction (..., n) of slips that loads make under further forces (..., n) in all components and
        wrenches {body: (..., 6)}; friction without load goes smoothly through rest."""
        applied, nv, none = self.inputs["f_ext"], self.system.nv, np.zeros(self.rates.shape, dtype=bool)
        if wrenches:
            pushed = self.system._outside(wrenches, None)["f_ext"]
            self.inputs["f_ext"] = pushed if applied is None else applied + pushed
        taken = self._smooth_in_loops() - forces[..., nv:]
        found = self._evaluated(self.acting + forces[..., :nv], none, taken)[3]
        self.inputs["f_ext"] = applied
        return found

    def bearing_under(self, friction: np.ndarray) -> np.ndarray:
        """Return the friction of slips (..., n) that loads make under forces of friction (..., n) in all components,
        of loops too where none of theirs has friction."""
        width = self.rates.shape[-1]
        self._tried(friction[..., :width], np.zeros(self.rates.shape, dtype=bool))
        found = np.zeros(friction.shape)
        found[..., :width] = self.bearing
        return found

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

    def _smooth_in_loops(self) -> np.ndarray:
        """Return what friction without load takes (..., n) at joints of loops where it goes smoothly through rest."""
        rates = self.rates[..., self.system.nv :]
        return rates if self.of_loops is None else self.of_loops.friction.ravel() * smooth_sign(rates)

    def _settled(self, sense: np.ndarray, stuck: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what `_tried` does with these senses, where loads and friction agree if joints have friction by load;
        `settled` says whether they do."""
        if not self.bears:
            return self._tried(-self.slipping * sense, stuck)
        found: list[tuple[np.ndarray, ...]] = []

        def bearing(load: np.ndarray) -> np.ndarray:
            self.load = load
            self._take_load()
            found[:] = [self._tried(-self.slipping * sense, stuck)]
            return self.bearing

        load, settled = settle(bearing, self.load, self.rubs & (sense != 0.0))
        self.settled = bool(settled.all())
        # What sticks holds by the load that it has then.
        self.load = np.where(stuck, self.bearing, load)
        self._take_load()
        vdot, rises, held = found[0]
        return vdot, rises, held

    def _tried(self, force: np.ndarray, stuck: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the accelerations (..., nv) under forces of friction, those of all components, and what is held
        with where components are stuck."""
        nv = self.system.nv
        total = self.acting + self.dry.friction * smooth_sign(self.v) + force[..., :nv]
        vdot, rises, held, self.bearing = self._evaluated(total, stuck, -force[..., nv:])
        return vdot, rises, held

    def _evaluated(
        self, total: np.ndarray, stuck: np.ndarray, taken: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the accelerations (..., nv) under joint forces, with what friction has taken at joints of loops (...,
        n), those of all components, what is held with, and the friction that loads make."""
        nv = self.system.nv
        inputs = {**self.inputs, "tau": total, "driven": (stuck[..., :nv] | self.driven) * 1.0}
        if self.bears:
            inputs |= {name: x for name, x in self.dry.tree_inputs.items() if name in NUMBERS}
        if self.of_loops is not None:
            # A component that does not stick slips forwards, and takes what it is told to fade.
            fades = taken - self.of_loops.friction.ravel()
            inputs |= {**self.of_loops.loop_inputs, "loop_sense": np.where(stuck[..., nv:], 0.0, 1.0)}
            inputs |= {"loop_fading": fades, "loop_fall": np.zeros_like(fades)}
            if self.bears:
                inputs["loop_load"] = np.zeros_like(fades)
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
