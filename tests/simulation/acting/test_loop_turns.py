"""Whole turns of joints that close loops, against plans that have them in the tree and against closed forms."""

import numpy as np
import pytest

import catena as ct

CUTS = ("B", "C", "D")


def cranks(stiffness=0.2):
    """A crank-rocker without weight, with a torsion spring at the pin "B" between crank and coupler."""
    m = ct.Mechanism("cranks", gravity=(0, 0, 0))
    for body, length in (("rocker", 0.9), ("coupler", 1.2), ("crank", 0.4)):
        m.add_body(body, 1.0, (length / 2, 0, 0), (1e-3, length**2 / 12, length**2 / 12))
    m.add_joint("D", "ground", "rocker", ct.Revolute("y"))
    m.add_joint("A", "ground", "crank", ct.Revolute("y"), in_parent=ct.Pose(p=(1.0, 0, 0)))
    m.add_joint("C", "rocker", "coupler", ct.Revolute("y"), in_parent=ct.Pose(p=(0.9, 0, 0)))
    m.add_joint(
        "B",
        "coupler",
        "crank",
        ct.Revolute("y"),
        in_parent=ct.Pose(p=(1.2, 0, 0)),
        in_child=ct.Pose(p=(0.4, 0, 0)),
    )
    if stiffness:
        m.add_spring("k", "B", stiffness=stiffness, damping=0.01)
    return m


def begun(m, speed=12.0):
    """Return systems with the joint "B" in a loop and in the tree, each with the same closed state."""
    base = m.system(cut=["B"])
    q = base.assemble(guess={"D": -1.3, "A": -1.0, "C": 1.2})
    v = base.velocity(q, {"A": speed})
    found = []
    for cut in CUTS:
        s = m.system(cut=[cut])
        moved = ct.transfer(base, q, v, s)
        at = moved.q.copy()
        if "B" in s.joints:
            at[s.slice_q("B")] = base.joint_position(q, "B")
        found.append((s, at, moved.v))
    return found


def assert_alike(runs, tolerance):
    first = runs[0]
    assert np.ptp(first["B"][..., 0]) > 4.0
    for run in runs[1:]:
        for joint in "ABCD":
            np.testing.assert_allclose(
                run[joint][..., 0], first[joint][..., 0] + turns(run, first, joint), atol=tolerance
            )
            np.testing.assert_allclose(run.reaction(joint), first.reaction(joint), atol=100 * tolerance)
        np.testing.assert_allclose(run["B"], first["B"], atol=tolerance)
        np.testing.assert_allclose(run.energy, first.energy, atol=10 * tolerance)
        for name in run.work:
            np.testing.assert_allclose(run.work[name], first.work[name], atol=10 * tolerance)
        if "k" in run.system.mechanism.springs:
            told, other = run.read(ct.Gauge("k")), first.read(ct.Gauge("k"))
            for name in told:
                np.testing.assert_allclose(told[name], other[name], atol=10 * tolerance)


def turns(run, other, joint):
    """Return the whole turns by which a joint that nothing looks at begins elsewhere."""
    apart = run[joint][..., :1, 0] - other[joint][..., :1, 0]
    return 2.0 * np.pi * np.round(apart / (2.0 * np.pi))


METHODS = {
    "dopri5": ({}, 1e-8),
    "dop853": ({"integrator": "dop853"}, 1e-8),
    "rk4": ({"integrator": "rk4", "step": 1e-3}, 1e-6),
    "abm4": ({"integrator": "abm4", "step": 1e-3}, 1e-5),
    "radau": ({"integrator": "radau", "rtol": 1e-8, "atol": 1e-8}, 1e-5),
    "baumgarte": ({"drift": "baumgarte"}, 1e-7),
    "asked": ({"control": lambda t, q, v: {"B": 0.1, "D": -0.1}}, 1e-8),
}


@pytest.mark.parametrize("method", METHODS)
def test_a_spring_in_a_joint_that_closes_a_loop_counts_turns(method):
    options, tolerance = METHODS[method]
    runs = [ct.simulate(*start, 0.6, samples=5, check=False, **options) for start in begun(cranks())]
    assert_alike(runs, tolerance)


class Held:
    """A motor at a joint, sampled."""

    rate = 50.0

    def __init__(self, joint, later=0.0):
        self.joint, self.later = joint, later

    def __call__(self, t, q, v):
        return {self.joint: np.zeros((*q.shape[:-1], 1)) + (t >= self.later) * np.cos(5.0 * t)}


