"""Dry friction that sticks in joints which close loops, inside the elimination.

A component that sticks is held by one more column of its loop, T_k = S (S^T S)^-1 e_k: the wrench that does work along
this component of the joint and along no other one. The row that belongs to it says that the component does not
accelerate, and the multiplier is what friction holds with. Where a component slips, its column is zero, as those are
that a loop does not need, and friction has the sense of the slip. So a loop joint that sticks is as exact as one of the
tree, and nothing is compiled when it does.

Loops are told the `loop_sense` of each component, and of its friction what joints of the tree are told
(`forces/dry.py`); they tell the `rate`, the `rise` (acceleration) and the `hold` of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from catena.dynamics.loops.elimination.blocks import ArrayView
from catena.dynamics.loops.elimination.feedback import start_with_feedback
from catena.dynamics.loops.elimination.least_change import start_open, start_opening
from catena.dynamics.loops.elimination.steps import REGULARISATION, drag, drag_by, mobility, relative, start
from catena.forces.dry import load_slope, slip_friction, sticks
from catena.forces.load_friction import NUMBERS, load_friction
from catena.kernels import Algorithm, Entry, OnCall, Schedule, on_call
from catena.kinematics.along import gram_inverse
from catena.spatial import Force, ForceSpace, Motion, cross
from catena.spatial.scalars import array, where
from catena.structure import Plan

COMPONENTS = 6
"""The most velocity components that a joint has."""
INPUTS = ("loop_sense", "loop_excess", "loop_fading", "loop_fall")
"""What loops are told of each component: its sense, by how much friction at rest is more than that of a slip, the part
of this that fades with the slip, and how fast it does."""
OUTPUTS = ("rate", "rise", "hold")
LOADED_INPUTS = (*INPUTS, "loop_load", *(f"loop_{name}" for name in NUMBERS))
"""What loops are told besides where friction comes from load: what their load is taken to make, and `NUMBERS`."""
LOADED_OUTPUTS = (*OUTPUTS, "loop_bears")
VIEW = dict.fromkeys((*INPUTS, *OUTPUTS), ArrayView((COMPONENTS,)))
LOADED_VIEW = dict.fromkeys((*LOADED_INPUTS, *LOADED_OUTPUTS, "loop_load_slope"), ArrayView((COMPONENTS,)))
"""Fields of the view `multiplier` of loops besides those of the elimination."""


def dry_loops(plan: Plan) -> tuple[int, ...]:
    """Return the loops of a plan whose joints have dry friction and may move."""
    return tuple(
        k for k, loop in enumerate(plan.loop_joints)
        if loop.parent_node != loop.child_node and any(x != 0.0 for x in loop.friction)
    )  # fmt: skip


@lru_cache(maxsize=64)
def has_dry_friction(plan: Plan) -> bool:
    """Return whether any joint of a plan, of its tree or in a loop, has dry friction."""
    return bool(np.any(plan.friction > 0.0) or dry_loops(plan))


class LoopMotion:
    """How a loop joint stands: the transform X from the parent's side to the child's, its motions S (6, nv), the
    wrenches T (6, nv) along them, and where each component sticks, 1 or 0."""

    def __init__(self, loop: Any, child: Any, parent: Any) -> None:
        self.loop, self.child, self.parent = loop, child, parent
        self.X = relative(loop, child, parent)
        self.is_constant = loop.has_constant_motion_space
        self.q = loop.neutral if self.is_constant else loop.joint.coordinates(self.X)
        self.S = S = loop.joint.motion_space(self.q).array
        self.T = S @ gram_inverse(loop.joint.motion_space(self.q))
        self.stuck = [where(sticks(loop.loop_sense[k]), 1.0, 0.0) for k in range(loop.joint.nv)]

    def between(self, of_child: Motion, of_parent: Motion) -> Motion:
        """Return the motion of the child's side relative to the parent's, from those of both bodies."""
        return self.loop.on_child * of_child - self.X * (self.loop.on_parent * of_parent)

    @property
    def rates(self) -> np.ndarray:
        """Return the velocities (nv,) of the joint."""
        return np.asarray(self.T.T @ self.between(self.child.v, self.parent.v).array)

    def bias(self) -> Motion:
        """Return the acceleration of the child's side relative to the parent's if no component accelerates."""
        v_child = self.loop.on_child * self.child.v
        c = cross(v_child, self.between(self.child.v, self.parent.v))
        return c if self.is_constant else c + self.loop.joint.bias(self.q, self.rates)

    def hold_besides(self, gaps: Any) -> None:
        """Let a loop resist along the components that stick, besides its constraints, by `gaps` (nv,)."""
        loop, nv, first = self.loop, self.loop.joint.nv, constraints_of(self.loop)
        free = np.zeros((6, loop.columns), dtype=object)
        free[:, first : first + nv] = self.T * array(self.stuck)
        columns = ForceSpace(array(list(free.ravel())).reshape(free.shape))
        loop.K_child = loop.K_child + loop.on_child.pull(columns)
        loop.K_parent = loop.K_parent - loop.on_parent.pull(self.X.pull(columns))
        own = [0.0] * first + [s * g for s, g in zip(self.stuck, gaps, strict=True)]
        wide = array(own + [0.0] * (loop.columns - len(own)))
        loop.gamma, loop.l = loop.gamma + wide, loop.l + wide
        M = list(loop.M)
        # A column that is not there has the size of the one that may be.
        M[first : first + nv] = [REGULARISATION * mobility(loop.scale, column) for column in self.T.T]
        loop.M = array(M)


def constraints_of(loop: Any) -> int:
    """Return how many constraints the joint of a loop has."""
    return int(loop.joint.constraint_space(loop.neutral).n)


def padded(values: Any) -> np.ndarray:
    """Return numbers of components with zeros for those that a joint does not have."""
    return array([*values, *[0.0] * (COMPONENTS - len(values))])


def _holding(begin: OnCall, gaps: Callable[[LoopMotion], Any]) -> OnCall:
    """Return a step that begins with a loop as another one does, and holds on to what sticks."""

    def step(loop: Any, child: Any, parent: Any) -> None:
        begin.step(loop, child, parent)
        motion = LoopMotion(loop, child, parent)
        motion.hold_besides(gaps(motion))

    return on_call(step)


def _accelerating(motion: LoopMotion) -> Any:
    return -(motion.T.T @ motion.bias().array)


def _fed_back(motion: LoopMotion) -> Any:
    """Return how a component that sticks accelerates where closure errors are fed back: it loses what it moves."""
    damping, _ = motion.child.feedback
    return [a + damping * rate for a, rate in zip(_accelerating(motion), motion.rates, strict=True)]


start_held = _holding(start, _accelerating)
start_held_with_feedback = _holding(start_with_feedback, _fed_back)
start_open_held = _holding(start_open, lambda motion: np.zeros(motion.loop.joint.nv))
start_opening_held = _holding(start_opening, lambda motion: motion.rates)


@on_call
def drag_dry(loop: Any, child: Any, parent: Any, ground: Any) -> None:
    """The friction of a loop's own joint: damping, and where it slips dry friction with its sense."""
    _drag(loop, child, parent, ground, False)


