"""Friction that comes from the load of joints, inside a stage: the load makes friction, which makes load.

A stage is evaluated with what loads were taken to make, and tells what they do make (`bears`). The two agree after some
rounds (`agreement`). A round of a tree of rigid bodies finds what forces do, and inertias stay. A round of an
elimination is one of its refinements, in which what passes through joints is summed up first, and then changed. Rounds
that no lane needs any more are left out, and lanes that are done keep their loads. Components that stick take no part:
their load says how much they hold.

A stage begins with loads on the polynomial through those of the stages before it, besides what this has missed in the
last step: stages are near to the motion, each in a way of its own, and it stays from step to step.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from math import prod
from typing import Any

import numpy as np

from catena.dynamics.bearing_loads import is_borne, resist_again
from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination.blocks import ArrayView
from catena.dynamics.loops.elimination.dry_loops import COMPONENTS, at_dry_loops, padded
from catena.dynamics.loops.elimination.refinement import balance, lack, load_parent
from catena.dynamics.loops.elimination.schedule import REFINEMENTS, Passes
from catena.forces.load_friction import load_friction
from catena.kernels import (
    Entry,
    LeaveOut,
    OnCall,
    Schedule,
    Sweep,
    at_ground,
    base_to_tip,
    on_call,
    tip_to_base,
    with_ground,
)
from catena.kinematics.along import gram_inverse
from catena.simulation.stepping.methods.agreement import (
    begin_comparing,
    better,
    compare,
    forget_changes,
    memory_names,
    weigh_gaps,
    weights,
)
from catena.simulation.stepping.methods.sticking import is_dry
from catena.spatial import Force, MotionSpace
from catena.spatial.scalars import array, where

ROUNDS = 16
"""How often a stage is evaluated again at most."""
WHOLE = 0.5
"""A step of more than this part of what was planned is not one that is cut."""
NODES = 3
"""Through the loads of so many stages a polynomial goes."""
COMPONENT_VIEW = ArrayView((COMPONENTS,))
LOOP_VIEW = {"loop_load_taken": COMPONENT_VIEW}
REWRITTEN = frozenset(
    {"by_load", "bears", "load_slope", "unloaded", "load_taken", *memory_names(""), *memory_names("own_")}
    | {"felt_inertia", "felt_force", "carried", "resists", "u", "plain_load"}
)


@at_ground
def fit_so_far(ground: Any) -> None:
    """At the start of a step friction fits all loads."""
    ground.unfit = ground.load_square = 0.0
    forget_changes(ground)


@with_ground
@but_particles
def forget_past(body: Any, ground: Any) -> None:
    """There is no round before the first; loads are those of the last step that was taken."""
    nothing, body.load_taken = np.zeros(body.joint.nv), body.by_load
    body.load_slope, body.unloaded, body.resists = nothing, nothing, nothing
    for name in memory_names(""):
        setattr(body, name, nothing)
    ground.load_square = ground.load_square + body.by_load @ body.by_load


@with_ground
@but_particles
def weigh_load(body: Any, ground: Any) -> None:
    """Say how much gaps of a joint count."""
    body.load_weight = weights(ground, body.by_load)


@on_call
def forget_loop_past(loop: Any, child: Any, parent: Any, ground: Any) -> None:
    """The same of a joint that closes a loop."""
    loop.loop_load_taken = loop.loop_load
    for name in memory_names("own_"):
        setattr(loop, name, np.zeros(loop.joint.nv))
    ground.load_square += loop.loop_load @ loop.loop_load


@on_call
def weigh_loop_load(loop: Any, child: Any, parent: Any, ground: Any) -> None:
    """Say how much gaps of a joint that closes a loop count."""
    loop.own_load_weight = weights(ground, loop.loop_load[: loop.joint.nv])


def beginning(loops: bool) -> list[Sweep]:
    """Return what a step begins with, in joints of `loops` too."""
    found: list[Sweep] = [fit_so_far, forget_past, weigh_load]
    if loops:
        in_loops = [Schedule(partial(at_dry_loops, step)) for step in (forget_loop_past, weigh_loop_load)]
        found[2:2] = in_loops[:1]
        found.append(in_loops[1])
    return found


@at_ground
def begin_rounds(ground: Any) -> None:
    """Nothing is compared yet in a stage, of a step that is cut or not."""
    ground.is_whole = where(ground.dt > WHOLE * ground.h, 1.0, 0.0)
    begin_comparing(ground)


@at_ground
def weigh(ground: Any) -> None:
    """Decide whether friction fits, and how loads go on."""
    weigh_gaps(ground)


@at_ground
def end_rounds(ground: Any) -> None:
    """A stage whose friction does not fit is remembered."""
    ground.unfit = where(ground.unsettled > 0.5, 1.0, ground.unfit)


def _rub_again(body: Any, ground: Any) -> None:
    """Let friction be what loads are taken to make next."""
    if is_dry(body):
        load = better(ground, body, "", body.by_load)
        body.moved, body.by_load = load - body.by_load, load
        body.tau = body.unloaded - body.load_slope * load


rub_again = with_ground(but_particles(_rub_again))


@tip_to_base
def _resist_again(body: Any, parent: Any, ground: Any) -> None:
    """What the parent feels of a body under its new friction."""
    _rub_again(body, ground)
    resist_again.step(body, parent)


@lru_cache(maxsize=16)
def bearing(come_back: Sweep) -> Sweep:
    """Return the last sweep of a `loaded_tree`, which takes what is better for the next round."""

    def bear(body: Any, parent: Any, ground: Any) -> None:
        come_back.step(body, parent)
        if not body.joint.is_particle and is_dry(body):
            compare(ground, body, "", body.sense, body.by_load, body.bears)

    return base_to_tip(bear)


def tree_rounds(dynamics: Sequence[Sweep], ground: Sweep, rigid: bool) -> list[Sweep]:
    """Return the three sweeps of a `loaded_tree`, and what follows them until friction fits the loads."""
    move, show, come_back = dynamics
    bear = bearing(come_back)
    again = [ground, *([_resist_again] if rigid else [rub_again, move, show]), bear, weigh]
    found: list[Sweep] = [begin_rounds, move, show, bear, weigh]
    return [*found, *ROUNDS * [LeaveOut("unsettled", len(again)), *again], end_rounds]


@on_call
def load_parent_bearing(body: Any, parent: Any, ground: Any) -> None:
    """What passes through the joint, and what friction it makes."""
    if is_borne(body):
        body.bears = load_friction(body, "", body.S, body.joint.transform(body.q), body.f)
        compare(ground, body, "", body.sense, body.by_load, body.bears)
    load_parent.step(body, parent)


@on_call
def lack_bearing(body: Any, parent: Any, ground: Any) -> None:
    """The joint force that is missing under the new friction."""
    if is_borne(body):
        _rub_again(body, ground)
        body.effort = body.tau - body.resists
    lack.step(body, parent)


@on_call
def bear_in_loop(loop: Any, ground: Any) -> None:
    """What friction the wrench makes that the constraints of a loop hold."""
    nv, S = loop.joint.nv, MotionSpace(loop.loaded_space)
    held = loop.on_child * (loop.K_child * loop.total)
    bears, senses = load_friction(loop, "loop_", S, loop.loaded_at, held), loop.loop_sense[:nv]
    compare(ground, loop, "own_", senses, loop.loop_load[:nv], bears)


@on_call
def rub_loop_again(loop: Any, child: Any, parent: Any, ground: Any) -> None:
    """The new friction of a loop's own joint, and what its bodies feel of the change."""
    nv, X, S = loop.joint.nv, loop.loaded_at, MotionSpace(loop.loaded_space)
    load = better(ground, loop, "own_", loop.loop_load[:nv])
    moved = load - loop.loop_load[:nv]
    T, grip = S.array @ gram_inverse(S), loop.loop_load_slope[:nv]
    f = Force(T @ (loop.unloaded + grip * load))
    drag_child, drag_parent = loop.on_child.pull(f), -loop.on_parent.pull(X.pull(f))
    child.p += drag_child - loop.drag_child
    parent.p += drag_parent - loop.drag_parent
    loop.drag_child, loop.drag_parent = drag_child, drag_parent
    loop.own_moved, loop.loop_load = moved, padded(load)
    ground.lost += (grip * moved) @ loop.rate[:nv]


