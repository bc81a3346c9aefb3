"""Simulation: orders, momentum, batches, controllers and what is refused."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar, humanoid, random_mechanism, stewart


def pendulum():
    """The planar pendulum of the field's benchmark library: a point mass of 1 kg on 1 m, at rest beside its pivot."""
    m = ct.Mechanism("pendulum")
    m.add_body("bob", mass=1.0, com=(0, 0, -1.0), inertia=0.0)
    m.add_joint("pivot", "ground", "bob", ct.Revolute("-y"))
    return m.system()


@pytest.mark.parametrize(
    ("integrator", "order", "steps"),
    [("euler", 1, 80), ("semi_implicit", 1, 80), ("midpoint", 2, 20), ("rk4", 4, 10)],
)
@pytest.mark.parametrize("name", ["arm", "humanoid", "all kinds"])
def test_errors_shrink_with_the_order_of_the_method(integrator, order, steps, name):
    """Joints on manifolds (humanoid: Free; all kinds: Spherical, Universal, Planar) included."""
    kinds = ["Spherical", "Free", "Universal", "Planar", "Revolute"]
    mechanism = {
        "arm": arm7(),
        "humanoid": humanoid(),
        "all kinds": random_mechanism(3, bodies=4, kinds=kinds),
    }[name]
    system = mechanism.system()
    rng = np.random.default_rng(0)
    q, v = (
        system.integrate(system.neutral(), 0.3 * rng.normal(size=system.nv)),
        0.5 * rng.normal(size=system.nv),
    )
    exact = ct.simulate(system, q, v, 0.2, rtol=1e-12, atol=1e-13, samples=2).q[-1]
    errors = []
    for n in (steps, 2 * steps, 4 * steps):
        run = ct.simulate(system, q, v, 0.2, integrator=integrator, step=0.2 / n, samples=2)
        errors.append(np.abs(system.difference(exact, run.q[-1])).max())
    slope = np.polyfit(np.log([1.0, 0.5, 0.25]), np.log(errors), 1)[0]
    assert order - 0.2 < slope < order + 0.6


def test_a_free_robot_keeps_its_momentum():
    mechanism = humanoid()
    mechanism.gravity = (0.0, 0.0, 0.0)
    system = mechanism.system()
    v = np.random.default_rng(0).normal(size=system.nv)
    run = ct.simulate(system, system.neutral(), v, 0.3, rtol=1e-10, atol=1e-12, samples=4)
    momentum = system.momentum(run.q, run.v)
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), rtol=0.0, atol=1e-7)
    assert run.energy_drift < 1e-8


def test_a_batch_moves_as_its_states_do_alone():
    system = stewart().system()
    rng = np.random.default_rng(0)
    q = np.repeat(system.neutral()[None], 3, axis=0)
    _, v = system.project(q, 0.2 * rng.normal(size=(3, system.nv)))
    together = ct.simulate(system, q, v, 0.1, integrator="rk4", step=2e-3, samples=3)
    for k in range(3):
        alone = ct.simulate(system, q[k], v[k], 0.1, integrator="rk4", step=2e-3, samples=3)
        np.testing.assert_array_equal(together.q[k], alone.q)


def test_a_controller_that_carries_the_weight_holds_the_arm():
    system = arm7().system()
    q = np.linspace(0.2, 0.8, 7)
    hold = ct.simulate(
        system, q, np.zeros(7), 0.5, control=lambda t, q, v: system.bias_force(q, v), samples=3
    )
    np.testing.assert_allclose(hold.q, np.broadcast_to(q, (3, 7)), atol=1e-9)


