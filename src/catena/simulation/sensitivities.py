"""How a motion changes with its start, with forces and with parameters: forward, and by the adjoint.

Small changes beside a motion follow linear equations (`neighbouring_motion`). The motion is that of `simulate`; over
each interval the linear equations are integrated (`transitions`), which gives one matrix for each. Products of these
from the start are forward sensitivities; a gradient at the end, multiplied by the transposed matrices in reverse, is
the adjoint: one pass for any number of parameters and forces.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.forces.smooth import STANDSTILL
from catena.simulation.acting.excitation import ActingForces
from catena.simulation.linear_intervals import transitions
from catena.simulation.neighbouring_motion import NeighbouringMotion
from catena.simulation.problem import Problem
from catena.simulation.references.protocol import as_system
from catena.simulation.simulate import simulate
from catena.simulation.structure_changes import is_changing
from catena.system import System
from catena.system.sticking import friction_limits
from catena.validation import entries, real_array, shown

# Times that differ by less than this part of the duration are the same.
SAME = 1e-9


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
    `independent` components at the start to those of all; in a tree they are the same. Components of joints whose
    motion is prescribed are among them and change nothing. `begun` {name: (2 nv, entries)} is how the start changes
    with parameters where dimensions of loops do, with the independent components held. `transitions` (n, 2 nv, 2 nv),
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
    begun: Mapping[str, np.ndarray]

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
        return {name: self._marched(self.begun[name], x) for name, x in self.drifts.items()}

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
        for name, x in self.begun.items():
            parameters[name] += x.T @ g
        first = self.start.T @ g
        d = len(self.independent)
        return Gradient(first[:d], first[d:], tau, parameters)


def sensitivities(
    system: System, q: ArrayLike, v: ArrayLike, duration: float, *, tau: ArrayLike | None = None,
    parameters: Iterable[str] = (), intervals: int | None = None, **options: Any,
) -> Sensitivities:  # fmt: skip
    """Return how the motion from q (nq,) and v (nv,) over `duration` seconds changes with its start, with joint
    forces tau (nv,), constant and zero if None, and with parameters, by names as `System.equations` takes them.

    The forces of the mechanism act, and so do `motion` and `forces`, which go to `simulate` with the other `options`.
    The intervals are the steps that `simulate` takes, or so many `intervals` of equal length; within them the linear
    equations are integrated as closely as they need, so that stops and limits may be touched on the way. Forces must
    be continuous functions of the state: contacts and changes of the structure are refused.
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

    _require_smooth(options)

    def push(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.broadcast_to(given, v.shape)

    options.setdefault("check", False)
    options.setdefault("progress", False)
    run = simulate(system, q, v, duration, control=None if tau is None else push, **options)
    if run.system is not system:
        joints = ", ".join(repr(name) for name in run.driven if name in system.loops)
        raise StateError(
            f"sensitivities: {joints} closes a loop in this plan, and the run took another: plan it with "
            f"m.system(keep=[{joints}])."
        )
    if run.batch or run.t[-1] - run.t[0] < duration * (1.0 - SAME):
        raise StateError(
            f"sensitivities are those of one state, and q and v have the batch dimensions {run.batch}."
            if run.batch
            else f"The run ended at t = {run.t[-1]} s, before the {duration} s that were asked for."
        )
    _require_slips(run)
    wanted = run.t if intervals is None else np.linspace(run.t[0], run.t[-1], intervals + 1)
    far = np.abs(wanted[:, None] - run.t).min(axis=1) > SAME * duration
    nodes = np.sort(np.concatenate([run.t, wanted[far]]))
    wanted = nodes[np.abs(wanted[:, None] - nodes).argmin(axis=1)]
    acting = ActingForces(Problem(system, None, options.get("motion") or {}, options.get("forces") or {}), ())
    beside = NeighbouringMotion(run, acting, given, names)
    moved, added = transitions(beside.rates, nodes, wanted)
    beginning = beside.beginning()
    sizes = [system.nv, *(beginning.forced[name].shape[1] for name in names)]
    parts = np.split(added, np.cumsum(sizes)[:-1], axis=-1)
    closing = beside.closing(wanted[1:])
    if closing is not None:
        moved, parts = closing[0] @ moved, [closing[0] @ x for x in parts]
        parts[1:] = [x + closing[1][name] for name, x in zip(names, parts[1:], strict=True)]
    q_there, v_there = run.at(wanted)
    return Sensitivities(
        wanted, q_there, v_there, beginning.free, beginning.independent, moved, parts[0],
        dict(zip(names, parts[1:], strict=True)), beginning.forced,
    )  # fmt: skip


def _require_slips(run: Any) -> None:
    """Refuse a motion in which dry friction sticks or turns round: what is next to it does so at other times."""
    limits = friction_limits(run.system, run.q[0])
    for joint in run.stop_forces:
        v = run.system.joint_velocity(run.q, run.v, joint)[:, limits[joint] > 0.0]
        slow = np.abs(v).min(initial=np.inf) < STANDSTILL
        if slow or np.any(np.sign(v) != np.sign(v[:1])):
            raise StateError(
                f"sensitivities: the friction of joint {joint!r} sticks or turns round on the way, and a motion next "
                f"to this one does so at another time; give the joint ct.forces.JointFriction instead, which is smooth."
            )


def _require_smooth(options: Mapping[str, Any]) -> None:
    """Refuse options of `simulate` that a neighbouring motion knows nothing of."""
    for name in ("control", "samples", "contacts", "parameters"):
        given = options.get(name)
        if given is not None and not (isinstance(given, tuple | list) and not given):
            instead = {
                "control": "constant joint forces are given as tau",
                "samples": "the times are those of the steps, or of `intervals`",
                "contacts": "a touch changes the velocities at once; give the joint elastic limits instead",
            }
            raise StateError(
                f"sensitivities: {name} is {shown(given)}; leave it out: {instead.get(name, '')}."
            )
    if is_changing(options.get("events", ())):
        raise StateError(
            "sensitivities: events that change the structure change the velocities at once; leave them out."
        )
