"""Closing loops in lanes: by how much they are open, and the least change that closes them.

The least change, in the sense of the kinetic energy of going there in unit time, is the acceleration of the same
elimination with nothing at work but the gaps: H delta = J^T lambda, J delta + gap = 0.
"""

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination import flexible
from catena.dynamics.loops.elimination.blocks import EliminationShape, views
from catena.dynamics.loops.elimination.magnitudes import Magnitudes
from catena.dynamics.loops.elimination.schedule import rewritten, schedule, steps_for
from catena.dynamics.loops.elimination.steps import (
    accelerate,
    hold_by,
    padded,
    relative,
    rest,
    resting_ground,
    start,
    velocities,
)
from catena.dynamics.loops.elimination.ties import (
    TELLING,
    begin_coupling,
    leave,
    leave_open,
    leave_opening,
)
from catena.kernels import POSITION, VELOCITY, Algorithm, Entry, OnCall, Schedule, on_call
from catena.spatial import ArticulatedInertia, Force, Motion, log


@on_call
@but_particles
def stand(body: Any, parent: Any) -> None:
    """Poses and twists; no forces."""
    body.X = body.joint.transform(body.q) * body.placement
    body.S = body.joint.motion_space(body.q)
    body.pose = body.X * parent.pose
    body.v = body.X * parent.v + body.S * body.qd
    body.c, body.p0, body.effort = Motion.zero(), Force.zero(), np.zeros(body.joint.nv)
    body.A = ArticulatedInertia.from_rigid(body.inertia)
    body.p = Force.zero()
    body.e = np.zeros(body.joint.nv)
    body.defect = body.change = body.before = body.size = 0.0
    body.load = Magnitudes.zero()
    flexible.begin(body, parent)


@on_call
@but_particles
def change(body: Any, parent: Any) -> None:
    """How a joint changes; changes of velocity are measured beside the velocity, of which they may be rounding."""
    accelerate.step(body, parent)
    body.pace = body.pace + Magnitudes.of(body.v)


@on_call
def measure(loop: Any, child: Any, parent: Any) -> None:
    """The position and velocity errors of a loop joint, along the columns of its constraint space."""
    X, q, Phi = _standing(loop, child, parent)
    loop.position = Phi.T * log(X * loop.joint.transform(q).inverse())
    loop.velocity = Phi.T * (loop.on_child * child.v - X * (loop.on_parent * parent.v))


@on_call
def measure_and_hold(loop: Any, child: Any, parent: Any) -> None:
    """The same, and how forces along those columns act on the two bodies."""
    measure.step(loop, child, parent)
    X, _, Phi = _standing(loop, child, parent)
    hold_by(loop, X, Phi, np.zeros(loop.columns))


@on_call
def start_open(loop: Any, child: Any, parent: Any) -> None:
    """A loop that is open by its position error."""
    X, q, Phi = _standing(loop, child, parent)
    hold_by(loop, X, Phi, Phi.T * log(X * loop.joint.transform(q).inverse()))


@on_call
def start_opening(loop: Any, child: Any, parent: Any) -> None:
    """A loop that opens with its velocity error."""
    X, _, Phi = _standing(loop, child, parent)
    hold_by(loop, X, Phi, Phi.T * (loop.on_child * child.v - X * (loop.on_parent * parent.v)))


def constraint_columns(loop: Any, child: Any, parent: Any) -> Any:
    """Return the constraint space of a loop joint where it stands, in its own frame."""
    return _standing(loop, child, parent)[2]


def _standing(loop: Any, child: Any, parent: Any) -> Any:
    """Return the transform across the joint, its coordinates, and its constraint space."""
    X = relative(loop, child, parent)
    q = loop.joint.coordinates(X)
    return (
        X,
        q,
        padded(
            loop.joint.constraint_space(loop.neutral if loop.has_constant_constraint_space else q),
            loop.columns,
        ),
    )


