"""The intervals in which forces of motors may lie while dry friction holds: against the principle of virtual power, and
against what friction does just inside and just outside of them."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, random_mechanism, stewart

LIMITS = {"A": 0.5, "B": 1.0, "C": 0.3, "D": 0.8}


def rubbing(m, limits, slips=1.0):
    """The mechanism whose joints hold with so much at rest, and slip with a part of it."""
    for joint, limit in limits.items():
        m = m.with_joint(joint, friction=slips * limit, static_friction=limit)
    return m


def assert_ends(s, q, motor, low, high, prescribed=None, others=None):
    """Just inside of each end everything is held, and just outside the motor begins to move that way."""
    still, middle = np.zeros(s.nv), 0.5 * (low + high)
    for end, way in ((low, -1.0), (high, 1.0)):
        for beyond in (-1e-6, 1e-6):
            force = {**(others or {}), motor: end + way * beyond * (high - low)}
            found = s.sticking(q, still, force, prescribed=prescribed)
            rise = way * s.joint_velocity(q, found.vdot, motor)[0]
            if beyond < 0.0:
                assert found.holds
            else:
                assert rise > 1e-9 and not found.holds
    assert low < middle < high


@pytest.mark.parametrize("cut", "ABCD")
def test_one_motor_on_a_four_bar_beats_what_all_joints_hold(cut):
    """By virtual power, the motor at A holds the weight and moves against the sum of each joint's friction times its
    velocity when A turns with 1 rad/s."""
    s, bare = (m.system(cut=[cut]) for m in (rubbing(four_bar(), LIMITS), four_bar()))
    q, still = s.assemble({"A": 0.9}), np.zeros(s.nv)
    low, high = s.inverse_dynamics_interval(q, still, still, actuated=["A"])["A"][0]
    easier = rubbing(four_bar(), LIMITS, 0.75).system(cut=[cut])
    slipping = easier.inverse_dynamics_interval(q, still, still, actuated=["A"])["A"][0]
    np.testing.assert_allclose(slipping, [low, high], rtol=1e-12)
    turning = s.velocity(q, {"A": 1.0})
    weight = bare.inverse_dynamics(q, still, still, actuated=["A"])["A"][0]
    holds = sum(limit * abs(s.joint_velocity(q, turning, j)[0]) for j, limit in LIMITS.items())
    np.testing.assert_allclose([low, high], [weight - holds, weight + holds], rtol=1e-11)
    assert_ends(s, q, "A", low, high)


@pytest.mark.parametrize("cut", "AD")
def test_what_moves_or_begins_to_takes_one_force(cut):
    s = rubbing(four_bar(), LIMITS).system(cut=[cut])
    q = np.array([s.assemble({"A": x}) for x in (0.4, 0.9)])
    for speed, push in ((0.0, 9.0), (0.7, 2.0), (-0.7, 2.0)):
        v = np.array([s.velocity(x, {"A": speed}) for x in q])
        found = s.sticking(q, v, {"A": push})
        assert not found.holds.any()
        ends = s.inverse_dynamics_interval(q, v, found.vdot, actuated=["A"])["A"]
        np.testing.assert_allclose(ends, np.full((2, 1, 2), push), rtol=1e-9)


def platform():
    m = stewart()
    held = [j.name for j in m.joints.values() if 0 < j.dof < 6]
    return rubbing(m, {name: 1.0 + 0.3 * k for k, name in enumerate(held)})


@pytest.mark.parametrize("legs", [(1,), pytest.param(range(6), marks=pytest.mark.slow)])
def test_a_leg_of_a_platform_begins_to_move_while_the_others_hold_it(legs):
    """Other motors give whatever keeps their legs where they are."""
    s = platform().system()
    names = [name for name in s.joints if name.startswith("leg")]
    q, _ = s.project(s.integrate(s.neutral(), 0.05 * np.cos(np.arange(s.nv))), np.zeros(s.nv))
    bounds = s.inverse_dynamics_interval(q, np.zeros(s.nv), np.zeros(s.nv))
    motors = s.plan.actuated
    assert np.isfinite(bounds).all() and not bounds[~motors].any()
    for k in legs:
        leg = names[k]
        low, high = bounds[s.slice_v(leg)][0]
        assert_ends(s, q, leg, low, high, {name: 0.0 for name in names if name != leg})


def loops_at_rest(seed):
    """A random mechanism with loops, its system, and a state at rest."""
    kinds = ["Revolute", "Universal", "Cylindrical", "Spherical", "Prismatic"]
    m, rng = random_mechanism(seed, 6, kinds, loops=1 + seed % 2), np.random.default_rng(seed)
    base = m.system()
    q, _ = base.project(base.integrate(base.neutral(), 0.2 * rng.standard_normal(base.nv)), np.zeros(base.nv))
    still = np.zeros(base.nv)
    return m, base, q, still


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3, 4, 6, 8, 9))]
)
def test_one_motor_where_friction_holds_other_freedoms(seed):
    """Loops with several freedoms, which friction holds against their weight with little to spare: linear programmes
    say what the motor may give besides, the same for all cuts."""
    m, base, q, still = loops_at_rest(seed)
    for joint, force in base.inverse_dynamics(q, still, still, actuated=list(base.joints)).items():
        if m.joints[joint].dof < 6:
            m = rubbing(m, {joint: 1.2 * float(np.abs(force).max()) + 0.01})
    for joint in base.loops:
        m = rubbing(m, {joint: 0.3})
    s, tried = m.system(cut=base.plan.cut), 0
    for motor in [name for name in s.joints if m.joints[name].dof == 1]:
        ends = s.inverse_dynamics_interval(q, still, still, actuated=[motor])[motor][0]
        if not np.isfinite(ends).all():
            # Loops hold it still.
            continue
        assert_ends(s, q, motor, *ends)
        tried += 1
        for cut in m.joints:
            try:
                other = m.system(cut=[cut])
            except ct.CatenaError:
                continue
            there, none = ct.transfer(s, q, still, other).q, np.zeros(other.nv)
            again = other.inverse_dynamics_interval(there, none, none, actuated=[motor])[motor][0]
            np.testing.assert_allclose(again, ends, rtol=1e-7, atol=1e-7)
    assert tried > 0


def test_motors_that_hold_against_each_other_have_no_bounds_and_others_are_told_why():
    m = rubbing(four_bar(), LIMITS)
    s = m.system(cut=["D"])
    q, still = s.assemble({"A": 0.9}), np.zeros(s.nv)
    assert np.isinf(s.inverse_dynamics_interval(q, still, still)).all()
    weak = m.with_joint("A", actuated=False).with_joint("B", actuated=False).with_joint("C", actuated=False)
    with pytest.raises(ct.LoopError, match="not even with all that dry friction holds"):
        weak.system(cut=["D"]).inverse_dynamics_interval(q, still, still)
    strong = rubbing(weak, {"A": 60.0}).system(cut=["D"])
    np.testing.assert_array_equal(strong.inverse_dynamics_interval(q, still, still), np.zeros((3, 2)))
    with pytest.raises(ct.LoopError, match="cannot produce this motion"):
        four_bar().system(cut=["D"]).inverse_dynamics_interval(q, still, still, actuated=[])


RADII = {"A": (0.2, 0.03), "B": (0.3, 0.05), "C": (0.25, 0.04), "D": (0.2, 0.06)}


def loaded(static=1.0):
    """A four-bar whose pins rub by what they bear, two of them with a constant part besides."""
    m = rubbing(four_bar(), {"B": 0.2, "D": 0.1})
    for joint, (mu, radius) in RADII.items():
        m = m.with_joint(joint, load_friction=ct.BearingFriction(mu, radius, static_mu=static * mu))
    return m


@pytest.mark.parametrize("motor", ["A", pytest.param("C", marks=pytest.mark.slow)])
def test_friction_by_load_at_an_end_is_what_the_forces_at_this_end_make(motor):
    """What friction gives there is mu r of what a linkage without friction passes through its pins under these forces,
    which do not move it; the same for all cuts, of pins with more friction at rest too."""
    bare, (m, more) = four_bar(), (loaded(), loaded(1.5))
    found = []
    for cut in "ABCD":
        s, plain = m.system(cut=[cut]), bare.system(cut=[cut])
        q, still = s.assemble({"A": 0.9}), np.zeros(s.nv)
        found.append(s.inverse_dynamics_interval(q, still, still, actuated=[motor])[motor][0])
        for end, way in zip(found[-1], (-1.0, 1.0), strict=True):
            moves = s.velocity(q, {motor: way})
            # A hair beyond the end everything slips, and nearly nothing accelerates.
            at = s.sticking(q, still, {motor: end + 1e-9 * way})
            forces = {j: at.at_loops[j] if j in s.loops else at.force[s.slice_v(j)] for j in "ABCD"}
            borne = plain.reactions(q, still, {**forces, motor: forces[motor] + end})
            for joint, (mu, radius) in RADII.items():
                takes = {"B": 0.2, "D": 0.1}.get(joint, 0.0) + mu * radius * np.linalg.norm(borne[joint][3:])
                against = -np.sign(s.joint_velocity(q, moves, joint))
                np.testing.assert_allclose(forces[joint], against * takes, rtol=1e-7)
            still_still = plain.forward_dynamics(q, still, {**forces, motor: forces[motor] + end})
            assert np.abs(still_still).max() < 1e-7
    np.testing.assert_allclose(found[1:], [found[0]] * 3, rtol=1e-11)
    s = more.system(cut=["D"])
    low, high = s.inverse_dynamics_interval(q, np.zeros(s.nv), np.zeros(s.nv), actuated=[motor])[motor][0]
    assert low < found[0][0] and high > found[0][1]
    assert_ends(s, q, motor, low, high)


@pytest.mark.slow
@pytest.mark.parametrize("cut", "AC")
def test_runs_stay_where_friction_by_load_can_hold_and_leave_where_it_cannot(cut):
    s, rng = loaded().system(cut=[cut]), np.random.default_rng(0)
    still = np.zeros(s.nv)
    for angle in rng.uniform(0.3, 2.5, 4):
        q = s.assemble({"A": angle})
        low, high = s.inverse_dynamics_interval(q, still, still, actuated=["A"])["A"][0]
        for part in (-1e-6, 1e-6, rng.uniform(), 1.0 - 1e-6, 1.0 + 1e-6):
            push = low + part * (high - low)
            run = ct.simulate(s, q, still, 0.3, control={"A": push}, samples=3, check=False)
            assert (np.abs(run.q[-1] - q).max() < 1e-9) == (0.0 < part < 1.0)


def test_friction_by_load_of_what_moves_or_begins_to_takes_one_force():
    s = loaded(1.5).system(cut=["B"])
    q = np.array([s.assemble({"A": x}) for x in (0.4, 0.9)])
    for speed, push in ((0.0, 9.0), (0.7, 2.0)):
        v = np.array([s.velocity(x, {"A": speed}) for x in q])
        found = s.sticking(q, v, {"A": push})
        ends = s.inverse_dynamics_interval(q, v, found.vdot, actuated=["A"])["A"]
        np.testing.assert_allclose(ends, np.full((2, 1, 2), push), rtol=1e-8)


def sliding(joint):
    """Friction by load of all components of a joint."""
    motions = joint.kind.motion_space(joint.kind.neutral()).array
    return [
        ct.BearingFriction(0.1, 0.05) if column[:3].any() else ct.SlideFriction(0.1) for column in motions.T
    ]


@pytest.mark.parametrize("seed", [2, *(pytest.param(k, marks=pytest.mark.slow) for k in (0, 1, 3, 4, 6, 8))])
def test_one_motor_where_friction_by_load_holds_other_freedoms(seed):
    m, base, q, still = loops_at_rest(seed)
    for joint, force in base.inverse_dynamics(q, still, still, actuated=list(base.joints)).items():
        if m.joints[joint].dof < 6:
            m = rubbing(m, {joint: 1.2 * float(np.abs(force).max()) + 0.01})
            m = m.with_joint(joint, load_friction=sliding(m.joints[joint]))
    s = m.system(cut=base.plan.cut)
    tried = 0
    for motor in [name for name in s.joints if m.joints[name].dof == 1]:
        ends = s.inverse_dynamics_interval(q, still, still, actuated=[motor])[motor][0]
        if np.isfinite(ends).all():
            assert_ends(s, q, motor, *ends)
            tried += 1
    assert tried > 0
