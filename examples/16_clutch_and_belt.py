"""Dry friction that truly sticks: a clutch that locks, a brake that holds, and boxes on a belt that wait at a gate.

A flywheel runs into a standing load through a clutch, a joint with dry friction: it slips, and from one instant on the
two turn as one; the brake of the load is tighter than what is left and stops both for good. Beside it a belt carries
two boxes to a gate: they slide until they are as fast as the belt, stick to it, run into the gate and each other, and
slide in place. All times are compared with formulas.

Usage: python examples/16_clutch_and_belt.py [folder for the pictures; default: out/16_clutch_and_belt]
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import shapes
from pictures import Pictures

BLUE, ORANGE, INK = "#4477aa", "#e07b2e", "#1f2933"
G = 9.81
FLYWHEEL, LOAD, CLUTCH, BRAKE, SPEED = 0.4, 0.25, 6.0, 2.0, 30.0  # [kg m^2, N m, rad/s]
BELT, FRICTION, BOX, GATE = 0.6, 0.25, 0.1, 0.9  # [m/s, -, half a box m, m]


def clutch() -> ct.Mechanism:
    """A load on a shaft with a brake, and a flywheel that sits on the load with a clutch."""
    m = ct.Mechanism("clutch", gravity=(0, 0, 0))
    m.add_body("load", mass=20.0, inertia=LOAD, visuals=shapes.Cylinder(0.15, 0.05))
    m.add_body("flywheel", mass=30.0, inertia=FLYWHEEL, visuals=shapes.Cylinder(0.2, 0.05))
    m.add_joint("shaft", "ground", "load", ct.Revolute("z"), friction=BRAKE, actuated=False)
    m.add_joint(
        "clutch", "load", "flywheel", ct.Revolute("z"), in_parent=ct.Pose(p=(0, 0, 0.1)), friction=CLUTCH,
        actuated=False,
    )  # fmt: skip
    return m


def belt() -> tuple[ct.Mechanism, list[ct.Contact]]:
    """A belt that runs as it is driven, two boxes on it, and a gate; boxes touch by the corners of their bottoms."""
    m = ct.Mechanism("belt feeder")
    m.add_body(
        "belt", mass=5.0, inertia=0.1, visuals=shapes.Box((3.0, 0.3, 0.02), pose=ct.Pose(p=(0, 0, -0.011)))
    )
    m.add_joint("runs", "ground", "belt", ct.Prismatic("x"))
    m.add_frame("gate", "ground", ct.Pose(p=(GATE, 0, 0), rpy=(0, -np.pi / 2, 0)))
    contacts = []
    for box in ("first", "second"):
        m.add_body(box, mass=1.5, inertia=0.01, visuals=shapes.Box((2 * BOX, 2 * BOX, 2 * BOX)))
        m.add_joint(f"{box} moves", "ground", box, ct.Sdof("dx", "dz", "ry"), actuated=False)
        m.add_frame(f"{box} face", box, ct.Pose(p=(BOX, 0, 0)))
        for side, x in (("back", -BOX), ("front", BOX)):
            m.add_frame(f"{box} {side}", box, ct.Pose(p=(x, 0, -BOX)))
            contacts.append(ct.Contact(f"{box} {side}", on="belt", friction=FRICTION))
    m.add_frame("behind", "first", ct.Pose(p=(-BOX, 0, 0), rpy=(0, -np.pi / 2, 0)))
    contacts.append(ct.Contact("first face", on="gate", name="gate"))
    contacts.append(ct.Contact("second face", on="behind", name="queue"))
    return m, contacts


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    s = clutch().system()
    turns = ct.simulate(s, s.neutral(), s.velocity(s.neutral(), {"shaft": 0.0, "clutch": SPEED}), 8.0)
    load = turns.velocity("shaft")[:, 0]
    flywheel = load + turns.velocity("clutch")[:, 0]
    locks = SPEED / (CLUTCH / FLYWHEEL + (CLUTCH - BRAKE) / LOAD)
    common = SPEED - CLUTCH / FLYWHEEL * locks
    stops = locks + common * (FLYWHEEL + LOAD) / BRAKE
    locked = turns.t[np.abs(flywheel - load) < 1e-9].min()
    held = turns.t[(np.abs(load) < 1e-9) & (turns.t > locked)].min()
    print("A clutch takes a load along, and a brake stops both.")
    print(f"    the clutch locks at                  {locked:.4f} s, by formula {locks:.4f} s")
    print(
        f"    at a common speed of                 {turns.at(locks).v[0]:.4f} rad/s, by formula {common:.4f} rad/s"
    )
    print(f"    the brake holds from                 {held:.4f} s, by formula {stops:.4f} s")
    print(
        f"    afterwards the load creeps by        {np.ptp(turns['shaft'][turns.t > stops + 0.02]):.1e} rad"
    )

    m, contacts = belt()
    s = m.system()
    q = s.assemble({"first moves": [0.0, BOX, 0.0], "second moves": [-0.6, BOX, 0.0]})
    run = ct.simulate(
        s, q, np.zeros(s.nv), 3.0, contacts=contacts, motion={"runs": f"{BELT} * t"}, rtol=1e-8,
        samples=301, check=False,
    )  # fmt: skip
    sticks = next(x for x in run.transitions if "stick" in " ".join(x.told) and x.t > 0.0)
    hit = next(x for x in run.transitions if "gate" in x.impulse)
    queue = next(x for x in run.transitions if "queue" in x.impulse)
    slid = BELT / (FRICTION * G)
    arrives = slid + (GATE - BOX - 0.5 * BELT * slid) / BELT
    print("A belt carries two boxes to a gate.")
    print(f"    they are as fast as the belt at      {sticks.t:.4f} s, by formula {slid:.4f} s")
    print(f"    the first meets the gate at          {hit.t:.4f} s, by formula {arrives:.4f} s")
    print(f"    and loses                            {hit.energy_loss:.4f} J, of {0.5 * 1.5 * BELT**2:.4f} J")
    print(
        f"    the second meets the first at        {queue.t:.4f} s, by formula {arrives + 0.4 / BELT:.4f} s"
    )
    gate = run.contact("gate").normal_force[-1]
    print(f"    the gate holds both with             {gate:.3f} N, by formula {2 * FRICTION * 1.5 * G:.3f} N")

    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(turns.t, flywheel, color=BLUE, label="flywheel")
    left.plot(turns.t, load, color=ORANGE, label="load")
    left.set(xlabel="t [s]", ylabel="speed [rad/s]", title="A clutch that locks, a brake that holds")
    left.legend()
    for box, colour in (("first", BLUE), ("second", ORANGE)):
        right.plot(run.t, run[f"{box} moves"][:, 0], color=colour, label=box)
    right.axhline(GATE - BOX, color=INK, linewidth=0.8, linestyle="--")
    right.set(xlabel="t [s]", ylabel="x [m]", title="Boxes on a belt")
    right.legend(loc="lower right")
    out.figure(figure, "sticking.png")
    out.film(run)


if __name__ == "__main__":
    main(sys.argv[1:])
