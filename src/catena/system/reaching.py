"""Inverse kinematics: configurations in which frames are where they should be, loops closed and joints within limits.

The rows of the loops and those of the frames make one system, and the search is that of assembly: damped Newton steps
of all states at once, from the guess and then from starts further and further away, always the same ones. Of what is
left open, as by a redundant arm, the guess decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import LoopError, StateError
from catena.given import real_array, shown
from catena.kinematics import frame_pose, jacobian, stacks
from catena.kinematics.assembly import characteristic_length
from catena.kinematics.held import Held
from catena.spatial import Pose
from catena.system import loop_closure
from catena.system.by_name import Given
from catena.system.closed_states import guessed, quick_assembly
from catena.system.evaluation import Evaluator
from catena.system.quick_assembly import QuickAssembly

if TYPE_CHECKING:
    from catena.system.system import System

# How far starts are from the guess [rad or characteristic lengths]: the guess itself first.
STARTS = (0.0, 0.1, 0.3, 0.3, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0)
# Joints may be beyond their limits by this much [rad or m], which is rounding.
SLACK = 1e-9


class Goal:
    """Where a frame should be: a place p (..., 3) in ground, and a rotation R (..., 3, 3) where that is wanted too."""

    def __init__(self, frame: str, given: Any) -> None:
        self.frame = frame
        self.R: np.ndarray | None = None
        if isinstance(given, Pose):
            self.p, self.R = np.asarray(given.p, dtype=np.float64), np.asarray(given.R, dtype=np.float64)
            return
        try:
            x = np.array(real_array(given))
        except ValueError as error:
            raise StateError(f"The goal of {frame!r} is {shown(given)} ({error}); give {WAYS}.") from None
        if x.ndim >= 2 and x.shape[-2:] == (4, 4):
            self.p, self.R = x[..., :3, 3], x[..., :3, :3]
        elif x.ndim >= 1 and x.shape[-1] == 3:
            self.p = x
        else:
            raise StateError(f"The goal of {frame!r} has shape {x.shape}; give {WAYS}.")
        if not np.isfinite(x).all():
            raise StateError(f"The goal of {frame!r} is not finite; give {WAYS}.")

    @property
    def batch(self) -> tuple[int, ...]:
        """Return the batch dimensions."""
        return self.p.shape[:-1]

    def over(self, batch: tuple[int, ...]) -> Goal:
        """Return the goals of all states of a batch, one behind the other."""
        other = Goal(self.frame, np.broadcast_to(self.p, (*batch, 3)).reshape(-1, 3))
        if self.R is not None:
            other.R = np.broadcast_to(self.R, (*batch, 3, 3)).reshape(-1, 3, 3)
        return other

    def some(self, states: np.ndarray) -> Goal:
        """Return the goals of some states."""
        other = Goal(self.frame, self.p[states])
        other.R = None if self.R is None else self.R[states]
        return other


WAYS = "a Pose, matrices (..., 4, 4), or points (..., 3)"


class Reaching(QuickAssembly):
    """The loops of a plan and the goals of frames as one system of errors."""

    def __init__(self, evaluator: Evaluator, goals: Sequence[Goal]) -> None:
        super().__init__(evaluator)
        self.goals = goals
        self.length = characteristic_length(self.plan)
        self.has_loops = QuickAssembly.fits(self.plan)

    def errors(
        self, q: np.ndarray, free: np.ndarray, who: Any = slice(None)
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the errors (states, m) of loops and frames in radians and lengths, and their Jacobian."""
        parts_e, parts_J = [np.zeros((len(q), 0))], [np.zeros((len(q), 0, len(free)))]
        if self.has_loops:
            e, J = super().errors(q, free, who)
            parts_e.append(e)
            parts_J.append(J)
        for goal in self.now:
            rows = {"q": np.ascontiguousarray(q)}
            found = self.evaluator.program(frame_pose, frozenset(), goal.frame).run(rows, len(q))[1][
                "pose_of_frame"
            ]
            J = self.evaluator.program(jacobian, frozenset(), goal.frame).run(rows, len(q))[1]["J"][..., free]
            # The transform from ground to the frame: R^T as its rotation, the place as its origin.
            turn, p = stacks.transposed(found[:, :9].reshape(-1, 3, 3)), found[:, 9:]
            parts_e.append((p - goal.p[who]) / self.length)
            parts_J.append(turn @ J[:, 3:] / self.length)
            if goal.R is not None:
                off = stacks.motion_matrices(stacks.transposed(turn) @ goal.R[who], np.zeros_like(p))
                parts_e.append(stacks.logarithm(off)[:, :3])
                parts_J.append(J[:, :3])
        return np.concatenate(parts_e, axis=1), np.concatenate(parts_J, axis=1)

    def _descend_alone(self, *given: Any) -> None:
        """Decline: the shortest way knows no frames."""
        return None

    def reach(
        self, held: Sequence[Held], guess: np.ndarray, limits: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return configurations (states, nq) near the guesses that do what is wanted, and which states do."""
        free = np.ones(self.plan.nv, dtype=bool)
        for h in held:
            free[int(self.plan.v_start[h.node]) + np.flatnonzero(h.mask)] = False
        columns = np.flatnonzero(free)
        best, done = self.put(guess, held), np.zeros(len(guess), dtype=bool)
        least = np.full(len(guess), np.inf)
        rng = np.random.default_rng(0)
        for size in STARTS:
            left = np.flatnonzero(~done)
            if not len(left):
                break
            self.now = [goal.some(left) for goal in self.goals]
            step = np.zeros((len(left), self.plan.nv))
            step[:, columns] = size * self.scales.units[columns] * rng.normal(size=(len(left), len(columns)))
            start = self.moved(self.put(guess[left], [_of(h, left) for h in held]), step)
            q, closed = self._near_turns(start, columns, limits)
            within = np.all((q >= limits[0] - SLACK) & (q <= limits[1] + SLACK), axis=-1)
            good = closed & within
            worst = self._worst(self.errors(q, columns)[0])
            better = good | (worst < least[left])
            best[left[better]], least[left[better]] = q[better], worst[better]
            done[left[good]] = True
        return best, done

    def _near_turns(
        self, start: np.ndarray, free: np.ndarray, limits: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Close from a start, and take whole turns off where that brings joints within their limits."""
        q, closed = self.close(start, free)
        for i in range(1, self.plan.n):
            if self.whole_turns[self.plan.v_start[i]]:
                k = int(self.plan.q_start[i])
                if np.isfinite(limits[:, k]).all():
                    middle = limits[:, k].mean()
                    q[:, k] -= 2.0 * np.pi * np.round((q[:, k] - middle) / (2.0 * np.pi))
        return q, closed

    now: Sequence[Goal] = ()


def _of(h: Held, states: np.ndarray) -> Held:
    return Held(h.name, h.kind, h.node, h.loop, h.value[states], h.mask)


def inverse_kinematics(
    system: System, goals: Mapping[str, Pose | ArrayLike], guess: ArrayLike | Given | None, hold: Given | None
) -> np.ndarray:
    """Return coordinates (..., nq) in which frames or bodies are at their goals, loops closed and joints of the tree
    within their limits."""
    for frame in goals if isinstance(goals, Mapping) else ():
        system._frame(frame)
    if not isinstance(goals, Mapping) or not goals:
        raise StateError(f"goals is {shown(goals)}; give a mapping from frames to poses or points.")
    start = guessed(system, guess)
    system.settle()
    if system.plan.total_constraints:
        quick_assembly(system, "inverse_kinematics")
    joints = system.mechanism.joints
    limits = np.full((2, system.nq), [[-np.inf], [np.inf]])
    for name in system.joints:
        own = joints[name].limits if name in joints else None
        if own is not None and len(own) == len(range(system.nq)[system.slice_q(name)]):
            limits[:, system.slice_q(name)] = own.T
    held = loop_closure.held(system.evaluator, hold)
    return _reached(system.evaluator, goals, held, start, limits)


def _reached(
    evaluator: Evaluator,
    goals: Mapping[str, Any],
    held: Sequence[Held],
    guess: np.ndarray,
    limits: np.ndarray,
) -> np.ndarray:
    """Return configurations (..., nq) in which frames are at their goals; `limits` (2, nq) are those of positions."""
    wanted = [Goal(frame, given) for frame, given in goals.items()]
    for h in held:
        if h.node < 0:
            raise LoopError(
                f"Joint {h.name!r} closes a loop in this plan and cannot be held here: hold another."
            )
    try:
        batch = np.broadcast_shapes(
            guess.shape[:-1], *(g.batch for g in wanted), *(h.value.shape[:-1] for h in held)
        )
    except ValueError:
        shapes = {g.frame: g.batch for g in wanted}
        raise StateError(
            f"The batch dimensions do not fit together: guess {guess.shape[:-1]}, goals {shapes}."
        ) from None
    rows = np.broadcast_to(guess, (*batch, guess.shape[-1])).reshape(prod(batch), guess.shape[-1])
    own = [
        Held(
            h.name,
            h.kind,
            h.node,
            h.loop,
            np.broadcast_to(h.value, (*batch, h.kind.nq)).reshape(-1, h.kind.nq),
            h.mask,
        )
        for h in held
    ]
    search = Reaching(evaluator, [g.over(batch) for g in wanted])
    q, done = search.reach(own, rows.copy(), limits)
    if not done.all():
        raise LoopError(_complaint(evaluator, search, q, done, limits, bool(batch)))
    return q.reshape(*batch, guess.shape[-1])


def _complaint(
    evaluator: Evaluator,
    search: Reaching,
    q: np.ndarray,
    done: np.ndarray,
    limits: np.ndarray,
    is_batch: bool,
) -> str:
    """Return what was not reached, by how much, and what joint is in the way."""
    state = int(np.argmin(done))
    search.now = [goal.some(np.array([state])) for goal in search.goals]
    where = f" in state {state}" if is_batch else ""
    words = []
    for goal in search.now:
        found = evaluator.evaluate(frame_pose, {"q": q[state]}, goal.frame)["pose_of_frame"]
        gap = float(np.linalg.norm(found[9:] - goal.p[0]))
        turn = ""
        if goal.R is not None:
            off = stacks.motion_matrices(found[:9].reshape(3, 3) @ goal.R[0], np.zeros(3))
            turn = f" and {np.linalg.norm(stacks.logarithm(off)[:3]):.3g} rad"
        words.append(f"{goal.frame!r} {gap:.3g} m{turn}")
    beyond = np.maximum(limits[0] - q[state], q[state] - limits[1])
    plan, who = evaluator.plan, ""
    if np.max(beyond) > SLACK:
        k = int(np.argmax(beyond))
        joint = next(plan.joint[i] for i in range(1, plan.n) if 0 <= k - plan.q_start[i] < plan.q_size[i])
        who = (
            f" The nearest configuration found has joint {joint!r} beyond its limit by {np.max(beyond):.3g}."
        )
    return (
        f"No configuration of {plan.name!r} was found{where} that brings its frames where they should be; what is left "
        f"of the nearest: {', '.join(words)}.{who} Give a goal within reach, or a guess nearer to it."
    )
