"""What acts between two samples of a segment, and with which accelerations the intervals between them begin and end."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from catena.errors import CatenaError
from catena.simulation import turns
from catena.simulation.acting import loads

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment


class BetweenSamples:
    """Knows of a segment, the `part` of a run, what is between its samples."""

    def __init__(self, part: Segment) -> None:
        self.part = part

    def driven_at(self, times: np.ndarray) -> dict[str, np.ndarray]:
        """Return the accelerations (..., times, nv of the joint) of prescribed joints at other times, by cubics."""
        part = self.part
        return {name: between(part.t, vdot, times) for name, vdot in part.driven.items()}

    @cached_property
    def end_accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """Return vdot at the start and at the end of each interval, (..., samples - 1, nv)."""
        part = self.part
        tau = self._end_forces
        start = part.acceleration[..., :-1, :]
        besides = self._end_besides
        same = all(
            np.array_equal(besides.motors[name], x[..., 1:, :]) for name, x in part.loop_forces.items()
        )
        if same and np.array_equal(tau, part.tau[..., 1:, :]):
            return start, part.acceleration[..., 1:, :]
        wrenches, driven = (
            {name: x[..., 1:, :] for name, x in rows.items()} for rows in (part.wrenches, part.driven)
        )
        q, v = part.q[..., 1:, :], part.v[..., 1:, :]
        return start, loads.accelerations(part.system, q, v, tau, wrenches, driven, besides)

    @cached_property
    def jumps(self) -> np.ndarray:
        """Return at the end of which intervals, (..., samples - 1), control forces change and what was before is not
        known: wrenches of contacts answer them at once, and motors give less with their speed."""
        part = self.part
        slows = any(np.isfinite(x.no_load_speed).any() for x in part.system.mechanism.actuators.values())
        if not (part.held and (part.wrenches or slows)):
            return np.zeros((*part.batch, len(part.t) - 1), dtype=bool)
        return ((part.tau[..., 1:, :] != part.tau[..., :-1, :]) & ~self._drives).any(axis=-1)

    @cached_property
    def _end_forces(self) -> np.ndarray:
        """Return the control forces, and what drives prescribed joints, at the end of each interval."""
        part = self.part
        after = part.tau[..., 1:, :]
        if not part.held:
            return after
        held = np.where(self._drives, after, part.tau[..., :-1, :])
        if not part.driven or (np.array_equal(held, after) and not part.loop_forces):
            return held
        # Drives feel it where control forces jump, but not before.
        wrenches, driven = (
            {name: x[..., 1:, :] for name, x in rows.items()} for rows in (part.wrenches, part.driven)
        )
        with suppress(CatenaError):
            held = loads.with_drives(
                part.system, part.q[..., 1:, :], part.v[..., 1:, :], held, wrenches, driven, self._end_besides
            )
        return held

    @property
    def _end_besides(self) -> loads.Besides:
        """Return what is known of joints besides at the end of each interval."""
        part = self.part
        after = part.besides.at(slice(1, None))
        if not part.held:
            return after
        return replace(after, motors={name: x[..., :-1, :] for name, x in part.loop_forces.items()})

    def besides_at(self, times: np.ndarray, q: np.ndarray) -> loads.Besides:
        """Return what is known of joints besides at other times and the positions q (..., times, nq) there."""
        part = self.part
        if part.held:
            k = np.clip(np.searchsorted(part.t, times, side="right") - 1, 0, len(part.t) - 1)
            motors = {name: x[..., k, :] for name, x in part.loop_forces.items()}
        else:
            motors = {name: between(part.t, x, times) for name, x in part.loop_forces.items()}
        stops = {name: between(part.t, x, times) for name, x in part.stop_forces.items()}
        near = {
            name: turns.between(part.system, part.t, part.q, part.v, name, x, times, q)
            for name, x in part.loop_positions.items()
        }
        return loads.Besides(motors, stops, near)

    @cached_property
    def _drives(self) -> np.ndarray:
        """Return which of the joint forces, (nv,), are those of drives of prescribed joints."""
        part = self.part
        found = np.zeros(part.system.nv, dtype=bool)
        for joint in part.driven:
            found[part.system.slice_v(joint)] = True
        return found

    def forces_at(self, times: np.ndarray) -> np.ndarray:
        """Return the control forces at other times: held since the sample before, or between those of both samples, as
        those of drives always are."""
        part = self.part
        k = np.clip(np.searchsorted(part.t, times, side="right") - 1, 0, len(part.t) - 1)
        if len(part.t) == 1 or (part.held and not part.driven):
            return part.tau[..., k, :]
        found = between(part.t, part.tau, times)
        return np.where(self._drives, found, part.tau[..., k, :]) if part.held else found

    def wrenches_at(self, times: np.ndarray) -> dict[str, np.ndarray]:
        part = self.part
        return {name: between(part.t, wrench, times) for name, wrench in part.wrenches.items()}

    def works_at(self, times: np.ndarray) -> dict[str, np.ndarray]:
        """Return the works at other times, cubic between samples with the powers as slopes."""
        part = self.part
        if not part.work or len(part.t) == 1:
            return dict(part.work)
        end = {name: wrench[..., 1:, :] for name, wrench in part.wrenches.items()}
        q, v, tau = part.q[..., 1:, :], part.v[..., 1:, :], self._end_forces
        last = loads.powers(part.system, q, v, tau, end, part.driven, self._end_besides)
        k = np.clip(np.searchsorted(part.t, times, side="right") - 1, 0, len(part.t) - 2)
        h = part.t[k + 1] - part.t[k]
        s = (times - part.t[k]) / h
        result = {}
        for name, work in part.work.items():
            w0, w1 = work[..., k], work[..., k + 1]
            p0, p1 = part.power[name][..., k] * h, last[name][..., k] * h
            if name != "friction":
                p1 = np.where(self.jumps[..., k], 2.0 * (w1 - w0) - p0, p1)
            rise = s * s * (3.0 - 2.0 * s)
            result[name] = w0 + rise * (w1 - w0) + s * (1.0 - s) * ((1.0 - s) * p0 - s * p1)
        return result


def between(t: np.ndarray, x: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return x (..., samples, n) at other times, by cubics that do not overshoot where x jumps."""
    if len(t) == 1:
        return np.repeat(x, len(times), axis=-2)
    from scipy.interpolate import PchipInterpolator

    return PchipInterpolator(t, x, axis=-2)(times)
