"""Laws of restitution against closed forms: where they agree, where they differ, and that none makes energy."""

import numpy as np
import pytest

import catena as ct
from catena.simulation.contacts.restitution import impact

LAWS = ("newton", "poisson", "energy")


def rod(theta, length=1.0, mass=1.0):
    """The mobility (1, 3, 1, 3) at the tip of a rod that leans by theta from the vertical in the x-z plane."""
    x, z = 0.5 * length * np.sin(theta), -0.5 * length * np.cos(theta)
    inertia = mass * length**2 / 12.0
    # Tip velocity = that of the mass centre + omega (about y) x r.
    rows = np.array([[1.0, 0.0, 0.0, z], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -x]])
    return (rows @ np.diag([1 / mass, 1 / mass, 1 / mass, 1 / inertia]) @ rows.T).reshape(1, 3, 1, 3)


def kinetic(W, u, p):
    flat = p.reshape(-1)
    return float(u.reshape(-1) @ flat + 0.5 * flat @ W.reshape(flat.size, -1) @ flat)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("theta", [0.0, 0.4, -0.7])
def test_without_friction_all_turn_the_normal_velocity_round(law, theta):
    W, u = rod(theta), np.array([[0.3, 0.0, -1.2]])
    p = impact(W, u, np.zeros(1), np.array([0.6]), ["tip"], law)
    after = u[0] + W[0, :, 0, :] @ p[0]
    assert after[2] == pytest.approx(0.6 * 1.2, rel=1e-12)
    assert not p[0, :2].any()


@pytest.mark.parametrize("law", LAWS)
def test_a_slip_that_goes_on_is_told_alike_by_all(law):
    """Friction is -mu p_n all the way, so that u_n is a straight line over p_n."""
    mu, e, theta = 0.1, 0.5, 0.3
    W, u = rod(theta), np.array([[3.0, 0.0, -1.0]])
    p = impact(W, u, np.array([mu]), np.array([e]), ["tip"], law)
    slope = W[0, 2, 0, 2] - mu * W[0, 2, 0, 0]
    np.testing.assert_allclose(p[0], (1 + e) / slope * np.array([-mu, 0.0, 1.0]), rtol=1e-9)


def test_where_friction_holds_the_tip_they_differ_as_they_should():
    """A tip that sticks: with K = W^-1 restricted to the plane, compression ends at p_c = -K u, and each law has a
    closed form for what comes back."""
    mu, e, theta = 5.0, 0.7, 0.3
    W, u = rod(theta), np.array([[0.6, 0.0, -1.0]])
    K = np.linalg.inv(W[0, :, 0, :])
    found = {law: impact(W, u, np.array([mu]), np.array([e]), ["tip"], law)[0] for law in LAWS}
    after = {law: u[0] + W[0, :, 0, :] @ p for law, p in found.items()}
    p_c = -K @ u[0]
    np.testing.assert_allclose(found["newton"], p_c + K @ [0, 0, e], rtol=1e-9, atol=1e-12)
    # Poisson: the normal impulse is e times that of compression, and friction holds the tip.
    back = K[:, 2] / K[2, 2] * e * p_c[2]
    np.testing.assert_allclose(found["poisson"], p_c + back, rtol=1e-9, atol=1e-12)
    # Energy: p_n^2 / (2 K_nn) = e^2 times the normal work of compression.
    work = -0.5 * p_c[2] * u[0, 2]
    back = K[:, 2] / K[2, 2] * np.sqrt(2 * K[2, 2] * e**2 * work)
    np.testing.assert_allclose(found["energy"], p_c + back, rtol=1e-9, atol=1e-12)
    for law in LAWS:
        assert abs(after[law][0]) < 1e-12 and after[law][2] > 0.0
    assert len({round(float(x[2]), 9) for x in after.values()}) == 3


@pytest.mark.parametrize("law", LAWS)
def test_no_impact_gains_energy_pulls_or_leaves_its_cone(law):
    """Several contacts of random mechanisms, with friction and restitution up to 1."""
    random = np.random.default_rng(7)
    for _ in range(60):
        k = int(random.integers(1, 5))
        A = random.normal(size=(3 * k, 6 + 2 * k))
        W = (A @ A.T).reshape(k, 3, k, 3)
        u = random.normal(size=(k, 3))
        u[:, 2] = -np.abs(u[:, 2])
        mu, e = random.uniform(0.0, 1.0, k), random.uniform(0.0, 1.0, k)
        p = impact(W, u, mu, e, [str(i) for i in range(k)], law)
        size = np.abs(p).max()
        assert kinetic(W, u, p) <= 1e-9 * size
        assert (p[:, 2] >= -1e-9 * size).all()
        assert (np.hypot(p[:, 0], p[:, 1]) <= mu * p[:, 2] + 1e-7 * size).all()
        assert (u + np.einsum("iajb,jb->ia", W, p))[:, 2].min() > -1e-7


