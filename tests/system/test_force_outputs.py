"""What forces tell at a state: outputs against formulas, energies and powers against each other."""

import numpy as np
import pytest

import catena as ct
from benchmarks.states import closed_states, random_states
from catena.mechanism.generators import four_bar, random_mechanism


def crane():
    """A rod on a hinge with limits, held by a spring between points, a torsion spring and a load."""
    m = ct.Mechanism("crane", gravity=(0, 0, -9.81))
    m.add_body("rod", 2.0, (0.5, 0, 0), 0.2)
    m.add_joint("hinge", "ground", "rod", ct.Revolute("-y"), limits=(-0.5, 0.5), limit_stiffness=100.0)
    m.add_frame("tip", "rod", ct.Pose(p=(1.0, 0, 0)))
    m.add_frame("post", "ground", ct.Pose(p=(0.0, 0, 1.0)))
    m.add_spring_between("stay", "post", "tip", 50.0, 1.0, 2.0)
    m.add_spring("coil", "hinge", 4.0, 0.1, 0.3)
    m.add_wrench("load", "tip", force=(0, 0, -5.0))
    return m


def test_outputs_are_what_the_kinds_say(agree):
    s = crane().system()
    q, v = np.array([0.6]), np.array([1.5])
    found = s.forces.outputs(q, v)
    assert list(found) == ["stay", "coil", "load", "hinge.limits"]
    tip = np.array([np.cos(0.6), np.sin(0.6)])
    span = tip - [0.0, 1.0]
    length = np.linalg.norm(span)
    rate = 1.5 * span @ [-tip[1], tip[0]] / length
    pull = 50.0 * (length - 1.0) + 2.0 * rate
    stored = 25.0 * (length - 1.0) ** 2
    expected = {"length": length, "rate": rate, "tension": pull, "energy": stored, "power": -pull * rate}
    assert {k: float(x) for k, x in found["stay"].items()} == pytest.approx(expected)
    force = -4.0 * 0.5 - 0.3 * 1.5
    assert {k: float(x) for k, x in found["coil"].items()} == pytest.approx(
        {"deflection": 0.5, "force": force, "energy": 2.0 * 0.25, "power": force * 1.5}
    )
    assert float(found["load"]["power"]) == pytest.approx(-5.0 * 1.5 * np.cos(0.6))
    assert {k: float(x) for k, x in found["hinge.limits"].items()} == pytest.approx(
        {"deflection": 0.1, "force": -10.0, "energy": 0.5, "power": -15.0}
    )
    powers = s.forces.powers(q, v)
    assert float(powers["friction"]) == pytest.approx(-2.0 * rate**2 - 0.3 * 1.5**2)
    assert float(powers["wrenches"]) == pytest.approx(-5.0 * 1.5 * np.cos(0.6))
    total = sum(float(own.get("energy", 0.0)) for own in found.values())
    agree(s.forces.energy(q), np.float64(total), 1e-14)


def test_outputs_have_the_shape_of_the_batch():
    s = crane().system()
    q, v = np.full((2, 3, 1), 0.2), np.full((3, 1), 0.1)
    found = s.forces.outputs(q, v)
    assert all(x.shape == (2, 3) for own in found.values() for x in own.values())
    assert s.forces.outputs(q[:0], v)["stay"]["length"].shape == (0, 3)
    assert s.forces.powers(q, v)["friction"].shape == (2, 3)
    bare = random_mechanism(0, 3).system()
    q, v, _, _ = random_states(bare, 2, 0)
    assert bare.forces.outputs(q, v) == {} and bare.forces.powers(q, v) == {}


def test_locked_and_welded_joints_have_no_outputs():
    s = crane().lock("hinge", 0.2).system()
    assert s.forces.outputs(np.zeros(0), np.zeros(0))["stay"]["length"] == pytest.approx(
        np.hypot(np.cos(0.2), np.sin(0.2) - 1.0)
    )
    assert list(s.forces.outputs(np.zeros(0), np.zeros(0))) == ["stay", "load"]


