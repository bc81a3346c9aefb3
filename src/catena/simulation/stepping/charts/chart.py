"""What coordinates of a motion have in common. They are good next to the state at which they begin."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from catena.kernels import VELOCITY, Algorithm, each_body

COORDINATES = ("joint", "minimal", "absolute")
# Local coordinates are good short of half a turn.
FAR = 1.0


class Charted(NamedTuple):
    """States q (rows, nq), v (rows, nv), and the `local` coordinates (rows, n) of what turns in them."""

    q: np.ndarray
    v: np.ndarray
    local: np.ndarray


class Chart(Protocol):
    """Coordinates y (n,) that a solver integrates."""

    def begin(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Begin at a time and a closed state q (nq,), v (nv,), and return its coordinates (n,)."""

    def states(self, t: float, y: np.ndarray) -> Charted:
        """Return the states at a time that have coordinates y (rows, n); NaN where there are none."""

    def rates(self, at: Charted, vdot: np.ndarray) -> np.ndarray:
        """Return the rates (rows, n) of coordinates at states that accelerate by vdot (rows, nv)."""

    def is_spent(self, at: Charted) -> bool:
        """Return whether coordinates should begin anew at a state that a step has come to."""

    def gap(self, y: np.ndarray, at: Charted) -> float:
        """Return how far bodies with coordinates y (n,) are from where their joints would have them, as an angle or a
        part of the mechanism's size."""


def _ground(ground: object) -> None:
    """Do nothing: the ground has no coordinates."""


@each_body
def _local(body: object) -> None:
    """Compute the rate of the local coordinates of a joint."""
    body.rate = body.joint.local_rate(body.xi, body.qd)  # type: ignore[attr-defined]


local_rate = Algorithm(
    "local_rate",
    _ground,
    (_local,),
    inputs={"xi": VELOCITY, "qd": VELOCITY},
    outputs={"rate": VELOCITY},
    use_constants=False,
)
