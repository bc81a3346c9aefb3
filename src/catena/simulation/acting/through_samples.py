"""What a sampled law is given by references that only Python knows, as polynomials through its samples: at other times
nobody asks for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import CatenaError
from catena.simulation.arguments import TimeSpan
from catena.simulation.guards.clock import Clock
from catena.simulation.references.as_polynomial import DEGREE, InputPath
from catena.simulation.references.piecewise import PiecewisePolynomial

# So many numbers are kept for a run.
MOST = 4_000_000


def through_samples(law: Any, clock: Clock, span: TimeSpan) -> tuple[InputPath, ...] | None:
    """Return what a law is given at all samples of a run as polynomials, each through as many samples as it has
    coefficients; None where that is too much, or a reference cannot say all of it."""
    width = np.asarray(law.inputs(0.0)).shape[-1]
    first, rate = clock.first(span.start), clock.rate
    count = (span.end - first / rate) * rate
    if not width or not 0.0 <= count * width <= MOST:
        return None
    size = DEGREE + 1
    pieces = int(count) // size + 1
    numbers = first + np.arange(pieces * size)
    last = max(first, int(np.floor(span.end * rate * (1.0 + 1e-12))))
    try:
        # Behind the last sample of the run a reference need not go on.
        values = np.asarray(law.inputs(np.minimum(numbers, last) / rate), dtype=np.float64)
    except CatenaError:
        # Who asks at that time is told.
        return None
    if values.shape != (len(numbers), width) or not np.isfinite(values).all():
        return None
    k = np.arange(size)
    powers = np.linalg.inv(np.vander(k.astype(np.float64), increasing=True))
    c = (powers @ values.reshape(pieces, size, width)) * rate ** k[:, None].astype(np.float64)
    # What is given to the law first is exact, so that what does not change is the same at all samples.
    c[:, 0] = values[::size]
    times = np.append(numbers[::size], numbers[-1] + 1) / rate
    return ((PiecewisePolynomial(times, c, name="samples"), 0),)
