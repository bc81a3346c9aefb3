"""A gripper picks up a box and puts it down elsewhere. Touching, lifting off, landing and letting go are events
that change the structure: the box stands on the table, then it is part of the gripper, then it stands again.

Usage: python examples/14_pick_and_place.py [folder for the pictures; default: out/14_pick_and_place]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.view import draw
from pictures import Pictures, alike

SIZE, OPEN, HIGH = 0.1, 0.1, 0.35  # [m]
GAINS = {"along": (800.0, 120.0), "lift": (1500.0, 150.0), "left": (400.0, 40.0), "right": (400.0, 40.0)}


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m = cell()
    s = m.system()
    q, v = s.neutral(), np.zeros(s.nv)

    def grip(here: ct.Instant) -> ct.Mechanism:
        fingers = {f"hold {side}": (f"{side} finger", "box", ct.Fixed()) for side in ("left", "right")}
        return here.system.mechanism.changed(attach=fingers, at=here.configuration)

    def land(here: ct.Instant) -> ct.Mechanism:
        return here.system.mechanism.changed(
            detach=["hold left", "hold right"],
            attach={"stands": ("ground", "bottom", ct.Fixed())},
            at=here.configuration,
        )

    events = [
        ct.Event(lambda here: float(here.position("left pad")[1] - here.position("box")[1] - SIZE / 2), "fingers touch",
                 direction=-1, then=grip),
        ct.at_time(1.4, then=lambda m, q, v: m.detach("stands"), name="lift off"),
        ct.Event(lambda here: float(here.position("box")[2] - SIZE / 2) + (1.0 if here.t < 2.5 else 0.0), "box lands",
                 direction=-1, then=land),
    ]  # fmt: skip
    control = ct.PerStructure(Moving)
    run = ct.simulate(s, q, v, 5.0, events=events, control=control, rtol=1e-7, atol=1e-9, check=False)
    box = run.position("box")
    print("A gripper moves a box from one place to another.")
    for change in run.transitions:
        part = run.segment_at(change.t).system
        print(
            f"    t = {change.t:.3f} s, {change.name:<14}{part.nv} coordinates, {part.plan.total_constraints} "
            f"constraints, {change.energy_loss:.4f} J lost"
        )
    print(
        f"    the box is moved by                       {box[-1, 0] - box[0, 0]:.3f} m and ends "
        f"{box[-1, 2] - SIZE / 2:.1e} m above the table"
    )
    out.figure(pictures(run), "cell.png")
    out.figure(curves(run, box), "box.png")
    out.film(run)


def cell() -> ct.Mechanism:
    m = ct.Mechanism("pick and place")
    m.add_body("carriage", mass=8.0, inertia=0.1, visuals=ct.shapes.Box((0.2, 0.2, 0.1)))
    m.add_body("hand", mass=3.0, inertia=0.03, visuals=ct.shapes.Box((0.08, 0.3, 0.05)))
    m.add_joint("along", "ground", "carriage", ct.Prismatic("x"), in_parent=ct.Pose(p=(0, 0, 0.8)))
    m.add_joint("lift", "carriage", "hand", ct.Prismatic("z"), in_parent=ct.Pose(p=(0, 0, -HIGH)))
    for side, y in (("left", 1.0), ("right", -1.0)):
        m.add_body(
            f"{side} finger",
            mass=0.4,
            com=(0, 0, -0.1),
            inertia=0.002,
            visuals=ct.shapes.Box((0.06, 0.02, 0.2), pose=ct.Pose(p=(0, 0.01 * y, -0.1))),
        )
        m.add_joint(
            side,
            "hand",
            f"{side} finger",
            ct.Prismatic("-y" if y > 0 else "y"),
            in_parent=ct.Pose(p=(0, y * OPEN, 0)),
        )
        m.add_frame(f"{side} pad", f"{side} finger", ct.Pose(p=(0, 0, -0.2)))
    m.add_body("box", mass=2.0, inertia=2.0 * SIZE**2 / 6, visuals=ct.shapes.Box((SIZE, SIZE, SIZE)))
    m.add_joint("box moves", "ground", "box", ct.Free(), actuated=False)
    m.add_frame("bottom", "box", ct.Pose(p=(0, 0, -SIZE / 2)))
    m.add_visual("ground", ct.shapes.Box((0.8, 0.34, 0.04), pose=ct.Pose(p=(0.25, 0, -0.02))))
    return m.attach("stands", "ground", "bottom", ct.Fixed())


def wanted(t: float) -> dict[str, float]:
    """Where the axes are to be: down, close, up, across, down, open, up."""
    times = [0.0, 0.6, 1.2, 1.4, 2.0, 2.8, 3.4, 4.0, 4.2, 4.8]
    lift = [0.0, -0.2, -0.2, -0.2, 0.1, 0.1, -0.2, -0.2, -0.2, 0.1]
    along = [0, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0.5]
    close = [0, 0, 0.055, 0.055, 0.055, 0.055, 0.055, 0.055, 0.0, 0.0]
    k = min(len(times) - 2, int(np.searchsorted(times, t, side="right")) - 1)
    s = min(1.0, (t - times[k]) / (times[k + 1] - times[k]))
    s = s * s * (3.0 - 2.0 * s)
    lift_now, along_now, close_now = (x[k] + s * (x[k + 1] - x[k]) for x in (lift, along, close))
    return {"along": along_now, "lift": lift_now, "left": close_now, "right": close_now}


class Moving:
    """PD control of the axes that the present structure has in its tree, with the weight of what hangs on them."""

    def __init__(self, system: ct.System) -> None:
        self.system = system
        self.axes = [name for name in GAINS if name in system.joints]
        self.weight = system.bias_force(system.neutral(), np.zeros(system.nv))

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau, goal, s = np.zeros(self.system.nv), wanted(t), self.system
        for name in self.axes:
            kp, kd = GAINS[name]
            at = s.slice_v(name)
            tau[at] = kp * (goal[name] - q[s.slice_q(name)]) - kd * v[at] + self.weight[at]
        return tau


def pictures(run: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(10.4, 3.4), layout="constrained")
    for i, (t, word) in enumerate(((0.0, "waits"), (1.3, "grips"), (2.6, "carries"), (5.0, "has let go")), 1):
        then = run.at(min(t, run.t[-1]))
        ax = figure.add_subplot(1, 4, i, projection="3d")
        title = f"t = {t:.1f} s: {word}"
        draw(then.system, then.q, ax, view=(15.0, -60.0), floor=False, mass_centres=False, title=title)
    alike(figure)
    return figure


def curves(run: ct.Trajectory, box: np.ndarray) -> Figure:
    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    ax = figure.subplots()
    ax.plot(run.t, box[:, 0], label="x")
    ax.plot(run.t, box[:, 2], label="z")
    for change in run.transitions:
        ax.axvline(change.t, color="0.7", linewidth=0.8)
        ax.annotate(
            change.name,
            (change.t, 0.98),
            xycoords=("data", "axes fraction"),
            rotation=90,
            va="top",
            fontsize=8,
        )
    ax.set(title="The box", xlabel="t [s]", ylabel="position [m]", xlim=(0.0, run.t[-1]))
    ax.grid(alpha=0.3)
    ax.legend()
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
