"""A free-flying robot catches a tumbling target: it waits, approaches, tracks the handle and takes hold, then its arm
brakes until robot and target turn as one (Lampariello, Abiko, Hirzinger, figure 8). Approach and tracking are planned
on the robot's own dynamics, with 13 degrees of freedom: the hand follows the handle in place and axes, so that there is
next to nothing to stop when it closes.

Usage: python examples/12_tumbling_target.py [folder for the pictures; default: out/12_tumbling_target]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.view import draw
from pictures import Pictures, alike

WAIT, APPROACH, TRACK, BRAKE = 1.0, 4.0, 1.0, 4.0  # [s]
HANDLE, GAP = ct.Pose(p=(-0.32, 0.0, 0.0), rpy=(0.0, np.pi / 2, 0.0)), 0.35  # [m, rad]
LIMITS = {"rates": 1.5, "torques": 60.0, "attitude": 0.5}


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    robot, s, q0 = waiting()
    drift = tumbling(s, q0)
    approach, track = planned(s, q0, drift)
    meet = WAIT + APPROACH
    seconds = approach.seconds + track.seconds
    print(f"A robot of {s.nv} degrees of freedom catches a target that tumbles.")
    for name, plan in (("approach", approach), ("track", track)):
        print(
            f"    {name:<10}{'planned' if plan.success else plan.message}, {plan.iterations} iterations, conditions "
            f"met to {plan.missed:.0e}"
        )
    print(f"    planning took                             {seconds:.2f} s")

    both = robot.copy()
    add_target(both, drift.system.mechanism.joints["target floats"].in_parent)
    world = both.system()
    q = np.concatenate([q0, drift.q[0]])
    v = np.concatenate([np.zeros(s.nv), drift.v[0]])

    moved = {name: Phases(name, approach, track) for name in s.joints if name != "base"}
    free = ct.simulate(world, q, v, meet + TRACK, motion=moved, rtol=1e-6, atol=1e-8, check=False)
    here = world.configuration(free.q[-1])
    held = both.attach("grasp", "arm1/link7", "target", ct.Fixed(), at=here).system()
    caught = ct.transfer(world, free.q[-1], free.v[-1], held)
    arm = [held.slice_v(name).start for name in moved]

    def brake(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau = np.zeros(held.nv)
        tau[arm] = -25.0 * v[arm]
        return tau

    after = ct.simulate(held, *caught, BRAKE, control=brake, rtol=1e-6, atol=1e-8, check=False)
    run = ct.Trajectory((free, after.shifted(meet + TRACK)))
    gap = np.linalg.norm(run.position("arm1/tool") - run.position("handle"), axis=-1)
    print(f"    distance of hand and handle at the grasp  {1e3 * gap[len(free.t) - 1]:.3f} mm")
    print(
        f"    impulse of the grasp, energy lost         {np.linalg.norm(caught.impulse['grasp'][3:]):.1e} N s, "
        f"{caught.energy_loss:.1e} J"
    )
    print(f"    momentum kept to                          {caught.momentum_error:.0e}")
    print(f"    joints of the arm still turn with         {np.abs(after.v[-1, arm]).max():.1e} rad/s")
    out.figure(pictures(run, (WAIT, meet, meet + TRACK, run.t[-1])), "phases.png")
    out.figure(curves(run, gap), "catch.png")
    out.film(run, traces=["handle"])


def waiting() -> tuple[ct.Mechanism, ct.System, np.ndarray]:
    """The robot of which one arm moves, its system, and how it waits."""
    robot = ct.generators.free_flyer().reduce_to(["base", "arm1/*"])
    robot.gravity = (0, 0, 0)
    s = robot.system()
    bend = {"arm1/joint2": -1.4, "arm1/joint4": -0.2, "arm1/joint6": -1.0}
    arm = {name: bend.get(name, 0.1) for name in s.joints if name != "base"}
    return robot, s, s.assemble(arm | {"base": s.neutral()[:7]})


def planned(s: ct.System, q0: np.ndarray, drift: ct.Trajectory) -> tuple[ct.MotionPlan, ct.MotionPlan]:
    """The approach, which ends where the handle is and moves as it does, and the motion that tracks it."""

    def handle(t: float) -> ct.Pose:
        return drift.system.pose(drift.at(t)[0], "handle")

    def twist(t: float) -> np.ndarray:
        return drift.system.twist(*drift.at(t), "handle", axes="aligned")

    meet, hand = WAIT + APPROACH, "arm1/tool"
    approach = ct.plan_motion(
        s, q0, APPROACH, frame=hand, reach=handle(meet), reach_twist=twist(meet), nodes=21, **LIMITS
    )
    track = ct.plan_motion(
        s, approach.q[-1], TRACK, velocity=approach.v[-1], frame=hand, track=lambda t: handle(meet + t),
        reach_twist=twist(meet + TRACK), nodes=9, **LIMITS,
    )  # fmt: skip
    return approach, track


def add_target(m: ct.Mechanism, at: ct.Pose) -> None:
    """A box that floats, at first at a pose, with a handle in front of its face at -x, whose z points at the box."""
    m.add_body("target", mass=40.0, inertia=(3.0, 4.0, 5.0), visuals=ct.shapes.Box((0.6, 0.5, 0.5)))
    m.add_joint("target floats", "ground", "target", ct.Free(), actuated=False, in_parent=at)
    m.add_frame("handle", "target", HANDLE)


def tumbling(s: ct.System, q0: np.ndarray) -> ct.Trajectory:
    """The target by itself: its handle is at first in front of the hand, with the same axes, and comes nearer."""
    hand = s.pose(q0, "arm1/tool")
    m = ct.Mechanism("target", gravity=(0, 0, 0))
    add_target(m, hand * ct.Pose(p=(0.05, -0.1, GAP)) * HANDLE.inverse())
    alone = m.system()
    return ct.simulate(
        alone, alone.neutral(), [0.04, 0.03, 0.05, -0.05, 0.0, 0.0], WAIT + APPROACH + TRACK + 0.1
    )


class Phases:
    """A joint that waits, approaches and tracks."""

    def __init__(self, joint: str, approach: ct.MotionPlan, track: ct.MotionPlan) -> None:
        self.approach, self.track = approach.motion(joint), track.motion(joint)

    def __call__(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.approach(t - WAIT) if t < WAIT + APPROACH else self.track(t - WAIT - APPROACH)


def pictures(run: ct.Trajectory, times: tuple[float, ...]) -> Figure:
    figure = Figure(figsize=(8.4, 5.2))
    words = ("has waited", "has approached", "has tracked the handle", "turns with the target")
    for i, (t, word) in enumerate(zip(times, words)):
        then = run.at(t)
        x, y = 0.5 * (i % 2), 0.48 * (1 - i // 2)
        # Squares that overlap, because robot and target are wider than high.
        ax = figure.add_axes((x, y - 0.17, 0.5, 0.81), projection="3d")
        ax.patch.set_visible(False)
        draw(then.system, then.q, ax, view=(18.0, -108.0), mass_centres=False)
        figure.text(x + 0.25, y + 0.46, f"t = {t:.1f} s: {word}", ha="center", fontsize=12)
    alike(figure, zoom=1.0)
    return figure


def curves(run: ct.Trajectory, gap: np.ndarray) -> Figure:
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    distance, rates = figure.subplots(2, sharex=True)
    distance.semilogy(run.t, np.maximum(gap, 1e-6))
    distance.set(title="From waiting to one body", ylabel="hand to handle [m]")
    for name, style in (("target", "C1"), ("bus", "C0")):
        rates.plot(run.t, np.degrees(np.linalg.norm(run.twist(name)[:, :3], axis=-1)), style, label=name)
    rates.set(xlabel="t [s]", ylabel="turns with [deg/s]", xlim=(0.0, run.t[-1]))
    rates.legend()
    for ax in (distance, rates):
        for t in (WAIT, WAIT + APPROACH, WAIT + APPROACH + TRACK):
            ax.axvline(t, color="0.7", linewidth=0.8)
        ax.grid(alpha=0.3)
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
