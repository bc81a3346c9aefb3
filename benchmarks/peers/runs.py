"""A motion computed by some engine, ready to be timed."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """`go()` steps from the start to the end and keeps what is needed; `positions()` then gives Catena's coordinates
    (samples, nq) at the sample times, the start included. Building models and translating coordinates is no part of
    `go`."""

    engine: str
    settings: str
    go: Callable[[], object]
    positions: Callable[[], Array]
