"""The elimination with flexible bodies, whose points share their amplitudes eta.

Points of a flexible body are nodes that follow the node of its floating frame. A follower is eliminated without
losing a degree of freedom: besides inertia, force and what loops hold of it, its parent feels what eta'' does to it. So
the node of the floating frame has 6 + k accelerations: A, p and K get rows for the modes (E and `Mm`, `pm`, `Km`), and
eta goes like the coordinates of any joint, one after the other. All other bodies do what they do among rigid ones;
multipliers do more only while their loop holds a floating frame.

Particles, which have the mass of a flexible body, are weighed once, when its floating frame begins to move. From then
on the frame is a body whose own equations have 6 + k rows, and particles take no part in elimination and refinement.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from catena.dynamics.flexible.flexible_body import is_flexible
from catena.dynamics.flexible.particles import bias, but_particles, load, place, weight
from catena.dynamics.loops.elimination import EliminationShape, loop_elimination
from catena.dynamics.loops.elimination.blocks import ArrayView, Columns, Symmetric, Triangle, views
from catena.dynamics.loops.elimination.feedback import (
    leave_with_feedback,
    move_and_tell,
    move_driven_and_tell,
    start_with_feedback,
)
from catena.dynamics.loops.elimination.hybrid import (
    accelerate_driven,
    articulate_driven,
    judge_driven,
    move_driven,
)
from catena.dynamics.loops.elimination.least_change import stand, start_open, start_opening
from catena.dynamics.loops.elimination.magnitudes import Magnitudes, magnitude
from catena.dynamics.loops.elimination.pulling import pulling, stand_and_tell
from catena.dynamics.loops.elimination.refinement import (
    accelerate_again,
    balance,
    feel_again,
    hand_down,
    inertial_load,
    judge,
    part,
    press_again,
)
from catena.dynamics.loops.elimination.schedule import REWRITTEN, SHARED, schedule, steps_for
from catena.dynamics.loops.elimination.steps import (
    _pace,
    accelerate,
    articulate,
    carry,
    carry_to_ground,
    demand,
    feel,
    ground as rigid_ground,
    mix_link,
    moved_pace,
    press,
    resting_ground,
    start,
    velocities,
)
from catena.dynamics.loops.elimination.ties import TIES, leave, leave_open, leave_opening
from catena.dynamics.tree.hybrid_dynamics import DRIVE_INPUTS
from catena.kernels import POSITION, VELOCITY, Algorithm, Entry, JointRows, OnCall, Scalars, Schedule, on_call
from catena.spatial import ArticulatedInertia, Force, ForceSpace, Motion, RigidInertia, spd_inverse
from catena.spatial.scalars import absolute, array, less, sqrt, where

AT_FLOATING_FRAMES = (press, feel, press_again, feel_again, mix_link)
"""Steps of multipliers that do more where their loop holds a floating frame."""
RESTING = (stand, stand_and_tell)
"""Steps with which bodies stand, without forces."""
MOVES = (velocities, move_driven, move_and_tell, move_driven_and_tell, *RESTING)
"""Steps with which bodies begin to move."""
OWN = frozenset({"I_own", "E_own", "M_own", "p_own", "pm_own", "qdd_driven"})
"""What floating frames keep of themselves."""


class FlexibleSteps:
    """The steps of an elimination with bodies of at most so many modes: `instead` maps the steps of rigid bodies to
    those that also know flexible ones, `at_frames` those of multipliers to the ones called at floating frames. Where
    they are `implicit`, moving modes have the inertia and the force that a step implicit in them lends them."""

    def __init__(self, modes: int, drives: bool = False, implicit: bool = False) -> None:
        self.modes, self.drives, self.implicit = modes, drives, implicit
        self.instead: dict[OnCall, OnCall] = {
            stand: on_call(self._moved(stand)),
            stand_and_tell: on_call(self._moved(stand_and_tell)),
            carry: on_call(self.carry),
            carry_to_ground: on_call(self.carry_to_ground),
            balance: on_call(self.balance),
            accelerate_again: on_call(self.accelerate_again),
        }
        self.weigh, self.weigh_at_rest = on_call(self._weigh), on_call(self._weigh_at_rest)
        self.gather = on_call(self._gather)
        pairs = (
            (velocities, move_driven),
            (move_and_tell, move_driven_and_tell),
            (articulate, articulate_driven),
            (accelerate, accelerate_driven),
        )
        made = self._moved, self._moved, self._gone, self._back
        for (free, driven), make in zip(pairs, made, strict=True):
            for step in (free, driven) if drives else (free,):
                self.instead[step] = on_call(make(step))
        for step in (judge, judge_driven) if drives else (judge,):
            self.instead[step] = on_call(self._judged(step))
        for step in (*SHARED, *TIES):
            if step.roles[0] == "body" and step not in self.instead:
                self.instead[step] = step
        # Particles take no part in any of it.
        self.instead = {step: on_call(but_particles(own.step)) for step, own in self.instead.items()}
        own = self.press, self.feel, self.press_again, self.feel_again, self.mix_link
        pressed: list[Callable[..., None]] = list(own)
        self.at_frames = {step: on_call(made) for step, made in zip(AT_FLOATING_FRAMES, pressed, strict=True)}

    def ground(self, rigid: Callable[[Any], None]) -> Callable[[Any], None]:
        """What the ground writes, which is where flows get their sizes."""
        m = self.modes

        def ground(ground: Any) -> None:
            rigid(ground)
            ground.E, ground.Mm = np.zeros((6, m)), Triangle(m).zero()
            ground.weight = RigidInertia.zero()
            ground.eta, ground.etad = np.zeros(m), np.zeros(m)
            ground.pm, ground.fm, ground.am = np.zeros(m), np.zeros(m), np.zeros(m)
            ground.dam, ground.loadm = np.zeros(m), np.zeros(m)

        return ground

    def order(self, at: Any, **options: Any) -> list[Entry]:
        """The calls for one mechanism: those of rigid bodies, with the steps of this elimination in their places."""
        return self.dressed(partial(schedule, **options))(at)

    def dressed(self, order: Callable[[Any], list[Entry]]) -> Callable[[Any], list[Entry]]:
        """The calls of rigid bodies in an order, with the steps of this elimination in their places."""

        def own(at: Any) -> list[Entry]:
            noted = _FloatingFrameMarks(at)
            return self._own(at, noted, order(noted))

        return own

    @property
    def pulling(self) -> Callable[[Any], list[Entry]]:
        """The calls by which forces at the loops pull them together."""
        return self.dressed(pulling)

    def _own(self, at: Any, noted: Any, entries: list[Entry]) -> list[Entry]:
        found = []
        for entry in entries:
            if entry.owner in noted.particles and entry.sweep.roles[0] == "body":
                continue
            step = self.instead.get(entry.sweep, entry.sweep)
            if entry.sweep in self.at_frames and noted.holds_frame(entry):
                step = self.at_frames[entry.sweep]
            found.append(replace(entry, sweep=step))
            if entry.owner in noted.frames and entry.sweep in MOVES:
                i, own = entry.owner, (at.body(entry.owner), at.flows(entry.owner))
                weigh = self.weigh_at_rest if entry.sweep in RESTING else self.weigh
                for j in noted.particles_of(i):
                    found.append(Entry(weigh, j, (at.body(j), at.flows(j), at.flows(i))))
                found.append(Entry(self.gather, i, (*own, at.flows(int(at.plan.parent[i])))))
        return found

    @property
    def weighing(self) -> tuple[OnCall, OnCall, OnCall]:
        """The steps by which floating frames get their inertia."""
        return self.weigh, self.weigh_at_rest, self.gather

    # Bodies.

    def _moved(self, rigid: OnCall) -> Callable[..., None]:
        def move(body: Any, parent: Any) -> None:
            """Poses and twists as with rigid bodies; floating frames begin with no inertia of modes."""
            rigid.step(body, parent)
            m = self.modes
            if body.joint.follows:
                body.effort = np.zeros(body.joint.nv)
            elif is_flexible(body.joint):
                body.E, body.Mm, body.weight = np.zeros((6, m)), Triangle(m).zero(), body.inertia
                body.pm, body.loadm = np.zeros(m), np.zeros(m)
                body.eta, body.etad = self._row(body.q), self._row(body.qd)
                if self.implicit:
                    body.Mm = self._square(array(np.diag(body.lent_inertia)))
                if self.implicit and rigid not in RESTING:
                    body.effort = body.effort + body.lent_force
                if self.drives:
                    driven = rigid in (move_driven, move_driven_and_tell)
                    body.qdd_driven = body.driven * body.qdd_given if driven else np.zeros(body.joint.nv)

        return move

    def _weigh(self, body: Any, parent: Any) -> None:
        """What a particle adds to the equations of the floating frame and of the modes."""
        if body.joint.is_particle:
            k = body.joint.nv
            x, L = place(body, parent.eta[:k])
            p, f = load(body, x, bias(body, x, L, parent.v, parent.eta[:k], parent.etad[:k]))
            self._add_weight(body, parent, x, L)
            parent.p += p
            parent.pm = parent.pm + self._row(L.T @ f)

    def _weigh_at_rest(self, body: Any, parent: Any) -> None:
        """The same without forces and velocities."""
        if body.joint.is_particle:
            self._add_weight(body, parent, *place(body, parent.eta[: body.joint.nv]))

    def _add_weight(self, body: Any, parent: Any, x: np.ndarray, L: np.ndarray) -> None:
        felt = weight(body.inertia.mass, x, L)
        parent.weight += felt.rigid
        parent.E = parent.E + self._wide(felt.E, 6)
        parent.Mm += self._square(Symmetric(felt.M).matrix())

    def _gather(self, body: Any, parent: Any) -> None:
        """Keep the equations that the floating frame has by itself, before others act on it."""
        if is_flexible(body.joint) and not body.joint.follows:
            k = body.joint.nv
            body.A = ArticulatedInertia.from_rigid(body.weight)
            body.I_own, body.E_own, body.M_own = body.weight, body.E[:, :k], body.Mm
            body.p_own, body.pm_own = body.p, body.pm[:k]

    def _gone(self, rigid: OnCall) -> Callable[..., None]:
        def go(body: Any, parent: Any) -> None:
            """What the parent feels of a body, of a point of a flexible body, or of a floating frame."""
            if body.joint.follows:
                k, S = body.joint.nv, body.S
                U, pa = body.A * S, body.p + body.A * body.c
                parent.A += body.X.pull(body.A)
                parent.p += body.X.pull(pa)
                parent.E = parent.E + self._wide(body.X.pull(U).array, 6)
                parent.Mm += self._square(S.T * U)
                parent.pm = parent.pm + self._row(S.T * pa)
                body.U, body.d_inv, body.u = U, np.zeros(k), np.zeros(k)
            elif is_flexible(body.joint):
                self._eliminate(body, parent)
            else:
                rigid.step(body, parent)

        return go

    def _eliminate(self, body: Any, parent: Any) -> None:
        """Eliminate the modes, one after the other, from the 6 + k equations of a floating frame."""
        k = body.joint.nv
        E, p = body.E[:, :k], np.concatenate([body.p.array, body.pm[:k]])
        A = np.vstack([np.hstack([body.A.matrix(), E]), np.hstack([E.T, body.Mm.matrix()[:k, :k]])])
        if self.drives:
            p = p + A[:, 6:] @ body.qdd_driven
        columns, d_inv, u = [], [], []
        for j, s in enumerate(self._motions(body)):
            U = A @ s
            yields = self._yielding(body, j, s @ U)
            u.append(body.effort[j] - s @ p)
            A = A - array([[x * y * yields for y in U] for x in U])
            p = p + array([x * (yields * u[j]) for x in U])
            columns.append(U)
            d_inv.append(yields)
        felt = ArticulatedInertia.from_matrix(A[:6, :6])
        parent.A += body.X.pull(felt)
        parent.p += body.X.pull(Force(p[:6]) + felt * body.c)
        body.Ux = np.stack(columns)
        body.U = ForceSpace(np.stack(columns, axis=1)[:6])
        body.d_inv, body.u = array(d_inv), array(u)

    def _yielding(self, body: Any, j: int, inertia: Any) -> Any:
        """How much a mode yields to a force: not at all where it is driven."""
        if not self.drives:
            return spd_inverse(array([[inertia]]))[0, 0]
        is_driven = less(0.5, body.driven[j])
        return where(is_driven, 0.0, spd_inverse(array([[where(is_driven, 1.0, inertia)]]))[0, 0])

    def carry(self, body: Any, link: Any, above: Any, multiplier: Any) -> None:
        """How a loop holds the parent when the body is gone."""
        if body.joint.follows:
            K = link.K
            link.E = np.zeros((body.joint.nv, K.n))
            above.K += body.X.pull(K)
            above.Km = above.Km + self._wide((body.S.T * K).T, K.n).T
            multiplier.l = multiplier.l + K.T * body.c
        elif is_flexible(body.joint):
            K = self._held(body, link, multiplier)
            above.K += body.X.pull(K)
            multiplier.l = multiplier.l + K.T * body.c
        else:
            carry.step(body, link, above, multiplier)

    def carry_to_ground(self, body: Any, link: Any, ground: Any, multiplier: Any) -> None:
        """The same where the parent is the ground, whose acceleration is known."""
        if is_flexible(body.joint) and not body.joint.follows:
            K = self._held(body, link, multiplier)
            multiplier.l = multiplier.l + K.T * (body.c + body.X * ground.a)
        else:
            carry_to_ground.step(body, link, ground, multiplier)

    def _held(self, body: Any, link: Any, multiplier: Any) -> ForceSpace:
        """What a loop holds of a floating frame when its modes are gone."""
        k = body.joint.nv
        K, rows = np.vstack([link.K.array, link.Km[:k]]), []
        for s, U, yields in zip(self._motions(body), body.Ux, body.d_inv, strict=True):
            E = s @ K
            K = K - array([[x * (yields * e) for e in E] for x in U])
            rows.append(E)
        link.E = np.stack(rows)
        multiplier.L -= Symmetric.from_matrix(link.E.T @ (body.d_inv[:, None] * link.E))
        multiplier.l = multiplier.l + link.E.T @ (body.d_inv * body.u)
        return ForceSpace(K[:6])

    def _back(self, rigid: OnCall) -> Callable[..., None]:
        def come_back(body: Any, parent: Any) -> None:
            """Accelerations, those of modes told to the points that follow."""
            if not is_flexible(body.joint):
                rigid.step(body, parent)
                return
            if body.joint.follows:
                body.qdd = parent.am[: body.joint.nv]
                body.a = body.X * parent.a + body.c + body.S * body.qdd
                body.pace = moved_pace(body, parent)
            else:
                body.pace = _pace(body, parent)
                qdd, body.a = self._respond(body, body.X * parent.a + body.c)
                body.qdd = qdd + body.qdd_driven if self.drives else qdd
                body.am = self._row(body.qdd)
            body.last_change = 0.0
            self._demand(body)

        return come_back

    def _respond(self, body: Any, a: Motion) -> tuple[np.ndarray, Motion]:
        """The accelerations of the modes and of the floating frame, given that of the frame if no mode moved."""
        k = body.joint.nv
        wide: Any = np.concatenate([a.array, np.zeros(k)])
        motions, qdd = self._motions(body), [0.0] * k
        for j in reversed(range(k)):
            qdd[j] = body.d_inv[j] * (body.u[j] - body.Ux[j] @ wide - body.e[j])
            wide = wide + array([x * qdd[j] for x in motions[j]])
        return array(qdd), Motion(wide[:6])

    def _demand(self, body: Any) -> None:
        demand(body)
        if not body.joint.follows:
            k = body.joint.nv
            a, E, rate = body.a, body.E_own, body.am[:k]
            body.f = body.I_own * a + Force(E @ rate) + body.p_own
            body.fm = self._row(E.T @ a.array + body.M_own.matrix()[:k, :k] @ rate + body.pm_own)
            body.pm = np.zeros(self.modes)

    def balance(self, body: Any, parent: Any) -> None:
        """The joint force that is missing, and what the parent feels of it."""
        if not is_flexible(body.joint):
            balance.step(body, parent)
            return
        k, p = body.joint.nv, body.p
        if body.joint.follows:
            parent.fm = parent.fm + self._row(body.S.T * body.f)
            parent.pm = parent.pm + self._row(body.S.T * p)
            body.u = np.zeros(k)
        else:
            missing = body.effort - body.S.T * body.f - body.fm[:k]
            wide, u = np.concatenate([p.array, body.pm[:k]]), []
            for j, s in enumerate(self._motions(body)):
                u.append(missing[j] - s @ wide)
                wide = wide + array([x * (body.d_inv[j] * u[j]) for x in body.Ux[j]])
            p, body.u = Force(wide[:6]), array(u)
        parent.f += body.X.pull(body.f)
        parent.p += body.X.pull(p)

    def accelerate_again(self, body: Any, parent: Any) -> None:
        """The corrections of all accelerations."""
        if not is_flexible(body.joint):
            accelerate_again.step(body, parent)
            return
        if body.joint.follows:
            dq = parent.dam[: body.joint.nv]
            body.da = body.X * parent.da + body.S * dq
        else:
            dq, body.da = self._respond(body, body.X * parent.da)
            body.dam = self._row(dq)
            body.am = body.am + body.dam
        body.a += body.da
        body.qdd = body.qdd + dq
        body.change_before, body.last_change = body.last_change, magnitude(body.da.array)
        self._demand(body)

    def _judged(self, rigid: OnCall) -> Callable[..., None]:
        def judged(body: Any, parent: Any) -> None:
            """The force that is missing in the end, as a part of all forces that were summed up."""
            if not is_flexible(body.joint):
                rigid.step(body, parent)
                return
            own = inertial_load(body) if body.joint.follows else self._own_load(body)
            load = body.load + own
            at_work = array([Magnitudes.of(S).dot(load) for S in body.S.columns()])
            parts: list[Any] = []
            if body.joint.follows:
                parent.fm = parent.fm + self._row(body.S.T * body.f)
                parent.loadm = parent.loadm + self._row(at_work)
                if rigid is judge_driven:
                    body.drive = np.zeros(body.joint.nv)
            else:
                missing = body.effort - body.S.T * body.f - body.fm[: body.joint.nv]
                if rigid is judge_driven:
                    # What a drive lacks is what it gives.
                    body.drive = body.tau - body.driven * missing
                    missing = missing - body.driven * missing
                terms = zip(
                    missing, body.effort, at_work, body.loadm, self._own_modal_load(body), strict=False
                )
                parts = [part(m, absolute(e) + w + beyond + own) for m, e, w, beyond, own in terms]
            hand_down(body, parent, load, parts)

        return judged

    def _own_load(self, body: Any) -> Magnitudes:
        """What the force that the motion of the particles takes is summed up from, at the floating frame."""
        inertia, a = body.I_own, body.pace
        J, h = np.trace(inertia.I), magnitude(inertia.h)
        whole = Magnitudes(J * a.angular + h * a.linear, h * a.angular + inertia.mass * a.linear)
        for E, x in zip(body.E_own.T, body.am, strict=False):
            whole = whole + Magnitudes.of(Force(E)) * absolute(x)
        return whole + Magnitudes.of(body.p_own)

    def _own_modal_load(self, body: Any) -> list[Any]:
        """The same for the modes. The sum over particles of m |L| |a| is bounded by sqrt(M) times the root of the sum
        of m a^2, which does not vanish where mode and motion have nothing to do with each other."""
        k, inertia, pace = body.joint.nv, body.I_own, body.pace
        M, rates = body.M_own.matrix()[:k, :k], body.am[:k]
        moving = sqrt(inertia.mass) * pace.linear + sqrt(np.trace(inertia.I)) * pace.angular
        return [
            sqrt(M[j, j]) * moving
            + sum([absolute(M[j, i] * x) for i, x in enumerate(rates)], 0.0)
            + absolute(p)
            for j, p in enumerate(body.pm_own)
        ]

    # Multipliers whose loop holds a floating frame.

    def press(self, multiplier: Any, link: Any, body: Any) -> None:
        """What the loop's chain adds to the inertia of the frame and of its modes."""
        press.step(multiplier, link, body)
        W, K, Km = multiplier.W.matrix(), link.K.array, link.Km
        body.E = body.E + K @ W @ Km.T
        body.Mm += Symmetric.from_matrix(Km @ W @ Km.T)
        body.pm = body.pm + Km @ multiplier.w

    def feel(self, multiplier: Any, link: Any, body: Any) -> None:
        """The part of the multiplier that depends on the frame and its modes."""
        felt = link.K.T * body.a + link.Km.T @ body.am
        multiplier.lam = multiplier.lam + multiplier.W.matrix() @ felt

    def press_again(self, multiplier: Any, link: Any, body: Any) -> None:
        """What the loop passes on to the frame and its modes."""
        body.p += link.K * multiplier.w
        body.pm = body.pm + link.Km @ multiplier.w

    def feel_again(self, multiplier: Any, link: Any, body: Any) -> None:
        """The part of the correction that depends on the frame and its modes."""
        felt = link.K.T * body.da + link.Km.T @ body.dam
        multiplier.lam = multiplier.lam + multiplier.W.matrix() @ felt

    def mix_link(self, multiplier: Any, link: Any, pair: Any, above: Any) -> None:
        """What another loop, coupled to this one, holds of the frame and its modes."""
        mixed = multiplier.W.matrix() @ pair.K
        above.K += link.K * mixed
        above.Km = above.Km + link.Km @ mixed

    # Rows for modes, as many as the body with most has.

    def _motions(self, body: Any) -> list[np.ndarray]:
        """What each mode moves: the floating frame (6), and itself."""
        unit = np.eye(body.joint.nv)
        return [np.concatenate([S, unit[j]]) for j, S in enumerate(body.S.array.T)]

    def _row(self, x: Any) -> np.ndarray:
        return array([*x, *[0.0] * (self.modes - len(x))])

    def _wide(self, x: np.ndarray, rows: int) -> np.ndarray:
        found = np.zeros((rows, self.modes), dtype=object)
        found[:, : x.shape[1]] = x
        return array(found.tolist()).reshape(rows, self.modes)

    def _square(self, x: np.ndarray) -> Symmetric:
        found = np.zeros((self.modes, self.modes), dtype=object)
        found[: len(x), : len(x)] = x
        return Symmetric.from_matrix(found)


