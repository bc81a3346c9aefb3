"""Runs in the coordinates of joints, in independent ones and in those of all bodies are the same motion (Nikravesh,
Gim, Arabyan and Rein, eq. 1 to 4, 11 to 14 and 19)."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, random_mechanism, stewart

OTHERS = ("minimal", "absolute")
EXACT = {"integrator": "dop853", "rtol": 1e-8, "atol": 1e-10, "samples": 3}
CRANK_ROCKER = (0.4, 1.2, 0.9, 1.0)


def assert_same_motion(system, q, v, duration, tolerance=1e-6, coordinates=OTHERS, **acting):
    """The motion in other coordinates is the compiled one, and its loops are closed."""
    expected = ct.simulate(system, q, v, duration, samples=3, rtol=1e-10, **acting)
    found = {}
    for name in coordinates:
        run = ct.simulate(system, q, v, duration, coordinates=name, **(EXACT | acting))
        scale = max(1.0, np.abs(expected.v).max())
        np.testing.assert_allclose(run.v, expected.v, rtol=0, atol=tolerance * scale)
        for body in system.mechanism.bodies:
            np.testing.assert_allclose(run.pose(body), expected.pose(body), atol=tolerance)
        assert np.max(run.closure_error, initial=0.0) < 1e-9
        assert run.settings["coordinates"] == name
        found[name] = run
    return expected, found


def test_a_four_bar():
    system = four_bar().system()
    q = system.assemble()
    assert_same_motion(system, q, system.velocity(q, {"A": 4.0}), 0.1)


def closed_state(system, seed):
    random = np.random.default_rng(seed)
    q = system.assemble()
    return q, system.project(q, 0.5 * random.normal(size=system.nv))[1]


KINDS = ("Revolute", "Prismatic", "Universal", "Spherical", "Cylindrical")


def random_run(seed):
    mechanism = random_mechanism(seed, 3 + seed % 4, KINDS, 1 + seed % 2, floating=seed % 3 == 0)
    system = mechanism.system()
    return system, *closed_state(system, seed)


@pytest.mark.parametrize("seed", [3, 5])
def test_random_closed_mechanisms(seed):
    assert_same_motion(*random_run(seed), 0.03)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 34))
def test_more_random_closed_mechanisms(seed):
    assert_same_motion(*random_run(seed), 0.2)


@pytest.mark.slow
def test_a_stewart_platform():
    system = stewart().system()
    assert_same_motion(system, *closed_state(system, 1), 0.2)


def test_a_tree_whose_joints_are_constraints():
    """Balls and a floating base turn without bound; angles of revolute joints keep counting."""
    mechanism = ct.Mechanism("flyer")
    mechanism.add_body("base", 3.0, inertia=(0.2, 0.3, 0.4))
    mechanism.add_body("arm", 1.0, (0.3, 0, 0), (0.01, 0.1, 0.1))
    mechanism.add_body("hand", 0.5, (0.1, 0, 0), (0.01, 0.02, 0.02))
    mechanism.add_joint("float", "ground", "base", ct.Free())
    mechanism.add_joint("shoulder", "base", "arm", ct.Revolute("z"), ct.Pose(p=(0.2, 0, 0)))
    mechanism.add_joint("wrist", "arm", "hand", ct.Spherical(), ct.Pose(p=(0.6, 0, 0)))
    system = mechanism.system()
    v = np.zeros(system.nv)
    v[system.slice_v("float")] = (1.0, -2.0, 0.5, 0.3, 0.0, 1.0)
    v[system.slice_v("shoulder")] = 30.0
    v[system.slice_v("wrist")] = (3.0, 1.0, -2.0)
    expected, found = assert_same_motion(system, system.neutral(), v, 0.3)
    assert abs(expected["shoulder"][-1]) > np.pi
    for run in found.values():
        np.testing.assert_allclose(run["shoulder"], expected["shoulder"], atol=1e-6)


def test_what_acts_is_felt_in_all_coordinates():
    """A spring, a damper, a wrench, a controller that is always asked and one that is sampled; works agree."""
    mechanism = four_bar(*CRANK_ROCKER)
    mechanism.add_force("spring", ct.forces.JointSpring(40.0, 0.3), joint="D")
    system = mechanism.system(cut=["C"])
    q = system.assemble()
    v = system.velocity(q, {"A": 3.0})
    acting = {"forces": {"crank": lambda t: [0, 0, 0, 1.0 + t, 0, 2.0]}}
    for control in (lambda t, q, v: -0.5 * v, ct.PID(system, {"A": 1.0}, kp=10.0, kd=1.0, rate=50.0)):
        expected, found = assert_same_motion(system, q, v, 0.2, control=control, **acting)
        for run in found.values():
            for source, work in expected.work.items():
                np.testing.assert_allclose(run.work[source], work, atol=1e-5)


@pytest.mark.parametrize("drift", ["projection", "none"])
def test_states_in_absolute_coordinates_move_together_as_they_do_one_by_one(drift):
    """Steps, error estimates and works are those of SciPy's solver, which moves single states."""
    mechanism = four_bar(*CRANK_ROCKER)
    mechanism.add_force("spring", ct.forces.JointSpring(40.0, 0.3), joint="D")
    system = mechanism.with_joint("B", damping=0.3).system(cut=["C"])
    q = np.tile(system.assemble(), (3, 1))
    v = np.array([system.velocity(q[0], {"A": speed}) for speed in (0.5, 3.0, 6.0)])
    for method in ("dopri5", "dop853"):
        asked = {"coordinates": "absolute", "integrator": method, "drift": drift, "samples": 3}
        run = ct.simulate(system, q, v, 0.05, rtol=1e-5, check=False, **asked)
        for k in range(3):
            alone = ct.simulate(system, q[k], v[k], 0.05, rtol=1e-5, check=False, **asked)
            np.testing.assert_allclose(run.q[k], alone.q, atol=1e-12)
            np.testing.assert_allclose(run.v[k], alone.v, atol=1e-11)
            assert abs(alone.work["friction"][-1]) > 1e-4
            np.testing.assert_allclose(
                run.work["friction"][k], alone.work["friction"], rtol=1e-10, atol=1e-13
            )


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", OTHERS)
def test_joints_whose_motion_is_prescribed(coordinates):
    """A crank that is driven leaves nothing free of a four-bar, and one coordinate of a five-bar."""
    mechanism = ct.Mechanism("five-bar")
    for name, length in (("a", 0.4), ("b", 0.8), ("c", 0.8), ("d", 0.5)):
        mechanism.add_body(name, 1.0, (length / 2, 0, 0), (0.01, 0.05, 0.05))
    mechanism.add_joint("A", "ground", "a", ct.Revolute("y"))
    mechanism.add_joint("B", "a", "b", ct.Revolute("y"), ct.Pose(p=(0.4, 0, 0)))
    mechanism.add_joint("C", "b", "c", ct.Revolute("y"), ct.Pose(p=(0.8, 0, 0)))
    mechanism.add_joint("D", "c", "d", ct.Revolute("y"), ct.Pose(p=(0.8, 0, 0)))
    mechanism.add_joint("E", "d", "ground", ct.Revolute("y"), ct.Pose(p=(0.5, 0, 0)), ct.Pose(p=(1.0, 0, 0)))
    system = mechanism.system(cut=["E"])
    q = system.assemble({"A": -1.2}, guess=np.array([-1.2, 0.9, 0.9, 0.9]))
    drive = {"A": lambda t: (-1.2 + 2.0 * t, 2.0, 0.0)}
    v = system.velocity(q, {"A": 2.0, "B": -0.3})
    independent = {"independent": ["B"]} if coordinates == "minimal" else {}
    expected = ct.simulate(system, q, v, 0.3, motion=drive, samples=3, rtol=1e-10)
    run = ct.simulate(system, q, v, 0.3, motion=drive, coordinates=coordinates, **EXACT, **independent)
    np.testing.assert_allclose(run.q, expected.q, atol=1e-7)
    for source, work in expected.work.items():
        np.testing.assert_allclose(run.work[source], work, atol=1e-5)
    assert any(np.abs(work).max() > 0.1 for work in expected.work.values())
    if coordinates == "minimal":
        with pytest.raises(ct.LoopError, match="prescribed"):
            ct.simulate(system, q, v, 0.3, motion=drive, coordinates=coordinates, independent=["A"])


