"""Forces in runs: compiled into the steps against the same asked stage by stage, whichever joints are cut, and what
audits make of them."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar


def nothing(t, q, v):
    """A controller that does nothing, asked at every stage."""
    return np.zeros_like(v)


def hanging():
    """A double pendulum with a force of most kinds."""
    m = ct.Mechanism("hanging")
    for k in range(2):
        m.add_body(f"rod{k}", 1.0, (0, 0, -0.5), 0.1)
    m.add_joint("top", "ground", "rod0", ct.Spherical())
    m.add_joint(
        "knee", "rod0", "rod1", ct.Revolute("y"), ct.Pose(p=(0, 0, -1.0)), limits=(-0.3, 0.3), limit_stiffness=200.0,
        limit_damping=2.0,
    )  # fmt: skip
    m.add_frame("tip", "rod1", ct.Pose(p=(0, 0, -1.0)))
    m.add_frame("post", "ground", ct.Pose(p=(1.0, 0.5, -1.5)))
    m.add_spring_between("stay", "post", "tip", 20.0, 0.5, 0.3)
    m.add_wrench("wind", "tip", force=(1.0, 2.0, 0.0))
    m.add_spring("coil", "top", (1.0, 2.0, 3.0), None, 0.1)
    m.add_force("rope", ct.forces.Cable(30.0, 1.5, 0.5), between=("ground", "tip"))
    m.add_force("air", ct.forces.Drag(0.05, 0.2), between=("ground", "rod1"))
    return m


@pytest.mark.parametrize(("integrator", "step", "tolerance"), [("dopri5", None, 1e-8), ("rk4", 1e-3, 1e-12)])
def test_compiled_forces_move_a_tree_as_those_asked_at_every_stage(integrator, step, tolerance, agree):
    s = hanging().system()
    q, v = s.integrate(s.neutral(), np.array([0.3, 0.4, 0.1, 0.2])), np.array([0.5, -0.3, 0.2, 2.0])
    options = {"integrator": integrator, "step": step, "rtol": 1e-8, "atol": 1e-10}
    compiled = ct.simulate(s, q, v, 0.2, **options)
    staged = ct.simulate(s, q, v, 0.2, control=nothing, check=False, **options)
    agree(compiled.q[-1], staged.q[-1], tolerance)
    agree(compiled.v[-1], staged.v[-1], tolerance)


def loaded_four_bar():
    m = four_bar()
    for k, name in enumerate(m.joints):
        m.add_spring(f"s{k}", name, 1.0 + k, 0.2, 0.05 * (k + 1))
    m.add_spring_between("rope", "ground", list(m.bodies)[2], 7.0, 0.1, 0.3)
    return m


def test_forces_at_loop_joints_move_a_mechanism_alike_whichever_joint_is_cut(agree):
    m = loaded_four_bar()
    names = list(m.joints)
    ends = []
    reference = m.system()
    q0 = reference.assemble({names[0]: 0.4})
    v0 = reference.velocity(q0, {names[0]: 1.0})
    for cut in names:
        s = m.system(cut=[cut])
        q, v = np.zeros(s.nq), np.zeros(s.nv)
        for j in s.joints:
            q[s.slice_q(j)] = reference.joint_position(q0, j)
            v[s.slice_v(j)] = reference.joint_velocity(q0, v0, j)
        run = ct.simulate(s, q, v, 0.5, rtol=1e-9, atol=1e-11)
        pose = s.pose(run.q[-1], list(m.bodies)[2])
        ends.append(
            np.concatenate([pose.p, pose.R.ravel(), s.twist(run.q[-1], run.v[-1], list(m.bodies)[2])])
        )
    for end in ends[1:]:
        agree(end, ends[0], 1e-7)


def test_compiled_forces_move_loops_as_those_asked_at_every_stage(agree):
    s = loaded_four_bar().system()
    q = s.assemble({s.joints[0]: 0.4})
    v = s.velocity(q, {s.joints[0]: 1.0})
    options = {"integrator": "rk4", "step": 2e-3}
    compiled = ct.simulate(s, q, v, 0.1, **options)
    staged = ct.simulate(s, q, v, 0.1, control=nothing, **options)
    agree(compiled.q[-1], staged.q[-1], 1e-10)


def test_the_work_of_forces_accounts_for_the_energy():
    s = hanging().system()
    q = s.integrate(s.neutral(), np.array([0.3, 0.4, 0.1, 0.1]))
    run = ct.simulate(s, q, np.zeros(4), 0.3, rtol=1e-9, atol=1e-11)
    lines = {line.name: line for line in run.audit().lines}
    assert lines["energy"].level == "ok", lines["energy"].text
    assert {"friction", "wrenches"} <= set(run.power)


def test_an_audit_knows_that_a_force_to_ground_changes_the_momentum():
    m = ct.Mechanism("kite", gravity=(0, 0, 0))
    m.add_body("kite", 1.0, inertia=0.1)
    m.add_joint("free", "ground", "kite", ct.Free())
    m.add_force("string", ct.forces.Cable(5.0, 0.2), between=("ground", "kite"))
    s = m.system()
    q = s.neutral()
    q[0] = 1.0
    names = [line.name for line in ct.simulate(s, q, np.zeros(6), 0.5).audit().lines]
    assert "linear momentum" not in names and "energy" in names
    inner = ct.Mechanism("pair", gravity=(0, 0, 0))
    for name in ("a", "b"):
        inner.add_body(name, 1.0, inertia=0.1)
        inner.add_joint(name, "ground", name, ct.Free())
    inner.add_force("string", ct.forces.Cable(5.0, 0.2), between=("a", "b"))
    s = inner.system()
    q = s.neutral()
    q[0] = 1.0
    lines = {line.name: line for line in ct.simulate(s, q, np.zeros(12), 0.5).audit().lines}
    assert lines["linear momentum"].level == "ok"
