"""Mechanisms that tests of several rooms have in common and that no generator makes."""

import catena as ct
from catena.spatial import Pose

ROD = 0.3
"""The length of the rod of the slider-crank [m]."""


def two_bars(span):
    """Two bars of 1 m between pins `span` apart."""
    m = ct.Mechanism("two bars")
    for name in ("first", "second"):
        m.add_body(name, 1.0, (0.5, 0, 0), (0.001, 0.1, 0.1))
    m.add_joint("A", "ground", "first", ct.Revolute("y"))
    m.add_joint("B", "first", "second", ct.Revolute("y"), Pose(p=(1, 0, 0)))
    m.add_joint("C", "second", "ground", ct.Revolute("y"), Pose(p=(1, 0, 0)), Pose(p=(span, 0, 0)))
    return m


def slider_crank():
    """A slider-crank with a rod of two modes between its pins."""
    m = ct.Mechanism("slider-crank", gravity=(0, 0, 0))
    m.add_body("crank", mass=0.5, com=(0.075, 0, 0), inertia=(1e-5, 1e-3, 1e-3))
    m.add_body(
        "rod", flexible=ct.Beam(ROD, 2.8e-5, 6.4e-11, 7870, 2e11, modes={"y": 2}, ends="pinned-pinned")
    )
    m.add_body("slider", mass=0.03, inertia=(1e-5, 1e-5, 1e-5))
    m.add_joint("A", "ground", "crank", ct.Revolute("z"))
    m.add_joint("B", "crank", "rod", ct.Revolute("z"), in_parent=Pose(p=(0.15, 0, 0)))
    m.add_joint("C", "rod", "slider", ct.Revolute("z"), in_parent=Pose(p=(ROD, 0, 0)))
    m.add_joint("D", "ground", "slider", ct.Prismatic("x"))
    return m
