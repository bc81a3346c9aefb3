"""The calls of the elimination for one mechanism, in order: bodies and multipliers go, come back, and are
refined."""

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any

from catena.dynamics.loops.elimination.blocks import EliminationShape, Symmetric
from catena.dynamics.loops.elimination.flexible import (
    LENDING,
    REWRITTEN as REWRITTEN_WITH_MODES,
    WEIGHING,
    floating_frames,
    with_weights,
)
from catena.dynamics.loops.elimination.lending import borrowers, lend, lend_with_soft, own_load, own_pace
from catena.dynamics.loops.elimination.refinement import (
    accelerate_again,
    balance,
    carry_again,
    drag_again,
    feel_again,
    hold,
    invert_again,
    judge,
    judge_and_keep,
    judge_loop,
    mix_again,
    pass_drag_on,
    pass_on,
    press_again,
)
from catena.dynamics.loops.elimination.standing_in import (
    STEPS as STANDING_IN,
    StandInTurns,
    stand_in,
    with_stand_ins,
)
from catena.dynamics.loops.elimination.steps import (
    absorb_ground,
    accelerate,
    articulate,
    begin,
    carry,
    carry_to_ground,
    cross_couple,
    drag,
    feel,
    feel_pair,
    invert,
    join,
    mix_link,
    mix_own,
    mix_pair,
    press,
    release,
    settle,
    soften,
    start,
    velocities,
)
from catena.dynamics.loops.elimination.ties import (
    TIES,
    begin_coupling,
    end_coupling,
    hold_coupling,
    keep_coupling,
    leave,
    link_coupling,
)
from catena.kernels import ASSIGN, Entry, OnCall, on_call
from catena.structure import BodyGoes, LoopGoes, Plan, elimination_order

REFINEMENTS = 2
# As many more take back what was lent.
REFINEMENTS_OF_LOANS = 2
# As many more where all loops are softened, because then each takes away less.
REFINEMENTS_OF_SOFT = 3
# As many more where both is so, because more is lent then.
REFINEMENTS_OF_BOTH = 2


# What multipliers do while their loop holds a floating frame, whose modes have rows besides (`flexible`).


@on_call
def press_frame(multiplier: Any, link: Any, body: Any) -> None:
    """What the loop's chain adds to the inertia of the frame and of its modes."""
    press.step(multiplier, link, body)
    W, K, Km = multiplier.W.matrix(), link.K.array, link.Km
    body.E = body.E + K @ W @ Km.T
    body.Mm += Symmetric.from_matrix(Km @ W @ Km.T)
    body.pm = body.pm + Km @ multiplier.w


@on_call
def feel_frame(multiplier: Any, link: Any, body: Any) -> None:
    """The part of the multiplier that depends on the frame and its modes."""
    felt = link.K.T * body.a + link.Km.T @ body.am
    multiplier.lam = multiplier.lam + multiplier.W.matrix() @ felt


@on_call
def press_frame_again(multiplier: Any, link: Any, body: Any) -> None:
    """What the loop passes on to the frame and its modes."""
    body.p += link.K * multiplier.w
    body.pm = body.pm + link.Km @ multiplier.w


@on_call
def feel_frame_again(multiplier: Any, link: Any, body: Any) -> None:
    """The part of the correction that depends on the frame and its modes."""
    felt = link.K.T * body.da + link.Km.T @ body.dam
    multiplier.lam = multiplier.lam + multiplier.W.matrix() @ felt


@on_call
def mix_link_of_frame(multiplier: Any, link: Any, pair: Any, above: Any) -> None:
    """What another loop, coupled to this one, holds of the frame and its modes."""
    mixed = multiplier.W.matrix() @ pair.K
    above.K += link.K * mixed
    above.Km = above.Km + link.Km @ mixed


