"""Every run is one `Trajectory`: what it tells against the same motion said in another way."""

import pickle

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain, four_bar

RK4 = {"integrator": "rk4", "step": 2e-3}
TIMES = np.linspace(0.0, 0.2, 11)


def same(mechanism, q, v):
    """Change nothing."""
    return mechanism


def loop():
    """A four-bar with dampers and a motor."""
    m = four_bar()
    for joint in m.joints:
        m = m.with_joint(joint, damping=0.02)
    s = m.system()
    q = s.neutral()
    return m, q, s.velocity(q, {"A": 2.0}), {"control": lambda t, q, v: {"A": 0.3 * np.cos(9.0 * t)}}


def geared():
    """Three links of which two are geared, the first driven along a course, with a wrench at the tip."""
    m = chain(3, axes="y")
    first, second, third = m.joints
    m.add_coupling("gear", {second: 1.0, third: 2.0})
    course = {first: lambda t: (0.2 * np.sin(3.0 * t), 0.6 * np.cos(3.0 * t), -1.8 * np.sin(3.0 * t))}
    given = {"motion": course, "forces": {"tip": lambda t: [0.0, 0.1, 0.0, np.sin(5.0 * t), 0.0, 0.0]}}
    return m, np.array([0.0, 0.4, -0.2]), np.array([0.6, 0.5, -0.25]), given


def boom():
    """A beam on a hub that is turned."""
    m = ct.Mechanism("boom")
    m.add_body("hub", mass=1.0, inertia=0.1)
    m.add_joint("turn", "ground", "hub", ct.Revolute("z"))
    m.add_body("beam", flexible=ct.Beam(1.0, 1e-4, 1e-9, 2700.0, 7e10, modes={"y": 2}, damping=0.02))
    m.add_joint("clamp", "hub", "beam", ct.Fixed(), in_parent=ct.Pose(p=(0.1, 0.0, 0.0)))
    s = m.system()
    return m, s.neutral(), np.zeros(s.nv), {"control": lambda t, q, v: {"turn": 0.5}}


def floating():
    """Two links, the first of which floats."""
    m = ct.Mechanism("floating", gravity=(0.0, 0.0, -1.0))
    m.add_body("base", mass=2.0, inertia=(0.1, 0.2, 0.15))
    m.add_body("arm", mass=0.5, com=(0.2, 0.0, 0.0), inertia=0.01)
    m.add_joint("fly", "ground", "base", ct.Free(), actuated=False)
    m.add_joint("elbow", "base", "arm", ct.Revolute("y"), in_parent=ct.Pose(p=(0.3, 0.0, 0.0)), damping=0.05)
    s = m.system()
    v = s.velocity(s.neutral(), {"fly": [0.3, 0.2, -0.4, 0.1, 0.0, 0.5], "elbow": 1.0})
    return m, s.neutral(), v, {}


MACHINES = [loop, geared, boom, floating]


def told(run):
    """Return all that a run tells by names, as arrays (..., samples, ...)."""
    joints, frames = run.system.joints, list(run.system.mechanism.bodies)[1:]
    found = {name: getattr(run, name) for name in (
        "t", "q", "v", "tau", "acceleration", "kinetic_energy", "potential_energy", "energy", "momentum", "closure",
    )}  # fmt: skip
    for name, given in (
        ("work", run.work), ("power", run.power), ("reactions", run.reactions()), ("driven", run.driven),
        ("couplings", run.coupling_forces()), ("wrenches", run.wrenches), ("loops", run.loop_positions),
        ("columns", dict(run.table(reactions=True, power=True, acceleration=True))),
    ):  # fmt: skip
        found |= {f"{name} {key}": x for key, x in given.items() if key != "segment"}
    for joint in joints:
        found |= {f"{joint} q": run[joint], f"{joint} v": run.velocity(joint), f"{joint} f": run.force(joint),
                  f"{joint} P": run.joint_power(joint), f"{joint} a": run.joint_acceleration(joint)}  # fmt: skip
    for joint in run.system.loops:
        found |= {f"{joint} q": run[joint], f"{joint} v": run.velocity(joint)}
    for frame in frames:
        found |= {f"{frame} X": run.pose(frame), f"{frame} V": run.twist(frame),
                  f"{frame} A": run.frame_acceleration(frame)}  # fmt: skip
        found |= {f"{frame} {name}": x for name, x in run.read(ct.IMU(frame)).items()}
    for joint in run.system.mechanism.joints:
        found |= {f"{joint} {name}": x for name, x in run.read(ct.ForceSensor(joint)).items()}
    found |= {f"{motor.name} effort": motor.effort for motor in run.sizing()}
    return found


def assert_same(one, other, atol):
    assert one.keys() == other.keys()
    for name, x in one.items():
        np.testing.assert_allclose(
            other[name], x, rtol=atol, atol=atol * max(1.0, np.abs(x).max()), err_msg=name
        )


