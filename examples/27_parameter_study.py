"""A thousand cart-poles with a thousand masses and lengths, in one run: which of them a controller can hold upright.

Usage: python examples/27_parameter_study.py [folder for the pictures; default: out/27_parameter_study]
"""

import sys
import time

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from pictures import Pictures

MASSES, LENGTHS = np.linspace(0.05, 1.5, 40), np.linspace(0.1, 1.2, 25)
DURATION, STEP = 10.0, 0.01


def cart_pole() -> ct.Mechanism:
    """A pole on a cart."""
    m = ct.Mechanism("cart-pole")
    m.add_body("cart", mass=1.0)
    m.add_body("pole", mass=0.2, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001))
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"), damping=0.01, actuated=False)
    return m


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m = cart_pole()
    s = m.system()
    mass, length = np.meshgrid(MASSES, LENGTHS, indexing="ij")
    given = {"pole.mass": mass, "pole.com.z": length}
    options = {"integrator": "rk4", "step": STEP, "samples": 101, "progress": False, "check": False}
    # The first run compiles what later ones find.
    ct.simulate(s, [0.0, 0.3], [0.0, 0.0], 2 * STEP, parameters=given, **options)
    began = time.perf_counter()
    run = ct.simulate(s, [0.0, 0.3], [0.0, 0.0], DURATION, parameters=given, **options)
    together = time.perf_counter() - began
    began = time.perf_counter()
    for k in range(20):
        other = m.with_body("pole", mass=MASSES[k], com=(0, 0, LENGTHS[k]))
        alone = ct.simulate(other.system(), [0.0, 0.3], [0.0, 0.0], DURATION, **options)
        assert np.abs(alone.q - run.q[k, k]).max() < 1e-12 * np.abs(alone.q).max()
    each = (time.perf_counter() - began) / 20
    print(f"{run.q.shape[0] * run.q.shape[1]} runs of {DURATION:g} s in {together:.2f} s; one after the other "
          f"{each * mass.size:.0f} s: {each * mass.size / together:.0f} times as fast")  # fmt: skip

    # One controller, made for the cart-pole as described, on all of them.
    def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        force = 2.0 * q[..., 0] + 45.0 * np.sin(q[..., 1]) + 4.0 * v[..., 0] + 9.0 * v[..., 1]
        return np.stack([np.clip(force, -60.0, 60.0), np.zeros_like(force)], axis=-1)

    held = ct.simulate(s, [0.0, 0.3], [0.0, 0.0], 5.0, control=law, parameters=given, **options)
    upright = np.abs(held.q[..., -1, 1]) < 0.05
    print(f"the controller holds {int(upright.sum())} of {upright.size} upright")

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    period = run.q[..., 1].std(axis=-1)
    for axes, values, title in (
        (left, period, "how far free poles swing [rad]"),
        (right, upright, "held upright"),
    ):
        drawn = axes.pcolormesh(LENGTHS, MASSES, values, cmap="viridis", shading="nearest")
        axes.set(xlabel="mass centre [m]", ylabel="mass [kg]", title=title)
        figure.colorbar(drawn, ax=axes)
    out.figure(figure, "study.png")
    out.film(held.state(*np.argwhere(upright)[-1]))


if __name__ == "__main__":
    main(sys.argv[1:])
