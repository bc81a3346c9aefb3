"""A four-legged walker stands up with a backpack that nobody told it of: its feet on the ground are closed loops, and
what they press with tells whether it could slip or jump.

Usage: python examples/07_walker_stands_up.py [folder for the pictures; default: out/07_walker_stands_up]
"""

import sys
from math import acos

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.simulation.control import PID, SymbolicControl
from catena.simulation.references import JointPath, quintic
from catena.view import draw
from pictures import Pictures

LEGS = ("front_left", "hind_right", "front_right", "hind_left")
CROUCHED, STANDING, THIGH = 0.22, 0.52, 0.3  # [m]
BEGIN, END, DURATION = 0.3, 1.2, 2.0  # [s]
KP, KD, RATE = 400.0, 20.0, 500.0
BACKPACK = 5.0  # [kg]
GRIP = 0.6  # what a rubber foot holds on a dry floor: horizontal by vertical force


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    alone, m = ct.generators.walker(), ct.generators.walker()
    m.add_body("backpack", BACKPACK, inertia=0.03)
    m.add_joint("straps", "trunk", "backpack", ct.Fixed(), in_parent=ct.Pose(p=(-0.05, 0.0, 0.15)))
    s, light = m.system(), alone.system()
    path, start = rising(s)
    run = stand_up(s, light, path, start)
    feet = foot_forces(s, run.q, run.reactions())
    z, wanted = height(s, run.q), height(s, path.at(run.t).q)

    weight = 9.81 * sum(body.mass for body in m.bodies.values())
    knee = max(np.abs(run.tau[:, s.slice_v(f"{leg}/knee")]).max() for leg in LEGS)
    low, high = feet[..., 2].min(), feet[..., 2].max()
    times, least = how_fast(light, path)
    print(
        f"From a crouch the walker rises in {END - BEGIN:g} s, with {BACKPACK:g} kg that nobody told it of."
    )
    print(f"    height at the start, at the end, wanted   {z[0]:.3f} m, {z[-1]:.3f} m, {STANDING:g} m")
    print(f"    below what it wants, at most              {1e3 * (wanted - z).max():.1f} mm")
    print(f"    torque of a knee, at most                 {knee:.1f} N m")
    print(f"    vertical force of a foot                  {low:.0f} to {high:.0f} N")
    print(f"    of all feet at the end, and its weight    {feet[:, -1, 2].sum():.1f} N, {weight:.1f} N")
    print(f"    friction that the feet need, and have     {friction(feet).max():.2f}, {GRIP:g}")
    print(f"    feet moved by                             {run.closure_error:.0e} m")
    print(
        f"    faster than this, and a foot would pull   {np.interp(0.0, least, times):.2f} s (without the backpack)"
    )

    out.figure(poses(run), "poses.png")
    out.figure(motion(run, z, wanted), "rising.png")
    out.figure(pressing(run.t, feet), "feet.png")
    out.figure(limits(times, least), "how_fast.png")
    out.film(run)


def rising(s: ct.System) -> tuple[JointPath, np.ndarray]:
    """With thighs leaning forward by an angle and shanks back by the same, feet stay below the hips. So the joints move
    in proportion, along quintics that begin and end at rest; trunk and feet follow from the loops."""
    lean = [acos(h / (2 * THIGH)) - acos(0.5 / (2 * THIGH)) for h in (CROUCHED, STANDING)]
    joints = {f"{leg}/roll": 0.0 for leg in LEGS}
    joints |= {f"{leg}/pitch": quintic([BEGIN, END], [-x for x in lean]) for leg in LEGS}
    joints |= {f"{leg}/knee": quintic([BEGIN, END], [2 * x for x in lean]) for leg in LEGS}
    start = s.assemble({name: x if x == 0.0 else x.at(0.0).q for name, x in joints.items()})
    return JointPath(s, joints, rest=start, step=0.1), start


def stand_up(s: ct.System, known: ct.System, path: JointPath, start: np.ndarray) -> ct.Trajectory:
    """Follow the path with PD control and the torques that the known walker needs for it: twelve motors move six
    freedoms, so these are the smallest of many."""
    tau = known.inverse_dynamics(*path.at(np.arange(0.0, DURATION + 0.5 / RATE, 1.0 / RATE)))
    ahead = SymbolicControl(lambda t, q, v, u: u, inputs=lambda t: tau[round(t * RATE)], rate=RATE)
    control, rest = ahead + PID(s, path, kp=KP, kd=KD, rate=RATE), np.zeros(s.nv)
    return ct.simulate(s, start, rest, DURATION, control=control, integrator="rk4", step=1.0 / RATE)


def height(s: ct.System, q: np.ndarray) -> np.ndarray:
    return s.pose(q, "trunk")[..., 2, 3]


