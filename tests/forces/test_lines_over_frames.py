"""Forces along lines over more than two frames: against virtual work, in every call, in lanes, in files, in runs."""

import numpy as np
import pytest

import catena as ct
from catena.forces import Bushing, Cable, PointSpring

PATH = ("wall", "pulley", "inner", "outer", "wall")


def arm(kind, frames=PATH):
    """A double pendulum with a line over it."""
    m = ct.Mechanism("arm")
    m.add_body("upper", 1.0, (0, 0, -0.4), 0.1)
    m.add_body("lower", 1.0, (0, 0, -0.4), 0.1)
    m.add_joint("A", "ground", "upper", ct.Revolute("y"))
    m.add_joint("B", "upper", "lower", ct.Universal("x", "y"), in_parent=ct.Pose(p=(0, 0, -1)))
    for name, body, p in (
        ("wall", "ground", (1, 0, 1)), ("pulley", "ground", (1, 0.5, 1)),
        ("inner", "upper", (0.1, 0.1, -0.5)), ("outer", "lower", (0.1, 0.2, -0.3)),
    ):  # fmt: skip
        m.add_frame(name, body, ct.Pose(p=p))
    m.add_force("line", kind, between=frames)
    return m


def length(s, q, frames):
    points = [s.pose(q, frame).p for frame in frames]
    return sum(np.linalg.norm(b - a) for a, b in zip(points, points[1:], strict=False))


Q, V = np.array([0.3, 0.2, -0.4]), np.array([1.0, -0.5, 0.7])


@pytest.mark.parametrize("kind", [Cable(300.0, 0.5, 3.0), PointSpring(40.0, 7.0)], ids=["cable", "spring"])
def test_the_load_is_what_virtual_work_says_in_every_call(kind, tmp_path):
    m = arm(kind)
    s = m.system()
    told = s.forces.outputs(Q, V)["line"]
    h = 1e-6
    slope = [(length(s, Q + d, PATH) - length(s, Q - d, PATH)) / (2 * h) for d in h * np.eye(3)]
    tau = -told["tension"] * np.array(slope)
    assert told["length"] == pytest.approx(length(s, Q, PATH), rel=1e-14)
    assert told["rate"] == pytest.approx(V @ slope, rel=1e-8)
    assert told["power"] == pytest.approx(V @ tau, rel=1e-8)
    ours = s.forward_dynamics(Q, V)
    np.testing.assert_allclose(ours, s.forward_dynamics(Q, V, tau, elements=False), rtol=1e-7)
    taken = s.inverse_dynamics(Q, V, ours)
    np.testing.assert_allclose(taken, 0.0, atol=1e-10 * np.abs(tau).max())
    # Told by body, the same forces accelerate it alike.
    force, wrenches = s.mechanics.elements.forces(Q[None], V[None])
    outside = {name: x[0] for name, x in wrenches.items()}
    np.testing.assert_allclose(
        s.forward_dynamics(Q, V, force[0], f_ext=outside, elements=False), ours, rtol=1e-12
    )
    m.save(tmp_path / "m.toml")
    again = ct.load(tmp_path / "m.toml")
    assert again.forces["line"].frames == PATH
    np.testing.assert_array_equal(again.system().forward_dynamics(Q, V), ours)
    if isinstance(kind, PointSpring):
        m.save(tmp_path / "m.xml")
        again = ct.load(tmp_path / "m.xml")
        assert again.forces["line"].frames == PATH
        np.testing.assert_allclose(again.system().forward_dynamics(Q, V), ours, rtol=1e-12)


def test_its_numbers_are_parameters_in_lanes_and_in_equations():
    m = arm(Cable(300.0, 0.5, 3.0))
    s = m.system()
    varied = {"line.stiffness": np.array([300.0, 400.0]), "pulley.p": np.array([[1, 0.5, 1], [1, 0.6, 1.0]])}
    in_lanes = s.forward_dynamics(Q, V, parameters=varied)
    equations = s.equations("forward_dynamics", symbols=list(varied))
    for k, row in enumerate(in_lanes):
        own = {name: x[k] for name, x in varied.items()}
        np.testing.assert_allclose(equations(Q, V, np.zeros(3), parameters=own), row, rtol=1e-12)
    changed = arm(Cable(400.0, 0.5, 3.0)).with_frame("pulley", ct.Pose(p=(1, 0.6, 1.0)))
    np.testing.assert_allclose(changed.system().forward_dynamics(Q, V), in_lanes[1], rtol=1e-12)
    by_q, by_v, _ = s.forward_dynamics_derivatives(Q, V, np.zeros(3))
    h = 1e-5
    for slopes, along in ((by_q, lambda d: (Q + d, V)), (by_v, lambda d: (Q, V + d))):
        columns = [
            (s.forward_dynamics(*along(d)) - s.forward_dynamics(*along(-d))) / (2 * h) for d in h * np.eye(3)
        ]
        np.testing.assert_allclose(slopes, np.transpose(columns), atol=1e-6 * np.abs(slopes).max())


def test_a_run_keeps_its_energy_and_counts_its_dampers_once():
    s = arm(Cable(300.0, 0.5, 3.0)).system()
    run = ct.simulate(s, Q, V, 0.5, rtol=1e-10)
    assert run.audit().ok
    s = arm(PointSpring(40.0, 7.0)).system()
    run = ct.simulate(s, Q, V, 0.5)
    assert run.energy_drift < 1e-9


def test_stretches_within_one_body_count_and_pull_nothing():
    """A line that is led along ground and then to a body, against one that is shorter by as much."""
    led = arm(PointSpring(40.0, 7.0), ("wall", "pulley", "inner")).system()
    plain = arm(PointSpring(40.0, 6.5), ("pulley", "inner")).system()
    np.testing.assert_allclose(led.forward_dynamics(Q, V), plain.forward_dynamics(Q, V), rtol=1e-13)
    locked = arm(PointSpring(40.0, 7.0)).lock(["A", "B"]).system()
    assert locked.nv == 0 and locked.forces.outputs([], [])["line"]["length"] == pytest.approx(
        length(arm(PointSpring(40.0)).system(), np.zeros(3), PATH)
    )


def test_only_forces_along_lines_run_over_several_frames():
    with pytest.raises(ct.ModelError, match="a Bushing acts between two frames: give"):
        arm(Bushing((1.0,) * 6))
    with pytest.raises(ct.ModelError, match="acts between two frames or more"):
        arm(Cable(1.0), ("wall",))
    with pytest.raises(ct.ModelError, match="both ends move with body 'ground', so it moves nothing"):
        arm(Cable(1.0), ("wall", "pulley", "wall"))
