"""Friction that comes from the load of joints, inside a stage: the load makes friction, which makes load.

A stage is evaluated with what loads were taken to make, and tells what they do make (`bears`). The two agree after some
rounds, each of which goes on as the last ones did: loads go by their gap over 1 - c, where c says how much of a change
of loads comes back as loads, a number for all joints together. A round of a tree of rigid bodies finds what forces do,
and inertias stay. A round of an elimination is one of its refinements: loads change while it goes to the base, and
those of loops as soon as their bodies have accelerated. Rounds that no lane needs any more are left out, and lanes that
are done keep their loads. Components that stick take no part: their load says how much they hold.

A stage begins with loads on the polynomial through those of the stages before it.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from catena.dynamics.bearing_loads import AGREED, is_borne, resist_again
from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination.blocks import ArrayView
from catena.dynamics.loops.elimination.dry_loops import COMPONENTS, at_dry_loops, dry_loops, padded
from catena.dynamics.loops.elimination.refinement import balance, drag_again
from catena.dynamics.loops.elimination.schedule import REFINEMENTS, Passes
from catena.dynamics.loops.elimination.steps import relative
from catena.dynamics.tree.friction import passive_force
from catena.forces.dry import slips
from catena.forces.load_friction import load_friction
from catena.kernels import (
    Entry,
    LeaveOut,
    Schedule,
    Sweep,
    at_ground,
    base_to_tip,
    each_body,
    on_call,
    tip_to_base,
    with_ground,
)
from catena.kinematics.along import gram_inverse
from catena.simulation.stepping.methods.conditions import both
from catena.simulation.stepping.methods.sticking import is_dry
from catena.spatial import Force, MotionSpace
from catena.spatial.scalars import absolute, array, where

ROUNDS = 16
"""How often a stage is evaluated again at most."""
NODES = 3
"""Through the loads of so many stages a polynomial goes."""
SINGULAR = 1e-3
"""Loads that come back up to this part are as good as all of them."""
LOOP_VIEW = dict.fromkeys(("loop_moved", "loop_bears_past", "loop_load_taken"), ArrayView((COMPONENTS,)))
REWRITTEN = frozenset(
    {"by_load", "bears", "moved", "bears_past", "load_slope", "unloaded", "load_taken"}
    | {"felt_inertia", "felt_force", "carried", "resists", "u"}
)


@at_ground
def fit_so_far(ground: Any) -> None:
    """At the start of a step friction fits all loads."""
    ground.unfit = ground.beyond = 0.0


@each_body
@but_particles
def forget_past(body: Any) -> None:
    """There is no round before the first; loads are those of the last step that was taken."""
    nothing, body.load_taken = np.zeros(body.joint.nv), body.by_load
    body.load_slope, body.unloaded, body.moved, body.bears_past = nothing, nothing, nothing, nothing


@on_call
def forget_loop_past(loop: Any) -> None:
    """There is no round before the first; loads are those of the last step that was taken."""
    loop.loop_load_taken = loop.loop_load
    loop.loop_moved = loop.loop_bears_past = np.zeros(COMPONENTS)


@at_ground
def begin_rounds(ground: Any) -> None:
    """Nothing is compared yet; a step that will not be taken needs no rounds any more."""
    ground.unsettled, ground.rounds = where(ground.unfit > 0.5, 0.0, 1.0), 0.0
    _forget(ground)


def _forget(ground: Any) -> None:
    ground.gap_square = ground.size_square = ground.moved_square = ground.comes_back = 0.0


def _improved(ground: Any, senses: Any, load: Any, bears: Any, moved: Any, past: Any) -> tuple[Any, Any]:
    """Return what loads are taken to make next, as before in lanes that are done, and how far they moved; and add up
    how far friction of components that slip is from what their loads make."""
    goes, again, new, changes = ground.unsettled > 0.5, ground.rounds > 0.5, [], []
    for k, sense in enumerate(senses):
        counts = slips(sense)
        gap = where(counts, bears[k] - load[k], 0.0)
        change = where(both(counts, again), moved[k], 0.0)
        ground.gap_square = ground.gap_square + gap * gap
        ground.size_square = ground.size_square + where(counts, bears[k] * bears[k] + load[k] * load[k], 0.0)
        ground.moved_square = ground.moved_square + change * change
        ground.comes_back = ground.comes_back + change * where(again, bears[k] - past[k], 0.0)
        better = bears[k] + ground.beyond * gap
        new.append(where(goes, where(better > 0.0, better, 0.0), load[k]))
        changes.append(new[-1] - load[k])
    return array(new), array(changes)


def _improve(body: Any, ground: Any) -> None:
    body.by_load, body.moved = _improved(
        ground, body.sense, body.by_load, body.bears, body.moved, body.bears_past
    )
    body.bears_past = body.bears


@at_ground
def weigh(ground: Any) -> None:
    """Decide whether friction fits, and how far beyond what they make loads go next."""
    agrees = ground.gap_square <= AGREED * AGREED * ground.size_square
    ground.unsettled = where(agrees, 0.0, ground.unsettled)
    moved = ground.moved_square > 0.0
    part = ground.comes_back / where(moved, ground.moved_square, 1.0)
    left = 1.0 - part
    left = where(absolute(left) < SINGULAR, where(left < 0.0, -SINGULAR, SINGULAR), left)
    ground.beyond = where(moved, part / left, ground.beyond)
    ground.rounds = ground.rounds + 1.0
    _forget(ground)


@at_ground
def end_rounds(ground: Any) -> None:
    """A stage whose friction does not fit is remembered."""
    ground.unfit = where(ground.unsettled > 0.5, 1.0, ground.unfit)


def _rub_again(body: Any) -> None:
    """Let friction be what loads are taken to make now."""
    if is_dry(body):
        body.tau = body.unloaded - body.load_slope * body.by_load


rub_again = each_body(but_particles(_rub_again))


@tip_to_base
def _resist_again(body: Any, parent: Any) -> None:
    """What the parent feels of a body under its new friction."""
    _rub_again(body)
    resist_again.step(body, parent)


@lru_cache(maxsize=16)
def bearing(come_back: Sweep) -> Sweep:
    """Return the last sweep of a `loaded_tree`, which takes what is better for the next round."""

    def bear(body: Any, parent: Any, ground: Any) -> None:
        come_back.step(body, parent)
        if not body.joint.is_particle and is_dry(body):
            _improve(body, ground)

    return base_to_tip(bear)


def tree_rounds(dynamics: Sequence[Sweep], ground: Sweep, rigid: bool) -> list[Sweep]:
    """Return the three sweeps of a `loaded_tree`, and what follows them until friction fits the loads."""
    move, show, come_back = dynamics
    bear = bearing(come_back)
    again = [ground, *([_resist_again] if rigid else [rub_again, move, show]), bear, weigh]
    found: list[Sweep] = [begin_rounds, move, show, bear, weigh]
    return [*found, *ROUNDS * [LeaveOut("unsettled", len(again)), *again], end_rounds]


@on_call
def balance_bearing(body: Any, parent: Any, ground: Any) -> None:
    """The joint force that is missing, with friction that the wrench through the joint makes."""
    if is_borne(body):
        body.bears = load_friction(body, "", body.S, body.joint.transform(body.q), body.f)
        _improve(body, ground)
        _rub_again(body)
        body.effort = body.tau - passive_force(body)
    balance.step(body, parent)


@on_call
def drag_bearing(loop: Any, child: Any, parent: Any, ground: Any) -> None:
    """The friction of a loop's own joint, with that which the wrench of its constraints makes."""
    nv, X, S = loop.joint.nv, relative(loop, child, parent), MotionSpace(loop.loaded_space)
    held = loop.on_child * (loop.K_child * loop.total)
    bears, senses = load_friction(loop, "loop_", S, X, held), loop.loop_sense[:nv]
    load, moved = _improved(ground, senses, loop.loop_load, bears, loop.loop_moved, loop.loop_bears_past)
    loop.loop_load, loop.loop_moved, loop.loop_bears_past = padded(load), padded(moved), padded(bears)
    f = Force(S.array @ gram_inverse(S) @ (loop.unloaded + loop.loop_load_slope[:nv] * load))
    loop.drag_child, loop.drag_parent = loop.on_child.pull(f), -loop.on_parent.pull(X.pull(f))
    ground.lost += (loop.loop_load_slope[:nv] * moved) @ loop.rate[:nv]
    drag_again.step(loop, child, parent)


