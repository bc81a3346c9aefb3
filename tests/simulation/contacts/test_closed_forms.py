"""Contacts against closed forms: a block on a slope, a rocking block, a bouncing, a sliding and a rolling disc."""

import numpy as np
import pytest

import catena as ct

G = 9.81


def block(width=0.4, height=0.6, tilt=0.0, corners="two", name="block"):
    """A block in the x-z plane on a slope: a Planar joint to the slope's plane of motion, corners as frames."""
    m = ct.Mechanism(name, gravity=(G * np.sin(tilt), 0, -G * np.cos(tilt)))
    mass = 2.0
    m.add_body(
        "block", mass=mass, inertia=mass / 12.0 * np.array([height**2, width**2 + height**2, width**2])
    )
    if corners == "two":
        m.add_joint("moves", "ground", "block", ct.Planar("y"), actuated=False)
        places = {"left": (-width / 2, 0.0), "right": (width / 2, 0.0)}
    else:
        m.add_joint("moves", "ground", "block", ct.Free(), actuated=False)
        places = {
            f"{a}{b}": (x * width / 2, y * width / 2)
            for a, x in (("l", -1), ("r", 1))
            for b, y in (("f", 1), ("b", -1))
        }
    for corner, (x, y) in places.items():
        m.add_frame(corner, "block", ct.Pose(p=(x, y, -height / 2)))
    return m, list(places)


def at_height(s, z, tilted=0.0, body="block"):
    """The configuration in which a body is at a height and turned about y."""
    step = np.linalg.lstsq(s.jacobian(s.neutral(), body), [0, tilted, 0, 0, 0, 0], rcond=None)[0]
    q = s.integrate(s.neutral(), step)
    J = s.jacobian(q, body)
    up = s.pose(q, body).R.T @ [0, 0, z]
    return s.integrate(q, np.linalg.lstsq(J, [0, 0, 0, *up], rcond=None)[0])


def moving(s, q, body, spin=0.0, along=0.0):
    return np.linalg.lstsq(s.jacobian(q, body), [0, spin, 0, along, 0, 0], rcond=None)[0]


@pytest.mark.parametrize("corners", ["two", pytest.param("four", marks=pytest.mark.slow)])
def test_a_block_on_a_slope_sticks_or_slides(corners):
    """Below the angle of friction it stays, redundant contacts or not; above, it slides with g (sin - mu cos)."""
    mu = 0.4
    for tilt, moves in ((0.3, False), (0.5, True)):
        m, names = block(tilt=tilt, corners=corners, height=0.2)
        s = m.system()
        contacts = [ct.Contact(name, friction=mu) for name in names]
        run = ct.simulate(s, at_height(s, 0.1), np.zeros(s.nv), 0.5, contacts=contacts, rtol=1e-9, atol=1e-11)
        x = run.position("block")[:, 0]
        if moves:
            a = G * (np.sin(tilt) - mu * np.cos(tilt))
            np.testing.assert_allclose(x[-1], 0.5 * a * 0.25, rtol=1e-7)
            assert any("slide" in line for line in run.transitions[0].told)
        else:
            assert np.abs(x).max() < 1e-9 and any("stick" in line for line in run.transitions[0].told)


def test_a_block_thrown_up_a_slope_stops_and_stays():
    mu, tilt, v0 = 0.6, 0.4, 1.0
    m, names = block(tilt=tilt, height=0.1)
    s = m.system()
    q = at_height(s, 0.05)
    v = moving(s, q, "block", along=-v0)
    run = ct.simulate(
        s, q, v, 0.5, contacts=[ct.Contact(n, friction=mu) for n in names], rtol=1e-9, atol=1e-11
    )
    a = G * (np.sin(tilt) + mu * np.cos(tilt))
    stops = [change for change in run.transitions if "stops sliding" in change.name]
    assert stops[0].t == pytest.approx(v0 / a, rel=1e-6)
    assert run.position("block")[-1, 0] == pytest.approx(-0.5 * v0**2 / a, rel=1e-6)
    assert "slide -> stick" in " ".join(stops[0].told)


