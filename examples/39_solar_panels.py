"""A satellite with two flexible solar panels turns by jets: what the panels do to its attitude, momentum kept.

Usage: python examples/39_solar_panels.py [folder for the pictures; default: out/39_solar_panels]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
PANEL, THRUST, BURN = 6.0, 4.0, 3.0


def satellite() -> ct.Mechanism:
    """A free-flying hub with a panel on either side that bends along z."""
    m = ct.Mechanism("satellite", gravity=(0, 0, 0))
    m.add_body("hub", mass=200.0, inertia=(60.0, 60.0, 60.0))
    m.add_joint("flight", "ground", "hub", ct.Free())
    panel = ct.Beam(PANEL, 4e-3, (2e-7, 2e-3), 500.0, 2e9, modes={"z": 2}, damping=0.005)
    for side, turn in (("left", 0.0), ("right", np.pi)):
        m.add_body(side, flexible=panel)
        place = ct.Pose(p=(0.5 if side == "left" else -0.5, 0, 0), rpy=(0, 0, turn))
        m.add_joint(f"{side} root", "hub", side, ct.Fixed(), in_parent=place)
        m.add_frame(f"{side} tip", side, ct.Pose(p=(PANEL, 0, 0)))
    return m


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    s = satellite().system()

    def jets(t, q, v):
        """A couple about y that accelerates the hub and then stops it."""
        moment = THRUST if t < BURN else -THRUST if t < 2 * BURN else 0.0
        return {"flight": np.array([0.0, moment, 0.0, 0.0, 0.0, 0.0])}

    run = ct.simulate(s, duration=20.0, control=jets, samples=401, rtol=1e-7, atol=1e-9)
    after = run.t > 2 * BURN
    momentum = s.momentum(run.q[after], run.v[after])
    # Of a rotation about y by a small angle the third entry of the quaternion is half the angle.
    angle = np.degrees(2 * np.arcsin(run["flight"][:, 5]))
    tip = run["left.modes"] @ satellite().bodies["left"].flexible.shapes((PANEL, 0, 0)).S[2]
    print(
        f"the hub turns by {angle[after].mean():.2f} degrees and swings by {np.ptp(angle[after]):.3f} after the jets"
    )
    print(f"the tips of the panels bend by up to {1e3 * np.abs(tip).max():.1f} mm")
    print(f"momentum after the jets changes by {np.ptp(momentum, axis=0).max():.1e}")

    figure = Figure(figsize=(8, 5))
    top, bottom = figure.subplots(2, 1, sharex=True)
    top.plot(run.t, angle, color=BLUE)
    top.set(ylabel="attitude [degrees]", title="Jets turn a satellite, its panels swing on")
    bottom.plot(run.t, 1e3 * tip, color=ORANGE)
    bottom.set(xlabel="time [s]", ylabel="tip of a panel [mm]")
    for axes in (top, bottom):
        axes.grid(alpha=0.3)
    figure.tight_layout()
    out.figure(figure, "panels.png")
    out.film(run, exaggerate=20.0)


if __name__ == "__main__":
    main(sys.argv[1:])
