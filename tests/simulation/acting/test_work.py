"""Work that is counted during a run against the energy, and against powers integrated over dense samples."""

import numpy as np
import pytest

import catena as ct
from catena.simulation.results.audit import energy_balance, works


def rubbing(cut):
    """A linkage with friction in joints of the tree and of the loop, and a damped spring between two of its bodies."""
    m = ct.Mechanism("rubbing")
    for name in "abc":
        m.add_body(name, 1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    end = ct.Pose(p=(1, 0, 0))
    m.add_joint("A", "ground", "a", ct.Revolute("y"), damping=0.1)
    m.add_joint("B", "a", "b", ct.Revolute("y"), in_parent=end, friction=0.05)
    m.add_joint("C", "b", "c", ct.Revolute("y"), in_parent=end, damping=0.2)
    m.add_joint(
        "D", "ground", "c", ct.Revolute("y"), in_parent=ct.Pose(p=(1.2, 0, 0.3)), in_child=end, damping=0.3,
        friction=0.02,
    )  # fmt: skip
    m.add_spring_between("damped", "a", "c", stiffness=20.0, rest_length=0.3, damping=2.0)
    return m.system(cut=[cut])


@pytest.mark.parametrize(
    ("options", "bound"),
    [({}, 1e-10), ({"drift": "corrective"}, 1e-10), ({"integrator": "abm4", "step": 5e-4}, 1e-7)],
)
def test_friction_of_all_joints_and_dampers(options, bound):
    first = rubbing("D")
    start = first.assemble({"A": 0.4}, guess=np.array([0.4, 1.0, 1.0]))
    lost = []
    for system in (first, rubbing("B")):
        q = system.assemble({joint: first.joint_position(start, joint) for joint in system.joints})
        run = ct.simulate(system, q, system.velocity(q, {"A": 2.0}), 0.5, **options)
        assert run.audit()["energy"].value < bound
        estimate, is_estimate = works(run.with_(work={}))
        assert is_estimate
        np.testing.assert_allclose(run.work["friction"][-1], estimate["friction"][-1], rtol=1e-6)
        lost.append(run.work["friction"][-1])
    assert lost[0] == pytest.approx(lost[1], rel=1e-7)


def test_works_are_those_of_shorter_runs():
    """What is counted up to a sample between two steps is what a run that ends there counts."""
    system = rubbing("D")
    q = system.assemble({"A": 0.4}, guess=np.array([0.4, 1.0, 1.0]))
    v = system.velocity(q, {"A": 2.0})
    run = ct.simulate(system, q, v, 0.4, samples=4)
    shorter = ct.simulate(system, q, v, float(run.t[2]))
    np.testing.assert_allclose(run.work["friction"][2], shorter.work["friction"][-1], rtol=1e-9)


def linkage(**options):
    """The linkage where it begins to move, and how it is simulated."""
    system = rubbing("D")
    q = system.assemble({"A": 0.4}, guess=np.array([0.4, 1.0, 1.0]))
    return system, q, system.velocity(q, {"A": 2.0}), 0.3, options


def pendulum(q, **options):
    m = ct.Mechanism("pendulum")
    m.add_body("rod", 1.0, com=(0, 0, -1.0), inertia=0.01)
    m.add_joint("pin", "ground", "rod", ct.Revolute("y"), damping=0.3)
    # Friction that goes smoothly through rest, which stiff methods can follow too.
    m.add_force("rub", ct.forces.JointFriction(friction=(0.1,)), joint="pin")
    return m.system(), q, np.zeros(1), 1.0, options


STIFF = {
    "driven": pendulum(
        [0.4],
        samples=5,
        control=lambda t, q, v: 3.0 * np.sin(4.0 * t) - 0.2 * v,
        forces={"rod": lambda t: [0.0, 0.3 * np.cos(t), 0.0, 0.0, 0.0, 0.0]},
    ),
    "sampled": linkage(samples=5, control=ct.sampled(lambda t, q, v: {"A": 3.0 - 2.0 * v[0]}, rate=10.0)),
    "batch": pendulum(
        [[0.4], [0.8], [-0.1]],
        samples=4,
        control=lambda t, q, v: np.sin(t) - 0.3 * v,
        events=[ct.Event(lambda t, q, v: q[0] - 0.1, terminal=True)],
    ),
    "prescribed": linkage(
        motion={"A": lambda t: (0.4 + 2.0 * t - t**3, 2.0 - 3.0 * t * t, -6.0 * t)}, samples=3
    ),
}


@pytest.mark.parametrize("integrator", ["radau", "bdf", "lsoda"])
@pytest.mark.parametrize("problem", STIFF)
def test_stiff_methods_count_the_same_works(problem, integrator):
    system, q, v, duration, options = STIFF[problem]
    exact = ct.simulate(system, q, v, duration, **options)
    run = ct.simulate(system, q, v, duration, integrator=integrator, rtol=1e-8, atol=1e-10, **options)
    assert set(run.work) == set(exact.work)
    moved = sum(np.abs(work).max() for work in exact.work.values())
    for name, work in exact.work.items():
        np.testing.assert_allclose(run.work[name], work, rtol=0.0, atol=1e-6 * moved, err_msg=name)
    # What is counted belongs to this motion, so that it fits to its energy better still.
    balance = energy_balance(run)
    assert not balance.is_estimate
    assert np.all(np.abs(balance.rest) < 2e-7 * balance.moved[..., None])
