"""Impulses of contacts, stops and dry friction over one step in time, through loops, couplings and flexible bodies: the
law of `impulse_law` with the mobility that an elimination answers (`contact_elimination`).

The elimination has found the accelerations without contacts. With the velocities that the step began with it is seen
how units come, and where some may have an impulse it is played again, answers to the unit forces of all units, and the
impulses that obey the law act on bodies as wrenches and are refined. By how much accelerations changed then, impulses
being forces of one second, velocities do in the step; loops, couplings and what drives joints hold against them.
"""

from functools import partial
from typing import Any

from catena.dynamics.contacts.contact_elimination import UnitAnswers, part
from catena.dynamics.contacts.contact_forces import PUSHED, Nodes, push_dry
from catena.dynamics.contacts.impulse_law import MOMENT, StepImpulses, touch_cut
from catena.dynamics.flexible.particles import but_particles
from catena.kernels import LeaveOut, OnMatrices, Sweep, at_ground, base_to_tip, each_body, with_ground
from catena.kernels.matrices import MatrixPanel
from catena.spatial import cross
from catena.spatial.scalars import array, where

CLOSED = MOMENT.index("closed")


@base_to_tip
@but_particles
def see(body: Any, parent: Any) -> None:
    """How a body stands where the elimination has it, moves, and accelerates without contacts, by its motion (a) and by
    its joints (d), seen from ground."""
    stands = body.pose
    S = stands.pull_motion(body.S)
    v_joint = S * body.qd
    v = parent.seen_v + v_joint
    a = parent.seen_a + cross(v, v_joint) + stands.pull_motion(body.joint.bias(body.q, body.qd))
    d = parent.seen_d + S * body.qdd_free
    body.seen = array([*stands.entries(), *v.entries(), *a.entries(), *d.entries()])
    body.seen_v, body.seen_a, body.seen_d = v, a, d


@each_body
@but_particles
def keep_free(body: Any) -> None:
    """Keep the accelerations without contacts."""
    body.qdd_free = body.qdd


@each_body
@but_particles
def keep_drive(body: Any) -> None:
    """Keep what drives give without contacts."""
    body.drive_free = body.drive


def tell_who_holds(rubs: bool) -> Sweep:
    """Return the step that tells whether units may have an impulse: some are closed, or what rubs always does."""

    def tell(ground: Any) -> None:
        ground.holds = ground.going if rubs else ground.moment[CLOSED]

    return at_ground(tell)


def gain(driven: bool) -> Sweep:
    """Return the step by which joints gain speed by impulses and accelerate as without contacts; what drives them bears
    impulses where some are `driven`."""

    def take(body: Any, ground: Any) -> None:
        holds = ground.holds > 0.5
        changes = zip(body.qdd, body.qdd_free, strict=True)
        body.gained = array([where(holds, x - y, 0.0) for x, y in changes])
        body.qdd = body.qdd_free
        if driven:
            borne = zip(body.drive, body.drive_free, strict=True)
            body.borne = array([where(holds, x - y, 0.0) for x, y in borne])
            body.drive = body.drive_free

    return with_ground(but_particles(take))


class ImpulsesThroughElimination(UnitAnswers, StepImpulses):
    """The impulses of units over a step, in parts of the schedule of an elimination and the work between them."""

    def __init__(self, units: Nodes) -> None:
        super().__init__(units)
        self.nodes = tuple((unit.node, unit.on) for unit in units)
        self.stopped = tuple(unit.stopped for unit in units)
        self.rubs = any(unit.rubs for unit in units)

    def sweeps(self, order: Any, ground: Any) -> list[Sweep]:
        """The sweeps behind those of an elimination, whose `ground` begins it and whose calls `order` lists."""
        asked = [at_ground(ground), part(order, self.solution)]
        asked += [part(order, partial(self.answers, i)) for i, ends in enumerate(self.nodes) if any(ends)]
        return [
            OnMatrices(self.meet), tell_who_holds(self.rubs), LeaveOut("holds", len(asked)), *asked, OnMatrices(self),
            LeaveOut("holds", 1), part(order, self.pushed_on),
        ]  # fmt: skip

    def rows_of(self, i: int) -> range:
        """The rows of a unit."""
        return self.rows(i)

    def meet(self, work: Any) -> None:
        """Find the unit forces of all units and how they come, and make room for answers."""
        self.work, self.slot = work, work.slot
        self.pushed = self.touched()
        self.come()
        self.make_room()
        for i, unit in self.unit_of.items():
            work.step(push_dry, unit.at(0, self.stopped[i]))

    def _touch(self, i: int, ground: int) -> int:
        """Return the place of what a contact tells, or a joint that closes a loop."""
        if not self.units[i].is_cut:
            return super()._touch(i, ground)
        work, pushed = self.work, int(self.work.reserve(PUSHED))
        sides = [work.component("seen", n, 0) if n else ground for n in self.nodes[i]]
        work.step(touch_cut, self._cut(i), *sides, pushed)
        return pushed

    def __call__(self, work: Any) -> None:
        """Write the work between answers and impulses."""
        self.work = work
        self.find()
        # The two numbers of each row lie side by side.
        self.push_along([self.p.part(self.rows(i), range(1)).T for i in range(len(self.units))])

    def mobility(self) -> MatrixPanel:
        """Return what forces along rows do to each other, (rows, rows); nothing where nobody asks."""
        work = self.work
        W = work.matrix(self.count, self.count)
        work.clear(W)
        with work.unless_done(work.ground("holds")):
            for j, ends in enumerate(self.nodes):
                for i in range(len(self.units)) if any(ends) else ():
                    self.respond(i, j, W.part(self.rows(i), self.rows(j)))
        return W
