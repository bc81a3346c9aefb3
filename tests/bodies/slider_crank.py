"""The slider-crank with a flexible rod that tests of several rooms move."""

import numpy as np

import catena as ct


def slider_crank(modes=2, young=2e11, damping=0.0):
    """A slider-crank whose rod, 6 mm thick, bends between the pins at its ends."""
    m = ct.Mechanism("slider-crank", gravity=(0.0, -9.81, 0.0))
    m.add_body("crank", mass=0.1, com=(0.075, 0.0, 0.0), inertia=(1e-5, 2e-4, 2e-4))
    area, second = np.pi * 0.006**2 / 4.0, np.pi * 0.006**4 / 64.0
    rod = ct.Beam(0.3, area, second, 7870.0, young, modes={"y": modes}, ends="pinned-pinned", damping=damping)
    m.add_body("rod", flexible=rod)
    m.add_body("slider", mass=0.03, inertia=(1e-5, 1e-5, 1e-5))
    m.add_joint("A", "ground", "crank", ct.Revolute("z"))
    m.add_joint("B", "crank", "rod", ct.Revolute("z"), in_parent=ct.Pose(p=(0.15, 0.0, 0.0)))
    m.add_joint("C", "rod", "slider", ct.Revolute("z"), in_parent=ct.Pose(p=(0.3, 0.0, 0.0)))
    m.add_joint("D", "ground", "slider", ct.Prismatic("x"))
    return m


def moving(s):
    """A closed state in which the crank turns and the rod is bent, in two modes, and bends further."""
    q = s.assemble({"A": 0.4, "rod.modes": [1e-3, -5e-4]})
    return q, s.velocity(q, {"A": 20.0, "rod.modes": [0.3, -0.2]})
