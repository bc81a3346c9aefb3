"""A hand catches a ball that is thrown at it: its three fingers open, close around the ball as it comes, give way
with it and hold it. Tips, elbows and palm touch the ball with friction; nothing ties them to it. An impedance
controller looks at the ball at 1 kHz.

Usage: python examples/19_catch.py [folder for the pictures; default: out/19_catch]
"""

import sys
from time import process_time

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import shapes
from catena.simulation.results.contact_channel import ContactChannel
from pictures import Pictures

FINGERS = ("finger1", "finger2", "finger3")
COLOURS = ("#4477aa", "#e07b2e", "#228833")
BALL, TIP, FRICTION, BOUNCE = 0.035, 0.008, 0.8, 0.1  # radii [m]
FLIES, DURATION = 0.32, 1.2  # until the ball is where it is caught, and in all [s]
START = np.array([-0.3, 0.06, 0.12])  # where the middle of the ball is first [m]
CAUGHT = np.array([0.012, -0.008, 0.115])  # when it is caught
HELD = np.array([0.0, 0.0, 0.09])  # and where it is held
BELOW = 0.35  # how far below the equator of the ball fingers touch it [rad]
CLOSES, GRIPS, GIVES, MOVES = 0.03, 0.01, 0.05, 0.3  # [s]
MASS, OPEN = 0.2, 0.062  # of the ball [kg], and how far from it tips wait [m]
STIFFNESS, DAMPING, SQUEEZE = 900.0, 6.0, 0.010  # of a tip [N/m, N s/m], and into the ball [m]
CARRY, CALM = 800.0, 20.0  # of the ball that is held [N/m, N s/m]


def hand() -> tuple[ct.Mechanism, list[ct.Contact]]:
    """The hand of the gallery without what ties it to its ball, and what may touch the ball."""
    m = ct.generators.hand()
    for k in range(1, 4):
        m = m.detach(f"contact{k}")
    m.add_joint("flies", "ground", "ball", ct.Free(), actuated=False)
    m.add_visual("ball", shapes.Sphere(BALL, colour=(0.85, 0.65, 0.2)))
    contacts = [ct.Contact("ball", radius=BALL, friction=FRICTION, restitution=BOUNCE, name="palm")]
    for finger in FINGERS:
        for frame, body in ((f"{finger}/tip", "tip"), (f"{finger}/distal", "elbow")):
            contacts.append(
                ct.Contact(
                    frame, on="ball", radius=TIP, on_radius=BALL, friction=FRICTION, restitution=BOUNCE,
                    name=f"{finger}/{body}",
                )
            )  # fmt: skip
    return m, contacts


class Catching:
    """Springs and dampers between the tips and where they are to be: open, with the ball, around it."""

    rate = 1000.0

    def __init__(self, s: ct.System) -> None:
        self.s = s
        around = 2.0 * np.pi * np.arange(3) / 3.0
        self.outwards = np.column_stack(
            [np.cos(BELOW) * np.cos(around), np.cos(BELOW) * np.sin(around), np.full(3, -np.sin(BELOW))]
        )
        self.own = [k for joint in s.joints if joint != "flies" for k in range(s.nv)[s.slice_v(joint)]]
        self.reset()

    def reset(self) -> None:
        """Forget what was before."""
        self.since: float | None = None

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        s = self.s
        ball, tau = s.pose(q, "ball"), np.zeros(s.nv)
        speed = ball.R @ v[s.slice_v("flies")][3:]
        if self.since is None and ball.p[2] < CAUGHT[2]:
            self.since, self.middle, self.speed = t, ball.p.copy(), speed.copy()
        if self.since is None:
            # Around where the ball will come through: open, and all but closed when it is there.
            left = (ball.p[2] - CAUGHT[2]) / max(-speed[2], 0.1)
            near = max(0.0, 1.0 - left / CLOSES)
            # They set out a little before it comes, and are as fast as it is when it does.
            middle = CAUGHT + 0.5 * CLOSES * (near * near - 1.0) * speed
            moves, bears = near * speed, np.zeros(3)
            radius, squeeze = OPEN + smooth(near) * (BALL + TIP + 0.002 - OPEN), 0.0
        else:
            # Around where it is; it is slowed down evenly, then carried to where it is held.
            middle, moves, radius = ball.p, speed, BALL + TIP
            local = t - self.since
            slow, squeeze = min(local, GIVES), smooth(local / GRIPS) * SQUEEZE
            goal = self.middle + self.speed * slow * (1.0 - 0.5 * slow / GIVES)
            goal = goal + smooth((local - GIVES) / MOVES) * (HELD - goal)
            bears = np.array([0.0, 0.0, 9.81]) - (self.speed / GIVES if local < GIVES else 0.0)
            bears = (
                MASS * bears + CARRY * (goal - ball.p) + CALM * (self.speed * (1.0 - slow / GIVES) - speed)
            )
        # Fingers carry themselves.
        tau[self.own] = s.bias_force(q, 0.0 * v)[self.own]
        tips = [s.pose(q, f"{finger}/tip") for finger in FINGERS]
        rows = [tip.R @ s.jacobian(q, f"{finger}/tip")[3:] for tip, finger in zip(tips, FINGERS)]
        inwards = squeeze * self.outwards * [1.0, 1.0, 0.0]
        goals = middle + radius * self.outwards - inwards
        forces = STIFFNESS * (goals - [tip.p for tip in tips]) + DAMPING * (moves - [row @ v for row in rows])
        if self.since is not None:
            # What squeezes the ball does not push it.
            forces += bears / 3.0 - forces.mean(axis=0)
        return tau + sum(row.T @ force for row, force in zip(rows, forces))


