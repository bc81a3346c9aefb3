"""Contacts against problems whose solutions are known: a cradle, a ladder, turntables, an oscillator on a belt, a
shaken grain, a geared stop, a tippe top, a top on ice, and the woodpecker toy with its published limit cycle."""

import numpy as np
import pytest
from scipy.optimize import brentq

import catena as ct

G = 9.81
EXACT = {"rtol": 1e-9, "atol": 1e-11}


def test_newtons_cradle_hands_its_speed_from_ball_to_ball():
    """Balls of one mass with gaps between them: each stops where it hits, and the last one flies on."""
    m = ct.Mechanism("cradle", gravity=(0, 0, 0))
    count, radius, gap = 5, 0.02, 0.003
    for k in range(count):
        m.add_body(f"ball {k}", mass=0.3, inertia=1e-4)
        m.add_joint(f"slides {k}", "ground", f"ball {k}", ct.Prismatic("x"), actuated=False)
    s = m.system()
    touches = [
        ct.Contact(f"ball {k + 1}", on=f"ball {k}", radius=radius, on_radius=radius, restitution=1.0)
        for k in range(count - 1)
    ]
    q = (2 * radius + gap) * np.arange(count)
    q[0] -= 0.1
    run = ct.simulate(s, q, [2.0, 0, 0, 0, 0], 0.2, contacts=touches, **EXACT)
    hits = [change.t for change in run.transitions if change.impulse]
    np.testing.assert_allclose(hits, (0.1 + gap * np.arange(1, count)) / 2.0, rtol=1e-9)
    np.testing.assert_allclose(run.v[-1], [0, 0, 0, 0, 2.0], atol=1e-9)
    for k, change in enumerate(change for change in run.transitions if change.impulse):
        assert list(change.impulse) == [f"ball {k + 1}"]
        assert np.linalg.norm(change.impulse[f"ball {k + 1}"]) == pytest.approx(0.3 * 2.0, rel=1e-9)
        assert abs(change.energy_loss) < 1e-12


def test_a_ladder_leaves_the_wall_at_two_thirds_of_its_height():
    """Without friction its top leaves the wall where it has fallen by a third, with theta'^2 from its energy."""
    length, mass, start = 2.0, 5.0, 0.3
    m = ct.Mechanism("ladder")
    m.add_body("ladder", mass=mass, inertia=(mass * length**2 / 12,) * 2 + (1e-3,))
    m.add_joint("moves", "ground", "ladder", ct.Planar("y"), actuated=False)
    m.add_frame("foot", "ladder", ct.Pose(p=(0, 0, -length / 2)))
    m.add_frame("top", "ladder", ct.Pose(p=(0, 0, length / 2)))
    m.add_frame("wall", "ground", ct.Pose(rpy=(0, np.pi / 2, 0)))
    s = m.system()
    # Its top leans on the wall x = 0 and its foot is at x > 0.
    tilt = np.linalg.lstsq(s.jacobian(s.neutral(), "ladder"), [0, -start, 0, 0, 0, 0], rcond=None)[0]
    q = s.integrate(s.neutral(), tilt)
    there = np.array([length / 2 * np.sin(start), 0, length / 2 * np.cos(start)])
    J = s.jacobian(q, "ladder")
    q = s.integrate(q, np.linalg.lstsq(J, np.r_[0, 0, 0, s.pose(q, "ladder").R.T @ there], rcond=None)[0])
    run = ct.simulate(
        s, q, np.zeros(3), 1.2, contacts=[ct.Contact("foot"), ct.Contact("top", on="wall")], **EXACT
    )
    leaves = next(change for change in run.transitions if "top" in " ".join(change.told) and change.t > 0.0)
    state = run.at([leaves.t])
    theta = np.arccos(s.pose(state.q[0], "ladder").R[2, 2])
    assert np.cos(theta) == pytest.approx(2.0 / 3.0 * np.cos(start), rel=1e-6)
    rate = np.linalg.norm(s.twist(state.q[0], state.v[0], "ladder")[:3])
    assert rate**2 == pytest.approx(3 * G / length * (np.cos(start) - np.cos(theta)), rel=1e-6)
    # Behind it the mass centre keeps its speed along the floor.
    along = run.twist("ladder")
    level = np.einsum("tij,tj->ti", run.pose("ladder")[:, :3, :3], along[:, 3:])[:, 0]
    behind = (run.t > leaves.t + 1e-9) & run.contact("foot").touches
    np.testing.assert_allclose(level[behind], 0.5 * length * np.cos(theta) * np.sqrt(rate**2), rtol=1e-6)
    wall = run.contact("top")
    assert wall.normal_force.min() > -1e-6 * mass * G and wall.gap.min() > -1e-9


