"""A double wishbone suspension over a bump, faster than real time.

A quarter of a car: the chassis moves up and down, two wishbones swing on it, and the upright between them carries the
wheel and is steered by a tie rod. The spring and the damper stand between the lower wishbone and the chassis, the tyre
is a spring between the road and the wheel, and the road goes up and down as a spline has it. The wishbones and the tie
rod are two loops, which stay closed to rounding.

Usage: python examples/28_wishbone.py [folder for the pictures; default: out/28_wishbone]
"""

import sys
import time
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import shapes
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
STEP = 2e-3


def suspension() -> ct.Mechanism:
    """A quarter of a car; x is forwards, y to the left, z up."""

    def at(x: float, y: float, z: float) -> ct.Pose:
        return ct.Pose(p=(x, y, z))

    m = ct.Mechanism("wishbone suspension")
    m.add_body("chassis", mass=350.0, inertia=30.0)
    for name, mass in (("lower", 4.0), ("upper", 3.0)):
        m.add_body(name, mass=mass, com=(0, 0.17, 0), inertia=(0.05, 0.01, 0.06))
    m.add_body("upright", mass=25.0, com=(0, 0.05, 0.05), inertia=(0.5, 0.8, 0.5))
    m.add_body("tie rod", mass=0.6, com=(0, 0.17, 0), inertia=(0.006, 0.0003, 0.006))
    m.add_body("road", mass=1.0, visuals=shapes.Box((0.3, 0.2, 0.02)))
    idle, ball = {"actuated": False}, ct.Spherical()
    m.add_joint("heave", "ground", "chassis", ct.Prismatic("z"), at(0, 0, 0.3), **idle)
    m.add_joint("ride", "ground", "road", ct.Prismatic("z"), at(0, 0.8, 0))
    m.add_joint("lower pivot", "chassis", "lower", ct.Revolute("x"), at(0, 0.35, -0.1), **idle)
    m.add_joint("upper pivot", "chassis", "upper", ct.Revolute("x"), at(0, 0.42, 0.15), **idle)
    m.add_joint("lower ball", "lower", "upright", ball, at(0, 0.35, 0), **idle)
    m.add_joint("upper ball", "upper", "upright", ball, at(-0.02, 0.26, 0), at(-0.02, -0.02, 0.25), **idle)
    m.add_joint("rack end", "chassis", "tie rod", ct.Universal("x", "z"), at(-0.12, 0.36, 0), **idle)
    m.add_joint("steering", "tie rod", "upright", ball, at(0, 0.34, 0), at(-0.12, 0, 0.1), **idle)
    m.add_frame("hub", "upright", at(0, 0.1, 0.1))
    m.add_frame("tower", "chassis", at(0, 0.42, 0.35))
    m.add_frame("seat", "lower", at(0, 0.25, 0))
    m.add_spring_between("strut", "tower", "seat", stiffness=30e3, rest_length=0.67, damping=2500.0)
    m.add_spring_between("tyre", "road", "hub", stiffness=200e3, rest_length=0.32, damping=100.0)
    return m


def settled() -> tuple[ct.System, np.ndarray, Any]:
    """The car, where it comes to rest on a level road, and a bump of 6 cm."""
    m = suspension()
    s, still = m.system(), m.lock("ride").system()
    q = still.equilibrium(guess=still.assemble(), seek="stable").q
    rest = s.assemble({joint: still.joint_position(q, joint) for joint in still.joints})
    return s, rest, ct.spline([0.0, 0.3, 0.4, 0.5, 2.0], [0.0, 0.0, 0.06, 0.0, 0.0])


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    s, rest, bump = settled()
    print(f"the chassis settles at {rest[s.slice_q('heave')][0] * 1000:.1f} mm")
    options = {"motion": {"ride": bump}, "integrator": "rk4", "step": STEP, "samples": 201, "progress": False}
    run = ct.simulate(s, rest, np.zeros(s.nv), 2.0, **options)
    began = time.perf_counter()
    run = ct.simulate(s, rest, np.zeros(s.nv), 2.0, check=False, **options)
    took = time.perf_counter() - began
    wheel, body = run.position("hub")[:, 2], run["heave"][:, 0]
    rise = [1000.0 * (x.max() - x[0]) for x in (wheel, body)]
    print(f"the wheel rises by {rise[0]:.1f} mm, the chassis by {rise[1]:.1f} mm")
    force = s.forces.outputs(run.q, run.v)["tyre"]["tension"]
    print(f"the tyre presses with {-force.max():.0f} to {-force.min():.0f} N")
    hub = run.pose("hub")
    camber, toe = np.degrees(np.arcsin(hub[:, 2, 1])), np.degrees(np.arctan2(hub[:, 0, 1], hub[:, 1, 1]))
    print(f"camber changes by {np.ptp(camber):.2f} degrees, toe by {np.ptp(toe):.2f}")
    print(f"loops stay closed to {run.closure_error:.1e}")
    print(f"2 s took {took * 1000:.0f} ms: {2.0 / took:.0f} times faster than real time")

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for values, colour, label in (
        (run["ride"][:, 0], INK, "road"), (wheel - wheel[0], ORANGE, "wheel"), (body - body[0], BLUE, "chassis"),
    ):  # fmt: skip
        left.plot(run.t, 1000.0 * values, color=colour, label=label)
    left.set(xlabel="time [s]", ylabel="up [mm]")
    left.legend()
    right.plot(run.t, -force / 1000.0, color=ORANGE)
    right.set(xlabel="time [s]", ylabel="tyre [kN]")
    out.figure(figure, "bump.png")
    out.film(run)


if __name__ == "__main__":
    main(sys.argv[1:])
