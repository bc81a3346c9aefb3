"""Two arms carry an object between them: it follows a path while they hold it with a squeeze of their choice.

Twelve motors move six freedoms, so the same motion can be made with more or less force between the hands. The smallest
joint torques let the arms lean on each other; here they squeeze with 40 N instead.

Usage: python examples/08_two_arms_carry.py [folder for the pictures; default: out/08_two_arms_carry]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.simulation.control import PID, SymbolicControl
from catena.simulation.references import PosePath, TaskPath
from catena.view import draw
from pictures import Pictures

ARMS = (1, 2)
SQUEEZE = 40.0  # [N]
KNOWN, MORE = 10.0, 1.0  # what the arms know of the object, and what is in it [kg]
KP, KD, RATE, DURATION = 2000.0, 60.0, 500.0, 4.5


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    empty, m = ct.generators.arms_on_object(2), ct.generators.arms_on_object(2)
    m.add_body("filling", MORE, inertia=0.01)
    m.add_joint("inside", "object", "filling", ct.Fixed())
    # Cut at a hand, so that all twelve joints are in the tree and can be given torques.
    s, known = (each.system(cut=["grip2"]) for each in (m, empty))
    path = carrying(s)

    # The smallest torques for the motion come with a squeeze of their own; add what is missing to the one wanted.
    q, v, vdot = path.at(t := np.arange(0.0, DURATION + 0.5 / RATE, 1.0 / RATE))
    smallest = known.inverse_dynamics(q, v, vdot)
    leaning = squeeze(known, q, known.reactions(q, v, smallest))
    chosen = smallest + torques_of_squeeze(known, q, SQUEEZE - leaning)
    run = carry(s, path, chosen)
    asked, reached = s.pose(path.at(run.t).q, "object")[:, :3, 3], run.position("object")
    reactions = run.reactions()
    hands, felt = hand_forces(s, run.q, reactions), squeeze(s, run.q, reactions)

    miss = 1e3 * np.linalg.norm(reached - asked, axis=-1)
    norm = [np.linalg.norm(x, axis=-1).mean() for x in (smallest, chosen)]
    print(f"Two arms carry {KNOWN + MORE:g} kg, of which they know {KNOWN:g}, up, over and down.")
    print(f"    off its path, at most and at the end      {miss.max():.2f} mm, {miss[-1]:.2f} mm")
    print(f"    squeeze that the smallest torques have    {leaning.min():.0f} to {leaning.max():.0f} N")
    print(
        f"    squeeze asked for, and felt               {SQUEEZE:g} N, {felt.min():.1f} to {felt.max():.1f} N"
    )
    print(f"    mean norm of the torques, smallest: ours  {norm[0]:.0f} N m, {norm[1]:.0f} N m")
    print(f"    lifted at the end, by arm                 {', '.join(f'{x:.1f} N' for x in hands[:, -1, 2])}")
    print(f"    loop through both arms open by            {run.closure_error:.0e} m")

    out.figure(poses(run), "poses.png")
    out.figure(way(run.t, asked, reached, miss), "path.png")
    out.figure(torques(run), "torques.png")
    out.figure(sharing(run.t, hands, felt, t, leaning), "forces.png")
    out.film(run)


def carrying(s: ct.System) -> TaskPath:
    """Up, over and around, and down, at rest at each point."""
    home = s.pose(s.neutral(), "object")
    up, turned = ct.Pose(p=(0.0, 0.0, 0.15)), ct.Pose(p=(0.05, 0.25, 0.15), rpy=(0.0, 0.0, np.pi / 6))
    down = ct.Pose(p=(0.05, 0.25, 0.0), rpy=(0.0, 0.0, np.pi / 6))
    poses = [home, *(ct.Pose(p=home.p) * x for x in (up, turned, down))]
    return TaskPath(s, "object", PosePath.through([0.25, 1.25, 2.75, 3.75], poses), step=0.1)


def carry(s: ct.System, path: TaskPath, torques: np.ndarray) -> ct.Trajectory:
    """Follow the path with PD control and torques (samples, nv) known ahead."""
    ahead = SymbolicControl(lambda t, q, v, tau: tau, inputs=lambda t: torques[round(t * RATE)], rate=RATE)
    control, begin = ahead + PID(s, path, kp=KP, kd=KD, rate=RATE), path.at(0.0)
    return ct.simulate(s, begin.q, begin.v, DURATION, control=control, integrator="rk4", step=1.0 / RATE)


def hand_forces(s: ct.System, q: np.ndarray, reactions: dict[str, np.ndarray]) -> np.ndarray:
    """What each hand gives to the object, (hands, ..., 3), in ground axes."""
    turned = s.body_poses(q)["object"][..., :3, :3]
    axes = {k: turned @ s.mechanism.joints[f"grip{k}"].in_child.R for k in ARMS}
    return np.array([np.einsum("...ij,...j->...i", axes[k], reactions[f"grip{k}"][..., 3:]) for k in ARMS])


def between(s: ct.System, q) -> np.ndarray:
    """The direction from the first hand to the second, (..., 3)."""
    return s.body_poses(q)["object"][..., :3, 0]


def squeeze(s: ct.System, q: np.ndarray, reactions: dict[str, np.ndarray]) -> np.ndarray:
    """The part of the hands' forces that only presses: half of how much they push towards each other."""
    hands = hand_forces(s, q, reactions)
    return np.einsum("...i,...i->...", hands[0] - hands[1], between(s, q)) / 2.0


