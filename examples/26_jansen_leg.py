"""A leg of Theo Jansen's beach animals, from its eleven lengths: where the foot goes, how fast, and with what torque.

Usage: python examples/26_jansen_leg.py [folder for the pictures; default: out/26_jansen_leg]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"


def leg() -> ct.Linkage:
    """The lengths [m] as they were published, and a sketch for the way they are put together."""
    drawn = ct.Linkage("Jansen leg", fixed={"O": (0, 0), "Z": (-0.38, -0.078)}, density=2.0)
    drawn.bars({"O-A": 0.15, "A-B": 0.50, "Z-B": 0.415, "Z-D": 0.401, "B-D": 0.558, "A-C": 0.619})
    drawn.bars({"Z-C": 0.393, "D-E": 0.394, "C-E": 0.367, "E-F": 0.657, "C-F": 0.490})
    drawn.sketch({"A": (0.15, 0), "B": (-0.3, 0.4), "C": (-0.3, -0.4)})
    drawn.sketch({"D": (-0.8, 0), "E": (-0.7, -0.4), "F": (-0.5, -0.9)})
    return drawn


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    s = leg().mechanism(at={"O-A": 0.0}).system()
    found, ways = s.diagnose(s.neutral()), ct.branches(s, {"O": 0.0})
    print(f"{found.mobility} degree of freedom, {len(ways)} ways to put it together")
    cycle = s.drive("O", samples=361, rate=2.0 * np.pi)
    print(f"the crank turns all the way round: {cycle.turns}")
    foot, speed = cycle.position("F"), cycle.velocity("F")
    low = foot[:, 2] < foot[:, 2].min() + 0.02
    print(
        f"the foot walks {np.ptp(foot[low, 0]):.3f} m within 2 cm of the ground, at {-speed[low, 0].mean():.2f} m/s"
    )
    angle = np.degrees(cycle.transmission_angle("B", between=("A", "Z")))
    print(f"transmission angle at B: {angle.min():.0f} to {angle.max():.0f} degrees")
    torque = s.inverse_dynamics(cycle.q, cycle.v, cycle.vdot, actuated=["O"])["O"][:, 0]
    print(f"the crank takes {torque.min():.1f} to {torque.max():.1f} N m at one turn a second")

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k in range(0, 360, 30):
        draw(left, s, cycle.q[k], "#d3d9df" if k else INK)
    left.plot(foot[:, 0], foot[:, 2], color=ORANGE)
    left.set(aspect="equal", xlabel="x [m]", ylabel="z [m]")
    right.plot(np.degrees(cycle.values), torque, color=BLUE)
    right.set(xlabel="crank [degrees]", ylabel="torque [N m]")
    out.figure(figure, "jansen.png")
    out.film(cycle.course(), traces=["F"])


def draw(axes, system: ct.System, q: np.ndarray, colour: str) -> None:
    """Draw the bars of the leg."""
    places = {name: system.pose(q, name).p[[0, 2]] for name in "OZABCDEF"}
    for body in system.mechanism.bodies:
        if body != "ground":
            x = np.array([places[name] for name in (*body.split("-"), body.split("-")[0])])
            axes.plot(x[:, 0], x[:, 1], color=colour, linewidth=1.5, zorder=2 if colour == INK else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
