"""What forces at the loops, proportional to closure errors, add to the accelerations of the tree (van der Merwe, eq.
5.75): H delta = -J^T (k e + d e'), with the loops cut, nothing else at work, and the bodies at rest.

The four numbers `pull`, k and d for distances and then for angles, are an input of the ground. Bodies pass them on,
because a loop sees nothing but the bodies that it joins.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination.flexible import floating_frames, with_weights
from catena.dynamics.loops.elimination.least_change import constraint_columns, measure_and_hold, stand
from catena.dynamics.loops.elimination.steps import accelerate, articulate, rest
from catena.dynamics.loops.elimination.ties import begin_coupling, leave, pull_coupling, pull_joint
from catena.kernels import Algorithm, Entry, Scalars, Schedule, Sweep, at_ground, each_body, on_call
from catena.spatial.scalars import array

REWRITTEN = frozenset({"qdd", "qdd_held"})
# Added to the square of a constraint, so that one that is none has no part about angles.
NOTHING = 1e-300


def telling(base: Algorithm) -> Algorithm:
    """Return the algorithm whose ground tells the bodies, besides everything else, how strong the forces are."""

    def ground(ground: Any) -> None:
        base.ground(ground)
        ground.pull = ground.pull_given

    return replace(
        base,
        name=f"{base.name}_pulled",
        ground=ground,
        ground_inputs={**base.ground_inputs, "pull_given": Scalars(4)},
    )


@each_body
@but_particles
def hold_accelerations(body: Any) -> None:
    """Keep the accelerations found so far."""
    body.qdd_held = body.qdd


@each_body
@but_particles
def add_accelerations(body: Any) -> None:
    """Add what the forces at the loops do."""
    body.qdd = body.qdd_held + body.qdd


@on_call
@but_particles
def stand_and_tell(body: Any, parent: Any) -> None:
    """Stand without forces, with the strength passed on."""
    stand.step(body, parent)
    body.pull = parent.pull


@on_call
def pull_together(loop: Any, child: Any, parent: Any) -> None:
    """The forces on the two bodies along the constraints of their loop."""
    measure_and_hold.step(loop, child, parent)
    force = pulling_force(child.pull, turning_parts(constraint_columns(loop, child, parent)), loop)
    child.p += loop.K_child * force
    parent.p += loop.K_parent * force


def turning_parts(Phi: Any) -> list[Any]:
    """Return which part of each constraint (6, n), [moment; force], is about angles: one of a moment, zero of a
    force."""
    moments, forces = (
        [sum((x * x for x in column), 0.0) for column in part.T] for part in (Phi.array[:3], Phi.array[3:])
    )
    return [a / (a + b + NOTHING) for a, b in zip(moments, forces, strict=True)]


def pulling_force(pull: Any, turning: Any, gaps: Any) -> Any:
    """Return the forces along constraints with the position and velocity errors of `gaps`."""
    k, d, k_turning, d_turning = pull
    parts = zip(turning, gaps.position, gaps.velocity, strict=True)
    return array(
        [(k + s * (k_turning - k)) * gap + (d + s * (d_turning - d)) * rate for s, gap, rate in parts]
    )


def _rest(ground: Any) -> None:
    """The ground rests, and keeps the power that friction in loops has lost."""
    lost = ground.lost
    rest(ground)
    ground.lost = lost


def pulling(at: Any, implicit: bool) -> list[Entry]:
    """Bodies stand, loops pull, bodies yield to it from the tips to the base, and accelerate on the way back; with
    `implicit` modes are lent what a step implicit in them lends."""
    plan = at.plan

    def each(step: Any, nodes: range) -> list[Entry]:
        return [Entry(step, i, (at.body(i), at.flows(i), at.flows(int(plan.parent[i])))) for i in nodes]

    loops = [
        Entry(pull_together, k, (at.multiplier(k), at.flows(joint.child_node), at.flows(joint.parent_node)))
        for k, joint in enumerate(plan.loop_joints)
        if joint.constraints and joint.parent_node != joint.child_node
    ]
    loops += [
        entry
        for c, coupling in enumerate(plan.couplings)
        if coupling.constraints
        for k in [len(plan.loop_joints) + c]
        for entry in (*begin_coupling(at, k, leave), *pull_coupling(at, k))
    ]
    outward, inward = range(1, plan.n), range(plan.n - 1, 0, -1)
    entries = [*each(stand_and_tell, outward), *loops, *each(articulate, inward), *each(accelerate, outward)]
    return with_weights(at, entries, stand_and_tell, True, implicit) if floating_frames(plan) else entries


CALLED = (stand_and_tell, pull_together)
TIES_CALLED = (pull_joint,)
"""What the schedule calls besides steps of the elimination, and where there are couplings."""


def pulling_sweeps(implicit: bool = False) -> tuple[Sweep, ...]:
    """Return what follows the accelerations of a stage."""
    order = Schedule(partial(pulling, implicit=implicit))
    return hold_accelerations, at_ground(_rest), order, add_accelerations