def torques_of_squeeze(s: ct.System, q, force: np.ndarray) -> np.ndarray:
    """Joint torques (..., nv) with which the hands press against each other and move nothing: J^T f of each."""
    tau, poses = np.zeros((*force.shape, s.nv)), s.body_poses(q)
    for k, sign in zip(ARMS, (1.0, -1.0)):
        push = sign * force[..., None] * between(s, q)
        in_tool = np.einsum("...ji,...j->...i", poses[f"arm{k}/tool"][..., :3, :3], push)
        tau += np.einsum("...ij,...i->...j", s.jacobian(q, f"arm{k}/tool")[..., 3:, :], in_tool)
    return tau


def poses(run: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    for i, when in enumerate((0.0, 2.0, DURATION), 1):
        k = int(np.argmin(np.abs(run.t - when)))
        ax = figure.add_subplot(1, 3, i, projection="3d")
        draw(run.system, run.q[k], ax, view=(28.0, -60.0), title=f"t = {run.t[k]:.1f} s")
    return figure


def way(t, asked, reached, miss) -> Figure:
    figure = Figure(figsize=(8.0, 5.4), layout="constrained")
    place, off = figure.subplots(2, sharex=True, height_ratios=(2, 1))
    for i, axis in enumerate("xyz"):
        place.plot(t, reached[:, i] - asked[0, i], f"C{i}", label=axis)
        place.plot(t, asked[:, i] - asked[0, i], "k--", linewidth=0.8, label="asked for" if i == 2 else None)
    place.set(title="The path of the object", ylabel="way from the start [m]")
    place.legend(loc="upper left")
    off.plot(t, miss, color="C3")
    off.set(xlabel="t [s]", ylabel="off the path [mm]", xlim=(0.0, t[-1]), ylim=(0.0, None))
    return figure


def torques(run: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(8.0, 5.4), layout="constrained")
    for k, ax in zip(ARMS, figure.subplots(2, sharex=True, sharey=True)):
        for i in range(1, 7):
            ax.plot(run.t, run.tau[:, run.system.slice_v(f"arm{k}/joint{i}")], label=f"joint {i}")
        ax.set(title=f"Joint torques of arm {k}", ylabel="torque [N m]", xlim=(0.0, run.t[-1]))
    figure.axes[1].set_xlabel("t [s]")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside right")
    return figure


def sharing(t, hands, felt, plan_t, leaning) -> Figure:
    figure = Figure(figsize=(8.0, 5.4), layout="constrained")
    lift, press = figure.subplots(2, sharex=True)
    for k, force in zip(ARMS, hands):
        lift.plot(t, force[:, 2], label=f"arm {k}")
    lift.plot(t, hands[..., 2].sum(axis=0), "k", linewidth=0.8, label="both")
    lift.set(title="How the arms share the load", ylabel="lifting force [N]", ylim=(0.0, None))
    press.plot(t, felt, label="felt by the object")
    press.axhline(SQUEEZE, color="k", linestyle="--", linewidth=0.8, label="asked for")
    press.plot(plan_t, leaning, color="C7", label="with the smallest torques")
    press.set(xlabel="t [s]", ylabel="squeeze [N]", xlim=(0.0, t[-1]), ylim=(0.0, None))
    for ax in figure.axes:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
