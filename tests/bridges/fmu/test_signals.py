"""What comes out of an FMU against calls of the system at the same state, and numbers of the mechanism as inputs."""

import numpy as np
import pytest

import catena as ct

from .conftest import run_fmu
from .test_motion import gears_and_springs

fmpy = pytest.importorskip("fmpy")


def stacked(found, name, parts="xyz"):
    return np.stack([found[f"{name}.{part}"] for part in parts], axis=-1)


def test_outputs_are_those_of_the_system_at_the_same_state(export):
    m = gears_and_springs()
    m.add_frame("tip", "pendulum", ct.Pose(p=(0.1, -0.4, 0.05), rpy=(0.3, 0.2, 0.1)))
    s = m.system()
    of_tip = ("position", "rotation", "velocity", "angular_velocity", "acceleration", "angular_acceleration")
    joints = [f"{joint}.{what}" for joint in s.joints for what in ("q", "v", "a")]
    path = export(
        s, version="3.0", initial={"W": 0.4}, velocity={"W": 3.0, "ball": (0.5, 1.0, -0.3)}, inputs=["servo.signal"],
        outputs=[
            *joints, *(f"tip.{what}" for what in of_tip), "strut.length", "strut.energy", "strut.power",
            "kinetic_energy", "potential_energy", "energy", "C.q", "C.v",
        ],
    )  # fmt: skip
    found = run_fmu(path, "CoSimulation", 0.2, 5, inputs={"servo.signal": -0.7})
    states = [n for n in found.dtype.names if ".q" in n and not n.startswith("C.")]
    q = np.stack([found[n] for n in states], axis=-1)
    rates = [n for n in found.dtype.names if n.split(".")[1:2] == ["v"] and not n.startswith("C.")]
    v = np.stack([found[n] for n in rates], axis=-1)
    vdot = np.stack([found[n.replace(".v", ".a")] for n in rates], axis=-1)
    other = m.with_force("servo", signal=-0.7).system()
    assert np.abs(vdot - other.forward_dynamics(q, v, np.zeros(s.nv))).max() <= 1e-9

    R = np.stack([[found[f"tip.rotation[{i},{j}]"] for j in (1, 2, 3)] for i in (1, 2, 3)], axis=0).transpose(
        2, 0, 1
    )
    for k in range(len(q)):
        pose = s.pose(q[k], "tip")
        assert np.abs(pose.R - R[k]).max() <= 1e-12
        assert np.abs(pose.p - stacked(found, "tip.position")[k]).max() <= 1e-12
    twist, change = s.twist(q, v, "tip"), s.acceleration(q, v, vdot, "tip")
    to_ground = np.einsum("kij,kj->ki", R, twist[:, :3]), np.einsum("kij,kj->ki", R, twist[:, 3:])
    assert np.abs(to_ground[0] - stacked(found, "tip.angular_velocity")).max() <= 1e-11
    assert np.abs(to_ground[1] - stacked(found, "tip.velocity")).max() <= 1e-11
    turned, moved = (np.einsum("kij,kj->ki", R, x) for x in (change[:, :3], change[:, 3:]))
    assert np.abs(turned - stacked(found, "tip.angular_acceleration")).max() <= 1e-9
    assert np.abs(moved - stacked(found, "tip.acceleration")).max() <= 1e-9

    told = s.forces.outputs(q, v)["strut"]
    for what in ("length", "energy", "power"):
        assert np.abs(found[f"strut.{what}"] - told[what]).max() <= 1e-9
    assert np.abs(found["kinetic_energy"] - s.kinetic_energy(q, v)).max() <= 1e-10
    assert np.abs(found["potential_energy"] - s.potential_energy(q)).max() <= 1e-10
    assert np.abs(found["energy"] - found["kinetic_energy"] - found["potential_energy"]).max() <= 1e-12
    assert np.abs(found["C.q"] - s.joint_position(q, "C")[:, 0]).max() <= 1e-10


@pytest.mark.slow
def test_a_flexible_rod_bends_as_it_does_here(export):
    m = ct.Mechanism("slider-crank", gravity=(0, 0, 0))
    m.add_body("crank", mass=0.5, com=(0.075, 0, 0), inertia=(1e-5, 1e-3, 1e-3))
    beam = ct.Beam(
        0.3, area=3e-5, inertia=8e-11, density=7870, young=2e11, modes={"y": 1}, ends="pinned-pinned"
    )
    m.add_body("rod", flexible=beam)
    m.add_body("slider", mass=0.03, inertia=(1e-5, 1e-5, 1e-5))
    m.add_joint("A", "ground", "crank", ct.Revolute("z"))
    m.add_joint("B", "crank", "rod", ct.Revolute("z"), in_parent=ct.Pose(p=(0.15, 0, 0)))
    m.add_joint("C", "rod", "slider", ct.Revolute("z"), in_parent=ct.Pose(p=(0.3, 0, 0)))
    m.add_joint("D", "ground", "slider", ct.Prismatic("x"))
    s = m.system()
    q = s.assemble({"A": 0.5})
    run = ct.simulate(s, q, s.velocity(q, {"A": 20.0}), 0.02, samples=5, rtol=1e-12)
    path = export(s, initial=run.q[0], velocity=run.v[0], inputs=[], kinds="co-simulation")
    found = run_fmu(path, "CoSimulation", 0.02, 5)
    assert np.abs(run["rod.modes"]).max() > 1e-6
    assert np.abs(found["rod.q.mode1"] - run["rod.modes"][:, 0]).max() <= 1e-10
    assert np.abs(found["A.q"] - run["A"][:, 0]).max() <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_mechanisms_move_as_they_do_here(export, seed):
    """All kinds of joints, loops, floating bases and friction, which goes smoothly through rest as in an FMU."""
    m = ct.generators.random_mechanism(seed, bodies=6, loops=seed % 3, floating=seed % 3 == 0)
    if seed % 2 == 0:
        for name, joint in list(m.joints.items()):
            n = joint.kind.nv
            if 0 < n < 6:
                m.add_force(f"{name} rub", ct.forces.JointFriction((0.1,) * n, (0.2,) * n), joint=name)
    s = m.system()
    run = ct.simulate(s, None, None, 0.1, samples=6, rtol=1e-12)
    version = "2.0" if seed % 2 else "3.0"
    path = export(s, version=version, initial=run.q[0], velocity=run.v[0], inputs=[])
    expected = np.concatenate([run.q, run.v], axis=-1)
    for kind in ("CoSimulation", "ModelExchange"):
        found = run_fmu(path, kind, 0.1, 6)
        got = np.stack([found[n] for n in found.dtype.names[1:]], axis=-1)
        assert np.abs(got - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max()), kind
