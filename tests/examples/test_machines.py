"""What examples 05 to 08 simulate, against formulas written by hand: one equation of motion for the HSLM mechanism, leg
lengths by geometry, and the balance of forces on feet and on an object that is carried."""

import numpy as np
import pytest

import catena as ct
from benchmarks.examples import example
from catena.mechanism.generators.hslm import ACROSS, DROP

G = np.array([0.0, 0.0, -9.81])


def second_derivative(t, x):
    """Of x (samples, k) at all but two samples at each end, by central differences of fourth order."""
    h = t[1] - t[0]
    return (-x[4:] + 16 * x[3:-1] - 30 * x[2:-2] + 16 * x[1:-3] - x[:-4]) / (12 * h**2)


# 05: the symmetric motion of the HSLM mechanism has one coordinate, the height h of its member.

LENGTH, STEEP = np.hypot(ACROSS, DROP), np.arctan2(DROP, ACROSS)
RATE, KP, KI, KD = 1000.0, 800.0, 1000.0, 50.0


def slide_and_tip(h):
    return np.array([np.hypot(ACROSS, DROP - h) - LENGTH, np.arctan2(DROP - h, ACROSS) - STEEP])


def slopes(h):
    length = np.hypot(ACROSS, DROP - h)
    return np.array([-(DROP - h) / length, -ACROSS / length**2])


def acceleration(h, speed, forces):
    """M h'' = 3 (slide, tip forces) . slopes - V' - M' h'^2 / 2, with M' and V' by central differences."""

    def inertia(h):
        sine, turning = slopes(h)
        centre = 0.5 + np.hypot(ACROSS, DROP - h) - LENGTH
        return 6.5 + 3.0 * (2.0 * (sine**2 + (centre * turning) ** 2) + 0.5 * turning**2)

    def potential(h):
        length = np.hypot(ACROSS, DROP - h)
        return 10.0 * (6.5 * h - 6.0 * (0.5 + length - LENGTH) * (DROP - h) / length)

    e = 1e-5
    inertia_slope = (inertia(h + e) - inertia(h - e)) / (2 * e)
    weight = (potential(h + e) - potential(h - e)) / (2 * e)
    return (3.0 * forces @ slopes(h) - weight - inertia_slope * speed**2 / 2.0) / inertia(h)


def by_hand(targets, driven, z, h, speed, duration):
    """Heights, speeds and forces at the samples of a PID at 1 kHz whose integrals begin at z, with Runge-Kutta steps in
    between; `driven` picks slides or both."""
    step, states, forces = 1.0 / RATE, [], []
    for _ in range(round(duration * RATE) + 1):
        error = targets - slide_and_tip(h)
        tau = driven * (KP * error + z - KD * slopes(h) * speed)
        states.append((h, speed))
        forces.append(tau)
        z = z + KI * error / RATE
        rates = []
        for part in (0.0, 0.5, 0.5, 1.0):
            dh, dv = rates[-1] if rates else (0.0, 0.0)
            rates.append(
                (speed + part * step * dv, acceleration(h + part * step * dh, speed + part * step * dv, tau))
            )
        (h1, v1), (h2, v2), (h3, v3), (h4, v4) = rates
        h, speed = h + step / 6 * (h1 + 2 * h2 + 2 * h3 + h4), speed + step / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
    heights, speeds = np.array(states).T
    return heights, speeds, np.array(forces)


def forces_of(hslm, run):
    return np.stack([hslm.force(run, "slide2"), hslm.force(run, "tip2")], axis=-1)


def test_the_hslm_mechanism_falls_recovers_and_moves_as_one_equation_says():
    hslm = example("05_hslm_pid")
    s = ct.generators.hslm(driven_tips=True).system(cut=("hold2", "hold3"))
    fall = hslm.simulate(s, dict.fromkeys(hslm.SLIDES, 0.0) | dict.fromkeys(hslm.TIPS, (0.0, 0.0)))
    every = round(RATE * (fall.t[1] - fall.t[0]))
    heights, speeds, forces = by_hand(np.zeros(2), np.ones(2), np.zeros(2), 0.0, 0.0, hslm.DURATION)
    np.testing.assert_allclose(hslm.height(fall), heights[::every], atol=1e-10)
    np.testing.assert_allclose(forces_of(hslm, fall)[:-1], forces[:-1:every], atol=1e-6)
    assert -0.060 < heights.min() < -0.058 and abs(heights[-1]) < 1e-4

    exact = hslm.joints_at(hslm.UP)
    for joint, value in zip(("slide1", "tip1"), slide_and_tip(hslm.UP)):
        assert exact[joint][-1] == pytest.approx(value, abs=1e-12)
    # Contradicting targets drive the integrals apart for ever.
    rounded = {joint: np.round(x, 2) for joint, x in exact.items()}
    move = hslm.simulate(s, rounded, after=fall)
    targets = np.round(slide_and_tip(hslm.UP), 2)
    begin = forces_of(hslm, fall)[-1], heights[-1], speeds[-1]
    heights, _, forces = by_hand(targets, np.ones(2), *begin, hslm.DURATION)
    np.testing.assert_allclose(hslm.height(move), heights[::every], atol=1e-10)
    np.testing.assert_allclose(forces_of(hslm, move)[:-1], forces[:-1:every], atol=1e-6)


