"""Points and balls on points and balls, against closed forms, joints, and momentum."""

import numpy as np
import pytest

import catena as ct

G = 9.81


def test_a_point_leaves_a_ball_at_two_thirds_of_its_height():
    """A mass slides down a smooth ball and leaves it where its height over the centre is 2/3 of that at the start."""
    m = ct.Mechanism("slides off")
    m.add_body("mass", mass=2.0, inertia=0.1)
    m.add_joint("moves", "ground", "mass", ct.Planar("y"), actuated=False)
    s = m.system()
    start = 0.3
    x, z = np.sin(start), np.cos(start)
    q = _placed(s, "mass", (x, 0.0, z))
    top = ct.Contact("mass", on_radius=1.0)
    run = ct.simulate(s, q, np.zeros(s.nv), 1.5, contacts=[top], rtol=1e-9, atol=1e-11, check=False)
    leaves = next(change for change in run.transitions if "lifts" in change.name)
    then = run.at(leaves.t)
    q_then, v_then = then
    assert then.system.pose(q_then, "mass").p[2] == pytest.approx(2.0 / 3.0 * z, abs=2e-6)
    assert np.linalg.norm(then.system.pose(q_then, "mass").p) == pytest.approx(1.0, abs=1e-7)
    f = run.contact_forces["mass"]
    at = run.position("mass")
    along = (f * at).sum(axis=1)
    assert along.min() > -1e-6 and np.abs(np.cross(f, at)).max() < 1e-9 * np.abs(f).max()


def _placed(s, body, p):
    """The configuration of a planar joint at which a body is somewhere, found by moving along its slides."""
    q = s.neutral()
    for _ in range(3):
        off = np.array(p) - s.pose(q, body).p
        J = s.jacobian(q, body)[3:]
        R = s.pose(q, body).R
        q = s.integrate(q, np.linalg.lstsq(J, R.T @ off, rcond=None)[0])
    return q


def test_a_ball_rolls_down_a_ball():
    """A solid ball rolls without slip: 7/10 of (R + r)^2 theta'^2 is the height lost times g, and its spin follows."""
    R, r, mass = 1.0, 0.2, 1.5
    m = ct.Mechanism("rolls")
    m.add_body("ball", mass=mass, inertia=0.4 * mass * r * r)
    m.add_joint("moves", "ground", "ball", ct.Free(), actuated=False)
    s = m.system()
    q = s.neutral()
    start = 0.2
    q[:3] = (R + r) * np.array([np.sin(start), 0.0, np.cos(start)])
    roll = ct.Contact("ball", radius=r, on_radius=R, friction=2.0)
    run = ct.simulate(s, q, np.zeros(s.nv), 0.5, contacts=[roll], rtol=1e-9, atol=1e-11, check=False)
    assert [change.told for change in run.transitions] == [("ball: stick",)]
    last = run.segments[-1]
    p, twist = run.position("ball"), s.twist(last.q[-1], last.v[-1], "ball", axes="aligned")
    theta = np.arctan2(p[-1, 0], p[-1, 2])
    rate = np.sqrt(10.0 / 7.0 * G * (np.cos(start) - np.cos(theta)) / (R + r))
    assert theta > 0.35
    np.testing.assert_allclose(np.linalg.norm(p, axis=1), R + r, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(twist[3:]), (R + r) * rate, rtol=1e-6)
    np.testing.assert_allclose(twist[:3], [0.0, (R + r) / r * rate, 0.0], atol=1e-6 * (R + r) / r * rate)


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_two_balls_collide(friction):
    """Obliquely, in free space: restitution along the line of centres, momentum kept, friction in its cone."""
    masses, radii, e = (2.0, 3.0), (0.1, 0.15), 0.6
    m = ct.Mechanism("billiards", gravity=(0, 0, 0))
    for name, mass, r in zip("ab", masses, radii, strict=True):
        m.add_body(name, mass=mass, inertia=0.4 * mass * r * r)
        m.add_joint(f"{name} moves", "ground", name, ct.Free(), actuated=False)
    s = m.system()
    q, v = s.neutral(), np.zeros(s.nv)
    q[s.slice_q("a moves")][:3] = [-1.0, 0.1, 0.05]
    v[s.slice_v("a moves")] = [0.3, -0.2, 0.5, 2.0, 0.0, 0.0]
    meet = ct.Contact("a", on="b", radius=radii[0], on_radius=radii[1], friction=friction, restitution=e)
    run = ct.simulate(s, q, v, 1.0, contacts=[meet], rtol=1e-10, atol=1e-12, check=False)
    (hit,) = run.transitions
    n = s.pose(run.segments[0].q[-1], "a").p - s.pose(run.segments[0].q[-1], "b").p
    assert np.linalg.norm(n) == pytest.approx(sum(radii), abs=1e-8)
    n /= np.linalg.norm(n)
    before, after = ((part.q[k], part.v[k]) for part, k in ((run.segments[0], -1), (run.segments[1], 0)))
    speeds = [
        (s.twist(*x, "a", axes="aligned") - s.twist(*x, "b", axes="aligned"))[3:] @ n for x in (before, after)
    ]
    assert speeds[1] == pytest.approx(-e * speeds[0], rel=1e-8)
    np.testing.assert_allclose(s.momentum(*after), s.momentum(*before), atol=1e-11)
    assert hit.momentum_error < 1e-12 and hit.energy_loss > 0.0
    lost = s.kinetic_energy(*before) - s.kinetic_energy(*after)
    assert hit.energy_loss == pytest.approx(float(lost), rel=1e-9)
    p = hit.impulse["a"]
    across = np.linalg.norm(p - (p @ n) * n)
    assert across <= friction * (p @ n) + 1e-12 * (p @ n)
    if not friction:
        # The closed form of a smooth impact.
        reduced = masses[0] * masses[1] / sum(masses)
        assert p @ n == pytest.approx(-(1.0 + e) * reduced * speeds[0], rel=1e-9)
    else:
        assert across > 0.1 * friction * (p @ n)