def turntable():
    """A table that turns about the vertical."""
    m = ct.Mechanism("turntable")
    m.add_body("table", mass=10.0, inertia=1.0)
    m.add_joint("turns", "ground", "table", ct.Revolute("z"))
    return m


def test_a_block_slips_from_a_turntable_when_its_acceleration_exceeds_friction():
    """On a table that spins up with alpha it slips where r sqrt(omega^4 + alpha^2) = mu g."""
    alpha, r, mu = 2.0, 0.5, 0.4
    m = turntable()
    m.add_body("block", mass=2.0, inertia=0.005)
    m.add_joint("moves", "ground", "block", ct.Sdof("dx", "dy", "dz"), actuated=False)
    s = m.system()
    q = s.neutral()
    q[s.slice_q("moves")] = [r, 0.0, 0.0]
    run = ct.simulate(
        s, q, np.zeros(s.nv), 1.5, contacts=[ct.Contact("block", on="table", friction=mu)],
        motion={"turns": lambda t: ([0.5 * alpha * t * t], [alpha * t], [alpha])}, **EXACT,
    )  # fmt: skip
    slips = next(change for change in run.transitions if "slide" in " ".join(change.told))
    assert slips.t == pytest.approx(((mu * G / r) ** 2 - alpha**2) ** 0.25 / alpha, rel=1e-6)
    block = run.contact("block")
    np.testing.assert_allclose(block.normal_force, 2.0 * G, rtol=1e-9)
    sticks = block.mode == "stick"
    needed = 2.0 * r * np.hypot((alpha * run.t) ** 2, alpha)
    np.testing.assert_allclose(np.linalg.norm(block.force[:, :2], axis=-1)[sticks], needed[sticks], rtol=1e-6)
    slides = block.mode == "slide"
    np.testing.assert_allclose(np.linalg.norm(block.force[:, :2], axis=-1)[slides], mu * 2.0 * G, rtol=1e-6)
    # Friction is against the slip; careful steps at the first slip tell the direction of their middle.
    fast = slides & (np.linalg.norm(block.slip, axis=-1) > 1e-3)
    pairs = block.force[fast][:, :2], block.slip[fast][:, :2]
    a, b = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in pairs)
    assert fast.sum() > 5
    np.testing.assert_allclose(a, -b, atol=1e-3)
    np.testing.assert_allclose(a[-40:], -b[-40:], atol=1e-6)


def test_a_ball_rolls_in_circles_on_a_turntable():
    """A solid ball on a table that turns with Omega rolls in a circle with 2/7 of it, wherever it began."""
    omega, radius, mass = 3.0, 0.05, 0.4
    m = turntable()
    m.add_body("ball", mass=mass, inertia=0.4 * mass * radius**2)
    m.add_joint("moves", "ground", "ball", ct.Free(), actuated=False)
    s = m.system()
    q, v = s.neutral(), np.zeros(s.nv)
    q[s.slice_q("moves")][:3] = [0.2, 0.0, radius]
    v[s.slice_v("turns")] = omega
    # At rest in space its point of contact must move as the table: the ball spins about x and y.
    velocity, at = np.array([0.05, 0.1, 0.0]), np.array([0.2, 0.0, 0.0])
    spin = np.cross([0, 0, 1.0], velocity - np.cross([0, 0, omega], at)) / radius
    v[s.slice_v("moves")] = [*spin, *velocity]
    run = ct.simulate(
        s, q, v, 2.5, contacts=[ct.Contact("ball", on="table", radius=radius, friction=0.9)],
        motion={"turns": lambda t: ([omega * t], [omega], [0.0])}, **EXACT,
    )  # fmt: skip
    assert set(run.contact("ball").mode) == {"stick"}
    slow = 2.0 / 7.0 * omega
    centre = at + np.cross([0, 0, 1.0], velocity) / slow
    turned = slow * run.t
    from_centre = at - centre
    x = centre[0] + np.cos(turned) * from_centre[0] - np.sin(turned) * from_centre[1]
    y = centre[1] + np.sin(turned) * from_centre[0] + np.cos(turned) * from_centre[1]
    np.testing.assert_allclose(run.position("ball")[:, :2], np.stack([x, y], axis=-1), atol=1e-7)


