"""What is asked of a motion besides that it is one: poses, attitudes and twists of frames, positions of joints, rest
in the end, and limits of momentum and of how far something turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from catena.errors import CatenaError, StateError
from catena.mechanism.naming import selected
from catena.mechanism.validation import known
from catena.planning.formulas import formula, loop_places
from catena.planning.task import MotionTask, numbers
from catena.spatial import Pose, is_one_pose
from catena.structure import Plan
from catena.thresholds import LIMIT_SLACK
from catena.validation import is_positive, shown

# Seconds by which times may differ that are the same but for rounding.
SAME_TIME = 1e-9


def keep_attitude(task: MotionTask, most: Any) -> None:
    """Keep frames within angles of where they begin: each floating base, or those that are named."""
    plan = task.system.plan
    if not task.has_start and is_positive(most):
        joints = task.system.mechanism.joints
        most = {joints[plan.joint[i]].child: most for i in _bases(plan) if plan.joint[i] in joints} or most
    if isinstance(most, Mapping):
        for frame, angle in most.items():
            known("body or frame", frame, task.system.plan.body_pose, "plan_motion")
            if not is_positive(angle):
                raise StateError(f"plan_motion: attitude is {shown(most)}; give positive angles.")
            first, q = task.origin
            begins = first.pose(q, frame)
            assert isinstance(begins, Pose)
            # The trace of the relative rotation is 1 + 2 cos of its angle.
            least = 1.0 + 2.0 * np.cos(min(float(angle), np.pi))
            wanted = np.tile(np.ravel(begins.R)[:, None], len(task.t) - task.first)
            task.program.ask(
                formula(task.system, "axes", frame), task.q[:, task.first :], wanted, [[-np.inf]] * 3 + [[least]],
                np.inf, [f"{frame} keeps its attitude"] * 4,
            )  # fmt: skip
        return
    if not is_positive(most):
        raise StateError(f"plan_motion: attitude is {shown(most)}; give a positive angle.")
    floating = _bases(plan)
    if not floating:
        raise StateError(
            f"plan_motion: {task.system.mechanism.name!r} has no floating base whose attitude could be kept; leave "
            "attitude out, name a frame, attitude={'bus': 0.1}, or give limits to its joints."
        )
    for i in floating:
        at = plan.q_of(i)
        if plan.joint_kind(i).plane_normal is not None:
            turn, begins = task.q[at.stop - 1, 1:], task.q0[at.stop - 1]
            task.program.low[turn] = np.maximum(task.program.low[turn], begins - float(most))
            task.program.high[turn] = np.minimum(task.program.high[turn], begins + float(most))
            continue
        own = list(range(at.start + 3, at.stop))
        # The scalar part of the relative quaternion is the cosine of half the angle.
        task.program.ask(
            formula(task.system, "along"), task.q[own, 1:], task.q0[own, None], np.cos(min(float(most), np.pi) / 2.0),
            np.inf, ["the base keeps its attitude"],
        )  # fmt: skip


def keep_momentum(task: MotionTask, most: Any) -> None:
    """Keep the momentum of all that moves within sizes, [angular; linear], infinite where any will do."""
    size = numbers("momentum", most, 6, finite=False)
    if np.isnan(size).any() or np.any(size < 0.0):
        raise StateError(f"plan_motion: momentum is {shown(most)}; give 6 sizes, infinite where any will do.")
    bounded = np.flatnonzero(np.isfinite(size))
    if len(bounded):
        where = np.vstack([task.q, task.v])[:, task.first :]
        task.program.ask(
            formula(task.system, "momentum"), where, np.zeros((0, where.shape[1])), -size[:, None], size[:, None],
            ["angular momentum stays within its limits"] * 3 + ["linear momentum stays within its limits"] * 3,
        )  # fmt: skip


def end_at(task: MotionTask, joint: str, position: Any) -> None:
    """Ask for the position of a joint in the end."""
    system = task.system
    if joint in loop_places(system):
        at = loop_places(system)[joint]
        goal = numbers(f"the end of {joint!r}", position, at.stop - at.start)[:, None]
        task.program.ask(
            formula(system, "loop joint", joint), task.q[:, -1:], task.near, goal, goal,
            [f"{joint} in the end"] * len(goal),
        )  # fmt: skip
        return
    at = system.slice_q(joint)
    goal = numbers(f"the end of {joint!r}", position, at.stop - at.start)
    kind = system.plan.kind[system.plan.joint.index(joint)]
    assert kind is not None
    kind.check(goal, joint)
    last = task.q[at, -1]
    if kind.nq != kind.nv:
        X = kind.transform(goal)
        data = np.concatenate([np.ravel(X.R), X.p])
        task.program.ask(
            formula(system, "joint", joint), last[:, None], data[:, None], [[0.0]] * 6 + [[1.0]],
            [[0.0]] * 6 + [[np.inf]], [f"{joint} in the end"] * 7,
        )  # fmt: skip
        return
    if np.any(goal < task.program.low[last] - LIMIT_SLACK) or np.any(
        goal > task.program.high[last] + LIMIT_SLACK
    ):
        raise StateError(
            f"plan_motion: joint {joint!r} is to end at {shown(position)}, outside its limits; let it end within."
        )
    task.program.low[last] = task.program.high[last] = goal


def reach(task: MotionTask, frame: str, goal: Any, attitude: Any, twist: Any) -> None:
    """Ask for the pose or point, the attitude alone, and the twist of a frame in the end."""
    last = len(task.t) - 1
    if goal is not None:
        _at(task, frame, [last], [_goal("reach", goal)], f"{frame} reaches its goal")
    if attitude is not None:
        _turn(task, frame, [last], [_attitude(attitude)], f"{frame} reaches its attitude")
    if twist is None:
        return
    wanted = numbers("reach_twist", twist, 6, finite=False)[:, None]
    if np.isinf(wanted).any():
        raise StateError(f"plan_motion: reach_twist is {shown(twist)}; give finite numbers, or NaN for any.")
    names = [f"{frame} turns as asked for"] * 3 + [f"{frame} moves as asked for"] * 3
    low, high = (np.where(np.isnan(wanted), any_, wanted) for any_ in (-np.inf, np.inf))
    end = np.concatenate([task.q[:, -1], task.v[:, -1]])[:, None]
    task.program.ask(formula(task.system, "twist", frame), end, np.zeros((0, 1)), low, high, names)


def track(task: MotionTask, frame: str, path: Callable[[float], Any] | None, begin: float) -> None:
    """Ask for the pose of a frame at all nodes from a time on."""
    if path is None:
        return
    # Where it begins is not for the plan to choose.
    later = range(task.every, len(task.t), task.every)
    tracked = [k for k in later if task.t[k] >= begin - SAME_TIME]
    goals = [_goal(f"track({task.t[k]:g})", path(float(task.t[k]))) for k in tracked]
    _at(task, frame, tracked, goals, f"{frame} tracks")


def rest(task: MotionTask, who: Any) -> None:
    """Let joints stand still in the end: actuated ones if `who` is True; if it is "all", passive ones too, but for
    floating bases, which momentum alone decides about; or those that are named."""
    system = task.system
    if who is True or who is np.True_:
        still = system.plan.actuated.copy()
    else:
        still = np.zeros(system.nv, dtype=bool)
        for name in (
            _all(task) if isinstance(who, str) and who == "all" else selected("joint", who, system.joints)
        ):
            still[system.slice_v(name)] = True
    if still[task.chosen.components].all():
        # All others stand still then, because loops stay closed; asking for it twice would only confuse the solver.
        still[task.chosen.dependent] = False
    places = task.v[still, -1]
    task.program.low[places] = task.program.high[places] = 0.0


def _all(task: MotionTask) -> list[str]:
    """Return all joints but floating bases without a motor."""
    plan = task.system.plan
    floating = {plan.joint[i] for i in _bases(plan)}
    led = [name for name in task.system.joints if plan.actuated[task.system.slice_v(name)].any()]
    return [name for name in task.system.joints if name in led or name not in floating]


def _bases(plan: Plan) -> list[int]:
    """Return the nodes that float on ground, in space or in a plane."""
    kinds = ((i, plan.joint_kind(i)) for i in range(1, plan.n) if plan.parent[i] == 0)
    return [i for i, kind in kinds if kind.is_floating or kind.plane_normal is not None]


def _at(task: MotionTask, frame: str, nodes: list[int], goals: list[Any], what: str) -> None:
    points = np.array([goal.p if isinstance(goal, Pose) else goal for goal in goals]).T
    none = np.zeros((0, len(nodes)))
    task.program.ask(formula(task.system, "point", frame), task.q[:, nodes], none, points, points, [what] * 3)
    turned = [(k, goal.R) for k, goal in zip(nodes, goals, strict=True) if isinstance(goal, Pose)]
    _turn(task, frame, [k for k, _ in turned], [R for _, R in turned], f"{what} (axes)")


def _turn(task: MotionTask, frame: str, nodes: list[int], wanted: Iterable[np.ndarray], what: str) -> None:
    if nodes:
        axes = np.array([np.ravel(R) for R in wanted]).T
        task.program.ask(
            formula(task.system, "axes", frame), task.q[:, nodes], axes, [[0.0]] * 3 + [[1.0]],
            [[0.0]] * 3 + [[np.inf]], [what] * 4,
        )  # fmt: skip


def _goal(what: str, goal: Any) -> Any:
    return goal if is_one_pose(goal) else numbers(what, goal, 3, "a Pose or ")


def _attitude(attitude: Any) -> np.ndarray:
    """Return the rotation (3, 3) of an attitude: that of a pose, a matrix, or a quaternion (w, x, y, z)."""
    if isinstance(attitude, Pose):
        return np.asarray(attitude.R, dtype=float)
    for said in ("R", "quat"):
        try:
            return np.asarray(Pose(**{said: attitude}).R, dtype=float)
        except (CatenaError, TypeError, ValueError):
            continue
    raise StateError(
        f"plan_motion: reach_attitude is {shown(attitude)}; give a Pose, a rotation matrix (3, 3) or a quaternion (4,)."
    )
