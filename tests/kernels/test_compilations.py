"""A mechanism whose joint kinds are known is planned, edited and planned again with nothing compiled."""

import numpy as np

import catena as ct
from benchmarks.states import random_states
from catena.mechanism.generators import free_flyer


def compute(system):
    """One of everything that matters while a mechanism changes its structure; returns the sum of its numbers."""
    q, v, tau, _ = random_states(system, 3, seed=1)
    frame = list(system.mechanism.bodies)[-1]
    results = [
        system.forward_dynamics(q, v, tau), system.inverse_dynamics(q, v, tau), system.mass_matrix(q),
        system.jacobian(q, frame), system.operational_space(q, frame)[0], system.momentum(q, v),
    ]  # fmt: skip
    return sum(float(np.sum(result)) for result in results)


def changed(mechanism):
    """Structures that a free-flying robot goes through: names and mechanisms."""
    arms = [name for name, joint in mechanism.joints.items() if isinstance(joint.kind, ct.Revolute)]
    heavier = mechanism.copy()
    heavier.add_body("load", mass=3.0, inertia=0.1)
    heavier.add_joint("grip", "load", list(mechanism.bodies)[-1], ct.Revolute((1, 2, 3)), damping=0.1)
    yield "another gravity", _with_gravity(mechanism)
    yield "a locked joint", mechanism.lock(arms[3], at=0.4)
    yield "three locked joints", mechanism.lock(arms[0]).lock(arms[5]).lock(arms[9], at=-1.0)
    yield "unlocked again", mechanism.lock(arms[3]).unlock(arms[3])
    yield "a fixed base", mechanism.fix_base()
    yield "one more body", heavier
    yield "one more body, held", heavier.lock("grip", at=0.2)


def _with_gravity(mechanism):
    other = mechanism.copy()
    other.gravity = (1.0, 2.0, 3.0)
    return other


def test_edits_and_new_plans_compile_nothing():
    mechanism = free_flyer()
    compute(mechanism.system())
    bodies = list(mechanism.bodies)
    # A pinned root turns joints round; kinds seen from their other side are code of their own the first time.
    compute(mechanism.system(root=bodies[-1]))
    before = ct.compilations()
    results = {}
    for name, other in changed(mechanism):
        results[name] = compute(other.system())
        assert ct.compilations() == before, name
    for root in bodies[2:-1:7]:
        compute(mechanism.system(root=root))
        assert ct.compilations() == before, root
    assert len(set(results.values())) == len(results)
    assert np.isfinite(list(results.values())).all()


def test_parameters_and_axes_are_data():
    def screw(axis, pitch):
        mechanism = ct.Mechanism("screw")
        mechanism.add_body("nut", mass=1.0, com=(0.1, 0.2, 0.0), inertia=0.1)
        mechanism.add_joint("thread", "ground", "nut", ct.Helical(axis, pitch))
        return mechanism.system()

    first = screw("z", 0.1).mass_matrix([0.0])
    before = ct.compilations()
    others = [screw("z", 0.2), screw((1, 2, 3), 0.1), screw("-x", -0.3)]
    assert len({float(s.mass_matrix([0.0])[0, 0]) for s in others} | {float(first[0, 0])}) == 4
    assert ct.compilations() == before