@on_call
def drag_loaded(loop: Any, child: Any, parent: Any, ground: Any) -> None:
    """The same, with what the load of the joint makes."""
    _drag(loop, child, parent, ground, True)


def _drag(loop: Any, child: Any, parent: Any, ground: Any, loaded: bool) -> None:
    motion = LoopMotion(loop, child, parent)
    v, found = motion.rates, []
    for k in range(loop.joint.nv):
        slipping = slip_friction(loop.friction[k], loop.loop_fading[k], loop.loop_fall[k], v[k])
        found.append(loop.damping[k] * v[k] + loop.loop_sense[k] * slipping)
    effort = array(found)
    if loaded:
        # What stays as it is while loads and friction are made to agree.
        loop.loaded_at, loop.loaded_space, loop.rate, loop.unloaded = motion.X, motion.S, padded(v), effort
        parts = zip(loop.loop_sense, loop.loop_bear_fading, loop.loop_fall, v, strict=False)
        loop.loop_load_slope = padded([load_slope(*each) for each in parts])
        effort = effort + loop.loop_load_slope[: len(v)] * loop.loop_load[: len(v)]
    drag_by(loop, child, parent, ground, motion.X, motion.T, effort, v)


@on_call
def tell(loop: Any, child: Any, parent: Any) -> None:
    """How a loop joint moves and accelerates, and with what it holds where it sticks."""
    motion, first = LoopMotion(loop, child, parent), constraints_of(loop)
    loop.rate = padded(motion.rates)
    rise = motion.between(child.a, parent.a) - motion.bias()
    loop.rise = padded(motion.T.T @ rise.array)
    loop.hold = padded([-s * loop.total[first + k] for k, s in enumerate(motion.stuck)])