def test_a_rocking_block_loses_what_housner_says():
    """A slender block that rocks from corner to corner: the ratio of angular velocities at an impact is
    1 - 3/2 sin^2(alpha) with alpha the angle of its diagonal, for plastic impacts without slip."""
    width, height = 0.2, 0.8
    m, names = block(width, height)
    s = m.system()
    tilted = -0.05
    # Turned about y so that the left corner is the lowest.
    low = np.sin(tilted) * width / 2 - np.cos(tilted) * height / 2
    q = at_height(s, -low, tilted)
    assert s.pose(q, "left").p[2] == pytest.approx(0.0, abs=1e-12)
    run = ct.simulate(s, q, np.zeros(s.nv), 0.6, contacts=[ct.Contact(n, friction=2.0) for n in names], rtol=1e-9,
                      atol=1e-11)  # fmt: skip
    hit = next(change for change in run.transitions if change.name == "right touches")
    k = int(np.flatnonzero(run.t >= hit.t - 1e-12)[0])
    before, after = (run.twist("block")[i, 1] for i in (k, k + 1))
    alpha = np.arctan2(width, height)
    assert after / before == pytest.approx(1.0 - 1.5 * np.sin(alpha) ** 2, rel=1e-6)
    assert "left: stick -> open" in hit.told and "right: open -> stick" in hit.told
    assert hit.energy_loss > 0.0


def disc(radius=0.1, mass=1.0):
    m = ct.Mechanism("disc")
    m.add_body(
        "disc", mass=mass, inertia=(0.25 * mass * radius**2, 0.5 * mass * radius**2, 0.25 * mass * radius**2)
    )
    m.add_joint("x", "ground", "disc", ct.Planar("y"), actuated=False)
    return m


def disc_state(s, height, speed=0.0):
    q = at_height(s, height, body="disc")
    return q, moving(s, q, "disc", along=speed)


def test_a_disc_slides_then_rolls():
    """Thrown without spin it slides until it has 2/3 of its speed, at t = v0 / (3 mu g), and rolls on."""
    r, mu, v0 = 0.1, 0.2, 1.5
    s = disc(r).system()
    q, v = disc_state(s, r, speed=v0)
    contact = ct.Contact("disc", friction=mu, radius=r)
    run = ct.simulate(s, q, v, 1.0, contacts=[contact], rtol=1e-9, atol=1e-11)
    rolls = run.transitions[-1]
    assert rolls.t == pytest.approx(v0 / (3 * mu * G), rel=1e-6) and rolls.told == ("disc: slide -> stick",)
    np.testing.assert_allclose(run.twist("disc")[-1, 1], 2 / 3 * v0 / r, rtol=1e-6)
    slide = v0 * rolls.t - 0.5 * mu * G * rolls.t**2
    assert run.position("disc")[-1, 0] == pytest.approx(slide + 2 / 3 * v0 * (1.0 - rolls.t), rel=1e-6)
    assert np.abs(run.position("disc")[:, 2] - r).max() < 1e-9


def test_a_disc_bounces_and_comes_to_rest():
    """Heights fall with e^2; after infinitely many bounces, which end below a speed, it lies still."""
    r, e, h = 0.1, 0.5, 0.2
    s = disc(r).system()
    q, v = disc_state(s, r + h)
    run = ct.simulate(
        s, q, v, 1.2, contacts=[ct.Contact("disc", restitution=e, radius=r)], rtol=1e-9, atol=1e-11
    )
    first = np.sqrt(2 * h / G)
    hits = [change for change in run.transitions if change.name == "disc touches"]
    np.testing.assert_allclose([x.t for x in hits[:3]], first * np.array([1.0, 2.0, 2.5]), rtol=1e-6)
    assert hits[0].energy_loss == pytest.approx((1 - e**2) * G * h, rel=1e-6)
    assert hits[0].impulse["disc"][2] == pytest.approx((1 + e) * np.sqrt(2 * G * h), rel=1e-6)
    # All bounces together take (1 + e) / (1 - e) of the first fall, but for those below the speed that none has.
    assert run.transitions[-1].t == pytest.approx(first * (1 + e) / (1 - e), rel=1e-3)
    assert abs(run.twist("disc")[-1, 5]) < 1e-9 and run.ended == ""
    assert "open -> slide" in run.transitions[-1].told[0]
    # Of so many changes the audit tells what they lose together.
    assert run.audit()["changes"].value == pytest.approx(sum(x.energy_loss for x in run.transitions))


