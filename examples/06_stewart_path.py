"""A Stewart platform flies a figure of eight and banks into its curves, with a crate on it that nobody told it of.

Its six legs are the only motors. Inverse kinematics turns the path of the platform into leg lengths, inverse dynamics
into leg forces known ahead, and PID control of the legs adds what is missing.

Usage: python examples/06_stewart_path.py [folder for the pictures; default: out/06_stewart_path]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.simulation.control import PID, SymbolicControl
from catena.simulation.references import OrientationPath, PosePath, TaskPath, function
from catena.view import draw
from pictures import Pictures

LEGS = [f"leg{k}" for k in range(1, 7)]
LAP, DURATION, RATE = 4.0, 6.0, 250.0
CRATE = 8.0  # [kg], the platform itself has 20
GAINS = {"kp": 2e4, "ki": 8e4, "kd": 1.2e3}


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    path = figure_of_eight()
    runs = fly(path)
    asked = path.at(runs["PID alone"].t).q
    errors = {words: distance(run, asked) for words, run in runs.items()}
    forces, lengths = (
        leg_values(run := runs["with forces known ahead"], run.tau),
        1e3 * leg_values(run, run.q),
    )

    print(
        f"A platform flies a figure of eight, a lap in {LAP:g} s, with {CRATE:g} kg that nobody told it of."
    )
    for words, error in errors.items():
        print(f"    off its path, {words:24}   {error.max():.2f} mm at most")
    print(f"    ways of the legs                         {lengths.min():+.0f} to {lengths.max():+.0f} mm")
    print(f"    forces of the legs                       {forces.min():.0f} to {forces.max():.0f} N")
    print(f"    five loops open by                       {run.closure_error:.0e} m")

    out.figure(ways(runs, asked), "path.png")
    out.figure(legs(run.t, lengths, forces), "legs.png")
    out.figure(accuracy(runs, errors), "errors.png")
    out.figure(poses(run), "poses.png")
    out.film(run, traces=["platform"])


def fly(path: PosePath) -> dict[str, ct.Trajectory]:
    """The platform with its crate, by PID alone and with the leg forces that an empty platform would need."""
    empty, m = ct.generators.stewart(), ct.generators.stewart()
    m.add_body("crate", CRATE, inertia=0.1)
    m.add_joint("straps", "platform", "crate", ct.Fixed(), in_parent=ct.Pose(p=(0.15, 0.0, 0.2)))
    s = m.system()
    legs = TaskPath(s, "platform", path, step=0.1)
    q, v, vdot = legs.at(np.arange(0.0, DURATION + 0.5 / RATE, 1.0 / RATE))
    known = empty.system().inverse_dynamics(q, v, vdot)

    pid = PID(s, legs, **GAINS, rate=RATE)
    ahead = SymbolicControl(lambda t, q, v, tau: tau, inputs=lambda t: known[round(t * RATE)], rate=RATE)
    fixed = {"integrator": "rk4", "step": 1.0 / RATE}
    return {
        "PID alone": ct.simulate(s, q[0], v[0], DURATION, control=pid, **fixed),
        "with forces known ahead": ct.simulate(s, q[0], v[0], DURATION, control=ahead + pid, **fixed),
    }


def figure_of_eight() -> PosePath:
    """The platform's place and its turning, as formulas; velocities and accelerations are found by differentiation."""
    w = 2.0 * np.pi / LAP
    place = function(
        lambda t: [0.2 * np.sin(w * t), 0.1 * np.sin(2 * w * t), 1.0 + 0.05 * np.sin(w * t) ** 2]
    )
    bank = function(lambda t: [-0.2 * np.sin(2 * w * t), 0.15 * np.sin(w * t), 0.0 * t])
    return PosePath(place, OrientationPath(bank))


def distance(run: ct.Trajectory, asked: np.ndarray) -> np.ndarray:
    """How far the middle of the platform is from where it should be [mm]."""
    return 1e3 * np.linalg.norm(run.position("platform") - asked[:, :3], axis=-1)


def leg_values(run: ct.Trajectory, x: np.ndarray) -> np.ndarray:
    at = run.system.slice_q if x is run.q else run.system.slice_v
    return np.concatenate([x[:, at(leg)] for leg in LEGS], axis=-1)


def ways(runs: dict[str, ct.Trajectory], asked: np.ndarray) -> Figure:
    figure = Figure(figsize=(9.0, 5.4), layout="constrained")
    above, side = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    for ax, (i, j) in ((above, (0, 1)), (side, (0, 2))):
        for (words, run), style in zip(runs.items(), ("C1-", "C0-")):
            p = run.position("platform")
            ax.plot(p[:, i], p[:, j], style, label=words)
        ax.plot(asked[:, i], asked[:, j], "k--", linewidth=0.8, label="asked for")
        ax.set(ylabel=f"{'xyz'[j]} [m]", aspect="equal")
    above.set_title("The path of the platform, from above and from the side")
    side.set_xlabel("x [m]")
    figure.legend(*above.get_legend_handles_labels(), loc="outside right")
    return figure


def legs(t: np.ndarray, lengths: np.ndarray, forces: np.ndarray) -> Figure:
    figure = Figure(figsize=(8.0, 5.4), layout="constrained")
    length, force = figure.subplots(2, sharex=True)
    length.plot(t, lengths, label=LEGS)
    force.plot(t, forces)
    length.set(title="What the legs do", ylabel="way from the middle [mm]")
    force.set(xlabel="t [s]", ylabel="force of the motor [N]", xlim=(0.0, t[-1]))
    figure.legend(loc="outside right")
    return figure


def accuracy(runs: dict[str, ct.Trajectory], errors: dict[str, np.ndarray]) -> Figure:
    figure = Figure(figsize=(8.0, 5.4), layout="constrained")
    off, open_by = figure.subplots(2, sharex=True)
    for (words, run), style in zip(runs.items(), ("C1", "C0")):
        off.plot(run.t, errors[words], style, label=words)
        gap = np.abs(run.system.closure(run.q)[0]).max(axis=-1)
        open_by.semilogy(run.t, np.maximum(gap, 1e-18), style, label=words)
    off.set(
        title="How far the platform is off its path, and how far the loops are open",
        ylabel="off the path [mm]",
    )
    open_by.set(xlabel="t [s]", ylabel="closure error [m]", xlim=(0.0, DURATION), ylim=(1e-18, 1e-9))
    off.legend(loc="upper right", ncols=2)
    off.set_ylim(0.0, 1.3 * max(error.max() for error in errors.values()))
    return figure


def poses(run: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    for i, when in enumerate((0.0, LAP / 8, LAP * 5 / 8), 1):
        k = int(np.argmin(np.abs(run.t - when)))
        ax = figure.add_subplot(1, 3, i, projection="3d")
        draw(run.system, run.q[k], ax, title=f"t = {run.t[k]:.1f} s")
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
