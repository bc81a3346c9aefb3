"""Which motors does an arm need for a quick move? The move is prescribed, and motors are tried on three joints.

Usage: python examples/33_motor_sizing.py [folder for the pictures; default: out/33_motor_sizing]
"""

import sys

import numpy as np

import catena as ct
from pictures import Pictures

SECONDS = 0.9
MOVE = {"joint1": (0.0, 1.4), "joint2": (0.3, 1.0), "joint3": (1.4, 0.4)}
MOTORS: dict[str, dict[str, float]] = {
    "joint1": {"gear": 100.0, "limits": 0.9, "no_load_speed": 500.0},
    "joint2": {"gear": 120.0, "limits": 1.6, "no_load_speed": 400.0},
    "joint3": {"gear": 80.0, "limits": 0.6, "no_load_speed": 300.0},
}


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    s = ct.generators.arm6().system()
    start = np.zeros(s.nq)
    for joint, (first, _) in MOVE.items():
        start[s.slice_q(joint)] = first
    # The other joints are held where they are.
    motion = {
        name: ct.quintic((0.0, SECONDS), np.reshape(MOVE.get(name, (0.0, 0.0)), (2, 1))) for name in s.joints
    }
    run = ct.simulate(s, start, np.zeros(s.nv), SECONDS, motion=motion, samples=181)
    sizing = run.sizing(motors=MOTORS)
    print(sizing)
    for joint in MOVE:
        motor = sizing[joint]
        verdict = "is enough" if motor.largest_share <= 1.0 else "is too small"
        print(f"{joint}: the motor {verdict}; it gives {motor.energy_given:.2f} J and gets "
              f"{motor.energy_regenerated:.2f} J back")  # fmt: skip
    given = sum(motor.energy_given - motor.energy_regenerated for motor in sizing)
    print(f"work of all motors: {given:.3f} J, change of energy: {run.energy[-1] - run.energy[0]:.3f} J")
    out.figure(sizing.plot(), "motors.png")
    out.film(run)
    for name in ("arm.csv", "arm.mat"):
        run.save(out.folder / name, reactions=True, power=True, frames=["tool"])
        out.tell(name)


if __name__ == "__main__":
    main(sys.argv[1:])