def test_slides_alone_move_the_hslm_mechanism_as_one_equation_says():
    hslm = example("05_hslm_pid")
    run = hslm.simulate(ct.generators.hslm().system(), {j: hslm.joints_at(hslm.UP)[j] for j in hslm.SLIDES})
    every = round(RATE * (run.t[1] - run.t[0]))
    hold = np.array([hslm.force(run, "slide1")[0] - KP * slide_and_tip(hslm.UP)[0], 0.0])
    assert acceleration(0.0, 0.0, hold) == pytest.approx(0.0, abs=1e-9)
    slides = np.array([1.0, 0.0])
    heights, _, forces = by_hand(slide_and_tip(hslm.UP), slides, hold, 0.0, 0.0, hslm.DURATION)
    np.testing.assert_allclose(hslm.height(run), heights[::every], atol=1e-10)
    np.testing.assert_allclose(hslm.force(run, "slide3")[:-1], forces[:-1:every, 0], atol=1e-6)
    assert heights[-1] == pytest.approx(hslm.UP, abs=1e-3)


# 06: a leg is as long as its ends are apart.


def test_the_stewart_platform_follows_its_path_with_legs_of_the_right_length():
    stewart = example("06_stewart_path")
    path = stewart.figure_of_eight()
    runs = stewart.fly(path)
    m = ct.generators.stewart()
    for words, limit in (("PID alone", 5.0), ("with forces known ahead", 1.0)):
        run = runs[words]
        assert stewart.distance(run, path.at(run.t).q).max() < limit
        platform = run.pose("platform")
        for k in range(1, 7):
            foot, head = m.joints[f"base{k}"].in_parent.p, m.joints[f"ball{k}"].in_child.p
            apart = np.linalg.norm(platform[:, :3, :3] @ head + platform[:, :3, 3] - foot, axis=-1)
            np.testing.assert_allclose(
                apart - m.joints[f"leg{k}"].in_parent.p[2], run[f"leg{k}"][:, 0], atol=1e-12
            )
    assert run.closure_error < 1e-12


# 07: the feet carry what the motion of the mass centre takes, and push.


def test_the_feet_of_the_walker_carry_it_and_do_not_pull():
    walker = example("07_walker_stands_up")
    m = ct.generators.walker()
    m.add_body("backpack", 5.0, inertia=0.03)
    m.add_joint("straps", "trunk", "backpack", ct.Fixed(), in_parent=ct.Pose(p=(-0.05, 0.0, 0.15)))
    s = m.system()
    path, start = walker.rising(s)
    run = walker.stand_up(s, ct.generators.walker().system(), path, start)
    feet = walker.foot_forces(s, run.q, run.reactions())
    mass = sum(body.mass for body in m.bodies.values())
    centre = s.center_of_mass(run.q)
    # Torques are held for 2 ms, so that accelerations jump and differences are good to a part of the weight.
    taken = mass * (second_derivative(run.t, centre) - G)
    np.testing.assert_allclose(feet.sum(axis=0)[2:-2], taken, atol=0.01 * mass * 9.81)
    # Almost at rest, their forces balance the weight and its moments.
    end = feet[:, -1]
    np.testing.assert_allclose(end.sum(axis=0), -mass * G, atol=0.1)
    where = np.array([m.joints[f"{leg}/contact"].in_parent.p for leg in walker.LEGS])
    np.testing.assert_allclose(np.cross(where, end).sum(axis=0), np.cross(centre[-1], -mass * G), atol=0.1)
    assert feet[..., 2].min() > 50.0 and walker.friction(feet).max() < walker.GRIP
    assert walker.height(s, run.q)[-1] == pytest.approx(walker.STANDING, abs=0.003)
    # What only pushes brakes by its weight at most: it cannot rise by d in less than sqrt(2 d / g). Along a quintic,
    # which brakes by 5.7735 d / T^2, the mass centre takes longer; joint angles along quintics are not far from that.
    light = ct.generators.walker().system()
    times, least = walker.how_fast(light, path)
    rise = np.ptp(light.center_of_mass(path.at(np.array([walker.BEGIN, walker.END])).q)[:, 2])
    fastest = np.interp(0.0, least, times)
    assert np.sqrt(2.0 * rise / 9.81) < fastest < 1.1 * np.sqrt(5.7735 * rise / 9.81)
    assert np.all(np.diff(least) > 0.0)


# 08: two hands move the object, and what they press against each other moves nothing.


def test_two_arms_lift_the_object_and_keep_their_squeeze():
    arms = example("08_two_arms_carry")
    m = ct.generators.arms_on_object(2)
    s = m.system(cut=["grip2"])
    path = arms.carrying(s)
    q, v, vdot = path.at(np.arange(0.0, arms.DURATION + 0.5 / arms.RATE, 1.0 / arms.RATE))
    smallest = s.inverse_dynamics(q, v, vdot)
    leaning = arms.squeeze(s, q, s.reactions(q, v, smallest))
    extra = arms.torques_of_squeeze(s, q, arms.SQUEEZE - leaning)
    np.testing.assert_allclose(s.forward_dynamics(q, v, smallest + extra), vdot, atol=1e-6)
    np.testing.assert_allclose(
        arms.squeeze(s, q, s.reactions(q, v, smallest + extra)), arms.SQUEEZE, atol=1e-6
    )
    # No other squeeze takes less torque than the smallest torques do.
    assert np.all(np.linalg.norm(smallest + extra, axis=-1) > np.linalg.norm(smallest, axis=-1))

    run = arms.carry(s, path, smallest + extra)
    reactions = run.reactions()
    hands = arms.hand_forces(s, run.q, reactions)
    taken = 10.0 * (second_derivative(run.t, run.position("object")) - G)
    np.testing.assert_allclose(hands.sum(axis=0)[2:-2], taken, atol=0.01 * 98.1)
    np.testing.assert_allclose(arms.squeeze(s, run.q, reactions), arms.SQUEEZE, atol=0.5)
    asked = s.pose(path.at(run.t).q, "object")[:, :3, 3]
    assert np.linalg.norm(run.position("object") - asked, axis=-1).max() < 1e-4