class _FloatingFrameMarks:
    """Places that note which flows and links are those of floating frames."""

    def __init__(self, at: Any) -> None:
        self._at, self.plan = at, at.plan
        kinds = enumerate(at.plan.kind)
        self.frames = {i for i, kind in kinds if kind is not None and is_flexible(kind) and not kind.follows}
        self.particles = {i for i, kind in enumerate(at.plan.kind) if kind is not None and kind.is_particle}
        self._noted = {_key(at.flows(i)) for i in self.frames}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._at, name)

    def link(self, loop: int, i: int) -> Any:
        found = self._at.link(loop, i)
        if i in self.frames:
            self._noted.add(_key(found))
        return found

    def particles_of(self, frame: int) -> list[int]:
        """The particles of a flexible body, in order."""
        return [i for i in sorted(self.particles) if int(self.plan.parent[i]) == frame]

    def holds_frame(self, entry: Entry) -> bool:
        """Whether a step of a multiplier is called while its loop holds a floating frame."""
        return any(_key(place) in self._noted for place in entry.places[1:3])


def _key(place: Any) -> int:
    return place if isinstance(place, int) else id(place)


@lru_cache(maxsize=32)
def flexible_steps(modes: int, drives: bool = False, implicit: bool = False) -> FlexibleSteps:
    """The steps for bodies of at most so many modes."""
    return FlexibleSteps(modes, drives, implicit)


