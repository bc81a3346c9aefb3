"""Van der Merwe, section 8.2.1: the high stiffness low mass mechanism, to the printed digits, and away from the printed
position against one equation written by hand."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import hslm
from catena.mechanism.generators.hslm import ACROSS, DROP, HAND, HOLDS, TURNS
from catena.mechanism.notations.sdof import add_sdof_chain

CHAINS = (1, 2, 3)
INERTIAL = ("mass", "com", "inertia")
METHODS = ["auto", "kkt", "absolute", "joint_multipliers", "minimal", "reference_member"]
FALL = {"base": [0, -3.6239142], "slide": [9.2218498], "tip": [0, 3.6239142]}  # (8.7)
HOLD = {"base": [0, 6.3164555], "slide": [-41.113563], "tip": [0, 0.25]}  # (8.8)


@pytest.fixture(params=[(), ("hold2", "hold3")], ids=["least plan", "welds cut"])
def system(request):
    return hslm().system(cut=request.param)


def height_of(system, q):
    return system.pose(q, "member").p[1]


def test_the_least_plan_has_all_slides_and_the_other_all_coordinates():
    least, whole = hslm().system(), hslm().system(cut=("hold2", "hold3"))
    assert (least.nv, least.loops) == (11, ("tip2", "tip3"))
    assert (whole.nv, whole.loops) == (15, ("hold2", "hold3"))


def test_it_is_closed_and_has_three_freedoms(system):
    q = system.neutral()
    np.testing.assert_allclose(system.closure(q)[0], 0.0, atol=1e-15)
    diagnosis = system.diagnose(q)
    assert diagnosis.mobility == 3 and diagnosis.rank == system.plan.total_constraints


def test_the_joint_parameters_of_the_default_position():
    system = hslm().system()
    q = system.neutral()
    for k in CHAINS:
        leg = system.pose(q, f"leg{k}")
        tip = system.pose(q, f"hand{k}").p
        assert np.linalg.norm(tip - leg.p) == pytest.approx(1.0874871, abs=5e-8)
        assert np.arcsin(leg.R[1, 0]) == pytest.approx(-1.1669367, abs=5e-8)
    bases = [system.pose(q, f"gimbal{k}").p for k in CHAINS]
    expected = [[-0.5066987, 1, -0.2886751], [0.5066987, 1, -0.2886751], [0, 1, 0.5773502]]
    np.testing.assert_allclose(bases, expected, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_it_falls_as_printed(system, method):
    q, rest = system.neutral(), np.zeros(system.nv)
    vdot = system.forward_dynamics(q, rest, method=method)
    for joint in system.joints:
        np.testing.assert_allclose(vdot[system.slice_v(joint)], FALL[joint[:-1]], atol=5e-8)
    np.testing.assert_allclose(system.jacobian(q, "member") @ vdot, [0, 0, 0, 0, -10.0286429, 0], atol=6e-8)


def test_each_chain_pushes_the_member_down_as_printed(system):
    reactions = system.reactions(system.neutral(), np.zeros(system.nv))
    for k in CHAINS:
        assert reactions[f"hold{k}"][4] == pytest.approx(-0.0477382, abs=5e-8)


@pytest.mark.parametrize("method", METHODS)
def test_the_printed_forces_hold_it(method):
    system = hslm().system(cut=("hold2", "hold3"))
    tau = np.zeros(system.nv)
    for joint in system.joints:
        tau[system.slice_v(joint)] = HOLD[joint[:-1]]
    vdot = system.forward_dynamics(system.neutral(), np.zeros(system.nv), tau, method=method)
    # Forces of seven or eight digits leave this much.
    np.testing.assert_allclose(vdot, 0.0, atol=2e-7)


def test_the_slides_alone_hold_it_with_what_virtual_work_says():
    """Lifting by dh takes 10 N/kg times the mass of the member, the hands and the legs as far as each rises."""
    system = hslm().system()
    rest = np.zeros(system.nv)
    tau = system.inverse_dynamics(system.neutral(), rest, rest)
    length = np.hypot(ACROSS, DROP)
    sine, cosine = DROP / length, ACROSS / length
    # A leg slides up by sine dh and turns by cosine dh / length about its base, its mass centre 0.5 m from there.
    rise = 5.0 + 3 * 0.5 + 3 * 2.0 * (sine**2 + 0.5 * cosine**2 / length)
    for joint in system.joints:
        expected = -10.0 * rise / (3.0 * sine) if joint.startswith("slide") else 0.0
        np.testing.assert_allclose(tau[system.slice_v(joint)], expected, atol=1e-12)


def test_its_own_tables_have_the_same_forces_with_a_motor_in_a_part_of_each_first_joint(system):
    """Joint 1 of each chain turns twice and slides, and the slide alone is driven: the same forces as where each
    motion is a joint, at rest and for the motion that they make."""
    m = ct.Mechanism("HSLM by tables", gravity=(0.0, -10.0, 0.0))
    m.add_body("member", 5.0, inertia=0.01)
    length, tilt = np.hypot(ACROSS, DROP), np.arctan2(DROP, ACROSS)
    for k, (hold, turn) in enumerate(zip(HOLDS, TURNS, strict=True), 1):
        held = ct.Pose(p=hold, rpy=(0.0, turn, 0.0))
        base = ct.Pose(p=(held * ct.Pose(p=(-HAND - ACROSS, DROP, 0.0))).p)
        gammas = [(0.0, turn, -tilt, length, 0.0, 0.0), (0.0, 0.0, tilt, HAND, 0.0, 0.0)]
        phis = [("ry", "rz", "dx"), ("ry", "rz")]
        body = system.mechanism.bodies
        last = add_sdof_chain(
            m, gammas, phis, *([getattr(body[f"{part}{k}"], what) for part in ("leg", "hand")] for what in INERTIAL),
            base=base, prefix=f"{k} ",
        )  # fmt: skip
        m.add_joint(f"{k} hold", last, "member", ct.Fixed(), ct.Pose(p=(HAND, 0.0, 0.0)), held)
        m = m.with_joint(f"{k} joint1", actuated=(False, False, True)).with_joint(
            f"{k} joint2", actuated=False
        )
    tables = m.system(cut=("2 hold", "3 hold"))
    q = tables.assemble()
    rest = np.zeros(tables.nv)
    expected = system.inverse_dynamics(system.neutral(), np.zeros(system.nv), np.zeros(system.nv))
    push = np.array([expected[system.slice_v(f"slide{k}")][0] for k in CHAINS])
    for factor in (1.0, 0.7):
        given = {f"{k} joint1": (0.0, 0.0, factor * x) for k, x in zip(CHAINS, push, strict=True)}
        vdot = tables.forward_dynamics(q, rest, given)
        assert factor != 1.0 or np.abs(vdot).max() < 1e-8
        tau = tables.inverse_dynamics(q, rest, vdot)
        for joint in tables.joints:
            np.testing.assert_allclose(tau[tables.slice_v(joint)], given.get(joint, 0.0), atol=1e-8)
    # The least plan closes its loops at two of these joints.
    least = m.system()
    still = np.zeros(least.nv)
    named = least.inverse_dynamics(least.assemble(), still, still, actuated=[f"{k} joint1" for k in CHAINS])
    for k, x in zip(CHAINS, push, strict=True):
        np.testing.assert_allclose(named[f"{k} joint1"], (0.0, 0.0, x), atol=1e-8)
    sideways = np.zeros(tables.nv)
    sideways[tables.slice_v("1 joint1")] = (1.0, 0.0, 0.0)
    with pytest.raises(ct.LoopError, match="open|loop"):
        tables.inverse_dynamics(q, rest, sideways)


@pytest.mark.parametrize(("height", "speed"), [(-0.1, 0.3), (0.25, -0.7), (0.4, 0.0)])
def test_away_from_the_default_position_it_falls_as_lagrange_says(system, height, speed):
    """d/dt (M(h) dh/dt) = M'(h) (dh/dt)^2 / 2 - V'(h) for the one coordinate of symmetric motion."""

    def inertia(h):
        length = np.hypot(ACROSS, DROP - h)
        sine, cosine = (DROP - h) / length, ACROSS / length
        centre = 0.5 + length - np.hypot(ACROSS, DROP)
        return 6.5 + 3 * (2.0 * (sine**2 + (centre * cosine / length) ** 2) + 0.5 * (cosine / length) ** 2)

    def potential(h):
        length = np.hypot(ACROSS, DROP - h)
        centre = 0.5 + length - np.hypot(ACROSS, DROP)
        return 10.0 * (6.5 * h + 3 * 2.0 * (DROP - centre * (DROP - h) / length))

    step = 1e-5
    slope = (inertia(height + step) - inertia(height - step)) / (2 * step)
    force = (potential(height + step) - potential(height - step)) / (2 * step)
    expected = (-slope * speed**2 / 2 - force) / inertia(height)

    longer = np.hypot(ACROSS, DROP - height) - np.hypot(ACROSS, DROP)
    rate = -speed * (DROP - height) / np.hypot(ACROSS, DROP - height)
    # Slides of equal length allow a tilted member too, so the legs are told how steep they are.
    steeper = np.arctan2(DROP, ACROSS) - np.arctan2(DROP - height, ACROSS)
    legs = {f"slide{k}": longer for k in CHAINS} | {f"base{k}": (0.0, steeper) for k in CHAINS}
    q = system.assemble(legs)
    v = system.velocity(q, {f"slide{k}": rate for k in CHAINS})
    assert height_of(system, q) == pytest.approx(height, abs=1e-12)
    vdot = system.forward_dynamics(q, v)
    found = system.jacobian(q, "member") @ vdot + system.bias_acceleration(q, v, "member")
    np.testing.assert_allclose(found[:3], 0.0, atol=1e-9)
    assert found[4] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("legs", "drop", "across"), [(3, DROP, ACROSS), (4, 0.8, 0.5), (6, 1.2, 0.3)])
def test_other_legs_let_the_member_fall_as_one_equation_says(legs, drop, across):
    """At rest the member falls straight down: a leg of 2 kg slides by sin(alpha) and turns by cos(alpha) / length for
    each metre, with its mass centre 0.5 m from its base."""
    system = hslm(legs=legs, drop=drop, across=across).system()
    q, rest = system.neutral(), np.zeros(system.nv)
    assert np.abs(system.closure(q)[0]).max() < 1e-15
    assert system.diagnose(q).mobility == 3
    length = np.hypot(across, drop)
    slides, turns = drop / length, across / length / length
    inertia = 5.0 + legs * (0.5 + 2.0 * (slides**2 + (0.5 * turns) ** 2) + 0.5 * turns**2)
    weight = 10.0 * (5.0 + legs * (0.5 + 2.0 * (slides**2 + 0.5 * turns * across / length)))
    found = system.jacobian(q, "member") @ system.forward_dynamics(q, rest)
    np.testing.assert_allclose(found, [0, 0, 0, 0, -weight / inertia, 0], atol=1e-9)


def test_impossible_legs_are_refused():
    with pytest.raises(ct.ModelError, match="three legs or more"):
        hslm(legs=2)
    with pytest.raises(ct.ModelError, match="above zero"):
        hslm(drop=0.0)
    with pytest.raises(ct.ModelError, match="legs is 'many': give a whole number"):
        hslm(legs="many")
