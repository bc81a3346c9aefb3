"""Work that is counted during a run against the energy, and against powers integrated over dense samples."""

from dataclasses import replace

import numpy as np
import pytest

import catena as ct
from catena.simulation.audit import works


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


@pytest.mark.parametrize(("integrator", "bound"), [({}, 1e-10), ({"integrator": "abm4", "step": 5e-4}, 1e-7)])
def test_friction_of_all_joints_and_dampers(integrator, bound):
    first = rubbing("D")
    start = first.assemble({"A": 0.4}, guess=np.array([0.4, 1.0, 1.0]))
    lost = []
    for system in (first, rubbing("B")):
        q = system.assemble({joint: first.joint_position(start, joint) for joint in system.joints})
        run = ct.simulate(system, q, system.velocity(q, {"A": 2.0}), 0.5, **integrator)
        assert run.audit()["energy"].value < bound
        estimate, is_estimate = works(replace(run, work={}))
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
