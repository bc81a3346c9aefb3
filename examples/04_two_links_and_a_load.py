"""Two links swing a load: the illustrative example of van der Merwe's thesis (section 6.5), and where its recipe ends.

Usage: python examples/04_two_links_and_a_load.py [folder for the pictures; default: out/04_two_links_and_a_load]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.view import draw
from pictures import Pictures

# The mass centre of the load, and what the thesis gives. The load stays level, so its mass centre must not matter to
# the motion, only to how the links share it. The recipe of sections 6.4.4 and 6.4.5 counts a direction that a link
# blocks as one without inertia, which is right by symmetry only.
CASES = {
    "mass centre midway": ((0.0, 0.0, 0.0), "4.9428824 twice"),
    "mass centre 0.2 m aside": ((0.2, 0.0, 0.0), "2.683 and 5.828 by its recipe"),
}


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)

    row("", "here", "in the thesis")
    runs = {}
    for name, (com, thesis) in CASES.items():
        s = ct.generators.two_links_and_load(com).system()
        q, still = s.assemble(s.mechanism.initial.q), np.zeros(s.nv)
        vdot = s.forward_dynamics(q, still)
        links = ", ".join(f"{vdot[s.slice_v(base)][0]:.7f}" for base in ("base1", "base2"))
        row(f"both links let go, {name}", f"{links} rad/s^2", thesis)
        runs[name] = ct.simulate(s, q, still, duration=5.0, rtol=1e-11, samples=1001)

    run, aside = runs.values()
    a_r = s.jacobian(q, "load") @ vdot
    row("acceleration of the load, x and z", f"{a_r[3]:.7f}, {a_r[5]:.7f} m/s^2", "-5.2427184 twice")
    across = run.reaction("tip1")[0, 3:] @ (np.sqrt(0.5), 0.0, np.sqrt(0.5))
    row("force of a link on it, across the link", f"{across:.7f} N", "-0.8581393 N")
    holding = np.zeros(s.nv)
    holding[[s.slice_v(base).start for base in ("base1", "base2")]] = -31.819805
    left = np.max(np.abs(s.forward_dynamics(q, still, holding)))
    row("-31.819805 N m at both bases leave", f"{left:.0e} rad/s^2", "static equilibrium")
    error = np.max(np.abs(run["base1"][:, 0] - pendulum(run.t)))
    row("5 s of motion, off the exact pendulum", f"{error:.0e} rad", "")
    row("energy drift, loop open by", f"{run.energy_drift:.0e}, {run.closure_error:.0e} m", "")
    row("moving the mass centre changes angles by", f"{np.max(np.abs(run.q - aside.q)):.0e} rad", "")

    out.figure(stills(run), "stills.png")
    out.figure(motion(run), "motion.png")
    out.figure(shared_load(runs), "forces.png")
    out.film(run)


def row(what: str, here: str, thesis: str) -> None:
    print(f"{what:44} {here:>34}   {thesis}".rstrip())


def pendulum(t: np.ndarray) -> np.ndarray:
    """The exact angle below the level: both links and the load swing like one pendulum, 12.875 phi'' = -90 sin phi from
    45 degrees, whose solution is Jacobi's sn."""
    from scipy.special import ellipj, ellipk

    rate, k = np.sqrt(90.0 / 12.875), np.sin(np.pi / 8.0)
    sn = ellipj(ellipk(k**2) - rate * t, k**2)[0]
    return np.pi / 2.0 - 2.0 * np.arcsin(k * sn)


def stills(run: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    half = np.argmax(run["base1"][:, 0])
    for i, k in enumerate((0, half // 2, half), 1):
        ax = figure.add_subplot(1, 3, i, projection="3d")
        draw(run.system, run.q[k], ax, title=f"t = {run.t[k]:.2f} s")
    return figure


def motion(run: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(8.0, 6.4), layout="constrained")
    angle, place, energy = figure.subplots(3, sharex=True)
    angle.plot(run.t, np.degrees(run["base1"]), label="simulated")
    angle.plot(run.t[::40], np.degrees(pendulum(run.t[::40])), "k.", label="exact pendulum")
    angle.set(title="Motion of the links and the load", ylabel="link angle [deg]")
    load = run.position("load")
    place.plot(run.t, load[:, 0], label="x")
    place.plot(run.t, load[:, 2], label="z")
    place.set(ylabel="load [m]")
    energy.plot(run.t, run.kinetic_energy, label="kinetic")
    energy.plot(run.t, run.potential_energy, label="potential")
    energy.plot(run.t, run.energy, label="sum")
    energy.set(xlabel="t [s]", ylabel="energy [J]", xlim=(0, run.t[-1]))
    for ax in figure.axes:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def shared_load(runs: dict[str, ct.Trajectory]) -> Figure:
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    rows = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, (name, run) in zip(rows.T, runs.items()):
        for k, style in ((1, "-"), (2, "--")):
            force = run.reaction(f"tip{k}")[:, 3:]
            column[0].plot(run.t, force[:, 0], style, label=f"link {k}")
            column[1].plot(run.t, force[:, 2], style)
        column[0].set_title(name)
        column[1].set(xlabel="t [s]", xlim=(0, run.t[-1]))
    rows[0, 0].set_ylabel("force on load, x [N]")
    rows[1, 0].set_ylabel("force on load, z [N]")
    figure.legend(*rows[0, 0].get_legend_handles_labels(), loc="outside lower right", ncols=2)
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
