"""Stand-ins for a body that many loops hold, so that chains are summed up at the same time.

Lilly and Orin sum what m chains do to the reference member in O(log m) steps. Here every wing of a large mechanism
(`structure.branches`) has a stand-in for the body: its loops see how the stand-in moves and act on it, and stand-ins
are added up in pairs, then in pairs of pairs, and the last sum goes to the body. This shape belongs to the mechanism,
whoever computes it, so that results do not depend on the number of threads. Each wing has a stand-in for the ground as
well, where what is missing in the end is added up.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from catena.dynamics.loops.elimination.magnitudes import Magnitudes
from catena.dynamics.loops.elimination.refinement import accelerate_again, balance
from catena.kernels import Entry, OnCall, on_call
from catena.spatial import ArticulatedInertia, Force
from catena.structure import Plan

# A body has stand-ins if so many loops and bodies of wings hang on it.
MANY = 8


@on_call
def stand_in(multiplier: Any, child: Any, parent: Any) -> None:
    """The stand-in is where its body is and moves as it does; nothing acts on it yet."""
    child.pose, child.v = parent.pose, parent.v
    child.A, child.p = ArticulatedInertia.zero(), Force.zero()
    _begin_to_judge(child)


def _begin_to_judge(record: Any) -> None:
    record.load = Magnitudes.zero()
    record.defect = record.change = record.before = record.size = 0.0


@on_call
def add_up(multiplier: Any, child: Any, parent: Any) -> None:
    """Inertia and force of a stand-in, on another one or on the body."""
    parent.A += child.A
    parent.p += child.p


@on_call
def follow(multiplier: Any, child: Any, parent: Any) -> None:
    """The stand-in accelerates as its body does."""
    child.a, child.pace = parent.a, parent.pace
    child.f = child.p = Force.zero()


@on_call
def add_up_again(multiplier: Any, child: Any, parent: Any) -> None:
    """The right-hand sides of a stand-in."""
    parent.f += child.f
    parent.p += child.p


@on_call
def follow_again(multiplier: Any, child: Any, parent: Any) -> None:
    """The acceleration of the stand-in is corrected as that of its body is."""
    child.a, child.da = parent.a, parent.da
    child.f = child.p = Force.zero()


@on_call
def stand_in_for_ground(multiplier: Any, child: Any, parent: Any) -> None:
    """Nothing has been judged yet."""
    child.f = Force.zero()
    _begin_to_judge(child)


@on_call
def add_up_last(multiplier: Any, child: Any, parent: Any) -> None:
    """What was judged at a stand-in."""
    parent.f += child.f
    parent.load += child.load
    parent.defect += child.defect
    parent.change += child.change
    parent.before += child.before
    parent.size += child.size


STEPS: tuple[OnCall, ...] = (
    stand_in, add_up, follow, add_up_again, follow_again, stand_in_for_ground, add_up_last,
)  # fmt: skip


@dataclass(frozen=True)
class StandInTurns:
    """The steps by which a body begins to move, goes, comes back, and is judged in the end; and the one by which its
    stand-ins begin to move."""

    move: OnCall
    go: OnCall
    come_back: OnCall
    end: OnCall
    begin: OnCall = stand_in


def with_stand_ins(at: Any, entries: Sequence[Entry], turns: StandInTurns) -> list[Entry]:
    """Return the calls of an elimination, with stand-ins where wings are computed at the same time. Floating frames of
    flexible bodies have rows of their own, and no stand-ins."""
    is_flexible = any(kind is not None and kind.is_particle for kind in at.plan.kind)
    if not at.wings or not at.plan.loop_joints or is_flexible:
        return list(entries)
    return _StandingIn(at, turns).through(entries)


class _StandingIn:
    def __init__(self, at: Any, turns: StandInTurns) -> None:
        self.at, self.end = at, turns.end
        self.wing = at.wings
        self.loop_wing = [
            self.wing[j.child_node] or self.wing[j.parent_node] for j in at.plan.loop_joints
        ] + [0] * len(at.plan.couplings)
        self.wings_at = _wings_at(at.plan, self.wing, self.loop_wing)
        self.before = {turns.go: add_up, balance: add_up_again, turns.end: add_up_last}
        self.after = {
            turns.move: turns.begin,
            turns.come_back: follow,
            accelerate_again: follow_again,
        }
        # What the loops and bodies of each wing find in the place of a body.
        self.instead = {
            wing: {at.flows(i): at.stand_in(i, wing) for i, wings in self.wings_at.items() if wing in wings}
            for wing in set(self.wing)
        }

    def through(self, entries: Sequence[Entry]) -> list[Entry]:
        judged = [n for n, entry in enumerate(entries) if entry.sweep is self.end]
        wings = sorted({self.wing[entries[n].owner] for n in judged if self._is_base(entries[n])} - {0})
        found: list[Entry] = []
        for n, entry in enumerate(entries):
            if judged and n == judged[0]:
                found += self._each(0, wings, stand_in_for_ground)
            found += self._standing_in(entry)
            if judged and n == judged[-1]:
                found += self._summed(0, wings, add_up_last)
        return found

    def _standing_in(self, entry: Entry) -> list[Entry]:
        of_body = entry.sweep.roles[0] == "body"
        if of_body and (wings := self.wings_at.get(entry.owner)):
            before, after = self.before.get(entry.sweep), self.after.get(entry.sweep)
            return [
                *(self._summed(entry.owner, wings, before) if before else []),
                entry,
                *(self._each(entry.owner, wings, after) if after else []),
            ]
        wing = self.wing[entry.owner] if of_body else self.loop_wing[entry.owner]
        if entry.sweep.roles[0] not in _OWNERS or not wing:
            return [entry]
        instead = self.instead[wing]
        places = tuple(instead.get(place, place) for place in entry.places)
        if entry.sweep is self.end and self._is_base(entry):
            places = (*places[:-1], self.at.stand_in(0, wing))
        return [replace(entry, places=places)]

    def _is_base(self, entry: Entry) -> bool:
        return int(self.at.plan.parent[entry.owner]) == 0

    def _each(self, node: int, wings: Sequence[int], step: OnCall) -> list[Entry]:
        """Let a step be done for each stand-in of a body, with the body."""
        return [self._between(step, self.at.stand_in(node, w), self.at.flows(node)) for w in wings]

    def _summed(self, node: int, wings: Sequence[int], step: OnCall) -> list[Entry]:
        """Add up the stand-ins of a body: neighbours in pairs, the sums in pairs, and the last one to the body, so that
        nobody but the trunk writes to it."""
        sums, entries = [self.at.stand_in(node, w) for w in wings], []
        while len(sums) > 1:
            entries += [
                self._between(step, two, one) for one, two in zip(sums[::2], sums[1::2], strict=False)
            ]
            sums = sums[::2]
        return entries + [self._between(step, x, self.at.flows(node)) for x in sums]

    def _between(self, step: OnCall, child: Any, parent: Any) -> Entry:
        return Entry(step, 0, (self.at.multiplier(0), child, parent))


_OWNERS = ("body", "loop", "multiplier")


def _wings_at(plan: Plan, wing: Sequence[int], loop_wing: Sequence[int]) -> dict[int, list[int]]:
    """Return the wings of what hangs on each body of the trunk that has stand-ins."""
    hanging = [(int(plan.parent[i]), wing[i]) for i in range(1, plan.n) if wing[i]]
    for joint, own in zip(plan.loop_joints, loop_wing, strict=False):
        hanging += [(node, own) for node in (joint.child_node, joint.parent_node) if own and not wing[node]]
    count = Counter(node for node, _ in hanging if node)
    found = {node: sorted({w for i, w in hanging if i == node}) for node in count if count[node] >= MANY}
    return {node: wings for node, wings in found.items() if len(wings) > 1}
