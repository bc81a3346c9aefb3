"""Sensors: against closed forms, against what they are made of, and as all that a controller knows."""

import numpy as np
import pytest

import catena as ct

G = 9.81


def pendulum(length=0.7):
    m = ct.Mechanism("pendulum")
    m.add_body("rod", mass=1.0, com=(0, 0, -length), inertia=1e-3)
    m.add_joint("pin", "ground", "rod", ct.Revolute("y"))
    m.add_frame("bob", "rod", ct.Pose(p=(0, 0, -length)))
    m.add_spring("coil", "pin", stiffness=0.5)
    return m


def test_an_imu_at_rest_feels_the_opposite_of_gravity_and_in_free_fall_nothing():
    s = pendulum().with_spring("coil", stiffness=1e-12).system()
    run = ct.simulate(s, [0.0], [0.0], 0.1)
    np.testing.assert_allclose(run.read(ct.IMU("bob"))["accelerometer"], [[0, 0, G]] * len(run.t), atol=1e-9)
    free = ct.Mechanism("stone")
    free.add_body("stone", mass=1.0, inertia=0.1)
    free.add_joint("base", "ground", "stone", ct.Free())
    fall = ct.simulate(free.system(), [0, 0, 0, 1, 0, 0, 0], [0.3, 0.1, 0, 1.0, 0, 2.0], 0.5)
    told = fall.read(ct.IMU("stone"))
    assert np.abs(told["accelerometer"]).max() < 1e-8
    np.testing.assert_allclose(told["gyroscope"], fall.v[:, :3], atol=1e-12)


def test_a_swinging_pendulum_feels_what_newton_says():
    s = pendulum().system()
    run = ct.simulate(s, [0.8], [0.5], 1.0)
    told = run.read(ct.IMU("bob"))
    rate, turning, angle = run.v[:, 0], run.acceleration[:, 0], run.q[:, 0]
    # Inwards along the rod, and across it; what is felt is acceleration without gravity.
    np.testing.assert_allclose(told["accelerometer"][:, 2], 0.7 * rate**2 + G * np.cos(angle), atol=1e-9)
    np.testing.assert_allclose(told["accelerometer"][:, 0], -0.7 * turning - G * np.sin(angle), atol=1e-9)
    np.testing.assert_allclose(told["gyroscope"][:, 1], rate)
    np.testing.assert_allclose(run.frame_acceleration("bob")[:, 1], turning, atol=1e-12)
    np.testing.assert_allclose(run.read(ct.ForceSensor("pin"))["force"], run.reaction("pin")[:, 3:])
    coarse = run.read(ct.Encoder("pin", resolution=0.01))["position"]
    assert np.abs(coarse[:, 0] - angle).max() <= 0.005 + 1e-12
    energy = run.read(ct.Gauge("coil"))["energy"][:, 0]
    np.testing.assert_allclose(energy, 0.25 * angle**2, atol=1e-12)


def test_forward_dynamics_with_the_elements_is_what_a_run_has():
    s = pendulum().system()
    run = ct.simulate(s, [0.8], [0.5], 0.2)
    np.testing.assert_allclose(s.forward_dynamics(run.q, run.v, run.tau), run.acceleration, rtol=1e-12)
    without = s.forward_dynamics(run.q, run.v, run.tau, elements=False)
    assert np.abs(without - run.acceleration).max() > 1e-3
    stiffness = np.array([0.1, 2.0])
    varied = s.forward_dynamics([0.8], [0.5], parameters={"coil.stiffness": stiffness})
    alone = [pendulum().with_spring("coil", stiffness=k).system() for k in stiffness]
    np.testing.assert_allclose(varied, [a.forward_dynamics([0.8], [0.5]) for a in alone], rtol=1e-12)


def test_a_controller_that_knows_sensors_only_is_the_one_that_knows_the_state():
    s = pendulum().system()
    sensors = {"imu": ct.IMU("bob"), "angle": ct.Encoder("pin")}

    def law(t, told):
        return -2.0 * told["angle"]["position"] - 0.4 * told["imu"]["gyroscope"][..., 1:2]

    by_state = ct.sampled(lambda t, q, v: -2.0 * q - 0.4 * v, 100.0)
    options = {"samples": 11, "rtol": 1e-9}
    sensed = ct.simulate(s, [0.8], [0.5], 0.5, control=ct.Sensed(sensors, law, 100.0), **options)
    known = ct.simulate(s, [0.8], [0.5], 0.5, control=by_state, **options)
    np.testing.assert_allclose(sensed.q, known.q, atol=1e-12)
    options["parameters"] = {"rod.mass": [1.0, 1.5]}
    batch = ct.simulate(s, [[0.8], [0.2]], [0.5], 0.5, control=ct.Sensed(sensors, law, 100.0), **options)
    np.testing.assert_allclose(batch.q[0], known.q, atol=1e-9)


