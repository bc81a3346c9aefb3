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