def test_a_rolling_disc_on_a_slope():
    """Rolls with 2/3 g sin where friction allows it, mu >= tan / 3, and slips where not."""
    r, tilt = 0.1, 0.5
    for mu, a in ((0.3, 2 / 3 * G * np.sin(tilt)), (0.1, G * (np.sin(tilt) - 0.1 * np.cos(tilt)))):
        m = disc(r)
        m.gravity = (G * np.sin(tilt), 0, -G * np.cos(tilt))
        s = m.system()
        run = ct.simulate(s, *disc_state(s, r), 0.5, contacts=[ct.Contact("disc", friction=mu, radius=r)], rtol=1e-9,
                          atol=1e-11)  # fmt: skip
        assert run.position("disc")[-1, 0] == pytest.approx(0.125 * a, rel=1e-7)


@pytest.mark.parametrize("mu, falls", [(0.6, 0.0), (0.3, G - 6.0)])
def test_two_fingers_hold_a_box_by_friction_or_let_it_slide(mu, falls):
    """Two fingers of three points press with F = 10 N: 1 kg stays while 2 mu F is more than its weight, and falls with
    what is missing; all points share the load, although they are more than needed."""
    m = ct.Mechanism("gripper")
    m.add_body("box", mass=1.0, inertia=0.002)
    m.add_joint("moves", "ground", "box", ct.Free(), actuated=False)
    contacts = []
    for side, x in (("left", -1.0), ("right", 1.0)):
        m.add_frame(side, "box", ct.Pose(p=(0.05 * x, 0, 0), R=[[0, 0, x], [0, 1, 0], [-x, 0, 0]]))
        m.add_body(f"{side} finger", mass=0.2, inertia=0.001)
        m.add_joint(
            f"{side} slide",
            "ground",
            f"{side} finger",
            ct.Prismatic("x"),
            in_parent=ct.Pose(p=(0.05 * x, 0, 0)),
        )
        for k, place in enumerate(((0.02, 0.02), (-0.02, 0.02), (0.0, -0.02))):
            m.add_frame(f"{side} {k}", f"{side} finger", ct.Pose(p=(0.0, *place)))
            contacts.append(ct.Contact(f"{side} {k}", on=side, friction=mu))
    s = m.system()
    press = np.zeros(s.nv)
    press[s.slice_v("left slide")], press[s.slice_v("right slide")] = 10.0, -10.0
    run = ct.simulate(s, s.neutral(), np.zeros(s.nv), 0.3, contacts=contacts, control=lambda t, q, v: press)
    assert run.position("box")[-1, 2] == pytest.approx(-0.5 * falls * 0.09, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(run.twist("box")[-1], [0, 0, 0, 0, 0, -falls * 0.3], atol=1e-9)
    for force in run.contact_forces.values():
        np.testing.assert_allclose(force[-1, 2], 10.0 / 3.0, rtol=1e-9)


def test_restitution_makes_no_energy_where_friction_turns_the_slip_round():
    """A rod that strikes the ground obliquely. Newton's law of restitution and Coulomb's of friction together would
    give it 8 % more energy than it had (Kane and Levinson's paradox); of restitution, as much is left as keeps it."""
    m = ct.Mechanism("rod", gravity=(0, 0, 0))
    m.add_body("rod", mass=1.0, inertia=(1e-3, 1.0 / 12.0, 1.0 / 12.0))
    m.add_joint("move", "ground", "rod", ct.Sdof("dx", "dz", "ry"))
    m.add_frame("tip", "rod", ct.Pose(p=(0.5, 0, 0)))
    s, angle, mu, e = m.system(), 0.872, 0.5, 0.9
    q, v = np.array([0.0, 0.5 * np.sin(angle) + 0.01, angle]), np.array([-0.6, -1.0, 0.0])
    before = float(s.kinetic_energy(q, v))
    # The paradox: impulses of both laws for the mobility W of the tip, which sticks.
    x, z = 0.5 * np.cos(angle), -0.5 * np.sin(angle)
    W = np.eye(2) + 12.0 * np.outer((z, -x), (z, -x))
    u = v[:2]
    p = np.linalg.solve(W, -u * (1.0, 1.0 + e))
    assert abs(p[0]) < mu * p[1] and u @ p + 0.5 * p @ W @ p > 0.05 * before
    run = ct.simulate(s, q, v, 0.05, contacts=[ct.Contact("tip", friction=mu, restitution=e)])
    after = float(s.kinetic_energy(run.q[-1], run.v[-1]))
    assert after == pytest.approx(before, rel=1e-9)
    assert run.v[-1, 1] != pytest.approx(v[1], abs=0.1), "it bounced"