def foot_forces(s: ct.System, q: np.ndarray, reactions: dict[str, np.ndarray]) -> np.ndarray:
    """What the ground presses each foot with, (feet, ..., 3), in ground axes; reactions are in those of the shank."""
    poses, forces = s.body_poses(q), []
    for leg in LEGS:
        joint = s.mechanism.joints[f"{leg}/contact"]
        axes = poses[joint.child][..., :3, :3] @ joint.in_child.R
        forces.append(np.einsum("...ij,...j->...i", axes, reactions[joint.name][..., 3:]))
    return np.array(forces)


def friction(forces: np.ndarray) -> np.ndarray:
    return np.hypot(forces[..., 0], forces[..., 1]) / forces[..., 2]


def how_fast(s: ct.System, path: JointPath) -> tuple[np.ndarray, np.ndarray]:
    """Durations (n,) of the same rise and the least vertical foot force in each, in one batch: k times as fast takes k
    times the velocity and k^2 times the acceleration."""
    plan = path.at(np.linspace(BEGIN, END, 51))
    times = np.linspace(0.2, 1.2, 51)
    faster = ((END - BEGIN) / times)[:, None, None]
    v, vdot = plan.v * faster, plan.vdot * faster**2
    q = np.broadcast_to(plan.q, (len(times), *plan.q.shape))
    feet = foot_forces(s, q, s.reactions(q, v, s.inverse_dynamics(q, v, vdot)))
    return times, feet[..., 2].min(axis=(0, 2))


def poses(run: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    for i, k in enumerate((0, len(run.t) * 3 // 8, -1), 1):
        ax = figure.add_subplot(1, 3, i, projection="3d")
        draw(run.system, run.q[k], ax, view=(14.0, -70.0), title=f"t = {run.t[k]:.2f} s")
    # One scale for all, that of the tallest with some room for the knees of the lowest.
    tallest = figure.axes[-1]
    for axis in "xyz":
        low, high = getattr(tallest, f"get_{axis}lim")()
        room = 0.08 * (high - low)
        for ax in figure.axes:
            ax.set(**{f"{axis}lim": (low - room, high + room)})
    return figure


def motion(run: ct.Trajectory, z: np.ndarray, wanted: np.ndarray) -> Figure:
    figure = Figure(figsize=(8.0, 5.4), layout="constrained")
    rise, torques = figure.subplots(2, sharex=True)
    rise.plot(run.t, z, label="reached")
    rise.plot(run.t, wanted, "k--", linewidth=1.0, label="asked for")
    rise.set(title="The walker stands up", ylabel="height of the trunk [m]")
    for joint in ("pitch", "knee"):
        for leg, style in (("front_left", "-"), ("hind_left", "--")):
            tau = run.tau[:, run.system.slice_v(f"{leg}/{joint}")]
            colour = "C1" if joint == "pitch" else "C2"
            torques.plot(run.t, tau, style, color=colour, label=f"{joint}, {leg.replace('_', ' ')}")
    torques.set(xlabel="t [s]", ylabel="joint torque [N m]", xlim=(0.0, run.t[-1]))
    for ax in figure.axes:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def pressing(t: np.ndarray, feet: np.ndarray) -> Figure:
    figure = Figure(figsize=(8.0, 5.4), layout="constrained")
    vertical, needed = figure.subplots(2, sharex=True)
    for leg, style, force in zip(LEGS, ("C0-", "C1--", "C2--", "C3-"), feet):
        vertical.plot(t, force[:, 2], style, label=leg.replace("_", " "))
        needed.plot(t, friction(force), style)
    vertical.set(title="What the feet press with", ylabel="vertical force [N]", ylim=(0.0, None))
    needed.axhspan(GRIP, 1.0, color="C3", alpha=0.15)
    needed.annotate("slips", (0.05, GRIP), xytext=(0, 2), textcoords="offset points")
    needed.set(xlabel="t [s]", ylabel="horizontal / vertical", xlim=(0.0, t[-1]), ylim=(0.0, 1.15 * GRIP))
    figure.legend(loc="outside right")
    return figure


def limits(times: np.ndarray, least: np.ndarray) -> Figure:
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    ax = figure.subplots()
    ax.plot(times, least)
    ax.axhspan(min(least.min(), -1.0), 0.0, color="C3", alpha=0.15)
    ax.annotate("a foot would have to pull", (0.7, 0.0), xytext=(0, -6), va="top", textcoords="offset points")
    ax.set(
        title="How fast can it stand up?",
        xlabel="duration of the rise [s]",
        ylabel="least vertical foot force [N]",
    )
    ax.set(xlim=(times[0], times[-1]), ylim=(min(least.min(), -1.0), None))
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