def _measuring(at: Any, look: OnCall = measure) -> list[Entry]:
    plan = at.plan
    bodies = [
        Entry(stand, i, (at.body(i), at.flows(i), at.flows(int(plan.parent[i]))))
        for i in range(1, plan.n)
        if not plan.kind[i].is_particle
    ]
    return (
        bodies
        + [
            Entry(look, k, (at.multiplier(k), at.flows(joint.child_node), at.flows(joint.parent_node)))
            for k, joint in enumerate(plan.loop_joints)
            if joint.constraints
        ]
        + [
            entry
            for c, coupling in enumerate(plan.couplings)
            if coupling.constraints
            for entry in begin_coupling(at, len(plan.loop_joints) + c, leave)
        ]
    )


@lru_cache(maxsize=8)
def closure(shape: EliminationShape) -> Algorithm:
    """Return the position and velocity errors of loops of up to so many constraints, and of couplings."""
    shape = shape.rigid
    return Algorithm(
        f"closure_{shape}", resting_ground, (stand, measure, *_ties(shape), Schedule(_measuring)),
        inputs={"q": POSITION, "qd": VELOCITY},
        multiplier_outputs=("position", "velocity"), optional=frozenset({"qd"}), rewritten=frozenset({"e"}),
        views=views(shape), columns=shape.columns,
    )  # fmt: skip


@lru_cache(maxsize=8)
def holds(shape: EliminationShape) -> Algorithm:
    """Return the errors of loops, and the wrenches K_child and K_parent on the nodes of their two bodies that unit
    forces along the constraints make."""
    base = closure(shape)
    return replace(
        base, name=f"holds_{shape.rigid}",
        sweeps=(stand, measure_and_hold, *_ties(shape), Schedule(partial(_measuring, look=measure_and_hold))),
        multiplier_outputs=("position", "velocity", "K_child", "K_parent"),
    )  # fmt: skip


@lru_cache(maxsize=32)
def position_correction(shape: EliminationShape) -> Algorithm:
    """Return the least change of position that closes the loops, to first order, as `qdd`, and how far it can be
    trusted; changes are measured beside a turn of everything by a radian."""
    return _correction(
        "position_correction", 1.0, accelerate, start_open, leave_open, shape, frozenset({"qd"})
    )


@lru_cache(maxsize=32)
def velocity_correction(shape: EliminationShape) -> Algorithm:
    """Return the least change of velocity that stops the loops from opening, as `qdd`, and how far it can be
    trusted."""
    return _correction("velocity_correction", 0.0, change, start_opening, leave_opening, shape, frozenset())


def _ties(shape: EliminationShape) -> tuple[OnCall, ...]:
    return TELLING if shape.coupled else ()


def _correction(
    name: str, turn: float, come_back: OnCall, begin: OnCall, finish: OnCall, shape: EliminationShape,
    optional: frozenset[str],
) -> Algorithm:  # fmt: skip
    instead = {velocities: stand, start: begin, accelerate: come_back}
    # Nothing acts, on particles neither.
    steps = [instead.get(step, step) for step in steps_for(shape) if step is not flexible.weigh]
    order = partial(
        schedule, move=stand, begin_loop=begin, rub=False, finish=finish, come_back=come_back, rests=True
    )

    def ground(ground: Any) -> None:
        rest(ground)
        flexible.begin_rows(ground, shape.modes)
        ground.pace = Magnitudes(turn, 0.0)

    return Algorithm(
        f"{name}_{shape}", ground, (*steps, *((finish,) if shape.coupled else ()), Schedule(order)),
        inputs={"q": POSITION, "qd": VELOCITY}, outputs={"qdd": VELOCITY}, optional=optional,
        ground_outputs=("defect", "change", "before", "size"),
        rewritten=rewritten(shape), views=views(shape), columns=shape.columns, link_rows=shape.link_rows,
    )  # fmt: skip