@pytest.mark.parametrize("later", [0.0, 0.2])
@pytest.mark.parametrize("joint", ["B", "D"])
def test_held_forces_by_name_do_the_same_however_loops_are_cut(joint, later):
    """They are held at their joint: what they do at joints of the tree changes with the configuration."""
    runs = [ct.simulate(*start, 0.48, samples=5, control=Held(joint, later)) for start in begun(cranks())]
    assert_alike(runs, 1e-8)
    asked = [Held(joint, later)(t, np.zeros(1), 0)[joint][0] for t in runs[0].t[:-1]]
    for run in runs:
        np.testing.assert_allclose(run.force(joint)[:-1, 0], asked, atol=1e-12)


def test_batches_varied_runs_files_and_other_samples_keep_turns(tmp_path):
    s, q, v = begun(cranks())[0]
    batch = ct.simulate(s, np.stack([q, q]), np.stack([v, 1.5 * v]), 0.6, samples=7, control=Held("B"))
    alone = ct.simulate(s, q, 1.5 * v, 0.6, samples=7, control=Held("B"))
    one = batch.state(1)
    assert alone["B"][-1, 0] > 4.0
    for run in (
        one,
        ct.simulate(
            s, q, 1.5 * v, 0.6, samples=7, control=Held("B"), parameters={"crank.mass": [1.0, 1.2]}
        ).state(0),
    ):
        np.testing.assert_allclose(run["B"], alone["B"], atol=1e-12)
        np.testing.assert_allclose(run.reaction("B"), alone.reaction("B"), atol=1e-9)
        np.testing.assert_allclose(run.energy, alone.energy, atol=1e-11)
    alone.save(tmp_path / "run.nc")
    loaded = ct.load_run(tmp_path / "run.nc")
    for name in ("B", "D"):
        np.testing.assert_array_equal(loaded[name], alone[name])
        np.testing.assert_array_equal(loaded.reaction(name), alone.reaction(name))
        np.testing.assert_array_equal(loaded.force(name), alone.force(name))
    np.testing.assert_array_equal(loaded.energy, alone.energy)
    full = ct.simulate(s, q, 1.5 * v, 0.6, control=Held("B"))
    np.testing.assert_allclose(full.resample(alone.t)["B"], alone["B"], atol=1e-7)
    np.testing.assert_allclose(full.resample(alone.t).potential_energy, alone.potential_energy, atol=1e-6)


def test_a_run_goes_on_from_the_turns_of_another():
    s, q, v = begun(cranks())[0]
    whole = ct.simulate(s, q, v, 0.8, samples=3)
    first = ct.simulate(s, q, v, 0.4, samples=2)
    rest = ct.simulate(s, first.q[-1], first.v[-1], 0.4, samples=2, near={"B": first["B"][-1]})
    np.testing.assert_allclose(rest["B"][-1], whole["B"][-1], atol=1e-9)
    np.testing.assert_allclose(rest.energy[-1], whole.energy[-1], atol=1e-10)
    with pytest.raises(ct.UnknownNameError, match="near"):
        ct.simulate(s, q, v, 0.4, near={"nobody": 1.0})
    with pytest.raises(ct.StateError, match="position of joint 'B'.*1 numbers"):
        ct.simulate(s, q, v, 0.4, near={"B": [1.0, 2.0]})


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
def test_a_stepper_keeps_turns_and_holds_forces_where_they_are(integrator):
    steppers = [ct.Stepper(*start, step=1e-3, integrator=integrator) for start in begun(cranks())]
    for k in range(500):
        given = None if k < 100 else {"B": 0.5 * np.sin(0.02 * k), "D": 0.1} if k < 400 else np.zeros(3)
        for stepper in steppers:
            stepper.step(given)
    assert steppers[0].position("B")[0] > 4.0
    for stepper in steppers[1:]:
        np.testing.assert_allclose(stepper.position("B"), steppers[0].position("B"), atol=1e-6)
        np.testing.assert_allclose(stepper.position("A"), steppers[0].position("A"), atol=1e-6)


def test_events_by_name_see_turns():
    found = []
    for s, q, v in begun(cranks(stiffness=0.0)):
        event = ct.Event(lambda here: here["B"][0] - 4.5, "far")
        run = ct.simulate(s, q, v, 0.6, events=event)
        found.append([x.t for x in run.events])
    assert len(found[0]) == 1
    for times in found[1:]:
        np.testing.assert_allclose(times, found[0], atol=1e-9)


@pytest.mark.parametrize("other", CUTS)
def test_turns_go_over_where_the_structure_changes(other):
    (s, q, v), *_ = begun(cranks())
    event = ct.Event(
        lambda here: here["B"][0] - 4.0,
        direction=1,
        then=lambda here: here.system.mechanism.system(cut=[other]),
    )
    run, plain = (ct.simulate(s, q, v, 0.7, samples=5, events=x) for x in (event, ()))
    assert len(run.segments) == 2 and run.segments[1].system.loops == (other,)
    np.testing.assert_allclose(run["B"][-1], plain["B"][-1], atol=1e-8)
    np.testing.assert_allclose(run.segments[1].potential_energy[-1], plain.potential_energy[-1], atol=1e-8)