def test_events_are_met_in_all_coordinates():
    system = four_bar().system()
    q = system.assemble()
    v = system.velocity(q, {"A": 4.0})
    event = ct.Event("A - 0.9", terminal=True)
    expected = ct.simulate(system, q, v, 1.0, events=[event])
    assert expected.events
    for coordinates in OTHERS:
        run = ct.simulate(system, q, v, 1.0, events=[event], coordinates=coordinates, **EXACT)
        np.testing.assert_allclose(run.events[0].t, expected.events[0].t, atol=1e-8)


def test_other_coordinates_become_independent_where_they_must_and_it_is_told():
    """The rocker of a crank-rocker stands still at its dead points, while the crank goes on."""
    system = four_bar(*CRANK_ROCKER).system(cut=["C"])
    q = system.assemble()
    v = system.velocity(q, {"A": 9.0})
    expected = ct.simulate(system, q, v, 0.8, samples=3, rtol=1e-10)
    run = ct.simulate(system, q, v, 0.8, coordinates="minimal", independent=["D"], **EXACT)
    np.testing.assert_allclose(run.q, expected.q, atol=1e-6)
    assert len(run.transitions) >= 1
    first = run.transitions[0]
    assert first.name == "independent coordinates"
    assert "D do not determine the others here" in str(first)
    # There the rocker turns back: in the run that nobody changed it moves 50 times slower than others.
    slow = ct.simulate(system, q, v, first.t, samples=[0.0, first.t])
    assert abs(slow.v[-1][system.slice_v("D")][0]) < 0.1 * np.abs(slow.v[-1]).max()
    assert "independent coordinates" in str(run.audit())
    by_crank = ct.simulate(system, q, v, 0.8, coordinates="minimal", independent=["A"], **EXACT)
    assert not by_crank.transitions
    np.testing.assert_allclose(by_crank.q, expected.q, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["radau", "bdf", "lsoda", "dopri5"])
