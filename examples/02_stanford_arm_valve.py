"""A Stanford arm closes a tap by half a turn: the task of van der Merwe's thesis, section 4.6, with its five figures.

In one second the gripper swings over a tap 0.5 m from the base, in another half it turns the tap by 180 degrees against
5 N m. Inverse dynamics says which joint forces that takes. Then the arm is simulated with them.

Usage: python examples/02_stanford_arm_valve.py [folder for the pictures; default: out/02_stanford_arm_valve]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.view import draw
from pictures import Pictures

# The gripper's axis, its own x, points down onto the tap.
TAP = ct.Pose(p=(0.0, 0.0, 0.5), rpy=(0.0, 0.0, -np.pi / 2))
ENGAGED, CLOSED, RESISTANCE = 1.0, 1.5, 5.0
COORDINATES = {"waist": "rad", "shoulder": "rad", "reach": "m", "wrist": "rad", "turn": "rad"}
OFF = (0.0, np.radians(2.0))


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)

    arm = ct.generators.stanford_arm()
    s = arm.system()
    start = s.assemble(arm.initial.q)
    over_tap = posture_over_tap(arm, start)
    points = np.stack([start, over_tap, over_tap + [0, 0, 0, 0, np.pi]])
    times = [0.0, ENGAGED, CLOSED]
    motions = {joint: ct.references.cubic(times, points[:, s.slice_q(joint)]) for joint in s.joints}
    path = ct.references.JointPath(s, motions)

    t = np.linspace(0.0, CLOSED, 1501)
    q, v, vdot = path.at(t)
    tap = resistance(t)
    tau = s.inverse_dynamics(q, v, vdot, f_ext={"tip": tap})

    before, after = tau[t < ENGAGED][-1], tau[t >= ENGAGED][0]
    lifted = s.potential_energy(q[-1]) - s.potential_energy(q[0])
    work = np.trapezoid(np.sum(tau * v, axis=1), t)
    print(f"over the tap: {', '.join(f'{c} {x:.4f}' for c, x in zip(labels(''), over_tap))}")
    print(f"the gripper takes hold: turn {before[4]:.3f} -> {after[4]:.3f} N m,")
    print(f"and the waist bears the reaction, {before[0]:.3f} -> {after[0]:.3f} N m")
    print(f"work of the joints {work:.3f} J = {lifted:.3f} J for the arm + 5 N m x pi for the tap")

    # Once with these forces alone, once with feedback, each also from a start that is 2 degrees off.
    def against_tap(t, q, v):
        return -resistance(t) @ s.jacobian(path.at(t).q, "tip")

    controls = {
        "forces alone": ct.control.Feedforward(s, path),
        "computed torque": ct.control.ComputedTorque(s, path, kp=900.0),
    }
    runs = {}
    for name, control in controls.items():
        for off in OFF:
            q0, v0 = start + [off, off, 0, 0, 0], np.zeros(s.nv)
            runs[name, off] = ct.simulate(
                s,
                q0,
                v0,
                CLOSED,
                control=control + against_tap,
                forces={"tip": resistance},
                rtol=1e-6,
                samples=301,
            )
        exact, astray = (np.linalg.norm(runs[name, off].position("tip")[-1] - TAP.p) for off in OFF)
        print(
            f"{name}: the gripper ends {exact:.1g} m from the tap, {astray:.1g} m if it starts 2 degrees off"
        )

    forces = [f"{c} [{'N' if unit == 'm' else 'N m'}]" for c, unit in COORDINATES.items()]
    figures = {
        "figure_4_2_positions": lines(t, q, "Joint positions", labels("")),
        "figure_4_3_velocities": lines(t, v, "Joint velocities", labels("/s")),
        "figure_4_4_accelerations": lines(t, vdot, "Joint accelerations", labels("/s$^2$")),
        "figure_4_5_gripper": lines(t, -tap[:, :1], "Instant on the tap, clockwise", ["gripper [N m]"]),
        "figure_4_6_forces": lines(t, tau, "Joint forces", forces),
        "tracking": tracking(runs, path),
        "stills": stills(s, path),
    }
    for name, figure in figures.items():
        out.figure(figure, f"{name}.png")
    out.film(runs["computed torque", OFF[1]], traces=["tip"])


def posture_over_tap(arm: ct.Mechanism, near: np.ndarray) -> np.ndarray:
    """The coordinates with the gripper on the tap, its jaws turned by 90 degrees: pin it there and close the loop."""
    tip = arm.frames["tip"].pose
    held = arm.attach("held", "ground", "gripper", ct.Revolute("x"), in_parent=TAP, in_child=tip)
    return held.system(cut=["held"]).assemble({"turn": np.pi / 2}, guess=near)


def resistance(t):
    """The wrench of the tap on the gripper, (..., 6): while it is turned, 5 N m against the turn about x."""
    wrench = np.zeros((*np.shape(t), 6))
    wrench[..., 0] = np.where(np.asarray(t) >= ENGAGED, -RESISTANCE, 0.0)
    return wrench


def labels(per: str) -> list[str]:
    return [f"{name} [{unit}{per}]" for name, unit in COORDINATES.items()]


def lines(t, values, title, names) -> Figure:
    figure = Figure(figsize=(8.0, 3.8), layout="constrained")
    ax = figure.subplots()
    ax.plot(t, values, label=names)
    finish(ax, title)
    return figure


def tracking(runs, path) -> Figure:
    figure = Figure(figsize=(8.0, 3.8), layout="constrained")
    ax = figure.subplots()
    for (name, off), run in runs.items():
        error = np.linalg.norm(run.q - path.at(run.t).q, axis=1)
        ax.semilogy(
            run.t, np.maximum(error, 1e-12), label=f"{name},\n{'2 degrees off' if off else 'exact start'}"
        )
    ax.set_ylabel("[rad, m]")
    finish(ax, "Distance from the planned joint positions")
    return figure


def finish(ax, title: str) -> None:
    ax.axvline(ENGAGED, color="grey", linewidth=0.8, linestyle=":")
    ax.set(xlabel="t [s]", xlim=(0, CLOSED))
    ax.set_title(f"{title}; dotted: the gripper takes hold", loc="left")
    ax.grid(alpha=0.3)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def stills(s: ct.System, path) -> Figure:
    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    for i, t in enumerate((0.0, 0.5, ENGAGED), 1):
        draw(s, path.at(t).q, figure.add_subplot(1, 3, i, projection="3d"), title=f"t = {t} s")
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
