"""A chain of four links with its tip pinned: ten seconds of van der Merwe's closed-chain example (section 5.5.5).

The thesis takes Euler steps of 1 ms and pulls the tip back by a corrective force (5.75), which its figures 5.8 and 5.9
show; that run is repeated here. The other figures come from an adaptive run whose loop is closed at every step.

Usage: python examples/03_four_link_closed_chain.py [folder for the pictures; default: out/03_four_link_closed_chain]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.view import draw
from pictures import Pictures

STIFFNESS, DAMPING = 60.0, 40.0
PIN = np.array([2.0, 0.0, 3.0])
# At rest link 1 lies level and the others hang straight down from the pin, which bears them and half of link 1.
PIN_AT_REST = (0.0, -30.0 - 20.0 / 2)
REST = np.array([np.pi / 2, -np.pi, np.pi / 2, -np.pi / 2])
ANGLES = ("joint 1", "joint 2", "joint 3", "joint 4")


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)

    s = ct.generators.four_link_chain(damping=0.25).system(cut=["tip"])
    start = still = np.zeros(4)
    run = ct.simulate(s, start, still, duration=10.0, samples=4001)
    force = on_pin(run)
    size = np.linalg.norm(force, axis=1)

    pull_back = ct.Corrective(stiffness=STIFFNESS, damping=DAMPING)
    coarse = ct.simulate(s, start, still, duration=10.0, integrator="euler", step=1e-3, drift=pull_back)
    gap = PIN - coarse.position("tip")
    correction = STIFFNESS * gap - DAMPING * in_ground(coarse, coarse.twist("tip"))
    coarse_size = np.linalg.norm(on_pin(coarse), axis=1)

    at_rest = s.potential_energy(REST)
    first = ", ".join(f"{x:.7f}" for x in run.acceleration[0, 1:])
    row("", "here", "in the thesis")
    row("first accelerations, joints 2 to 4", f"{first} rad/s^2", "10.5263158, -10.5263158 twice")
    row("first force on the pin, z", f"{force[0, 1]:.7f} N", "-4.4736842 N")
    row("peak force on the pin", f"{size.max():.1f} N, by Euler {coarse_size.max():.1f} N", "about 230 N")
    row("  when links 2 to 4 are pulled straight", f"at {run.t[size.argmax()]:.2f} s", "")
    row("largest corrective force", f"{np.max(np.abs(correction)):.2f} N", "very small beside it")
    row("tip off its pin, by Euler", f"{np.max(np.abs(gap)) * 1e3:.1f} mm", "a figure")
    row("tip off its pin, by projection", f"{run.closure_error:.0e} m", "")
    row("energy at 0 s, at 10 s, at rest", f"{run.energy[0]:.1f}, {run.energy[-1]:.1f}, {at_rest:.1f} J", "")
    row("force on the pin at 10 s, at rest, z", f"{force[-1, 1]:.1f}, {PIN_AT_REST[1]:.1f} N", "")

    early = run.t <= 2.5
    acc, xz = "Joint accelerations [rad/s$^2$]", ("x", "z")
    figures = {
        "figure_5_04_accelerations": lines(run.t, run.acceleration, acc, ANGLES),
        "figure_5_05_velocities": lines(run.t, run.v, "Joint velocities [rad/s]", ANGLES),
        "figure_5_06_positions": lines(run.t, run.q, "Joint positions [rad]; dotted: at rest", ANGLES, REST),
        "figure_5_07_accelerations": lines(run.t[early], run.acceleration[early], acc, ANGLES),
        "figure_5_08_correction": lines(coarse.t, correction[:, [0, 2]], "Corrective force, Euler [N]", xz),
        "figure_5_09_discrepancy": lines(coarse.t, -1e3 * gap[:, [0, 2]], "Tip off its pin, Euler [mm]", xz),
        "figure_5_10_tip_force": lines(
            run.t, force, "Force on the pin [N]; dotted: at rest", xz, PIN_AT_REST
        ),
        "figure_5_11_tip_force": lines(run.t[early], force[early], "Force on the pin [N]", xz),
        "energy": lines(run.t, run.energy, "Energy [J]; dotted: at rest", ["energy"], [at_rest]),
        "stills": stills(run),
    }
    for name, figure in figures.items():
        out.figure(figure, f"{name}.png")
    out.film(run)


def in_ground(run: ct.Trajectory, vectors: np.ndarray) -> np.ndarray:
    """The linear parts (samples, 3) of spatial vectors at the tip, from the axes of link 4 to those of ground."""
    return (run.pose("tip")[:, :3, :3] @ vectors[:, 3:, None])[..., 0]


def on_pin(run: ct.Trajectory) -> np.ndarray:
    """The force of the tip on its pin along x and z, (samples, 2)."""
    return -in_ground(run, run.reaction("tip"))[:, [0, 2]]


def row(what: str, here: str, thesis: str) -> None:
    print(f"{what:40} {here:>44}   {thesis}".rstrip())


def lines(t, values, title, labels, rest=()) -> Figure:
    """Curves over time, with dotted lines at what they come to."""
    figure = Figure(figsize=(8.0, 3.8), layout="constrained")
    ax = figure.subplots()
    curves = ax.plot(t, values, linewidth=1.2, label=labels)
    for level, curve in zip(rest, curves):
        ax.axhline(level, color=curve.get_color(), linewidth=0.9, linestyle=":")
    ax.set(xlabel="t [s]", xlim=(0, t[-1]))
    ax.set_title(title, loc="left")
    ax.grid(alpha=0.3)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def stills(run: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(10.0, 6.0), layout="constrained")
    times = (0.0, 0.6, 1.0, 1.3, 2.0)
    shown = {f"t = {t:.1f} s": run.q[np.searchsorted(run.t, t)] for t in times} | {"at rest": REST}
    for i, (title, q) in enumerate(shown.items(), 1):
        draw(run.system, q, figure.add_subplot(2, 3, i, projection="3d"), title=title)
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
