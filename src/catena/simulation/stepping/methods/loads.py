"""Friction that comes from the load of joints, inside a stage: the load makes friction, which makes load.

A stage is evaluated with what loads were taken to make, and tells what they do make (`bears`). The two agree after some
rounds with Anderson's step of depth one, a secant where one joint matters; those that no lane needs any more are left
out, and lanes that are done keep their numbers. Components that stick take no part: their load says how much they hold.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from catena.dynamics.bearing_loads import AGREED
from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination.blocks import ArrayView
from catena.dynamics.loops.elimination.dry_loops import COMPONENTS, at_dry_loops, padded
from catena.forces.dry import slips
from catena.kernels import LeaveOut, Schedule, Sweep, at_ground, on_call, with_ground
from catena.simulation.stepping.methods.conditions import both
from catena.simulation.stepping.methods.sticking import is_dry
from catena.spatial.scalars import array, where

ROUNDS = 16
"""How often a stage is evaluated again at most."""
LOOP_VIEW = dict.fromkeys(("loop_bears_past", "loop_gap_past"), ArrayView((COMPONENTS,)))


@at_ground
def fit_so_far(ground: Any) -> None:
    """At the start of a step friction fits all loads."""
    ground.unfit = 0.0


@at_ground
def begin_rounds(ground: Any) -> None:
    """Nothing is compared yet."""
    ground.unsettled, ground.rounds, ground.theta = 1.0, 0.0, 0.0
    _forget(ground)


def _forget(ground: Any) -> None:
    ground.gap_square = ground.size_square = ground.gap_turn = ground.turn_square = 0.0


def _compare(ground: Any, senses: Any, load: Any, bears: Any, past: Any) -> None:
    """Add up how far friction of components that slip is from what their loads make."""
    for k, sense in enumerate(senses):
        counts = slips(sense)
        gap = where(counts, bears[k] - load[k], 0.0)
        turn = where(both(counts, ground.rounds > 0.5), gap - past[k], 0.0)
        ground.gap_square = ground.gap_square + gap * gap
        ground.size_square = ground.size_square + where(counts, bears[k] * bears[k] + load[k] * load[k], 0.0)
        ground.gap_turn = ground.gap_turn + gap * turn
        ground.turn_square = ground.turn_square + turn * turn


def _improve(ground: Any, load: Any, bears: Any, bears_past: Any, gap_past: Any) -> tuple[Any, Any, Any]:
    """Return what loads are taken to make next, and what is kept of this round; nothing changes in lanes that are
    done."""
    goes, new, found, gaps = ground.unsettled > 0.5, [], [], []
    for k in range(len(load)):
        turned = where(ground.rounds > 0.5, bears[k] - bears_past[k], 0.0)
        better = bears[k] - ground.theta * turned
        new.append(where(goes, where(better > 0.0, better, 0.0), load[k]))
        found.append(where(goes, bears[k], bears_past[k]))
        gaps.append(where(goes, bears[k] - load[k], gap_past[k]))
    return array(new), array(found), array(gaps)


@with_ground
@but_particles
def compare(body: Any, ground: Any) -> None:
    """Compare at a joint of the tree."""
    if is_dry(body):
        _compare(ground, body.sense, body.by_load, body.bears, body.gap_past)


@on_call
def compare_loop(loop: Any, child: Any, parent: Any, ground: Any) -> None:
    """Compare at a joint that closes a loop."""
    nv = loop.joint.nv
    _compare(ground, loop.loop_sense[:nv], loop.loop_load, loop.loop_bears, loop.loop_gap_past)


@at_ground
def weigh(ground: Any) -> None:
    """Decide whether friction fits, and how far the last round is gone on from."""
    agrees = ground.gap_square <= AGREED * AGREED * ground.size_square
    ground.unsettled = where(agrees, 0.0, ground.unsettled)
    turned = ground.turn_square > 0.0
    ground.theta = where(turned, ground.gap_turn / where(turned, ground.turn_square, 1.0), 0.0)
    _forget(ground)


@with_ground
@but_particles
def improve(body: Any, ground: Any) -> None:
    """Take what is better at a joint of the tree."""
    if is_dry(body):
        body.by_load, body.bears_past, body.gap_past = _improve(
            ground, body.by_load, body.bears, body.bears_past, body.gap_past
        )


@on_call
def improve_loop(loop: Any, child: Any, parent: Any, ground: Any) -> None:
    """Take what is better at a joint that closes a loop."""
    nv = loop.joint.nv
    told = (loop.loop_load, loop.loop_bears, loop.loop_bears_past, loop.loop_gap_past)
    found = _improve(ground, *(x[:nv] for x in told))
    loop.loop_load, loop.loop_bears_past, loop.loop_gap_past = (padded(x) for x in found)


@at_ground
def count_round(ground: Any) -> None:
    """One round is over."""
    ground.rounds = ground.rounds + 1.0


@at_ground
def end_rounds(ground: Any) -> None:
    """A stage whose friction does not fit is remembered."""
    ground.unfit = where(ground.unsettled > 0.5, 1.0, ground.unfit)


@with_ground
@but_particles
def forget_past(body: Any, ground: Any) -> None:
    """There is no round before the first."""
    if is_dry(body):
        body.bears_past, body.gap_past = np.zeros(body.joint.nv), np.zeros(body.joint.nv)


@on_call
def forget_loop_past(loop: Any) -> None:
    """There is no round before the first."""
    loop.loop_bears_past, loop.loop_gap_past = np.zeros(COMPONENTS), np.zeros(COMPONENTS)


LOOP_STEPS = (compare_loop, improve_loop, forget_loop_past)
_COMPARED, _IMPROVED, _FORGOTTEN = (Schedule(partial(at_dry_loops, step)) for step in LOOP_STEPS)


def rounds(evaluation: Sequence[Sweep], is_first: bool, loops: bool) -> list[Sweep]:
    """Return what follows the `evaluation` of a stage until friction fits the loads."""
    judged: list[Sweep] = [compare, *([_COMPARED] if loops else []), weigh]
    judged += [improve, *([_IMPROVED] if loops else []), count_round]
    again = [*evaluation, *judged]
    begun: list[Sweep] = [fit_so_far] if is_first else []
    begun += [begin_rounds, forget_past, *([_FORGOTTEN] if loops else [])]
    return [*begun, *judged, *ROUNDS * [LeaveOut("unsettled", len(again)), *again], end_rounds]