def recalling(times: Sequence[float], loops: bool) -> list[Sweep]:
    """Return what follows the decision about a step with stages at these `times`, in joints of `loops` too."""
    in_tree, in_loop = _recalling(tuple(times))
    return [in_tree, Schedule(partial(at_dry_loops, in_loop))] if loops else [in_tree]


@lru_cache(maxsize=16)
def _recalling(times: tuple[float, ...]) -> tuple[Sweep, OnCall]:
    """Return the steps of joints that go on from the loads of the last step that was taken: where a joint was tried
    that cannot stick, as one that turns round while others go on, loads are beyond all measure."""

    def taken(owner: Any, ground: Any, prefix: str, load: Any, before: Any) -> Any:
        _remember_miss(times, owner, ground, prefix, load)
        return array([where(ground.accepted > 0.5, a, b) for a, b in zip(load, before, strict=True)])

    def recall(body: Any, ground: Any) -> None:
        if is_dry(body):
            body.by_load = taken(body, ground, "", body.by_load, body.load_taken)

    def recall_in_loop(loop: Any, child: Any, parent: Any, ground: Any) -> None:
        nv = loop.joint.nv
        found = taken(loop, ground, "loop_", loop.loop_load[:nv], loop.loop_load_taken[:nv])
        loop.loop_load = padded(found)

    return with_ground(but_particles(recall)), on_call(recall_in_loop)


