"""What was given during a run, asked for afterwards for all samples at once: the same as one after the other."""

import copy
import pickle

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, spatial_four_bar

DURATION = 0.02


def _formula(t, q, v):
    return [t * q[..., 0], 0.0, 0.1 * v[..., 1], ct.symbols.sin(t), q[..., 0] ** 2, 1.0]


WRENCHES = {
    "a formula": ct.ExternalWrench(_formula, axes="ground", symbolic=True),
    "a formula in its own axes": ct.ExternalWrench(_formula, symbolic=True),
    "a spline": ct.ExternalWrench(ct.quintic([0.0, DURATION], [np.zeros(6), np.arange(6.0)]), axes="ground"),
    "a function of time": ct.ExternalWrench(lambda t: [0, 0, 0, np.cos(t), 1.0, 0], axes="ground"),
}


@pytest.mark.parametrize("states", [(), (3,)], ids=["one state", "a batch"])
@pytest.mark.parametrize("given", WRENCHES.values(), ids=WRENCHES)
def test_wrenches_over_a_run_are_those_of_each_instant(given, states):
    m = arm7()
    s = m.system()
    tip = list(m.bodies)[-1]
    q = np.full((*states, s.nq), 0.3) + 0.1 * np.arange(max(1, *states, 1)).reshape(*states, 1)
    run = ct.simulate(
        s, q, np.full((*states, s.nv), 0.2), DURATION, forces={tip: given}, samples=5, check=False
    )
    found = run.wrenches[tip]
    assert found.shape == (*states, 5, 6)
    for k, t in enumerate(run.t):
        here, rates = (np.atleast_2d(x[..., k, :]) for x in (run.q, run.v))
        wrench = np.broadcast_to(given.at(tip, float(t), here, rates), (len(here), 6))
        if given.axes:
            R = np.swapaxes(s.body_poses(here)[tip][..., :3, :3], -1, -2)
            wrench = np.concatenate(
                [(R @ part[..., None])[..., 0] for part in (wrench[:, :3], wrench[:, 3:])], -1
            )
        np.testing.assert_allclose(found[..., k, :].reshape(-1, 6), wrench, rtol=1e-13, atol=1e-13)


def test_given_wrenches_survive_copies():
    m = arm7()
    s = m.system()
    tip = list(m.bodies)[-1]
    run = ct.simulate(
        s, np.full(7, 0.3), np.zeros(7), DURATION, forces={tip: WRENCHES["a spline"]}, check=False
    )
    for twin in (copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        np.testing.assert_array_equal(twin.wrenches[tip], run.wrenches[tip])
    assert list(run.wrenches) == [tip] and len(run.wrenches) == 1
    with pytest.raises(KeyError):
        run.wrenches["nobody"]


@pytest.mark.slow
def test_accelerations_of_driven_joints_are_those_of_each_instant():
    s = spatial_four_bar().system()
    joint = s.joints[0]
    path = ct.quintic([0.0, 0.5], [0.0, 1.0])
    q = s.assemble({joint: 0.0})
    plain = ct.simulate(
        s, q, np.zeros(s.nv), 0.3, motion={joint: lambda t: path.at(t)}, samples=7, check=False
    )
    compiled = ct.simulate(s, q, np.zeros(s.nv), 0.3, motion={joint: path}, samples=7, check=False)
    np.testing.assert_allclose(compiled.driven[joint], plain.driven[joint], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(compiled.tau, plain.tau, rtol=1e-7, atol=1e-7)
