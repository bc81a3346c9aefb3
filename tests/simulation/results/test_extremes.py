"""The extremes of readings against all of their samples, and against what is gathered step by step."""

import numpy as np
import pytest

import catena as ct


@pytest.fixture(scope="module")
def run():
    system = ct.generators.four_bar().system()
    q = np.stack([system.assemble({"A": a}) for a in (0.3, 0.5)])
    v = np.stack([system.velocity(x, {"A": 2.0}) for x in q])
    return ct.simulate(
        system, q, v, 0.3, control=lambda t, q, v: -0.5 * v, samples=31, rtol=1e-8, progress=False
    )


def test_extremes_are_those_of_all_samples(run):
    """Joints of the tree and of the loop, frames, and a batch of two."""
    for joint in ("A", "C"):
        for what, values in {
            "coordinates": run[joint],
            "velocity": run.velocity(joint),
            "force": run.force(joint),
            "reaction": run.reaction(joint),
        }.items():
            expected = values.max(axis=1), values.min(axis=1)
            found = run.max(joint, what), run.min(joint, what)
            for a, b in zip(found, expected):
                assert a.shape == ((2,) if b.shape[-1] == 1 else b.shape)
                assert np.array_equal(a, b[..., 0] if b.shape[-1] == 1 else b)
    assert np.array_equal(run.max("A", "power"), run.joint_power("A").max(axis=-1))
    assert np.array_equal(run.max("A", "acceleration"), run.joint_acceleration("A").max(axis=1)[:, 0])
    assert np.array_equal(run.max("coupler", "position"), run.position("coupler").max(axis=1))
    assert np.array_equal(run.min("coupler", "twist"), run.twist("coupler").min(axis=1))


def test_one_run_of_the_batch_and_steps_between_samples(run):
    """A single run has one number each; what is gathered inside steps is at least as large."""
    alone = run.state(1)
    assert alone.max("A").shape == () and alone.max("A") == run.max("A")[1]
    system = run.system
    within = ct.simulate(
        system, alone.q[0], alone.v[0], 0.3, control=lambda t, q, v: -0.5 * v, keep="max(A)", rtol=1e-8
    )
    assert -1e-7 < within.kept["max(A)"] - alone.max("A") < 1e-3  # rtol = 1e-8 of different steps


def test_a_joint_that_is_locked_counts_while_it_moves():
    """Behind the lock there are no numbers."""
    swing = ct.generators.chain(2, axes="y")
    second = list(swing.joints)[1]
    lock = ct.at_time(0.1, then=lambda m, q, v: m.lock(second, float(q[1])))
    run = ct.simulate(swing.system(), [0.5, 0.2], [0.0, 0.0], 0.2, events=lock, rtol=1e-8)
    assert np.isnan(run[second]).any() and run.max(second) == np.nanmax(run[second])


def test_what_is_not_told_is_refused(run):
    """Readings and names."""
    with pytest.raises(
        ct.StateError, match="'effort' is not told of 'A'; choose one of coordinates, velocity"
    ):
        run.max("A", "effort")
    with pytest.raises(ct.UnknownNameError, match="elbow"):
        run.max("elbow")
