"""A quadruped trots ten steps: diagonal legs swing in turns, feet are balls with friction that lie on the floor only as
long as it presses them. A task-space controller asks the feet that stand to carry the trunk, and leads the feet that
swing to where the trunk will need them, at 500 Hz.

Usage: python examples/18_trot.py [folder for the pictures; default: out/18_trot]
"""

import sys
from dataclasses import replace
from time import process_time

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import catena as ct
from catena import shapes
from catena.mechanism.generators.walker import HIPS, SHANK
from catena.simulation.results.contact_channel import ContactChannel
from pictures import Pictures

PAIRS = (("front_left", "hind_right"), ("front_right", "hind_left"))
COLOURS = {"front_left": "#4477aa", "hind_right": "#66ccee", "front_right": "#e07b2e", "hind_left": "#ccbb44"}
STEPS, STEP, STAND = 10, 0.22, 0.2  # how many, and how long they and standing before and after take [s]
SPEED, FRICTION, RADIUS, LIFT = 0.4, 0.7, 0.02, 0.07  # [m/s, 1, m, m]
HEIGHT = 0.5 + RADIUS  # of the trunk [m]
DURATION = STAND + STEPS * STEP + 2.0 * STAND


def quadruped() -> tuple[ct.Mechanism, list[ct.Contact]]:
    """The walker of the gallery with a ball at the end of each leg, and the contacts of these balls."""
    m = ct.generators.walker(0)
    for leg in HIPS:
        foot = shapes.Sphere(RADIUS, pose=ct.Pose(p=(0, 0, -SHANK)), name=f"{leg}/foot")
        m.add_collision(f"{leg}/shank", foot)
        bone = shapes.Capsule(0.7 * RADIUS, SHANK, pose=ct.Pose(p=(0, 0, -0.5 * SHANK)))
        m.add_visual(f"{leg}/shank", bone, replace(foot, colour=to_rgb(COLOURS[leg])))
    return m, ct.contacts_of(m, friction=FRICTION)


class Trot:
    """Forces of the legs: those that stand carry the trunk, those that swing go to where they land next."""

    rate = 500.0

    def __init__(self, s: ct.System) -> None:
        self.s, self.weight = s, 9.81 * sum(body.mass for body in s.mechanism.bodies.values())
        self.legs = {leg: [s.slice_v(f"{leg}/{j}").start for j in ("roll", "pitch", "knee")] for leg in HIPS}
        self.reset()

    def reset(self) -> None:
        """Forget what was before."""
        self.lifted: dict[str, np.ndarray] = {}
        self.step = -1

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        s, tau = self.s, np.zeros(self.s.nv)
        pose = s.pose(q, "trunk")
        R, p = pose.R, pose.p
        twist = s.twist(q, v, "trunk")
        spin, speed = R @ twist[:3], R @ twist[3:]
        feet, rows = {}, {}
        for leg in self.legs:
            foot = s.pose(q, f"{leg}/foot")
            rows[leg] = foot.R @ s.jacobian(q, f"{leg}/foot")[3:]
            feet[leg] = foot.p
        # Which pair swings, and how far it has got; none before and after the ten steps.
        k, phase = divmod((t - STAND) / STEP, 1.0)
        k = int(k)
        swings = PAIRS[k % 2] if 0 <= k < STEPS else ()
        if k != self.step:
            self.step, self.lifted = k, {leg: feet[leg].copy() for leg in swings}
        # The last steps bring it to a halt.
        wanted = np.array([SPEED if 0 <= k < STEPS - 2 else 0.0, 0.0, 0.0])
        stands = [leg for leg in HIPS if leg not in swings]

        roll, pitch, yaw = np.arctan2(R[2, 1], R[2, 2]), -np.arcsin(R[2, 0]), np.arctan2(R[1, 0], R[0, 0])
        force = 200.0 * (wanted - speed) + [0.0, 0.0, self.weight + 3000.0 * (HEIGHT - p[2])]
        middle = np.mean([feet[leg] for leg in stands], axis=0)
        if not swings:
            force[:2] += 600.0 * (middle - p)[:2]
        moment = -400.0 * np.array([roll, pitch, yaw]) - 30.0 * spin
        # The least forces of the feet that stand with this sum and, as far as two feet can give it, this moment.
        arms = [feet[leg] - p for leg in stands]
        grasp = np.vstack([np.hstack([np.eye(3)] * len(arms)), np.hstack([cross(arm) for arm in arms])])
        shares = np.linalg.lstsq(grasp, np.r_[force, moment], rcond=1e-6)[0].reshape(-1, 3)
        for leg, f in zip(stands, shares, strict=True):
            f[2] = max(f[2], 5.0)
            f[:2] *= min(1.0, 0.9 * FRICTION * f[2] / (np.hypot(f[0], f[1]) + 1e-9))
            own = self.legs[leg]
            tau[own] = -rows[leg][:, own].T @ f
        for leg in swings:
            hip = p + R @ HIPS[leg]
            # Half a step ahead of the hip, and further if it is too fast.
            lands = hip + 0.5 * STEP * speed + 0.12 * (speed - wanted) + (1.0 - phase) * STEP * speed
            lands[2] = RADIUS - 0.005
            way = smooth(min(1.0, phase / 0.9))
            goal = self.lifted[leg] + way * (lands - self.lifted[leg])
            goal[2] += LIFT * np.sin(np.pi * phase) ** 2
            rate = smooth(min(1.0, phase / 0.9), 1) / (0.9 * STEP) * (lands - self.lifted[leg])
            rate[2] += LIFT * np.pi / STEP * np.sin(2.0 * np.pi * phase)
            own = self.legs[leg]
            f = 700.0 * (goal - feet[leg]) + 25.0 * (rate - rows[leg] @ v) + [0.0, 0.0, 10.0]
            tau[own] = rows[leg][:, own].T @ f
        return tau