@pytest.mark.parametrize("coordinates", OTHERS)
def test_all_methods_that_choose_their_steps(coordinates, integrator):
    system = four_bar().system()
    q = system.assemble()
    v = system.velocity(q, {"A": 3.0})
    expected = ct.simulate(system, q, v, 0.1, samples=3)
    tolerances = {"rtol": 1e-7, "atol": 1e-9, "samples": 3}
    run = ct.simulate(system, q, v, 0.1, coordinates=coordinates, integrator=integrator, **tolerances)
    np.testing.assert_allclose(run.q, expected.q, atol=2e-5)


def test_bodies_drift_apart_where_nothing_puts_them_back():
    """The loop of a four-bar in absolute coordinates at a coarse tolerance."""
    system = four_bar().system()
    q = system.assemble()
    v = system.velocity(q, {"A": 4.0})
    coarse = {"coordinates": "absolute", "rtol": 1e-3, "atol": 1e-5, "samples": 3, "check": False}
    runs = {drift: ct.simulate(system, q, v, 0.5, drift=drift, **coarse) for drift in ("projection", "none")}
    assert np.max(runs["none"].closure_error) > 1e-7
    assert np.max(runs["projection"].closure_error) < 1e-12


@pytest.mark.parametrize("coordinates", OTHERS)
def test_batches_move_as_their_states_do(coordinates):
    system = four_bar().system()
    q = np.stack([system.assemble({"A": a}) for a in (0.3, 0.6)])
    v = np.stack([system.velocity(x, {"A": 3.0}) for x in q])
    expected = ct.simulate(system, q, v, 0.1, samples=3)
    run = ct.simulate(system, q, v, 0.1, coordinates=coordinates, **EXACT)
    np.testing.assert_allclose(run.q, expected.q, atol=1e-7)
    for k in range(2):
        alone = ct.simulate(system, q[k], v[k], 0.1, coordinates=coordinates, **EXACT)
        # Of bodies, sums of a batch are taken in another order than those of one state.
        np.testing.assert_allclose(run.q[k], alone.q, rtol=0, atol=0 if coordinates == "minimal" else 1e-13)


