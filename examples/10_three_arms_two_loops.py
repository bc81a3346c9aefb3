"""A free-flying robot with three arms grips its own hand and a fixed point, and closes two loops (Lampariello, Abiko,
Hirzinger, example 2). The inverted plan of the paper, and one rooted at the bus, move alike.

Usage: python examples/10_three_arms_two_loops.py [folder for the pictures; default: out/10_three_arms_two_loops]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.view import draw
from pictures import Pictures, alike

ARMS = {
    "arm1": (0.35, 0.0, ("y", "z", "y")),
    "arm2": (0.1, 0.35, ("z", "y", "z")),
    "arm3": (-0.3, -0.2, ("z", "y", "z")),
}


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m = robot()
    s = m.system()
    rng = np.random.default_rng(2)
    # The first two hands meet; where they and the third one are then, is where they are going to hold on.
    pair = m.attach("grip", "arm1/hand", "arm2/hand", ct.Spherical())
    met = pair.system()
    together = met.assemble(guess=met.integrate(met.neutral(), 0.3 * rng.normal(size=met.nv)))
    at = met.configuration(together)
    closed = pair.changed(
        attach={
            "hold": ("ground", "arm1/hand", ct.Fixed()),
            "foot": ("ground", "arm3/hand", ct.Spherical()),
        },
        at=at,
    )
    own = closed.system()
    inverted = closed.system(cut=["base", "grip", "foot"])
    q, v = ct.transfer(met, together, np.zeros(met.nv), s).q, 0.2 * rng.normal(size=s.nv)
    before = ct.transfer(s, q, v, own)
    print(
        "Three arms: the first holds a fixed point, the second grips its hand, the third stands on the ground."
    )
    print(f"    coordinates before, after                 {s.nv}, {own.nv}")
    print(
        f"    constraints, mobility                     {own.plan.total_constraints}, {own.diagnose(before.q).mobility}"
    )
    print(
        f"    energy before, lost                       {s.kinetic_energy(q, v):.4f} J, {before.energy_loss:.4f} J"
    )
    print("The paper's plan, the first arm inverted and both loops cut at the hands:")
    print(ct.connectivity(inverted))
    runs = []
    for system in (inverted, closed.system(root="bus")):
        start = ct.transfer(s, q, v, system)
        runs.append(ct.simulate(system, *start, 2.0, check=False))
    apart = max(np.abs(a - b).max() for a, b in zip(*(run.pose("bus")[-1] for run in runs)))
    print(f"    after 2 s the two plans differ by         {apart:.1e} (rad or m)")
    print(f"    loops are open by at most                 {max(run.closure_error for run in runs):.1e}")
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    shown = (
        (s, q, "free"),
        (own, before.q, "t = 0: holds on with three hands"),
        (runs[0].system, runs[0].q[-1], "t = 2 s: both loops closed"),
    )
    for i, (system, where, title) in enumerate(shown, 1):
        draw(system, where, figure.add_subplot(1, 3, i, projection="3d"), view=(35.0, -60.0), title=title)
    alike(figure, zoom=1.2)
    out.figure(figure, "loops.png")
    chart = Figure(figsize=(8.0, 3.4), layout="constrained")
    ax = chart.subplots()
    for k, axis in enumerate("xyz"):
        ax.plot(runs[0].t, runs[0].position("bus")[:, k], label=axis)
        ax.plot(runs[1].t, runs[1].position("bus")[:, k], "k:", linewidth=1.0)
    ax.set(
        title="The bus, held by three hands; dotted: the other plan",
        xlabel="t [s]",
        ylabel="position [m]",
        xlim=(0, 2),
    )
    ax.grid(alpha=0.3)
    ax.legend()
    out.figure(chart, "bus.png")
    out.film(runs[0], traces=["bus"])


def robot() -> ct.Mechanism:
    m = ct.Mechanism("three arms", gravity=(0, 0, 0))
    m.add_body("bus", mass=15.0, inertia=(0.5, 0.6, 0.7), visuals=ct.shapes.Box((0.6, 0.5, 0.3)))
    m.add_joint("base", "ground", "bus", ct.Free(), actuated=False)
    for arm, (x, y, axes) in ARMS.items():
        above, at = "bus", ct.Pose(p=(x, y, 0.1))
        for k, axis in enumerate(axes, 1):
            m.add_body(
                f"{arm}/link{k}",
                mass=1.5,
                com=(0.15, 0, 0),
                inertia=(0.005, 0.02, 0.02),
                visuals=ct.shapes.Box((0.3, 0.05, 0.05), pose=ct.Pose(p=(0.15, 0, 0))),
            )
            m.add_joint(f"{arm}/joint{k}", above, f"{arm}/link{k}", ct.Revolute(axis), in_parent=at)
            above, at = f"{arm}/link{k}", ct.Pose(p=(0.3, 0, 0))
        m.add_frame(f"{arm}/hand", above, ct.Pose(p=(0.3, 0, 0)))
    return m


if __name__ == "__main__":
    main(sys.argv[1:])
