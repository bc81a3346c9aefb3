"""What a run asks of its motors, against closed forms, finer samples and the works that the run counted."""

import json

import numpy as np
import pytest

import catena as ct
from catena.cli import main


def wheel(**motor):
    """A wheel of inertia 2 kg m^2 on a hinge."""
    m = ct.Mechanism("wheel", gravity=(0, 0, 0))
    m.add_body("disc", mass=1.0, inertia=(1.0, 1.0, 2.0))
    m.add_joint("hub", "ground", "disc", ct.Revolute("z"))
    if motor:
        m.add_actuator("drive", "hub", **motor)
    return m


def swung(m, samples=2001):
    """The wheel swings as sin(3 t) for two periods: tau = -18 sin, speed = 3 cos."""
    s = m.system()
    path = {"hub": lambda t: (np.sin(3 * t), 3 * np.cos(3 * t), -9 * np.sin(3 * t))}
    return ct.simulate(s, np.zeros(1), np.array([3.0]), 4 * np.pi / 3, motion=path, samples=samples)


def test_a_sine_has_the_numbers_of_its_closed_form():
    run = swung(wheel(gear=10.0, limits=3.0, no_load_speed=60.0))
    use = run.sizing()["drive"]
    # At the motor: effort 1.8 sin, speed 30 cos, power -27 sin(6 t).
    assert use.peak_effort == pytest.approx(1.8, rel=1e-5)
    assert use.rms_effort == pytest.approx(1.8 / np.sqrt(2.0), rel=1e-5)
    assert use.peak_speed == pytest.approx(30.0, rel=1e-9)
    assert use.rms_speed == pytest.approx(30.0 / np.sqrt(2.0), rel=1e-5)
    assert use.peak_power == pytest.approx(27.0, rel=1e-5)
    assert use.peak_regenerated == pytest.approx(27.0, rel=1e-5)
    assert use.mean_regenerated == pytest.approx(27.0 / np.pi, rel=1e-5)
    assert abs(use.mean_power) < 1e-6
    assert use.energy_given == pytest.approx(use.energy_regenerated, rel=1e-6)
    # What is asked as a part of 3 (1 - speed / 60), where effort and speed have one sign, and of 3 elsewhere.
    t = np.linspace(0, 4 * np.pi / 3, 200_001)
    effort, speed = -1.8 * np.sin(3 * t), 30 * np.cos(3 * t)
    bound = np.where(effort * speed > 0, 3 * (1 - np.abs(speed) / 60), 3.0)
    assert use.largest_share == pytest.approx(np.max(np.abs(effort) / bound), rel=1e-4)
    assert use.at_limit == 0.0
    assert (use.units, use.gear, use.joint) == (("N m", "rad/s"), 10.0, "hub")


@pytest.mark.parametrize("held", [False, True])
def test_energies_are_the_works_that_the_run_counted(held):
    m = ct.generators.four_bar()
    s = m.system()
    q = s.neutral()
    rate = 200.0 if held else None
    control = ct.control.sampled(lambda t, q, v: {"A": 20.0 * np.sin(9 * t)}, rate) if held else (
        lambda t, q, v: {"A": 20.0 * np.sin(9 * t)}
    )  # fmt: skip
    run = ct.simulate(s, q, s.velocity(q, {"A": 2.0}), 1.0, control=control, samples=2001)
    assert run.held == held
    use = run.sizing()["A"]
    work = use.energy_given - use.energy_regenerated
    assert work == pytest.approx(run.work["actuators"][-1], rel=1e-4)
    assert use.mean_power == pytest.approx(work / 1.0)
    assert use.energy_regenerated > 1.0


def test_a_batch_is_sized_motion_by_motion():
    s = ct.generators.four_bar().system()
    q = np.stack([s.neutral()] * 3)
    v = np.stack([s.velocity(q[0], {"A": rate}) for rate in (1.0, 2.0, 3.0)])
    run = ct.simulate(s, q, v, 0.5, control=lambda t, q, v: {"A": 3.0}, samples=51)
    whole = run.sizing()["A"]
    for name in ("peak_effort", "rms_effort", "peak_speed", "rms_speed", "peak_power", "mean_power", "at_limit",
                 "mean_regenerated", "energy_given", "energy_regenerated", "largest_share"):  # fmt: skip
        alone = [getattr(run.state(k).sizing()["A"], name) for k in range(3)]
        np.testing.assert_allclose(getattr(whole, name), alone, rtol=1e-12, err_msg=name)
    assert "the largest of 3 motions" in str(run.sizing())


def test_another_motor_is_asked_for_the_same_power():
    run = swung(wheel(gear=10.0, limits=3.0), samples=301)
    other = run.sizing(motors={"hub": {"name": "small", "gear": 50.0, "limits": 0.2, "no_load_speed": 140.0}})
    own, small = run.sizing()["drive"], other["small"]
    assert len(other) == 1
    np.testing.assert_allclose(small.power, own.power, atol=1e-12)
    np.testing.assert_allclose(small.effort, own.effort / 5.0, atol=1e-12)
    # It should turn at 150 rad/s and can do 140.
    assert small.largest_share == np.inf and 0.5 < small.at_limit < 1.0
    assert "beyond its speed" in str(other)
    low, high = small.available(np.array([-70.0, 0.0, 70.0, 150.0]))
    np.testing.assert_allclose(high, [0.2, 0.2, 0.1, 0.0])
    np.testing.assert_allclose(low, [-0.1, -0.2, -0.2, -0.2])


