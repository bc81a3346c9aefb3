"""Forward and inverse dynamics as functions of PyTorch tensors: batched, differentiable once, computed in Catena's
lanes on the CPU."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from catena.bridges import ambient
from catena.system import System


class _Dynamics(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, made: ambient.Bridged, q: Any, v: Any, x: Any, p: Any) -> Any:
        context.save_for_backward(q, v, x, p)
        context.made = made
        arguments = ambient.as_numbers(*(t.detach().cpu() for t in (q, v, x, p)))
        return torch.as_tensor(made.value(*arguments)).to(dtype=q.dtype, device=q.device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Any) -> Any:
        tensors = context.saved_tensors
        arguments = ambient.as_numbers(*(t.detach().cpu() for t in (*tensors, gradient)))
        found = context.made.pullback(*arguments)
        parts = [torch.as_tensor(g).to(dtype=t.dtype, device=t.device) for g, t in zip(found, tensors)]
        return None, *(p.sum_to_size(t.shape) for p, t in zip(parts, tensors))


def dynamics(
    system: System, name: str = "forward_dynamics", parameters: Sequence[str] = ()
) -> Callable[..., Any]:
    """Return the function of tensors q (..., nq), v (..., nv) and tau (or vdot) (..., nv) that gives vdot (or tau),
    (..., nv).

    `name` is "forward_dynamics" or "inverse_dynamics" (of trees). Gradients by q are by its entries, along motions.
    With names of `parameters`, such as "load.mass", the function takes a fourth tensor with their values one after the
    other, the same for all states, and has gradients by them too.
    """
    made = ambient.bridged(system, name, parameters)

    def called(q: Any, v: Any, x: Any, *p: Any) -> Any:
        if len(p) != bool(parameters):
            raise TypeError(f"{name} takes {3 + bool(parameters)} tensors, but {3 + len(p)} were given.")
        return _Dynamics.apply(made, q, v, x, p[0] if p else torch.zeros(0))

    return called


def forward_dynamics(system: System, q: Any, v: Any, tau: Any) -> Any:
    """vdot (..., nv) of tensors q (..., nq), v (..., nv) and tau (..., nv), loops respected."""
    return dynamics(system, "forward_dynamics")(q, v, tau)


def inverse_dynamics(system: System, q: Any, v: Any, vdot: Any) -> Any:
    """tau (..., nv) of tensors q (..., nq), v (..., nv) and vdot (..., nv), of a tree."""
    return dynamics(system, "inverse_dynamics")(q, v, vdot)
