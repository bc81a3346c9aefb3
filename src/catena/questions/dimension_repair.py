"""The smallest change of dimensions that closes loops which cannot be closed.

Every joint on a loop at fault is loosened: a body without mass takes its place on its parent, and a free joint leads
there. With tree coordinates q and the displacements d of these free joints, the change is

    minimise  sum_g |d_g|^(1/2)    such that    Phi*(q, d) = 0,

where g runs over the translations and the rotations (times the length of the mechanism) of all loosened joints. Such
sums are smallest where few terms differ from zero, and those little, so that the change names the dimensions at fault.
It is found by sequential quadratic programming in which each term becomes a square over what it was before
(iteratively reweighted least squares; Daubechies et al., 2010, with their shrinking floor under |d_g|).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from catena.joints import Free
from catena.kernels.evaluation import Evaluator
from catena.kinematics import integrate
from catena.kinematics.extent import characteristic_length
from catena.kinematics.loops.coupling_states import constraint_states
from catena.kinematics.loops.scales import CLOSED, scaled_rows
from catena.mechanism import Mechanism
from catena.mechanism.changes import with_joint_replaced
from catena.spatial import Pose
from catena.structure import Plan, plan

MOST = 60
"""How many joints are loosened at most; the search takes the third power of that."""
ITERATIONS = 120
PENALTY = 10.0
"""What a radian of an open loop, or a length of the mechanism, counts against as much of displacement."""
EASIEST, HARDEST = 1e-4, 1e6
"""What a radian of a joint costs against as much of displacement: little, so that joints move first, unless a step
that was to be long gained nothing, as happens next to dead points."""
DEARER = 0.02
"""By how much each dimension costs more than the one before, so that of several that would do the same one is named."""
FARTHEST = 0.3
"""A step turns nothing by more than this [rad], and moves nothing by more than this part of the length."""
LEAST, NOTHING = 1e-8, 1e-6
"""The floor under displacements in the end, and below what part of the length they are none."""


def smallest_repair(evaluator: Evaluator, faulty: Sequence[str], q: Any) -> Mapping[str, Pose] | None:
    """Return the poses `in_parent` of joints that close the loops in `faulty` near q (nq,), None where none are found.

    The mechanism with these poses, m.with_joint(name, in_parent=...), closes near q.
    """
    mechanism, described = evaluator.mechanism, evaluator.plan
    joints = _on_loops(mechanism, described, faulty)
    if not joints or len(joints) > MOST or described.owner is not None:
        return None
    loosened, free = _loosened(mechanism, joints)
    wide = plan(loosened, cut=described.loops, keep=list(free.values()))
    start = wide.neutral()
    for name in described.joints:
        start[wide.slice_q(name)] = np.asarray(q)[described.slice_q(name)]
    search = _Search(Evaluator(loosened, wide), list(free.values()), characteristic_length(described))
    # Numbers too large for any mechanism overflow, and nothing is found then.
    with np.errstate(over="ignore", invalid="ignore"):
        at = search.run(start)
    if at is None:
        return None
    moved = {name: search.displacement(at, joint) for name, joint in free.items()}
    kept = {name: pose for name, pose in moved.items() if pose is not None}
    return {name: mechanism.joints[name].in_parent * pose for name, pose in kept.items()}


def in_words(mechanism: Mechanism, repair: Mapping[str, Pose]) -> str:
    """Return how far, and where to, joints are moved."""
    moved = []
    for name, pose in repair.items():
        joint = mechanism.joints[name]
        step = joint.in_parent.inverse() * pose
        moves = []
        if np.linalg.norm(step.p) > 0.0:
            way = ", ".join(f"{x:.4g}" for x in joint.in_parent.R @ step.p)
            moves.append(f"by ({way}) m")
        angle = 2.0 * float(np.arctan2(np.linalg.norm(step.quat[1:]), abs(step.quat[0])))
        if angle > NOTHING:
            moves.append(f"by {angle:.4g} rad")
        moved.append(f"joint {name!r} {' and '.join(moves)} on {joint.parent!r}")
    return "; ".join(moved)


def _on_loops(mechanism: Mechanism, plan: Plan, faulty: Sequence[str]) -> list[str]:
    """Return the joints of the loops at fault: those that close them, and those of the tree on the ways between their
    ends."""
    found: dict[str, None] = {}
    for loop in plan.loop_joints:
        if loop.name not in faulty:
            continue
        found[loop.name] = None
        ways = []
        for node in (loop.parent_node, loop.child_node):
            way = []
            while node > 0:
                way.append(int(node))
                node = int(plan.parent[node])
            ways.append(way)
        found |= {plan.joint[i]: None for i in sorted({*ways[0]} ^ {*ways[1]})}
    return [name for name in found if name in mechanism.joints]


def _loosened(mechanism: Mechanism, joints: Sequence[str]) -> tuple[Mechanism, dict[str, str]]:
    """Return the mechanism with a free joint under each of some joints, and the names of the free joints by those."""
    changed = mechanism.without_forces()
    free: dict[str, str] = {}
    for name in joints:
        joint = changed.joints[name]
        body, extra = f"{name} loosened", f"{name} loosens"
        while body in changed.bodies or body in changed.frames or extra in changed.joints:
            body, extra = body + "'", extra + "'"
        changed.add_body(body)
        changed.add_joint(extra, joint.parent, body, Free(), in_parent=joint.in_parent, actuated=False)
        changed = with_joint_replaced(changed, replace(joint, parent=body, in_parent=Pose()))
        free[name] = extra
    return changed, free


class _Search:
    """The equations of the loosened mechanism, and the steps that solve them with small displacements."""

    def __init__(self, evaluator: Evaluator, free: Sequence[str], length: float) -> None:
        self.evaluator, self.plan, self.length = evaluator, evaluator.plan, length
        self.columns = np.concatenate([np.arange(self.plan.nv)[self.plan.slice_v(name)] for name in free])
        self.places = [self.plan.slice_q(name) for name in free]
        # A radian of a dimension counts as much as the length of the mechanism.
        self.units = np.tile(np.r_[np.full(3, length), np.ones(3)], len(free))
        self.prices = np.repeat(1.0 + DEARER * np.arange(len(free)), 2)
        self.kind = Free()

    def run(self, q: np.ndarray) -> np.ndarray | None:
        """Return the configuration (nq,) of the smallest change, None where the steps do not end in one."""
        floor, stiff = 0.1 * self.length, 1.0
        e, J = self._equations(q)
        if not (np.isfinite(e).all() and np.isfinite(J).all()):
            return None
        for _ in range(ITERATIONS):
            d = self._displacements(q)
            step = self._step(e, J, d, self._smoothed(d, floor), stiff)
            trial = self._moved(q, step)
            e_trial, J_trial = self._equations(trial)
            gained = self._merit(q, e, floor) - self._merit(trial, e_trial, floor)
            if gained > 0.0:
                q, e, J = trial, e_trial, J_trial
                stiff = max(0.3 * stiff, EASIEST)
                if floor <= 1.5 * LEAST * self.length and gained < NOTHING * self.length:
                    break
                floor = max(0.7 * floor, LEAST * self.length)
            elif stiff >= HARDEST:
                break
            else:
                stiff *= 8.0
        return self._closed_by_few(q)

    def _moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return q (+) step."""
        return self.evaluator.evaluate(integrate, {"q": q, "qd": step})["q_next"]

    def _closed_by_few(self, q: np.ndarray) -> np.ndarray | None:
        """Return the loops closed to rounding by the displacements that differ from zero, all others being none."""
        sizes = np.linalg.norm(self._displacements(q).reshape(-1, 3), axis=1)
        few = np.repeat(sizes > NOTHING * self.length, 3)
        q = q.copy()
        for place, (turns, _, _, slides, _, _) in zip(self.places, few.reshape(-1, 6), strict=True):
            q[place] = np.r_[
                q[place][:3] if slides else np.zeros(3), q[place][3:] if turns else (1.0, 0.0, 0.0, 0.0)
            ]
        for _ in range(12):
            e, J = self._equations(q)
            worst = float(np.abs(e).max(initial=0.0))
            if worst <= CLOSED or not np.isfinite(worst):
                return q if worst <= CLOSED else None
            costs = np.where(few, self.length, 1e-20 * self.length)
            q = self._moved(q, self._step(e, J, np.zeros(len(costs)), costs, 1.0))
        return None

    def _smoothed(self, d: np.ndarray, floor: float) -> np.ndarray:
        """By what the square of each displacement is divided (6 k,), so that its slope is that of the square root."""
        sizes = np.hypot(np.linalg.norm(d.reshape(-1, 3), axis=1), floor)
        return np.repeat(sizes**1.5 / np.sqrt(self.length) / self.prices, 3)

    def _merit(self, q: np.ndarray, e: np.ndarray, floor: float) -> float:
        """Return what steps have to lower: the displacements, and by how much loops are open."""
        sizes = np.hypot(np.linalg.norm(self._displacements(q).reshape(-1, 3), axis=1), floor)
        roots = np.sqrt(sizes * self.length)
        return float(self.prices @ roots) + PENALTY * self.length * float(np.linalg.norm(e))

    def displacement(self, q: np.ndarray, joint: str) -> Pose | None:
        """Return how a loosened joint is moved, None for one that stays."""
        at = q[self.plan.slice_q(joint)]
        d = np.asarray(self.kind.difference(self.kind.neutral(), at), dtype=np.float64)
        if not np.any(np.abs(d) > NOTHING * np.r_[np.ones(3), np.full(3, self.length)]):
            return None
        return Pose(p=at[:3], quat=at[3:])

    def _equations(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scaled errors (m,) of all constraints and their Jacobian (m, nv)."""
        states = constraint_states(self.evaluator, q)
        rows = [scaled_rows(state.Phi.T, self.length) for state in states]
        e = [D @ state.error for D, state in zip(rows, states, strict=True)]
        J = [D @ state.J_rel for D, state in zip(rows, states, strict=True)]
        return np.concatenate(e), np.concatenate(J)

    def _displacements(self, q: np.ndarray) -> np.ndarray:
        """Return the rotations, times the length, and translations [m] (6 k,) of the loosened joints."""
        neutral = self.kind.neutral()
        found = [
            np.asarray(self.kind.difference(neutral, q[place]), dtype=np.float64) for place in self.places
        ]
        return np.concatenate(found) * self.units

    def _step(
        self, e: np.ndarray, J: np.ndarray, d: np.ndarray, costs: np.ndarray, stiff: float
    ) -> np.ndarray:
        """Return the step (nv,) to where the linear equations hold and sum(d^2 / costs) is least together with what the
        joints cost that move, cut where it leads too far."""
        scale = np.full(J.shape[1], 1.0 / np.sqrt(stiff * self.length))
        scale[self.columns] = np.sqrt(costs) / self.units
        offset = np.zeros(J.shape[1])
        offset[self.columns] = d / self.units
        U, s, Vt = np.linalg.svd(J * scale, full_matrices=False)
        kept = s > 1e-10 * s.max(initial=0.0)
        y = Vt[kept].T @ (U[:, kept].T @ (J @ offset - e) / s[kept])
        step = scale * y - offset
        far = np.abs(step)
        far[self.columns] *= self.units / self.length
        most = float(far.max(initial=0.0))
        return step * min(1.0, FARTHEST / (most or FARTHEST))
