"""A double pendulum: ten seconds of motion from a model file, the audit of its energy, and chaos in a batch.

Usage: python examples/01_double_pendulum.py [folder for the pictures; default: out/01_double_pendulum]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.simulation.results.audit import energy_balance
from pictures import Pictures

HERE = Path(__file__).resolve()
STARTS = {"level": np.radians([90.0, 0.0]), "high": np.radians([165.0, 0.0])}
APART = 1e-6


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)

    m = ct.load(HERE.parent / "models" / "double_pendulum.toml")
    s = m.system()

    # Four pendulums at once: two starts, and a twin of each whose elbow is bent by a microradian.
    q = np.array([[start, start + [0.0, APART]] for start in STARTS.values()])  # (2, 2, nq)
    run = ct.simulate(s, q, np.zeros(s.nv), duration=10.0, rtol=1e-10, atol=1e-12, samples=2001)
    apart = dict(zip(STARTS, np.linalg.norm(run.q[:, 1] - run.q[:, 0], axis=-1)))

    # The first of them by itself, for a closer look.
    start = STARTS["level"]
    one = ct.simulate(s, start, np.zeros(s.nv), duration=10.0, samples=2001)
    balance = energy_balance(one)
    lost = -balance.works["friction"]

    print(f"Let go level, the pendulum swings for 10 s and leaves {lost[-1]:.2f} J in its shoulder.")
    print(f"Energy balance: every joule is found again to {np.max(np.abs(balance.rest)):.0e} J.")
    parted = run.t[np.argmax(apart["high"] > 1.0)]
    print(
        f"Let go {APART:.0e} rad apart, two level ones end {apart['level'][-1]:.0e} rad apart; two high ones are "
        f"strangers (a radian apart) after {parted:.1f} s: chaos."
    )

    out.figure(motion(one), "motion.png")
    out.figure(energies(one, lost, balance.rest), "energy.png")
    out.figure(chaos(run.t, apart), "chaos.png")
    out.figure(paths(run), "paths.png")
    out.film(one, traces=["tip"])


def motion(run: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(8.0, 4.6), layout="constrained")
    angle, speed = figure.subplots(2, sharex=True)
    for joint in run.system.joints:
        angle.plot(run.t, np.degrees(run[joint]), label=joint)
        speed.plot(run.t, run.velocity(joint))
    figure.suptitle("Let go level: joint angles and speeds", x=0.02, ha="left")
    angle.set(ylabel="angle [deg]")
    speed.set(xlabel="t [s]", ylabel="speed [rad/s]", xlim=(0, run.t[-1]))
    figure.legend(loc="outside upper right", ncols=2)
    return figure


def energies(run: ct.Trajectory, lost: np.ndarray, rest: np.ndarray) -> Figure:
    figure = Figure(figsize=(8.0, 4.8), layout="constrained")
    figure.suptitle("Where the energy is", x=0.02, ha="left")
    shares, drift = figure.subplots(2, sharex=True, height_ratios=(2, 1))
    height = run.potential_energy - run.potential_energy.min()
    layers = {"kinetic": run.kinetic_energy, "potential, from its lowest": height, "lost by friction": lost}
    shares.stackplot(run.t, *layers.values(), labels=list(layers), alpha=0.8)
    shares.set(ylabel="energy [J]")
    figure.legend(loc="outside upper right", ncols=3)
    drift.plot(run.t, rest, color="C3")
    drift.set(xlabel="t [s]", ylabel="sum - start [J]", xlim=(0, run.t[-1]))
    return figure


def chaos(t: np.ndarray, apart: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    ax = figure.subplots()
    for name, distance in apart.items():
        ax.semilogy(t, distance, label=f"let go {name}")
    ax.axhline(2 * np.pi, color="grey", linewidth=0.8, linestyle=":")
    ax.annotate(
        "one turn", (0.1, 2 * np.pi), xytext=(0, 3), va="bottom", textcoords="offset points", color="grey"
    )
    ax.set(title="Distance of two pendulums that start a microradian apart", xlim=(0, t[-1]))
    ax.set(xlabel="t [s]", ylabel="distance [rad]", ylim=(1e-8, 1e2))
    ax.legend(loc="lower right")
    return figure


def paths(run: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(8.0, 4.7), layout="constrained")
    pairs = zip(figure.subplots(1, 2, sharex=True, sharey=True), STARTS, run.position("tip"))
    for ax, name, pair in pairs:
        for path, label in zip(pair, ("one", "its twin")):
            ax.plot(path[:, 0], path[:, 2], linewidth=0.8, label=label)
        ax.plot(0, 0, "ko", markersize=4)
        ax.set(title=f"Path of the tip, let go {name}", xlabel="x [m]", aspect="equal")
    figure.axes[0].set_ylabel("z [m]")
    figure.axes[0].legend(loc="upper right")
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