@pytest.mark.parametrize("radius, on_radius", [(0.0, 0.3), (0.3, 0.0)])
def test_what_sticks_at_a_point_is_a_joint_there(radius, on_radius):
    """A point on a ball, and a ball on a point: the motion is that of a spherical joint where they touch."""
    m = ct.Mechanism("stands")
    m.add_body("rod", mass=1.0, com=(0, 0, 0.5), inertia=(0.1, 0.1, 0.01))
    m.add_joint("moves", "ground", "rod", ct.Free(), actuated=False)
    m.add_frame("end", "rod")
    s = m.system()
    q, v = s.neutral(), np.zeros(s.nv)
    q[:3] = np.array([0.1, 0.2, np.sqrt(1.0 - 0.05)]) * (radius + on_radius)
    touch = q[:3] * on_radius / (radius + on_radius)
    v[s.slice_v("moves")] = np.concatenate([[0.4, 0.3, 0.2], np.cross([0.4, 0.3, 0.2], q[:3] - touch)])
    contact = ct.Contact("end", radius=radius, on_radius=on_radius, friction=3.0)
    run = ct.simulate(s, q, v, 0.25, contacts=[contact], rtol=1e-9, atol=1e-11, check=False)
    assert [change.told for change in run.transitions] == [("end: stick",)]
    held = m.attach(
        "pin",
        "ground",
        "rod",
        ct.Spherical(),
        ct.Pose(p=touch),
        ct.Pose(p=touch - q[:3]),
        at=s.configuration(q),
    ).system()
    state = ct.transfer(s, q, v, held)
    other = ct.simulate(held, *state, 0.25, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(run.position("rod")[-1], other.position("rod")[-1], atol=1e-8)
    np.testing.assert_allclose(run.segments[-1].system.twist(run.segments[-1].q[-1], run.segments[-1].v[-1], "rod"),
                               held.twist(other.q[-1], other.v[-1], "rod"), atol=1e-7)  # fmt: skip


def test_what_cannot_meet_is_refused():
    with pytest.raises(ct.StateError, match="a point never meets a point"):
        ct.Contact("a", on_radius=0.0)
    with pytest.raises(ct.StateError, match="on_radius is -1"):
        ct.Contact("a", on_radius=-1)
    m = ct.Mechanism("inside")
    m.add_body("ball", mass=1.0, inertia=0.1)
    m.add_joint("moves", "ground", "ball", ct.Free(), actuated=False)
    s = m.system()
    with pytest.raises(ct.StateError, match=r"begins 0.3 m inside the ball of 'ground'; begin outside"):
        ct.simulate(s, s.neutral() + np.array([0.2, 0, 0, 0, 0, 0, 0]), duration=0.1,
                    contacts=[ct.Contact("ball", radius=0.1, on_radius=0.4)])  # fmt: skip


@pytest.mark.parametrize("forces", [{}, {"a": lambda t: [0] * 6}], ids=["compiled", "from Python"])
@pytest.mark.parametrize("beside", [0.0, 0.1])
def test_a_ball_is_not_flown_past(beside, forces):
    """Nothing acts on balls that fly, so that a step takes them past each other by many times their size: they meet
    where straight lines do, and not only where steps end."""
    m = ct.Mechanism("balls", gravity=(0, 0, 0))
    for name in "ab":
        m.add_body(name, mass=1.0, inertia=0.01)
        m.add_joint(f"{name} moves", "ground", name, ct.Free(), actuated=False)
    s = m.system()
    q, v = s.neutral(), np.zeros(s.nv)
    q[s.slice_q("a moves")][:2], v[s.slice_v("a moves")][3] = (-10.0, beside), 1.0
    touch = ct.Contact("a", on="b", radius=0.1, on_radius=0.1, restitution=1.0)
    run = ct.simulate(s, q, v, 50.0, contacts=[touch], forces=forces)
    (hit,) = run.transitions
    assert hit.t == pytest.approx(10.0 - np.sqrt(0.04 - beside**2), rel=1e-9)
    normal = np.array([-np.sqrt(0.04 - beside**2), beside, 0.0]) / 0.2
    np.testing.assert_allclose(run.twist("b")[-1, 3:], normal[0] * normal, atol=1e-8)


def test_a_point_does_not_fall_through_a_peg():
    """Under gravity, from far above, within a step: v^2 = 2 g h where it hits a peg of a millimetre."""
    m = ct.Mechanism("peg")
    m.add_body("drop", mass=1.0)
    m.add_joint("falls", "ground", "drop", ct.Prismatic("z"))
    run = ct.simulate(m.system(), [50.0], [0.0], 6.0, contacts=[ct.Contact("drop", on_radius=1e-3)])
    assert run.transitions[0].t == pytest.approx(np.sqrt(2.0 * (50.0 - 1e-3) / 9.81), rel=1e-9)
    assert run["falls"][-1] == pytest.approx(1e-3, abs=1e-8)
