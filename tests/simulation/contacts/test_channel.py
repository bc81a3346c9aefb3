"""What a run tells of one contact, against kinematics and closed forms."""

import numpy as np
import pytest

import catena as ct

G = 9.81


def rolling():
    """A disc that falls, bounces and rolls, a plane under it that is tilted in the axes of ground."""
    m = ct.Mechanism("disc", gravity=(0.5, 0, -G))
    m.add_body("disc", mass=1.0, inertia=(0.01, 0.02, 0.01))
    m.add_joint("moves", "ground", "disc", ct.Free(), actuated=False)
    m.add_frame("floor", "ground", ct.Pose(p=(0, 0, 0.1), rpy=(0.1, 0.05, 0.7)))
    s = m.system()
    q, v = s.neutral(), np.zeros(6)
    q[2] = 0.5
    v[1], v[3] = 4.0, -2.0
    return s, q, v, ct.Contact("disc", on="floor", radius=0.2, friction=0.1, restitution=0.3)


def test_gap_slip_and_mode_are_those_of_the_point_that_touches():
    s, q, v, contact = rolling()
    run = ct.simulate(s, q, v, 1.5, contacts=[contact], rtol=1e-9, atol=1e-11)
    told = run.contact("disc")
    floor = s.mechanism.frames["floor"].pose
    for k in range(0, len(run.t), 7):
        pose = s.pose(run.q[k], "disc")
        seen = floor.R.T @ (pose.p - floor.p)
        assert told.gap[k] == pytest.approx(seen[2] - 0.2, abs=1e-12)
        w, velocity = (pose.R @ x for x in np.split(s.twist(run.q[k], run.v[k], "disc"), 2))
        slip = floor.R.T @ (velocity + np.cross(w, -0.2 * floor.R[:, 2]))
        np.testing.assert_allclose(told.slip[k], [*slip[:2], 0.0], atol=1e-12)
    assert set(told.mode) == {"open", "slide", "stick"}
    assert np.abs(told.slip[told.mode == "stick"]).max() < 1e-7
    assert np.abs(told.gap[told.touches]).max() < 1e-7 and told.gap.min() > -1e-7
    np.testing.assert_array_equal(told.normal_force, told.force[:, 2])
    across = np.hypot(told.force[:, 0], told.force[:, 1])
    assert (across <= (0.1 + 1e-6) * told.normal_force + 1e-12).all()
    hits = [change for change in run.transitions if change.impulse]
    assert told.impacts == tuple(hits) and len(hits) > 3


def test_a_batch_tells_what_its_states_tell():
    s, q, v, contact = rolling()
    higher = q.copy()
    higher[2] += 0.1
    run = ct.simulate(s, np.stack([q, higher]), np.stack([v, v]), 0.6, contacts=[contact], samples=61)
    told = run.resample(61).contact("disc")
    assert told.gap.shape == (2, 61) and told.force.shape == (2, 61, 3)
    for k, start in enumerate((q, higher)):
        alone = ct.simulate(s, start, v, 0.6, contacts=[contact], samples=61)
        for channel in (alone.resample(61).contact("disc"), run.state(k).resample(61).contact("disc")):
            np.testing.assert_allclose(told.gap[k], channel.gap, atol=1e-9)
            np.testing.assert_array_equal(told.mode[k], channel.mode)
            np.testing.assert_allclose(told.force[k], channel.force, atol=1e-6)


def test_between_two_balls_the_normal_is_the_line_of_their_centres():
    m = ct.Mechanism("peg", gravity=(0, 0, -G))
    m.add_body("bead", mass=0.1, inertia=1e-5)
    m.add_joint("moves", "ground", "bead", ct.Planar("y"), actuated=False)
    s = m.system()
    # The bead begins on top of a peg of 0.3 m, a little to the side, and slides down without friction.
    tilt = 0.2
    there = 0.32 * np.array([np.sin(tilt), 0, np.cos(tilt)])
    q = s.integrate(
        s.neutral(), np.linalg.lstsq(s.jacobian(s.neutral(), "bead"), [0, 0, 0, *there], rcond=None)[0]
    )
    contact = ct.Contact("bead", on="ground", radius=0.02, on_radius=0.3)
    run = ct.simulate(s, q, np.zeros(3), 0.3, contacts=[contact], rtol=1e-9, atol=1e-11)
    told = run.contact("bead")
    p = run.position("bead")
    angle = np.arctan2(p[:, 0], p[:, 2])
    speed = np.linalg.norm(run.twist("bead")[:, 3:], axis=-1)
    on = told.touches
    np.testing.assert_allclose(
        told.normal_force[on], 0.1 * (G * np.cos(angle[on]) - speed[on] ** 2 / 0.32), atol=1e-7
    )
    np.testing.assert_allclose(np.linalg.norm(told.slip, axis=-1)[on], speed[on], atol=1e-9)
    assert set(told.mode[on]) == {"slide"}


def test_a_contact_that_is_not_there_is_said():
    s, q, v, contact = rolling()
    run = ct.simulate(s, q, v, 0.05, contacts=[contact])
    with pytest.raises(ct.CatenaError, match=r"no contact is named 'disk': did you mean 'disc'"):
        run.contact("disk")
    free = ct.simulate(s, q, v, 0.05)
    with pytest.raises(ct.CatenaError, match="there is no contact yet"):
        free.contact("disc")
