"""Pinocchio's forward and inverse dynamics as calls without arguments, ready to be timed.

Inputs are Catena's arrays (batch, n) and are translated before the call is made, so only Pinocchio is
timed. The parallel functions get matrices in Pinocchio's own column order and a place for the result, which
is the quickest way it offers from Python.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from benchmarks.peers.pinocchio_model import to_pinocchio

Array = NDArray[np.float64]


def forward_batch(mechanism: Any, q: Array, v: Array, tau: Array, threads: int = 1) -> Callable[[], Array]:
    """`abaInParallel` over the batch; the call returns Pinocchio's accelerations (nv, batch)."""
    model, to = to_pinocchio(mechanism)
    arguments = _columns(to.configuration(q), to.velocity(q, v), to.effort(q, v, tau))
    return _batch(pin.abaInParallel, model, arguments, threads)


def inverse_batch(mechanism: Any, q: Array, v: Array, vdot: Array, threads: int = 1) -> Callable[[], Array]:
    """`rneaInParallel` over the batch; the call returns Pinocchio's efforts (nv, batch)."""
    model, to = to_pinocchio(mechanism)
    arguments = _columns(to.configuration(q), to.velocity(q, v), to.acceleration(q, v, vdot))
    return _batch(pin.rneaInParallel, model, arguments, threads)


def forward_single(mechanism: Any, q: Array, v: Array, tau: Array) -> Callable[[], Array]:
    """One `pin.aba` call from Python for one state (n,)."""
    model, to = to_pinocchio(mechanism)
    data = model.createData()
    arguments = to.configuration(q), to.velocity(q, v), to.effort(q, v, tau)
    return lambda: pin.aba(model, data, *arguments)


def inverse_single(mechanism: Any, q: Array, v: Array, vdot: Array) -> Callable[[], Array]:
    """One `pin.rnea` call from Python for one state (n,)."""
    model, to = to_pinocchio(mechanism)
    data = model.createData()
    arguments = to.configuration(q), to.velocity(q, v), to.acceleration(q, v, vdot)
    return lambda: pin.rnea(model, data, *arguments)


def _batch(
    function: Callable[..., None], model: pin.Model, arguments: list[Array], threads: int
) -> Callable[[], Array]:
    pool = pin.ModelPool(model, threads)
    result = np.zeros(arguments[1].shape, order="F")

    def call() -> Array:
        function(threads, pool, *arguments, result)
        return result

    return call


def _columns(*arrays: Array) -> list[Array]:
    return [np.asfortranarray(array.T) for array in arrays]
