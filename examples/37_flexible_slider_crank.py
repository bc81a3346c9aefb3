"""A slider-crank whose rod bends: how far, with which bending moments, and that its loop stays closed.

Usage: python examples/37_flexible_slider_crank.py [folder for the pictures; default: out/37_flexible_slider_crank]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
CRANK, ROD, DIAMETER = 0.15, 0.3, 0.006


def slider_crank() -> ct.Mechanism:
    """A crank, a steel rod with two bending modes between its pins, and a slider."""
    m = ct.Mechanism("slider-crank", gravity=(0, 0, 0))
    m.add_body("crank", mass=0.5, com=(CRANK / 2, 0, 0), inertia=(1e-5, 1e-3, 1e-3))
    section = {"area": np.pi * DIAMETER**2 / 4, "inertia": np.pi * DIAMETER**4 / 64}
    m.add_body(
        "rod",
        flexible=ct.Beam(ROD, **section, density=7870, young=2e11, modes={"y": 2}, ends="pinned-pinned"),
    )
    m.add_body("slider", mass=0.03, inertia=(1e-5, 1e-5, 1e-5))
    m.add_joint("A", "ground", "crank", ct.Revolute("z"))
    m.add_joint("B", "crank", "rod", ct.Revolute("z"), in_parent=ct.Pose(p=(CRANK, 0, 0)))
    m.add_joint("C", "rod", "slider", ct.Revolute("z"), in_parent=ct.Pose(p=(ROD, 0, 0)))
    m.add_joint("D", "ground", "slider", ct.Prismatic("x"))
    return m


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m = slider_crank()
    s, rod = m.system(), m.bodies["rod"].flexible
    print(f"coordinates: {', '.join(s.joints)}; loop closed by {', '.join(s.loops)}")
    q = s.assemble({"A": 0.0})
    v = s.velocity(q, {"A": 150.0})
    run = ct.simulate(s, q, v, duration=0.042, samples=211, rtol=1e-8, atol=1e-10)
    middle = run["rod.modes"] @ rod.shapes((ROD / 2, 0, 0)).S[1]
    print(f"largest deflection of the middle: {1e3 * np.abs(middle).max():.3f} mm")
    print(f"the loop is open by {np.max(run.closure_error):.1e}, the energy drifts by {run.energy_drift:.1e}")
    x = np.linspace(0, ROD, 61)
    moments = rod.resultants(run["rod.modes"], x)["Mz"]
    print(f"largest bending moment: {np.abs(moments).max():.3f} N m")

    figure = Figure(figsize=(9, 6))
    (top, beside), (bottom, scale) = figure.subplots(2, 2, width_ratios=(40, 1))
    beside.axis("off")
    top.plot(1e3 * run.t, 1e3 * middle, color=BLUE)
    top.margins(x=0.0)
    top.set(
        xlabel="time [ms]", ylabel="deflection of the middle [mm]", title="A crank at 150 rad/s bends its rod"
    )
    top.grid(alpha=0.3)
    most = np.abs(moments).max()
    shade = bottom.pcolormesh(
        1e3 * run.t, x, moments.T, cmap="coolwarm", shading="auto", vmin=-most, vmax=most
    )
    bottom.set(xlabel="time [ms]", ylabel="along the rod [m]")
    figure.colorbar(shade, cax=scale, label="bending moment [N m]")
    figure.tight_layout()
    out.figure(figure, "rod.png")
    out.film(run, exaggerate=5.0)


if __name__ == "__main__":
    main(sys.argv[1:])
