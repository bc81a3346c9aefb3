"""States between two steps of a run, by shorter steps of its method, so that they are as exact as the motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.simulation.stepping.protocol import Steps

if TYPE_CHECKING:
    from catena.simulation.run import Run

# Where states have no more nodes than this, those before a time are counted for all of them at once.
FEW_NODES = 64


class BetweenSteps:
    """Moves states of a `run` that lie less than a step behind its nodes."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.steps: Steps | None = None

    def moved(
        self, states: np.ndarray, t: np.ndarray, rows: tuple[np.ndarray, ...], times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the states (rows, nq), (rows, nv) and works (rows, sources) at `times` (rows,) less than a step
        behind nodes of the `states` (rows,) of the batch, at the times t, with the `rows` q, v, work and tau, the
        control forces from there on."""
        q, v, work, tau = rows
        if self.steps is None:
            self.steps = self.run.made_steps(alone=True)
        self.steps.begin(len(t), 1.0)
        self.steps.owner[:] = states
        self.steps.resume(times - t, work)
        _, q, v = self.steps.advance(t, q, v, tau.copy(), times, None)
        return q, v, self.steps.works()

    def sampled(
        self, t: np.ndarray, rows: list[np.ndarray], times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return states, works and control forces at times (states, samples), from nodes of each state's own at t
        (states, nodes) with the `rows` q, v, work and tau: by steps of the method from the node before, so that they
        are as exact as the motion."""
        slack = self.run.same
        before = _last_before(t, times + slack)
        t_then = np.take_along_axis(t, before, axis=1)
        then = [np.take_along_axis(x, before[..., None], axis=1) for x in rows]
        q_then, v_then, work_then, tau_then = then
        apart = np.abs(t_then - times) > slack
        if apart.any():
            moved = self.moved(
                np.nonzero(apart)[0], t_then[apart], tuple(x[apart] for x in then), times[apart]
            )
            q_then[apart], v_then[apart], work_then[apart] = moved
        if self.run.held:
            return q_then, v_then, work_then, tau_then
        asked = [
            self.run.acting.command_at(times[:, k], q_then[:, k], v_then[:, k]) for k in range(times.shape[1])
        ]
        return q_then, v_then, work_then, np.stack(asked, axis=1)


def _last_before(t: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the numbers (states, samples) of the last nodes at t (states, nodes), in order, that are not behind times
    (states, samples); the first one where all are."""
    states = len(t)
    if (t == t[:1]).all() and (times == times[:1]).all():
        # Steps of fixed size are the same for all states.
        t, times = t[:1], times[:1]
    if t.shape[1] <= FEW_NODES:
        found = np.count_nonzero(t[:, None] <= times[..., None], axis=-1)
    else:
        found = np.stack(
            [np.searchsorted(own, asked, side="right") for own, asked in zip(t, times, strict=True)]
        )
    before = np.clip(found - 1, 0, t.shape[1] - 1)
    return np.repeat(before, states, axis=0) if len(before) < states else before