def test_a_gear_tells_the_force_that_it_carries():
    m = ct.Mechanism("gears", gravity=(0, 0, 0))
    for name in ("sun", "planet"):
        m.add_body(name, mass=1.0, inertia=0.1)
        m.add_joint(f"{name} pin", "ground", name, ct.Revolute("z"))
    m.add_coupling("gear", {"sun pin": 1.0, "planet pin": 2.0})
    s = m.system()
    run = ct.simulate(s, [0.0, 0.0], [0.0, 0.0], 0.1, control=lambda t, q, v: [1.0, 0.0], samples=3)
    expected = s.coupling_forces(run.q, run.v, run.tau)["gear"]
    np.testing.assert_allclose(run.read(ct.Gauge("gear"))["force"][:, 0], expected)


@pytest.mark.parametrize("ask, words", [
    (lambda s: ct.simulate(s, [0.1], [0.0], 0.1, control=ct.Sensed({"x": ct.IMU("bobb")}, lambda t, x: [0.0], 10.0)),
     "did you mean 'bob'"),
    (lambda s: ct.simulate(s, [0.1], [0.0], 0.1).read("bob"), "no sensor"),
    (lambda s: ct.simulate(s, [0.1], [0.0], 0.1).read(ct.Gauge("coi")), "did you mean 'coil'"),
    (lambda s: ct.Sensed({"x": 3}, lambda t, x: 0.0, 10.0), "mapping from names to sensors"),
    (lambda s: ct.Sensed({}, 3, 10.0), "function of"),
    (lambda s: ct.simulate(s, [0.1], [0.0], 0.1).read(ct.Encoder("pim")), "did you mean 'pin'"),
])  # fmt: skip
def test_wrong_sensors_are_named(ask, words):
    with pytest.raises(ct.CatenaError, match=words):
        ask(pendulum().system())


@pytest.mark.parametrize("way", [{"rtol": 1e-9}, {"integrator": "time_stepping", "step": 1e-3}])
def test_sensors_feel_contacts_and_stops_in_a_run_as_they_do_along_it(way):
    """A block slides to rest on a pad that a force sensor carries, and an arm lies on its stop: what the controller was
    told is what the run tells, and both are weights where all is at rest. By time stepping that is what the last step
    did."""
    m = ct.Mechanism("block")
    m.add_body("block", mass=2.0, inertia=0.1)
    m.add_joint("moves", "ground", "block", ct.Sdof("dx", "dz"), actuated=False)
    m.add_body("pad", mass=0.5, inertia=0.01)
    m.add_joint("ankle", "block", "pad", ct.Fixed(), in_parent=ct.Pose(p=(0.0, 0.0, -0.1)))
    m.add_body("arm", mass=0.3, com=(0.2, 0.0, 0.0), inertia=0.01)
    m.add_joint("elbow", "block", "arm", ct.Revolute("-y"))
    m.add_frame("sole", "pad", ct.Pose(p=(0.0, 0.0, -0.05)))
    s, told = m.system(), []
    q, v = s.neutral(), np.zeros(s.nv)
    q[s.slice_q("moves")], v[s.slice_v("moves")] = [0.0, 0.15], [0.4, 0.0]
    sensors = {"imu": ct.IMU("block"), "ankle": ct.ForceSensor("ankle"), "elbow": ct.ForceSensor("elbow")}

    def law(t, readings):
        told.append({(name, what): x for name, all_ in readings.items() for what, x in all_.items()})
        return np.zeros(s.nv)

    contacts = [ct.Contact("sole", friction=0.3), ct.Stop("elbow", lower=0.0, upper=1.0)]
    times = np.linspace(0.0, 0.2, 21)
    run = ct.simulate(
        s, q, v, 0.2, contacts=contacts, control=ct.Sensed(sensors, law, 100.0), samples=times, **way
    )
    slides = run.contact("sole").mode == "slide"
    assert slides.any() and not slides.all() and len(told) == 20
    asked = np.searchsorted(run.t, times[:-1] + 1e-9) - 1
    for name, sensor in sensors.items():
        for what, along in run.read(sensor).items():
            np.testing.assert_allclose([each[name, what] for each in told], along[asked], atol=1e-6)
    np.testing.assert_allclose(told[-1]["imu", "accelerometer"], [0.0, 0.0, 9.81], atol=1e-6)
    np.testing.assert_allclose(told[-1]["ankle", "force"], [0.0, 0.0, -2.3 * 9.81], atol=1e-5)
    np.testing.assert_allclose(told[-1]["elbow", "moment"][1], -0.3 * 9.81 * 0.2, atol=1e-5)