def test_states_of_a_batch_change_their_independent_coordinates_each_for_itself():
    """The compiled loop halts a state where its rocker hardly moves, and no other one."""
    system = four_bar(*CRANK_ROCKER).system(cut=["C"])
    q = np.stack([system.assemble({"A": 0.5})] * 3)
    v = np.stack([system.velocity(x, {"A": speed}) for x, speed in zip(q, (9.0, 1.0, 12.0), strict=True)])
    expected = ct.simulate(system, q, v, 0.4, samples=3, rtol=1e-10)
    run = ct.simulate(system, q, v, 0.4, coordinates="minimal", independent=["D"], samples=3, rtol=1e-10)
    assert run.settings["steps taken by"] == "the compiled loop"
    np.testing.assert_allclose(run.q, expected.q, atol=1e-7)
    changed = {change.state for change in run.transitions}
    assert {(0,), (2,)} <= changed
    assert (1,) not in changed
    for k in (0, 1, 2):
        alone = ct.simulate(
            system, q[k], v[k], 0.4, coordinates="minimal", independent=["D"], samples=3, rtol=1e-10
        )
        np.testing.assert_array_equal(run.q[k], alone.q)
        times = [change.t for change in run.transitions if change.state == (k,)]
        assert times == [change.t for change in alone.transitions]


@pytest.mark.parametrize(
    ("integrator", "step", "tolerance"),
    [("rk4", 1e-3, 1e-8), ("abm4", 1e-3, 1e-8), ("leapfrog", 1e-4, 1e-5), ("semi_implicit", 1e-4, 1e-3)],
)
def test_steps_of_fixed_size_in_minimal_coordinates(integrator, step, tolerance):
    """Loops are closed in every state, and the motion is the one of all joints."""
    system = four_bar(*CRANK_ROCKER).system(cut=["C"])
    q = system.assemble()
    v = system.velocity(q, {"A": 4.0})
    expected = ct.simulate(system, q, v, 0.2, samples=3, rtol=1e-10)
    run = ct.simulate(
        system,
        q,
        v,
        0.2,
        samples=3,
        coordinates="minimal",
        independent=["A"],
        integrator=integrator,
        step=step,
    )
    np.testing.assert_allclose(run.q, expected.q, atol=tolerance)
    assert np.max(run.closure_error) < 1e-12


def test_a_driven_crank_leaves_no_coordinate_to_integrate():
    """Python tells where the crank is, at every stage before the loop is closed."""
    system = four_bar(*CRANK_ROCKER).system(cut=["C"])
    q = system.assemble()
    v = system.velocity(q, {"A": 9.0})
    drive = {"A": lambda t: (q[0] + 9.0 * t, 9.0, 0.0)}
    all_joints, crank = (
        ct.simulate(system, q, v, 0.5, motion=drive, coordinates=name, rtol=1e-9)
        for name in ("joint", "minimal")
    )
    np.testing.assert_allclose(crank.q[-1], all_joints.q[-1], atol=1e-8)
    assert np.max(crank.closure_error) < 1e-11


