"""The instant between two phases of a motion, at which the structure changes: bodies stay where they are, and momentum
is what it was.

Positions of the next system are such that all bodies are where those of the system before are; joints that are the same
in both trees keep their coordinates, whole turns included. So the phase before has to end where the new joints fit. Of
these conditions those are kept that are independent of each other and of what is asked there anyway, found at a place
where all of them are met (`meet`).

Velocities after the change are those of the impact that `transfer` computes: impulses of the joints change the momentum
of bodies b along no motion that the new structure allows,

    sum over b of B_b^T M_b (B_b v - t_b) + rotors = J^T mu,    J v = 0,

with the twists t_b of bodies before, B_b v after, and multipliers mu.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from catena.changing.carrying import alike, bodies_of, carry, require_same_bodies
from catena.changing.impact import body_inertias
from catena.dynamics.tree.rotors import rotor_inertias
from catena.errors import StateError
from catena.mechanism import GROUND, Joint
from catena.mechanism.groups import Groups
from catena.planning.formulas import constraint_rows, formula, pose_rows, turned, twist_rows
from catena.planning.nonlinear_program import Condition, NonlinearProgram, ProgramRows
from catena.planning.task import REQUIRED_WEIGHT, MotionTask
from catena.system import System

# Conditions that have less than this part of their size besides others follow from these.
INDEPENDENT = 1e-7
# How much [m, rad] bodies may be off where they should be.
FITS = 1e-9
# Limits are kept by this part of their distance while a place is looked for.
WITHIN = 1e-9


def _same_places(old: System, new: System) -> tuple[Any, Any, Any]:
    """Return rows that vanish where coordinates of joints that both trees have agree, where quaternions of others have
    length 1, and where all bodies are at the same place or turned half around there; rows that are more than 1 where
    they are not turned; and what all are expressions of, (q of old, q of new)."""
    import casadi

    before, after = (casadi.SX.sym(name, system.nq) for name, system in (("before", old), ("after", new)))
    rows: list[Any] = []
    traces: list[Any] = []
    groups = Groups(new.mechanism.bodies)
    for name, joint in new.mechanism.joints.items():
        was = old.mechanism.joints.get(name)
        if was is None or not alike(joint, was):
            continue
        if _is_carried(old, new, name):
            rows.append(after[_places(new.slice_q(name))] - before[_places(old.slice_q(name))])
            groups.join(joint.parent, joint.child)
        elif joint.dof == was.dof == 0 and _held_alike(joint, was):
            groups.join(joint.parent, joint.child)
    for name, at in new.plan.quaternions:
        if not _is_carried(old, new, name):
            rows.append(casadi.sumsqr(after[at : at + 4]) - 1.0)
    for body in new.mechanism.bodies:
        if groups.top(body) == body and body != groups.top(GROUND):
            X, Y = pose_rows(old, body, before), pose_rows(new, body, after)
            around = turned(casadi.vec(X[:3, :3].T), Y[:3, :3])
            rows += [Y[:3, 3] - X[:3, 3], around[:3]]
            traces.append(around[3])
    none = casadi.SX(0, 1)
    return casadi.vertcat(none, *rows), casadi.vertcat(none, *traces), casadi.vertcat(before, after)


def _held_alike(one: Joint, other: Joint) -> bool:
    """Return whether two joints that are alike, and cannot move, hold their bodies at the same place."""
    if one.locked_at is None or other.locked_at is None:
        return one.locked_at is other.locked_at
    return bool(np.array_equal(one.locked_at, other.locked_at))


def _same_momentum(old: System, new: System) -> ProgramRows:
    """Return rows of (q, v of old, q, v of new, multipliers) that vanish where velocities are those after the impact of
    what the new system holds."""
    import casadi

    q, v = (casadi.SX.sym(name, size) for name, size in (("q", old.nq), ("v", old.nv)))
    later, faster = (casadi.SX.sym(name, size) for name, size in (("later", new.nq), ("faster", new.nv)))
    J = constraint_rows(new, later)
    held = casadi.SX.sym("held", J.shape[0])
    rows = -casadi.mtimes(J.T, held)
    for name, M in zip(new.mechanism.bodies, body_inertias(new.mechanism), strict=True):
        if name != GROUND and M.any():
            twist = twist_rows(new, name, later, faster)
            jump = casadi.mtimes(casadi.DM(M), twist - twist_rows(old, name, q, v))
            rows += casadi.mtimes(casadi.jacobian(twist, faster).T, jump)
    rotors = rotor_inertias(new.plan)
    for name in new.joints:
        at = _places(new.slice_v(name))
        if rotors[at].any():
            turned_before = v[_places(old.slice_v(name))] if _is_carried(old, new, name) else 0.0
            rows[at] += casadi.DM(rotors[at]) * (faster[at] - turned_before)
    return ProgramRows.of(rows, casadi.vertcat(q, v, later, faster, held), casadi.SX.sym("none", 0))


def _require_joinable(old: System, new: System) -> None:
    """Raise an error where the impact between two systems is not one of rigid bodies and of rotors that were turned by
    the same joints before."""
    require_same_bodies(old.mechanism, new.mechanism)
    for system in (old, new):
        flexible = [name for name, body in system.mechanism.bodies.items() if body.flexible is not None]
        if flexible:
            raise StateError(
                f"plan_motions: {flexible[0]!r} is flexible, and phases are joined for rigid bodies only; plan phases "
                "one by one, with transfer in between."
            )
    for name, joint in new.mechanism.joints.items():
        was = old.mechanism.joints.get(name)
        stood = was is not None and was.dof == 0 and name in new.joints
        if joint.armature is not None and joint.dof and not (_is_carried(old, new, name) or stood):
            raise StateError(
                f"plan_motions: joint {name!r} has a rotor, and is not in the trees of both systems; leave out its "
                "armature, or keep it in the tree, m.system(keep=[...])."
            )


def _is_carried(old: System, new: System, name: str) -> bool:
    """Return whether a joint is the same in the trees of both systems."""
    one, other = old.mechanism.joints.get(name), new.mechanism.joints.get(name)
    if one is None or other is None or name not in old.joints or name not in new.joints:
        return False
    return alike(one, other)


class PhaseChange:
    """The change from the system of a task, of which everything is asked already, to a `new` one."""

    def __init__(self, task: MotionTask, new: System) -> None:
        _require_joinable(task.system, new)
        self.task, self.old, self.new = task, task.system, new
        self._rows, self._traces, self._variables = _same_places(self.old, new)
        self._places = self._formula(self._rows)

    def _formula(self, rows: Any) -> ProgramRows:
        import casadi

        return ProgramRows.of(rows, self._variables, casadi.SX.sym("none", 0))

    def meet(self, near: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return positions (nq,) of both systems at which the structure can change: all bodies are at the same place,
        loops of both are closed, and what is asked of the end of the task is met. They are looked for from where the
        task begins, or from a configuration `near` of the new system."""
        from scipy.optimize import least_squares

        old, new, program, last = self.old, self.new, self.task.program, self.task.q[:, -1]
        begin = self.task.q0 if near is None else _carried(new, near, old)
        z = np.concatenate([begin, _carried(old, begin, new) if near is None else near])
        low, high = np.full(len(z), -np.inf), np.full(len(z), np.inf)
        low[: old.nq], high[: old.nq] = program.low[last], program.high[last]
        free = low < high
        room = WITHIN * np.where(np.isfinite(high - low), high - low, 0.0)
        z = np.clip(np.clip(z, low, high), low + room, high - room)

        def placed(own: np.ndarray) -> np.ndarray:
            whole = z.copy()
            whole[free] = own
            return whole

        found = least_squares(
            lambda own: self._missed(placed(own))[0], z[free], lambda own: self._missed(placed(own))[1][:, free],
            (low[free], high[free]), xtol=1e-15, ftol=1e-15, gtol=1e-15,
        )  # fmt: skip
        off = float(np.abs(found.fun).max(initial=0.0))
        around = _values(self._formula(self._traces).value, placed(found.x), np.zeros(0))
        if off > FITS or (around < 1.0).any():
            raise StateError(
                f"plan_motions: no place was found at which {old.mechanism.name!r} can become {new.mechanism.name!r} "
                f"(bodies or goals are off by {off:.2g}): attach joints where bodies can get, or say where to look, "
                "MotionPhase(..., near=q)."
            )
        return placed(found.x)[: old.nq], placed(found.x)[old.nq :]

    def _missed(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return by how much a place (q of both systems) is missed, and the slopes of that."""
        none = np.zeros(0)
        value, slope = self._opening(z[self.old.nq :])
        values, slopes = (
            [_values(self._places.value, z, none), value],
            [_values(self._places.jacobian, z, none), slope],
        )
        last, own = self.task.q[:, -1], z[: self.old.nq]
        values.append(
            np.array([own[at : at + 4] @ own[at : at + 4] - 1.0 for _, at in self.old.plan.quaternions])
        )
        slopes.append(self._lengths(own))
        for condition in self.task.program.within(last):
            value, slope = _missed(condition, last, own)
            values.append(value)
            slopes.append(np.hstack([slope, np.zeros((len(slope), self.new.nq))]))
        return np.concatenate([x.ravel() for x in values]), np.vstack(slopes)

    def _lengths(self, q: np.ndarray) -> np.ndarray:
        """Return the slopes of the squared lengths of the old system's quaternions by positions of both systems."""
        found = np.zeros((len(self.old.plan.quaternions), self.old.nq + self.new.nq))
        for row, (_, at) in zip(found, self.old.plan.quaternions, strict=True):
            row[at : at + 4] = 2.0 * q[at : at + 4]
        return found

    def _opening(self, later: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far loops of the new system are open, and the slopes of that by positions of both systems."""
        made = formula(self.new, "opening")
        near = np.zeros(made.value.size1_in(1))
        slope = _values(made.jacobian, later, near)
        return _values(made.value, later, near), np.hstack([np.zeros((len(slope), self.old.nq)), slope])

    def _independent(self, q: np.ndarray, later: np.ndarray) -> list[int]:
        """Return which of the rows of places are independent of each other, of the loops of the new system and of what
        is asked of the end of the task, at positions where all of them are met."""
        program, last = self.task.program, self.task.q[:, -1]
        held = [self._opening(later)[1], self._lengths(q)]
        for condition in program.within(last):
            slope = _slopes(condition, last, q)[condition.low == condition.high]
            held.append(np.hstack([slope, np.zeros((len(slope), len(later)))]))
        rows = _values(self._places.jacobian, np.concatenate([q, later]), np.zeros(0))
        # What is fixed is no variable of the search.
        fixed = np.flatnonzero(program.low[last] == program.high[last])
        basis, kept = np.zeros((0, rows.shape[1])), []
        for k, row in [(-1, x) for some in held for x in some] + list(enumerate(rows)):
            left = row.copy()
            left[fixed] = 0.0
            for _ in range(2):
                left -= basis.T @ (basis @ left)
            size = float(np.linalg.norm(left))
            if size > INDEPENDENT * max(float(np.linalg.norm(row)), 1.0):
                basis = np.vstack([basis, left / size])
                kept += [k] if k >= 0 else []
        return kept

    @cached_property
    def _momentum(self) -> ProgramRows:
        return _same_momentum(self.old, self.new)

    @property
    def multipliers(self) -> int:
        """Return how many multipliers the impact has; the task of the new system has been made."""
        known = self.old.nq + self.old.nv + self.new.nq + self.new.nv
        return int(self._momentum.value.size1_in(0)) - known

    def ask(
        self, program: NonlinearProgram, following: MotionTask, at: tuple[int, int, int], q: np.ndarray,
        later: np.ndarray,
    ) -> None:  # fmt: skip
        """Ask a program for the change: `at` are the first variables of both tasks and of the multipliers in it, q and
        later positions (nq,) at which everything is met."""
        task, (first, second, third) = self.task, at
        before, after = first + task.q[:, -1], second + following.q[:, 0]
        kept = self._independent(q, later)
        for rows, low, high, weight in (
            (self._rows[kept], 0.0, 0.0, REQUIRED_WEIGHT),
            (self._traces, 1.0, np.inf, 1.0),
        ):
            if rows.shape[0]:
                program.ask(
                    self._formula(rows), np.concatenate([before, after])[:, None], np.zeros((0, 1)), low, high,
                    ["bodies stay where they are"] * rows.shape[0], weight,
                )  # fmt: skip
        where = np.concatenate([
            before, first + task.v[:, -1], after, second + following.v[:, 0],
            third + np.arange(self.multipliers),
        ])  # fmt: skip
        program.ask(
            self._momentum,
            where[:, None],
            np.zeros((0, 1)),
            0.0,
            0.0,
            ["momentum is kept"] * self.new.nv,
            REQUIRED_WEIGHT,
        )


def _carried(old: System, q: np.ndarray, new: System) -> np.ndarray:
    """Return coordinates (nq,) of a system whose bodies are about where those of another are at q."""
    rest = np.zeros((1, old.nv))
    return carry(bodies_of(old, q[None], rest), old, q[None], rest, new).q[0]


def _missed(condition: Condition, places: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much conditions on variables at some places are missed, and the slopes of that by them."""
    x = _spread(condition, places, q)
    value = np.asarray(condition.copies.formula.value(x, condition.copies.data)).ravel(order="F")
    beyond = np.minimum(value - condition.low, 0.0) + np.maximum(value - condition.high, 0.0)
    return beyond, _slopes(condition, places, q) * (beyond != 0.0)[:, None]


def _slopes(condition: Condition, places: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the slopes (rows, places) of conditions by variables at some places."""
    copies = condition.copies
    number = {int(at): k for k, at in enumerate(places)}
    found = []
    for where, data in zip(copies.where.T, copies.data.T, strict=True):
        own = [number[int(at)] for at in where]
        slope = np.zeros((copies.shape[0], len(places)))
        slope[:, own] = np.asarray(copies.formula.jacobian(q[own], data))
        found.append(slope)
    return np.vstack(found)


def _spread(condition: Condition, places: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the variables (n, copies) that conditions look at."""
    number = {int(at): k for k, at in enumerate(places)}
    own = np.array([[number[int(at)] for at in row] for row in condition.copies.where])
    found: np.ndarray = q[own]
    return found


def _values(function: Any, z: np.ndarray, data: Any) -> np.ndarray:
    """Return what a function of the variables and data of rows gives."""
    return np.asarray(function(z, np.asarray(data, dtype=float)))


def _places(at: slice) -> list[int]:
    return list(range(at.start, at.stop))
