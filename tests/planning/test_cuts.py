"""Which joints are cut: what it costs, and that the motion is the same."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar, n_four_bars
from catena.planning.cuts import rank_cuts


def test_better_cuts_are_found_and_counted_right():
    m = n_four_bars(2)
    ranked = rank_cuts(m, by="critical path", most=14)
    default = next(choice for choice in ranked if set(choice.cut) == set(m.system().plan.loops))
    best = ranked[0]
    assert best.critical_path < default.critical_path
    assert [c.critical_path for c in ranked] == sorted(c.critical_path for c in ranked)
    # Counted again from the plan itself.
    flow = best.system(m).equations("forward_dynamics").dataflow(sums="trees")
    assert (flow.serial_time, flow.critical_time) == (best.operations, best.critical_path)


def test_all_cuts_move_alike():
    m = four_bar()
    found = []
    for choice in rank_cuts(m):
        s = choice.system(m)
        assert set(s.plan.loops) == set(choice.cut) and s.nv == choice.components
        if "A" in s.joints:
            q = s.assemble({"A": 0.4})
            v = s.velocity(q, {"A": 2.0})
            found.append(s.forward_dynamics(q, v, np.zeros(s.nv))[s.slice_v("A")])
    assert len(found) >= 3
    np.testing.assert_allclose(found, np.broadcast_to(found[0], (len(found), 1)), atol=1e-9)


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(ct.CatenaError, match="has no loops"):
        rank_cuts(arm7())
    with pytest.raises(ct.CatenaError, match="by is 'speed'"):
        rank_cuts(four_bar(), by="speed")
    with pytest.raises(ct.CatenaError, match="most is 0"):
        rank_cuts(four_bar(), most=0)
