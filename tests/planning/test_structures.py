"""Structures ranked for a task: the same costs as when each is planned by hand, and reasons where there is no plan."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain

pytest.importorskip("casadi")


def test_structures_are_ranked_by_what_their_plans_cost():
    """An arm of three joints is to bring its tip to a point, with joints locked or not."""
    m = chain(3, axes="yyy")
    m.gravity = (0, 0, 0)
    s = m.system()
    q0 = np.array([0.3, 0.5, 0.4])
    goal = s.pose([0.3, 0.7, 0.5], "tip").p
    task = {"frame": "tip", "reach": goal, "nodes": 7}
    with pytest.warns(ct.CatenaWarning, match="missed most"):
        ranking = ct.rank_structures(
            s, q0, 1.0, lock=["joint1", ["joint2", "joint3"]], most=5, **task,
            structures={"joint1 damped": lambda m, at: m.with_joint("joint1", damping=3.0)},
        )  # fmt: skip
    assert len(ranking) == 5
    costs = [x.cost for x in ranking]
    assert costs == sorted(costs) and np.isinf(costs[-1]) and ranking[-1].reason
    by_name = {x.name: x for x in ranking}
    for name, mechanism in (
        ("as it is", m),
        ("joint1 locked", m.lock("joint1", at=s.configuration(q0))),
        ("joint1 damped", m.with_joint("joint1", damping=3.0)),
    ):
        own = mechanism.system()
        alone = ct.plan_motion(own, q0[-own.nv :], 1.0, **task)
        assert by_name[name].cost == pytest.approx(alone.cost, rel=1e-6)
        assert by_name[name].plan.system.nv == own.nv
    assert "nothing of" in by_name["joint1 locked; joint2, joint3 locked"].reason
    assert ranking.best.name in str(ranking)
    with pytest.raises(ct.StateError, match="structures are to be tried, and at most 2"):
        ct.rank_structures(s, q0, 1.0, lock=["joint1", "joint2"], most=2, **task)
    with (
        pytest.warns(ct.CatenaWarning, match="missed most"),
        pytest.raises(ct.StateError, match="no structure"),
    ):
        far = ct.rank_structures(s, q0, 1.0, frame="tip", reach=(9.0, 0, 0), nodes=5, iterations=30)
        assert far[0].plan is not None and far.best
