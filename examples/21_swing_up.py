"""A pole that a cart swings up, by direct collocation: Catena's forward dynamics as a CasADi function, IPOPT for
the rest.

Usage: python examples/21_swing_up.py [folder for the pictures; default: out/21_swing_up]
"""

import sys
from typing import Any

import casadi
import numpy as np
from matplotlib.figure import Figure
from scipy.interpolate import CubicSpline

import catena as ct
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
DURATION, INTERVALS, STRONGEST, TRACK = 2.0, 40, 20.0, 2.0


def cart_pole() -> ct.Mechanism:
    """A cart on a rail, and a pole that hangs from it at rest."""
    m = ct.Mechanism("cart-pole", gravity=(0, 0, -9.81))
    m.add_body("cart", mass=1.0, inertia=0.01)
    m.add_body("pole", mass=0.3, com=(0, 0, -0.5), inertia=(0.02, 0.02, 0.001))
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"), actuated=False)
    return m


def swing_up(system: ct.System) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (n + 1,), states (n + 1, 4) and forces (n + 1,) of least effort that end upright and at rest."""
    f = system.equations("forward_dynamics").casadi()
    h, n = DURATION / INTERVALS, INTERVALS
    problem = casadi.Opti()
    x, u = problem.variable(4, n + 1), problem.variable(1, n + 1)

    def rate(state: Any, force: Any) -> Any:
        return casadi.vertcat(state[2:], f(state[:2], state[2:], casadi.vertcat(force, 0.0)))

    rates = [rate(x[:, k], u[:, k]) for k in range(n + 1)]
    for k in range(n):
        # Hermite and Simpson: the middle of each interval follows from its ends.
        middle = (x[:, k] + x[:, k + 1]) / 2 + h / 8 * (rates[k] - rates[k + 1])
        between = rate(middle, (u[:, k] + u[:, k + 1]) / 2)
        problem.subject_to(x[:, k + 1] == x[:, k] + h / 6 * (rates[k] + 4 * between + rates[k + 1]))
    problem.subject_to(x[:, 0] == [0, 0, 0, 0])
    problem.subject_to(x[:, n] == [0, np.pi, 0, 0])
    problem.subject_to(problem.bounded(-STRONGEST, u, STRONGEST))
    problem.subject_to(problem.bounded(-TRACK, x[0, :], TRACK))
    problem.minimize(h * casadi.sumsqr(u))
    problem.set_initial(x[1, :], np.linspace(0.0, np.pi, n + 1))
    problem.solver("ipopt", {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes"})
    solution = problem.solve()
    return np.linspace(0.0, DURATION, n + 1), solution.value(x).T, solution.value(u)


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    system = cart_pole().system()
    t, x, u = swing_up(system)
    print(f"forces up to {np.abs(u).max():.2f} N swing the pole up in {DURATION} s")

    # The simulation knows nothing of collocation; between the nodes the force is a line.
    def push(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([np.interp(time, t, u), 0.0])

    run = ct.simulate(system, x[0, :2], x[0, 2:], DURATION, control=push, samples=t, check=False)
    print(f"simulated with these forces, the pole ends {abs(run.q[-1, 1] - np.pi):.4f} rad from upright")
    at_end = system.linearise(x[-1, :2], x[-1, 2:])
    print(f"there it falls with exp(t / {1.0 / np.linalg.eigvals(at_end.A).real.max():.3f} s)")

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.6, 1))
    fine = np.linspace(0.0, DURATION, 33)
    for k, (cart, angle) in enumerate(CubicSpline(t, x[:, :2])(fine)):
        shade = 0.15 + 0.85 * k / len(fine)
        left.plot([cart, cart - np.sin(angle)], [0, -np.cos(angle)], color=BLUE, alpha=shade)
        left.plot([cart], [0], "s", color=INK, alpha=shade, markersize=5)
    left.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title="later is darker")
    right.plot(t, u, color=ORANGE)
    right.set(xlabel="t [s]", ylabel="force on the cart [N]")
    out.figure(figure, "swing_up.png")
    out.film(run)


if __name__ == "__main__":
    main(sys.argv[1:])
