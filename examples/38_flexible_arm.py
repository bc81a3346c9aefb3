"""A flexible two-link arm with a payload: a quick path leaves it swinging, the same path shaped does not.

The path is given twice, each time with half of its way, the second half a period of the lowest mode later (a zero
vibration shaper): what the first half excites, the second extinguishes.

Usage: python examples/38_flexible_arm.py [folder for the pictures; default: out/38_flexible_arm]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
TURN, QUICK, END = {"shoulder": 0.8, "elbow": -0.6}, 0.4, 1.2


def arm() -> ct.Mechanism:
    """Two slender links and a payload of 0.2 kg, in a horizontal plane."""
    m = ct.Mechanism("flexible arm", gravity=(0, 0, 0))
    for name, length in (("upper", 0.6), ("lower", 0.5)):
        beam = ct.Beam(length, 8e-5, (4e-9, 3e-9), 2700, 7e10, modes={"y": 3}, interface=True)
        m.add_body(name, flexible=beam)
    m.add_body("motor", mass=0.3, inertia=(1e-4, 1e-4, 1e-4))
    m.add_body("payload", mass=0.2, inertia=(1e-4, 1e-4, 1e-4))
    m.add_joint("shoulder", "ground", "upper", ct.Revolute("z"))
    m.add_joint("weld", "upper", "motor", ct.Fixed(), in_parent=ct.Pose(p=(0.6, 0, 0)))
    m.add_joint("elbow", "motor", "lower", ct.Revolute("z"))
    m.add_joint("grip", "lower", "payload", ct.Fixed(), in_parent=ct.Pose(p=(0.5, 0, 0)))
    return m


def smooth(t: float) -> np.ndarray:
    """A path from 0 to 1 within the quick time, its rate and acceleration, both zero at its ends."""
    x = min(max(t / QUICK, 0.0), 1.0)
    way = np.array([x**3 * (10 - 15 * x + 6 * x**2), 30 * (x - x**2) ** 2, 60 * x * (1 - x) * (1 - 2 * x)])
    return way / [1.0, QUICK, QUICK**2]


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m = arm()
    s = m.system()
    held = m.lock("shoulder").lock("elbow", at=TURN["elbow"]).system()
    period = 2 * np.pi / held.modes(held.neutral()).frequencies[0]
    print(f"lowest mode of the arm with its motors held: {1 / period:.2f} Hz")
    figure = Figure(figsize=(8, 4.5))
    axes = figure.subplots()
    for word, delays, colour in (("quick", (0.0,), ORANGE), ("shaped", (0.0, period / 2), BLUE)):
        paths = {
            joint: lambda t, way=way, delays=delays: tuple(
                way * np.mean([smooth(t - d) for d in delays], axis=0)
            )
            for joint, way in TURN.items()
        }
        run = ct.simulate(
            s, s.neutral(), np.zeros(s.nv), duration=END, motion=paths, samples=401, rtol=1e-6, atol=1e-8
        )
        still = s.pose(_at_the_end(s), "payload").p
        away = np.linalg.norm(run.position("payload") - still, axis=-1)
        rest = away[run.t > QUICK + period / 2]
        print(f"{word}: the payload swings by up to {1e3 * rest.max():.2f} mm when the motors stand")
        axes.semilogy(run.t, 1e3 * away + 1e-3, color=colour, label=word)
    axes.set(xlabel="time [s]", ylabel="way to the goal [mm]", title="A flexible arm moves its payload")
    axes.legend()
    axes.grid(alpha=0.3)
    out.figure(figure, "arm.png")
    out.film(run, exaggerate=10.0, traces=["payload"])


def _at_the_end(s: ct.System) -> np.ndarray:
    q = s.neutral()
    for joint, way in TURN.items():
        q[s.slice_q(joint)] = way
    return q


if __name__ == "__main__":
    main(sys.argv[1:])
