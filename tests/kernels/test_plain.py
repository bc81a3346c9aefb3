"""The same steps on plain numbers, on symbols, and in compiled lanes."""

import casadi
import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena import dynamics
from catena.kernels import is_plain, play
from catena.spatial.scalars import array


def everything(system, q, v, tau, frame, f_ext, base_acceleration):
    """All results of a system for one state, by name."""
    outside = {"f_ext": f_ext, "base_acceleration": base_acceleration}
    lambda_inv, omega = system.operational_space(q, frame)
    pose = system.pose(q, frame)
    return {
        "forward": system.forward_dynamics(q, v, tau), "forward, pushed": system.forward_dynamics(q, v, tau, **outside),
        "inverse": system.inverse_dynamics(q, v, tau), "inverse, pushed": system.inverse_dynamics(q, v, tau, **outside),
        "bias": system.bias_force(q, v), "H": system.mass_matrix(q), "Lambda^-1": lambda_inv, "Omega": omega,
        "J": system.jacobian(q, frame), "twist": system.twist(q, v, frame),
        "Jdot v": system.bias_acceleration(q, v, frame),
        "pose": pose if isinstance(pose, np.ndarray) else pose.matrix(), "T": system.kinetic_energy(q, v),
        "V": system.potential_energy(q), "momentum": system.momentum(q, v), "com": system.center_of_mass(q),
        "integrate": system.integrate(q, v), "difference": system.difference(q, system.integrate(q, 0.1 * v)),
        "rate": system.rate(q, v), **system.reactions(q, v, tau, **outside), **system.body_poses(q),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_plain_numbers_and_compiled_lanes_agree_on_every_result(mixed, agree, seed):
    mechanism = mixed(seed, friction=True)
    system = mechanism.system()
    q, v, tau, _ = random_states(system, 2, seed)
    random = np.random.default_rng(seed)
    arguments = "tool7", {"body3": random.normal(size=6)}, random.normal(size=6)
    compiled = everything(system, q, v, tau, *arguments)
    before = ct.compilations()
    with ct.plain_numbers():
        plain = everything(system, q, v, tau, *arguments)
    assert ct.compilations() == before
    assert plain.keys() == compiled.keys()
    for name, value in plain.items():
        # The compiled sums are reordered, so ill-conditioned results may differ by more than a few roundings.
        agree(compiled[name], value, 1e-11 if name.startswith(("forward", "joint")) else 1e-13, scale=1e-3)


def test_the_switch_is_on_inside_the_block_only():
    assert not is_plain()
    with ct.plain_numbers():
        assert is_plain()
        with ct.plain_numbers(False):
            assert not is_plain()
        assert is_plain()
    assert not is_plain()


def test_the_switch_can_be_set_from_outside(fresh_process):
    program = """
import json, sys
import numpy as np
import catena as ct
from catena.mechanism.generators import chain
s = chain(3).system()
a = s.forward_dynamics(np.ones(3), np.ones(3), np.ones(3))
print(json.dumps([a.tolist(), ct.compilations(), "llvmlite" in sys.modules]))
"""
    plain, compilations, llvm = fresh_process(program, CATENA_PLAIN="1")
    assert (compilations, llvm) == (0, False)
    np.testing.assert_allclose(plain, fresh_process(program, CATENA_PLAIN="0")[0], rtol=1e-13)


def test_plain_numbers_refuse_what_compiled_code_refuses(mixed):
    system = mixed(0).system()
    v = np.zeros(system.nv)
    v[2] = np.nan
    with ct.plain_numbers(), pytest.raises(ct.StateError, match=r"v\[2\] \(joint '\w+'\) is nan"):
        system.forward_dynamics(system.neutral(), v)


def test_an_algorithm_unrolls_into_one_expression_of_symbols(mixed, agree):
    """Inverse dynamics of symbols is a CasADi expression with the same values, which CasADi can differentiate."""
    system = mixed(2, bodies=5).system()
    q, v, vdot, _ = random_states(system, 1, seed=2).first()
    symbols = [casadi.SX.sym(name, n) for name, n in (("q", system.nq), ("v", system.nv), ("a", system.nv))]
    given = {n: array([s[i] for i in range(s.numel())]) for n, s in zip(("q", "qd", "qdd"), symbols)}
    tau = play(dynamics.newton_euler, system.plan, system.plan.gravity, given)["tau"]
    column = casadi.vertcat(*tau)
    f = casadi.Function("f", symbols, [column, casadi.jacobian(column, symbols[2])])
    value, H = (np.array(x) for x in f(q, v, vdot))
    agree(value[:, 0], system.inverse_dynamics(q, v, vdot), 1e-13)
    agree(H, system.mass_matrix(q), 1e-13)
