"""A four-legged walker walks: it stands, shifts its weight, lifts a foot, steps and stands again. Its feet are contacts
with friction: they press, stick or slip, and never pull.

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
KP, KD, FRICTION = 900.0, 12.0, 0.8
UNLOADED = 0.66  # part of the way of the trunk
PERIOD = SHIFT + SWING + PAUSE


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m = ct.generators.walker(0)
    for leg in LEGS:
        m.add_frame(f"{leg}/foot", f"{leg}/shank", ct.Pose(p=(0.0, 0.0, -0.3)))
    s = m.system()
    duration = 0.1 + len(ORDER) * PERIOD + 1.4 * SHIFT
    contacts = [ct.Contact(f"{leg}/foot", friction=FRICTION, name=leg) for leg in LEGS]
    begin = perf_counter()
    run = ct.simulate(
        s, s.neutral(), np.zeros(s.nv), duration, control=Walking(s), contacts=contacts, rtol=1e-4, atol=1e-6,
        check=False,
    )  # fmt: skip
    seconds = perf_counter() - begin
    ahead = run.position("trunk")[-1, 0] - run.position("trunk")[0, 0]
    feet = np.array([run.position(f"{leg}/foot") for leg in LEGS])
    forces = np.array([run.contact_forces[leg] for leg in LEGS])
    print(f"The walker makes {len(ORDER)} steps of {STEP:g} m in {duration:.2f} s.")
    print(
        f"    the trunk moves by                        {ahead:.3f} m, its height within "
        f"{1e3 * np.ptp(run.position('trunk')[:, 2]):.0f} mm"
    )
    for leg, foot in zip(LEGS, feet):
        print(
            f"    {leg.replace('_', ' '):<12} moves by                     {foot[-1, 0] - foot[0, 0]:.3f} m"
        )
    hits = [change for change in run.transitions if change.energy_loss > 1e-6]
    for change in hits:
        print(f"    t = {change.t:.3f} s, {change.name:<28}{change.energy_loss:.4f} J lost")
    rubs = (
        np.hypot(forces[..., 0], forces[..., 1])[forces[..., 2] > 1.0] / forces[..., 2][forces[..., 2] > 1.0]
    )
    print(
        f"    vertical force of a foot                  {forces[..., 2].min():.3g} to {forces[..., 2].max():.0f} N"
    )
    print(f"    most of the friction that is asked for    {rubs.max():.2f} of {FRICTION:g}")
    print(f"    simulated seconds in a second             {duration / seconds:.2f}")
    pressing = np.where(forces[..., 2] > 0.0, forces[..., 2], np.nan)
    out.figure(heights(run, feet, pressing), "feet.png")
    out.figure(poses(run), "poses.png")
    out.film(run)


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


def heights(run: ct.Trajectory, feet: np.ndarray, pressing: np.ndarray) -> Figure:
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


def poses(run: ct.Trajectory) -> Figure:
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    for i, t in enumerate((0.0, 0.1 + SHIFT + 0.5 * SWING, run.t[-1]), 1):
        then = run.at(min(t, run.t[-1]))
        ax = figure.add_subplot(1, 3, i, projection="3d")
        draw(then.system, then.q, ax, view=(14.0, -70.0), title=f"t = {t:.2f} s")
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
