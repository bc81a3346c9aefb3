"""A hopper on one springy leg runs over ten hops (after Raibert): in flight it puts its foot where the next stance will
keep its speed, on the ground it turns its body upright with the hip and pushes off by making its spring longer. Its
foot is a contact with friction that lands, sticks and leaves.

Usage: python examples/15_hopper.py [folder for the pictures; default: out/15_hopper]
"""

import sys
from time import perf_counter

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import shapes
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
SPEED = 0.8  # [m/s]
REST, STIFFNESS, DAMPING, PUSH = 0.6, 4000.0, 12.0, 0.016  # leg [m, N/m, N s/m, m]
STANCE = 0.15  # about how long it stands [s]
FRICTION = 0.8


def hopper() -> ct.Mechanism:
    """A body that moves in the x-z plane, a hip, and a leg that slides out of it."""
    m = ct.Mechanism("hopper")
    m.add_body("body", mass=8.0, inertia=(0.3, 0.6, 0.4), visuals=shapes.Box((0.5, 0.2, 0.12)))
    m.add_body("thigh", mass=0.6, com=(0, 0, -0.1), inertia=(0.004, 0.004, 0.001))
    m.add_body("shin", mass=0.3, com=(0, 0, 0.15), inertia=(0.003, 0.003, 0.0003))
    m.add_joint("moves", "ground", "body", ct.Sdof("dx", "dz", "ry"), actuated=False)
    m.add_joint("hip", "body", "thigh", ct.Revolute("y"))
    m.add_joint("leg", "thigh", "shin", ct.Prismatic("-z"))
    m.add_frame("foot", "shin")
    return m


class Running:
    """Raibert's three laws, at 1 kHz."""

    rate = 1000.0

    def __init__(self) -> None:
        self.extends = False

    def reset(self) -> None:
        """Forget what was before."""
        self.extends = False

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        (_, z, pitch, hip, leg), (vx, _, spin, turn, slide) = q, v
        lean = pitch + hip  # of the leg from the vertical
        foot = z - leg * np.cos(lean)
        stands = foot < 0.002 and leg < REST
        self.extends = stands and (self.extends or slide > 0.0)
        spring = STIFFNESS * (REST + (PUSH if self.extends else 0.0) - leg) - DAMPING * slide
        if stands:
            torque = 200.0 * pitch + 30.0 * spin  # turns the body upright against the leg
            return np.array([0.0, 0.0, 0.0, torque, spring])
        # The leg points to where the foot is half a stance ahead, and further if it runs too fast.
        ahead = 0.5 * STANCE * vx + 0.03 * (vx - SPEED)
        goal = -np.arcsin(np.clip(ahead / REST, -0.6, 0.6))
        torque = 60.0 * (goal - lean) - 4.0 * (turn + spin)
        return np.array([0.0, 0.0, 0.0, torque, spring])


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    s = hopper().system()
    q = s.neutral()
    q[s.slice_q("moves")] = [0.0, REST + 0.12, 0.0]
    q[s.slice_q("leg")] = REST
    begin = perf_counter()
    run = ct.simulate(
        s, q, np.zeros(s.nv), 5.2, control=Running(), contacts=[ct.Contact("foot", friction=FRICTION)],
        rtol=1e-6, atol=1e-8, samples=1101, check=False,
    )  # fmt: skip
    took = perf_counter() - begin
    foot = run.contact("foot")
    landed = np.flatnonzero(np.diff(foot.touches.astype(int)) == 1)
    print(f"It runs for {run.t[-1]:.1f} s and makes {len(landed)} hops.")
    speed = run.velocity("moves")[:, 0]
    late = run.t > 0.5 * run.t[-1]
    print(f"    its speed settles at                 {speed[late].mean():.2f} m/s")
    print(
        f"    the body stays within                {np.degrees(np.abs(run['moves'][:, 2]).max()):.1f} degrees"
    )
    print(f"    its hips rise to                     {run.position('body')[late, 2].max():.3f} m")
    print(f"    an impact takes                      {np.mean([x.energy_loss for x in foot.impacts]):.2f} J")
    print(f"    the foot presses with up to          {foot.normal_force.max():.0f} N")
    print(f"    simulated seconds in a second        {run.t[-1] / took:.1f}")

    figure = Figure(figsize=(8.5, 6.0), layout="constrained")
    path, force, pace = figure.subplots(3)
    path.plot(run.position("body")[:, 0], run.position("body")[:, 2], color=BLUE, label="body")
    path.plot(run.position("foot")[:, 0], run.position("foot")[:, 2], color=ORANGE, label="foot")
    path.set(xlabel="x [m]", ylabel="z [m]", title="Ten hops")
    path.legend(loc="center right")
    force.plot(run.t, foot.normal_force, color=ORANGE)
    force.set(ylabel="force of the foot [N]", xlim=(0.0, run.t[-1]))
    pace.plot(run.t, speed, color=BLUE)
    pace.axhline(SPEED, color=INK, linewidth=0.8, linestyle="--")
    pace.set(xlabel="t [s]", ylabel="speed [m/s]", xlim=(0.0, run.t[-1]))
    out.figure(figure, "hops.png")
    out.film(run)


if __name__ == "__main__":
    main(sys.argv[1:])