AT_FRAMES: dict[OnCall, OnCall] = {
    press: press_frame, feel: feel_frame, press_again: press_frame_again, feel_again: feel_frame_again,
    mix_link: mix_link_of_frame,
}  # fmt: skip
"""The steps of multipliers that do more at floating frames, and those that do."""


SHARED: tuple[OnCall, ...] = (
    soften, drag, lend, lend_with_soft, articulate, carry, carry_to_ground, join, cross_couple, absorb_ground,
    invert, press, mix_link, mix_own, mix_pair, begin, feel, feel_pair, settle, release, accelerate, own_pace, hold,
    drag_again, balance, carry_again, invert_again, press_again, mix_again, feel_again, accelerate_again,
    own_load, judge, judge_loop, *STANDING_IN,
)  # fmt: skip
KEEPING: tuple[OnCall, ...] = (judge_and_keep, pass_on, pass_drag_on)


def steps_for(shape: EliminationShape, implicit: bool = False) -> tuple[OnCall, ...]:
    """Return what the elimination of a shape calls; each step comes behind those that write what it reads."""
    weighing = (*(LENDING if implicit else ()), *WEIGHING) if shape.modes else ()
    ties, at_frames = TIES if shape.coupled else (), AT_FRAMES.values() if shape.modes else ()
    return (velocities, *weighing, start, *SHARED, *ties, *at_frames)


REWRITTEN = frozenset({"e", "u", "qdd", "last_change", "change_before", "pace"})


def rewritten(shape: EliminationShape) -> frozenset[str]:
    """Return what more than one step of an elimination writes."""
    return REWRITTEN | REWRITTEN_WITH_MODES if shape.modes else REWRITTEN


@dataclass(frozen=True)
class Acting:
    """A loop or a coupling that does something: the nodes it joins, how many constraints it has, whether it has
    friction, and whether it is a coupling."""

    nodes: frozenset[int]
    constraints: int
    drags: bool
    couples: bool = False


@dataclass(frozen=True)
class Passes:
    """The calls of an elimination on one mechanism, `at` its places: the solution, one refinement of it, how `often`
    it is refined, and the last residuals."""

    at: Any
    solution: list[Entry]
    refinement: list[Entry]
    often: int
    residuals: list[Entry]

    def all(self) -> list[Entry]:
        """One after the other."""
        return [*self.solution, *self.often * self.refinement, *self.residuals]


def schedule(
    at: Any,
    move: OnCall = velocities,
    begin_loop: OnCall = start,
    rub: bool = True,
    keep: bool = False,
    go: OnCall = articulate,
    come_back: OnCall = accelerate,
    end: OnCall = judge,
    refine: bool = True,
    finish: OnCall = leave,
    share: OnCall | None = stand_in,
    played: Callable[[Passes], list[Entry]] = Passes.all,
    rests: bool = False,
    implicit: bool = False,
) -> list[Entry]:
    """Elimination, the way back, refinements, and the last residuals. `move` and `begin_loop` say what bodies and loops
    begin with and `finish` what couplings end their beginning with, `rub` whether loop joints have friction, `keep`
    whether the wrenches of all joints are results; `go`, `come_back` and `end` are what bodies do when they are
    eliminated, when they come back, and at the end; `share` is what stand-ins of a body that many loops hold begin
    with, None if there are to be none; `played` says which of the calls are made. Where bodies have modes, `rests` says
    that nothing acts, and `implicit` that modes are lent something. Without `refine` the result is good to some eight
    digits, which is enough for corrections, and nothing is judged."""
    entries = _in_order(at, move, begin_loop, rub, keep, go, come_back, end, refine, finish, played)
    if floating_frames(at.plan):
        return with_weights(at, entries, move, rests, implicit)
    if share is None or borrowers(at.plan):
        return entries
    return with_stand_ins(
        at, entries, StandInTurns(move, go, come_back, judge_and_keep if keep else end, share)
    )


