"""The elimination with closure errors fed back into the constraints (Baumgarte): instead of e'' = 0 the loops obey
e'' + f_1 e' + f_0 e = 0, with the position errors e and velocity errors e' of the loop joints.

The two numbers `feedback` = (f_1, f_0) are an input of the ground. Bodies pass them on, because a loop sees nothing but
the bodies that it joins.
"""

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination import EliminationShape, loop_elimination
from catena.dynamics.loops.elimination.hybrid import hybrid_elimination, hybrid_schedule, move_driven
from catena.dynamics.loops.elimination.least_change import measure
from catena.dynamics.loops.elimination.schedule import schedule
from catena.dynamics.loops.elimination.standing_in import stand_in
from catena.dynamics.loops.elimination.steps import start, velocities
from catena.kernels import Algorithm, Scalars, Schedule, Sweep, on_call
from catena.spatial.scalars import array


@on_call
@but_particles
def move_and_tell(body: Any, parent: Any) -> None:
    """As in free motion, with the feedback passed on."""
    velocities.step(body, parent)
    body.feedback = parent.feedback


@on_call
@but_particles
def move_driven_and_tell(body: Any, parent: Any) -> None:
    """The same for a joint that may be driven."""
    move_driven.step(body, parent)
    body.feedback = parent.feedback


@on_call
def stand_in_and_tell(multiplier: Any, child: Any, parent: Any) -> None:
    """A stand-in of a body, with the feedback passed on."""
    stand_in.step(multiplier, child, parent)
    child.feedback = parent.feedback


@on_call
def start_with_feedback(loop: Any, child: Any, parent: Any) -> None:
    """A loop that closes as fast as the feedback has it."""
    start.step(loop, child, parent)
    measure.step(loop, child, parent)
    damping, stiffness = child.feedback
    closing = array(
        [damping * rate + stiffness * gap for rate, gap in zip(loop.velocity, loop.position, strict=True)]
    )
    loop.gamma = loop.gamma + closing
    loop.l = loop.l + closing


@on_call
def leave_with_feedback(multiplier: Any, child: Any) -> None:
    """A coupling that closes as fast as the feedback has it."""
    damping, stiffness = child.feedback
    pairs = zip(multiplier.velocity, multiplier.position, strict=True)
    closing = array([damping * rate + stiffness * gap for rate, gap in pairs])
    multiplier.gamma = multiplier.gamma + closing
    multiplier.l = multiplier.gamma


@lru_cache(maxsize=32)
def elimination_with_feedback(
    shape: EliminationShape, driven: bool = False, implicit: bool = False
) -> Algorithm:
    """Return the elimination of a shape with the ground input `feedback`; where joints are
    `driven`, with the inputs of `hybrid_dynamics`."""
    base = (hybrid_elimination if driven else loop_elimination)(shape, implicit)
    plain, moving = (move_driven, move_driven_and_tell) if driven else (velocities, move_and_tell)
    instead: dict[Sweep, Sweep] = {plain: moving, start: start_with_feedback, stand_in: stand_in_and_tell}
    ties = (leave_with_feedback,) if shape.coupled else ()
    order = hybrid_schedule if driven else schedule

    def ground(ground: Any) -> None:
        base.ground(ground)
        ground.feedback = ground.feedback_given

    steps = [instead.get(s, s) for s in base.sweeps if not isinstance(s, Schedule)]
    return replace(
        base, name=f"{base.name}_with_feedback", ground=ground,
        sweeps=(
            *steps, *ties,
            Schedule(partial(
                order, move=moving, begin_loop=start_with_feedback, finish=leave_with_feedback, share=stand_in_and_tell,
                implicit=implicit,
            )),
        ),
        ground_inputs={**base.ground_inputs, "feedback_given": Scalars(2)},
    )  # fmt: skip