def cross(a: np.ndarray) -> np.ndarray:
    """The matrix of a x."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def smooth(s: float, order: int = 0) -> float:
    """A step from 0 to 1 without jerk at its ends, or its slope."""
    return 30.0 * s * s * (1.0 - s) ** 2 if order else s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m, contacts = quadruped()
    s = m.system()
    q = s.neutral()
    q[s.slice_q("base")][2] += RADIUS
    begin = process_time()
    run = ct.simulate(
        s, q, np.zeros(s.nv), DURATION, control=Trot(s), contacts=contacts, rtol=1e-6, atol=1e-8, samples=801,
        check=False,
    )  # fmt: skip
    took = process_time() - begin
    trunk, feet = run.position("trunk"), {leg: run.contact(f"{leg}/foot") for leg in HIPS}
    landed = {leg: landings(foot) for leg, foot in feet.items()}
    steps = sum(min(len(landed[a]), len(landed[b])) for a, b in PAIRS)
    tilt = np.degrees(np.arccos(np.clip(run.pose("trunk")[:, 2, 2], -1.0, 1.0)))
    trots = (run.t > STAND + 2 * STEP) & (run.t < STAND + (STEPS - 2) * STEP)
    speed = np.polyfit(run.t[trots], trunk[trots, 0], 1)[0]
    slid = {
        leg: np.trapezoid(np.hypot(*foot.slip[:, :2].T) * foot.touches, run.t) for leg, foot in feet.items()
    }
    rubbed = max(
        float(np.max(np.hypot(*f.force[f.touches, :2].T) / f.normal_force[f.touches])) for f in feet.values()
    )
    audit = run.audit()
    print(f"It stands, trots {steps} steps of two feet each, and stands again, in {run.t[-1]:.1f} s.")
    print(f"    it gets ahead by                     {trunk[-1, 0]:.3f} m, aside by {trunk[-1, 1]:.3f} m")
    print(f"    it trots at                          {speed:.2f} m/s, of {SPEED:g} asked for")
    print(f"    the trunk is at a height of          {trunk[:, 2].min():.3f} to {trunk[:, 2].max():.3f} m")
    print(f"    and leans by at most                 {tilt.max():.1f} degrees")
    for leg, times in landed.items():
        print(
            f"    {leg.replace('_', ' '):<12} lands at             {', '.join(f'{t:.2f}' for t in times)} s"
        )
    print(
        f"    a foot presses with up to            {max(f.normal_force.max() for f in feet.values()):.0f} N"
    )
    print(f"    most of the friction asked for       {rubbed:.2f} of {FRICTION:g}")
    print(f"    a foot slides in all by at most      {1e3 * max(slid.values()):.2f} mm")
    print(f"    impacts take in all                  {sum(x.energy_loss for x in run.transitions):.2f} J")
    print(f"    energy is balanced to                {audit['energy'].value:.1e}")
    print(f"    processor time for a second          {took / run.t[-1]:.2f} s")
    assert steps == STEPS and trunk[:, 2].min() > 0.45 and tilt.max() < 10.0, "it fell"
    assert np.abs(run.v[-1]).max() < 0.2 and audit.ok, audit
    out.figure(picture(run, feet), "trot.png")
    out.film(run, forces=["contacts"], traces=[f"{leg}/foot" for leg in PAIRS[0]])


def landings(foot: ContactChannel) -> list[float]:
    """When a foot landed after it was in the air for a quarter of a step."""
    samples = np.flatnonzero(np.diff(foot.touches.astype(int)))
    found = []
    for up, down in zip(samples, samples[1:], strict=False):
        if foot.touches[down + 1] and foot.t[down] - foot.t[up] > 0.25 * STEP:
            found.append(float(foot.t[down + 1]))
    return found


def picture(run: ct.Trajectory, feet: dict[str, ContactChannel]) -> Figure:
    """When which foot stands, how it lifts, what it presses with, and where the trunk goes."""
    figure = Figure(figsize=(8.5, 8.0), layout="constrained")
    gait, up, press, ahead = figure.subplots(4, sharex=True, height_ratios=[0.7, 1, 1, 1])
    for row, (leg, foot) in enumerate(feet.items()):
        gait.fill_between(run.t, row - 0.4, row + 0.4, where=foot.touches, color=COLOURS[leg], linewidth=0)
        up.plot(run.t, 1e3 * foot.gap, color=COLOURS[leg])
        press.plot(run.t, foot.normal_force, color=COLOURS[leg], linewidth=0.9)
    gait.set(
        title="Ten steps of a trot", yticks=range(4), yticklabels=[leg.replace("_", " ") for leg in feet]
    )
    up.set(ylabel="foot above floor [mm]")
    press.set(ylabel="normal force [N]", ylim=(0.0, None))
    ahead.plot(run.t, run.position("trunk")[:, 0], color=COLOURS["front_left"])
    ahead.set(xlabel="t [s]", ylabel="trunk ahead [m]", xlim=(0.0, run.t[-1]))
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
