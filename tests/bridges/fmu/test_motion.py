"""FMUs that FMPy runs against `ct.simulate`: the same motion, whoever takes the steps."""

import numpy as np
import pytest

import catena as ct

from .conftest import START, TYPES, run_fmu


def gears_and_springs():
    """A slider-crank behind a gear, with a ball joint, friction, dampers, springs and a servo."""
    m = ct.Mechanism("gears & <springs>", gravity=(0, -9.81, 0))
    m.add_body("wheel", mass=1.0, com=(0.05, 0, 0), inertia=(0.01, 0.01, 0.02))
    m.add_body("pinion", mass=0.3, com=(0.02, 0.01, 0), inertia=(0.001, 0.001, 0.002))
    m.add_body("rod", mass=0.4, com=(0.3, 0, 0), inertia=(0.001, 0.02, 0.02))
    m.add_body("slider", mass=0.5, inertia=(0.01, 0.01, 0.01))
    m.add_body("pendulum", mass=0.2, com=(0, -0.2, 0), inertia=(0.002, 0.001, 0.002))
    m.add_joint("W", "ground", "wheel", ct.Revolute("z"), damping=0.02)
    m.add_joint("P", "ground", "pinion", ct.Revolute("z"), in_parent=ct.Pose(p=(-0.3, 0, 0)))
    m.add_coupling("gear", {"W": 2.0, "P": 1.0})
    m.add_joint("B", "wheel", "rod", ct.Revolute("z"), in_parent=ct.Pose(p=(0.2, 0, 0)))
    m.add_joint("S", "ground", "slider", ct.Prismatic("x"), damping=0.5)
    m.add_joint("C", "rod", "slider", ct.Revolute("z"), in_parent=ct.Pose(p=(0.6, 0, 0)))
    m.add_joint("ball", "slider", "pendulum", ct.Spherical(), damping=0.01, in_parent=ct.Pose(p=(0, -0.1, 0)))
    m.add_frame("eye", "ground", ct.Pose(p=(1.2, 0.3, 0)))
    m.add_spring_between("strut", "eye", "slider", stiffness=40.0, rest_length=0.4, damping=0.3)
    m.add_spring("coil", "W", stiffness=0.5, rest=0.2)
    m.add_force("rub", ct.forces.JointFriction(friction=(0.05,)), joint="W")
    m.add_force("servo", ct.forces.Servo((5.0,), (0.0, -5.0, -0.3), 0.4), joint="P")
    return m


def base_and_arm():
    """A body that flies, with an arm of two joints."""
    m = ct.Mechanism("flyer", gravity=(0, 0, -1.0))
    m.add_body("base", mass=5.0, com=(0.1, 0, 0.05), inertia=(0.3, 0.4, 0.5))
    m.add_body("upper", mass=1.0, com=(0.3, 0, 0), inertia=(0.01, 0.05, 0.05))
    m.add_body("lower", mass=0.7, com=(0.2, 0.1, 0), inertia=(0.02, 0.03, 0.04))
    m.add_joint("flight", "ground", "base", ct.Free())
    m.add_joint("shoulder", "base", "upper", ct.Universal("y", "z"), in_parent=ct.Pose(p=(0.3, 0, 0)))
    m.add_joint("elbow", "upper", "lower", ct.Cylindrical("x"), in_parent=ct.Pose(p=(0.6, 0, 0)), damping=0.1)
    return m


def state_of(found, system, names="qv"):
    """The states that FMPy recorded (samples, nq + nv), in the order of the FMU's variables."""
    own = [n for n in found.dtype.names if n.split(".")[1:2] and n.split(".")[1][0] in names]
    assert len(own) == system.nq + system.nv
    return np.stack([found[n] for n in own], axis=-1)


def compare(export, system, q, v, version, duration=0.5, **options):
    run = ct.simulate(system, q, v, duration, samples=26, rtol=1e-12)
    path = export(system, version=version, initial=run.q[0], velocity=run.v[0], inputs=[], **options)
    for kind in TYPES:
        found = run_fmu(path, kind, duration)
        difference = np.abs(state_of(found, system) - np.concatenate([run.q, run.v], axis=-1)).max()
        assert difference <= 1e-8, kind


def test_dry_friction_is_told_and_is_that_of_runs_while_joints_move(export):
    m = ct.generators.chain(2)
    m = m.with_joint(next(iter(m.joints)), friction=0.3)
    with pytest.warns(ct.CatenaWarning, match="goes smoothly through rest"):
        compare(export, m.system(), [0.2, 0.1], [2.0, 1.0], "2.0", duration=0.1)


def test_an_arm_moves_as_it_does_here(export):
    system = ct.generators.arm7().system()
    random = np.random.default_rng(0)
    compare(export, system, random.normal(size=7), random.normal(size=7), "2.0")


def test_a_flying_base_keeps_its_quaternion(export):
    system = base_and_arm().system()
    v = np.random.default_rng(1).normal(size=system.nv)
    compare(export, system, None, v, "3.0")


def test_gears_springs_friction_and_a_ball_joint(export):
    system = gears_and_springs().system()
    compare(
        export,
        system,
        {"W": 0.4, "ball": (0.96, 0.28, 0.0, 0.0)},
        {"W": 3.0, "ball": (0.5, 1.0, -0.3)},
        "2.0",
    )


def test_a_four_bar_moves_as_it_does_here_and_stays_closed(four_bar):
    m, path = four_bar
    run = ct.simulate(m.system(), *START, 0.5, samples=26, rtol=1e-12)
    event = ct.simulate(m.system(), *START, 0.5, events=ct.Event(lambda t, q, v: q[0] - 1.0)).events[0]
    for kind in TYPES:
        found = run_fmu(path, kind)
        for joint in "ABD":
            assert np.abs(found[f"{joint}.q"] - run[joint][:, 0]).max() <= 1e-8, (kind, joint)
        # A joint that closes a loop has its angle and its rate read off the bodies.
        turned = run.system.joint_position(run.q, "C")[:, 0]
        assert np.abs(found["C.q"] - turned).max() <= 1e-8
        assert np.abs(np.gradient(found["C.q"], found["time"]) - found["C.v"])[1:-1].max() <= 0.05
        assert np.ptp(found["energy"]) <= 1e-7
        assert found["closure_error"].max() <= (1e-12 if kind == "CoSimulation" else 1e-8)
        assert found["event.'one rad'.count"][-1] == 1
        assert abs(found["event.'one rad'.time"][-1] - event.t) <= 1e-8


@pytest.mark.parametrize("version", ["2.0", pytest.param("3.0", marks=pytest.mark.slow)])
def test_a_stewart_platform_moves_as_it_does_here(export, version):
    compare(export, ct.generators.stewart().system(), None, None, version)


@pytest.mark.slow
def test_a_loose_tolerance_keeps_loops_together(export, four_bar):
    """Drift: model exchange with a solver of 1e-4, ten seconds, 40 turns of the crank and more."""
    _, path = four_bar
    found = run_fmu(path, "ModelExchange", 10.0, 101, tolerance=1e-4)
    assert found["closure_error"].max() <= 2e-4
    found = run_fmu(path, "CoSimulation", 10.0, 101, tolerance=1e-4)
    assert found["closure_error"].max() <= 1e-12
