"""Forward and inverse dynamics as functions of PyTorch tensors: batched, differentiable once, computed in Catena's
lanes on the CPU."""

from collections.abc import Callable
from typing import Any

import torch

from catena.bridges import ambient
from catena.system import System


class _Dynamics(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, system: System, name: str, q: Any, v: Any, x: Any) -> Any:
        context.save_for_backward(q, v, x)
        context.system, context.name = system, name
        given = ambient.as_numbers(*(t.detach().cpu() for t in (q, v, x)))
        return torch.as_tensor(ambient.value(system, name, *given)).to(dtype=q.dtype, device=q.device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, gradient: Any) -> Any:
        tensors = context.saved_tensors
        given = ambient.as_numbers(*(t.detach().cpu() for t in (*tensors, gradient)))
        found = ambient.pulled(context.system, context.name, *given)
        parts = [torch.as_tensor(g).to(dtype=t.dtype, device=t.device) for g, t in zip(found, tensors)]
        return None, None, *(p.sum_to_size(t.shape) for p, t in zip(parts, tensors))


def dynamics(system: System, name: str = "forward_dynamics") -> Callable[[Any, Any, Any], Any]:
    """The function of tensors q (..., nq), v (..., nv) and tau (or vdot) (..., nv) that gives vdot (or tau), (..., nv).

    `name` is "forward_dynamics" or "inverse_dynamics" (of trees). Gradients by q are by its entries, along motions.
    """
    ambient.checked(system, name, ())
    return lambda q, v, x: _Dynamics.apply(system, name, q, v, x)


def forward_dynamics(system: System, q: Any, v: Any, tau: Any) -> Any:
    """vdot (..., nv) of tensors q (..., nq), v (..., nv) and tau (..., nv), loops respected."""
    return dynamics(system, "forward_dynamics")(q, v, tau)


def inverse_dynamics(system: System, q: Any, v: Any, vdot: Any) -> Any:
    """tau (..., nv) of tensors q (..., nq), v (..., nv) and vdot (..., nv), of a tree."""
    return dynamics(system, "inverse_dynamics")(q, v, vdot)