def test_parameters_that_vary_over_a_batch_in_minimal_coordinates():
    mechanism = four_bar(*CRANK_ROCKER)
    system = mechanism.system(cut=["C"])
    q = system.assemble()
    v = system.velocity(q, {"A": 4.0})
    masses = np.array([1.0, 3.0])
    heavier = system.vary({"crank.mass": masses})
    q, v = np.stack([q, q]), np.stack([v, v])
    expected = ct.simulate(heavier, q, v, 0.1, samples=3, rtol=1e-10)
    run = ct.simulate(heavier, q, v, 0.1, samples=3, rtol=1e-10, coordinates="minimal")
    np.testing.assert_allclose(run.q, expected.q, atol=1e-8)
    assert np.abs(expected.q[0] - expected.q[1]).max() > 1e-4


def test_the_structure_changes_in_minimal_coordinates():
    mechanism = four_bar()
    system = mechanism.system()
    q = system.assemble()
    v = system.velocity(q, {"A": 3.0})
    changes = [ct.Change(at=0.05, detach="C")]
    expected = ct.simulate(system, q, v, 0.1, changes=changes)
    run = ct.simulate(
        system, q, v, 0.1, changes=changes, coordinates="minimal", **(EXACT | {"samples": None})
    )
    np.testing.assert_allclose(run["A"][-1], expected["A"][-1], atol=1e-7)
    assert len(run.transitions) == 1


def test_a_scenario_says_its_coordinates_and_so_does_its_file(tmp_path):
    scenario = ct.Scenario(
        four_bar(), {"A": 0.5}, {"A": 3.0}, duration=0.1, samples=3, coordinates="minimal", independent="A",
        integrator="dop853", rtol=1e-9, atol=1e-11,
    )  # fmt: skip
    assert scenario.independent == ("A",)
    assert "minimal coordinates" in str(scenario)
    scenario.save(tmp_path / "run.toml")
    text = (tmp_path / "run.toml").read_text(encoding="utf-8")
    assert 'coordinates = "minimal"' in text
    again = ct.Scenario.load(tmp_path / "run.toml")
    assert again == scenario
    a, b = scenario.run(), again.run()
    np.testing.assert_array_equal(a.q, b.q)
    assert a.settings["coordinates"] == "minimal"
    plain = scenario.with_(coordinates="joint", independent=None)
    np.testing.assert_allclose(plain.run().q, a.q, atol=1e-7)


def test_a_run_with_changes_of_coordinates_is_kept_in_a_file(tmp_path):
    system = four_bar(*CRANK_ROCKER).system(cut=["C"])
    q = system.assemble()
    run = ct.simulate(
        system, q, system.velocity(q, {"A": 9.0}), 0.4, coordinates="minimal", independent=["D"], **EXACT
    )
    assert run.transitions
    run.save(tmp_path / "run.nc")
    again = ct.Trajectory.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(again.q, run.q)
    assert [str(x) for x in again.transitions] == [str(x) for x in run.transitions]


def test_what_does_not_go_together_is_refused_in_words():
    system = four_bar().system()
    q = system.assemble()
    v = np.zeros(system.nv)
    for options, words in (
        ({"coordinates": "polar"}, "no coordinates 'polar'"),
        ({"independent": ["A"]}, "only coordinates='minimal'"),
        ({"coordinates": "minimal", "independent": [3]}, "names of joints"),
        ({"coordinates": "minimal", "integrator": "time_stepping", "step": 0.01}, "integrated by dopri5"),
        ({"coordinates": "minimal", "drift": "baumgarte"}, "nothing drifts"),
        ({"coordinates": "absolute", "drift": ct.Corrective()}, "leave drift out"),
        ({"coordinates": "minimal", "contacts": [ct.Stop("A", 0.0, 1.0)]}, "without contacts"),
    ):
        with pytest.raises(ct.StateError, match=words):
            ct.simulate(system, q, v, 0.1, **options)
    with pytest.raises(ct.LoopError, match="degrees of freedom"):
        ct.simulate(system, q, v, 0.1, coordinates="minimal", independent=["A", "B"])