def flexible_views(sort: EliminationShape, modes: int) -> dict[str, Any]:
    """The records of loops and links, with rows for modes."""
    found, columns = views(sort), sort.columns
    block, rows = Columns(columns), ArrayView((max(6, modes), columns))
    held = ArrayView((modes, columns))
    ends = {
        "K_child": block,
        "Km_child": held,
        "E_child": rows,
        "K_parent": block,
        "Km_parent": held,
        "E_parent": rows,
    }
    for record in ("multiplier", *(("term",) if sort.coupled else ())):
        rest = {name: extent for name, extent in found[record].items() if name not in ends}
        found[record] = {**ends, **rest}
    found["link"] = {"K": block, "Km": held, "E": JointRows(columns)}
    return found


def link_rows(modes: int) -> int:
    """How many rows a link has: six, those of the modes, and those of a joint."""
    return 6 + modes + max(6, modes)


@lru_cache(maxsize=32)
def flexible_elimination(
    sort: EliminationShape, modes: int, drives: bool = False, feedback: bool = False, implicit: bool = False
) -> Algorithm:
    """The elimination for loops of up to so many constraints and bodies of up to so many modes; with `feedback`,
    closure errors are fed back into the constraints, as in `elimination_with_feedback`; with `implicit`, modes
    have what a step implicit in them lends them."""
    base, steps = loop_elimination(sort), flexible_steps(modes, drives, implicit)
    swap: dict[OnCall, OnCall] = {}
    options: dict[str, Any] = {}
    if drives:
        swap = {articulate: articulate_driven, accelerate: accelerate_driven, judge: judge_driven}
        options = {"go": articulate_driven, "come_back": accelerate_driven, "end": judge_driven}
    move = (
        (move_driven_and_tell if drives else move_and_tell)
        if feedback
        else move_driven
        if drives
        else velocities
    )
    begin = start_with_feedback if feedback else start
    swap |= {velocities: move, start: begin}
    finish = leave_with_feedback if feedback else leave
    called = [steps.instead.get(step, step) for step in (swap.get(step, step) for step in steps_for(sort))]
    order = partial(steps.order, move=move, begin_loop=begin, finish=finish, **options)
    words = f"{'_driven' if drives else ''}{'_with_feedback' if feedback else ''}{'_implicit' if implicit else ''}"

    def ground(ground: Any) -> None:
        steps.ground(rigid_ground)(ground)
        if feedback:
            ground.feedback = ground.feedback_given

    return replace(
        base, name=f"flexible_elimination_{sort}_{modes}{words}", ground=ground,
        sweeps=(
            called[0], *steps.weighing, *called[1:], *((finish,) if sort.coupled and feedback else ()),
            *steps.at_frames.values(), Schedule(order),
        ),
        inputs={**base.inputs, **(DRIVE_INPUTS if drives else {})},
        outputs={"qdd": VELOCITY, **({"drive": VELOCITY} if drives else {})},
        ground_inputs={**base.ground_inputs, **({"feedback_given": Scalars(2)} if feedback else {})},
        rewritten=REWRITTEN | OWN | {"c", "effort", "Ux"}, views=flexible_views(sort, modes),
        link_rows=link_rows(modes),
    )  # fmt: skip


@lru_cache(maxsize=32)
def flexible_correction(sort: EliminationShape, modes: int, of_positions: bool) -> Algorithm:
    """The least change of position, or of velocity, that closes the loops to first order, as `qdd`."""
    steps, begin = flexible_steps(modes), start_open if of_positions else start_opening
    finish = leave_open if of_positions else leave_opening
    ties = (*TIES, finish) if sort.coupled else ()
    called = [steps.instead.get(step, step) for step in (stand, *SHARED, *ties)]
    order = partial(steps.order, move=stand, begin_loop=begin, rub=False, finish=finish)
    return Algorithm(
        f"flexible_correction_{'q' if of_positions else 'v'}_{sort}_{modes}", steps.ground(resting_ground),
        (called[0], *steps.weighing[1:], begin, *called[1:], *steps.at_frames.values(), Schedule(order)),
        inputs={"q": POSITION, "qd": VELOCITY}, outputs={"qdd": VELOCITY},
        optional=frozenset({"qd"}) if of_positions else frozenset(), rewritten=REWRITTEN | OWN | {"Ux", "effort"},
        views=flexible_views(sort, modes), columns=sort.columns, link_rows=link_rows(modes),
    )  # fmt: skip