def _in_order(
    at: Any, move: OnCall, begin_loop: OnCall, rub: bool, keep: bool, go: OnCall, come_back: OnCall, end: OnCall,
    refine: bool, finish: OnCall, played: Callable[[Passes], list[Entry]],
) -> list[Entry]:  # fmt: skip
    order = elimination_order(at.plan)
    acting = _acting(at.plan, rub)
    entries = _eliminate(at, order, acting, move, begin_loop, go, finish)
    entries += _way_back(at, order, acting, feel, come_back, borrowers(at.plan))
    if not refine:
        return entries
    again = _eliminate_again(at, order) + _way_back(at, order, acting, feel_again, accelerate_again)
    often = _refinements(bool(borrowers(at.plan)), at.plan.soft)
    return played(Passes(at, entries, again, often, _residuals(at, order, acting, keep, end)))


def _residuals(
    at: Any, order: list[BodyGoes | LoopGoes], acting: dict[int, Acting], keep: bool, end: OnCall
) -> list[Entry]:
    """Return what is left of the equations in the end, and where it is to be kept the wrenches of all joints."""
    entries: list[Entry] = []
    loops = [k for k, loop in acting.items() if loop.constraints and not loop.couples]
    couplings = [k for k, tied in acting.items() if tied.couples]
    entries += [entry for k in couplings for entry in end_coupling(at, k)]
    entries += [Entry(judge_loop, k, _with_ends(at, k)) for k in loops]
    if keep:
        entries += [Entry(pass_on, k, (at.multiplier(k), at.flows(0))) for k in loops]
        entries += [Entry(pass_drag_on, k, (at.multiplier(k),)) for k in loops if acting[k].drags]
    for i in borrowers(at.plan):
        entries += _lent_by(at, acting, i, own_load)
    bodies = [step for step in order if isinstance(step, BodyGoes)]
    last = judge_and_keep if keep else end
    entries += [Entry(last, s.node, _with_parent(at, s.node, s.parent)) for s in bodies]
    return entries + [entry for k in couplings if keep for entry in keep_coupling(at, k)]


def _refinements(lent: bool, soft: bool) -> int:
    """Return how often the solution is refined."""
    return (
        REFINEMENTS
        + REFINEMENTS_OF_LOANS * lent
        + REFINEMENTS_OF_SOFT * soft
        + REFINEMENTS_OF_BOTH * (lent and soft)
    )


def _eliminate(
    at: Any,
    order: list[BodyGoes | LoopGoes],
    acting: dict[int, Acting],
    move_step: OnCall,
    start_step: OnCall,
    go: OnCall,
    finish: OnCall,
) -> list[Entry]:
    """Bodies and multipliers go. Bodies begin to move, and loops to hold, just before that is needed, so that
    memory is walked through once."""
    entries: list[Entry] = []
    moving = {0}
    begun: set[int] = set()
    loops_at = _loops_at(acting)
    coupled = {k for step in order if isinstance(step, BodyGoes) for pair in step.crossed for k in pair[:2]}
    if at.plan.soft:
        coupled |= {k for k, joint in acting.items() if joint.constraints}
    lent, lending = borrowers(at.plan), lend_with_soft if at.plan.soft else lend

    def move(i: int) -> None:
        path = []
        while i not in moving:
            path.append(i)
            moving.add(i)
            i = int(at.plan.parent[i])
        for j in reversed(path):
            entries.append(Entry(move_step, j, _with_parent(at, j, int(at.plan.parent[j]))))
            if j in lent:
                entries.extend(_lent_by(at, acting, j, lending))

    def begin_loop(k: int) -> None:
        if k not in begun:
            begun.add(k)
            joint = acting[k]
            for i in sorted(joint.nodes, reverse=True):
                move(i)
            if joint.couples:
                entries.extend((*begin_coupling(at, k, finish), *link_coupling(at, k)))
                if k in coupled:
                    entries.append(Entry(soften, k, (at.multiplier(k),)))
                return
            places = _with_ends(at, k)
            if joint.constraints:
                entries.append(Entry(start_step, k, places))
            if k in coupled:
                entries.append(Entry(soften, k, places[:1]))
            if joint.drags:
                entries.append(Entry(drag, k, (*places, at.flows(0))))

    for step in order:
        if isinstance(step, LoopGoes):
            begin_loop(step.loop)
            entries += _loop_goes(at, step)
            continue
        move(step.node)
        for k in loops_at.get(step.node, []):
            begin_loop(k)
        entries += _body_goes(at, step, go)
    return entries


