"""Couplings as they are drawn: wheels that mesh, pulleys with a belt, a pinion for a rack."""

import numpy as np
import pytest

import catena as ct
from catena.view.scene import scene
from catena.view.solids import BarSolid, ToothedRing, ToothedWheel


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
    # Teeth of one size on both, to half a tooth.
    assert 2.0 * wheels["wheel0"].teeth == pytest.approx(wheels["wheel1"].teeth, abs=1.0)
    assert all(wheel.teeth > 8 for wheel in wheels.values())


def test_wheels_that_turn_alike_are_pulleys_with_a_belt_that_touches_both():
    parts = train(belt={"axle1": 0.2, "axle2": -0.1})
    wheels = wheels_of(parts)
    assert wheels["wheel1"].radius == pytest.approx(2.0 * wheels["wheel2"].radius)
    assert not any(wheel.teeth for wheel in wheels.values())
    runs = [solid for part in parts for solid in part.solids if isinstance(solid, BarSolid)]
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


def planetary(r_sun, r_planet, flipped=(), ring_turns=False):
    """A planetary gear by the coefficients of the docs, with joints in `flipped` told from the other side; its ring is
    held, or a body of its own."""
    m = ct.Mechanism("planetary", gravity=(0, 0, 0))
    r_ring = r_sun + 2.0 * r_planet
    sign = {name: -1.0 if name in flipped else 1.0 for name in ("sun", "carrier", "planet", "ring")}
    for name in ("sun", "carrier", "planet", *(("ring",) if ring_turns else ())):
        m.add_body(name, 0.2, inertia=2e-5)
        at = ct.Pose(p=(r_sun + r_planet, 0, 0)) if name == "planet" else ct.Pose()
        parent = "carrier" if name == "planet" else "ground"
        if name in flipped:
            m.add_joint(name, name, parent, ct.Revolute("y"), ct.Pose(), at)
        else:
            m.add_joint(name, parent, name, ct.Revolute("y"), at)
    turns = {
        "sun": r_sun * sign["sun"],
        "carrier": -r_sun * sign["carrier"],
        "planet": r_planet * sign["planet"],
    }
    m.add_coupling("sun-planet", turns)
    turns = {"planet": r_planet * sign["planet"], "carrier": r_ring * sign["carrier"]}
    m.add_coupling("planet-ring", turns | ({"ring": -r_ring * sign["ring"]} if ring_turns else {}))
    return m


@pytest.mark.parametrize("ring_turns", [False, True])
@pytest.mark.parametrize(
    "flipped", [(), ("planet",), ("sun", "carrier"), ("carrier",), ("sun", "planet", "ring")]
)
def test_planets_roll_on_their_sun_and_in_their_ring(flipped, ring_turns):
    rng = np.random.default_rng(len(flipped))
    r_sun, r_planet = rng.uniform(0.02, 0.05, 2)
    s = planetary(r_sun, r_planet, flipped, ring_turns).system()
    q = s.neutral()
    parts = [part for part in scene(s, q).parts if part.role == "coupling"]
    found = {
        (part.body, type(solid)): solid.radius
        for part in parts
        for solid in part.solids
        if hasattr(solid, "teeth")
    }
    ring = "ring" if ring_turns else "ground"
    assert found == {
        ("sun", ToothedWheel): pytest.approx(r_sun), ("planet", ToothedWheel): pytest.approx(r_planet),
        (ring, ToothedRing): pytest.approx(r_sun + 2.0 * r_planet),
    }  # fmt: skip
    # Where they touch, both move alike.
    v = s.velocity(q, {"sun": 1.0, "carrier": 0.3} if ring_turns else {"sun": 1.0})
    for bodies, x in ((("sun", "planet"), r_sun), (("planet", ring), r_sun + 2.0 * r_planet)):
        first, second = (speed(s, q, v, body, np.array([x, 0.0, 0.0])) for body in bodies)
        np.testing.assert_allclose(first, second, atol=1e-12)


def speed(s, q, v, body, point):
    """The velocity (3,) of a point of a body in ground axes."""
    if body == "ground":
        return np.zeros(3)
    twist = s.twist(q, v, body, axes="ground")
    return twist[3:] + np.cross(twist[:3], point)


def test_radii_that_say_so_make_a_ring_of_wheels_on_fixed_axes():
    parts = train(inside={"axle0": 0.5, "axle1": -0.2})
    radii = {part.body: solid.radius for part in parts for solid in part.solids}
    assert radii == {"wheel0": pytest.approx(0.5), "wheel1": pytest.approx(0.2)}
    assert any(isinstance(solid, ToothedRing) for part in parts for solid in part.solids)