def test_a_block_on_a_spring_slips_on_a_belt_sticks_and_slips_again():
    """Friction pulls the block about x = mu g / w^2 with amplitude 0.03 m until it is as fast as the belt, which
    carries it to x = mu g / w^2; there the spring wins, and it swings with the amplitude u / w."""
    mu, w, u, a = 0.4, 10.0, 0.1, 0.03
    m = ct.Mechanism("block on a belt")
    m.add_body("belt", mass=1.0, inertia=0.1)
    m.add_joint("drive", "ground", "belt", ct.Prismatic("x"))
    m.add_body("block", mass=2.0, inertia=0.1)
    m.add_joint("moves", "ground", "block", ct.Sdof("dx", "dz"), actuated=False)
    m.add_frame("wall", "ground", ct.Pose(p=(-1.0, 0.0, 0.0)))
    m.add_spring_between("spring", "wall", "block", stiffness=2.0 * w * w, rest_length=1.0)
    s = m.system()
    middle = mu * G / w**2
    q, v = np.zeros(3), np.zeros(3)
    q[s.slice_q("moves")], v[s.slice_v("drive")] = [middle - a, 0.0], u
    path = ct.references.function(lambda t: u * t)
    feet = [ct.Contact("block", on="belt", friction=mu)]
    sticks = np.arcsin(u / (a * w)) / w
    slips = sticks + a * np.cos(w * sticks) / u
    times = np.linspace(0.0, slips + 2.5 / w, 201)
    run = ct.simulate(s, q, v, times[-1], contacts=feet, motion={"drive": path}, samples=times, **EXACT)
    changes = [(change.t, change.name) for change in run.transitions[-2:]]
    assert changes[0] == (pytest.approx(sticks, abs=1e-7), "block stops sliding")
    assert changes[1] == (pytest.approx(slips, abs=1e-6), "block slips")
    x = run["moves"][:, 0]
    expected = np.where(
        run.t < sticks, middle - a * np.cos(w * run.t),
        np.where(run.t < slips, middle + u * (run.t - slips), middle + u / w * np.sin(w * (run.t - slips))),
    )  # fmt: skip
    np.testing.assert_allclose(x, expected, atol=1e-7)


@pytest.mark.parametrize(("mu", "grips"), [(0.9, True), (0.1, False)])
def test_a_ball_with_spin_bounces(mu, grips):
    """Where it grips it leaves rolling: the slip w = v - r omega goes by a tangential impulse of 2/7 m w, else by one
    of mu (1 + e) m times the speed of the fall (Garwin's ball without elasticity along the floor)."""
    radius, mass, e, fall = 0.1, 0.5, 0.7, 2.0
    m = ct.Mechanism("ball with spin", gravity=(0, 0, 0))
    m.add_body("ball", mass=mass, inertia=0.4 * mass * radius**2)
    m.add_joint("moves", "ground", "ball", ct.Free(), actuated=False)
    along, spin = 1.5, -12.0
    contact = ct.Contact("ball", radius=radius, friction=mu, restitution=e)
    q, v = [0, 0, radius + 0.1, 1, 0, 0, 0], [0, spin, 0, along, 0, -fall]
    run = ct.simulate(m.system(), q, v, 0.1, contacts=[contact], **EXACT)
    slip = along - radius * spin
    impulse = 2.0 / 7.0 * slip if grips else mu * (1.0 + e) * fall
    end = run.twist("ball")[-1]
    at = run.pose("ball")[-1, :3, :3]
    np.testing.assert_allclose(at @ end[3:], [along - impulse, 0.0, e * fall], atol=1e-9)
    np.testing.assert_allclose(at @ end[:3], [0.0, spin + 2.5 * impulse / radius, 0.0], atol=1e-8)
    assert len(run.transitions) == 1