def _lent_by(at: Any, acting: dict[int, Acting], node: int, step: OnCall) -> list[Entry]:
    """Return the call of a step for a body that is lent inertia, by a loop that holds it if there is one: that knows
    best what is usual around it."""
    lenders = [k for k, joint in acting.items() if not joint.couples]
    if not lenders:
        return []
    lender = next((k for k in lenders if node in acting[k].nodes), lenders[0])
    return [Entry(step, lender, (at.multiplier(lender), at.flows(node), at.flows(node)))]


def _body_goes(at: Any, step: BodyGoes, go: OnCall) -> list[Entry]:
    i = step.node
    entries = [Entry(go, i, _with_parent(at, i, step.parent))]
    for k, new in step.carried:
        held, me = at.link(k, i), at.multiplier(k)
        if step.parent == 0:
            entries.append(Entry(carry_to_ground, i, (at.body(i), held, at.flows(0), me)))
            continue
        end = None if new else at.end(k, step.parent)
        above = at.link(k, step.parent)
        entries.append(Entry(carry, i, (at.body(i), held, above, me), ASSIGN * (new or end is not None)))
        if end is not None:
            entries.append(Entry(join, k, (me, end, above)))
    for k, other, new in step.crossed:
        places = (at.body(i), at.link(k, i), at.link(other, i), at.pair(k, other))
        entries.append(Entry(cross_couple, i, places, ASSIGN * new))
    return entries


def _loop_goes(at: Any, step: LoopGoes) -> list[Entry]:
    k, me = step.loop, at.multiplier(step.loop)
    entries = []
    if step.ground:
        entries.append(Entry(absorb_ground, k, (me, at.link(k, 0), at.flows(0))))
    entries.append(Entry(invert, k, (me,)))
    if step.node is not None:
        entries.append(Entry(_at(press, at, step.node), k, (me, at.link(k, step.node), at.flows(step.node))))
    for other, new in step.others:
        pair = at.pair(k, other)
        if step.node is not None:
            held = at.link(k, step.node)
            end = None if new else at.end(other, step.node)
            above = at.link(other, step.node)
            mix = _at(mix_link, at, step.node)
            entries.append(Entry(mix, k, (me, held, pair, above), ASSIGN * (new or end is not None)))
            if end is not None:
                entries.append(Entry(join, other, (at.multiplier(other), end, above)))
        entries.append(Entry(mix_own, k, (me, pair, at.multiplier(other))))
    for one, two, new in step.pairs:
        entries.append(
            Entry(mix_pair, k, (me, at.pair(k, one), at.pair(k, two), at.pair(one, two)), ASSIGN * new)
        )
    return entries


def _eliminate_again(at: Any, order: list[BodyGoes | LoopGoes]) -> list[Entry]:
    """Return the same with only the right-hand sides."""
    entries: list[Entry] = []
    for step in order:
        if isinstance(step, BodyGoes):
            i = step.node
            entries.append(Entry(balance, i, _with_parent(at, i, step.parent)))
            for k, _ in step.carried:
                entries.append(Entry(carry_again, i, (at.body(i), at.link(k, i), at.multiplier(k))))
            continue
        k, me = step.loop, at.multiplier(step.loop)
        entries.append(Entry(invert_again, k, (me,)))
        if step.node is not None:
            held = (me, at.link(k, step.node), at.flows(step.node))
            entries.append(Entry(_at(press_again, at, step.node), k, held))
        for other, _ in step.others:
            entries.append(Entry(mix_again, k, (me, at.pair(k, other), at.multiplier(other))))
    return entries


