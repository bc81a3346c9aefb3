"""Dry friction in joints beside contacts and stops: against closed forms, runs without contacts, and time stepping."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar, random_mechanism


def rubbing(m, friction, **more):
    for name, joint in m.joints.items():
        if joint.kind.nv < 6:
            m = m.with_joint(name, friction=friction, **more)
    return m


def with_far_floor(m):
    """A contact that never touches, so that a run is one with contacts."""
    m = m.copy()
    m.add_frame("far floor", "ground", ct.Pose(p=(0.0, 0.0, -50.0)))
    return m, [ct.Contact(list(m.bodies)[-1], on="far floor")]


def assert_same_motion(m, q, v, duration, bound, **options):
    """Friction beside contacts is one of them; without contacts joints have senses: two formulations."""
    m, contacts = with_far_floor(m)
    s = m.system()
    alone = ct.simulate(s, q, v, duration, rtol=1e-9, **options)
    beside = ct.simulate(s, q, v, duration, rtol=1e-9, contacts=contacts, **options)
    a, b = alone.resample(21), beside.resample(21)
    np.testing.assert_allclose(b.q, a.q, atol=bound)
    # Where Python gives the forces of contacts, what they do is work of wrenches.
    done = [run.work["friction"][-1] + run.work["wrenches"][-1] for run in (beside, alone)]
    np.testing.assert_allclose(*done, atol=100.0 * bound)
    assert beside.audit().ok
    return alone, beside


def sled(**friction):
    m = ct.Mechanism("sled", gravity=(0.0, 0.0, 0.0))
    m.add_body("sled", mass=2.0, inertia=0.1)
    m.add_joint("slide", "ground", "sled", ct.Prismatic("x"), **friction)
    return m


def leg(**friction):
    """A leg that drops on its foot and folds to a stop of its knee."""
    m = ct.Mechanism("leg")
    m.add_body("hip", mass=4.0, inertia=0.05)
    m.add_body("thigh", mass=1.0, inertia=0.02, com=(0.0, 0.0, -0.15))
    m.add_body("shank", mass=0.7, inertia=0.015, com=(0.0, 0.0, -0.15))
    m.add_joint("floats", "ground", "hip", ct.Planar("y"), actuated=False)
    m.add_joint("hip joint", "hip", "thigh", ct.Revolute("y"), **friction)
    m.add_joint("knee", "thigh", "shank", ct.Revolute("y"), in_parent=ct.Pose(p=(0.0, 0.0, -0.3)), **friction)
    m.add_frame("foot", "shank", ct.Pose(p=(0.0, 0.0, -0.3)))
    m.add_frame("floor", "ground", ct.Pose(p=(0.0, 0.0, -0.6)))
    return m.system()


LEG_CONTACTS = [ct.Contact("foot", on="floor", friction=0.6), ct.Stop("knee", lower=-2.0)]


def test_a_sled_that_hits_a_stop_and_stops_by_friction():
    """v^2 falls by 2 F x / m on the way to the stop and back, half of the speed comes back."""
    run = ct.simulate(
        sled(friction=3.0).system(), [0.0], [2.0], 10.0, rtol=1e-9,
        contacts=[ct.Stop("slide", lower=-1.0, upper=0.5, restitution=0.5)],
    )  # fmt: skip
    arrives = np.sqrt(2.0**2 - 2.0 * 1.5 * 0.5)
    rests = 0.5 - (0.5 * arrives) ** 2 / (2.0 * 1.5)
    assert run.q[-1, 0] == pytest.approx(rests, abs=1e-11)
    stopped = run.t > 2.0
    # Nothing creeps: eight seconds at the same place.
    assert np.ptp(run.q[stopped, 0]) < 1e-12 and np.abs(run.v[stopped]).max() < 1e-12
    assert run.work["friction"][-1] == pytest.approx(-3.0 * (0.5 + 0.5 - rests), abs=1e-10)
    assert run.audit().ok


def test_a_joint_at_its_stop_that_friction_keeps_there():
    """Pushed against the stop it presses with all of the push; drawn away it stays by friction, and leaves it with what
    is left when the pull is more than that."""
    pull = {"sled": lambda t: [0.0, 0.0, 0.0, 1.0 - 2.0 * t, 0.0, 0.0]}
    run = ct.simulate(
        sled(friction=3.0).system(), [0.5], [0.0], 3.0, rtol=1e-9, forces=pull, contacts=[ct.Stop("slide", upper=0.5)],
        samples=301,
    )  # fmt: skip
    t = run.t
    pressed = t < 0.499
    np.testing.assert_allclose(
        run.contact_forces["slide upper"][pressed, 2], 1.0 - 2.0 * t[pressed], atol=1e-8
    )
    assert np.abs(run.q[t < 1.999, 0] - 0.5).max() < 1e-11
    # From 2 s on the pull is 2 t - 1 - 3 beyond friction: a cubic.
    late = np.maximum(t - 2.0, 0.0)
    np.testing.assert_allclose(run.q[:, 0], 0.5 - 2.0 * late**3 / 6.0 / 2.0, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 1])
def test_random_trees_move_as_without_contacts(seed):
    m = rubbing(random_mechanism(seed, loops=0), 0.3)
    s, rng = m.system(), np.random.default_rng(seed)
    assert_same_motion(m, s.neutral(), rng.standard_normal(s.nv), 0.5, 1e-9)


@pytest.mark.parametrize("friction", [0.1, 1.0])
def test_an_arm_moves_as_without_contacts(friction):
    m = rubbing(arm7(), friction)
    s = m.system()
    v = np.random.default_rng(1).standard_normal(s.nv)
    assert_same_motion(m, s.neutral(), v, 0.5, 1e-9)


def test_friction_at_rest_and_of_a_slip_beside_contacts():
    """Stribeck's fall and a larger friction at rest: a sled on a spring, drawn harder and harder."""
    m = sled(friction=1.0, static_friction=1.6, stribeck_velocity=0.2)
    m.add_spring("spring", "slide", stiffness=30.0)
    drawn, beside = assert_same_motion(
        m, [0.0], [0.0], 4.0, 1e-8, forces={"sled": lambda t: [0.0, 0.0, 0.0, 1.5 * t, 0.0, 0.0]}
    )
    assert np.ptp(drawn.q[:, 0]) > 0.1
    sticks = np.abs(beside.v[:, 0]) < 1e-12
    assert sticks.any() and not sticks.all()


