"""Forward and inverse dynamics as functions of JAX arrays: batched, differentiable once (`jax.grad`, `jax.vjp`), under
`jit` and `vmap`, computed in Catena's lanes on the CPU.

JAX works in single precision unless told otherwise: `jax.config.update("jax_enable_x64", True)`.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from catena.bridges import ambient
from catena.system import System


def dynamics(system: System, name: str = "forward_dynamics") -> Callable[[Any, Any, Any], Any]:
    """The function of arrays q (..., nq), v (..., nv) and tau (or vdot) (..., nv) that gives vdot (or tau), (..., nv).

    `name` is "forward_dynamics" or "inverse_dynamics" (of trees). All three must have the same batch dimensions.
    Gradients by q are by its entries, along motions.
    """
    ambient.checked(system, name, ())

    def host_value(q: Any, v: Any, x: Any) -> np.ndarray:
        return ambient.value(system, name, *ambient.as_numbers(q, v, x)).astype(np.asarray(q).dtype)

    def host_gradient(q: Any, v: Any, x: Any, g: Any) -> tuple[np.ndarray, ...]:
        given = ambient.as_numbers(q, v, x, g)
        return tuple(y.astype(np.asarray(q).dtype) for y in ambient.pulled(system, name, *given))

    @jax.custom_vjp
    def function(q: Any, v: Any, x: Any) -> Any:
        shape = jax.ShapeDtypeStruct(v.shape, q.dtype)
        return jax.pure_callback(host_value, shape, q, v, x, vmap_method="broadcast_all")

    def forward(q: Any, v: Any, x: Any) -> tuple[Any, tuple[Any, Any, Any]]:
        return function(q, v, x), (q, v, x)

    def backward(saved: tuple[Any, Any, Any], g: Any) -> Any:
        shapes = tuple(jax.ShapeDtypeStruct(a.shape, saved[0].dtype) for a in saved)
        return jax.pure_callback(host_gradient, shapes, *saved, g, vmap_method="broadcast_all")

    function.defvjp(forward, backward)
    return function


def forward_dynamics(system: System, q: Any, v: Any, tau: Any) -> Any:
    """vdot (..., nv) of arrays q (..., nq), v (..., nv) and tau (..., nv), loops respected."""
    return dynamics(system, "forward_dynamics")(q, v, tau)


def inverse_dynamics(system: System, q: Any, v: Any, vdot: Any) -> Any:
    """tau (..., nv) of arrays q (..., nq), v (..., nv) and vdot (..., nv), of a tree."""
    return dynamics(system, "inverse_dynamics")(q, v, vdot)
