"""How a motion changes with its start, with forces and with parameters: forward, and by the adjoint.

Small changes beside a motion follow linear equations (`neighbouring_motion`). The motion is that of `simulate`; over
each interval the linear equations are integrated (`transitions`), which gives one matrix for each. Products of these
from the start are forward sensitivities; a gradient at the end, multiplied by the transposed matrices in reverse, is
the adjoint: one pass for any number of parameters and forces.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.forces.smooth import STANDSTILL
from catena.kinematics.stacks import apply, transposed
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.problem import Problem
from catena.simulation.sensitivities.linear_intervals import transitions
from catena.simulation.sensitivities.neighbouring_motion import NeighbouringMotion
from catena.simulation.simulate import simulate
from catena.simulation.structure_changes import is_changing
from catena.system import System
from catena.system.dry_friction import friction_limits
from catena.system.of_system import as_system
from catena.validation import entries, real_array, shown

# Times that differ by less than this part of the duration are the same.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Gradient:
    """The derivatives of one number: by independent steps `q` (..., d) and velocities `v` (..., d) of the start, by the
    joint forces `tau` (..., intervals, nv) of each interval, and by parameters {name: (..., entries)}."""

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    parameters: dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Motions at times `t` (..., n + 1), `q` (..., n + 1, nq), `v` (..., n + 1, nv), and how they change.

    Changes of the state are [steps; velocities] (2 nv). `start` (..., 2 nv, 2 d) takes changes [steps; velocities] of
    the `independent` components (..., d) at the start to those of all; in a tree they are the same. Components of
    joints whose motion is prescribed are among them and change nothing. `begun` {name: (..., 2 nv, entries)} is how the
    start changes with parameters where dimensions of loops do, with the independent components held. `transitions`
    (..., n, 2 nv, 2 nv), `pushes` (..., n, 2 nv, nv) and `drifts` {name: (..., n, 2 nv, entries)} are what an interval
    does to a change of the state, of constant joint forces and of parameters.
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
        """Return the state at all times by the start, (..., n + 1, 2 nv, 2 d)."""
        return self._marched(self.start, None)

    @cached_property
    def by_tau(self) -> np.ndarray:
        """Return the state at all times by joint forces that change by as much throughout, (..., n + 1, 2 nv, nv)."""
        return self._marched(np.zeros_like(self.pushes[..., 0, :, :]), self.pushes)

    @cached_property
    def by_parameter(self) -> dict[str, np.ndarray]:
        """Return the state at all times by parameters, {name: (..., n + 1, 2 nv, entries)}."""
        return {name: self._marched(self.begun[name], x) for name, x in self.drifts.items()}

    def _marched(self, first: np.ndarray, added: np.ndarray | None) -> np.ndarray:
        found = [first]
        for k in range(self.transitions.shape[-3]):
            moved = self.transitions[..., k, :, :] @ found[-1]
            found.append(moved if added is None else moved + added[..., k, :, :])
        return np.stack(found, axis=-3)

    def adjoint(self, by_q: Any, by_v: Any) -> Gradient:
        """Return the derivatives of a number that depends on the state at the end by `by_q` (..., nv), per step along
        each component, and `by_v` (..., nv)."""
        nv = self.v.shape[-1]
        gradients = [np.asarray(x, dtype=float) for x in (by_q, by_v)]
        if any(x.shape[-1:] != (nv,) for x in gradients):
            many = sum(x.shape[-1] if x.ndim else 1 for x in gradients)
            raise StateError(f"by_q and by_v have {many} entries together; give {nv} each.")
        batch = self.q.shape[:-2]
        g = np.concatenate([np.broadcast_to(x, (*batch, nv)) for x in gradients], axis=-1)
        tau = np.zeros(self.pushes.shape[:-2] + (nv,))
        parameters = {name: np.zeros((*batch, x.shape[-1])) for name, x in self.drifts.items()}
        for k in reversed(range(self.transitions.shape[-3])):
            tau[..., k, :] = apply(transposed(self.pushes[..., k, :, :]), g)
            for name, x in self.drifts.items():
                parameters[name] += apply(transposed(x[..., k, :, :]), g)
            g = apply(transposed(self.transitions[..., k, :, :]), g)
        for name, x in self.begun.items():
            parameters[name] += apply(transposed(x), g)
        first = apply(transposed(self.start), g)
        d = self.independent.shape[-1]
        return Gradient(first[..., :d], first[..., d:], tau, parameters)


def sensitivities(
    system: System, q: ArrayLike, v: ArrayLike, duration: float, *, tau: ArrayLike | None = None,
    parameters: Iterable[str] = (), intervals: int | None = None, **options: Any,
) -> Sensitivities:  # fmt: skip
    """Return how the motion from q (..., nq) and v (..., nv) over `duration` seconds changes with its start, with joint
    forces tau (..., nv), constant and zero if None, and with parameters, by names as `System.equations` takes them. A
    history of forces, tau (..., k, nv), acts in k intervals of equal length, each with its row.

    The forces of the mechanism act, and so do `motion` and `forces`, which go to `simulate` with the other `options`.
    The intervals are the steps that `simulate` takes, so many `intervals` of equal length, or those of the history;
    within them the linear equations are integrated as closely as they need, so that stops and limits may be touched on
    the way. States of a batch, which need `intervals` or a history in common, are computed one after the other. Forces
    must be continuous functions of the state: contacts and changes of the structure are refused.
    """
    as_system(system, "sensitivities")
    if intervals is not None and (
        isinstance(intervals, bool) or not isinstance(intervals, int) or intervals < 1
    ):
        raise StateError(f"intervals is {shown(intervals)}; give a whole number, 1 or more, or None.")
    try:
        effort = None if tau is None else real_array(tau)
        names = [str(name) for name in entries(parameters)]
        rows = [real_array(x) for x in (q, v)]
    except ValueError as error:
        raise StateError(
            f"sensitivities: q, v and tau are {shown(q)}, {shown(v)} and {shown(tau)}, parameters are "
            f"{shown(parameters)} ({error}); give numbers, and names."
        ) from error
    if effort is not None and (effort.shape[-1:] != (system.nv,) or 0 in effort.shape):
        raise StateError(
            f"tau has shape {effort.shape}; give joint forces of shape ({system.nv},), or (k, {system.nv}) for a "
            f"history of them."
        )
    _require_smooth(options)
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in rows))
    if effort is not None and effort.ndim > len(batch) + 1:
        if intervals is not None:
            raise StateError(
                f"sensitivities: tau has shape {effort.shape}, a history in {effort.shape[-2]} intervals; leave "
                f"intervals={intervals} out."
            )
        motion: Callable[..., Sensitivities] = partial(_with_history, system, duration, names, options)
        forces: np.ndarray | None = np.broadcast_to(effort, (*batch, *effort.shape[-2:]))
    else:
        motion = partial(_of_one, system, duration, names, intervals, options)
        forces = None if effort is None else np.broadcast_to(effort, (*batch, system.nv))
    if not batch:
        return motion(*rows, forces)
    if intervals is None and (forces is None or forces.ndim == len(batch) + 1):
        raise StateError(
            f"sensitivities: q and v have the batch dimensions {batch}, and the steps of one state are not those of "
            f"another: say in how many intervals=."
        )
    wide = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in rows]
    found = [motion(*(x[k] for x in wide), None if forces is None else forces[k]) for k in np.ndindex(batch)]
    return _stacked(found, batch)


def _with_history(
    system: System, duration: float, names: list[str], options: Mapping[str, Any], q: np.ndarray, v: np.ndarray,
    tau: np.ndarray,
) -> Sensitivities:  # fmt: skip
    """Return the sensitivities of one motion with joint forces tau (k, nv) that are constant in each of k intervals."""
    begin, each = float(options.get("start") or 0.0), duration / len(tau)
    pieces: list[Sensitivities] = []
    for k, force in enumerate(tau):
        own = {**options, "start": begin + k * each}
        pieces.append(_of_one(system, each, names, 1, own, q, v, force))
        q, v = pieces[-1].q[-1], pieces[-1].v[-1]
    first = pieces[0]
    # What an interval ends with, the next begins with.
    t, q, v = (
        np.concatenate([getattr(first, name)[:1], *(getattr(p, name)[1:] for p in pieces)])
        for name in ("t", "q", "v")
    )
    moved, pushes = (np.concatenate([getattr(p, n) for p in pieces]) for n in ("transitions", "pushes"))
    drifts = {name: np.concatenate([p.drifts[name] for p in pieces]) for name in names}
    return replace(first, t=t, q=q, v=v, transitions=moved, pushes=pushes, drifts=drifts)


def _stacked(found: list[Sensitivities], batch: tuple[int, ...]) -> Sensitivities:
    """Return the sensitivities of motions with as many intervals as those of a batch."""

    def rows(parts: list[Any]) -> Any:
        if isinstance(parts[0], Mapping):
            return {name: rows([part[name] for part in parts]) for name in parts[0]}
        return np.stack(parts).reshape(*batch, *np.shape(parts[0]))

    return Sensitivities(**{f.name: rows([getattr(x, f.name) for x in found]) for f in fields(Sensitivities)})


def _of_one(
    system: System, duration: float, names: list[str], intervals: int | None, options: Mapping[str, Any],
    q: np.ndarray, v: np.ndarray, tau: np.ndarray | None,
) -> Sensitivities:  # fmt: skip
    """Return the sensitivities of one motion with constant joint forces tau (nv,), none if None."""
    effort = np.zeros(system.nv) if tau is None else tau

    def push(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.broadcast_to(effort, v.shape)

    quiet = {"check": False, "progress": False, **options}
    run = simulate(system, q, v, duration, control=None if tau is None else push, **quiet)
    if run.system is not system:
        joints = ", ".join(repr(name) for name in run.driven if name in system.loops)
        raise StateError(
            f"sensitivities: {joints} closes a loop in this plan, and the run took another: plan it with "
            f"m.system(keep=[{joints}])."
        )
    if run.t[-1] - run.t[0] < duration * (1.0 - SAME):
        raise StateError(f"The run ended at t = {run.t[-1]} s, before the {duration} s that were asked for.")
    _require_slips(run)
    wanted = run.t if intervals is None else np.linspace(run.t[0], run.t[-1], intervals + 1)
    far = np.abs(wanted[:, None] - run.t).min(axis=1) > SAME * duration
    nodes = np.sort(np.concatenate([run.t, wanted[far]]))
    wanted = nodes[np.abs(wanted[:, None] - nodes).argmin(axis=1)]
    acting = ActingForces(Problem(system, None, options.get("motion") or {}, options.get("forces") or {}), ())
    beside = NeighbouringMotion(run, acting, effort, names)
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
        option = options.get(name)
        if option is not None and not (isinstance(option, tuple | list) and not option):
            instead = {
                "control": "joint forces, and histories of them, are given as tau",
                "samples": "the times are those of the steps, or of `intervals`",
                "contacts": "a touch changes the velocities at once; give the joint elastic limits instead",
            }
            raise StateError(
                f"sensitivities: {name} is {shown(option)}; leave it out: {instead.get(name, '')}."
            )
    if is_changing(options.get("events", ())):
        raise StateError(
            "sensitivities: events that change the structure change the velocities at once; leave them out."
        )