def test_in_a_loop():
    """Joints of the tree of a four-bar; forces of contacts and of friction are asked from Python there."""
    m = four_bar()
    for joint in m.system().joints:
        m = m.with_joint(joint, friction=0.5)
    s = m.system()
    assert_same_motion(m, *s.project(s.neutral(), np.ones(s.nv)), 0.5, 1e-9)


def test_under_a_sampled_controller():
    m = sled(friction=1.0)

    class Holds:
        rate = 50.0

        def __call__(self, t, q, v):
            return -40.0 * (q - 0.3) - 4.0 * v

    alone, _ = assert_same_motion(m, [0.0], [0.0], 3.0, 1e-9, control=Holds())
    assert np.ptp(alone.q[alone.t > 2.5, 0]) < 1e-12


def test_across_a_change_of_structure():
    """A joint that is locked half-way and a second one that goes on and comes to rest by friction."""
    m = sled(friction=1.0)
    m.add_body("load", mass=1.0, inertia=0.1)
    m.add_joint("upper", "sled", "load", ct.Prismatic("x"), friction=0.4)
    m, contacts = with_far_floor(m)
    runs = [
        ct.simulate(
            m.system(),
            [0.0, 0.0],
            [1.0, 0.5],
            5.0,
            rtol=1e-9,
            changes=[ct.Change(at=0.2, lock="slide")],
            contacts=some,
        )  # fmt: skip
        for some in ((), contacts)
    ]
    last = [run.segments[-1] for run in runs]
    np.testing.assert_allclose(last[1].q[-1], last[0].q[-1], atol=1e-9)
    assert np.abs(last[1].v[-1]).max() < 1e-11


