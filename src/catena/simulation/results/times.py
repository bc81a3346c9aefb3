"""Times that a run is asked for: checked, and within it."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import StateError
from catena.simulation.arguments import MOST_SAMPLES
from catena.simulation.results import dense
from catena.validation import real_array, real_number, shown


def asked_times(t: np.ndarray, times: Any) -> np.ndarray:
    """Return times (n,) within a run that has samples at t, from one number or a row of them."""
    try:
        asked = np.atleast_1d(real_array(times))
    except ValueError as error:
        raise StateError(f"times are {shown(times)} ({error}); give numbers of seconds.") from None
    if asked.ndim != 1 or not len(asked):
        raise StateError(f"times have shape {np.shape(times)}; give one number or a one-dimensional array.")
    dense.check_times(t, asked)
    return np.clip(asked, t[0], t[-1])


def increasing_times(t: np.ndarray, times: Any) -> np.ndarray:
    """Return the times (n,) of a resampled run that has samples at t: those given, or so many from first to last."""
    if isinstance(times, int | np.integer) and not isinstance(times, bool):
        if not 2 <= times <= MOST_SAMPLES:
            raise StateError(
                f"{shown(times)} samples make no trajectory; give 2 to {MOST_SAMPLES}, or the times themselves."
            )
        times = np.linspace(t[0], t[-1], int(times))
    asked = asked_times(t, times)
    if np.ndim(times) != 1 or np.any(np.diff(asked) <= 0.0):
        raise StateError(
            "The times of a resampled run must increase; give a one-dimensional array or a number of them."
        )
    return asked


def start_offset(t: np.ndarray, start: Any) -> float:
    """Return by how much the times t of a run are moved so that it begins at `start` [s]."""
    try:
        offset = real_number(start) - float(t[0])
    except ValueError as error:
        raise StateError(f"start is {shown(start)} ({error}); give a number of seconds.") from error
    if not np.isfinite(offset):
        raise StateError(f"start is {shown(start)}; give a finite number of seconds.")
    return offset