@with_ground
@but_particles
def recall(body: Any, ground: Any) -> None:
    """Go on from the loads of the last step that was taken: where a joint was tried that cannot stick, as one that
    turns round while others go on, loads are beyond all measure."""
    if is_dry(body):
        body.by_load = _taken(ground, body.by_load, body.load_taken)


@on_call
def recall_in_loop(loop: Any, child: Any, parent: Any, ground: Any) -> None:
    """Go on from these loads at a joint that closes a loop."""
    loop.loop_load = _taken(ground, loop.loop_load, loop.loop_load_taken)


def _taken(ground: Any, now: Any, before: Any) -> Any:
    return array([where(ground.accepted > 0.5, a, b) for a, b in zip(now, before, strict=True)])


def recalling(loops: bool) -> list[Sweep]:
    """Return what follows the decision about a step, in joints of `loops` too."""
    return [recall, *([Schedule(partial(at_dry_loops, recall_in_loop))] if loops else [])]


ELIMINATION_STEPS = (balance_bearing,)
LOOP_STEPS = (drag_bearing, forget_loop_past, recall_in_loop)


def elimination_rounds(order: Callable[..., list[Entry]]) -> list[Sweep]:
    """Return an elimination of which `order` lists the calls, refined until friction fits the loads."""

    def part(played: Callable[[Passes], list[Entry]], ends: bool) -> Callable[[Any], list[Entry]]:
        return lambda at: order(at, played=played, share=None, ends=ends)

    refined = part(lambda passes: passes.refinement, False)

    def bearing_again(at: Any) -> list[Entry]:
        dry, found = dry_loops(at.plan), []
        for entry in refined(at):
            if entry.sweep is balance:
                entry = Entry(balance_bearing, entry.owner, (*entry.places, at.flows(0)))
            elif entry.sweep is drag_again and entry.owner in dry:
                entry = Entry(drag_bearing, entry.owner, (*entry.places, at.flows(0)))
            found.append(entry)
        return found

    begun = Schedule(part(lambda p: [*p.solution, *(p.often - REFINEMENTS) * p.refinement], False))
    again = [Schedule(bearing_again), weigh]
    ended = Schedule(part(lambda passes: passes.residuals, True))
    more = (ROUNDS - REFINEMENTS) * [LeaveOut("unsettled", len(again)), *again]
    return [begin_rounds, begun, *REFINEMENTS * again, *more, end_rounds, ended]


