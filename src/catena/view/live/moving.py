"""Moves a mechanism within its freedom: a joint to a value, or a point of a body towards a place.

The loops are never opened: a step is the motion that the closed mechanism makes under a force, which is found by
forward dynamics at rest. With N the motions that the loops allow, accelerations answer forces by A = N (N' H N)^-1 N',
so J A J' tells how a point can move, the diagonal of A how well a joint can drive the rest, and the trace of A H is the
mobility. After each step the loops are closed to rounding in lanes. Joints that close loops can be moved as well, and
have limits as others do: their coordinates are functions of q, whose slopes take the place of unit vectors.

Flexible bodies stay as deformed as they are while something else is moved. Holding coordinates e takes from A what it
does there: A - A_e (A_ee)^-1 A_e'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catena.errors import CatenaError, LoopError, SingularDynamicsError
from catena.joints import Free, JointKind
from catena.joints.modal import Modal
from catena.mechanism import GROUND, MODES
from catena.spatial import Pose
from catena.system import System

Floats = NDArray[np.float64]

STEPS = 3
"""Steps that one request may take towards its goal."""
LONGEST = 0.15
"""The longest step of a coordinate [rad, or parts of the extent], over which loops are closed safely again."""
DEAD = 1e-3
"""A joint drives the rest badly where it moves by this part of the others, whatever way the mechanism moves."""
ABOUT_AS_GOOD = 0.3
"""A joint on the ground is named before others that move more, up to this part of what they move."""
STILL = 1e-9
"""A body stands still where a point of it moves by this part (squared) of what moves most."""
MANY = 60
"""Above so many coordinates the answers of all joints are not asked for."""


@dataclass(frozen=True, eq=False)
class DraggedState:
    """Where a mechanism was moved to: q (nq,), and why it went no further, or nothing."""

    q: Floats
    note: str = ""


class Mover:
    """Moves one system; it keeps no state of its own."""

    def __init__(self, system: System, extent: float) -> None:
        self.system = system
        self.extent = extent
        self._low, self._high = _limits(system)
        self.limited_loops = [
            name for name in movable_loops(system) if system.mechanism.joints[name].limits is not None
        ]
        self._modes = [name for name in system.joints if name.endswith(MODES)]
        # A metre of a large machine and a radian count alike.
        self._unit = np.ones(system.nv)
        for name in system.joints:
            kind = kind_of(system, name)
            if kind.nq == kind.nv:
                linear = (
                    np.linalg.norm(np.asarray(kind.motion_space(kind.neutral()).array)[:3], axis=0) < 1e-9
                )
                self._unit[system.slice_v(name)] = np.where(linear, max(extent, 1e-9), 1.0)

    def slide(self, q: Floats, joint: str, component: int, value: float) -> DraggedState:
        """Move one coordinate of a joint to a value, as far as limits and loops let it."""
        s = self.system
        one = self._coordinate(joint, component)
        value = float(np.clip(value, one.low, one.high))
        if not s.mechanics.constrained:
            moved = q.copy()
            moved[s.slice_q(joint).start + component] = value
            return DraggedState(moved)
        for _ in range(4 * STEPS):
            left = one.away(value, q)
            if abs(left) < 1e-9 * one.unit:
                return DraggedState(q)
            slope = one.slope(q)
            answer = self._answers(q, slope[None], slope)[0]
            gain = float(slope @ answer)
            # What does not move under a force of its own stands at a dead point, whatever the force.
            if gain <= 1e-9 * np.max(np.abs(answer) * one.unit / self._unit):
                return DraggedState(q, f"{joint} cannot go further: {self._held(q)}")
            step = self._within(q, answer * (left / gain))
            nearer = self._nearer(q, step, one, value)
            if nearer is None:
                return DraggedState(
                    q, f"{joint} cannot go further: a dead point is near or another joint is at its limit"
                )
            q = nearer
        return DraggedState(q)

    def drag(self, q: Floats, body: str, point: Floats, to: Floats) -> DraggedState:
        """Move a point (3,) of a body, told in its frame, towards a place (3,) in ground, as far as it can go."""
        s = self.system
        for _ in range(STEPS):
            pose = self._pose(q, body)
            away = to - pose.R @ point - pose.p
            far = float(np.linalg.norm(away))
            if far < 1e-7 * self.extent:
                break
            # A place out of reach is approached from where the point can be: a long pull would swing across it.
            pull = away * min(1.0, LONGEST * self.extent / far)
            twist = s.jacobian(q, body)
            J = pose.R @ (twist[3:] - np.cross(point, twist[:3].T).T)
            answers = self._answers(q, J)
            mobility = J @ answers.T
            size = float(np.trace(mobility))
            if size <= STILL * self._liveliness(q):
                return DraggedState(q, self._why_still(q, body))
            # Directions in which the point cannot move are left alone, and steps stay short near them.
            force = np.linalg.solve(mobility + 1e-4 * size * np.eye(3), pull)
            nearer, is_open = self._towards(q, self._within(q, force @ answers), body, point, to)
            if nearer is None:
                # Where the point hardly moves whatever the rest does, it is the dead point that ends its way.
                if size <= DEAD * self._liveliness(q):
                    return DraggedState(q, self._why_still(q, body))
                return DraggedState(q, "the loops do not close beyond" if is_open else "")
            q = nearer
        return DraggedState(q)

    def _towards(
        self, q: Floats, step: Floats, body: str, point: Floats, to: Floats
    ) -> tuple[Floats | None, bool]:
        """Return the closed configuration after a step, or a part of it, at which a point of a body is nearer to a
        place than before; and whether it was the loops that did not close."""
        far, is_open = self._distance(q, body, point, to), False
        for part in (1.0, 0.3, 0.1, 0.02):
            moved = self._closed(self.system.integrate(q, part * step))
            is_open = moved is None
            if moved is not None and self._distance(moved, body, point, to) < far * (1.0 - 1e-9):
                return moved, False
        return None, is_open

    def _pose(self, q: Floats, body: str) -> Pose:
        found = self.system.pose(q, body)
        assert isinstance(found, Pose), "one configuration has one pose"
        return found

    def _distance(self, q: Floats, body: str, point: Floats, to: Floats) -> float:
        pose = self._pose(q, body)
        return float(np.linalg.norm(to - pose.R @ point - pose.p))

    def _liveliness(self, q: Floats) -> float:
        """Return how far a point at the edge goes at most under a force of 1 at some joint: the scale of mobilities."""
        if self.system.nv > MANY:
            return 0.0
        answers = self._answers(q, np.eye(self.system.nv))
        return float(np.max(np.abs(np.diag(answers)) / self._unit**2, initial=0.0)) * self.extent**2

    def driver(self, q: Floats) -> str:
        """Return the joint of the tree that drives best in the motions that are possible at q, or nothing if none
        moves: one on the ground, where people have their motors, if it is about as good as the one that moves most."""
        s = self.system
        if s.nv > MANY:
            return ""
        part = _part_in_motion(self._answers(q, np.eye(s.nv)) / self._unit)
        parts = {name: float(np.max(part[s.slice_v(name)], initial=0.0)) for name in s.joints}
        most = max(parts.values(), default=0.0)
        if most <= DEAD:
            return ""
        joints = s.mechanism.joints
        grounded = [
            name for name in parts if name in joints and GROUND in (joints[name].parent, joints[name].child)
        ]
        good = [name for name in grounded if parts[name] > ABOUT_AS_GOOD * most]
        return max(good or parts, key=lambda name: parts[name])

    def _held(self, q: Floats) -> str:
        driver = self.driver(q)
        if not driver:
            return "the loops hold it"
        return f"it stands at a dead point, from which {driver} can drive the rest"

    def _why_still(self, q: Floats, body: str) -> str:
        """Why a body does not follow the pointer, and what moves instead."""
        driver = self.driver(q)
        if not driver:
            return f"{body} cannot move"
        return (
            f"{body} stands still for a moment here, at a dead point; move {driver}, which can drive the rest"
        )

    def _coordinate(self, joint: str, component: int) -> _Coordinate:
        s = self.system
        if joint in s.loops:
            return _Coordinate.of_loop(s, joint, component, self.extent)
        i = s.slice_v(joint).start + component
        return _Coordinate.of_tree(s, joint, component, self._low[i], self._high[i], self._unit[i])

    def _nearer(self, q: Floats, step: Floats, one: _Coordinate, value: float) -> Floats | None:
        """Return the closed configuration after a step, or a part of it, at which a coordinate is nearer to the
        value."""
        for part in (1.0, 0.25, 0.05, 0.01):
            moved = self._closed(self.system.integrate(q, part * step))
            if moved is not None and abs(one.away(value, moved)) < abs(one.away(value, q)) * (1.0 - 1e-9):
                return moved
        return None

    def marks(self, q: Floats) -> dict[str, str]:
        """Return what is worth knowing of a configuration: {"joint component": "limit" or "dead"}, and under "state"
        the mobility in words."""
        s = self.system
        found: dict[str, str] = {}
        near = 1e-4 * np.minimum(self._high - self._low, self._unit)
        position = self._coordinates(q)
        at_limit = (position <= self._low + near) | (position >= self._high - near)
        part = np.ones(s.nv)
        if s.mechanics.constrained and s.nv <= MANY:
            try:
                answers, H = self._answers(q, np.eye(s.nv)), s.mass_matrix(q)
            except CatenaError:
                answers = None
            if answers is not None:
                part = _part_in_motion(answers / self._unit)
                found["state"] = _words(round(float(np.sum(answers * H))), len(s.loops))
        for joint in s.joints:
            for k, i in enumerate(range(s.nv)[s.slice_v(joint)]):
                if at_limit[i]:
                    found[f"{joint} {k}"] = "limit"
                elif part[i] < DEAD:
                    found[f"{joint} {k}"] = "dead"
        for one in self._loop_coordinates():
            room = min(-one.away(one.low, q), one.away(one.high, q))
            if room <= 1e-4 * min(one.high - one.low, one.unit):
                found[f"{one.joint} {one.component}"] = "limit"
        return found

    def _loop_coordinates(self) -> list[_Coordinate]:
        """Return the coordinates of joints that close loops and have limits."""
        return [
            self._coordinate(name, k)
            for name in self.limited_loops
            for k in range(self.system.mechanism.joints[name].kind.nv)
        ]

    def _answers(self, q: Floats, forces: Floats, moved: Floats | None = None) -> Floats:
        """Return the accelerations (k, nv) of the closed mechanism at rest and without weight under forces (k, nv),
        with all modes held but the one that is `moved`, which is told by its slope (nv,)."""
        modes = [k for name in self._modes for k in range(self.system.nv)[self.system.slice_v(name)]]
        e = [k for k in modes if moved is None or not moved[k]]
        if not e:
            return self._free_answers(q, forces)
        found = self._free_answers(q, np.concatenate([forces, np.eye(self.system.nv)[e]]))
        free, at_modes = found[: len(forces)], found[len(forces) :]
        return free - free[:, e] @ np.linalg.pinv(at_modes[:, e], rcond=1e-10) @ at_modes

    def _free_answers(self, q: Floats, forces: Floats) -> Floats:
        """Return the accelerations (k, nv) of the closed mechanism at rest and without weight under forces (k, nv)."""
        s = self.system
        states = np.broadcast_to(q, (len(forces) + 1, s.nq))
        tau = np.concatenate([np.zeros((1, s.nv)), forces])
        try:
            found = s.forward_dynamics(states, np.zeros((len(tau), s.nv)), tau, elements=False)
        except SingularDynamicsError:
            # Without mass there is no answer to a force; the shortest way that the loops allow serves as well.
            if not s.mechanics.constrained:
                return forces
            K = s.closure_jacobian(q)
            return forces - forces @ np.linalg.pinv(K) @ K
        return found[1:] - found[0]

    def _within(self, q: Floats, step: Floats) -> Floats:
        """Return a step that is not too long and passes no limit."""
        size = float(np.max(np.abs(step) / self._unit, initial=0.0))
        step = step * min(1.0, LONGEST / size) if size > 0.0 else step
        position = self._coordinates(q)
        room = np.where(step > 0.0, self._high - position, position - self._low)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(np.abs(step) > 0.0, np.maximum(room, 0.0) / np.abs(step), np.inf)
        step = step * min(1.0, float(np.min(part, initial=1.0)))
        for one in self._loop_coordinates():
            rate = float(one.slope(q) @ step)
            left = one.away(one.high, q) if rate > 0.0 else -one.away(one.low, q)
            if abs(rate) > max(left, 0.0):
                step = step * (max(left, 0.0) / abs(rate))
        return step

    def _closed(self, q: Floats) -> Floats | None:
        if not self.system.mechanics.constrained:
            return q
        try:
            return np.asarray(
                self.system.project(q, held=self._modes) if self._modes else self.system.project(q)
            )
        except LoopError:
            try:
                return np.asarray(self.system.project(q, held=[]))
            except CatenaError:
                return None

    def _coordinates(self, q: Floats) -> Floats:
        """Return the coordinates beside their velocities (nv,); those of quaternions count as zero and have no limits
        here."""
        s = self.system
        found = np.zeros(s.nv)
        for joint in s.joints:
            if kind_of(s, joint).nq == kind_of(s, joint).nv:
                found[s.slice_v(joint)] = q[s.slice_q(joint)]
        return found


@dataclass(frozen=True, eq=False)
class _Coordinate:
    """One coordinate of a joint as a function of q (nq,), with its limits and the size that counts as one."""

    system: System
    joint: str
    component: int
    low: float
    high: float
    unit: float
    is_angle: bool = False

    @classmethod
    def of_tree(
        cls, system: System, joint: str, component: int, low: float, high: float, unit: float
    ) -> _Coordinate:
        return cls(system, joint, component, float(low), float(high), float(unit))

    @classmethod
    def of_loop(cls, system: System, joint: str, component: int, extent: float) -> _Coordinate:
        described = system.mechanism.joints[joint]
        low, high = (-np.inf, np.inf) if described.limits is None else described.limits[component]
        space = np.asarray(described.kind.motion_space(described.kind.neutral()).array)[:, component]
        turns = bool(np.linalg.norm(space[:3]) > 1e-9)
        return cls(
            system, joint, component, float(low), float(high), 1.0 if turns else max(extent, 1e-9), turns
        )

    def away(self, value: float, q: Floats) -> float:
        """Return how far the value is from where the coordinate is; the angle of a loop joint is known up to whole
        turns."""
        left = value - float(self.system.joint_position(q, self.joint)[self.component])
        return float(np.remainder(left + np.pi, 2.0 * np.pi) - np.pi) if self.is_angle else left

    def slope(self, q: Floats) -> Floats:
        """Return the derivative (nv,) of the coordinate with respect to the motion of the joints of the tree."""
        s = self.system
        if self.joint not in s.loops:
            return np.eye(s.nv)[s.slice_v(self.joint).start + self.component]
        states = np.broadcast_to(q, (s.nv, s.nq))
        return np.asarray(s.joint_velocity(states, np.eye(s.nv), self.joint))[:, self.component]


def movable_loops(system: System) -> list[str]:
    """Return the joints that close loops and whose coordinates are numbers by themselves, not quaternions."""
    kinds = {name: system.mechanism.joints[name].kind for name in system.loops}
    return [name for name, kind in kinds.items() if kind.nq == kind.nv > 0]


def kind_of(system: System, joint: str) -> JointKind:
    """Return the kind of a joint of the tree, modes included; a pinned root hangs on a free joint that nobody
    described."""
    if joint.endswith(MODES):
        return Modal(system.slice_v(joint).stop - system.slice_v(joint).start)
    described = system.mechanism.joints.get(joint)
    return described.kind if described else Free()


def _limits(system: System) -> tuple[Floats, Floats]:
    low, high = np.full(system.nv, -np.inf), np.full(system.nv, np.inf)
    for name in system.joints:
        joint = system.mechanism.joints.get(name)
        if joint is not None and joint.limits is not None and joint.kind.nq == joint.kind.nv:
            low[system.slice_v(name)], high[system.slice_v(name)] = joint.limits.T
    return low, high


def _words(mobility: int, loops: int) -> str:
    ways = {0: "It cannot move here", 1: "It can move in one way"}.get(
        mobility, f"It can move in {mobility} independent ways"
    )
    return f"{ways} ({loops} loop joint{'s' if loops > 1 else ''})." if loops else f"{ways}."


def _part_in_motion(answers: Floats) -> Floats:
    """Return how much of a motion each coordinate (nv,) can be: the largest part that it has in any motion of length 1,
    of those that answers (k, nv) to forces span."""
    sizes = np.linalg.norm(answers, axis=1)
    # Beside forces that move something, what others move is rounding.
    real = sizes > 1e-10 * np.max(sizes, initial=0.0)
    moving = answers[real] / sizes[real, None]
    if not len(moving):
        return np.zeros(answers.shape[1])
    _, values, motions = np.linalg.svd(moving, full_matrices=False)
    kept = motions[values > 1e-6 * values[0]]
    return np.sqrt(np.sum(kept * kept, axis=0))
