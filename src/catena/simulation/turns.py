"""Whole turns of joints that close loops, from what a run knows of them: their angles come from where bodies are, which
tells them up to whole turns, and their velocities say how far they turned in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.system import System

if TYPE_CHECKING:
    from catena.simulation.excitation import Excitation


class Count:
    """Counts the turns of loop joints in a step that Python takes: from the positions `near` (states, n) at the time t0
    of states q (states, nq), v (states, nv), joint after joint of what the excitation counts."""

    def __init__(
        self, excitation: Excitation, near: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> None:
        self.excitation, self.near, self.t = excitation, near, t
        self.rate = excitation.near_rates(q, v)

    def at(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the positions (states, n) at other times t (states,) and states not far away, by the mean rates."""
        excitation = self.excitation
        rate = excitation.near_rates(q, v)
        ahead = self.near + 0.5 * (t - self.t)[:, None] * (self.rate + rate)
        return excitation.near_at(q, excitation.near_by_joint(ahead))


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
    x0, x1, v0, v1 = position[..., k, :], position[..., k + 1, :], h * rate[..., k, :], h * rate[..., k + 1, :]
    rise = s * s * (3.0 - 2.0 * s)
    near = x0 + rise * (x1 - x0) + s * (1.0 - s) * ((1.0 - s) * v0 - s * v1)
    return system.joint_position(q_then, joint, near)