def smooth(s: float) -> float:
    """A step from 0 to 1 without jerk at its ends."""
    s = min(1.0, max(0.0, s))
    return s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)


def thrown(s: ct.System) -> tuple[np.ndarray, np.ndarray]:
    """The state in which the ball leaves another hand, spinning, and would come to where it is caught."""
    q, v = s.neutral(), np.zeros(s.nv)
    q[s.slice_q("flies")][:3] = START
    v[s.slice_v("flies")] = [0.0, 6.0, 0.0, *((CAUGHT - START) / FLIES + [0.0, 0.0, 0.5 * 9.81 * FLIES])]
    return q, v


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m, contacts = hand()
    s = m.system()
    begin = process_time()
    run = ct.simulate(
        s, *thrown(s), DURATION, control=Catching(s), contacts=contacts, rtol=1e-6, atol=1e-8, samples=601,
        check=False,
    )  # fmt: skip
    took = process_time() - begin
    ball = run.position("ball")
    touches = {contact.label: run.contact(contact.label) for contact in contacts}
    held = {name for name, touch in touches.items() if touch.touches[-1]}
    first = min(touch.impacts[0].t for touch in touches.values() if touch.impacts)
    speeds = np.linalg.norm(run.velocity("flies")[:, 3:], axis=-1)
    flying = run.t < first
    lost = sum(change.energy_loss for change in run.transitions)
    audit = run.audit()
    print(f"A ball of {MASS:g} kg is thrown from {np.linalg.norm(START - CAUGHT):.2f} m away and caught.")
    print(
        f"    a finger touches it first at         {first:.3f} s, when it flies at {speeds[flying][-1]:.2f} m/s"
    )
    for finger in FINGERS:
        touch = touches[f"{finger}/tip"]
        print(
            f"    {finger} presses up to              {touch.normal_force.max():.0f} N,"
            f" and at the end {touch.normal_force[-1]:.1f} N, where it {touch.mode[-1]}s"
        )
    print(
        f"    impacts take                         {1e3 * lost:.0f} mJ of {500 * MASS * speeds[flying][-1] ** 2:.0f}"
    )
    print(f"    it sinks to                          {1e3 * ball[~flying, 2].min():.0f} mm above the palm")
    print(f"    and rests, off where it should, by   {1e3 * np.linalg.norm(ball[-1] - HELD):.1f} mm")
    print(f"    where it still moves at              {speeds[-1]:.1e} m/s")
    print(f"    energy is balanced to                {audit['energy'].value:.1e}")
    print(f"    processor time for a second          {took / run.t[-1]:.2f} s")
    assert held == {f"{finger}/tip" for finger in FINGERS}, f"only {held} touch it at the end"
    assert speeds[-1] < 1e-3 and np.linalg.norm(ball[-1] - HELD) < 2e-3, "it does not rest in the hand"
    assert audit.ok, audit
    out.figure(picture(run, touches, first), "catch.png")
    out.film(run, forces=["contacts"], traces="ball", camera=(18.0, -60.0))


def picture(run: ct.Trajectory, touches: dict[str, ContactChannel], first: float) -> Figure:
    """The ball's height and speed, how far tips are from it, and what they press with."""
    figure = Figure(figsize=(8.5, 7.0), layout="constrained")
    where, gap, press = figure.subplots(3, sharex=True)
    for name, colour, values in zip("xyz", COLOURS, 1e3 * run.position("ball").T, strict=True):
        where.plot(run.t, values, color=colour, label=name)
    for finger, colour in zip(FINGERS, COLOURS, strict=True):
        touch = touches[f"{finger}/tip"]
        gap.plot(run.t, 1e3 * touch.gap, color=colour, label=finger)
        press.plot(run.t, touch.normal_force, color=colour)
    where.set(title="A ball is caught", ylabel="middle of the ball [mm]")
    gap.set(ylabel="tip from ball [mm]", ylim=(-1.0, 60.0))
    press.set(xlabel="t [s]", ylabel="normal force [N]", xlim=(0.0, run.t[-1]))
    for ax in (where, gap, press):
        ax.axvline(first, color="0.6", linewidth=0.8, linestyle="--")
    where.legend(loc="lower right")
    gap.legend(loc="upper right")
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
