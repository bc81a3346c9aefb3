"""The elimination with some joint accelerations given: a driven joint does not yield, its body accelerates besides as
given, and the force that its drive must give is a result."""

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination import EliminationShape, flexible, loop_elimination
from catena.dynamics.loops.elimination.flexible import among_rigid
from catena.dynamics.loops.elimination.refinement import judge
from catena.dynamics.loops.elimination.schedule import schedule, steps_for
from catena.dynamics.loops.elimination.steps import accelerate, articulate, pass_on, velocities
from catena.dynamics.tree.hybrid_dynamics import DRIVE_INPUTS
from catena.dynamics.tree.rotors import felt_through, rotor_force
from catena.kernels import VELOCITY, Algorithm, OnCall, Schedule, on_call
from catena.spatial import ArticulatedInertia, ForceSpace, MotionSpace, spd_inverse
from catena.spatial.scalars import array, less, where


@on_call
@but_particles
def move_driven(body: Any, parent: Any) -> None:
    """As in free motion; what drives give belongs to the acceleration that needs no force of the joint."""
    velocities.step(body, parent)
    body.c = body.c + body.S * (body.driven * body.qdd_given)
    if len(body.pm):
        flexible.begin_driven(body)


def articulating(name: str, damped: bool = False) -> OnCall:
    """Return what the parent feels of a body through a joint that yields in part or not at all: components do not whose
    field of this name is 1; without a name all yield. Joints that are `damped` resist by their field `resists`."""

    def held_in(body: Any) -> Any:
        return getattr(body, name) if name else None

    @among_rigid(lambda body, parent: flexible.articulate(body, parent, held_in(body)))
    def articulate_in_part(body: Any, parent: Any) -> None:
        unyielding = held_in(body)

        def through(
            k: int, A: ArticulatedInertia, S: MotionSpace, U: ForceSpace
        ) -> tuple[ArticulatedInertia, Any]:
            D = (S.T * U)[0, 0] + (0.0 if body.joint.rotor is None else body.joint.rotor[k])
            D = D + body.resists[k] if damped else D
            stays = None if unyielding is None else less(0.5, unyielding[k])
            D_inv = spd_inverse(array([[D if stays is None else where(stays, 1.0, D)]]))
            if damped:
                free = A - ArticulatedInertia.from_outer(U, D_inv)
            else:
                free = felt_through(body.joint, A, S, U, D_inv)
            if stays is None:
                return free, D_inv[0, 0]
            pairs = zip(A.entries(), free.entries(), strict=True)
            felt = ArticulatedInertia.from_entries([where(stays, a, b) for a, b in pairs])
            return felt, where(stays, 0.0, D_inv[0, 0])

        pass_on(body, parent, through)

    return on_call(articulate_in_part)


articulate_driven = articulating("driven")
articulate_held = articulating("held")
"""Where closed states are sought with some coordinates held: those are not moved."""


@on_call
@among_rigid(partial(flexible.accelerate, is_driven=True))
def accelerate_driven(body: Any, parent: Any) -> None:
    """Free joints accelerate as forces have it, driven ones as given."""
    accelerate.step(body, parent)
    body.qdd = body.qdd + body.driven * body.qdd_given


@on_call
@among_rigid(partial(flexible.judge, is_driven=True))
def judge_driven(body: Any, parent: Any) -> None:
    """The force that a drive lacks is the one that it gives; the others must lack nothing."""
    given_by_drive = body.driven * (body.S.T * body.f - body.effort + rotor_force(body.joint, body.qdd))
    body.drive = body.tau + given_by_drive
    body.effort = body.effort + given_by_drive
    judge.step(body, parent)


hybrid_schedule = partial(
    schedule, move=move_driven, go=articulate_driven, come_back=accelerate_driven, end=judge_driven
)


@lru_cache(maxsize=32)
def hybrid_elimination(shape: EliminationShape, implicit: bool = False) -> Algorithm:
    """Return the elimination of a shape, with the inputs of `hybrid_dynamics`."""
    base = loop_elimination(shape, implicit)
    instead = {
        velocities: move_driven, articulate: articulate_driven, accelerate: accelerate_driven, judge: judge_driven,
    }  # fmt: skip
    steps = [instead.get(step, step) for step in steps_for(shape, implicit)]
    return replace(
        base, name=f"driven_{base.name}",
        sweeps=(*steps, Schedule(partial(hybrid_schedule, implicit=implicit))),
        inputs={**base.inputs, **DRIVE_INPUTS}, outputs={"qdd": VELOCITY, "drive": VELOCITY},
        rewritten=base.rewritten | {"c", "effort"},
    )  # fmt: skip
