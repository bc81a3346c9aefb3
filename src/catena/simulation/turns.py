"""Whole turns of joints that close loops, from what a run knows of them: their angles come from where bodies are, which
tells them up to whole turns, and their velocities say how far they turned in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.errors import StateError
from catena.joints.contract import counted_on
from catena.mechanism.validation import known
from catena.system import System
from catena.validation import real_array, shown

if TYPE_CHECKING:
    from catena.mechanism import Joint
    from catena.simulation.acting.acting_forces import ActingForces
    from catena.simulation.results.segment import Segment


def near_rows(system: System, near: Mapping[str, Any], batch: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Return the positions (states, nq of the joint) that joints are said to be next to, checked, of those that close
    loops in this plan."""
    if not isinstance(near, Mapping):
        raise StateError(f"near is {shown(near)}; give a mapping from joints to positions.")
    found = {}
    for joint, position in near.items():
        known("joint", joint, (*system.joints, *system.loops), "near")
        if joint not in system.loops:
            continue
        size = system.mechanism.joints[joint].kind.nq
        try:
            wide = np.broadcast_to(np.atleast_1d(real_array(position)), (*batch, size))
        except ValueError as error:
            raise StateError(
                f"near: the position of joint {joint!r} is {shown(position)} ({error}); give {size} numbers."
            ) from error
        if not np.isfinite(wide).all():
            raise StateError(f"near: the position of joint {joint!r} is not finite; give finite numbers.")
        found[joint] = wide.reshape(-1, size)
    return found


class TurnCounter:
    """Counts the turns of loop joints for somebody who is asked from time to time: each time on from the last, by the
    mean velocity since. At first joints are next to the positions `near`, or within half a turn of zero."""

    def __init__(self, near: Mapping[str, Any]) -> None:
        self.near = near
        self.last: dict[str, tuple[float, np.ndarray, np.ndarray]] = {}

    def position(self, system: System, t: float, q: np.ndarray, v: np.ndarray, joint: str) -> np.ndarray:
        """Return the position (..., nq of the joint) of a loop joint at the time t and states q (..., nq), v (...,
        nv)."""
        kind = system.mechanism.joints[joint].kind
        rate = np.asarray(system.joint_velocity(q, v, joint))
        near: Any = self.near.get(joint)
        if joint in self.last and kind.nq == kind.nv:
            before, position, past = self.last[joint]
            near = position + 0.5 * (t - before) * (past + rate)
        found = np.asarray(system.joint_position(q, joint, near))
        self.last[joint] = t, found, rate
        return found


