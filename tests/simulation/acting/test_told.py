"""Prescribed motions and wrenches that compile into the step, against the same said as plain functions."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar

SETTINGS = [{}, {"integrator": "rk4", "step": 2e-3}, {"integrator": "dop853", "rtol": 1e-10, "atol": 1e-12}]
COMPILED, PYTHON = "the compiled loop", "pieces, with Python in between"


def both(system, q, v, duration, ways, settings):
    runs = [ct.simulate(system, q, v, duration, samples=9, check=False, **way, **settings) for way in ways]
    assert [run.settings["steps taken by"] for run in runs] == [COMPILED, PYTHON]
    return runs


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_spline_and_the_same_as_a_function(settings):
    system = arm7().system()
    # Steps of fixed size under a function do not know of knots, so there are none on the way.
    path = ct.quintic([0.0, 1.0], [0.0, 0.4])
    if "step" not in settings:
        path = ct.spline([0.0, 0.13, 0.3, 0.5], [0.0, 0.4, -0.2, 0.1])
    joint = system.joints[1]
    ways = [{"motion": {joint: path}}, {"motion": {joint: lambda t: path.at(t)}}]
    compiled, asked = both(system, np.zeros(7), np.zeros(7), 0.4, ways, settings)
    np.testing.assert_allclose(compiled.q, asked.q, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(compiled.v, asked.v, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(compiled.force(joint), asked.force(joint), rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(compiled.work["motion"], asked.work["motion"], rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_crank_along_a_quintic_moves_its_linkage(settings):
    system = four_bar().system()
    q = system.assemble({"A": 0.3})
    path = ct.quintic([0.0, 1.0], [0.3, 1.1])
    ways = [{"motion": {"A": path}}, {"motion": {"A": lambda t: path.at(t)}}]
    compiled, asked = both(system, q, np.zeros(system.nv), 0.5, ways, settings)
    np.testing.assert_allclose(compiled.q, asked.q, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(
        compiled["A"][:, 0], [path.at(t).q[0] for t in compiled.t], rtol=0.0, atol=1e-12
    )
    assert compiled.closure_error < 1e-10


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_wrench_as_a_formula_as_a_table_and_as_a_function(settings):
    system = arm7().system()
    tip = list(system.mechanism.bodies)[-1]
    q, v = np.full(7, 0.3), np.zeros(7)

    def drag(t, q, v):
        return [0.0, 0.0, -1e-4 * v[..., 6], 2.0 * ct.symbols.sin(5.0 * t), -0.5 * q[..., 1], 1.0]

    def plain(t, q, v):
        return np.stack(np.broadcast_arrays(*drag(t, q, v)), axis=-1)

    ways = [
        {"forces": {tip: ct.ExternalWrench(drag, axes="ground", symbolic=True)}},
        {"forces": {tip: ct.ExternalWrench(plain, axes="ground")}},
    ]
    compiled, asked = both(system, q, v, 0.3, ways, settings)
    np.testing.assert_allclose(compiled.q, asked.q, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(compiled.work["wrenches"], asked.work["wrenches"], rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(compiled.wrenches[tip], asked.wrenches[tip], rtol=0.0, atol=1e-9)

    table = ct.spline(
        [0.0, 1.0, 2.0], np.array([[0, 0, 0, 1, 2, 3], [0, 1, 0, 3, 2, 1], [0, 0, 0, 0, 0, 0]]) * 1.0
    )
    ways = [{"forces": {tip: table}}, {"forces": {tip: lambda t: table.at(t).q}}]
    compiled, asked = both(system, q, v, 0.3, ways, settings)
    np.testing.assert_allclose(compiled.q, asked.q, rtol=0.0, atol=1e-11)


def test_axes_of_a_wrench_turn_it():
    """A force along x of the ground, told in ground axes and, turned by hand, in those of the body."""
    system = arm7().system()
    tip = list(system.mechanism.bodies)[-1]
    q, v = np.full(7, 0.4), np.zeros(7)

    def turned(t, q, v):
        R = np.asarray(system.body_poses(q)[tip])[..., :3, :3]
        force = np.swapaxes(R, -1, -2) @ np.array([3.0, 0.0, 0.0])
        return np.concatenate([np.zeros_like(force), force], axis=-1)

    told = ct.simulate(
        system, q, v, 0.2, forces={tip: ct.ExternalWrench(lambda t: [0, 0, 0, 3, 0, 0], axes="ground")}
    )
    by_hand = ct.simulate(system, q, v, 0.2, forces={tip: turned})
    np.testing.assert_allclose(told.q[-1], by_hand.q[-1], rtol=0.0, atol=1e-11)
    assert told.audit()["energy"].value < 1e-9


def test_wrenches_that_are_none_are_refused():
    system = arm7().system()
    tip = list(system.mechanism.bodies)[-1]
    with pytest.raises(ct.StateError, match="no function"):
        ct.simulate(system, np.zeros(7), np.zeros(7), 0.1, forces={tip: 3.0})
    with pytest.raises(ct.UnknownNameError, match="nowhere"):
        ct.simulate(
            system,
            np.zeros(7),
            np.zeros(7),
            0.1,
            forces={tip: ct.ExternalWrench(lambda t: 6 * [0.0], axes="nowhere")},
        )
    with pytest.raises(ct.SimulationError, match="six finite numbers"):
        ct.simulate(system, np.zeros(7), np.zeros(7), 0.1, forces={tip: lambda t: [1.0, 2.0]})


def test_taylor_coefficients_are_those_of_the_motion():
    path = ct.spline([0.0, 0.4, 1.0, 1.5], [0.0, 1.0, -1.0, 0.5], degree=5)
    for t in (0.0, 0.2, 0.4, 0.7, 1.2):
        c = path.taylor(t, 5)
        for s in (0.0, 0.05):
            found = path.at(t + s)
            assert c[:, 0] @ s ** np.arange(6) == pytest.approx(found.q[0], abs=1e-12)
            assert (np.arange(1, 6) * c[1:, 0]) @ s ** np.arange(5) == pytest.approx(found.v[0], abs=1e-11)
    np.testing.assert_array_equal(path.taylor(1.5, 5)[1:], 0.0)