@pytest.mark.parametrize(
    "friction", [{"friction": 2.0}, {"friction": 30.0}, {"friction": 8.0, "static_friction": 10.0}]
)
def test_time_stepping_comes_to_the_exact_way(friction):
    """A leg that lands, slips, folds to its stop and sticks: Moreau's steps, in which friction is a row of a law for
    impulses, come nearer by the square of the step."""
    s = leg(**friction)
    q = s.neutral()
    q[s.slice_q("hip joint")], q[s.slice_q("knee")] = 0.5, -0.9
    exact = ct.simulate(s, q, np.zeros(s.nv), 0.9, contacts=LEG_CONTACTS, rtol=1e-9).resample(46)
    steps, far = (1e-3, 2.5e-4), []
    for step in steps:
        run = ct.simulate(
            s, q, np.zeros(s.nv), 0.9, contacts=LEG_CONTACTS, integrator="time_stepping", step=step
        ).resample(46)
        far.append(np.abs(run.q - exact.q).max())
    assert far[1] < 2e-5 and far[1] < far[0] / 8.0
    assert exact.audit().ok


def test_nothing_creeps():
    """An arm that friction holds, while a ball bounces beside it for ten seconds."""
    m = ct.Mechanism("arm and ball")
    m.add_body("arm", mass=1.0, inertia=0.1, com=(0.3, 0.0, 0.0))
    m.add_body("ball", mass=0.2, inertia=0.01)
    m.add_joint("shoulder", "ground", "arm", ct.Revolute("y"), friction=2.0 * 9.81 * 0.3)
    m.add_joint("falls", "ground", "ball", ct.Prismatic("z"))
    run = ct.simulate(
        m.system(), [0.0, 1.0], [0.0, 0.0], 10.0, contacts=[ct.Contact("ball", restitution=0.8, friction=0.3)]
    )
    assert len(run.transitions) > 5
    assert np.abs(run.q[:, 0]).max() < 1e-9


def test_each_state_of_a_batch():
    s = leg(friction=8.0)
    q = np.tile(s.neutral(), (2, 1))
    q[:, s.slice_q("hip joint")], q[:, s.slice_q("knee")] = [[0.5], [0.3]], [[-0.9], [-0.5]]
    both = ct.simulate(s, q, np.zeros((2, s.nv)), 0.4, contacts=LEG_CONTACTS)
    for k in range(2):
        alone = ct.simulate(s, q[k], np.zeros(s.nv), 0.4, contacts=LEG_CONTACTS)
        np.testing.assert_array_equal(both.state(k).q[-1], alone.q[-1])


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        ({"integrator": "radau", "rtol": 1e-6}, 1e-8), ({"integrator": "lsoda", "rtol": 1e-8}, 1e-7),
        ({"integrator": "abm4", "step": 2e-3}, 1e-8),
    ],
)  # fmt: skip
def test_by_methods_whose_steps_cannot_change_senses(options, bound):
    """An oscillator that loses 2 F / k with each half swing of pi / omega and then stays, by SciPy and with a past."""
    m = sled(friction=1.0)
    m.add_spring("spring", "slide", stiffness=200.0)
    s, half = m.system(), np.pi / 10.0
    run = ct.simulate(s, [0.034], [0.0], 1.5, **options)
    rests = 0.024, 0.014, 0.004
    for k, x in enumerate(rests):
        q, v = run.at((k + 1) * half)
        assert (-1.0) ** (k + 1) * q[0] == pytest.approx(x, abs=bound) and abs(v[0]) < 100.0 * bound
    late = run.t > 3.2 * half
    assert late.any() and np.ptp(run.q[late, 0]) < 1e-12
    both = ct.simulate(s, [[0.034], [0.02]], [[0.0], [0.0]], 0.4, **options)
    np.testing.assert_allclose(both.state(0).q[-1], run.at(0.4)[0], atol=bound)