@pytest.mark.parametrize("cut", [[], ["B"], ["C"]])
def test_power_of_every_force_is_what_its_energy_loses_and_what_it_spends(cut, derivative, agree):
    m = four_bar()
    names = list(m.joints)
    for k, name in enumerate(names):
        m.add_spring(f"s{k}", name, 3.0 + k, 0.1, 0.2 * k)
    m.add_spring_between("rope", "ground", list(m.bodies)[2], 7.0, 0.1, 0.3)
    m.add_wrench("load", list(m.bodies)[1], (0, 1, 0), (1, 0, 2))
    s = m.system(cut=[names["ABCD".index(c)] for c in cut])
    q, v, _, _ = closed_states(s, 3, 0, spread=0.2)
    found = s.forces.outputs(q, v)
    for name, own in found.items():
        if "energy" in own:
            lost = -derivative(lambda h, n=name: s.forces.outputs(s.integrate(q, v, h), v)[n]["energy"], 1e-4)
            spent = own["power"] - lost
            assert (spent <= 1e-9).all()
            resting = s.forces.outputs(q, 0.0 * v)[name]
            assert (resting["power"] == 0.0).all()
    conserved = -derivative(lambda h: s.forces.energy(s.integrate(q, v, h)), 1e-4)
    total = sum(own["power"] for own in found.values())
    agree(total, conserved + sum(s.forces.powers(q, v).values()), 1e-9, np.abs(total).max())


def test_modes_spend_their_damping_once(derivative, agree):
    """A flexible body is many nodes with the same coordinates, whose damping takes energy once."""
    m = ct.Mechanism("boom")
    beam = ct.Beam(
        length=1.0, area=1e-4, inertia=1e-9, density=2700.0, young=7e10, modes={"z": 2}, damping=0.02
    )
    m.add_body("boom", flexible=beam)
    m.add_joint("hinge", "ground", "boom", ct.Revolute("y"), damping=0.3)
    s = m.system()
    q, v = np.random.default_rng(1).normal(size=(2, s.nv)) * [[1e-4], [1.0]]
    a = s.forward_dynamics(q, v)

    def energy(h):
        there, rates = s.integrate(q, v + 0.5 * h * a, h), v + h * a
        return s.kinetic_energy(there, rates) + s.potential_energy(there)

    agree(s.forces.powers(q, v)["friction"], derivative(energy, 4e-6), 1e-7)


def test_applied_wrenches_are_known_by_frame_and_axes():
    s = crane().system()
    with pytest.raises(ct.UnknownNameError, match="no body or frame is named 'tipp'"):
        s.mechanics.elements.applied("tipp")
    assert s.mechanics.elements.applied("tip").kind.inputs == 6


@pytest.mark.parametrize("cut", "BC")
def test_power_against_other_velocities(cut, agree):
    """What friction and dampers take along velocities is bilinear where they are linear, and along their own it is what
    they spend."""
    made, m = four_bar(), ct.Mechanism("damped four-bar")
    for name, body in list(made.bodies.items())[1:]:
        m.add_body(name, body.mass, body.com, body.inertia)
    for k, (name, joint) in enumerate(made.joints.items()):
        ends = {"in_parent": joint.in_parent, "in_child": joint.in_child, "damping": 0.1 * k}
        m.add_joint(name, joint.parent, joint.child, joint.kind, **ends)
    names = list(m.joints)
    for k, name in enumerate(names):
        m.add_spring(f"s{k}", name, 3.0 + k, 0.1, 0.2 * k)
    m.add_spring_between("rope", "ground", list(m.bodies)[2], 7.0, 0.1, 0.3)
    m.add_bushing("mount", list(m.bodies)[1], list(m.bodies)[2], np.ones(6), np.arange(6.0))
    m.add_wrench("load", list(m.bodies)[1], (0, 1, 0), (1, 0, 2))
    s = m.system(cut=[names["ABCD".index(cut)]])
    q, v, _, _ = closed_states(s, 3, 0, spread=0.2)
    w = v[::-1] * 0.3 + 0.1 * v
    own = s.mechanics.elements.power_against(q, v, v)
    agree(own, s.forces.powers(q, v)["friction"], 1e-12)
    more, less = (s.forces.powers(q, v + sign * w)["friction"] for sign in (1.0, -1.0))
    agree(s.mechanics.elements.power_against(q, v, w), 0.25 * (more - less), 1e-12, np.abs(own).max())
