"""A four-legged walker walks: it stands, shifts its weight, lifts a foot, steps and stands again. A foot that lifts is
a joint that goes, a foot that lands is an event that puts one where it touches; forces tell whether it would have held.

Usage: python examples/13_walker_walks.py [folder for the pictures; default: out/13_walker_walks]
"""

import sys
from math import acos, atan2, hypot
from time import perf_counter

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.mechanism.generators.walker import HIPS
from catena.view import draw
from pictures import Pictures

LEGS = tuple(HIPS)
ORDER = ("hind_right", "front_right")
HEIGHT, LEAN, LIFT, STEP = 0.5, acos(0.5 / 0.6), 0.05, 0.06  # [m, rad]
SHIFT, SWING, PAUSE = 0.45, 0.3, 0.05  # [s]
KP, KD = 1200.0, 30.0
UNLOADED = 0.66  # part of the way of the trunk
PERIOD = SHIFT + SWING + PAUSE


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m = ct.generators.walker(4)
    for leg in LEGS:
        m.add_frame(f"{leg}/foot", f"{leg}/shank", ct.Pose(p=(0.0, 0.0, -0.3)))
    s = m.system()
    duration = 0.1 + len(ORDER) * PERIOD + 1.4 * SHIFT
    events = [event for k, leg in enumerate(ORDER) for event in (lifting(k, leg), landing(k, leg))]
    begin = perf_counter()
    run = ct.simulate(
        s, s.neutral(), np.zeros(s.nv), duration, control=ct.PerStructure(Walking), events=events, rtol=1e-5,
        atol=1e-7, check=False,
    )  # fmt: skip
    seconds = perf_counter() - begin
    ahead = run.position("trunk")[-1, 0] - run.position("trunk")[0, 0]
    feet = np.array([run.position(f"{leg}/foot") for leg in LEGS])
    pressing = forces(run)
    print(f"The walker makes {len(ORDER)} steps of {STEP:g} m in {duration:.2f} s.")
    print(
        f"    the trunk moves by                        {ahead:.3f} m, its height within "
        f"{1e3 * np.ptp(run.position('trunk')[:, 2]):.0f} mm"
    )
    for change in run.transitions:
        print(f"    t = {change.t:.3f} s, {change.name:<24}{change.energy_loss:.4f} J lost")
    print(
        f"    vertical force of a foot that stands      {np.nanmin(pressing):.0f} to {np.nanmax(pressing):.0f} N"
    )
    pulls = sum(np.trapezoid(np.nan_to_num(f) < 0.0, run.t) for f in pressing)
    print(f"    a foot that stands would have to pull for {1e3 * pulls:.0f} ms in all")
    print(f"    simulated seconds in a second             {duration / seconds:.2f}")
    out.figure(heights(run, feet, pressing), "feet.png")
    out.figure(poses(run), "poses.png")
    out.film(run)


def lifting(k: int, leg: str) -> ct.Event:
    """The foot lets go when the trunk has gone most of its way, and the foot has next to no load any more."""
    time = 0.1 + k * PERIOD + UNLOADED * SHIFT
    return ct.at_time(time, then=lambda m, q, v: m.detach(f"{leg}/contact"), name=f"{leg} lifts")


def landing(k: int, leg: str) -> ct.Event:
    """The foot stands where it comes down, once it has been up."""
    up = 0.1 + k * PERIOD + UNLOADED * SHIFT + 0.3 * SWING

    def height(here: ct.Moment) -> float:
        stands = f"{leg}/contact" in here.system.mechanism.joints
        return 1.0 if stands or here.t < up else float(here.position(f"{leg}/foot")[2])

    def stand(here: ct.Moment) -> ct.Mechanism:
        at = ct.Pose(p=here.position(f"{leg}/foot"))
        foot = here.configuration
        return here.system.mechanism.attach(
            f"{leg}/contact", "ground", f"{leg}/shank", ct.Spherical(), at, at=foot, actuated=False
        )

    return ct.Event(height, f"{leg} lands", direction=-1, then=stand)


def forces(run: ct.SegmentedTrajectory) -> np.ndarray:
    """What the ground presses each foot with vertically, (feet, samples), NaN where it is in the air."""
    found = []
    for leg in LEGS:
        parts = []
        for part in run.segments:
            joint = part.system.mechanism.joints.get(f"{leg}/contact")
            if joint is None:
                parts.append(np.full(len(part.t), np.nan))
                continue
            axes = part.pose(joint.child)[:, :3, :3] @ joint.in_child.R
            parts.append(np.einsum("sij,sj->si", axes, part.reaction(joint.name)[:, 3:])[:, 2])
        found.append(np.concatenate(parts))
    return np.array(found)


