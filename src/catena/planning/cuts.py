"""Which joints to leave out of the tree, so that the equations take the fewest operations or the shortest time on any
number of processors. Nikravesh, Gim, Arabyan and Rein name this choice as work to be done.

A mechanism moves the same whichever joint of each loop is cut; what differs is how deep the tree is, how many joints
two loops share, and so what the equations cost. Every choice that differs in one cut from the best so far is counted,
until none is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from catena.errors import PlanError
from catena.mechanism import Mechanism
from catena.structure import Plan
from catena.system import System
from catena.validation import is_one_of, shown

CRITERIA = ("operations", "critical path")


@dataclass(frozen=True)
class CutChoice:
    """Joints that are cut, the velocity components that are left, and for one state of forward dynamics the operations
    and the length of the critical path, each operation taking one unit of time."""

    cut: tuple[str, ...]
    components: int
    operations: int
    critical_path: int

    def system(self, mechanism: Mechanism) -> System:
        """Return the mechanism planned so."""
        return mechanism.system(cut=self.cut)


def rank_cuts(mechanism: Mechanism, by: str = "operations", most: int = 60) -> list[CutChoice]:
    """Return choices of cut joints, the best first, by "operations" or by "critical path"; at most so many are
    counted. The first one counted is that of `mechanism.system()`."""
    if not is_one_of(by, CRITERIA):
        raise PlanError(f"rank_cuts: by is {shown(by)}; choose {' or '.join(map(repr, CRITERIA))}.")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise PlanError(f"rank_cuts: most is {shown(most)}; give the choices to count, 1 or more.")
    start = mechanism.system().plan
    if not start.loops:
        raise PlanError(f"rank_cuts: {mechanism.name!r} has no loops, so nothing is cut.")
    found: dict[frozenset[str], CutChoice] = {}
    best, plan = _count(mechanism, tuple(start.loops), found)
    is_better = True
    while is_better:
        is_better = False
        for cut in _neighbours(plan):
            if len(found) >= most:
                break
            if frozenset(cut) in found:
                continue
            choice, other = _count(mechanism, cut, found)
            if _cost(choice, by) < _cost(best, by):
                best, plan, is_better = choice, other, True
                break
    return sorted(found.values(), key=lambda choice: _cost(choice, by))


def _cost(choice: CutChoice, by: str) -> tuple[int, int]:
    """Return what is compared: what was asked for, then the other."""
    costs = choice.operations, choice.critical_path
    return costs if by == "operations" else costs[::-1]


def _count(
    mechanism: Mechanism, cut: tuple[str, ...], found: dict[frozenset[str], CutChoice]
) -> tuple[CutChoice, Plan]:
    """Count the equations with these cuts, and keep what was found."""
    system = mechanism.system(cut=cut)
    flow = system.equations("forward_dynamics").dataflow(sums="trees")
    choice = CutChoice(cut, system.nv, round(flow.serial_time), round(flow.critical_time))
    found[frozenset(cut)] = choice
    return choice, system.plan


def _neighbours(plan: Plan) -> Iterator[tuple[str, ...]]:
    """Return the cuts that differ from a plan's in one joint, which is on the way around the loop."""
    loops = list(plan.loops)
    for k, loop in enumerate(plan.loop_joints):
        ways = [_path(plan, node) for node in (loop.parent_node, loop.child_node)]
        for node in sorted(ways[0] ^ ways[1]):
            yield (*loops[:k], plan.joint[node], *loops[k + 1 :])


def _path(plan: Plan, node: int) -> set[int]:
    """Return the nodes from here down to the ground, without the ground."""
    found = set()
    while node:
        found.add(node)
        node = int(plan.parent[node])
    return found
