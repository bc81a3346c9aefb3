"""Forward and inverse dynamics as functions of JAX arrays: batched, differentiable once (`jax.grad`, `jax.vjp`), under
`jit` and `vmap`, computed in Catena's lanes on the CPU.

JAX works in single precision unless told otherwise: `jax.config.update("jax_enable_x64", True)`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from catena.bridges import ambient
from catena.system import System


def dynamics(
    system: System, name: str = "forward_dynamics", parameters: Sequence[str] = ()
) -> Callable[..., Any]:
    """Return the function of arrays q (..., nq), v (..., nv) and tau (or vdot) (..., nv) that gives vdot (or tau),
    (..., nv).

    `name` is "forward_dynamics" or "inverse_dynamics" (of trees). Batch dimensions are broadcast. Gradients by q are by
    its entries, along motions. With names of `parameters`, such as "load.mass", the function takes a fourth array with
    their values one after the other, the same for all states, and has gradients by them too.
    """
    made = ambient.bridged(system, name, parameters)

    def host_value(q: Any, v: Any, x: Any, p: Any) -> np.ndarray:
        return made.value(*ambient.as_numbers(q, v, x, p)).astype(np.asarray(q).dtype)

    def host_gradient(q: Any, v: Any, x: Any, p: Any, g: Any) -> tuple[np.ndarray, ...]:
        arguments = ambient.as_numbers(q, v, x, p, g)
        return tuple(y.astype(np.asarray(q).dtype) for y in made.pullback(*arguments))

    # States of a vmap are computed together. With parameters each of them would have its own, so they are not.
    method = "sequential" if parameters else "broadcast_all"

    @jax.custom_vjp
    def function(q: Any, v: Any, x: Any, p: Any) -> Any:
        shape = jax.ShapeDtypeStruct(v.shape, q.dtype)
        return jax.pure_callback(host_value, shape, q, v, x, p, vmap_method=method)

    def forward(q: Any, v: Any, x: Any, p: Any) -> tuple[Any, tuple[Any, ...]]:
        return function(q, v, x, p), (q, v, x, p)

    def backward(saved: tuple[Any, ...], g: Any) -> Any:
        shapes = tuple(jax.ShapeDtypeStruct(a.shape, saved[0].dtype) for a in saved)
        return jax.pure_callback(host_gradient, shapes, *saved, g, vmap_method=method)

    function.defvjp(forward, backward)

    def called(q: Any, v: Any, x: Any, *p: Any) -> Any:
        if len(p) != bool(parameters):
            raise TypeError(f"{name} takes {3 + bool(parameters)} arrays, but {3 + len(p)} were given.")
        q, v, x = (jax.numpy.asarray(a) for a in (q, v, x))
        batch = jax.numpy.broadcast_shapes(*(a.shape[:-1] for a in (q, v, x)))
        wide = [jax.numpy.broadcast_to(a, (*batch, a.shape[-1])) for a in (q, v, x)]
        return function(*wide, jax.numpy.asarray(p[0] if p else [], dtype=q.dtype))

    return called


def forward_dynamics(system: System, q: Any, v: Any, tau: Any) -> Any:
    """vdot (..., nv) of arrays q (..., nq), v (..., nv) and tau (..., nv), loops respected."""
    return dynamics(system, "forward_dynamics")(q, v, tau)


def inverse_dynamics(system: System, q: Any, v: Any, vdot: Any) -> Any:
    """tau (..., nv) of arrays q (..., nq), v (..., nv) and vdot (..., nv), of a tree."""
    return dynamics(system, "inverse_dynamics")(q, v, vdot)
