"""Batches with states that fail: the others run as they do by themselves, and the words name every one that fails."""

import numpy as np
import pytest

import catena as ct


def test_open_loops_bad_numbers_and_bad_parameters_are_left_out_and_named():
    s = ct.generators.four_bar().system()
    q = np.array([s.assemble({"A": x}) for x in (0.3, 0.4, 0.5, 0.6, 0.7)])
    v = np.array([s.velocity(x, {"A": 2.0}) for x in q])
    q[1, 1] += 0.2
    q[3, 0] = np.nan
    masses = np.array([1.0, 1.0, -2.0, 1.0, 1.5])
    options = {"samples": 6, "parameters": {"crank.mass": masses}}
    run = ct.simulate(s, q, v, 0.3, on_error="record", **options)
    assert set(run.failed) == {(1,), (2,), (3,)}
    assert "not closed" in run.failed[1,] and "mass" in run.failed[2,]
    alone = [ct.simulate(s.vary({"crank.mass": [masses[k]]}), q[k], v[k], 0.3, samples=6) for k in (0, 4)]
    np.testing.assert_allclose(run.q, [x.q[0] for x in alone], atol=1e-12)
    assert run.audit().ok and np.isfinite(run.energy).all()
    with pytest.raises(ct.CatenaError):
        ct.simulate(s, q, v, 0.3, **options)


def test_a_motion_that_fails_on_the_way_does_not_take_the_others_with_it():
    """A controller that gives nothing finite beyond an angle, in a batch of two dimensions."""
    m = ct.Mechanism("wheel", gravity=(0, 0, 0))
    m.add_body("w", 1.0, inertia=1.0)
    m.add_joint("W", "ground", "w", ct.Revolute("z"))
    s = m.system()

    def control(t, q, v):
        return np.where(q > 1.0, np.nan, 0.0)

    speeds = np.array([[[0.2], [3.0]], [[0.5], [0.9]]])
    run = ct.simulate(s, np.zeros(1), speeds, 1.0, control=control, on_error="record")
    assert list(run.failed) == [(0, 1)] and "controller" in run.failed[0, 1]
    np.testing.assert_allclose(run.q[:, -1, 0], [0.2, 0.5, 0.9], atol=1e-12)
    with pytest.raises(ct.SimulationError, match="None of the 2 states"):
        ct.simulate(s, np.zeros(1), [[3.0], [4.0]], 1.0, control=control, on_error="record")


def test_where_all_is_well_it_is_the_same_run_and_words_refuse_the_rest():
    s = ct.generators.four_bar().system()
    q = s.assemble({"A": 0.3})
    v = s.velocity(q, {"A": np.array([[1.0], [2.0]])})
    run = ct.simulate(s, q, v, 0.2, on_error="record", samples=3)
    np.testing.assert_array_equal(run.q, ct.simulate(s, q, v, 0.2, samples=3).q)
    assert run.failed == {}
    with pytest.raises(ct.StateError, match="on_error"):
        ct.simulate(s, q, v, 0.2, on_error="ignore")
    with pytest.raises(ct.StateError, match="for batches"):
        ct.simulate(s, q, v[0], 0.2, on_error="record")
    with pytest.raises(ct.StateError, match="as arrays"):
        ct.simulate(s, {"A": 0.3}, v, 0.2, on_error="record")
