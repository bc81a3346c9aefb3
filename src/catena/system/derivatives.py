"""Derivatives of dynamics at the public edge, in lanes: by steps along the velocity components, by velocities, by
forces or accelerations."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.dynamics.forward_derivatives import forward_derivatives
from catena.dynamics.inverse_derivatives import inverse_derivatives
from catena.errors import StateError
from catena.kernels import Algorithm, is_plain
from catena.system import arrays
from catena.system.evaluation import Evaluator
from catena.system.response import Responder

Three = tuple[np.ndarray, np.ndarray, np.ndarray]


def of_inverse_dynamics(evaluator: Evaluator, inputs: Mapping[str, Any], out: Any = None) -> Three:
    """tau by q, by v and by vdot, each (*batch, nv, nv), of the tree."""
    return _evaluated(evaluator, inverse_derivatives, inputs, ("by_q", "by_v", "H"), out)


def of_forward_dynamics(evaluator: Evaluator, inputs: Mapping[str, Any], out: Any = None) -> Three:
    """vdot by q, by v and by tau, each (*batch, nv, nv), of a tree that accelerates by the given qdd."""
    return _evaluated(evaluator, forward_derivatives, inputs, ("by_q", "by_v", "by_tau"), out)


def of_closed_dynamics(responder: Responder, inputs: Mapping[str, Any], out: Any = None) -> Three:
    """vdot by q, by v and by tau, each (*batch, nv, nv), of a mechanism with loops."""
    found, batch = responder.respond(
        inputs["q"], inputs["qd"], inputs["tau"], acting=False, f_ext=inputs["f_ext"], a_base=inputs["a_base"]
    )
    results = [x.reshape(*batch, *x.shape[1:]) for x in (found.by_q, found.by_v, found.by_tau)]
    for k, y in enumerate([] if out is None else _targets(out)):
        if y.shape != results[k].shape or not y.flags.writeable:
            raise StateError(
                f"out holds an array of shape {y.shape}; give arrays of shape {results[k].shape}."
            )
        y[...] = results[k]
        results[k] = y
    return results[0], results[1], results[2]


def _evaluated(
    evaluator: Evaluator, algorithm: Algorithm, inputs: Mapping[str, Any], names: Sequence[str], out: Any
) -> Three:
    into = None if out is None else dict(zip(names, _targets(out), strict=True))
    result = evaluator.evaluate(algorithm, inputs, into=into)
    if into is not None and is_plain():
        for name in names:
            into[name][...] = result[name]
        result = into
    first, second, third = (result[name] for name in names)
    return first, second, third


def _targets(out: Any) -> list[np.ndarray]:
    found = arrays.as_list("out", out, np.ndarray, "three arrays, such as an earlier call returned")
    if len(found) != 3:
        raise StateError(f"out has {len(found)} arrays; give three, such as an earlier call returned.")
    return found
