"""Steps one after the other: with Python in between, where something acts that only Python knows; and with care, where
the compiled loop cannot vouch for a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.errors import SimulationError
from catena.simulation.arguments import TimeSpan
from catena.simulation.stepping.faults import too_long_message
from catena.simulation.stepping.methods.time_stepping import CONTACT_NUMBERS
from catena.simulation.stepping.paused import PausedSteps
from catena.simulation.stepping.progress_of_steps import CAREFUL, PAUSED
from catena.simulation.stepping.record import StepRecord

if TYPE_CHECKING:
    from catena.simulation.stepping.compiled import CompiledSteps


class SingleSteps:
    """Takes single steps of states that are moved by `steps`, in the arrays t (states,), q, v and tau (states, ...) of
    all states, to their `ends` (states,), and adds what they pass to `nodes`."""

    def __init__(self, steps: CompiledSteps) -> None:
        self.steps = steps
        self._paused: dict[int, PausedSteps] = {}

    def with_pauses(
        self, active: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, ends: np.ndarray,
        nodes: StepRecord | None,
    ) -> bool:  # fmt: skip
        """Take one step of the states that are furthest behind, which share their time and their step size, and return
        whether all numbers in it were finite."""
        steps, who = self.steps, active
        if len(active) > 1:
            now, until = t[active].min(), ends[active][np.argmin(t[active])]
            who = active[(t[active] == now) & (ends[active] == until)]
            if steps.landing is not None:
                # What is left of a step that was cut where something landed is another step.
                alike = [steps.kept[name][who, 0] == steps.kept[name][who[0], 0] for name in ("part", "hit")]
                who = who[alike[0] & alike[1]]
            for name in ("h", "cap") if steps.sticks else ("h",):
                steps.kept[name][who] = steps.kept[name][who].min()
        out, paused = self._step(who, t, q, v, tau, ends, None)
        if steps.landing is not None:
            halted = out["halt"][:, 0] > 0.5
            self._taken(who, t, q, v, tau, out, nodes)
            self.finish(who[halted], t, q, v, tau, ends, nodes)
            return paused.is_finite and not halted.any()
        spent = out["spent"][:, 0] > 0.5 if steps.choices is not None else np.zeros(1, dtype=bool)
        if out["halt"][0, 0] < 0.5 or spent.any():
            self._taken(who, t, q, v, tau, out, nodes)
            if spent.any():
                steps.choose_anew(who, t, q, spent)
            return paused.is_finite
        if steps.sticks:
            steps.keep(who, t, q, v, out)
            steps.require_senses(who, t)
        doubtful = np.ones(len(who), dtype=bool) if steps.adaptive else paused.doubts.copy()
        steps.keep(who, t, q, v, out)
        self.with_care(who, t, q, v, tau, ends, nodes, doubtful)
        return False

    def _step(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, ends: np.ndarray,
        careful: np.ndarray | None,
    ) -> tuple[dict[str, np.ndarray], PausedSteps]:  # fmt: skip
        steps, count = self.steps, len(who)
        if count not in self._paused:
            self._paused[count] = PausedSteps(
                steps.program_for(count), count, steps.acting, steps.drift, steps.method, steps.target, steps.controls,
                steps.law is not None, steps.asks,
            )  # fmt: skip
        paused = self._paused[count]
        inputs = steps.inputs(who, t, q, v, tau, ends)
        if steps.law is not None:
            law_inputs = steps.law.inputs_ahead(who, float(t[who].min()), float(steps.kept["h"][0, 0]), 1)
            inputs |= {
                name: x.reshape(x.shape[0], -1) if x.ndim == 3 else x for name, x in law_inputs.items()
            }
        every = 1 if steps.adaptive else steps.every
        steps.since += 1
        steps.steps += 1
        steps.progress.count(who, 1.0, PAUSED if careful is None else CAREFUL)
        closes = steps.since % every == 0
        return paused.step(steps.owner[who], inputs, tau[who], careful, closes, steps.near[who]), paused

    def _taken(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray,
        out: dict[str, np.ndarray], nodes: StepRecord | None,
    ) -> None:  # fmt: skip
        """Keep what a step that did not halt leaves behind, whether it was accepted or not."""
        steps, count = self.steps, self._paused[len(who)].count
        steps.keep(who, t, q, v, out)
        if count is not None:
            steps.near[who] = count.at(t[who], q[who], v[who])
        is_held = steps.law is not None and steps.law.holds
        force = tau[who] if is_held else out.get("tau_start", tau[who])
        if steps.law is not None and not steps.law.holds:
            tau[who] = out[steps.target]
            steps.law.remember(who, {name: x[:, None] for name, x in out.items()})
        accepted = out["accepted"][:, 0] > 0.5
        if nodes is not None and accepted.any():
            some = who[accepted]
            nodes.add(
                some, t[some].copy(), q[some], v[some], steps.works(some), np.array(force)[accepted],
                out[steps.chosen.starts][accepted],
            )  # fmt: skip

    def with_care(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, ends: np.ndarray,
        nodes: StepRecord | None, doubtful: np.ndarray,
    ) -> None:  # fmt: skip
        """Take one step, with Python in between, of states whose step the compiled loop could not certify."""
        steps = self.steps
        steps.progress.leave_lost(who, t, q, v)
        going = np.isfinite(t[who])
        who, doubtful = who[going], doubtful[going]
        while len(who):
            steps.kept["row"][who] = 0.0
            h = np.minimum(steps.kept["h"][who, 0], ends[who] - t[who])
            out, _ = self._step(who, t, q, v, tau, ends, doubtful)
            self._taken(who, t, q, v, tau, out, nodes)
            left = out["accepted"][:, 0] <= 0.5
            who, doubtful = who[left], doubtful[left]
            if not len(who):
                return
            if not steps.adaptive:
                sizes = h[left]
                steps.progress.give_up(
                    ((int(k), too_long_message(steps.method, float(t[k]), int(k), float(size)))
                     for k, size in zip(who, sizes, strict=True)),
                    t,
                )  # fmt: skip
                return
            steps.progress.require(who, t, q, v)
            going = np.isfinite(t[who])
            who, doubtful = who[going], doubtful[going]

    def finish(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, ends: np.ndarray,
        nodes: StepRecord | None,
    ) -> None:  # fmt: skip
        """Take the rest of a step of states whose impulses were not found by the law that locates what contacts do, one
        state after the other."""
        steps, problem = self.steps, self.steps.acting.problem
        landing = steps.landing
        assert landing is not None
        steps.progress.leave_lost(who, t, q, v)
        for k in who[np.isfinite(t[who])].tolist():
            left = float(steps.kept["part"][k, 0]) or float(steps.kept["h"][k, 0])
            # What is less than a step from the end is a part of the last one.
            until = float(ends[k]) if (1.0 + 1e-9) * left >= ends[k] - t[k] else float(t[k]) + left
            span = TimeSpan(float(t[k]), until)
            try:
                q[k], v[k] = landing.finished(problem, int(steps.owner[k]), span, q[k], v[k], tau[k])
            except SimulationError as error:
                words = f"At t = {t[k]:.9g} s in state {k}: {error}" if len(t) > 1 else str(error)
                steps.progress.give_up([(k, words)], t)
                continue
            t[k] = until
            for name in (*CONTACT_NUMBERS, "held"):
                steps.kept[name][k] = 0.0
            steps.past["a_past"][k] = 0.0
            steps.finished += 1
            if nodes is not None:
                nodes.add(
                    np.array([k]), t[k : k + 1].copy(), q[k : k + 1].copy(), v[k : k + 1].copy(),
                    steps.works(np.array([k])), tau[k : k + 1].copy(), np.zeros((1, steps.system.nv)),
                )  # fmt: skip