def _way_back(
    at: Any, order: list[BodyGoes | LoopGoes], acting: dict[int, Acting], feel: OnCall, accelerate: OnCall,
    lent: Set[int] = frozenset(),
) -> list[Entry]:  # fmt: skip
    """Multipliers and accelerations, the last eliminated first; a loop holds as soon as both its bodies have
    accelerated. Bodies that are `lent` inertia are measured by how they move."""
    entries: list[Entry] = []
    # A loop waits for its two bodies and, as node 0, for its own multiplier.
    waiting = {k: {*j.nodes, 0} - ({0} if not j.constraints else set()) for k, j in acting.items()}
    loops_at = _loops_at(acting)

    def arrive(k: int, node: int) -> None:
        waiting[k].discard(node)
        if not waiting[k]:
            if acting[k].couples:
                entries.extend(hold_coupling(at, k))
            elif acting[k].constraints:
                entries.append(Entry(hold, k, _with_ends(at, k)))
            if acting[k].drags:
                entries.append(Entry(drag_again, k, _with_ends(at, k)))

    for step in reversed(order):
        if isinstance(step, LoopGoes):
            k, me = step.loop, at.multiplier(step.loop)
            entries.append(Entry(begin, k, (me,)))
            if step.node is not None:
                held = (me, at.link(k, step.node), at.flows(step.node))
                entries.append(Entry(_at(feel, at, step.node), k, held))
            for other, _ in step.others:
                entries.append(Entry(feel_pair, k, (me, at.pair(k, other), at.multiplier(other))))
            entries.append(Entry(settle, k, (me,)))
            arrive(k, 0)
            continue
        i = step.node
        for k, _ in step.carried:
            entries.append(Entry(release, i, (at.body(i), at.link(k, i), at.multiplier(k))))
        entries.append(Entry(accelerate, i, _with_parent(at, i, step.parent)))
        if i in lent:
            entries.append(Entry(own_pace, i, _with_parent(at, i, step.parent)))
        for k in loops_at.get(i, []):
            arrive(k, i)
    return entries


def _at(step: OnCall, at: Any, node: int) -> OnCall:
    """Return the step of a multiplier as it is done while its loop holds a node."""
    return AT_FRAMES[step] if node in floating_frames(at.plan) else step


def _with_parent(at: Any, i: int, parent: int) -> tuple[Any, ...]:
    return at.body(i), at.flows(i), at.flows(parent)


def _with_ends(at: Any, k: int) -> tuple[Any, ...]:
    joint = at.plan.loop_joints[k]
    return at.multiplier(k), at.flows(joint.child_node), at.flows(joint.parent_node)


def _acting(plan: Plan, rub: bool) -> dict[int, Acting]:
    """Return the loops that constrain something or have friction, between two nodes, and the couplings."""
    acting = {}
    for k, joint in enumerate(plan.loop_joints):
        drags = rub and joint.rubs
        if (joint.constraints or drags) and joint.parent_node != joint.child_node:
            nodes = frozenset({joint.parent_node, joint.child_node})
            acting[k] = Acting(nodes, joint.constraints, drags)
    for c, coupling in enumerate(plan.couplings):
        nodes = coupling.nodes(plan)
        if coupling.acts and nodes:
            acting[len(plan.loop_joints) + c] = Acting(nodes, 1, False, couples=True)
    return acting


def _loops_at(acting: dict[int, Acting]) -> dict[int, list[int]]:
    """Return the loops that join each node."""
    loops_at: dict[int, list[int]] = {}
    for k, joint in acting.items():
        for i in joint.nodes - {0}:
            loops_at.setdefault(i, []).append(k)
    return loops_at
