"""Motions of mechanisms with loops that every engine is asked for, and what they are known to be from elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.mechanism.generators import four_bar, n_four_bars, stewart

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """A motion from the closed state q (nq,), v (nv,) under constant joint forces tau (nv,), looked at `samples` times
    after the start, evenly over the `duration` [s].

    `planar` mechanisms need only a point for a loop where others need two. `steps` are numbers of fixed steps between
    samples, from coarse to fine, at which methods of fourth order have errors from about 1e-2 to 1e-9 or reach what
    they can. `independent` gives the coordinates (samples + 1, nq) by another way than any of the engines compared.
    """

    name: str
    system: Any
    q: Array
    v: Array
    tau: Array
    duration: float
    samples: int
    planar: bool
    steps: tuple[int, ...]
    independent: Callable[["Problem"], Array]

    @property
    def times(self) -> Array:
        """The sample times, the start included."""
        return np.linspace(0.0, self.duration, self.samples + 1)

    def error(self, positions: Array, exact: Array) -> float:
        """The largest difference of any coordinate at any sample [rad or m]; infinite where the motion is lost."""
        if not np.isfinite(positions).all():
            return float("inf")
        return float(np.max(np.abs(self.system.difference(exact, positions))))


def driven_four_bar() -> Problem:
    """A crank-rocker of 1 dof for 2 s, started at 3 rad/s under 2.5 N m: it spins up to 29 rad/s."""
    system = four_bar().system()
    q = system.neutral()
    tau = np.zeros(system.nv)
    tau[system.slice_v("A")] = 2.5
    v = system.velocity(q, {"A": 3.0})
    return Problem(
        "four-bar", system, q, v, tau, 2.0, 10, True, (25, 50, 100, 200, 1000), constrained_in_scipy
    )


def row_of_four_bars(n: int = 40, duration: float = 0.5, samples: int = 10) -> Problem:
    """n four-bars in a row that fall from upright, where the tops move at 1 m/s; they lie flat, and are singular, first
    after about 0.72 s."""
    system = n_four_bars(n).system()
    q = system.neutral()
    v = system.velocity(q, {"pin0": 1.0})
    name = f"{n} four-bars, {duration:g} s"
    coarse = duration / samples < 0.07
    steps = (1, 2, 5, 20, 100) if coarse else (5, 10, 20, 50)
    tau = np.zeros(system.nv)
    return Problem(name, system, q, v, tau, duration, samples, True, steps, partial(pendulum, n))


def pushed_stewart() -> Problem:
    """A Stewart platform for 1 s under constant leg forces, a few percent off those that would carry it."""
    system = stewart().system()
    q, v = system.neutral(), np.zeros(system.nv)
    tau = system.inverse_dynamics(q, v, v)
    for k, factor in enumerate((1.04, 0.98, 1.02, 1.0, 0.96, 1.03), 1):
        tau[system.slice_v(f"leg{k}")] *= factor
    return Problem(
        "Stewart platform", system, q, v, tau, 1.0, 10, False, (1, 2, 5, 20, 100), constrained_in_scipy
    )


def pendulum(n: int, problem: Problem) -> Array:
    """A row of n four-bars on its branch of parallelograms: n + 1 rods turn by one angle, n bars only move along, so
    (n + (n + 1) / 3) theta'' = g (n + (n + 1) / 2) sin(theta) with rods of 1 kg and 1 m. Solved by SciPy."""
    from scipy.integrate import solve_ivp

    system = problem.system
    pull = -float(system.mechanism.gravity[2]) * (n + (n + 1) / 2) / (n + (n + 1) / 3)
    start = float(problem.q[system.slice_q("pin0")][0]), float(problem.v[system.slice_v("pin0")][0])
    theta = solve_ivp(
        lambda t, y: (y[1], pull * np.sin(y[0])), (0.0, problem.duration), start, "DOP853", problem.times,
        rtol=1e-13, atol=1e-13,
    ).y[0]  # fmt: skip
    result = np.empty((problem.samples + 1, system.nq))
    for joint in system.joints:
        result[:, system.slice_q(joint)] = (theta if joint.startswith("pin") else -theta)[:, None]
    return result


def constrained_in_scipy(problem: Problem) -> Array:
    """Pinocchio's accelerations, integrated by SciPy's method of eighth order to 1e-12: neither the dynamics nor the
    steps nor the projection of Catena take part."""
    from scipy.integrate import solve_ivp

    from benchmarks.peers.pinocchio_loops import pinocchio_loops
    from benchmarks.peers.pinocchio_runs import METHODS, configuration_rate, pinocchio_dynamics

    loops = pinocchio_loops(problem.system, problem.planar)
    accelerate = pinocchio_dynamics(loops, METHODS["constraintDynamics"], problem)
    rate, nq = configuration_rate(loops.model), loops.model.nq
    start = loops.to.configuration(problem.q), loops.to.velocity(problem.q, problem.v)
    answer = solve_ivp(
        lambda t, y: np.concatenate([rate(y[:nq], y[nq:]), accelerate(y[:nq], y[nq:])]),
        (0.0, problem.duration), np.concatenate(start), "DOP853", problem.times, rtol=1e-12, atol=1e-13,
    )  # fmt: skip
    return loops.to.catena_configuration(answer.y[:nq].T)