def guess(times: Sequence[float], stage: int) -> list[Sweep]:
    """Return what takes loads of a stage that is evaluated at one of the `times` of a step from those before."""
    if not stage:
        return []
    return [_guessing(tuple(times[: stage + 1]))]


@lru_cache(maxsize=64)
def _guessing(times: tuple[float, ...]) -> Sweep:
    *before, now = times
    last, weights = len(before) - 1, _lagrange(times)

    def take(body: Any, ground: Any) -> None:
        if is_dry(body):
            setattr(body, f"load_{last}", body.by_load)
            body.by_load = _on_polynomial([getattr(body, f"load_{k}") for k in weights], weights.values())

    return with_ground(but_particles(take))


def _on_polynomial(loads: Any, weights: Any) -> Any:
    total = sum(w * load for w, load in zip(weights, loads, strict=True))
    return array([where(x > 0.0, x, 0.0) for x in total])


def _lagrange(times: tuple[float, ...]) -> dict[int, float]:
    """Return the weights of stages, by their numbers, with which the polynomial through them is at the last of the
    `times`: of stages at one time the last counts."""
    *before, now = times
    nodes = sorted({time: stage for stage, time in enumerate(before)}.values())[-NODES:]
    found = {}
    for one in nodes:
        parts = [(now - before[k]) / (before[one] - before[k]) for k in nodes if k != one]
        found[one] = float(np.prod(parts))
    return {stage: weight for stage, weight in found.items() if weight}