def test_limits_are_those_that_the_simulation_kept():
    """What a controller asks for beyond the limits is cut, with gear and no-load speed, and then at the limit."""
    m = wheel(gear=-10.0, limits=(-3.0, 2.0), no_load_speed=60.0)
    run = ct.simulate(
        m.system(), np.zeros(1), np.zeros(1), 3.0, control=lambda t, q, v: np.full(1, 1e3), samples=301
    )
    use = run.sizing()["drive"]
    np.testing.assert_allclose(use.share, 1.0, rtol=1e-9)
    assert use.at_limit == 1.0 and use.peak_speed < 60.0
    # The motor turns the other way: joint moments of 30 N m are its -3.
    assert use.effort[0] == pytest.approx(-3.0) and use.speed[-1] < -20.0


def test_several_components_and_several_structures():
    m = ct.Mechanism("m")
    m.add_body("a", mass=1.0, inertia=0.1)
    m.add_joint("ball", "ground", "a", ct.Spherical())
    m.add_actuator("motors", "ball", gear=(1.0, 2.0, 3.0), limits=5.0)
    m.add_body("b", mass=1.0, com=(0.1, 0, 0), inertia=0.1)
    m.add_joint("pin", "a", "b", ct.Revolute("x"))
    s = m.system()
    lock = ct.at_time(0.1, lambda m, q, v: m.lock("pin", at=q[4]))
    run = ct.simulate(
        s, s.neutral(), np.zeros(4), 0.2, samples=21, events=[lock],
        control=ct.PerStructure(lambda system: lambda t, q, v: np.full(system.nv, 0.3)),
    )  # fmt: skip
    uses = run.sizing()
    assert [use.name for use in uses] == ["motors.wx", "motors.wy", "motors.wz", "pin"]
    assert uses["motors.wz"].peak_effort == pytest.approx(0.1)
    pin = uses["pin"]
    assert np.all(pin.effort[run.t > 0.1 + 1e-9] == 0.0) and pin.peak_effort == pytest.approx(0.3)
    assert pin.rms_effort == pytest.approx(0.3 / np.sqrt(2.0), rel=1e-6)


def test_nothing_driven_and_things_that_are_no_motors_are_said():
    run = swung(wheel())
    assert len(run.sizing()) == 1
    s = wheel().system()
    still = ct.simulate(s, np.zeros(1), np.ones(1), 0.1, samples=3)
    assert str(still.sizing()) == "Nothing drives 'wheel' in this run."
    with pytest.raises(ct.FormatError, match="nothing to plot"):
        still.sizing().plot()
    with pytest.raises(ct.StateError, match="there is no motor 'x'.*: there are hub"):
        run.sizing()["x"]
    with pytest.raises(ct.StateError, match="give them by joint"):
        run.sizing(motors={"hub": 3.0})
    with pytest.raises(ct.StateError, match="'torque'; a motor has name, components, gear"):
        run.sizing(motors={"hub": {"torque": 3.0}})
    with pytest.raises(ct.UnknownNameError, match="hub"):
        run.sizing(motors={"hubb": {}})
    with pytest.raises(ct.ModelError, match="gear"):
        run.sizing(motors={"hub": {"gear": 0.0}})


def test_pictures_pages_and_the_command_line_have_the_same_numbers(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    m = wheel(gear=10.0, limits=3.0, no_load_speed=60.0)
    run = swung(m, samples=101)
    figure = run.sizing().plot(path=tmp_path / "motors.png")
    (ax,) = figure.axes
    cloud = next(line for line in ax.lines if line.get_gid() == "cloud")
    np.testing.assert_array_equal(cloud.get_ydata(), run.sizing()["drive"].effort)
    limit = next(line for line in ax.lines if line.get_gid() == "limit")
    assert limit.get_ydata().min() == -3.0 and (tmp_path / "motors.png").stat().st_size > 1000
    run.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    for cell in run.sizing()["drive"].cells():
        assert f">{cell}</td>" in page

    m.save(tmp_path / "wheel.toml")
    command = [
        "run",
        str(tmp_path / "wheel.toml"),
        "--time",
        "1",
        "--control",
        "constant",
        "hub=6",
        "--samples",
        "11",
    ]
    assert main([*command, "--sizing", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["sizing"]
    s = m.system()
    same = ct.simulate(s, np.zeros(1), np.zeros(1), 1.0, control=lambda t, q, v: np.full(1, 6.0), samples=11)
    expected = same.sizing()["drive"]
    assert row["peak_power"] == pytest.approx(float(expected.peak_power), rel=1e-9)
    assert row["motor"] == "drive" and row["no_load_speed"] == 60.0
    assert main([*command, "--sizing"]) == 0
    assert "regenerated peak [W]" in capsys.readouterr().out
    assert main([*command, "--out", str(tmp_path / "x.csv"), "--columns", "reactions", "disc", "units"]) == 0
    head = (tmp_path / "x.csv").read_text().splitlines()[0]
    assert "reaction.hub.mz [N m]" in head and "frame.disc.x [m]" in head
    assert main([*command, "--columns", "power"]) == 2