def test_a_grain_on_a_shaken_plate_leaves_and_lands_when_it_must():
    """It leaves where the plate falls with g, flies a parabola, and lands without a bounce, again and again."""
    amplitude, rate, end = 0.01, 50.0, 0.6
    m = ct.Mechanism("shaker")
    m.add_body("plate", mass=1.0, inertia=0.01)
    m.add_joint("shakes", "ground", "plate", ct.Prismatic("z"))
    m.add_body("grain", mass=0.001, inertia=1e-9)
    m.add_joint("flies", "ground", "grain", ct.Prismatic("z"), actuated=False)
    s = m.system()

    def plate(t):
        return amplitude * np.sin(rate * t)

    motion = {"shakes": lambda t: ([plate(t)], [amplitude * rate * np.cos(rate * t)],
                                   [-amplitude * rate**2 * np.sin(rate * t)])}  # fmt: skip
    run = ct.simulate(
        s, np.zeros(2), [amplitude * rate] * 2, end, contacts=[ct.Contact("grain", on="plate")],
        motion=motion, **EXACT,
    )  # fmt: skip
    expected, t, period = [], 0.0, 2 * np.pi / rate
    while t < end:
        phase = rate * t % (2 * np.pi)
        leave = np.arcsin(G / (amplitude * rate**2))
        wait = (leave - phase) if phase <= leave else (leave - phase + 2 * np.pi)
        if leave < phase < np.pi - leave:
            wait = 0.0
        t += wait / rate
        if t > end:
            break
        expected.append(t)
        z0, w0, t0 = plate(t), amplitude * rate * np.cos(rate * t), t

        def gap(x, z0=z0, w0=w0, t0=t0):
            return z0 + w0 * (x - t0) - 0.5 * G * (x - t0) ** 2 - plate(x)

        ahead = t0 + np.linspace(1e-3, 3 * period, 4000)
        first = next(k for k, x in enumerate(ahead) if gap(x) < 0.0)
        t = brentq(gap, ahead[first - 1], ahead[first], xtol=1e-14)
        if t > end:
            break
        expected.append(t)
    found = [change.t for change in run.transitions if change.t > 0.0]
    assert len(expected) > 6
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    for change in run.transitions:
        assert change.energy_loss > -1e-12


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_a_geared_stop_feels_the_inertia_behind_the_gear(restitution):
    """A flap at its stop: the rotor behind a gear of 5 gives the impulse (I_flap + 25 I_rotor) (1 + e) omega."""
    ratio, rotor, flap, rate = 5.0, 0.002, 0.03, 1.5
    m = ct.Mechanism("geared flap", gravity=(0, 0, 0))
    m.add_body("rotor", mass=0.5, inertia=rotor)
    m.add_joint("motor", "ground", "rotor", ct.Revolute("z"))
    m.add_body("flap", mass=0.5, inertia=flap)
    m.add_joint("hinge", "ground", "flap", ct.Revolute("z"), in_parent=ct.Pose(p=(0.2, 0, 0)), actuated=False)
    m.add_coupling("gear", {"motor": 1.0, "hinge": ratio})
    s = m.system(keep=["hinge"])
    q, v = s.assemble({"hinge": 0.0}), s.velocity(s.assemble({"hinge": 0.0}), {"hinge": rate})
    run = ct.simulate(s, q, v, 0.5, contacts=[ct.Stop("hinge", upper=0.3, restitution=restitution)], **EXACT)
    hit = next(change for change in run.transitions if change.impulse)
    assert hit.t == pytest.approx(0.3 / rate, rel=1e-8)
    inertia = flap + ratio**2 * rotor
    assert np.linalg.norm(hit.impulse["hinge upper"]) == pytest.approx(
        inertia * (1 + restitution) * rate, rel=1e-9
    )
    assert hit.energy_loss == pytest.approx(0.5 * inertia * rate**2 * (1 - restitution**2), rel=1e-9)
    assert run.velocity("motor")[-1, 0] == pytest.approx(ratio * restitution * rate, abs=1e-9)


def top(offset, friction):
    """A ball whose mass centre is below its middle, spinning fast and a little tilted, on a floor."""
    radius, mass, axial, across = 0.02, 0.02, 3.0e-6, 3.3e-6
    m = ct.Mechanism("tippe top")
    m.add_body("top", mass=mass, com=(0, 0, -offset), inertia=(across, across, axial))
    m.add_joint("moves", "ground", "top", ct.Free(), actuated=False)
    s = m.system()
    q = s.integrate(s.neutral(), [0.1, 0, 0, 0, 0, 0])
    q[2] = radius
    contact = ct.Contact("top", radius=radius, friction=friction)
    v = np.zeros(6)
    v[:3] = s.pose(q, "top").R.T @ [0, 0, 150.0]
    # The middle stays at rest at first.
    return s, q, v, contact, (radius, mass, axial, across, offset)


