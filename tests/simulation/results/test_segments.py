"""Motions of several structures, one behind the other, read by name on one time axis."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain, four_bar


@pytest.fixture(scope="module")
def motion():
    """Two links swing; then the second joint is locked where it is, and both go on as one body with the velocity of the
    first joint."""
    loose = chain(2, axes="y")
    first, second = loose.joints
    before = ct.simulate(loose.system(), [0.5, 0.2], [0.0, 0.0], 0.3)
    stiff = loose.lock(second, float(before.q[-1, 1]))
    after = ct.simulate(stiff.system(), before.q[-1, :1], before.v[-1, :1], 0.2).shifted(0.3)
    return ct.Trajectory((before, after)), first, second


def test_one_time_axis_with_the_change_twice(motion):
    run, *_ = motion
    assert run.t[0] == 0.0 and run.t[-1] == pytest.approx(0.5)
    np.testing.assert_allclose(run.changes, [0.3])
    assert np.sum(np.abs(run.t - 0.3) < 1e-12) == 2
    assert len(run.segments) == 2
    assert run.steps == sum(part.steps for part in run.segments)


def test_names_reach_across_segments(motion):
    run, first, second = motion
    before, after = run.segments
    n = len(before.t)
    np.testing.assert_array_equal(run[first], np.concatenate([before[first], after[first]]))
    assert np.isfinite(run[second][:n]).all() and np.isnan(run[second][n:]).all()
    assert run.velocity(second).shape == run.force(second).shape == (len(run.t), 1)
    tip = list(before.system.mechanism.bodies)[-1]
    np.testing.assert_allclose(run.position(tip)[n - 1], run.position(tip)[n], atol=1e-12)
    assert run.pose(tip).shape == (len(run.t), 4, 4) and run.twist(tip).shape == (len(run.t), 6)
    assert run.energy.shape == (len(run.t),) and run.momentum.shape == (len(run.t), 6)
    np.testing.assert_allclose(run.energy[n:], run.energy[n], rtol=1e-8)


def test_times_find_their_segment(motion):
    run, *_ = motion
    q, v = run.at(0.1)
    assert run.segment_at(0.1) is run.segments[0] and q.shape == (2,)
    state = run.at(0.3)
    assert state.system is run.segments[1].system and state.q.shape == state.v.shape == (1,)
    np.testing.assert_allclose(state.q, run.segment_at(0.3).q[0])
    with pytest.raises(ct.StateError, match=r"outside of the run"):
        run.at(0.51)
    with pytest.raises(ct.StateError, match="give numbers of seconds"):
        run.at("soon")


def test_what_does_not_fit_is_refused(motion):
    run, first, second = motion
    with pytest.raises(ct.StateError, match="at least one"):
        ct.Trajectory(())
    with pytest.raises(ct.StateError, match=r"ends at t = 0\.3 s and segment 1 begins at t = 0 s"):
        ct.Trajectory((run.segments[0], run.segments[1].shifted(0.0)))
    with pytest.raises(ct.UnknownNameError, match="no joint is named 'knee'"):
        run["knee"]


def test_a_file_gives_all_structures_back(motion, tmp_path):
    run, first, second = motion
    file = tmp_path / "run.nc"
    run.save(file)
    again = ct.load_run(file)
    assert len(again.segments) == 2
    for ours, theirs in zip(again.segments, run.segments, strict=True):
        assert ours.system.joints == theirs.system.joints
        for name in ("t", "q", "v", "tau"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_array_equal(again[second], run[second])
    np.testing.assert_allclose(again.energy, run.energy, rtol=1e-14)
    with pytest.raises(ct.FormatError, match="several structures, all in the file: leave the system out"):
        ct.load_run(file, run.segments[0].system)
    np.testing.assert_array_equal(ct.Trajectory.load(file)[first], run[first])


def test_contacts_and_changes_are_in_the_file(tmp_path):
    m = ct.Mechanism("sled")
    m.add_body("carriage", mass=0.0)
    m.add_body("sled", mass=2.0, inertia=0.1)
    m.add_joint("along", "ground", "carriage", ct.Prismatic("x"), actuated=False)
    m.add_joint("up", "carriage", "sled", ct.Prismatic("z"), actuated=False)
    m.add_frame("foot", "sled", ct.Pose(p=(0, 0, -0.1)))
    run = ct.simulate(m.system(), [0.0, 0.1], [1.0, 0.0], 0.5, contacts=[ct.Contact("foot", friction=0.3)])
    run.save(tmp_path / "run.h5")
    again = ct.load_run(tmp_path / "run.h5")
    assert again.contacts == run.contacts
    np.testing.assert_array_equal(again.contact_forces["foot"], run.contact_forces["foot"])
    assert [str(change) for change in again.transitions] == [str(change) for change in run.transitions]
    for ours, theirs in zip(again.transitions, run.transitions, strict=True):
        assert ours.impulse.keys() == theirs.impulse.keys()
        for name, impulse in theirs.impulse.items():
            np.testing.assert_array_equal(ours.impulse[name], impulse)


def test_segments_of_one_system_keep_the_energy_of_what_it_holds_still(tmp_path):
    """The energies of a structure that holds a body against ground, against those of the whole mechanism in the same
    configurations, in memory and from a file."""
    loose = chain(3, axes="y")
    first, *others = loose.joints
    whole = loose.system()
    swing = ct.simulate(whole, [0.5, 0.2, -0.3], np.zeros(3), 0.2)
    held = loose.lock(first, float(swing.q[-1, 0])).system()
    runs, full = [swing], [swing.q]
    for k in range(3):
        q = runs[-1].q[-1, -2:]
        runs.append(ct.simulate(held, q, runs[-1].v[-1, -2:], 0.1).shifted(0.2 + 0.1 * k))
        full.append(np.column_stack([np.full(len(runs[-1].t), swing.q[-1, 0]), runs[-1].q]))
    assert others == list(held.joints)
    # Back to the first structure, and once more.
    end = np.array([swing.q[-1, 0], *runs[-1].q[-1]])
    for k in range(2):
        runs.append(ct.simulate(whole, end, np.zeros(3), 0.1).shifted(0.5 + 0.1 * k))
        full.append(runs[-1].q)
        end = runs[-1].q[-1]
    run = ct.Trajectory(tuple(runs))
    np.testing.assert_allclose(run.potential_energy, whole.potential_energy(np.concatenate(full)), atol=1e-12)
    run.save(tmp_path / "run.nc")
    np.testing.assert_allclose(
        ct.load_run(tmp_path / "run.nc").potential_energy, run.potential_energy, atol=1e-12
    )


def test_energies_of_runs_are_those_of_their_states(agree):
    # A run finds both in one pass over the bodies: with springs, with rotors at loop joints, and for parameters of
    # states.
    m = four_bar()
    for joint in ("A", "B", "C", "D"):
        m = m.with_joint(joint, armature=0.02)
    m.add_spring_between("spring", "crank", "rocker", stiffness=40.0, rest_length=0.3)
    s = m.system()
    q, v = s.start()
    alone = ct.simulate(s, q, v, 0.3)
    agree(alone.kinetic_energy, s.kinetic_energy(alone.q, alone.v), 1e-13)
    agree(alone.potential_energy, s.potential_energy(alone.q), 1e-13)
    masses = np.array([0.5, 1.0, 2.0])
    several = ct.simulate(s, q, v, 0.3, parameters={"rocker.mass": masses}, samples=11)
    for k, mass in enumerate(masses):
        own = s.vary({"rocker.mass": mass})
        agree(several.kinetic_energy[k], own.kinetic_energy(several.q[k], several.v[k]), 1e-13)
        agree(several.potential_energy[k], own.potential_energy(several.q[k]), 1e-13)