@pytest.mark.parametrize("law", LAWS)
def test_a_run_bounces_by_the_law_that_its_contact_names(law):
    """A rod that is dropped on its end, spinning: velocities behind the impact are those of the law, and so are the
    impulse and the loss that the run tells."""
    theta, mass, length = 0.4, 1.0, 1.0
    m = ct.Mechanism("rod", gravity=(0, 0, 0))
    m.add_body("rod", mass=mass, inertia=(mass * length**2 / 12,) * 3)
    m.add_joint("moves", "ground", "rod", ct.Planar("y"), actuated=False)
    m.add_frame("tip", "rod", ct.Pose(p=(0, 0, -length / 2)))
    s = m.system()
    q = s.integrate(
        s.neutral(), np.linalg.lstsq(s.jacobian(s.neutral(), "rod"), [0, -theta, 0, 0, 0, 0], rcond=None)[0]
    )
    up = s.pose(q, "rod").R.T @ [0, 0, 0.6]
    q = s.integrate(q, np.linalg.lstsq(s.jacobian(q, "rod"), [0, 0, 0, *up], rcond=None)[0])
    body = s.pose(q, "rod").R.T @ [0.5, 0, -1.0]
    v = np.linalg.lstsq(s.jacobian(q, "rod"), [0, 0, 0, *body], rcond=None)[0]
    contact = ct.Contact("tip", friction=2.0, restitution=0.5, restitution_law=law)
    run = ct.simulate(s, q, v, 0.3, contacts=[contact], rtol=1e-9, atol=1e-11)
    hit = next(change for change in run.transitions if change.impulse)
    W, u = rod(theta), np.array([[0.5, 0.0, -1.0]])
    p = impact(W, u, np.array([2.0]), np.array([0.5]), ["tip"], law)
    np.testing.assert_allclose(hit.impulse["tip"], p[0], atol=1e-7)
    assert hit.energy_loss == pytest.approx(-kinetic(W, u, p), rel=1e-6)


@pytest.mark.parametrize("e", [0.3, 0.6])
def test_bounces_that_come_to_an_end_rub_no_more_than_the_floor_pressed(e):
    """A puck that slides all the time: whatever it bounced, friction took mu times the weight of its time and the
    momentum with which it fell."""
    m = ct.Mechanism("puck on a carriage", gravity=(0, 0, -9.81))
    m.add_body("carriage", mass=0.5, inertia=0.01)
    m.add_body("puck", mass=1.0, inertia=0.01)
    m.add_joint("x", "ground", "carriage", ct.Prismatic("x"))
    m.add_joint("z", "carriage", "puck", ct.Prismatic("z"))
    mu, falls, duration = 0.4, 1.0, 0.6
    touch = ct.Contact("puck", friction=mu, restitution=e)
    run = ct.simulate(m.system(), [0.0, 0.0], [8.0, -falls], duration, contacts=[touch], rtol=1e-9)
    assert len([change for change in run.transitions if change.impulse]) > 5
    slip = 8.0 - mu * (9.81 * duration + falls) / 1.5
    np.testing.assert_allclose(run.v[-1], [slip, 0.0], atol=1e-10)


def test_what_cannot_be_a_law_is_refused():
    with pytest.raises(
        ct.CatenaError, match=r"restitution_law is 'hertz'; choose one of 'newton', 'poisson'"
    ):
        ct.Contact("tip", restitution=0.5, restitution_law="hertz")
    m = ct.Mechanism("two")
    m.add_body("a", mass=1.0, inertia=0.1)
    m.add_joint("moves", "ground", "a", ct.Free(), actuated=False)
    m.add_frame("b", "a", ct.Pose(p=(0.1, 0, 0)))
    s = m.system()
    q = s.neutral()
    q[2] = 1.0
    mixed = [
        ct.Contact("a", restitution=0.5, restitution_law="poisson"),
        ct.Contact("b", restitution=0.5),
    ]
    with pytest.raises(
        ct.CatenaError, match=r"one law of restitution, not 'a' by 'poisson', 'b' by 'newton'"
    ):
        ct.simulate(s, q, np.zeros(6), 0.1, contacts=mixed)


def test_a_file_says_the_law(tmp_path):
    m = ct.Mechanism("ball")
    m.add_body("ball", mass=1.0, inertia=0.1)
    m.add_joint("falls", "ground", "ball", ct.Prismatic("z"), actuated=False)
    contact = ct.Contact("ball", restitution=0.5, restitution_law="energy")
    said = ct.Scenario(m, {"falls": 1.0}, contacts=[contact], duration=0.6)
    said.save(tmp_path / "ball.toml")
    assert ct.Scenario.load(tmp_path / "ball.toml").contacts == said.contacts
    assert 'restitution_law = "energy"' in (tmp_path / "ball.toml").read_text()
