"""A free-flying robot drifts to a fixed handle and takes hold of it (Lampariello, Abiko, Hirzinger, example 1): the
plan re-roots itself at the handle, two coordinates are left and no constraint. The alternative, which keeps the tree
and adds a loop, moves the same way and costs more.

Usage: python examples/09_grapple_a_handle.py [folder for the pictures; default: out/09_grapple_a_handle]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.view import draw
from pictures import Pictures, alike

MEETING = 1.6  # [s]


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m = robot()
    s = m.system()
    q, v = s.neutral(), np.zeros(s.nv)
    v[s.slice_v("base")] = [0, 0, 0.1, 0.25, 0.0, 0]
    v[s.slice_v("elbow")] = -0.4

    # The handle is where the hand comes by.
    handle = ct.simulate(s, q, v, MEETING).position("hand")[-1]
    m.add_visual("ground", ct.shapes.Cylinder(0.03, 0.3, pose=ct.Pose(p=handle)))
    s = m.system()

    def distance(here: ct.Instant) -> float:
        return float(here.position("hand")[0] - handle[0])

    def grapple(here: ct.Instant) -> ct.Mechanism:
        return here.system.mechanism.attach(
            "fixture", "ground", "hand", ct.Revolute("z"), at=here.configuration
        )

    touch = ct.Event(distance, "grapple", direction=1, then=grapple)
    run = ct.simulate(s, q, v, 4.0, events=touch)
    change = run.transitions[0]
    free, held = run.segments[0].system, run.segments[1].system
    print("A one-joint free-flyer takes hold of a fixed handle by a joint of one freedom.")
    print(f"    coordinates before, after                 {free.nv}, {held.nv}")
    print(f"    constraints after                         {held.plan.total_constraints}")
    print(f"    it happens at                             {change.t:.4f} s")
    print(f"    energy lost                               {change.energy_loss:.5f} J")
    print(
        f"    impulse of the fixture                    {np.linalg.norm(change.impulse['fixture'][3:]):.4f} N s"
    )
    print("Connectivity before, and after:")
    print(ct.connectivity(free, base="bus"))
    print(ct.connectivity(held))

    kept = held.mechanism.system(cut=["fixture"])
    start = ct.transfer(held, run.segments[1].q[0], run.segments[1].v[0], kept)
    span = run.t[-1] - change.t
    other = ct.simulate(kept, *start, span)
    error = np.abs(other.position("bus")[-1] - run.position("bus")[-1]).max()
    print(
        f"The alternative keeps the tree: {kept.nv} coordinates, {kept.plan.total_constraints} constraints; after "
        f"{span:.2f} s its bus is {error:.1e} m away."
    )
    out.figure(pictures(run, change.t, handle), "grapple.png")
    out.figure(curves(run), "motion.png")
    out.film(run, traces=["hand"])


def robot() -> ct.Mechanism:
    m = ct.Mechanism("free-flyer with one joint", gravity=(0, 0, 0))
    m.add_body("bus", mass=20.0, inertia=(0.6, 0.8, 0.9), visuals=ct.shapes.Box((0.5, 0.4, 0.4)))
    m.add_body(
        "arm",
        mass=3.0,
        com=(0.25, 0, 0),
        inertia=(0.01, 0.07, 0.07),
        visuals=ct.shapes.Box((0.5, 0.08, 0.08), pose=ct.Pose(p=(0.25, 0, 0))),
    )
    m.add_joint("base", "ground", "bus", ct.Free(), actuated=False)
    m.add_joint("elbow", "bus", "arm", ct.Revolute("z"), in_parent=ct.Pose(p=(0.25, 0, 0)))
    m.add_frame("hand", "arm", ct.Pose(p=(0.5, 0, 0)))
    return m


def pictures(run: ct.Trajectory, when: float, handle: np.ndarray) -> Figure:
    figure = Figure(figsize=(9.0, 3.0), layout="constrained")
    path = run.position("hand")
    for i, (t, word) in enumerate(
        ((0.0, "drifts"), (when, "takes hold"), (run.t[-1], "turns about the handle")), 1
    ):
        then = run.at(t)
        ax = figure.add_subplot(1, 3, i, projection="3d")
        draw(then.system, then.q, ax, view=(75.0, -90.0), title=f"t = {t:.1f} s: {word}")
        ax.plot(*path[run.t <= t].T, color="C1", linewidth=1.2, zorder=1e4)
        ax.plot(*handle[:, None], "*", color="C3", markersize=11, zorder=1e4)
    alike(figure, zoom=1.35)
    return figure


def curves(run: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    joints, energy = figure.subplots(2, sharex=True)
    joints.plot(run.t, run["elbow"], label="elbow")
    joints.plot(run.t, run["fixture"], label="fixture")
    joints.set(title="The fixture is there once the hand has hold of the handle", ylabel="angle [rad]")
    energy.plot(run.t, run.kinetic_energy)
    energy.set(xlabel="t [s]", ylabel="kinetic energy [J]", xlim=(0.0, run.t[-1]), ylim=(0.0, None))
    joints.legend()
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