ELIMINATION_STEPS = (load_parent_bearing, lack_bearing)


def elimination_rounds(order: Callable[..., list[Entry]]) -> list[Sweep]:
    """Return an elimination of which `order` lists the calls, refined until friction fits the loads."""

    def part(played: Callable[[Passes], list[Entry]], ends: bool) -> Callable[[Any], list[Entry]]:
        return lambda at: order(at, played=played, share=None, ends=ends)

    refined = part(lambda passes: passes.refinement, False)

    def comparing(at: Any) -> list[Entry]:
        found = [replace(e, places=(e.places[0], e.places[-1])) for e in at_dry_loops(rub_loop_again, at)]
        found = [replace(e, sweep=bear_in_loop) for e in found]
        for entry in refined(at):
            if entry.sweep is balance:
                found.append(Entry(load_parent_bearing, entry.owner, (*entry.places, at.flows(0))))
        return found

    def refining(at: Any) -> list[Entry]:
        found = at_dry_loops(rub_loop_again, at)
        for entry in refined(at):
            if entry.sweep is balance:
                entry = Entry(lack_bearing, entry.owner, (*entry.places, at.flows(0)))
            found.append(entry)
        return found

    begun = Schedule(part(lambda p: [*p.solution, *(p.often - REFINEMENTS) * p.refinement], False))
    again = [Schedule(comparing), weigh, Schedule(refining)]
    ended = Schedule(part(lambda passes: passes.residuals, True))
    more = (ROUNDS - REFINEMENTS) * [LeaveOut("unsettled", len(again)), *again]
    return [begin_rounds, begun, *REFINEMENTS * again, *more, end_rounds, ended]


def guess(times: Sequence[float], stage: int, loops: bool) -> list[Sweep]:
    """Return what takes loads of a stage that is evaluated at one of the `times` of a step from those before, in joints
    of `loops` too."""
    if not stage:
        return []
    in_tree, in_loop = _guessing(tuple(times[: stage + 1]))
    return [in_tree, Schedule(partial(at_dry_loops, in_loop))] if loops else [in_tree]


def loop_steps(times: Sequence[float]) -> list[OnCall]:
    """Return what schedules call for joints that close loops, in steps with stages at these `times`."""
    guesses = [_guessing(tuple(times[: stage + 1]))[1] for stage in range(1, len(times))]
    return [
        forget_loop_past,
        weigh_loop_load,
        *guesses,
        bear_in_loop,
        rub_loop_again,
        _recalling(tuple(times))[1],
    ]


def miss_names(times: Sequence[float], prefix: str) -> tuple[str, ...]:
    """Return the names under which joints keep what guesses of stages missed in the last step."""
    return tuple(f"{prefix}load_miss_{stage}" for stage in range(1, len(times)))


@lru_cache(maxsize=64)
def _guessing(times: tuple[float, ...]) -> tuple[Sweep, OnCall]:
    stage, weights = len(times) - 1, _lagrange(times)

    def guessed(owner: Any, ground: Any, prefix: str, load: Any) -> Any:
        setattr(owner, f"load_{stage - 1}", load)
        _remember_miss(times[:-1], owner, ground, prefix, load)
        plain = sum(w * getattr(owner, f"load_{k}") for k, w in weights.items())
        owner.plain_load = plain
        miss = getattr(owner, f"{prefix}load_miss_{stage}")[: len(plain)]
        unit = prod(len(weights) * [ground.dt])
        better = [x + unit * y for x, y in zip(plain, miss, strict=True)]
        return array([where(x > 0.0, x, 0.0) for x in better])

    def take(body: Any, ground: Any) -> None:
        if is_dry(body):
            body.by_load = guessed(body, ground, "", body.by_load)

    def take_in_loop(loop: Any, child: Any, parent: Any, ground: Any) -> None:
        loop.loop_load = padded(guessed(loop, ground, "loop_", loop.loop_load[: loop.joint.nv]))

    return with_ground(but_particles(take)), on_call(take_in_loop)


def _remember_miss(times: tuple[float, ...], owner: Any, ground: Any, prefix: str, load: Any) -> None:
    """Remember what the guess of the last of these stages missed, for the next step: in terms of the power of the size
    with which that goes. Steps that are cut tell nothing."""
    stage = len(times) - 1
    if not stage:
        return
    name, is_whole = f"{prefix}load_miss_{stage}", ground.is_whole > 0.5
    unit = prod(len(_lagrange(times)) * [where(is_whole, ground.dt, 1.0)])
    before = getattr(owner, name)
    missed = [(x - y) / unit for x, y in zip(load, owner.plain_load, strict=True)]
    kept = [where(is_whole, x, y) for x, y in zip(missed, before, strict=False)]
    setattr(owner, name, array([*kept, *before[len(kept) :]]))


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
