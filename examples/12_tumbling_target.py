"""A free-flying robot catches a tumbling target: it waits, approaches, tracks the grasping point and takes hold, then
its arm brakes until robot and target turn as one (Lampariello, Abiko, Hirzinger, figure 8). Approach and tracking are
planned on the robot's own dynamics, with 13 degrees of freedom.

Usage: python examples/12_tumbling_target.py [folder for the pictures; default: out/12_tumbling_target]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.view import draw
from pictures import Pictures

WAIT, APPROACH, TRACK, BRAKE = 1.0, 4.0, 1.0, 4.0  # [s]
LIMITS = {"rates": 1.5, "torques": 60.0, "attitude": 0.5}


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    robot = ct.generators.free_flyer().reduce_to(["base", "arm1/*"])
    robot.gravity = (0, 0, 0)
    s = robot.system()
    bend = dict.fromkeys(("arm1/joint2", "arm1/joint4", "arm1/joint6"), 0.7)
    q0 = s.assemble(
        {name: bend.get(name, 0.1) for name in s.joints if name != "base"} | {"base": s.neutral()[:7]}
    )
    drift = tumbling(s, q0)

    def point(t: float) -> np.ndarray:
        return drift.system.pose(drift.at(t)[0], "handle").p

    def speed(t: float) -> np.ndarray:
        return (point(t + 1e-4) - point(t - 1e-4)) / 2e-4

    meet = WAIT + APPROACH
    twist = np.r_[np.nan, np.nan, np.nan, speed(meet)]
    approach = ct.plan_motion(
        s, q0, APPROACH, frame="arm1/tool", reach=point(meet), reach_twist=twist, nodes=21, **LIMITS
    )
    track = ct.plan_motion(
        s,
        approach.q[-1],
        TRACK,
        velocity=approach.v[-1],
        frame="arm1/tool",
        nodes=9,
        **LIMITS,
        reach_twist=np.r_[np.nan, np.nan, np.nan, speed(meet + TRACK)],
        track=lambda t: point(meet + t),
    )
    planned = approach.seconds + track.seconds
    print(f"A robot of {s.nv} degrees of freedom catches a target that tumbles.")
    for name, plan in (("approach", approach), ("track", track)):
        print(
            f"    {name:<10}{'planned' if plan.success else plan.message}, {plan.iterations} iterations, conditions "
            f"met to {plan.missed:.0e}"
        )
    print(f"    planning took                             {planned:.2f} s")

    both = robot.copy()
    add_target(both)
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
    run = ct.SegmentedTrajectory((free, after.shifted(meet + TRACK)))
    gap = np.linalg.norm(run.position("arm1/tool") - run.position("handle"), axis=-1)
    print(f"    distance of hand and handle at the grasp  {1e3 * gap[len(free.t) - 1]:.2f} mm")
    print(
        f"    impulse of the grasp, energy lost         {np.linalg.norm(caught.impulse['grasp'][3:]):.2f} N s, "
        f"{caught.energy_loss:.4f} J"
    )
    print(f"    momentum kept to                          {caught.momentum_error:.0e}")
    print(f"    joints of the arm still turn with         {np.abs(after.v[-1, arm]).max():.1e} rad/s")
    out.figure(pictures(run, (WAIT, meet, meet + TRACK, run.t[-1])), "phases.png")
    out.figure(curves(run, gap), "catch.png")
    out.film(run, traces=["handle"])


def add_target(m: ct.Mechanism) -> None:
    m.add_body("target", mass=40.0, inertia=(3.0, 4.0, 5.0), visuals=ct.shapes.Box((0.6, 0.5, 0.5)))
    m.add_joint("target floats", "ground", "target", ct.Free(), actuated=False)
    m.add_frame("handle", "target", ct.Pose(p=(-0.32, 0.0, 0.0)))


def tumbling(s: ct.System, q0: np.ndarray) -> ct.Trajectory:
    """The target by itself, on its way past the robot."""
    m = ct.Mechanism("target", gravity=(0, 0, 0))
    add_target(m)
    alone = m.system()
    hand = s.pose(q0, "arm1/tool").p
    q = alone.neutral()
    q[:3] = hand + np.array([0.62, -0.1, -0.05])
    return ct.simulate(alone, q, [0.04, 0.03, 0.05, -0.05, 0.0, 0.0], WAIT + APPROACH + TRACK + 0.1)


class Phases:
    """A joint that waits, approaches and tracks."""

    def __init__(self, joint: str, approach: ct.MotionPlan, track: ct.MotionPlan) -> None:
        self.parts = approach.motion(joint), track.motion(joint)
        self.last = track.t[-1] * (1.0 - 1e-12)

    def __call__(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if t < WAIT:
            q = self.parts[0](0.0)[0]
            return q, 0.0 * q, 0.0 * q
        if t < WAIT + APPROACH:
            return self.parts[0](t - WAIT)
        return self.parts[1](min(t - WAIT - APPROACH, self.last))


def pictures(run: ct.SegmentedTrajectory, times: tuple[float, ...]) -> Figure:
    figure = Figure(figsize=(10.0, 3.0), layout="constrained")
    for i, (t, word) in enumerate(zip(times, ("wait", "approach", "track", "stabilise")), 1):
        part, q, _ = run.at(t)
        ax = figure.add_subplot(1, 4, i, projection="3d")
        draw(part.system, q, ax, view=(20.0, -60.0), title=f"{word}, t = {t:.1f} s")
    return figure


def curves(run: ct.SegmentedTrajectory, gap: np.ndarray) -> Figure:
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
