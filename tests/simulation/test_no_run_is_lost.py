"""Runs end, keep what they have, and are judged: what once hung, lost its trajectory or passed for good."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain, free_flyer, n_four_bars
from tests.fuzz.test_mechanisms import Case


def test_a_function_that_gives_nothing_does_not_stop_a_passage():
    """Once it stayed at the flat configuration with steps of 1e-13."""
    system = n_four_bars(2).system()
    q = system.neutral()
    v = system.velocity(q, {"pin0": 3.0})
    free = ct.simulate(system, q, v, 1.0, check=False)
    asked = ct.simulate(system, q, v, 1.0, control=lambda t, q, v: np.zeros(system.nv), check=False)
    assert free["pin0"].max() > np.pi / 2
    np.testing.assert_array_equal(free.q[-1], asked.q[-1])


def floating_four_bar():
    """A square of rods whose base floats."""
    m = ct.Mechanism("floating four-bar")
    rod = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.01, 0.1, 0.1)}
    for name in ("base", "crank", "coupler", "rocker"):
        m.add_body(name, **rod)
    m.add_joint("free", "ground", "base", ct.Free())
    up, end = ct.Pose(rpy=(0.0, -np.pi / 2, 0.0)), ct.Pose(p=(1.0, 0.0, 0.0))
    m.add_joint("A", "base", "crank", ct.Revolute("y"), in_parent=up)
    m.add_joint(
        "B", "crank", "coupler", ct.Revolute("y"), in_parent=ct.Pose(p=(1, 0, 0), rpy=(0, np.pi / 2, 0))
    )
    m.add_joint(
        "C", "coupler", "rocker", ct.Revolute("y"), in_parent=ct.Pose(p=(1, 0, 0), rpy=(0, np.pi / 2, 0))
    )
    m.add_joint(
        "D",
        "base",
        "rocker",
        ct.Revolute("y"),
        in_parent=end,
        in_child=ct.Pose(p=(1, 0, 0), rpy=(0, -np.pi / 2, 0)),
    )
    return m


def test_a_torque_that_jumps_a_thousand_times_a_second_does_not_repeat_one_attempt_for_ever():
    system = floating_four_bar().system(cut=["D"])
    q = system.neutral()
    own = system.slice_v("A").start

    def bang(t, q, v):
        tau = np.zeros(system.nv)
        tau[own] = 20.0 if round(1000.0 * t) % 2 else -20.0
        return tau

    run = ct.simulate(system, q, np.zeros(system.nv), 0.05, control=ct.sampled(bang, 1000.0), check=False)
    assert run.t[-1] == 0.05
    assert run.steps < 5000


def test_steps_that_shrink_to_nothing_end_in_words():
    system = chain(1).system()

    def jumping(t, q, v):
        return np.array([1e9 * np.sign(q[0] - 0.5 - 1e-3 * np.sin(1e9 * t))])

    with pytest.raises(ct.SimulationError, match="collapsed|runs away") as caught:
        ct.simulate(system, [0.4], [1.0], 10.0, control=jumping)
    assert caught.value.trajectory.t[-1] > 0.0


@pytest.mark.parametrize("integrator", ["dopri5", "dop853"])
@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (0.0, 0.0, -9.81)])
def test_a_fast_body_in_flight_takes_few_steps(gravity, integrator):
    m = ct.Mechanism("satellite", gravity=gravity)
    m.add_body("body", 100.0, com=(0.1, 0.05, 0.0), inertia=(10.0, 12.0, 14.0))
    m.add_joint("free", "ground", "body", ct.Free())
    system = m.system()
    v = np.array([0.0, 0.0, 0.0, 7500.0, 0.0, 0.0])
    run = ct.simulate(system, system.neutral(), v, 10.0, integrator=integrator)
    assert run.steps < 50
    np.testing.assert_allclose(run.q[-1, :3], [75_000.0, 0.0, 50.0 * gravity[2]], rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("integrator", ["dopri5", "dop853"])
def test_a_robot_in_orbit_takes_about_as_many_steps_as_one_at_rest(integrator):
    """Its arm turned by the rounding of 7500 m/s times itself, and steps fell to 1e-5 s."""
    system = free_flyer().system()
    v = 0.1 * np.cos(np.arange(float(system.nv)))
    runs = []
    for speed in (0.0, 7500.0):
        v[system.slice_v("base").start + 3] += speed
        runs.append(ct.simulate(system, system.neutral(), v, 1.0, integrator=integrator))
    assert runs[1].steps <= 2 * runs[0].steps


@pytest.mark.slow
def test_stiff_methods_bear_coordinates_that_nothing_depends_on():
    """SciPy's own difference increments grew without bound on the cart's position."""
    m = ct.Mechanism("cart")
    m.add_body("cart", 1.0, inertia=0.1)
    m.add_body("rod", 0.1, com=(0, 0, -0.5), inertia=0.01)
    m.add_joint("slide", "ground", "cart", ct.Prismatic("x"), damping=0.1)
    m.add_joint("pin", "cart", "rod", ct.Revolute("y"))
    system = m.system()

    def van_der_pol(t, q, v):
        return np.array([0.0, 0.2 * (1.0 - 4.0 * q[1] ** 2) * v[1]])

    run = ct.simulate(
        system, [0.0, 0.3], [0.0, 0.0], 30.0, integrator="radau", rtol=1e-5, atol=1e-7, control=van_der_pol, check=False
    )  # fmt: skip
    exact = ct.simulate(
        system, [0.0, 0.3], [0.0, 0.0], 30.0, rtol=1e-9, atol=1e-11, control=van_der_pol, check=False
    )
    assert np.abs(run.q[-1] - exact.q[-1]).max() < 0.05


def road():
    """A massless road under a wheel: the road is driven, the wheel hangs on a spring."""
    m = ct.Mechanism("road")
    m.add_body("road", 0.0)
    m.add_body("wheel", 5.0, inertia=0.1)
    m.add_joint("bump", "ground", "road", ct.Prismatic("z"))
    m.add_joint("tyre", "road", "wheel", ct.Prismatic("z"))
    m.add_spring("rubber", "tyre", stiffness=2e4, rest=0.3, damping=50.0)
    return m.system()


def shaken(t):
    return 0.02 * np.sin(20.0 * t), 0.4 * np.cos(20.0 * t), -8.0 * np.sin(20.0 * t)


def test_a_massless_body_on_a_driven_joint_is_audited():
    system = road()
    run = ct.simulate(system, [0.0, 0.3], [0.4, 0.0], 0.5, motion={"bump": shaken})
    assert run.audit().ok, str(run.audit())
    assert run.audit()["energy"].value < 1e-8


def test_prescribed_motion_has_its_acceleration_and_its_force_at_sparse_samples():
    system = road()
    run = ct.simulate(system, [0.0, 0.3], [0.4, 0.0], 0.5, motion={"bump": shaken}, samples=4)
    np.testing.assert_allclose(run.acceleration[:, 0], [shaken(t)[2] for t in run.t], rtol=1e-12, atol=1e-12)
    wheel = 5.0 * (run.acceleration.sum(axis=1) + 9.81)
    np.testing.assert_allclose(run.force("bump")[:, 0], wheel, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(run.reaction("bump")[:, 5], wheel, rtol=1e-9, atol=1e-10)


def test_work_is_counted_where_forces_jump_between_samples():
    """An estimate from the samples once raised false alarms, and passed a batch that missed most of its energy."""
    system = chain(2).system()

    def bang(t, q, v):
        return np.array([0.5 if int(100 * t) % 2 else -0.5, 0.0])

    run = ct.simulate(system, [0.3, 0.1], [0.0, 0.0], 1.0, control=ct.sampled(bang, 100.0), samples=5)
    assert run.audit().ok
    assert run.audit()["energy"].value < 1e-9


def test_a_batch_that_misses_its_energy_is_not_ok():
    system = chain(2).system()
    pd = ct.PID(system, dict.fromkeys(system.joints, 0.0), kp=0.05, ki=0.0, kd=0.0, rate=100.0, limits=None)
    q = np.array([[0.5, -0.3], [0.2, 0.4]])
    with pytest.warns(ct.CatenaWarning):
        run = ct.simulate(system, q, np.zeros((2, 2)), 1.0, control=pd, integrator="euler", step=5e-3)
    assert not run.audit().ok


def test_states_that_do_not_belong_to_one_motion_are_noticed():
    run = ct.simulate(chain(2).system(), [0.3, 0.1], [0.0, 0.5], 1.0)
    assert run.audit()["velocities"].value < 1e-3
    jumped = run.q.copy()
    jumped[len(jumped) // 2 :, 0] += 0.3
    assert not run.with_(q=jumped).audit()["velocities"].ok
    assert not run.with_(v=np.zeros_like(run.v)).audit()["velocities"].ok


def test_controllers_may_do_what_they_like_with_their_arguments():
    system = chain(2).system()

    def careless(t, q, v):
        q += 1.0
        v *= 0.0
        return np.zeros(2)

    run = ct.simulate(system, [0.3, 0.1], [0.0, 0.5], 0.2, control=careless)
    free = ct.simulate(system, [0.3, 0.1], [0.0, 0.5], 0.2)
    np.testing.assert_array_equal(run.q, free.q)


def test_states_that_have_ended_stay_where_they_are_under_a_continuous_controller():
    system = chain(1).system()
    event = ct.Event(lambda t, q, v: q[0] - 2.4, "far", terminal=True)
    q, v = np.array([[2.3], [2.3]]), np.array([[4.0], [0.0]])
    run = ct.simulate(
        system, q, v, 0.3, control=lambda t, q, v: 0.0 * v, events=event, samples=31, check=False
    )
    assert np.all(np.abs(run.q[0, 10:, 0] - 2.4) < 1e-9)
    alone = ct.simulate(system, q[1], v[1], 0.3, control=lambda t, q, v: 0.0 * v, samples=31, check=False)
    np.testing.assert_allclose(run.q[1], alone.q, rtol=0.0, atol=1e-9)


def test_a_trial_that_goes_astray_is_rejected():
    """A spring so stiff that the first trial steps overflow."""
    system = chain(1).system()

    def stiff(t, q, v):
        return np.array([-1e3 * np.sinh(np.clip(50.0 * q[0], -700.0, 700.0))])

    run = ct.simulate(system, [0.2], [0.0], 0.02, control=stiff, rtol=1e-6, atol=1e-8, check=False)
    assert run.t[-1] == 0.02


@pytest.mark.parametrize("integrator", ["dopri5", "dop853"])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_a_controller_that_overflows_at_a_trial_is_asked_again(integrator, batch):
    """Strong damping throws the first trials so far that the controller gives infinity there."""
    system = chain(2).system()
    q, v = np.broadcast_to([0.3, 0.1], (*batch, 2)), np.ones((*batch, 2))

    def strong(t, q, v):
        with np.errstate(over="ignore"):
            return -50.0 * v * v * v

    chosen = {"integrator": integrator, "rtol": 1e-8, "atol": 1e-9, "samples": 2, "check": False}
    run = ct.simulate(system, q, v, 0.05, control=strong, **chosen)
    law = ct.SymbolicControl(lambda t, q, v: [-50.0 * x * x * x for x in (v[..., 0], v[..., 1])])
    np.testing.assert_allclose(run.q, ct.simulate(system, q, v, 0.05, control=law, **chosen).q, atol=1e-6)


def test_a_wrench_that_overflows_at_a_trial_is_asked_again():
    system = chain(2).system()

    def drag(t, q, v):
        with np.errstate(over="ignore"):
            return np.array([0.0, -50.0 * v[0, 1] ** 3, 0.0, 0.0, 0.0, 0.0])

    run = ct.simulate(system, [0.3, 0.1], [1.0, 30.0], 0.05, forces={"link2": drag}, rtol=1e-6, check=False)
    assert run.t[-1] == 0.05
    with pytest.raises(ct.SimulationError, match=r"wrench on 'link2' is not finite at t = 0\.02"):
        ct.simulate(system, forces={"link2": lambda t: np.full(6, np.nan if t > 0.02 else 0.0)})


@pytest.mark.parametrize("integrator", ["dopri5", "rk4", "radau", "lsoda"])
def test_a_controller_that_fails_is_told_as_what_stops_a_run(integrator):
    def failing(t, q, v):
        return np.array([0.0, np.nan if t > 0.05 else 0.0])

    step = {"step": 1e-3} if integrator == "rk4" else {}
    with pytest.raises(
        ct.SimulationError, match=r"The controller gave nan for joint 'joint2' at t = 0\.05"
    ) as caught:
        ct.simulate(
            chain(2).system(), [0.3, 0.1], [0.0, 0.0], 0.1, control=failing, integrator=integrator, **step
        )
    assert caught.value.trajectory.t[-1] > 0.0


@pytest.mark.parametrize(("seed", "states", "duration"), [(3313, 1, 0.44), (3426, 2, 0.44), (3841, 1, 0.1)])
def test_a_trial_so_far_away_that_inertias_are_lost_in_rounding_is_rejected(seed, states, duration):
    """Dampers so stiff that the first trials lead 1e13 m away. Loops there were asked for accelerations, which nothing
    determines any more, and to be closed, where the inertia was not definite: both ended the run."""
    case = Case(seed)
    case.look()
    q, v = np.tile(case.subject.q, (states, 1)), np.linspace(1.0, 0.5, states)[:, None] * case.v
    run = ct.simulate(case.subject.system, q, v, duration, rtol=1e-8, atol=1e-10, progress=False)
    assert run.t[-1] == duration and run.audit().ok


def test_a_state_that_moves_no_inertia_where_a_run_begins_is_refused_all_the_same():
    m = ct.Mechanism("loose")
    m.add_body("arm", 1.0, (0.3, 0.0, 0.0), (0.1, 0.1, 0.1))
    m.add_body("loose")
    m.add_joint("pin", "ground", "arm", ct.Revolute("z"))
    m.add_joint("hangs", "arm", "loose", ct.Spherical(), ct.Pose(p=(0.5, 0.0, 0.0)))
    m.add_joint(
        "held", "arm", "loose", ct.Spherical(), ct.Pose(p=(0.5, 0.2, 0.0)), ct.Pose(p=(0.0, 0.2, 0.0))
    )
    s = m.system()
    with pytest.raises(ct.SingularDynamicsError):
        ct.simulate(s, s.neutral(), np.zeros(s.nv), 0.1, progress=False)


@pytest.mark.parametrize("integrator", ["dopri5", "radau", "bdf", "lsoda"])
def test_a_controller_that_is_too_stiff_for_its_rate_ends_a_run_in_words(integrator):
    """Stiff methods followed it to 1e15 rad/s, and would have for ever."""
    system = chain(2).system()
    control = ct.sampled(lambda t, q, v: -0.5 * v, 100.0)
    with pytest.raises(ct.SimulationError, match="runs away.*too stiff for its rate") as caught:
        ct.simulate(
            system, [0.3, 0.1], [0.0, 0.0], 1.0, control=control, integrator=integrator, rtol=1e-4, atol=1e-6
        )
    assert caught.value.trajectory.t[-1] > 0.1


@pytest.mark.parametrize("integrator", ["bdf", "lsoda"])
def test_a_stiff_method_that_hardly_gets_on_ends_in_words(integrator):
    """A torque that oscillates that fast takes days."""
    system = chain(1).system()
    with pytest.raises(ct.SimulationError, match="hardly gets on.*an explicit integrator") as caught:
        ct.simulate(
            system, [0.3], [0.0], 100.0, control=lambda t, q, v: 50.0 * np.sin(2e5 * t) + 0.0 * v,
            integrator=integrator, rtol=1e-9, atol=1e-12, progress=False,
        )  # fmt: skip
    assert caught.value.trajectory.t[-1] > 0.0


def test_a_motion_that_runs_away_with_fixed_steps_is_said_to():
    """It ended with the words that a report of forces is not finite."""
    case = Case(3910)
    case.look()
    with pytest.raises(ct.SimulationError, match="runs away: joint") as found:
        ct.simulate(
            case.subject.system, case.subject.q, case.v, 0.1, integrator="rk4", step=1e-3, progress=False
        )
    assert len(found.value.trajectory.t) > 1


def test_settings_say_who_takes_the_steps():
    system = chain(1).system()
    taken = {
        "the compiled loop": {},
        "pieces, with Python in between": {"control": lambda t, q, v: 0.0 * v},
        "SciPy": {"integrator": "radau", "rtol": 1e-6, "atol": 1e-8},
    }
    for words, settings in taken.items():
        run = ct.simulate(system, [0.2], [0.0], 0.1, check=False, **settings)
        assert run.settings["steps taken by"] == words


def test_gains_of_their_own_go_with_states_that_others_have_left():
    """A continuous controller with gains for each state of its batch, of which one ends early."""
    system = chain(1).system()
    gains = np.array([[0.0], [0.05], [0.2]])

    def control(t, q, v):
        return -gains * v

    event = ct.Event(lambda t, q, v: q[0] - 2.4, "far", terminal=True)
    q, v = np.full((3, 1), 2.3), np.array([[4.0], [0.0], [0.0]])
    run = ct.simulate(system, q, v, 0.3, control=control, events=event, samples=7, check=False)
    for k in (1, 2):
        alone = ct.simulate(
            system, q[k], v[k], 0.3, control=lambda t, q, v, k=k: -gains[k] * v, samples=7, check=False
        )
        np.testing.assert_allclose(run.q[k], alone.q, rtol=0.0, atol=1e-9)
