"""Long runs of one state with fixed steps, whose steps are written to where they stay, begin as shorter ones do, whose
steps are put together in the end."""

import threading

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain, four_bar


def push(t, q, v):
    return np.full(v.shape, 0.1 * np.sin(3.0 * t))


@pytest.mark.parametrize("make", [lambda: chain(2), four_bar], ids=["tree", "loop"])
@pytest.mark.parametrize(
    "given",
    [{}, {"control": ct.sampled(push, 50.0)}, {"integrator": "abm4"}],
    ids=["alone", "sampled", "abm4"],
)
def test_what_is_kept_and_told_is_the_same(make, given):
    s = make().system()
    q = s.assemble({"A": 0.4}) if s.loops else np.full(s.nq, 0.4)
    given = {"integrator": "rk4", "step": 1e-3, **given}
    long = ct.simulate(s, q, np.zeros(s.nv), 4.5, **given)
    short = ct.simulate(s, q, np.zeros(s.nv), 3.5, **given)
    assert (len(long.t), len(short.t)) == (4501, 3501)
    # The last step of the shorter one ends where the run does, to rounding.
    begin = slice(3500)
    for name in ("t", "q", "v", "tau"):
        assert np.array_equal(getattr(long, name)[begin], getattr(short, name)[begin]), name
    joint = s.joints[0]
    assert np.array_equal(long.reactions()[joint][begin], short.reactions()[joint][begin])
    assert np.isfinite(long.tau[-1]).all() and np.abs(long.q[-1] - long.q[-2]).max() < 0.1
    assert long.work.keys() == short.work.keys()
    for source, work in long.work.items():
        assert np.array_equal(work[begin], short.work[source][begin]), source


def test_a_run_that_is_cancelled_is_the_beginning_of_the_whole():
    s = chain(2).system()
    cancel, given = threading.Event(), {"integrator": "rk4", "step": 1e-3}

    def stops(t, q, v):
        if t > 2.0:
            cancel.set()
        return np.zeros(len(v))

    part = ct.simulate(s, [0.4, 0.4], [0.0, 0.0], 8.0, control=stops, cancel=cancel, **given)
    whole = ct.simulate(s, [0.4, 0.4], [0.0, 0.0], 8.0, control=push, **given)
    free = ct.simulate(s, [0.4, 0.4], [0.0, 0.0], 8.0, control=lambda t, q, v: np.zeros(len(v)), **given)
    assert part.ended.startswith("cancelled") and 2000 <= len(part.t) < 8000
    assert np.array_equal(part.q, free.q[: len(part.t)]) and np.array_equal(part.tau, free.tau[: len(part.t)])
    assert not np.array_equal(part.q, whole.q[: len(part.t)])