class TurnsAlong:
    """The positions of loop joints with all their turns along one motion, as far as it is known: knots in time, from
    which they are counted on by mean velocities. At first joints are next to the positions `near`."""

    def __init__(self, system: System, joints: Sequence[str], near: Mapping[str, Any]) -> None:
        self.system, self.joints, self.near = system, tuple(joints), near
        self.t = np.zeros(0)
        self.positions: dict[str, np.ndarray] = {}
        self.rates: dict[str, np.ndarray] = {}

    def at(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return the positions (n, nq of the joint) by joint at times t (n,) and states q (n, nq), v (n, nv)."""
        return {joint: self.one(t, q, v, joint) for joint in self.joints}

    def one(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, joint: str) -> np.ndarray:
        """Return the positions (n, nq of the joint) of one joint."""
        near: Any = self.near.get(joint)
        if joint in self.positions:
            k = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 1)
            rate = 0.5 * (self.rates[joint][k] + self.system.joint_velocity(q, v, joint))
            near = self.positions[joint][k] + (t - self.t[k])[:, None] * rate
        return np.asarray(self.system.joint_position(q, joint, near))

    def know(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, positions: Mapping[str, np.ndarray] | None = None
    ) -> None:
        """Take over how the motion went on, times t (n,) and states q (n, nq), v (n, nv), from its first time on; the
        positions (n, nq of the joint) are counted where they are not given."""
        if not self.joints:
            return
        if positions is None or not positions.keys() >= set(self.joints):
            positions = self.at(t, q, v)
        kept = self.t < t[0]
        for joint in self.joints:
            own, rate = self.positions.get(joint), self.rates.get(joint)
            here = np.asarray(self.system.joint_velocity(q, v, joint))
            self.positions[joint] = (
                positions[joint] if own is None else np.concatenate([own[kept], positions[joint]])
            )
            self.rates[joint] = here if rate is None else np.concatenate([rate[kept], here])
        self.t = np.concatenate([self.t[kept], t])


def each_own(
    system: System, states: np.ndarray | None, ask: Callable[..., np.ndarray], *rows: np.ndarray
) -> np.ndarray:
    """Return what `ask(system, *rows)` gives for rows (n, ...), those of each of the `states` (n,) of the system of
    their own: all at once, unless parameters differ from state to state."""
    if states is None or not system.variants.shape:
        return np.asarray(ask(system, *rows))
    found: np.ndarray | None = None
    for state in np.unique(states):
        own = np.flatnonzero(states == state)
        part = np.asarray(ask(system.variants.state(int(state)), *(x[own] for x in rows)))
        if found is None:
            found = np.empty((len(states), *part.shape[1:]))
        found[own] = part
    assert found is not None
    return found


class TurnsBehind:
    """The positions of loop joints with all their turns behind nodes of a motion, one for each row: nodes at times t
    (n,) of the `states` (n,) of a batch, where joints are at `positions` (n, nq of the joint) and move at `rates` (n,
    nv of the joint)."""

    def __init__(
        self,
        t: np.ndarray,
        states: np.ndarray,
        positions: Mapping[str, np.ndarray],
        rates: Mapping[str, np.ndarray],
    ) -> None:
        self.t, self.states, self.positions, self.rates = t, states, positions, rates

    def position(self, system: System, joint: str, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the positions (n, nq of the joint) of a loop joint at times t (n,) and states q (n, nq), v (n, nv),
        counted on from the nodes by mean velocities."""
        if joint not in self.positions:
            return each_own(system, self.states, lambda s, x: s.joint_position(x, joint), q)
        rate = each_own(system, self.states, lambda s, x, y: s.joint_velocity(x, y, joint), q, v)
        near = self.positions[joint] + 0.5 * (t - self.t)[:, None] * (self.rates[joint] + rate)
        return each_own(system, self.states, lambda s, x, y: s.joint_position(x, joint, y), q, near)


class Looked:
    """The loop joints that somebody asks for by name at instants of a motion, and how these have turned: `along` what
    is known of it, or behind the node that was passed last."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.along: TurnsAlong | None = None
        self.turns: TurnsBehind | None = None

    def position(self, system: System, t: float, q: np.ndarray, v: np.ndarray, joint: str) -> np.ndarray:
        """Return the position (nq of the joint,) of a loop joint at the time t and a state q (nq,), v (nv,)."""
        if joint not in self.names:
            self.names.append(joint)
        if self.turns is not None:
            return self.turns.position(system, joint, np.array([t]), q[None], v[None])[0]
        along = self.along
        if along is None or along.system is not system:
            return np.asarray(system.joint_position(q, joint))
        return along.one(np.array([t]), q[None], v[None], joint)[0]


class Wound:
    """The positions (nq of the joint,) of joints with all their turns, by joint, through changes of the structure: what
    was a joint of the tree may close a loop afterwards, and the other way round."""

    def __init__(self, positions: Mapping[str, np.ndarray]) -> None:
        self.positions = {joint: np.asarray(x).reshape(-1) for joint, x in positions.items()}

    def know(self, run: Segment) -> None:
        """Take over where joints are at the end of a run."""
        self.know_loops(run)
        self.know_tree(run.system, run.q[-1])

    def know_loops(self, run: Segment) -> None:
        """Take over where joints that close loops are at the end of a run."""
        self.positions |= {joint: np.array(x[-1]) for joint, x in run.loop_positions.items()}

    def know_tree(self, system: System, q: np.ndarray) -> None:
        """Take over where joints of the tree are at q (nq,)."""
        self.positions |= {
            joint: q[system.slice_q(joint)].copy()
            for joint in system.joints
            if joint in system.mechanism.joints and system.mechanism.joints[joint].kind.wraps
        }

    def over(self, old: System, new: System, q: np.ndarray) -> np.ndarray:
        """Return q (nq,) of a new structure with joints of its tree, which closed loops in the old one, turned to where
        they were. Couplings say themselves where their joints are."""
        tied = {name for coupling in new.mechanism.couplings.values() for name in coupling.joints}
        q = np.array(q)
        for joint, position in list(self.positions.items()):
            before, now = old.mechanism.joints.get(joint), new.mechanism.joints.get(joint)
            if before is None or now is None or not _alike(before, now):
                del self.positions[joint]
            elif joint in old.loops and joint in new.joints and joint not in tied:
                own = new.slice_q(joint)
                for k in now.kind.wraps:
                    q[own.start + k] = counted_on(float(q[own.start + k]), float(position[k]))
        return q


def _alike(one: Joint, other: Joint) -> bool:
    """Return whether two joints move the same bodies in the same way."""
    return (one.parent, one.child, one.kind, one.in_parent, one.in_child) == (
        other.parent, other.child, other.kind, other.in_parent, other.in_child,
    )  # fmt: skip


class Count:
    """Counts the turns of loop joints in a step that Python takes: from the positions `near` (states, n) at the time t0
    of states q (states, nq), v (states, nv), joint after joint of what the acting counts."""

    def __init__(
        self, acting: ActingForces, near: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> None:
        self.acting, self.near, self.t = acting, near, t
        self.rate = acting.near_rates(q, v)

    def at(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the positions (states, n) at other times t (states,) and states not far away, by the mean rates."""
        acting = self.acting
        rate = acting.near_rates(q, v)
        ahead = self.near + 0.5 * (t - self.t)[:, None] * (self.rate + rate)
        return acting.near_at(q, acting.near_by_joint(ahead))


def counted(system: System, t: np.ndarray, q: np.ndarray, v: np.ndarray, joint: str) -> np.ndarray:
    """Return the positions (..., samples, nq of the joint) of a loop joint at times t (samples,) and states q (...,
    samples, nq), v (..., samples, nv), counted on from sample to sample by the mean velocity between them; the first is
    within half a turn of zero."""
    position = np.array(system.joint_position(q, joint))
    wraps = list(system.mechanism.joints[joint].kind.wraps)
    if not wraps or len(t) == 1:
        return position
    rate = system.joint_velocity(q, v, joint)
    moved = 0.5 * np.diff(t)[:, None] * (rate[..., 1:, wraps] + rate[..., :-1, wraps])
    near = position[..., :1, :] + np.zeros_like(position)
    # What differs from the mean velocity's way by less than half a turn is counted right, all samples at once.
    steps = np.diff(position[..., wraps], axis=-2)
    off = moved - steps
    near[..., 1:, wraps] += np.cumsum(steps + 2.0 * np.pi * np.round(off / (2.0 * np.pi)), axis=-2)
    return system.joint_position(q, joint, near)


def between(
    system: System, t: np.ndarray, q: np.ndarray, v: np.ndarray, joint: str, position: np.ndarray,
    times: np.ndarray, q_then: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the positions (..., times, nq of the joint) of a loop joint at times between the samples t, where the tree
    is at q_then (..., times, nq), from its positions at the samples: cubics say which they are next to."""
    if len(t) == 1:
        return system.joint_position(q_then, joint, np.repeat(position, len(times), axis=-2))
    kind = system.mechanism.joints[joint].kind
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    if kind.nq != kind.nv:
        return system.joint_position(q_then, joint, position[..., k, :])
    rate = system.joint_velocity(q, v, joint)
    h = (t[k + 1] - t[k])[:, None]
    s = (times[:, None] - t[k][:, None]) / h
    x0, x1, v0, v1 = (
        position[..., k, :],
        position[..., k + 1, :],
        h * rate[..., k, :],
        h * rate[..., k + 1, :],
    )
    rise = s * s * (3.0 - 2.0 * s)
    near = x0 + rise * (x1 - x0) + s * (1.0 - s) * ((1.0 - s) * v0 - s * v1)
    return system.joint_position(q_then, joint, near)