@on_call
def tell_loaded(loop: Any, child: Any, parent: Any) -> None:
    """The same, and the friction that the wrench of its constraints makes."""
    tell.step(loop, child, parent)
    motion = LoopMotion(loop, child, parent)
    Phi, S = loop.joint.constraint_space(motion.q), loop.joint.motion_space(motion.q)
    held = Force(Phi.array @ loop.total[: Phi.n])
    loop.loop_bears = padded(load_friction(loop, "loop_", S, motion.X, held))


@on_call
def tell_rate(loop: Any, child: Any, parent: Any) -> None:
    """How a loop joint moves."""
    loop.rate = padded(LoopMotion(loop, child, parent).rates)


INSTEAD = {
    start: start_held, start_with_feedback: start_held_with_feedback, start_open: start_open_held,
    start_opening: start_opening_held, drag: drag_dry,
}  # fmt: skip
"""The steps of loops that may stick in the places of those of loops that do not."""
LOADED = {**INSTEAD, drag: drag_loaded}


class _Holding:
    """Where a schedule finds records, with a plan in which loops that may stick count as many constraints as they then
    have: the order of elimination is good for both."""

    def __init__(self, at: Any) -> None:
        self._at, self.plan = at, _held_plan(at.plan)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._at, name)


@lru_cache(maxsize=8)
def _held_plan(plan: Plan) -> Plan:
    dry = dry_loops(plan)
    loops = [
        replace(loop, constraints=loop.constraints + loop.kind.nv) if k in dry else loop
        for k, loop in enumerate(plan.loop_joints)
    ]
    return replace(plan, loop_joints=loops)


def at_dry_loops(step: OnCall, at: Any) -> list[Entry]:
    """Return the calls of a step for each loop that may stick, with its two bodies and the ground as far as it asks for
    them."""
    found, asked = [], len(step.roles)
    for k in dry_loops(at.plan):
        joint = at.plan.loop_joints[k]
        places = at.multiplier(k), at.flows(joint.child_node), at.flows(joint.parent_node), at.flows(0)
        found.append(Entry(step, k, places[:asked]))
    return found


def holding(
    order: Callable[..., list[Entry]], telling: bool, loaded: bool = False
) -> Callable[..., list[Entry]]:
    """Return the calls of a schedule with loops that may stick, and, if `telling`, what these tell in the end, which
    calls of a part of the schedule do that `ends`; with `loaded` friction comes from load too."""
    instead = LOADED if loaded else INSTEAD

    def held(at: Any, ends: bool = True, **parts: Any) -> list[Entry]:
        dry = dry_loops(at.plan)
        entries = [
            replace(e, sweep=instead[e.sweep]) if e.sweep in instead and e.owner in dry else e
            for e in order(_Holding(at) if dry else at, **parts)
        ]
        return entries + (at_dry_loops(tell_loaded if loaded else tell, at) if telling and ends else [])

    return held


@lru_cache(maxsize=16)
def with_dry_loops(base: Algorithm, loaded: bool = False) -> Algorithm:
    """Return an elimination in which the joints of loops may stick, with the inputs `INPUTS` and the results `OUTPUTS`,
    or with those of joints whose friction comes from load."""
    begin = start_with_feedback if start_with_feedback in base.sweeps else start
    steps = [sweep for sweep in base.sweeps if not isinstance(sweep, Schedule)]
    orders = [
        Schedule(holding(sweep.order, True, loaded)) for sweep in base.sweeps if isinstance(sweep, Schedule)
    ]
    own = LOADED_VIEW if loaded else VIEW
    views = {**base.views, "multiplier": {**base.view("multiplier"), **own}}
    rub, read, found = (drag_loaded, LOADED_INPUTS, LOADED_OUTPUTS) if loaded else (drag_dry, INPUTS, OUTPUTS)
    end = tell_loaded if loaded else tell
    return replace(
        base, name=f"{base.name}_with_dry_loops{'_loaded' if loaded else ''}",
        sweeps=(*steps, INSTEAD[begin], rub, end, *orders), views=views,
        multiplier_inputs=read, multiplier_outputs=(*base.multiplier_outputs, *found),
    )  # fmt: skip
