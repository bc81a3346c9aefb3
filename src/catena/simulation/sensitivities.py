"""How a motion changes with its start, with forces and with parameters: forward, and by the adjoint.

Beside a motion q(t), v(t) small changes x of position (steps along the velocity components) and w of velocity follow

    x' = T x + w,      w' = (vdot by q) x + (vdot by v) w + (vdot by tau) dtau + (vdot by p) dp.

The motion is that of `simulate`, recorded at the ends and in the middle of intervals; over each interval the linear
equations are integrated by the classical method of order four, which gives one matrix for each interval. Products of
these from the start are forward sensitivities; a gradient at the end, multiplied by the transposed matrices in reverse,
is the adjoint: one pass for any number of parameters and forces.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.given import entries, is_positive, real_array, shown
from catena.simulation.references.protocol import as_system
from catena.simulation.simulate import simulate
from catena.system import System
from catena.system.linearisation import linearise, step_rates

# Singular values of the constraints below this part of the largest are redundant.
CLOSED = 1e-9


@dataclass(frozen=True, eq=False)
class Gradient:
    """The derivatives of one number: by independent steps `q` (d,) and velocities `v` (d,) of the start, by the joint
    forces `tau` (intervals, nv) of each interval, and by parameters {name: (entries,)}."""

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    parameters: dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """A motion at times `t` (n + 1,), `q` (n + 1, nq), `v` (n + 1, nv), and how it changes.

    Changes of the state are [steps; velocities] (2 nv). `start` (2 nv, 2 d) takes changes [steps; velocities] of the
    `independent` components at the start to those of all; in a tree they are the same. `transitions` (n, 2 nv, 2 nv),
    `pushes` (n, 2 nv, nv) and `drifts` {name: (n, 2 nv, entries)} are what an interval does to a change of the
    state, of constant joint forces and of parameters.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    start: np.ndarray
    independent: np.ndarray
    transitions: np.ndarray
    pushes: np.ndarray
    drifts: Mapping[str, np.ndarray]

    @cached_property
    def by_start(self) -> np.ndarray:
        """Return the state at all times by the start, (n + 1, 2 nv, 2 d)."""
        return self._marched(self.start, np.zeros((len(self.transitions), *self.start.shape)))

    @cached_property
    def by_tau(self) -> np.ndarray:
        """Return the state at all times by joint forces that are constant throughout, (n + 1, 2 nv, nv)."""
        return self._marched(np.zeros(self.pushes.shape[1:]), self.pushes)

    @cached_property
    def by_parameter(self) -> dict[str, np.ndarray]:
        """Return the state at all times by parameters, {name: (n + 1, 2 nv, entries)}."""
        return {name: self._marched(np.zeros(x.shape[1:]), x) for name, x in self.drifts.items()}

    def _marched(self, first: np.ndarray, added: np.ndarray) -> np.ndarray:
        found = [first]
        for transition, more in zip(self.transitions, added, strict=True):
            found.append(transition @ found[-1] + more)
        return np.array(found)

    def adjoint(self, by_q: Any, by_v: Any) -> Gradient:
        """Return the derivatives of a number that depends on the state at the end by `by_q` (nv,), per step along
        each component, and `by_v` (nv,)."""
        nv = self.v.shape[1]
        g = np.concatenate([np.asarray(by_q, dtype=float), np.asarray(by_v, dtype=float)])
        if g.shape != (2 * nv,):
            raise StateError(f"by_q and by_v have {g.size} entries together; give {nv} each.")
        tau = np.zeros((len(self.transitions), nv))
        parameters = {name: np.zeros(x.shape[2]) for name, x in self.drifts.items()}
        for k in reversed(range(len(self.transitions))):
            tau[k] = self.pushes[k].T @ g
            for name, x in self.drifts.items():
                parameters[name] += x[k].T @ g
            g = self.transitions[k].T @ g
        first = self.start.T @ g
        d = len(self.independent)
        return Gradient(first[:d], first[d:], tau, parameters)


