"""Studies with functions are found again by what these consist of."""

import functools
import math

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar

FACTOR = 2.0


def twice(x):
    return FACTOR * x


def countdown(n):
    return n if n < 1 else countdown(n - 1)


def turning():
    """A pendulum that turns for a moment."""
    m = ct.Mechanism("pendulum")
    m.add_body("pole", 0.2, com=(0, 0, 0.5), inertia=(0.02, 0.02, 0.001))
    m.add_joint("hinge", "ground", "pole", ct.Revolute("y"))
    return ct.Scenario(m, {"hinge": 0.1}, duration=0.1, integrator="rk4", step=1e-2)


def keys(*functions):
    """The keys of studies that differ in the function of one outcome."""
    swing = turning()
    return [
        ct.study(swing, vary={"pole.mass": [0.1]}, outcomes={"y": f}, chunk=1, progress=False).key
        for f in functions
    ]


def scaled(by):
    return lambda run: by * run.q[-1, 0]


def test_the_same_code_is_the_same_study_and_other_code_another_one():
    s = four_bar().system()
    alike = (
        (scaled(2.0), scaled(2.0)),
        (lambda run: twice(run.q[-1, 0]), lambda run: twice(run.q[-1, 0])),
        (lambda run: np.max(run.q), lambda run: np.max(run.q)),
        (lambda run: countdown(3), lambda run: countdown(3)),
        (functools.partial(math.hypot, 1.0), functools.partial(math.hypot, 1.0)),
        (lambda run: s.nq, lambda run: s.nq),
    )
    for one, other in alike:
        a, b = keys(one, other)
        assert a == b
    others = (
        scaled(2.0), scaled(3.0), lambda run: twice(run.q[-1, 0]), lambda run: twice(run.v[-1, 0]),
        lambda run: np.max(run.q), lambda run: np.min(run.q), lambda run, k=1.0: k, lambda run, k=2.0: k,
        functools.partial(math.hypot, 1.0), functools.partial(math.hypot, 2.0), lambda run: [x + 1 for x in (1, 2)],
        lambda run: [x + 1 for x in (1, 3)], lambda run: countdown(3),
    )  # fmt: skip
    found = keys(*others)
    assert len(set(found)) == len(others)


def test_what_a_function_calls_counts(monkeypatch):
    (before,) = keys(lambda run: twice(run.q[-1, 0]))
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    (after,) = keys(lambda run: twice(run.q[-1, 0]))
    assert before != after


def test_a_study_with_functions_goes_on_in_its_store(tmp_path):
    pytest.importorskip("zarr")
    swing = turning()
    asked = {"vary": {"pole.mass": [0.1, 0.2]}, "chunk": 1, "progress": False, "store": tmp_path / "a.zarr"}
    ct.study(swing, **asked, outcomes={"y": lambda run: run.max("hinge")})
    told = []
    ct.study(swing, **asked | {"progress": told.append}, outcomes={"y": lambda run: run.max("hinge")})
    assert not told or told[0]["done"] == 2  # nothing is computed again
    with pytest.raises(ct.StateError, match="another study"):
        ct.study(swing, **asked, outcomes={"y": lambda run: run.min("hinge")})


def test_levels_that_samples_do_not_reach_are_told():
    swing = turning()
    vary = {"pole.mass": ct.grid(0.1, 0.3, 5), "initial.hinge": ct.uniform(0.0, 1.0)}
    with pytest.raises(ct.StateError, match="fewer than the 5 combinations"):
        ct.study(swing, vary=vary, samples=3)