def test_nan_from_a_controller_stops_with_time_and_joint_and_keeps_the_trajectory():
    system = arm7().system()

    def control(t, q, v):
        return np.where(np.arange(7) == 2, np.nan if t > 0.25 else 0.0, 0.0)

    with pytest.raises(ct.SimulationError, match=r"gave nan for joint 'joint3' at t = 0\.25") as caught:
        ct.simulate(
            system, np.zeros(7), np.zeros(7), 1.0, control=control, integrator="rk4", step=1e-2, samples=11
        )
    kept = caught.value.trajectory
    assert kept.t[-1] == pytest.approx(0.2)
    assert kept.q.shape == (3, 7)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"duration": -1.0}, "duration is -1.0; give a positive number of seconds"),
        ({"integrator": "rk7"}, "There is no integrator 'rk7'; choose dopri5"),
        ({"integrator": "rk4"}, "rk4 takes fixed steps: give step="),
        ({"step": 0.1}, "dopri5 chooses its steps by itself"),
        ({"samples": 1}, "samples is 1; give at least 2"),
        ({"rtol": -1.0}, "rtol is -1.0"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, message):
    arguments = {"duration": 1.0, **changes}
    duration = arguments.pop("duration")
    with pytest.raises(ct.StateError, match=message):
        ct.simulate(pendulum(), [0.0], [0.0], duration, **arguments)


def test_open_loops_are_refused_with_the_way_to_close_them():
    system = four_bar().system()
    with pytest.raises(ct.StateError, match=r"not closed at the start .* s\.project"):
        ct.simulate(system, system.neutral() + 0.1, np.zeros(3), 1.0)


@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
@pytest.mark.parametrize("mechanism", [arm7(), stewart()], ids=["arm", "platform"])
def test_the_same_bits_come_again_on_any_number_of_threads(mechanism, integrator):
    system = mechanism.system()
    rng = np.random.default_rng(3)
    v = 0.3 * rng.normal(size=(40, system.nv))
    q = np.tile(system.neutral(), (40, 1))
    if system.loops:
        v = system.project(q, v)[1]
    chosen = {"step": 5e-3} if integrator == "rk4" else {"rtol": 1e-6, "atol": 1e-8}
    before = ct.threads()
    runs = []
    try:
        for threads in (1, 2, 2):
            ct.set_threads(threads)
            runs.append(ct.simulate(system, q, v, 0.2, integrator=integrator, samples=5, **chosen))
    finally:
        ct.set_threads(before)
    for run in runs[1:]:
        np.testing.assert_array_equal(run.q, runs[0].q)
        np.testing.assert_array_equal(run.v, runs[0].v)
    alone = ct.simulate(system, q[7], v[7], 0.2, integrator=integrator, samples=5, **chosen)
    np.testing.assert_array_equal(alone.q, runs[0].q[7])


def test_a_controller_too_stiff_for_its_rate_is_named_and_does_not_run_for_ever():
    system = arm7().system()
    stiff = ct.sampled(lambda t, q, v: -4000.0 * q - 400.0 * v, 1000.0)
    with pytest.raises(ct.SimulationError, match="runs away: joint 'joint") as caught:
        ct.simulate(system, np.full(7, 0.1), np.zeros(7), 1.0, control=stiff, rtol=1e-6, atol=1e-8)
    assert caught.value.trajectory.t[-1] > 0.0


def test_an_exception_in_a_controller_keeps_the_trajectory_so_far():
    def fails(t, q, v):
        if t > 0.05:
            raise RuntimeError("no more")
        return np.zeros(7)

    system = arm7().system()
    with pytest.raises(RuntimeError, match="no more") as caught:
        ct.simulate(system, np.full(7, 0.1), np.zeros(7), 1.0, control=fails, rtol=1e-6, atol=1e-8)
    assert 0.0 < caught.value.trajectory.t[-1] <= 0.05


def test_nothing_to_simulate_is_said():
    locked = ct.Mechanism("stone")
    locked.add_body("stone", 1.0, inertia=1.0)
    locked.add_joint("glue", "ground", "stone", ct.Fixed())
    with pytest.raises(ct.StateError, match="nothing that moves"):
        ct.simulate(locked.system(), np.zeros(0), np.zeros(0), 1.0)
    with pytest.raises(ct.StateError, match="no states"):
        ct.simulate(arm7().system(), np.zeros((0, 7)), np.zeros((0, 7)), 1.0)
