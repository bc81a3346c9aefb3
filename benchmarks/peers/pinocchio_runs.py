"""Motions by Pinocchio: accelerations from its constrained dynamics, steps by a Runge-Kutta method of fourth order in
Python, since Pinocchio has no integrators of its own.

Two of its algorithms give the accelerations: `constraintDynamics` (a sparse factorisation, exact to rounding) and
`lcaba` (elimination joint by joint, quicker for many loops; its exactness depends on the proximal settings). Loops
drift, unless errors are fed back after Baumgarte, which only `constraintDynamics` does.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from benchmarks.peers.coordinates import Array
from benchmarks.peers.pinocchio_loops import PinocchioLoops, pinocchio_loops
from benchmarks.peers.runs import Run

# Accuracy, regularisation and iterations of the proximal solver for each algorithm: `constraintDynamics` as elsewhere
# in these benchmarks, `lcaba` with the regularisation that its documentation calls typical and with a larger one, which
# is slower and more exact.
METHODS = {
    "constraintDynamics": ("constraintDynamics", 1e-12, 1e-10, 10),
    "lcaba": ("lcaba", 1e-9, 1e-6, 20),
    "lcaba, mu 1e-4": ("lcaba", 1e-11, 1e-4, 30),
}
Dynamics = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def pinocchio_run(problem: Any, method: str, steps: int, baumgarte: float = 0.0) -> Run:
    """A motion of `steps` steps between each two sample times by a method of METHODS; `baumgarte` is the rate [1/s] at
    which errors of the loops decay, as a part of 1 / step."""
    if baumgarte and METHODS[method][0] == "lcaba":
        raise ValueError("lcaba takes no notice of Baumgarte's parameters: choose constraintDynamics.")
    step = problem.duration / (problem.samples * steps)
    loops = pinocchio_loops(problem.system, problem.planar, baumgarte / step)
    accelerate = pinocchio_dynamics(loops, METHODS[method], problem)
    rate, unit = configuration_rate(loops.model), unit_configuration(loops.model)
    to = loops.to
    q0, v0 = to.configuration(problem.q), to.velocity(problem.q, problem.v)
    visited = np.empty((problem.samples + 1, loops.model.nq))

    def go() -> None:
        q, v = q0, v0
        visited[0] = q
        for k in range(1, problem.samples + 1):
            for _ in range(steps):
                q, v = _runge_kutta(accelerate, rate, q, v, step)
            visited[k] = q

    fed_back = f", Baumgarte {baumgarte:g} / step" if baumgarte else ""
    return Run(
        "Pinocchio + RK4",
        f"{method}, step {step:.3g} s{fed_back}",
        go,
        lambda: to.catena_configuration(np.array([unit(q) for q in visited])),
    )


def pinocchio_dynamics(
    loops: PinocchioLoops, method: tuple[str, float, float, int], problem: Any
) -> Dynamics:
    """The accelerations (nv,) of Pinocchio's coordinates as a function of q and v, with the problem's constant joint
    forces."""
    name, *proximal = method
    model, constraints, datas = loops.model, loops.constraints, loops.datas
    data, settings = model.createData(), pin.ProximalSettings(*proximal)
    if name == "lcaba":
        pin.computeJointMinimalOrdering(model, data, constraints)
    else:
        pin.initConstraintDynamics(model, data, constraints, datas)
    tau = loops.to.effort(problem.q, problem.v, problem.tau)
    function, unit = getattr(pin, name), unit_configuration(model)
    return lambda q, v: function(model, data, unit(q), v, tau, constraints, datas, settings)


def configuration_rate(model: pin.Model) -> Dynamics:
    """dq/dt (nq,) as a function of q and v; it is v where no joint has a quaternion.

    Stepping q in its own numbers keeps the order of the method, which steps composed by `pin.integrate` would not.
    """
    if model.nq == model.nv:
        return lambda q, v: v
    balls = _balls(model)
    plain_q = np.setdiff1d(np.arange(model.nq), [i + k for i, _ in balls for k in range(4)])
    plain_v = np.setdiff1d(np.arange(model.nv), [i + k for _, i in balls for k in range(3)])

    def rate(q: Array, v: Array) -> Array:
        result = np.empty(model.nq)
        result[plain_q] = v[plain_v]
        for i, j in balls:
            x, y, z, w = q[i : i + 4]
            a, b, c = 0.5 * v[j : j + 3]
            result[i : i + 4] = (
                w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a, -x * a - y * b - z * c
            )  # fmt: skip
        return result

    return rate


def unit_configuration(model: pin.Model) -> Callable[[Array], Array]:
    """q with quaternions of unit length, as Pinocchio needs them; q itself where there are none."""
    if model.nq == model.nv:
        return lambda q: q
    places = [slice(i, i + 4) for i, _ in _balls(model)]

    def unit(q: Array) -> Array:
        result = q.copy()
        for at in places:
            result[at] *= 1.0 / np.sqrt(result[at] @ result[at])
        return result

    return unit


def _balls(model: pin.Model) -> list[tuple[int, int]]:
    """Where spherical joints begin in q and v."""
    balls = [(j.idx_q, j.idx_v) for j in model.joints if (j.nq, j.nv) == (4, 3)]
    if len(balls) != model.nq - model.nv:
        raise ValueError("Only spherical joints may have quaternions here.")
    return balls


def _runge_kutta(accelerate: Dynamics, rate: Dynamics, q: Array, v: Array, h: float) -> tuple[Array, Array]:
    """One classical step of fourth order."""
    r1, a1 = rate(q, v), accelerate(q, v)
    q2, v2 = q + 0.5 * h * r1, v + 0.5 * h * a1
    r2, a2 = rate(q2, v2), accelerate(q2, v2)
    q3, v3 = q + 0.5 * h * r2, v + 0.5 * h * a2
    r3, a3 = rate(q3, v3), accelerate(q3, v3)
    q4, v4 = q + h * r3, v + h * a3
    r4, a4 = rate(q4, v4), accelerate(q4, v4)
    return q + (h / 6.0) * (r1 + 2.0 * (r2 + r3) + r4), v + (h / 6.0) * (a1 + 2.0 * (a2 + a3) + a4)
