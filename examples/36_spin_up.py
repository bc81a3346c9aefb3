"""A beam that is spun up: centrifugal forces stiffen it, and it ends straight (Kane, Ryan and Banerjee's manoeuvre).

Usage: python examples/36_spin_up.py [folder for the pictures; default: out/36_spin_up]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
LENGTH, SPEED, RISE = 8.0, 6.0, 15.0


def beam_on_a_hub(modes: int) -> ct.Mechanism:
    """Wu and Haug's beam, clamped to a hub that turns about z."""
    m = ct.Mechanism("spin-up", gravity=(0, 0, 0))
    m.add_body("beam", flexible=ct.Beam(LENGTH, 7.299e-5, 8.218e-9, 2766.67, 68.95e9, modes={"y": modes}))
    m.add_joint("hub", "ground", "beam", ct.Revolute("z"))
    m.add_frame("tip", "beam", ct.Pose(p=(LENGTH, 0, 0)))
    return m


def hub(t: float) -> tuple[float, float, float]:
    """The prescribed angle of the hub, its rate and acceleration."""
    w = 2 * np.pi / RISE
    if t >= RISE:
        return SPEED * (t - RISE / 2), SPEED, 0.0
    rate = SPEED / RISE
    return (
        rate * (t**2 / 2 + (np.cos(w * t) - 1) / w**2),
        rate * (t - np.sin(w * t) / w),
        rate * (1 - np.cos(w * t)),
    )


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    figure = Figure(figsize=(8, 4.5))
    axes = figure.subplots()
    for modes, colour in ((1, ORANGE), (2, BLUE)):
        m = beam_on_a_hub(modes)
        s, beam = m.system(), m.bodies["beam"].flexible
        run = ct.simulate(
            s,
            s.neutral(),
            np.zeros(s.nv),
            duration=RISE,
            motion={"hub": hub},
            samples=151,
            rtol=1e-7,
            atol=1e-9,
        )
        tip = run["beam.modes"] @ beam.shapes((LENGTH, 0, 0)).S[1]
        words = f"{modes} mode{'s' if modes > 1 else ''}"
        print(f"{words}: largest deflection {tip.min():.4f} m at {run.t[tip.argmin()]:.1f} s; the reference is "
              f"-0.7509 m at 6.5 s")  # fmt: skip
        axes.plot(run.t, tip, color=colour, label=words)
    axes.set(
        xlabel="time [s]", ylabel="deflection of the tip [m]", title="A beam spun up to 6 rad/s within 15 s"
    )
    axes.legend()
    axes.grid(alpha=0.3)
    out.figure(figure, "spin_up.png")
    out.film(run)


if __name__ == "__main__":
    main(sys.argv[1:])