def angles(foot: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch and knee of a leg whose foot is at (x, y, z) below its hip."""
    x, y, z = foot
    drop = hypot(y, z)
    bend, mean = acos(min(1.0, hypot(x, drop) / 0.6)), atan2(-x, drop)
    return atan2(y, -z), mean - bend + LEAN, 2.0 * bend - 2.0 * LEAN


def smooth(s: float) -> float:
    s = min(1.0, max(0.0, s))
    return s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)


def wanted(t: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Where the trunk and the feet are to be: the trunk over the triangle of the feet that stay, then a foot swings."""
    feet = {leg: np.array([hip[0], hip[1], 0.0]) for leg, hip in HIPS.items()}
    trunk = np.array([0.0, 0.0, HEIGHT])
    for k, leg in enumerate(ORDER):
        local = t - 0.1 - k * PERIOD
        if local <= 0.0:
            break
        others = [feet[name] for name in LEGS if name != leg]
        aim = np.mean(others, axis=0)
        aim = 0.45 * (aim - trunk) + trunk
        aim[2] = HEIGHT
        trunk = trunk + smooth(local / SHIFT) * (aim - trunk)
        swing = (local - UNLOADED * SHIFT) / SWING
        if swing > 0.0:
            feet[leg] = feet[leg] + np.array([STEP * smooth(swing), 0.0, 0.0])
            # A little into the ground, so that it comes down although control lags behind.
            feet[leg][2] = LIFT * np.sin(np.pi * min(1.0, swing)) ** 2 - 0.002 * smooth(swing)
    middle = np.mean(list(feet.values()), axis=0)
    middle[2] = HEIGHT
    return trunk + smooth((t - 0.1 - len(ORDER) * PERIOD) / SHIFT) * (middle - trunk), feet


class Walking:
    """PD control of the legs towards where they are to be."""

    def __init__(self, s: ct.System) -> None:
        self.nv = s.nv
        names = ("roll", "pitch", "knee")
        self.where = {leg: [s.slice_v(f"{leg}/{joint}").start for joint in names] for leg in LEGS}
        self.at = {leg: [s.slice_q(f"{leg}/{joint}").start for joint in names] for leg in LEGS}

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau = np.zeros(self.nv)
        (trunk, feet), (then, later) = wanted(t), wanted(t + 1e-3)
        for leg, hip in HIPS.items():
            goal = np.array(angles(feet[leg] - trunk - hip))
            rate = (np.array(angles(later[leg] - then - hip)) - goal) / 1e-3
            tau[self.where[leg]] = KP * (goal - q[self.at[leg]]) + KD * (rate - v[self.where[leg]])
        return tau


def heights(run: ct.SegmentedTrajectory, feet: np.ndarray, pressing: np.ndarray) -> Figure:
    figure = Figure(figsize=(8.0, 7.0), layout="constrained")
    up, ahead, down = figure.subplots(3, sharex=True)
    for leg, foot, force in zip(LEGS, feet, pressing):
        down.plot(run.t, force)
        up.plot(run.t, 1e3 * foot[:, 2], label=leg.replace("_", " "))
        ahead.plot(run.t, foot[:, 0] - foot[0, 0])
    ahead.plot(run.t, run.position("trunk")[:, 0], "k--", label="trunk")
    for t in run.changes:
        for ax in (up, ahead, down):
            ax.axvline(t, color="0.85", linewidth=0.6, zorder=0)
    up.set(title="Feet lift, step and land", ylabel="height of the foot [mm]")
    ahead.set(ylabel="moved ahead [m]")
    down.set(xlabel="t [s]", ylabel="vertical force [N]", xlim=(0.0, run.t[-1]))
    up.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    ahead.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def poses(run: ct.SegmentedTrajectory) -> Figure:
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    for i, t in enumerate((0.0, 0.1 + SHIFT + 0.5 * SWING, run.t[-1]), 1):
        part, q, _ = run.at(min(t, run.t[-1]))
        ax = figure.add_subplot(1, 3, i, projection="3d")
        draw(part.system, q, ax, view=(14.0, -70.0), title=f"t = {t:.2f} s")
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
