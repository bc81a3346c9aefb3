"""Friction in proportion to the load of joints: closed forms, a plain fixed point over reactions in absolute
coordinates, other plans, and words where there is no answer."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catena as ct
from catena.errors import ModelError, SimulationError
from catena.mechanism.generators import four_bar

G, MU, RADIUS = 9.81, 0.3, 0.05


def pendulum(**options):
    m = ct.Mechanism("pendulum")
    m.add_body("bob", mass=1.3, com=(0.0, 0.0, -0.7), inertia=0.1)
    m.add_joint(
        "pin", "ground", "bob", ct.Revolute("y"), load_friction=ct.BearingFriction(MU, RADIUS, **options)
    )
    return m


def swings(angle):
    """When and where a pendulum in a journal bearing turns round, until it stays: mu r |F| of the force in the pin."""
    inertia, found, t = 0.1 + 1.3 * 0.49, [], 0.0

    def rate(_, y, sense):
        a = 0.0
        for _ in range(40):
            force = np.hypot(G * np.cos(y[0]) + 0.7 * y[1] ** 2, G * np.sin(y[0]) + 0.7 * a)
            a = -(1.3 * G * 0.7 * np.sin(y[0]) + sense * MU * RADIUS * 1.3 * force) / inertia
        return y[1], a

    while 1.3 * G * 0.7 * abs(np.sin(angle)) > MU * RADIUS * 1.3 * G:
        sense = -np.sign(angle)

        def turns(_, y, sense):
            return y[1]

        turns.terminal, turns.direction = True, -sense
        sol = solve_ivp(
            rate, (t, t + 5.0), (angle, 0.0), "DOP853", rtol=1e-12, atol=1e-14, events=turns, args=(sense,),
            first_step=1e-5,
        )  # fmt: skip
        t, angle = sol.t[-1], sol.y[0, -1]
        found.append((t, angle))
    return found


@pytest.mark.parametrize("options", [{}, {"integrator": "rk4", "step": 2e-3}])
def test_a_pendulum_in_a_journal_bearing_swings_to_rest_inside_its_circle_of_friction(options):
    expected = swings(0.3)
    run = ct.simulate(pendulum().system(), [0.3], [0.0], expected[-1][0] + 10.0, **options)
    bound = 1e-8 if not options else 1e-5
    for t, angle in expected:
        assert run.at(t)[0][0] == pytest.approx(angle, abs=bound)
    at_rest = run.t > expected[-1][0] + 1e-3
    assert at_rest.sum() > 2 and np.ptp(run.q[at_rest]) == 0.0 and not run.v[at_rest].any()
    assert run.audit().ok
    # What holds goes through the middle of the pin, by no more than mu r.
    wrench = run.reactions()["pin"][-1]
    assert abs(wrench[1]) <= MU * RADIUS * np.linalg.norm(wrench[3:]) and abs(wrench[1]) > 0.0


def test_more_holds_at_rest_and_falls_with_the_slip():
    m = pendulum(static_mu=0.6)
    s = m.system()
    limit = MU * RADIUS * 1.3 * G
    assert s.sticking([0.01], [0.0]).limit[0] == pytest.approx(2.0 * limit)
    angle = np.arcsin(1.5 * MU * RADIUS / 0.7)
    assert s.sticking([angle], [0.0]).holds and not pendulum().system().sticking([angle], [0.0]).holds
    slow = m.with_joint("pin", stribeck_velocity=0.1).system()
    found = slow.sticking([0.0], [0.1])
    carried = 1.3 * np.hypot(G + 0.7 * 0.01, 0.7 * found.vdot[0])
    assert -found.force[0] == pytest.approx(1.5 * MU * RADIUS * carried, rel=1e-9)


def drawer(mu, push, length=0.2, offset=0.5, speed=0.0, at_mass=False):
    """A drawer of 2 kg in a guide, pushed along it at an offset, or with its mass there and pushed in the guide."""
    m = ct.Mechanism("drawer", gravity=(0.0, 0.0, 0.0))
    m.add_body("drawer", mass=2.0, com=(0.0, offset if at_mass else 0.0, 0.0), inertia=0.1)
    m.add_joint(
        "guide", "ground", "drawer", ct.Prismatic("x"), load_friction=ct.SlideFriction(mu, length=length)
    )
    m.add_frame("handle", "drawer", ct.Pose(p=(0.0, 0.0 if at_mass else offset, 0.0)))
    m.add_wrench("push", "handle", force=(push, 0.0, 0.0))
    return m.system()


def test_a_drawer_locks_itself_where_twice_mu_times_the_offset_reaches_its_length():
    """f = 2 mu P d / l against P, whatever the push: the threshold is mu = l / (2 d)."""
    threshold = 0.2 / (2.0 * 0.5)
    for push in (3.0, -700.0):
        for part in (1.0 + 1e-8, 3.0):
            run = ct.simulate(drawer(part * threshold, push), [0.0], [0.0], 10.0, samples=3)
            assert not run.q.any() and not run.v.any() and run.steps < 20
        run = ct.simulate(drawer(0.9 * threshold, push), [0.0], [0.0], 1.0, samples=5)
        np.testing.assert_allclose(run.q[:, 0], 0.5 * 0.1 * push / 2.0 * run.t**2, rtol=1e-10, atol=1e-14)
        assert run.audit().ok
        assert run.work["friction"][-1] == pytest.approx(-0.9 * push * run.q[-1, 0], rel=1e-9)


def test_a_mass_beside_its_guide_is_braked_by_its_own_inertia_or_has_no_answer():
    """m a = P - sense k m |a| with k = 2 mu d / l: below k = 1 as one reads it; above, a push against the slip has no
    answer (Painleve)."""
    for mu, push, v in ((0.1, 4.0, 1.0), (0.1, -4.0, 1.0), (0.18, -4.0, 1.0)):
        s, k = drawer(mu, push, at_mass=True), 2.0 * mu * 0.5 / 0.2
        a = push / 2.0 / (1.0 + k * np.sign(push * v))
        np.testing.assert_allclose(s.forward_dynamics([0.0], [v]), [a], rtol=1e-10)
        np.testing.assert_allclose(s.sticking([0.0], [v]).vdot, [a], rtol=1e-10)
        assert ct.simulate(s, [0.0], [v], 0.01).v[-1, 0] == pytest.approx(v + 0.01 * a, rel=1e-10)
    jammed = drawer(0.5, -4.0, at_mass=True)
    for ask in (lambda: jammed.sticking([0.0], [1.0]), lambda: ct.simulate(jammed, [0.0], [1.0], 0.1)):
        with pytest.raises(SimulationError, match="'guide'.*Painleve"):
            ask()


KINDS = {
    "revolute": (ct.Revolute((0.3, -0.5, 0.8)), ct.BearingFriction(0.1, 0.02, span=0.15, thrust_radius=0.03)),
    "prismatic": (ct.Prismatic((0.2, 0.9, -0.1)), ct.SlideFriction(0.05, length=0.4, width=0.2)),
    "cylindrical": (ct.Cylindrical("y"), (ct.BearingFriction(0.1, 0.02), ct.SlideFriction(0.06, length=0.5))),
    "universal": (ct.Universal("x", "y"), ct.BearingFriction(0.12, 0.03)),
    "spherical": (ct.Spherical(), ct.BearingFriction(0.1, 0.03, thrust_radius=0.03)),
    "planar": (ct.Planar("z"), (ct.SlideFriction(0.1), None, ct.BearingFriction(0.1, 0.03, thrust_radius=0.02))),
    "helical": (ct.Helical("z", 0.05), ct.BearingFriction(0.1, 0.02, thrust_radius=0.02)),
}  # fmt: skip


def rubbed(seed, words=tuple(KINDS)):
    """A chain with a branch, one joint of each kind, with friction by load."""
    rng = np.random.default_rng(seed)
    m, names = ct.Mechanism(f"rubbed {seed}"), ["ground"]
    for k, word in enumerate(words):
        kind, friction = KINDS[word]
        m.add_body(
            f"b{k}",
            mass=rng.uniform(0.5, 2.0),
            com=rng.normal(0.0, 0.2, 3),
            inertia=rng.uniform(0.05, 0.1, 3),
        )
        parent = names[-1] if k != 3 else names[1]
        m.add_joint(
            f"j{k}", parent, f"b{k}", kind, in_parent=ct.Pose(p=rng.normal(0.0, 0.3, 3)),
            in_child=ct.Pose(p=rng.normal(0.0, 0.1, 3)), load_friction=friction,
        )  # fmt: skip
        names.append(f"b{k}")
    return m


def loads_by_hand(m, s, q, wrenches):
    """Friction of slips that wrenches at the described child-side frames make, {joint: (nv,)}."""
    found = {}
    for name, joint in m.joints.items():
        if joint.load_friction is None:
            continue
        at = s.joint_position(q, name)
        S, wrench = np.asarray(joint.kind.motion_space(at).array, dtype=float), wrenches[name]
        held = wrench - S @ np.linalg.lstsq(S, wrench, rcond=None)[0]
        M, F = held[:3], held[3:]
        found[name] = np.zeros(joint.kind.nv)
        for k, given in enumerate(joint.load_friction):
            if given is None:
                continue
            turns = isinstance(given, ct.BearingFriction)
            u = S[:3, k] if turns else S[3:, k]
            u = u / np.linalg.norm(u)
            span = given.span if turns else given.length
            lever = np.zeros(3) if span is None else np.cross(M, u) / span
            across = F - u * (F @ u)
            load = np.linalg.norm(across / 2 + lever) + np.linalg.norm(across / 2 - lever)
            if turns:
                found[name][k] = given.mu * (given.radius * load + given.thrust_radius * abs(F @ u))
            else:
                found[name][k] = given.mu * (
                    load + (0.0 if given.width is None else 2 * abs(M @ u) / given.width)
                )
    return found


def plain(m):
    """The mechanism without friction by load."""
    for name in m.joints:
        m = m.with_joint(name, load_friction=None)
    return m


def by_fixed_point(m, q, v, plan, rounds=40):
    """Accelerations with friction by load, by repetition over the mechanism without, in absolute coordinates."""
    s = plain(m).system(**plan)
    rates = {name: s.joint_velocity(q, v, name) for name in m.joints}
    force = {name: np.zeros(len(rate)) for name, rate in rates.items()}
    for _ in range(rounds):
        tau = {name: force[name] for name in m.joints}
        vdot = s.forward_dynamics(q, v, tau, method="absolute")
        found = loads_by_hand(m, s, q, s.reactions(q, v, tau))
        force = {name: -np.sign(rates[name]) * found.get(name, 0.0) for name in m.joints}
    return vdot, force


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        (0, ("revolute", "prismatic")),
        *(pytest.param(k, tuple(KINDS), marks=pytest.mark.slow) for k in range(3)),
    ],
)
def test_trees_of_all_kinds_do_what_a_plain_fixed_point_over_reactions_does(seed, words):
    m, rng = rubbed(seed, words), np.random.default_rng(seed)
    for plan in ({}, {"root": f"b{len(words) // 2}"}):
        s = m.system(**plan)
        q, v = s.integrate(s.neutral(), rng.normal(0.0, 0.1, s.nv)), rng.normal(0.0, 1.0, s.nv)
        q, v = s.project(s.assemble({}) if plan else q, v)
        vdot, force = by_fixed_point(m, q, v, plan)
        np.testing.assert_allclose(s.forward_dynamics(q, v), vdot, rtol=1e-9, atol=1e-9)
        found = s.sticking(q, v)
        np.testing.assert_allclose(found.vdot, vdot, rtol=1e-9, atol=1e-9)
        for name, own in force.items():
            if name in s.loops:
                np.testing.assert_allclose(found.at_loops[name], own, rtol=1e-9, atol=1e-9)
                continue
            np.testing.assert_allclose(found.force[s.slice_v(name)], own, rtol=1e-9, atol=1e-9)
        if plan:
            continue
        np.testing.assert_allclose(s.inverse_dynamics(q, v, vdot), 0.0, atol=1e-8)
        np.testing.assert_allclose(s.inverse_dynamics_interval(q, v, vdot), 0.0, atol=1e-8)
        given = {"j1": vdot[s.slice_v("j1")] + 0.7}
        hybrid, tau = s.hybrid_dynamics(q, v, None, given)
        np.testing.assert_allclose(s.forward_dynamics(q, v, tau), hybrid, rtol=1e-8, atol=1e-8)
        wrench = plain(m).system(**plan).reactions(q, v, found.force)["j1"]
        np.testing.assert_allclose(s.reactions(q, v)["j1"], wrench, rtol=1e-8, atol=1e-8)


def test_at_rest_the_interval_of_inverse_dynamics_is_what_holds():
    """In joints of several components each force may lie anywhere between its bounds; beyond one of them that component
    begins to move, that way."""
    m, rng = rubbed(0, ("revolute", "cylindrical", "universal", "spherical")), np.random.default_rng(0)
    s = m.system()
    q, still = s.integrate(s.neutral(), rng.normal(0.0, 0.3, s.nv)), np.zeros(s.nv)
    low, high = s.inverse_dynamics_interval(q, still, still).T
    assert np.all(high - low > 0.0)
    for _ in range(3):
        assert s.sticking(q, still, low + (high - low) * rng.uniform(1e-6, 1.0 - 1e-6, s.nv)).holds
    for k in range(s.nv):
        for bound, way in ((low, -1.0), (high, 1.0)):
            tau = 0.5 * (low + high)
            tau[k] = bound[k] + way * 1e-6 * (high[k] - low[k])
            found = s.sticking(q, still, tau)
            assert not found.holds and found.sense[k] == way and way * found.vdot[k] > 0.0


def loaded_four_bar(mu=0.3):
    m = four_bar()
    for name in m.joints:
        m = m.with_joint(name, load_friction=ct.BearingFriction(mu, 0.05))
    return m


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"integrator": "rk4", "step": 1e-3}])
def test_a_four_bar_rubs_alike_wherever_it_is_cut(options):
    """At an instant as the plain fixed point has it; over time the same motion, which comes to rest for good."""
    m, runs = loaded_four_bar(), []
    for cut in "ABCD":
        s = m.system(cut=[cut])
        q = s.assemble({"A": 0.6})
        v = s.velocity(q, {"A": 3.0})
        vdot, _ = by_fixed_point(m, q, v, {"cut": [cut]})
        np.testing.assert_allclose(s.sticking(q, v).vdot, vdot, rtol=1e-8)
        np.testing.assert_allclose(s.forward_dynamics(q, v), vdot, rtol=1e-8)
        runs.append(ct.simulate(s, q, v, 2.0, samples=5, **options))
        assert runs[-1].audit().ok
    for run in runs[1:]:
        for joint in "ABC":
            np.testing.assert_allclose(run[joint], runs[0][joint], atol=1e-8)
        np.testing.assert_allclose(run.work["friction"], runs[0].work["friction"], atol=1e-7)
        np.testing.assert_allclose(run.reactions()["B"], runs[0].reactions()["B"], atol=1e-6)
    held = loaded_four_bar(30.0).system(cut=["B"])
    rest = ct.simulate(held, held.assemble({"A": 0.6}), np.zeros(held.nv), 10.0, samples=3)
    assert np.ptp(rest.q, axis=0).max() < 1e-9 and np.abs(rest.v).max() < 1e-12


@pytest.mark.slow
def test_runs_of_trees_go_as_an_integration_of_the_law_and_alike_in_batches():
    m = rubbed(1, ("revolute", "prismatic", "universal"))
    s, rng = m.system(), np.random.default_rng(1)
    Q, V = np.tile(s.neutral(), (3, 1)), rng.uniform(3.0, 4.0, (3, s.nv)) * rng.choice([-1.0, 1.0], (3, s.nv))
    run = ct.simulate(s, Q, V, 0.04, samples=4)
    for k in range(3):
        alone = ct.simulate(s, Q[k], V[k], 0.04, samples=4)
        np.testing.assert_allclose(alone.q, run.q[k], atol=1e-11)

        def rate(_, y):
            return np.concatenate([y[s.nv :], by_fixed_point(m, y[: s.nv], y[s.nv :], {}, 12)[0]])

        if k == 0:
            sol = solve_ivp(rate, (0.0, 0.04), np.concatenate([Q[k], V[k]]), "DOP853", rtol=1e-9, atol=1e-10)
            assert np.all(np.sign(sol.y[s.nv :, -1]) == np.sign(V[k]))
            np.testing.assert_allclose(run.q[k, -1], sol.y[: s.nv, -1], atol=1e-8)


def test_data_files_and_words(tmp_path):
    m = rubbed(0)
    m.save(tmp_path / "m.toml")
    again = ct.load(tmp_path / "m.toml")
    assert {n: j.load_friction for n, j in again.joints.items()} == {
        n: j.load_friction for n, j in m.joints.items()
    }
    bad = ct.Mechanism("bad")
    bad.add_body("b", mass=1.0, inertia=0.1)
    for friction, kind, words in (
        (ct.SlideFriction(0.1), ct.Revolute("z"), "turns: give BearingFriction"),
        (ct.BearingFriction(0.1, 0.1), ct.Prismatic("z"), "slides: give SlideFriction"),
        (0.1, ct.Prismatic("z"), "give BearingFriction"),
        ((None,), ct.Planar("z"), "1 entries"),
    ):
        with pytest.raises(ModelError, match=words):
            bad.add_joint("j", "ground", "b", kind, load_friction=friction)
    for kind, given in (
        (ct.BearingFriction, (-0.1, 0.1)), (ct.SlideFriction, (0.1, 0.0)), (ct.SlideFriction, (0.3, None, None, 0.2)),
    ):  # fmt: skip
        with pytest.raises(ModelError):
            kind(*given)
    lands = {"integrator": "time_stepping", "step": 1e-3}
    for ask in (
        lambda: m.system().linearise(m.system().neutral()),
        lambda: ct.simulate(pendulum().system(), [0.1], [0.0], 0.1, **lands),
    ):
        with pytest.raises(ModelError, match="friction by load"):
            ask()


def test_a_motor_at_a_cut_slide_loads_pins_as_one_in_the_tree():
    """Its force goes into the piston, and not into joints of the tree that would move it as much."""
    m = ct.Mechanism("crank slider")
    for body, length in (("crank", 0.4), ("rod", 0.8), ("piston", 0.0)):
        m.add_body(body, 1.0, (length / 2, 0, 0), (0.01, 0.03, 0.03))
    rubs = {"load_friction": ct.BearingFriction(0.2, 0.05)}
    m.add_joint("A", "ground", "crank", ct.Revolute("y"), **rubs)
    m.add_joint("B", "crank", "rod", ct.Revolute("y"), in_parent=ct.Pose(p=(0.4, 0, 0)), **rubs)
    m.add_joint("C", "rod", "piston", ct.Revolute("y"), in_parent=ct.Pose(p=(0.8, 0, 0)), **rubs)
    m.add_joint("P", "ground", "piston", ct.Prismatic("x"))
    found = []
    for cut in "APBC":
        s = m.system(cut=[cut])
        q = s.assemble({"A": -0.9}, guess={"B": 1.3})
        at = s.sticking(q, s.velocity(q, {"A": 1.0}), {"P": 50.0})
        smooth = s.forward_dynamics(q, s.velocity(q, {"A": 1.0}), {"P": 50.0})
        forces = [at.at_loops[j] if j in s.loops else at.force[s.slice_v(j)] for j in "ABC"]
        found.append(np.concatenate([*forces, s.joint_velocity(q, smooth, "A") / 50.0]))
    np.testing.assert_allclose(found[1:], [found[0]] * 3, rtol=1e-9)
