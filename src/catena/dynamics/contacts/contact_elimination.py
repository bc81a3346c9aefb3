"""Forces of contacts whose modes are known, within the elimination of a mechanism with loops, couplings or flexible
bodies: one refinement of the elimination for each unit force, and the small dense system of `contact_forces`.

The elimination has found the accelerations without contacts. A refinement finds by how much these change if the
forces that are left over (`refinement`) are taken up, whatever they are: with a unit force of a contact left over it is
what that does to the mechanism, loops and couplings held. The next unit force is left over beside the last one, which
nobody has kept, so that accelerations go from one answer to the next, and answers are sums of these changes: what is
rounded in one is left over for the next. The mobility of contacts i and j is W_ij = T_i a_j with the answers a_j of the
bodies that meet in i, and modes, elimination and least forces are those of trees. The forces found act on bodies as
wrenches that are given do, and the accelerations are refined, and vouched for, with them.

Stops of joints and components with dry friction push along the motion of their joint, by wrenches on both its bodies
whose power is that of the joint force. In a joint that closes a loop that is a pair of wrenches as of any contact of
two bodies, of one direction.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from catena.dynamics.contacts.contact_forces import (
    PLACES,
    SIZE,
    Nodes,
    Pushing,
    are_cut,
    have_stops,
    on_shapes,
    push_dry,
    push_stop,
    see_coordinates,
    stand_alone,
    stand_still,
    three,
    touch,
    touch_cut,
    touch_dry,
    touch_floor,
    touch_stop,
)
from catena.dynamics.flexible.flexible_body import is_flexible
from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination.schedule import REFINEMENTS, Passes
from catena.kernels import Entry, OnCall, OnMatrices, Scalars, Schedule, Sweep, at_ground, on_call
from catena.kernels.algorithm import LeaveOut
from catena.kernels.matrices import MatrixPanel
from catena.kinematics.along import along, gram_inverse
from catena.spatial import Force
from catena.spatial.scalars import array

ELIMINATION_VIEWS: dict[str, dict[str, Any]] = {
    "six": {"numbers": Scalars(6)},
    "answer": {"before": Scalars(6), "numbers": Scalars(6)},
}
"""A wrench, or the forces of a joint; and what a body or a joint did so far and does with one change more."""


def _on_call(step: Any) -> OnCall:
    """A step that schedules call at bodies that are no particles."""
    return on_call(but_particles(step))


@_on_call
def see_body(body: Any, parent: Any) -> None:
    """How a body stands, moves and accelerates without contacts, seen from ground, which is given as its parent."""
    a = body.pose.pull_motion(body.a) - parent.a
    body.seen = array(
        [*body.pose.entries(), *body.pose.pull_motion(body.v).entries(), *a.entries(), *[0.0] * 6]
    )


see_joint = _on_call(see_coordinates.step)


@_on_call
def leave_over(body: Any, parent: Any, six: Any) -> None:
    """A wrench on a body is left over."""
    body.f -= body.pose * Force(six.numbers)


@_on_call
def leave_over_at_joint(body: Any, parent: Any, six: Any) -> None:
    """Forces of a joint are left over."""
    if _is_plain(body):
        S, n = body.S, body.joint.nv
        w = Force(S.array @ gram_inverse(S) @ six.numbers[:n])
        body.f -= w
        parent.f += body.X.pull(w)


@_on_call
def push_body(body: Any, parent: Any, six: Any) -> None:
    """A wrench acts on a body."""
    F = body.pose * Force(six.numbers)
    body.f -= F
    if is_flexible(body.joint) and not body.joint.follows:
        body.p_own = body.p_own - F
    else:
        body.p0 = body.p0 - F


@_on_call
def push_joint(body: Any, parent: Any, six: Any) -> None:
    """Forces act at a joint."""
    if _is_plain(body):
        body.effort = array([x + y for x, y in zip(body.effort, six.numbers, strict=False)])


@_on_call
def answer_of_body(body: Any, parent: Any, answer: Any) -> None:
    """What a body does with the last change, seen from ground."""
    answer.numbers = _sum(answer.before, body.pose.pull_motion(body.da).entries())


@_on_call
def answer_of_joint(body: Any, parent: Any, answer: Any) -> None:
    """What a joint does with the last change."""
    if _is_plain(body):
        answer.numbers = _sum(answer.before, _joint_change(body, parent))


@_on_call
def add_to_body(body: Any, parent: Any, six: Any) -> None:
    """What a body does with one change more for the same unit force."""
    six.numbers = _sum(six.numbers, body.pose.pull_motion(body.da).entries())


@_on_call
def add_to_joint(body: Any, parent: Any, six: Any) -> None:
    """What a joint does with one change more for the same unit force."""
    if _is_plain(body):
        six.numbers = _sum(six.numbers, _joint_change(body, parent))


def _sum(a: Any, b: Any) -> Any:
    return array([x + y for x, y in zip(a, b, strict=True)])


def _joint_change(body: Any, parent: Any) -> list[Any]:
    """The last change of the rates of a joint, six numbers."""
    return [*along(body.S, body.da - body.X * parent.da), *[0.0] * (6 - body.joint.nv)]


def _is_plain(body: Any) -> bool:
    """Whether a joint may have stops and friction: no modes, and some freedom."""
    return not is_flexible(body.joint) and bool(body.joint.nv)


ASKING: tuple[OnCall, ...] = (
    leave_over, leave_over_at_joint, push_body, push_joint, answer_of_body, answer_of_joint, add_to_body, add_to_joint,
)  # fmt: skip
"""The steps by which contacts and joints push and are told answers."""


def called(nodes: Nodes) -> tuple[OnCall, ...]:
    """The steps by which contacts are felt through an elimination."""
    bodies: tuple[OnCall, ...] = (see_body, leave_over, push_body, answer_of_body, add_to_body)
    own: tuple[OnCall, ...] = (stand_still, touch, touch_floor, *on_shapes(nodes))
    if have_stops(nodes):
        bodies += (see_joint, leave_over_at_joint, push_joint, answer_of_joint, add_to_joint)
        own += (touch_stop, push_stop, touch_dry, push_dry)
    own += (touch_cut,) if are_cut(nodes) else ()
    return (*bodies, *own, *((stand_alone,) if have_stops(nodes) or are_cut(nodes) else ()))


def fields(nodes: Nodes) -> dict[str, str]:
    """What bodies tell contacts, and how each is seen."""
    return {"seen": "node", **({"moving": "coordinate"} if have_stops(nodes) else {})}


class UnitAnswers:
    """What bodies and joints answer to unit forces of contacts, whose `nodes` meet, of components `stopped` (-1: of
    bodies), as entries of a schedule. Who derives from it sets these, the places of unit forces (`of`), and the rows of
    a contact among all (`rows_of`)."""

    nodes: tuple[tuple[int, int], ...]
    stopped: tuple[int, ...]
    work: Any
    slot: int
    of: Callable[..., MatrixPanel]

    def rows_of(self, i: int) -> range:
        """The rows of a contact among those of all, one for each direction in which it has forces."""
        raise NotImplementedError

    @property
    def _joints(self) -> list[tuple[int, int]]:
        """The contacts that are stops or friction of joints, and the nodes of these."""
        return [(i, self.nodes[i][0]) for i, k in enumerate(self.stopped) if k >= 0]

    @property
    def _touching(self) -> list[int]:
        """The nodes that meet in contacts of bodies."""
        pairs = (pair for pair, k in zip(self.nodes, self.stopped, strict=True) if k < 0)
        return sorted({node for pair in pairs for node in pair} - {0})

    def solution(self, passes: Passes) -> list[Entry]:
        """The accelerations without contacts; what is left to refine is taken up with the first unit force."""
        return [*passes.solution, *(passes.often - 1) * passes.refinement]

    def make_room(self) -> None:
        """Make room for unit forces at joints, and for answers: before the first is nothing."""
        work = self.work
        self.unit_of = {i: work.matrix(1, 6) for i, _ in self._joints}
        sizes = [(1 + len(self.rows_of(i)), 6) for i in range(len(self.nodes))]
        self.of_bodies = [{node: work.matrix(*size) for node in self._touching} for size in sizes]
        self.of_joints = [{node: work.matrix(*size) for _, node in self._joints} for size in sizes]

    def answers(self, i: int, passes: Passes) -> list[Entry]:
        """What the unit forces of a contact do."""
        entries, at, again = list[Entry](), passes.at, 2 + passes.often - REFINEMENTS
        for column in range(len(self.rows_of(i))):
            for k in range(again):
                # An answer begins with the one before it, and others are added to it.
                first = 6 * (column + bool(k)) * self.slot
                own = (add_to_body, add_to_joint) if k else (answer_of_body, answer_of_joint)
                entries += [*self._left_over(at, i, column), *passes.refinement]
                for step, places in zip(own, (self.of_bodies[i], self.of_joints[i]), strict=True):
                    entries += [
                        Entry(step, node, (*_own(at, node), panel.place + first))
                        for node, panel in places.items()
                    ]
        # Nothing is left over for the next one.
        return [*entries, *again * passes.refinement]

    def _left_over(self, at: Any, i: int, row: int) -> list[Entry]:
        """A unit force of a contact is left over."""
        if self.stopped[i] >= 0:
            node = self.nodes[i][0]
            return [Entry(leave_over_at_joint, node, (*_own(at, node), self.unit_of[i].place))]
        return [Entry(leave_over, node, (*_own(at, node), T.at(row, 0))) for node, T in self._sides(i)]

    def _sides(self, i: int) -> list[tuple[int, MatrixPanel]]:
        """The nodes that meet in a contact, and its unit forces on them."""
        ends = zip(self.nodes[i], ("T", "back"), strict=False)
        return [(node, self.of(i, name, 3, 6)) for node, name in ends if node]

    def respond(self, i: int, j: int, out: MatrixPanel) -> None:
        """Write how a contact answers to the unit forces of another one."""
        work, start = self.work, None

        def answer(panel: MatrixPanel) -> MatrixPanel:
            return panel.part(range(1, panel.rows), range(6)).T

        if self.stopped[i] >= 0:
            work.product(out, self.unit_of[i], answer(self.of_joints[j][self.nodes[i][0]]))
            return
        for node, T in self._sides(i):
            rows = T.part(range(out.rows), range(6))
            work.product(out, rows, answer(self.of_bodies[j][node]), start=start)
            start = out

    def push_along(self, forces: Sequence[MatrixPanel]) -> None:
        """Make wrenches, and forces of joints, of the forces (1, directions) of all contacts."""
        work = self.work
        self.acting = list[tuple[bool, int, int]]()
        """Whether a joint is pushed, not a body, at which node, and the place of six numbers."""
        for i, f in enumerate(forces):
            is_joint = self.stopped[i] >= 0
            for node, unit in [(self.nodes[i][0], self.unit_of[i])] if is_joint else self._sides(i):
                six = work.matrix(1, 6)
                work.product(six, f, unit.part(range(f.columns), range(6)))
                self.acting.append((is_joint, node, six.place))

    def acts(self, at: Any, on_bodies: OnCall, on_joints: OnCall) -> list[Entry]:
        """The calls by which what was pushed acts on bodies and joints."""
        return [
            Entry(on_joints if is_joint else on_bodies, node, (*_own(at, node), place))
            for is_joint, node, place in self.acting
        ]

    def pushed_on(self, passes: Passes) -> list[Entry]:
        """The accelerations with contacts."""
        pushed = self.acts(passes.at, push_body, push_joint)
        return [*pushed, *passes.often * passes.refinement, *passes.residuals]


class ThroughElimination(UnitAnswers, Pushing):
    """The forces of contacts with known modes within an elimination, in parts of its schedule and the work between
    them."""

    def sweeps(self, order: Any) -> list[Sweep]:
        """The sweeps in place of a schedule that `order` lists the calls of. Contacts that are open do not ask what
        their forces would do."""
        found: list[Sweep] = [part(order, self.without), OnMatrices(self.meet), tell_who_holds]
        for i, pair in enumerate(self.nodes):
            # Stops of joints that are locked now are open contacts of ground.
            if any(pair):
                found += [LeaveOut(f"holds_{i}", 1), part(order, partial(self.answers, i))]
        return [*found, OnMatrices(self), part(order, self.pushed_on)]

    def _directions(self, i: int) -> range:
        """The directions in which a contact has forces."""
        return range(1) if self.rubs[i] else range(3) if self.stopped[i] < 0 else range(2, 3)

    def rows_of(self, i: int) -> range:
        """The rows of a contact among all, three for each."""
        own = self._directions(i)
        return range(3 * i + own.start, 3 * i + own.stop)

    def without(self, passes: Passes) -> list[Entry]:
        """The accelerations without contacts, and how bodies and joints stand and move."""
        at, entries = passes.at, self.solution(passes)
        entries += [Entry(see_body, i, (at.body(i), at.flows(i), at.flows(0))) for i in self._touching]
        return entries + [Entry(see_joint, i, _own(at, i)) for i in sorted({i for _, i in self._joints})]

    def meet(self, work: Any) -> None:
        """Find the unit forces of all contacts, and make room for answers."""
        self.work, self.slot = work, work.slot
        self.pushed = self.touched()
        self.make_room()
        for i, unit in self.unit_of.items():
            if self.rubs[i]:
                work.step(push_dry, unit.at(0, self.stopped[i]))
            else:
                work.step(push_stop, self._contact(i), unit.at(0, self.stopped[i]))

    def __call__(self, work: Any) -> None:
        """Write the work between answers and forces."""
        self.weigh(work)
        self.solve()
        self.tell_forces()
        forces = [work.matrix(3, 1) for _ in self.nodes]
        for i, f in enumerate(forces):
            work.product(f, self.of(i, "P_T", 3, 3).T, self.x.part(three(i), range(1)))
        self.push([f.place for f in forces])

    def push(self, forces: Sequence[int]) -> None:
        """Make wrenches, and forces of joints, of the three numbers at each of these places."""
        slot = self.slot
        rows = (MatrixPanel(place, 1, 3, 3 * slot, slot, 2 * slot) for place in forces)
        self.push_along([f.part(range(1), self._directions(i)) for i, f in enumerate(rows)])

    def weigh(self, work: Any) -> None:
        """Write what contacts do to each other, from what they answered."""
        self.work = work
        n = 3 * len(self.nodes)
        self.W = work.matrix(n, n)
        work.clear(self.W)
        for j, pair in enumerate(self.nodes):
            for i in range(len(self.nodes)) if any(pair) else ():
                self.respond(i, j, self.W.part(self.rows_of(i), self.rows_of(j)))
        for i, rubs in enumerate(self.rubs):
            for across in (1, 2) if rubs else ():
                work.step(stand_alone, self._contact(i), self.W.at(3 * i + across, 3 * i + across))

    def apart(self) -> list[list[int]]:
        """All contacts together: loops lead from each to each."""
        return [list(range(len(self.nodes)))]

    def set_up(self, G: MatrixPanel, members: list[int]) -> None:
        """Write what the unknowns of contacts do to each other."""
        every = range(3 * len(members))
        for i in members:
            self.work.product(
                G.part(every, three(i)), self.W.part(every, three(i)), self.of(i, "P_T", 3, 3).T
            )


@at_ground
def tell_who_holds(ground: Any) -> None:
    """Which contacts may have forces."""
    for i in range(len(ground.contacts) // SIZE):
        sticks, slides = (ground.contacts[SIZE * i + PLACES[name].start] for name in ("sticks", "slides"))
        setattr(ground, f"holds_{i}", sticks + slides)


def part(order: Any, played: Callable[[Passes], list[Entry]]) -> Schedule:
    """The schedule of some of the calls that an order lists."""
    return Schedule(lambda at: order(at, played=played, share=None))


def _own(at: Any, i: int) -> tuple[Any, ...]:
    return at.body(i), at.flows(i), at.flows(int(at.plan.parent[i]))
