"""Couplings as they are drawn: wheels that mesh, pulleys with a belt, a pinion for a rack."""

import numpy as np
import pytest

import catena as ct
from catena.view.scene import scene
from catena.view.solids import Bar, ToothedWheel


def train(**couplings):
    m = ct.Mechanism("train")
    for k, x in enumerate((0.0, 0.3, 0.8)):
        m.add_body(f"wheel{k}", 1.0, inertia=0.01)
        m.add_joint(f"axle{k}", "ground", f"wheel{k}", ct.Revolute("y"), ct.Pose(p=(x, 0, 0.3)))
        m.add_frame(f"mark{k}", f"wheel{k}", ct.Pose(p=(0, 0, 0.08)))
    m.add_body("rack", 1.0, inertia=0.01)
    m.add_joint("slide", "ground", "rack", ct.Prismatic("x"), ct.Pose(p=(0.8, 0, 0.15)))
    for name, coefficients in couplings.items():
        m.add_coupling(name, coefficients)
    s = m.system()
    return [part for part in scene(s, s.neutral()).parts if part.role == "coupling"]


def wheels_of(parts):
    return {part.body: solid for part in parts for solid in part.solids if isinstance(solid, ToothedWheel)}


def test_wheels_that_turn_against_each_other_touch_and_roll():
    wheels = wheels_of(train(mesh={"axle0": 0.1, "axle1": 0.2}))
    assert wheels["wheel0"].radius + wheels["wheel1"].radius == pytest.approx(0.3)
    assert wheels["wheel0"].radius * 2.0 == pytest.approx(wheels["wheel1"].radius)
    assert all(wheel.teeth for wheel in wheels.values())


def test_wheels_that_turn_alike_are_pulleys_with_a_belt_that_touches_both():
    parts = train(belt={"axle1": 0.2, "axle2": -0.1})
    wheels = wheels_of(parts)
    assert wheels["wheel1"].radius == pytest.approx(2.0 * wheels["wheel2"].radius)
    assert not any(wheel.teeth for wheel in wheels.values())
    runs = [solid for part in parts for solid in part.solids if isinstance(solid, Bar)]
    assert len(runs) == 2
    for run in runs:
        along = run.R[:, 2]
        for x, name in ((0.3, "wheel1"), (0.8, "wheel2")):
            centre = np.array([x, 0.0, 0.3]) - run.p
            off = np.linalg.norm(centre - (centre @ along) * along)
            assert off == pytest.approx(wheels[name].radius, rel=1e-9)


def test_a_pinion_has_the_radius_that_rolls_on_the_rack():
    wheels = wheels_of(train(rack={"slide": 1.0, "axle2": 0.15}))
    assert wheels["wheel2"].radius == pytest.approx(0.15)


def test_joints_that_no_gears_could_couple_get_small_wheels():
    m = ct.Mechanism("crossed")
    for k, axis in enumerate("xy"):
        m.add_body(f"wheel{k}", 1.0, inertia=0.01)
        m.add_joint(f"axle{k}", "ground", f"wheel{k}", ct.Revolute(axis), ct.Pose(p=(k, 0, 0)))
        m.add_frame(f"mark{k}", f"wheel{k}", ct.Pose(p=(0, 0, 0.3)))
    m.add_coupling("bevel", {"axle0": 1.0, "axle1": -2.0})
    s = m.system()
    found = wheels_of([part for part in scene(s, s.neutral()).parts if part.role == "coupling"])
    assert found["wheel0"].radius == pytest.approx(found["wheel1"].radius)
