"""Motions next to that of a run: how small changes of steps x and velocities w go on beside it.

    x' = T x + w,      w' = (vdot by q) x + (vdot by v) w + (vdot by tau) dtau + (vdot by p) dp

with everything that acts in the run. Actuators give what they can of tau: beyond a limit a change of tau changes
nothing, and where limits shrink with the speed, w changes what they give. Wrenches that depend on the state add what
they do through the joints. Joints whose motion is prescribed do not change: their drives give whatever that takes.
Loops stay closed, J x = -dc/dp and J w = -(dJv/dq) x - dJv/dp, where a change of dimensions opens them by dc/dp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.dynamics.loops.formulations.minimal import partition
from catena.dynamics.loops.motion_problem import motion_problem
from catena.questions.actuator_limits import ActuatorLimits
from catena.questions.linearisation import step_rates
from catena.questions.response import Response
from catena.simulation.acting import loads
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.results.trajectory import Trajectory
from catena.system.opened_loops import opened_loops
from catena.system.wrenches import on_nodes

# Singular values of the constraints below this part of the largest are redundant.
REDUNDANT = 1e-9
# The increment of difference quotients of wrenches [rad, m, rad/s, m/s].
INCREMENT = 1e-5


@dataclass(frozen=True, eq=False)
class StartVariation:
    """How a start may change: `free` (2 nv, 2 d) takes changes [steps; velocities] of the `independent` (d,) components
    to those of all, and `forced` {name: (2 nv, entries)} are the changes that parameters ask for while those are
    held."""

    independent: np.ndarray
    free: np.ndarray
    forced: dict[str, np.ndarray]


class NeighbouringMotion:
    """The linear equations beside a `run` of one state, in which constant joint forces `tau` (nv,) and what the
    `acting` holds act, for changes of parameters with these `names`."""

    def __init__(self, run: Trajectory, acting: ActingForces, tau: np.ndarray, names: Sequence[str]) -> None:
        self.run, self.system, self.acting = run, run.system, acting
        self.tau, self.names, self.driven = tau, list(names), acting.driven
        self.limits = ActuatorLimits.of(self.system.mechanism, self.system.plan)

    def rates(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return A (n, 2 nv, 2 nv) and B (n, 2 nv, k) at times (n,), for changes of tau and of all parameters, one
        behind the other."""
        q, v = self.run.at(times)
        found, turned = self._response(times, q, v)
        nv, n = self.system.nv, len(times)
        by_q, by_v = found.by_q + found.by_tau @ turned[0], found.by_v + found.by_tau @ turned[1]
        share, shrinking = self.limits.slopes(np.broadcast_to(self.tau, v.shape), v)
        by_v = by_v + found.by_tau * shrinking[:, None, :]
        inputs = [found.by_tau * share[:, None, :], *(found.by_parameter[name] for name in self.names)]
        rows = np.concatenate([by_q, by_v, *inputs], axis=-1)
        if len(self.driven):
            # Forces of the drives change so that the accelerations of their joints do not.
            across = found.by_tau[:, :, self.driven]
            rows = (
                rows - across @ np.linalg.pinv(across[:, self.driven], rcond=REDUNDANT) @ rows[:, self.driven]
            )
            rows[:, self.driven] = 0.0
            # Nor does a force beside that of a drive change anything.
            rows[:, :, 2 * nv + self.driven] = 0.0
        A, B = np.zeros((n, 2 * nv, 2 * nv)), np.zeros((n, 2 * nv, rows.shape[2] - 2 * nv))
        if self.system.nq != nv:
            for k in range(n):
                A[k, :nv, :nv] = step_rates(self.system.plan, q[k], v[k])
        A[:, :nv, nv:] = np.eye(nv)
        A[:, self.driven] = 0.0
        A[:, nv:], B[:, nv:] = rows[..., : 2 * nv], rows[..., 2 * nv :]
        return A, B

    def closing(self, times: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]] | None:
        """Return the projections (n, 2 nv, 2 nv) on changes that keep loops closed and driven joints where they are,
        and what parameters add to that, {name: (n, 2 nv, entries)}, at times (n,); None where nothing is bound.
        Without them the errors of the method grow where the motion passes a singular configuration."""
        q, v = self.run.at(times)
        C, opened = self._bound(times, q, v)
        if not C.shape[1]:
            return None
        inverse = np.linalg.pinv(C, rcond=REDUNDANT)
        return np.eye(C.shape[2]) - inverse @ C, {name: -inverse @ x for name, x in opened.items()}

    def _bound(
        self, times: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return C (n, rows, 2 nv) and {name: (n, rows, entries)} of all that binds changes z, C z + opened dp = 0."""
        found, _ = self._response(times, q, v)
        nv, n, m = self.system.nv, len(times), found.J.shape[1]
        still = np.broadcast_to(
            np.eye(2 * nv)[[*self.driven, *(self.driven + nv)]], (n, 2 * len(self.driven), 2 * nv)
        )
        C = np.block([[found.J, np.zeros_like(found.J)], [found.opening, found.J]])
        opened = opened_loops(self.system, q, v, self.names) if m else {}
        none = {p: found.by_parameter[p].shape[2] for p in self.names}
        return np.concatenate([C, still], axis=1), {
            p: np.concatenate([*(opened[p] if m else ()), np.zeros((n, still.shape[1], none[p]))], axis=1)
            for p in self.names
        }

    def beginning(self) -> StartVariation:
        """Return how the start of the run may change."""
        q, v, nv = self.run.q[:1], self.run.v[:1], self.system.nv
        C, opened = self._bound(np.zeros(1), q, v)
        problem = motion_problem(self.system.mechanics.evaluator, q)
        unit = 1.0 / np.linalg.norm(problem.equations[0][0], axis=-1)
        m, d = len(problem.scale[0]), len(self.driven)
        # Velocities are bound as steps are, besides what steps add.
        of_steps, of_rates = (
            [*range(m), *range(2 * m, 2 * m + d)],
            [*range(m, 2 * m), *range(2 * m + d, 2 * (m + d))],
        )
        scale = np.concatenate([problem.scale[0], unit[self.driven]])[:, None]
        bound, opening = C[0][of_steps][:, :nv] / scale, C[0][of_rates][:, :nv] / scale
        rank = int(problem.rank[0])
        if d:
            sizes = np.linalg.svd(bound * unit, compute_uv=False)
            rank = int(np.sum(sizes > REDUNDANT * sizes[0]))
        part = partition(bound, np.zeros(m + d), unit, rank)
        dependent = np.setdiff1d(np.arange(nv), part.independent)

        def yielding(rows: np.ndarray) -> np.ndarray:
            """Return the changes (nv, k) of dependent components that balance these openings (m + d, k)."""
            found = np.zeros((nv, rows.shape[1]))
            if len(dependent):
                across = np.linalg.lstsq((bound * unit)[:, dependent], -rows, rcond=1e-10)[0]
                found[dependent] = across * unit[dependent][:, None]
            return found

        independent = np.union1d(part.independent, self.driven)
        E = np.zeros((nv, len(independent)))
        E[:, np.searchsorted(independent, part.independent)] = part.E
        free = np.block([[E, np.zeros_like(E)], [yielding(opening @ E), E]])
        forced = {}
        for name, x in opened.items():
            steps = yielding(x[0][of_steps] / scale)
            forced[name] = np.concatenate([steps, yielding(opening @ steps + x[0][of_rates] / scale)])
        return StartVariation(independent, free, forced)

    def _response(
        self, times: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> tuple[Response, tuple[np.ndarray, np.ndarray]]:
        """Return the response of accelerations at times (n,) and states q (n, nq), v (n, nv) to all but changes of
        wrenches, and the joint forces that these bring, by steps and by velocities, each (n, nv, nv)."""
        system, acting = self.system, self.acting
        tau = self.limits.limited(np.broadcast_to(self.tau, v.shape), v)
        wrenches = {f: x[0] for f, x in acting.wrenches_over(times, q[None], v[None]).items()}
        if acting.motion:
            tau = loads.with_drives(system, q, v, tau, wrenches, acting.prescribed.accelerations(times))
        f_ext = on_nodes(system.plan, wrenches, lambda name: name) if wrenches else None
        found, _ = system._responder.respond(q, v, tau, self.names, f_ext=f_ext)
        return found, self._turned_wrenches(times, q, v, wrenches)

    def _turned_wrenches(
        self, times: np.ndarray, q: np.ndarray, v: np.ndarray, wrenches: dict[str, Any]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of the joint forces that stand for wrenches, of the wrenches alone, by steps and by
        velocities, each (n, nv, nv): difference quotients, because a wrench may be anybody's function."""
        n, nv = v.shape
        by_q, by_v = np.zeros((n, nv, nv)), np.zeros((n, nv, nv))
        if not wrenches:
            return by_q, by_v
        steps = INCREMENT * np.concatenate([np.eye(nv), -np.eye(nv)])
        many = np.repeat(q[None], 2 * nv, axis=0)
        there = self.system.integrate(many, np.broadcast_to(steps[:, None], (2 * nv, n, nv)))
        pushes = self.acting.wrenches_over(
            times,
            np.concatenate([there, many]),
            np.concatenate([np.repeat(v[None], 2 * nv, axis=0), v[None] + steps[:, None]]),
        )
        for frame, w in pushes.items():
            up_q, down_q, up_v, down_v = np.split(np.moveaxis(w, 0, -1), 4, axis=-1)
            back = np.swapaxes(self.system.jacobian(q, frame), -1, -2)
            by_q += back @ (up_q - down_q) / (2.0 * INCREMENT)
            by_v += back @ (up_v - down_v) / (2.0 * INCREMENT)
        return by_q, by_v
