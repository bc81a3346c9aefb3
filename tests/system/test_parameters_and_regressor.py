"""The inertial regressor, and derivatives by parameters."""

import numpy as np
import pytest

import catena as ct
from benchmarks.states import closed_states, random_states
from catena.mechanism.generators import four_bar


@pytest.mark.parametrize("seed", [0, 1])
def test_inverse_dynamics_is_the_regressor_times_the_inertias(seed, mixed, agree):
    s = mixed(seed, bodies=8).system()
    q, v, _, vdot = random_states(s, 3, seed)
    Y, pi = s.regressor(q, v, vdot), ct.inertial_parameters(s)
    assert Y.shape == (3, s.nv, len(pi))
    agree(Y @ pi, s.inverse_dynamics(q, v, vdot), 1e-13)


def test_welded_bodies_have_numbers_of_their_own(agree):
    m = ct.Mechanism("welded")
    m.add_body("arm", mass=2.0, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.3))
    m.add_body("load", mass=1.5, com=(0.1, 0.2, 0), inertia=(0.05, 0.06, 0.07))
    m.add_body("post", mass=9.0)
    m.add_joint("J", "ground", "arm", ct.Revolute("y"))
    m.add_joint("W", "arm", "load", ct.Fixed(), in_parent=ct.Pose(p=(1, 0, 0.2), rpy=(0.3, 0.1, -0.5)))
    m.add_joint("P", "ground", "post", ct.Fixed())
    s = m.system()
    Y, pi = s.regressor([0.4], [1.0], [2.0]), ct.inertial_parameters(s)
    assert Y.shape == (1, 20), "the post is welded to ground and moves nothing"
    agree(Y @ pi, s.inverse_dynamics([0.4], [1.0], [2.0]), 1e-13)


def test_derivatives_by_parameters_against_differences(agree):
    s = four_bar().system()
    q, v, tau, _ = closed_states(s, 2)
    body = list(s.mechanism.bodies)[-1]
    names = [f"{body}.mass", f"{body}.com.x", "A.damping", "gravity"]
    found = s.parameter_derivatives(q, v, tau, names)
    assert found["gravity"].shape == (2, 3, 3)
    e = s.equations("forward_dynamics", symbols=names)
    values = {
        f"{body}.mass": s.mechanism.bodies[body].mass, f"{body}.com.x": s.mechanism.bodies[body].com[0],
        "A.damping": 0.0, "gravity": np.array(s.mechanism.gravity),
    }  # fmt: skip
    for name in names:
        value = np.atleast_1d(values[name]).astype(float)
        for k, unit in enumerate(np.eye(len(value))):

            def at(x, name=name, value=value, unit=unit):
                given = value + x * unit
                return e(q, v, tau, parameters={name: given[0] if len(given) == 1 else given})

            h = 1e-2
            d = [at(j * h) - at(-j * h) for j in (1, 2, 3)]
            agree(found[name][..., k], (45 * d[0] - 9 * d[1] + d[2]) / (60 * h), 1e-8)


def test_joint_forces_by_mass_are_a_column_of_the_regressor(agree):
    m = ct.Mechanism("pendulum")
    m.add_body("bob", mass=2.0, inertia=0.1)
    m.add_joint("J", "ground", "bob", ct.Revolute("y"), in_child=ct.Pose(p=(0, 0, 0.7)))
    s = m.system()
    found = s.parameter_derivatives([0.3], [1.0], [2.0], ["bob.mass"], of="inverse_dynamics")
    agree(found["bob.mass"][:, 0], s.regressor([0.3], [1.0], [2.0])[:, 0], 1e-13)


def test_errors_name_what_is_wrong():
    s = four_bar().system()
    q = s.assemble({"A": 0.4})
    with pytest.raises(ct.CatenaError, match="nothing.mass"):
        s.parameter_derivatives(q, np.zeros(3), None, ["nothing.mass"])
    with pytest.raises(ct.StateError, match="inverse_dynamics"):
        s.parameter_derivatives(q, np.zeros(3), None, ["gravity"], of="dynamics")
