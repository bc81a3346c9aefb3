"""Batches with states that fail: the others run as they do by themselves, and the words name every one that fails."""

import numpy as np
import pytest

import catena as ct


def cart_pole():
    m = ct.Mechanism("cart-pole")
    m.add_body("cart", 1.0, inertia=0.1)
    m.add_body("pole", 0.2, com=(0, 0, 0.5), inertia=(0.02, 0.02, 0.001))
    m.add_joint("slide", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"))
    return m


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
    with pytest.raises(ct.StateError, match="as an array"):
        ct.simulate(s, q, "fast", 0.2, on_error="record")


@pytest.mark.parametrize(
    "options",
    [
        {"integrator": "rk4", "step": 1e-3},
        {"integrator": "abm4", "step": 1e-3},
        {"rtol": 1e-8},
        {"integrator": "radau", "rtol": 1e-6},
    ],
    ids=lambda options: options.get("integrator", "dopri5"),
)
def test_states_that_run_away_leave_the_others_as_they_are_without_them(options):
    """States that begin too fast are given up in the lanes where the others go on as in a batch without them, to the
    rounding of sines (which are found another way in registers with huge angles); events keep their numbers."""
    s = cart_pole().system()
    v = np.zeros((7, 2))
    v[:, 1] = [0.1, 3e7, 0.2, 0.3, 2e7, 4e7, 0.4]
    good = v[:, 1] < 1.0
    asked = {"samples": 5, "events": [ct.Event(lambda t, q, v: q[0] + 1e-3, name="there")], **options}
    run = ct.simulate(s, [0.0, 0.5], v, 0.2, on_error="record", check=False, **asked)
    without = ct.simulate(s, [0.0, 0.5], v[good], 0.2, check=False, **asked)
    np.testing.assert_allclose(run.q, without.q, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(run.energy, without.energy, rtol=0.0, atol=1e-13)
    assert [e.state for e in run.events] == [e.state for e in without.events] and run.events
    np.testing.assert_allclose([e.t for e in run.events], [e.t for e in without.events], atol=1e-12)
    assert set(run.failed) == {(1,), (4,), (5,)}
    for words in run.failed.values():
        assert any(x in words for x in ("runs away", "not finite", "gave up", "hardly gets on")), words
        assert "in state" not in words


def test_starts_that_do_not_close_fail_by_themselves_and_errors_carry_what_there_was():
    """Lengths with which a four-bar cannot be assembled, among others: `assemble` tells all of them and finds the
    others, and a run begins with these."""
    s = ct.generators.four_bar().system()
    lengths = np.array([0.0, 0.02, 30.0, 0.05, -0.9])
    varied = s.vary({"C.in_parent.p.x": 1.2 + lengths})
    with pytest.raises(ct.LoopError) as raised:
        varied.assemble({"A": 0.3})
    bad = {k[0] for k in raised.value.failed}
    assert bad and bad < set(range(5)) and np.isnan(raised.value.found[list(bad)]).all()
    good = [k for k in range(5) if k not in bad]
    np.testing.assert_allclose(
        raised.value.found[good], s.vary({"C.in_parent.p.x": 1.2 + lengths[good]}).assemble({"A": 0.3}), atol=1e-12
    )  # fmt: skip
    masses = np.array([1.0, 1.0, 1.0, -1.0, 1.0])
    run = ct.simulate(
        s, {"A": 0.3}, {"A": 1.0}, 0.1, samples=3, on_error="record",
        parameters={"C.in_parent.p.x": 1.2 + lengths, "crank.mass": masses},
    )  # fmt: skip
    assert {k[0] for k in run.failed} == bad | {3} and "crank.mass" in run.failed[3,]
    assert len(run.q) == 5 - len(bad | {3}) and run.audit().ok


def test_states_with_contacts_fail_one_by_one():
    """A ball that is let go from far below its floor cannot be simulated, and the others fall as by themselves."""
    m = ct.Mechanism("ball")
    m.add_body("ball", 1.0, inertia=0.1)
    m.add_joint("drop", "ground", "ball", ct.Prismatic("z"))
    s, floor = m.system(), [ct.Contact("ball", restitution=0.0)]
    q = np.array([[0.1], [-5.0], [0.2]])
    run = ct.simulate(s, q, np.zeros(1), 0.3, contacts=floor, on_error="record")
    assert list(run.failed) == [(1,)] and run.batch == (2,)
    alone = ct.simulate(s, q[2], np.zeros(1), 0.3, contacts=floor)
    np.testing.assert_allclose(run.state(1).q[-1], alone.q[-1], atol=1e-12)