def momenta(run, numbers):
    """The angular momentum about the mass centre in ground, and the axis, along a run."""
    _, _, axial, across, _ = numbers
    R = run.pose("top")[:, :3, :3]
    w = run.twist("top")[:, :3]
    return np.einsum("tij,tj->ti", R, w * [across, across, axial]), R[:, :, 2]


def test_a_tippe_top_keeps_jelletts_integral():
    """The angular momentum about its mass centre, along the line from there to where it touches, does not change
    however it slips, and friction takes energy all the time."""
    s, q, v, contact, numbers = top(0.003, 0.3)
    run = ct.simulate(s, q, v, 0.5, contacts=[contact], rtol=1e-8, atol=1e-10)
    radius, *_, offset = numbers
    L, axis = momenta(run, numbers)
    # From the mass centre to the point of contact: the middle is `offset` along the axis, the point below it.
    to_point = offset * axis - radius * np.array([0, 0, 1.0])
    jellett = (L * to_point).sum(axis=-1)
    np.testing.assert_allclose(jellett, jellett[0], rtol=1e-6)
    assert "slide" in set(run.contact("top").mode)
    assert run.energy[-1] < run.energy[0] and np.diff(run.energy).max() < 1e-9 * abs(run.energy[0])
    assert axis[-1, 2] < axis[0, 2]


def test_a_top_on_ice_keeps_both_its_momenta_and_its_energy():
    s, q, v, contact, numbers = top(0.003, 0.0)
    run = ct.simulate(s, q, v, 0.3, contacts=[contact], **EXACT)
    L, axis = momenta(run, numbers)
    for kept in (L[:, 2], (L * axis).sum(axis=-1), run.energy):
        np.testing.assert_allclose(kept, kept[0], rtol=1e-8)
    assert np.ptp(axis[:, 2]) > 1e-4


def woodpecker():
    """Glocker's model of the toy, whose kinematics are linear in y, phi_M and phi_S: slides stand for turns, and
    carriages that couplings lead are the points that touch the pole."""
    m_M, J_M, m_S, J_S = 3.0e-4, 5.0e-9, 4.5e-3, 7.0e-7
    r_0, r_M, h_M, l_M, l_G, h_S, l_S = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201
    c = 0.0056
    m = ct.Mechanism("woodpecker")
    m.add_body("sleeve", mass=m_M, inertia=1e-9)
    m.add_joint("y", "ground", "sleeve", ct.Prismatic("z"), actuated=False)
    m.add_body("sleeve turns", mass=J_M, inertia=1e-9)
    m.add_joint("phi_M", "ground", "sleeve turns", ct.Prismatic("x"), actuated=False)
    m.add_body("bird turns", mass=J_S, inertia=1e-9)
    m.add_joint("bend", "sleeve turns", "bird turns", ct.Prismatic("x"), actuated=False)
    m.add_spring("spring", "bend", stiffness=c)
    m.add_body("bird", mass=m_S, inertia=1e-9)
    m.add_joint("falls", "ground", "bird", ct.Prismatic("z"), actuated=False)
    # phi_S = phi_M + bend.
    m.add_coupling("neck", {"falls": -1.0, "y": 1.0, "phi_M": l_M + l_G, "bend": l_G})
    points = {
        "beak": ({"y": 1.0, "phi_M": l_M + l_G - l_S, "bend": l_G - l_S}, {"phi_M": -h_S, "bend": -h_S},
                 l_M + l_G - l_S - r_0, 0.5),
        "upper": ({"y": 1.0, "phi_M": r_M}, {"phi_M": -h_M}, r_M - r_0, 0.0),
        "lower": ({"y": 1.0, "phi_M": r_M}, {"phi_M": h_M}, r_M - r_0, 0.0),
    }  # fmt: skip
    contacts = []
    m.add_frame("pole", "ground", ct.Pose(rpy=(0, np.pi / 2, 0)))
    for name, (along, away, gap, e) in points.items():
        m.add_body(f"{name} rides", mass=1e-12, inertia=1e-12)
        m.add_joint(f"{name} along", "ground", f"{name} rides", ct.Prismatic("z"), actuated=False)
        m.add_body(name, mass=1e-12, inertia=1e-12)
        m.add_joint(f"{name} away", f"{name} rides", name, ct.Prismatic("x"), actuated=False)
        m.add_coupling(f"{name} follows", {f"{name} along": -1.0, **along})
        m.add_coupling(f"{name} keeps off", {f"{name} away": -1.0, **away}, offset=-gap)
        contacts.append(ct.Contact(name, on="pole", friction=0.3, restitution=e))
    return m, contacts


