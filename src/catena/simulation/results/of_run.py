"""What a run leaves behind: its states at samples, or at its steps, as a segment with all that acted."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.dynamics.contacts.tip_forces import ContactForces
from catena.kernels import compile_seconds
from catena.simulation.acting import loads
from catena.simulation.acting.tips import TipForces, with_tips
from catena.simulation.keeping import Keep
from catena.simulation.results.on_demand import OnDemand
from catena.simulation.results.segment import Segment
from catena.simulation.stepping.methods.work import SOURCES

if TYPE_CHECKING:
    from catena.simulation.run import Run


class RunResult:
    """Makes segments of what a `run` has passed. Its clock is set when the run begins to move."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.clock, self.compiled = time.perf_counter(), compile_seconds()

    def whole(self) -> Segment:
        """Return the motion as far as it went."""
        run = self.run
        last = (
            run.tau
            if run.held
            else run.acting.command_at(np.where(np.isfinite(run.t), run.t, run.ends), run.q, run.v)
        )
        t, *rows = run.nodes.all(last)
        if run.times is None:
            times, q, v, carried, tau = t[0], *(x[0] for x in rows)
        else:
            times = t[0]
            if run.dense:
                times = run.times[run.times <= np.max(t) + run.same]
                if not run.going.any() and np.max(t) > times[-1] + run.same:
                    # Events ended the motion of all states between two samples, and the end belongs to it.
                    times = np.append(times, np.max(t))
                rows = list(run.between.sampled(t, rows, np.minimum(times, t[:, -1:])))
            q, v, carried, tau = (x.reshape(*run.batch, *x.shape[1:]) for x in rows)
        return self.segment(times, q, v, carried, tau)

    def segment(
        self, times: np.ndarray, q: np.ndarray, v: np.ndarray, carried: np.ndarray, tau: np.ndarray
    ) -> Segment:
        """Return the states q (..., samples, nq), v (..., samples, nv) at some times as a segment, with what they carry
        along and the control forces tau that act from each time on."""
        run = self.run
        if run.acting.holds_commands:
            tau = run.acting.at_speed(tau, v)
        wrenches, passing = self._from_outside(times, q, v, tau, carried)
        driven = {}
        if run.acting.motion:
            found = run.acting.prescribed.accelerations(times).items()
            driven = {name: np.broadcast_to(x, (*q.shape[:-1], x.shape[-1])) for name, x in found}
        kept = {} if run.keep is None else self._kept(run.keep, times, q, v)
        if run.keep is not None and run.keep.sampled and len(times) > 2:
            # What is asked for by name is all that stays of the samples between.
            ends = [0, -1]
            times, q, v, tau, carried = times[ends], *(x[..., ends, :] for x in (q, v, tau, carried))
            driven = {name: x[..., ends, :] for name, x in driven.items()}
            wrenches, passing = self._from_outside(times, q, v, tau, carried)
        # Parameters that differ from state to state are the same at all samples.
        system = run.system.variants.reshaped((*run.batch, 1))
        work, near = carried[..., : run.sources], carried[..., run.near_columns]
        positions = {
            joint: system.joint_position(q, joint, next_to)
            for joint, next_to in run.acting.near_by_joint(near).items()
        }
        tau, motors = tau[..., : run.system.nv], run.acting.loop_forces(tau)
        works = {name: work[..., k].copy() for k, name in enumerate(SOURCES[: work.shape[-1]])}
        landing, besides = run.problem.landing, loads.Besides(motors, near=positions)
        sticking: Mapping[str, np.ndarray] = {}
        if getattr(run.mover, "sticks", False):
            # By how much dry friction that sticks differs from the smooth one.
            compute = partial(loads.sticking, system, q, v, tau, wrenches, driven, besides)
            sticking = OnDemand(loads.dry_joints(system), compute)
        if driven and landing is None:
            holding = replace(besides, stops=sticking)
            tau = loads.with_drives_or_nan(system, q, v, tau, wrenches, driven, holding)
        made = Segment(
            system, times, q, v, tau, run.mover.steps, work=works, wrenches=wrenches, driven=driven,
            events=tuple(run.found), ended=run.ended, settings=self._settings(), held=run.held, loop_forces=motors,
            loop_positions=positions, kept=kept, tip_forces={name: x.f for name, x in passing.items()},
            stop_forces=sticking,
        )  # fmt: skip
        return (
            made
            if landing is None
            else landing.with_forces(made, carried[..., run.near_columns.stop :], besides)
        )

    def _kept(self, keep: Keep, times: np.ndarray, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return the signals that are asked for: one number for each state (...), or at samples (..., samples)."""
        run = self.run
        found = {} if run.tally is None else run.tally.results()
        if run.step_tally is not None:
            found |= run.step_tally.results(run.mover.carried_for(run.step_tally), run.start)  # type: ignore[attr-defined]
        for one in keep.last:
            found[one.name] = one.on(run.system, run.named)(*run.nodes.last())
        found = {name: x.reshape(run.batch) for name, x in found.items()}
        over = q.shape[:-1]
        at = np.broadcast_to(times, over).reshape(-1)
        rows = [np.ascontiguousarray(x.reshape(-1, x.shape[-1])) for x in (q, v)]
        for one in keep.sampled:
            found[one.name] = one.on(run.system, run.named)(at, *rows).reshape(over)
        return {one.name: found[one.name] for one in keep.signals}

    def _from_outside(
        self, times: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, carried: np.ndarray
    ) -> tuple[Mapping[str, np.ndarray], dict[str, ContactForces]]:
        """Return the wrenches (..., samples, 6) on frames, with those of contacts of tips, and what passed through
        these."""
        wrenches: Mapping[str, np.ndarray] = self._wrenches(times, q, v) if self.run.acting.forces else {}
        if self.run.acting.tips is None:
            return wrenches, {}
        passing = self._passing(self.run.acting.tips, times, q, v, tau, carried)
        return with_tips(wrenches, tuple(passing.values())), passing

    def _wrenches(self, times: np.ndarray, q: np.ndarray, v: np.ndarray) -> Mapping[str, np.ndarray]:
        """Return the wrenches (..., samples, 6) that were given, each in the axes of its frame. What Python gave is
        asked for again now, what compiled is computed when somebody looks at it."""
        run = self.run
        acting = run.acting

        def compute() -> dict[str, np.ndarray]:
            states = (x.reshape(-1, *x.shape[-2:]) for x in (q, v))
            wrenches = acting.wrenches_over(times, *states)
            return {frame: wrench.reshape(*q.shape[:-1], 6) for frame, wrench in wrenches.items()}

        return compute() if acting.asks_wrenches else OnDemand(tuple(acting.forces), compute)

    def _passing(
        self,
        tips: TipForces,
        times: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        carried: np.ndarray,
    ) -> dict[str, ContactForces]:
        """Return what passed through the contacts of tips, with arrays (..., samples, n), by their names."""
        run, acting = self.run, self.run.acting
        count = (math.prod(run.batch), len(times))
        rows = [x.reshape(*count, x.shape[-1]) for x in (q, v, tau, carried[..., run.near_columns])]
        each = [acting.tip_forces(float(t), *(x[:, k] for x in rows)) for k, t in enumerate(times)]
        found = {}
        for k, contact in enumerate(tips.contacts):
            parts = {
                one.name: np.stack([getattr(at[k], one.name) for at in each], axis=1)
                for one in fields(ContactForces)
                if one.name != "frame"
            }
            shaped = {name: x.reshape(*q.shape[:-1], x.shape[-1]) for name, x in parts.items()}
            found[contact.label] = ContactForces(contact.frame, **shaped)
        return found

    def so_far(self) -> Segment | None:
        """Return the trajectory that there is when a run fails: at the samples, or else at the steps that were taken;
        None if nothing can be made of it."""
        run = self.run
        sampled = run.times is not None and run.dense
        if sampled:
            assert run.times is not None
            run.times = run.times[run.times <= self.reached()]
        for times in (run.times, None) if sampled and len(run.nodes.all(run.tau)[0]) == 1 else (run.times,):
            run.times = times
            with suppress(Exception):
                return self.whole()
        return None

    def reached(self) -> float:
        """Return the time that all states have reached."""
        return float(self.run.nodes.last()[0].min())

    def _settings(self) -> dict[str, str]:
        run = self.run
        problem = run.problem
        chosen = (
            f"step {problem.step:g} s"
            if problem.step is not None
            else f"rtol {problem.rtol:g}, atol {problem.atol:g}"
        )
        asked = "always" if run.acting.rate is None else f"{run.acting.rate:g} Hz"
        inside = ", compiled" if run.law else ""
        solver = problem.uses_solver
        by = (
            "SciPy" if solver else "pieces, with Python in between" if run.mover.asks else "the compiled loop"
        )
        finished = getattr(run.mover, "finished", 0)
        compiling = compile_seconds() - run.compiled_before
        return {
            "integrator": f"{problem.integrator}, {chosen}",
            "drift": run.drift.name if run.drift.closed else "no loops",
            **({"coordinates": problem.coordinates} if problem.coordinates != "joint" else {}),
            "control": "none" if problem.control is None else f"{_name(problem.control)}, {asked}{inside}",
            "steps taken by": by,
            **({"steps finished by the exact law": str(finished)} if finished else {}),
            "wall time": f"{time.perf_counter() - self.clock - (compile_seconds() - self.compiled):.3g} s",
            **({"compiling besides": f"{compiling:.3g} s"} if compiling else {}),
        }


def _name(control: Any) -> str:
    return getattr(control, "__name__", type(control).__name__)
