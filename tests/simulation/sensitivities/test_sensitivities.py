"""Sensitivities of runs against differences of runs."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar


def test_a_four_bar_for_two_seconds(agree):
    s = four_bar().system()
    q = s.assemble({"A": 0.4})
    v = s.velocity(q, {"A": 2.0})
    body = list(s.mechanism.bodies)[-1]
    found = ct.sensitivities(s, q, v, 2.0, parameters=[f"{body}.mass"])
    (own,) = found.independent
    name = s.joints[own]

    def end(step=0.0, faster=0.0, system=s):
        there = s.assemble({name: q[own] + step}, guess=q)
        rate = s.velocity(there, {name: v[own] + faster})
        run = ct.simulate(system, there, rate, 2.0, samples=2, check=False, rtol=1e-12)
        return np.concatenate([run.q[-1], run.v[-1]])

    def difference(at, h=1e-4):
        d = [at(j * h) - at(-j * h) for j in (1, 2)]
        return (8 * d[0] - d[1]) / (12 * h)

    agree(found.by_start[-1][:, 0], difference(lambda x: end(step=x)), 3e-6)
    agree(found.by_start[-1][:, 1], difference(lambda x: end(faster=x)), 3e-6)
    # The adjoint tells the same, of any number at the end.
    weight = np.arange(6.0)
    gradient = found.adjoint(weight[:3], weight[3:])
    agree(np.concatenate([gradient.q, gradient.v]), weight @ found.by_start[-1], 1e-10)
    agree(gradient.tau.sum(axis=0), weight @ found.by_tau[-1], 1e-10)
    agree(gradient.parameters[f"{body}.mass"], weight @ found.by_parameter[f"{body}.mass"][-1], 1e-10)


def test_a_spring_pendulum_by_forces_and_parameters(agree):
    def pendulum(mass=1.3):
        m = ct.Mechanism("pendulum")
        m.add_body("bob", mass=mass, com=(0, 0, -0.8), inertia=0.05)
        m.add_joint("J", "ground", "bob", ct.Revolute("y"), damping=0.1)
        m.add_spring("S", "J", stiffness=3.0)
        return m.system()

    s = pendulum()

    def end(tau=0.2, mass=1.3):
        run = ct.simulate(
            pendulum(mass),
            [0.5],
            [0.3],
            1.0,
            control=lambda t, q, v: np.full(v.shape, tau),
            samples=2,
            check=False,
        )
        return np.concatenate([run.q[-1], run.v[-1]])

    found = ct.sensitivities(s, [0.5], [0.3], 1.0, tau=[0.2], parameters=["bob.mass"], intervals=100)
    h = 1e-3
    agree(found.by_tau[-1][:, 0], (end(tau=0.2 + h) - end(tau=0.2 - h)) / (2 * h), 1e-6)
    agree(found.by_parameter["bob.mass"][-1][:, 0], (end(mass=1.3 + h) - end(mass=1.3 - h)) / (2 * h), 1e-5)


def test_errors_name_what_is_wrong():
    s = four_bar().system()
    q = s.assemble({"A": 0.4})
    with pytest.raises(ct.StateError, match="intervals"):
        ct.sensitivities(s, q, np.zeros(3), 1.0, intervals=0)
    with pytest.raises(ct.StateError, match="tau"):
        ct.sensitivities(s, q, np.zeros(3), 1.0, tau=[1.0])


def swung(s, q, v, tau, duration):
    """The state at the end of a motion under forces that are constant in each of as many intervals as rows."""
    for force in tau:
        run = ct.simulate(
            s, q, v, duration / len(tau), control=lambda t, q, v, force=force: np.broadcast_to(force, v.shape),
            samples=2, check=False,
        )  # fmt: skip
        q, v = run.q[-1], run.v[-1]
    return np.concatenate([q, v])


@pytest.mark.parametrize("loops", [False, True])
def test_a_history_of_forces_and_a_batch_agree_with_differences(loops, agree):
    if loops:
        s = four_bar().system()
        q = np.stack([s.assemble({"A": x}) for x in (0.4, 0.6)])
        v = np.stack([s.velocity(x, {"A": 1.0}) for x in q])
    else:
        m = ct.Mechanism("cart-pole")
        m.add_body("cart", 1.0, inertia=0.1)
        m.add_body("pole", 0.2, com=(0, 0, 0.5), inertia=(0.02, 0.02, 0.001))
        m.add_joint("slide", "ground", "cart", ct.Prismatic("x"))
        m.add_joint("hinge", "cart", "pole", ct.Revolute("y"))
        s, q, v = m.system(), np.array([[0.0, 0.3], [0.1, 0.5]]), np.zeros((2, 2))
    random = np.random.default_rng(0)
    tau = random.normal(size=(2, 3, s.nv))
    name = "gravity.z"
    found = ct.sensitivities(s, q, v, 0.3, tau=tau, parameters=[name])
    by_q, by_v = random.normal(size=(2, 2, s.nv))
    gradient = found.adjoint(by_q, by_v)
    assert gradient.tau.shape == (2, 3, s.nv) and found.t.shape == (2, 4)
    h = 1e-5
    for k in range(2):
        agree(np.concatenate([found.q[k, -1], found.v[k, -1]]), swung(s, q[k], v[k], tau[k], 0.3), 1e-9)
        alone = ct.sensitivities(s, q[k], v[k], 0.3, tau=tau[k], parameters=[name])
        agree(found.by_start[k], alone.by_start, 1e-12)
        agree(gradient.parameters[name][k], alone.adjoint(by_q[k], by_v[k]).parameters[name], 1e-12)
        for j in range(3):
            change = np.zeros_like(tau[k])
            change[j, 0] = h
            ends = [swung(s, q[k], v[k], tau[k] + sign * change, 0.3) for sign in (1.0, -1.0)]
            slope = (ends[0] - ends[1]) / (2.0 * h)
            agree(gradient.tau[k, j, 0], np.concatenate([by_q[k], by_v[k]]) @ slope, 1e-6)
    # Equal rows are one constant force.
    same = ct.sensitivities(s, q, v, 0.3, tau=np.repeat(tau[:, :1], 3, axis=1))
    constant = ct.sensitivities(s, q, v, 0.3, tau=tau[:, 0], intervals=3)
    agree(same.pushes, constant.pushes, 1e-7)


def test_batches_without_common_intervals_and_histories_with_others_are_refused():
    s = four_bar().system()
    q = s.assemble({"A": 0.4})
    with pytest.raises(ct.StateError, match="intervals="):
        ct.sensitivities(s, np.stack([q, q]), np.zeros(3), 0.1)
    with pytest.raises(ct.StateError, match="leave intervals=4 out"):
        ct.sensitivities(s, q, np.zeros(3), 0.1, tau=np.zeros((2, 3)), intervals=4)