def shaft(kind, nv, component):
    """A body that turns about z between two bearings, with a torsion spring in the second one, "J"."""
    m = ct.Mechanism("shaft", gravity=(0, 0, 0))
    m.add_body("shaft", 1.0, (0, 0, 0), (0.3, 0.3, 0.5))
    m.add_joint("A", "ground", "shaft", ct.Revolute("z"))
    m.add_joint("J", "ground", "shaft", kind)
    stiffness = np.zeros(nv)
    stiffness[component] = 0.5 * 0.7**2
    m.add_force("k", ct.forces.JointSpring(tuple(stiffness)), "J")
    return m


@pytest.mark.parametrize(
    ("kind", "component"),
    [
        (ct.Revolute("z"), 0), (ct.Cylindrical("z"), 0), (ct.Planar("z"), 2), (ct.Universal("z", "x"), 0),
        (ct.Helical("z", 0.0), 0), (ct.Sdof("rz", "dz"), 0), (ct.Sdof("dx", "rx", "rz"), 2),
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("samples", [2, 4])
def test_joints_of_all_kinds_keep_counting_however_long_the_steps(kind, component, samples):
    """A torsional pendulum of 0.7 rad/s that begins with 100 rad/s swings through more than twenty turns: the angle is
    100 / 0.7 sin(0.7 t), and steps of a smooth motion are longer than turns."""
    m = shaft(kind, kind.nv, component)
    s = m.system(cut=["J"])
    run = ct.simulate(s, s.neutral(), [100.0], 3.0, samples=samples, rtol=1e-6, atol=1e-6)
    expected = 100.0 / 0.7 * np.sin(0.7 * run.t)
    np.testing.assert_allclose(run["J"][:, component], expected, atol=1e-2)
    np.testing.assert_allclose(run["A"][:, 0], expected, atol=1e-2)
    assert run.steps < 60
    moment = -0.5 * 0.7**2 * run["J"][:, component]
    np.testing.assert_allclose(run.reaction("J")[:, 2], moment, atol=1e-2)


def test_a_joint_that_nothing_looks_at_is_counted_from_sample_to_sample():
    for s, q, v in begun(cranks(stiffness=0.0))[:1]:
        run = ct.simulate(s, q, v, 0.6)
        assert not run.loop_positions
        rate = run.velocity("B")[:, 0]
        moved = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(run.t) * (rate[1:] + rate[:-1]))])
        np.testing.assert_allclose(run["B"][:, 0] - run["B"][0, 0], moved, atol=1e-3)
        assert np.ptp(run["B"]) > 4.0


def test_an_encoder_counts_turns():
    s, q, v = begun(cranks())[0]
    seen = []
    law = ct.Sensed(
        {"pin": ct.Encoder("B")},
        lambda t, here: (seen.append(here["pin"]["position"][0]), np.zeros(3))[1],
        200.0,
    )
    run = ct.simulate(s, q, v, 0.6, samples=121, control=law)
    np.testing.assert_allclose(seen, run["B"][: len(seen), 0], atol=1e-9)
    np.testing.assert_allclose(run.read(ct.Encoder("B"))["position"], run["B"], atol=1e-12)


def test_a_rigid_stop_is_a_force_in_its_joint():
    """A pendulum that rests on a stop: the joint holds its weight, and the stop its moment."""
    m = ct.Mechanism("resting", gravity=(0, 0, -9.81))
    m.add_body("rod", 2.0, (0.5, 0, 0), (1e-3, 0.2, 0.2))
    m.add_joint("pin", "ground", "rod", ct.Revolute("y"))
    s = m.system()
    run = ct.simulate(s, [0.0], [0.0], 0.5, samples=4, contacts=[ct.Stop("pin", upper=0.2)])
    last = run.segments[-1]
    angle = last["pin"][-1, 0]
    np.testing.assert_allclose(angle, 0.2, atol=1e-9)
    np.testing.assert_allclose(run.reaction("pin")[-1, 1], -2.0 * 9.81 * 0.5 * np.cos(angle), rtol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(run.reaction("pin")[-1, 3:]), 2.0 * 9.81, rtol=1e-8)
    np.testing.assert_allclose(last.stop_forces["pin"][-1], run.reaction("pin")[-1, 1], rtol=1e-8)
    np.testing.assert_allclose(last.acceleration[-1], 0.0, atol=1e-8)