@pytest.mark.parametrize("machine", MACHINES)
def test_a_run_cut_in_two_by_a_change_that_changes_nothing_tells_the_same(machine, tmp_path):
    m, q, v, given = machine()
    whole = ct.simulate(m.system(), q, v, 0.2, **given, **RK4)
    cut = ct.simulate(m.system(), q, v, 0.2, events=ct.at_time(0.1, then=same), **given, **RK4)
    assert len(cut.segments) == 2 and len(cut.t) == len(whole.t) + 1 and cut.is_one_structure
    expected, found = told(whole.resample(TIMES)), told(cut.resample(TIMES))
    assert_same(expected, found, 1e-9)
    for name, x in zip("qv", whole.at([0.05, 0.1501]), strict=True):
        np.testing.assert_allclose(getattr(cut.at([0.05, 0.1501]), name), x, atol=1e-10)
    assert cut.audit().ok
    # The same from a file, bit for bit, and from a pickle.
    for run in (cut, cut.resample(TIMES)):
        run.save(tmp_path / "run.nc")
        for again in (ct.load_run(tmp_path / "run.nc"), pickle.loads(pickle.dumps(run))):
            for name in ("t", "q", "v", "tau", "energy"):
                np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
            assert all(np.array_equal(again.work[name], x) for name, x in run.work.items())


def test_contacts_that_never_touch_change_nothing():
    m, q, v, _ = floating()
    m.add_frame("floor", "ground", ct.Pose(p=(0.0, 0.0, -5.0)))
    s = m.system()
    alone = ct.simulate(s, q, v, 0.2, rtol=1e-12, samples=TIMES)
    above = ct.simulate(s, q, v, 0.2, rtol=1e-12, samples=TIMES, contacts=[ct.Contact("arm", on="floor")])
    assert not above.contact_forces["arm"].any()
    assert_same(told(alone), told(above.resample(TIMES)), 1e-8)


def falling():
    """A sled that falls on the ground and slides there."""
    m = ct.Mechanism("sled")
    m.add_body("carriage", mass=0.0)
    m.add_body("sled", mass=2.0, inertia=0.1)
    m.add_joint("along", "ground", "carriage", ct.Prismatic("x"), actuated=False)
    m.add_joint("up", "carriage", "sled", ct.Prismatic("z"), actuated=False)
    m.add_frame("foot", "sled", ct.Pose(p=(0, 0, -0.1)))
    return m.system()


def test_a_batch_with_contacts_is_a_trajectory_of_its_states(tmp_path):
    """All that is asked of a batch against its states run one by one, at common times and in a file."""
    s = falling()
    Q, V = np.array([[0.0, 0.11], [0.0, 0.3]]), np.array([[1.0, 0.0], [0.5, 0.0]])
    touches = [ct.Contact("foot", friction=0.3)]
    batch = ct.simulate(s, Q, V, 0.2, contacts=touches)
    assert isinstance(batch, ct.Trajectory) and batch.batch == (2,) and "one by one" in repr(batch)
    alone = [ct.simulate(s, q, v, 0.2, contacts=touches) for q, v in zip(Q, V, strict=True)]
    assert len(alone[0].segments) > 1
    for k, run in enumerate(alone):
        for name in ("t", "q", "v", "tau", "energy"):
            np.testing.assert_array_equal(getattr(batch.state(k), name), getattr(run, name))
    for ask in (lambda: batch.t, lambda: batch.q, lambda: batch["up"]):
        with pytest.raises(
            ct.StateError, match=r"times of its own; ask for common ones, run\.resample\(101\)"
        ):
            ask()
    with pytest.raises(ct.StateError, match=r"run\.state\(0\)\.segments"):
        batch.segments[0]
    with pytest.raises(ct.StateError, match="no state"):
        batch.state(2)
    common, each = batch.resample(TIMES), [run.resample(TIMES) for run in alone]
    asked = (
        lambda run: run.q, lambda run: run["up"], lambda run: run.energy, lambda run: run.pose("foot"),
        lambda run: run.contact_forces["foot"], lambda run: run.reaction("up"), lambda run: run.work["wrenches"],
        lambda run: run.at(0.13).q,
    )  # fmt: skip
    np.testing.assert_array_equal(common.t, TIMES)
    for ask in asked:
        np.testing.assert_array_equal(ask(common), np.stack([ask(run) for run in each]))
    table = batch.table()
    assert table.rows == sum(len(run.t) for run in alone)
    np.testing.assert_array_equal(table["q.up"], np.concatenate([run["up"][:, 0] for run in alone]))
    for run in (batch, common):
        run.save(tmp_path / "run.nc")
        again = ct.load_run(tmp_path / "run.nc")
        assert again.batch == (2,) and [str(x) for x in again.transitions] == [
            str(x) for x in run.transitions
        ]
        for k in range(2):
            for name in ("t", "q", "energy"):
                np.testing.assert_array_equal(getattr(again.state(k), name), getattr(run.state(k), name))
            forces = again.state(k).contact_forces["foot"]
            np.testing.assert_array_equal(forces, run.state(k).contact_forces["foot"])
    assert common.to_xarray().sizes["state"] == 2
    assert "in 2 states" in str(batch.audit()) and len(batch.audit().parts) == 2
    assert len(common.plot("up", "energy").axes) > 2
    with pytest.raises(ct.StateError, match=r"run\.state\(1\)"):
        batch[1]


