"""The dry friction of joints: what is known of it, which joints have it, and which are at rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from catena.dynamics.loops.elimination.dry_loops import COMPONENTS, dry_loops
from catena.dynamics.loops.least_holding import component_rows, held_still
from catena.dynamics.loops.motion_problem import motion_problem
from catena.errors import CatenaError
from catena.forces.dry import slip_friction
from catena.forces.load_friction import NUMBERS

if TYPE_CHECKING:
    from catena.system.system import System

# Accelerations [rad/s^2 or m/s^2] that are rounding.
STILL = 1e-11
# With loops joints are at rest below this velocity [rad/s or m/s], and below this part of the fastest of the tree.
AT_REST, ROUNDED = 1e-11, 1e-10
# Configurations at which it is looked whether loops hold joints still, and how far they are apart [rad or m].
LOOKS, AWAY = 4, 0.1


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
