"""The elimination over a step in time, implicit in the dampers of joints of the tree: what `resists` accelerations of a
joint as inertia does is added to D = S^T U, as it is in a tree (`simulation.stepping.methods.damped_dynamics`). Dry
friction is left to rows of the step. Joints that close loops are damped by the velocity that they are expected to have.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from catena.dynamics.flexible.flexible_body import is_flexible
from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination.hybrid import (
    articulate_driven,
    articulating,
    judge_driven,
    move_driven,
)
from catena.dynamics.loops.elimination.refinement import balance, judge
from catena.dynamics.loops.elimination.steps import articulate, damp, drag, velocities
from catena.dynamics.tree.friction import damped_force
from catena.kernels import Algorithm, Entry, OnCall, Schedule, on_call


def _moving(move: OnCall) -> OnCall:
    """Return how a body begins to move, whose joint is pushed by its damper and not by dry friction."""

    def begin(body: Any, parent: Any) -> None:
        move.step(body, parent)
        if not is_flexible(body.joint):
            body.effort = body.tau - damped_force(body) + body.resists * body.a_past

    return on_call(but_particles(begin))


def _resisting(step: OnCall) -> OnCall:
    """Return the step of a body that looks for the force which its joint lacks, beside what the damper takes."""

    def act(body: Any, parent: Any) -> None:
        if is_flexible(body.joint):
            step.step(body, parent)
            return
        effort, left = body.effort, body.effort - body.resists * body.qdd
        body.effort = left
        step.step(body, parent)
        # What a drive gives is a part of the effort from then on.
        body.effort = effort + (body.effort - left)

    return on_call(but_particles(act))


INSTEAD: dict[OnCall, OnCall] = {
    velocities: _moving(velocities),
    move_driven: _moving(move_driven),
    drag: damp,
    articulate: articulating("", damped=True),
    articulate_driven: articulating("driven", damped=True),
    **{step: _resisting(step) for step in (balance, judge, judge_driven)},
}
"""The steps of an elimination that know dampers, in place of those that do not."""


def damped(found: Algorithm) -> Algorithm:
    """Return an elimination in which joints are damped."""
    steps = (INSTEAD.get(x, x) for x in found.sweeps if isinstance(x, OnCall))
    orders = (Schedule(_ordered(x.order)) for x in found.sweeps if isinstance(x, Schedule))
    return replace(
        found, name=f"damped_{found.name}", sweeps=(*steps, *orders), rewritten=found.rewritten | {"effort"}
    )


def _ordered(order: Callable[..., list[Entry]]) -> Callable[..., list[Entry]]:
    def damped_order(at: Any, **options: Any) -> list[Entry]:
        return [replace(x, sweep=INSTEAD.get(x.sweep, x.sweep)) for x in order(at, **options)]

    return damped_order