def test_a_joint_that_comes_and_goes_is_nan_where_it_is_not(tmp_path):
    """Names across structures that differ: numbers where they are, NaN elsewhere, and words for q."""
    loose = chain(2, axes="y")
    first, second = loose.joints
    q, v = np.array([0.5, 0.2]), np.zeros(2)
    lock = ct.at_time(0.1, then=lambda m, q, v: m.lock(second, float(q[1])))
    run = ct.simulate(loose.system(), q, v, 0.2, events=lock, **RK4)
    n = len(run.segments[0].t)
    for x in (run[second], run.velocity(second), run.force(second), run.joint_acceleration(second)):
        assert np.isfinite(x[:n]).all() and np.isnan(x[n:]).all() and len(x) == len(run.t)
    assert run.has(second).tolist() == [True] * n + [False] * (len(run.t) - n) and run.has(first).all()
    encoder = run.read(ct.Encoder(second))
    assert np.isnan(encoder["position"][n:]).all() and np.isfinite(encoder["velocity"][:n]).all()
    # What the locked joint passes on is still told, and bodies go on.
    assert np.isfinite(run.reaction(second)).all() and set(run.reactions()) == {first, second}
    for name in ("q", "v", "tau", "acceleration", "system"):
        words = rf"run\.{name} belongs to one structure.*changes at t = 0\.1 s.*run\.segments\[0\]\.{name}"
        with pytest.raises(ct.StateError, match=words):
            getattr(run, name)
    with pytest.raises(ct.StateError, match="one time after the other"):
        run.at([0.05, 0.15])
    assert run.at(0.15).q.shape == (1,) and run.at([0.01, 0.05]).q.shape == (2, 2)
    few = run.resample(TIMES)
    np.testing.assert_array_equal(few.t, TIMES)
    whole = ct.simulate(loose.system(), q, v, 0.1, **RK4).resample(TIMES[:5])
    np.testing.assert_allclose(few[second][:5], whole[second], atol=1e-12)
    np.testing.assert_allclose(few.energy[5:], few.energy[5], atol=1e-8)
    with pytest.raises(ct.StateError, match="Ask the run that was not resampled"):
        few.at(0.09)
    run.save(tmp_path / "run.nc")
    np.testing.assert_array_equal(ct.load_run(tmp_path / "run.nc").reaction(first), run.reaction(first))
    assert np.isnan(run.table()[f"q.{second}"][-1]) and "segment" in run.table().names
    assert str(run).splitlines()[1].strip().startswith("t = 0.1 s")
    later = run.shifted(3.0)
    assert later.t[0] == 3.0 and later.transitions[0].t == pytest.approx(3.1)


def test_what_the_audit_advises_makes_its_warnings_go_away():
    """Each advice is followed, and the warning is gone."""
    _, q, v, _ = loop()
    s = four_bar().system()
    coarse = {"integrator": "euler", "step": 1e-2, "check": False}
    bad = ct.simulate(s, q, v, 0.2, **coarse).audit()
    assert (
        not bad["energy"].ok
        and "smaller step or rtol, or an integrator of higher order" in bad["energy"].text
    )
    better = {**coarse, "integrator": "rk4", "step": 2e-3}
    for settings in (better, {**coarse, "step": 2e-6, "samples": 3}, {"rtol": 1e-8, "check": False}):
        assert ct.simulate(s, q, v, 0.2, **settings).audit()["energy"].ok
    # Over changes it is one report with the same advice.
    cut = ct.simulate(s, q, v, 0.2, events=ct.at_time(0.1, then=same), **coarse).audit()
    assert not cut["energy"].ok and cut["energy"].text.startswith("Segment") and len(cut.parts) == 2
    assert ct.simulate(s, q, v, 0.2, events=ct.at_time(0.1, then=same), **better).audit().ok
    # Loops that were left to drift.
    open_loops = ct.simulate(s, q, v, 0.2, drift="none", **{**coarse, "integrator": "semi_implicit"}).audit()
    assert not open_loops["loops"].ok and "drift='projection'" in open_loops["loops"].text
    closed = ct.simulate(s, q, v, 0.2, drift="projection", **{**coarse, "integrator": "semi_implicit"})
    assert closed.audit()["loops"].ok


def test_the_old_name_tells_the_new_one_and_states_make_a_trajectory():
    with pytest.raises(ct.CatenaError, match=r"ct\.SegmentedTrajectory is called ct\.Trajectory now"):
        ct.SegmentedTrajectory  # noqa: B018
    s = chain(1, axes="y").system()
    t, zero = np.array([0.0, 0.1]), np.zeros((2, 1))
    assert ct.Trajectory.of(s, t, zero, zero).tau.shape == (2, 1)
    with pytest.raises(ct.StateError, match=r"Trajectory\.of\(system, t, q, v, tau\)"):
        ct.Trajectory(s)