def test_the_woodpecker_toy_pecks_in_its_published_limit_cycle():
    """Started on the cycle that Glocker published (phi_S = -0.2788, y' = -0.3411, phi_S' = -7.4583, the sleeve sliding
    on its lower edge) it is there again after each peck of 0.146 s."""
    m, contacts = woodpecker()
    s = m.system(keep=["y", "phi_M", "bend"])
    # Printed as -0.1036: the angle at which the lower edge touches.
    jammed = -(0.0031 - 0.0025) / 0.0058
    q = s.assemble({"y": 0.0, "phi_M": jammed, "bend": -0.2788 - jammed})
    v = s.velocity(q, {"y": -0.3411, "phi_M": 0.0, "bend": -7.4583})
    run = ct.simulate(s, q, v, 0.45, contacts=contacts, rtol=1e-8, atol=1e-11)
    holds = [change.t for change in run.transitions if change.name == "lower stops sliding"]
    assert len(holds) == 3 and np.diff(holds).mean() == pytest.approx(0.1460, abs=2e-4)
    names = [change.name for change in run.transitions if holds[0] <= change.t < holds[2]]
    assert names == 2 * [
        "lower stops sliding", "lower slips", "lower lifts", "upper touches", "beak touches", "upper touches",
        "upper lifts", "lower touches", "lower touches",
    ]  # fmt: skip
    after = run.at(np.diff(holds).mean() * np.array([1.0, 2.0]))
    y, phi_M, bend = (after.q[:, s.slice_q(name).start] for name in ("y", "phi_M", "bend"))
    np.testing.assert_allclose(phi_M, jammed, atol=1e-8)
    np.testing.assert_allclose(phi_M + bend, -0.2788, atol=2e-3)
    fallen = y
    assert fallen[1] == pytest.approx(2.0 * fallen[0], rel=1e-2) and fallen[0] < -0.003
    # What it falls by pays for friction and impacts: energy only ever goes.
    assert np.diff(run.energy).max() < 1e-9 * np.ptp(run.energy)
    assert all(change.energy_loss >= 0.0 for change in run.transitions)


def test_a_box_comes_to_rest_in_a_trough():
    """Two planes that meet in a valley of 90 degrees, tilted unevenly: without friction each bears the weight's part
    along its normal, and all four corners of the two lower edges stay on their planes."""
    m = ct.Mechanism("trough")
    for name, roll in (("left", 0.5), ("right", 0.5 - np.pi / 2)):
        m.add_frame(name, "ground", ct.Pose(rpy=(roll, 0, 0)))
    m.add_body("box", mass=3.0, inertia=0.02)
    m.add_collision("box", ct.shapes.Box((0.3, 0.2, 0.2)))
    m.add_joint("moves", "ground", "box", ct.Free(), actuated=False)
    contacts = ct.contacts_of(m, on=["left", "right"], friction=0.0)
    assert len(contacts) == 16 and {c.on for c in contacts} == {"left", "right"}
    s = m.system()
    q = s.integrate(s.neutral(), [0.5, 0, 0, 0, 0, 0])
    normals = [np.array([0, -np.sin(roll), np.cos(roll)]) for roll in (0.5, 0.5 - np.pi / 2)]
    q[:3] = (0.1 + 1e-3) * (normals[0] + normals[1])
    run = ct.simulate(s, q, np.zeros(6), 0.4, contacts=contacts)
    assert np.abs(run.v[-1]).max() < 1e-6
    for plane, normal in zip(("left", "right"), normals, strict=True):
        pressed = sum(run.contact_forces[c.label][-1, 2] for c in contacts if c.on == plane)
        assert pressed == pytest.approx(3.0 * G * normal[2], rel=1e-6)