def sensitivities(
    system: System, q: Any, v: Any, duration: float, *, tau: Any = None, parameters: Iterable[str] = (),
    intervals: int | None = None, **options: Any,
) -> Sensitivities:  # fmt: skip
    """Return how the motion from q (nq,) and v (nv,) over `duration` seconds changes with its start, with joint
    forces tau (nv,), constant and zero if None, and with parameters, by names as `System.equations` takes them.

    The forces of the mechanism act. `options` go to `simulate`. The intervals are the steps that `simulate` takes, or
    so many `intervals` of equal length; the error falls with the fourth power of their number.
    """
    as_system(system, "sensitivities")
    if intervals is not None and (
        isinstance(intervals, bool) or not isinstance(intervals, int) or intervals < 1
    ):
        raise StateError(f"intervals is {shown(intervals)}; give a whole number, 1 or more, or None.")
    try:
        given = np.zeros(system.nv) if tau is None else real_array(tau)
        names = [str(name) for name in entries(parameters)]
    except ValueError as error:
        raise StateError(
            f"sensitivities: tau is {shown(tau)} and parameters are {shown(parameters)} ({error}); give numbers "
            f"of shape ({system.nv},), and names."
        ) from error
    if given.shape != (system.nv,):
        raise StateError(f"tau has shape {given.shape}; give constant joint forces of shape ({system.nv},).")

    def push(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.broadcast_to(given, v.shape)

    options.setdefault("check", False)
    options.setdefault("progress", False)
    control = None if tau is None else push
    if intervals is None:
        nodes = simulate(system, q, v, duration, control=control, **options).t
    else:
        if not is_positive(duration):
            raise StateError(f"duration is {shown(duration)}; give a positive number of seconds.")
        nodes = np.linspace(0.0, duration, intervals + 1)
    times = np.sort(np.concatenate([nodes, 0.5 * (nodes[1:] + nodes[:-1])]))
    run = simulate(system, q, v, duration, samples=times, control=control, **options)
    if len(run.t) != len(times) or times[-1] < duration * (1.0 - 1e-9):
        raise StateError(f"The run ended at {run.t[-1]} s, before the {duration} s that were asked for.")
    found, _ = system.responder.respond(run.q, run.v, given, names, limited=True)
    nv = system.nv
    A = np.zeros((len(times), 2 * nv, 2 * nv))
    for k in range(len(times)):
        A[k, :nv, :nv] = step_rates(system.plan, run.q[k], run.v[k])
    A[:, :nv, nv:] = np.eye(nv)
    A[:, nv:, :nv], A[:, nv:, nv:] = found.by_q, found.by_v
    inputs = [found.by_tau, *(found.by_parameter[name] for name in names)]
    B = np.concatenate(
        [np.zeros((len(times), nv, sum(x.shape[2] for x in inputs))), np.concatenate(inputs, -1)], 1
    )
    transitions, added = _marches(A, B, np.diff(nodes))
    if found.J.shape[1]:
        closed = _closed(found.J[2::2], found.opening[2::2])
        transitions, added = closed @ transitions, closed @ added
    ends = np.cumsum([x.shape[2] for x in inputs])
    parts = np.split(added, ends[:-1], axis=-1)
    linear = linearise(system, run.q[0], run.v[0], given)
    start = np.block([[linear.E, np.zeros_like(linear.E)], [linear.drift, linear.E]])
    return Sensitivities(
        times[::2], run.q[::2], run.v[::2], start, linear.independent, transitions, parts[0],
        dict(zip(names, parts[1:], strict=True)),
    )  # fmt: skip


def _closed(J: np.ndarray, opening: np.ndarray) -> np.ndarray:
    """Return the projections (n, 2 nv, 2 nv) on changes that keep loops closed, J x = 0 and J w + opening x = 0.
    Without them the errors of the method grow where the motion passes a singular configuration."""
    C = np.concatenate(
        [np.concatenate([J, np.zeros_like(J)], axis=-1), np.concatenate([opening, J], axis=-1)], axis=-2
    )
    return np.eye(C.shape[-1]) - np.linalg.pinv(C, rcond=CLOSED) @ C


def _marches(A: np.ndarray, B: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what an interval does to x' = A x + B u with constant u: x becomes F x + G u, F (n, m, m) and G (n, m,
    k); A and B are known at its ends and in the middle."""
    n, m = (len(A) - 1) // 2, A.shape[1]
    both = np.concatenate([A, B], axis=-1)
    step = steps[:, None, None]
    first, middle, last = both[0:-2:2], both[1::2], both[2::2]
    unit = np.broadcast_to(
        np.concatenate([np.eye(m), np.zeros((m, B.shape[2]))], axis=1), (n, m, both.shape[2])
    )

    def slope(at: np.ndarray, x: np.ndarray) -> np.ndarray:
        rate = at[..., :m] @ x
        rate[..., m:] += at[..., m:]
        return rate

    k1 = slope(first, unit)
    k2 = slope(middle, unit + 0.5 * step * k1)
    k3 = slope(middle, unit + 0.5 * step * k2)
    k4 = slope(last, unit + step * k3)
    whole = unit + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return whole[..., :m], whole[..., m:]
