"""Couplings between joints: every formulation against kkt for every cut, and machines against closed forms."""

import pickle
from math import cos, sin

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import random_mechanism
from catena.system import restoring_acceleration

METHODS = ("auto", "absolute", "joint_multipliers", "minimal")
P = ct.Pose


def geared_chain():
    """A chain whose joints are tied in a row, the last by a formula."""
    m = ct.Mechanism("chain")
    for name, mass, com in (("a", 1.0, (0.1, 0, 0)), ("b", 2.0, (0, 0.2, 0)), ("c", 0.5, (0, 0, 0.1))):
        m.add_body(name, mass, com, 0.1 * mass)
    m.add_joint("A", "ground", "a", ct.Revolute("x"))
    m.add_joint("B", "a", "b", ct.Revolute("y"), in_parent=P(p=(0.3, 0, 0)))
    m.add_joint("C", "b", "c", ct.Prismatic("x"), in_parent=P(p=(0.1, 0.2, 0)), armature=0.7)
    m.add_coupling("gear", {"A": 1.0, "B": 2.0}, 0.1)
    m.add_cam("cam", "C", "B", lambda x: 0.1 * x**2 + 0.02 * x)
    return m


def geared_five_bar():
    """A five-bar with a gear between its two cranks and rotors at three joints: one freedom is left."""
    m = ct.Mechanism("five-bar")
    for name, length in (("a", 0.4), ("b", 0.7), ("c", 0.7), ("d", 0.4)):
        m.add_body(name, 1.0, (length / 2, 0, 0), (0.01, 0.05, 0.05))
    y = ct.Revolute("y")
    m.add_joint("A", "ground", "a", y, armature=0.3)
    m.add_joint("B", "a", "b", y, in_parent=P(p=(0.4, 0, 0)), armature=0.2)
    m.add_joint("D", "ground", "d", y, in_parent=P(p=(0.5, 0, 0)))
    m.add_joint("C", "d", "c", y, in_parent=P(p=(0.4, 0, 0)))
    m.add_joint("E", "b", "c", y, in_parent=P(p=(0.7, 0, 0)), in_child=P(p=(0.7, 0, 0)), armature=0.1)
    m.add_coupling("gear", {"A": 1.0, "D": 2.5}, -1.0)
    return m


CASES = {"chain": (geared_chain, [[]]), "five-bar": (geared_five_bar, [[name] for name in "ABCDE"])}


def states_of(s, given, seed=0):
    """Some states that hold the couplings, with forces."""
    rng = np.random.default_rng(seed)
    q = s.assemble({"A": given})
    q, v = s.project(np.broadcast_to(q, (3, s.nq)), rng.normal(size=(3, s.nv)))
    return q, v, rng.normal(size=(3, s.nv))


@pytest.mark.parametrize("case", CASES)
def test_all_formulations_agree_for_every_cut_in_lanes_and_in_plain_numbers(case):
    make, cuts = CASES[case]
    m = make()
    for cut in cuts:
        s = m.system(cut=cut)
        q, v, tau = states_of(s, -0.8)
        known = s.forward_dynamics(q, v, tau, method="kkt")
        size = np.abs(known).max()
        for method in METHODS:
            found = s.forward_dynamics(q, v, tau, method=method)
            np.testing.assert_allclose(found, known, atol=1e-12 * size, err_msg=f"{cut} {method}")
        if cut in ([], ["A"]):
            with ct.plain_numbers():
                np.testing.assert_allclose(
                    s.forward_dynamics(q[0], v[0], tau[0]), known[0], atol=1e-12 * size
                )
        # The state keeps the coupling, in position, in velocity and in acceleration.
        assert max(np.abs(x).max() for x in s.closure(q, v)) < 1e-14
        J = s.closure_jacobian(q)
        step = 1e-6
        ahead, behind = (s.closure(s.integrate(q, v, h), v + h * known)[1] for h in (step, -step))
        assert (
            np.abs((ahead - behind) / (2 * step)).max() < 1e-7 * size
            and J.shape[-2] == s.plan.total_constraints
        )
        forces = s.inverse_dynamics(q, v, known)
        np.testing.assert_allclose(s.forward_dynamics(q, v, forces), known, atol=1e-10 * size)
        with pytest.raises(ct.LoopError, match="reference_member"):
            s.forward_dynamics(q, v, tau, method="reference_member")


KINDS = ["Revolute", "Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Revolute", "Planar"]


def randomly_coupled(seed):
    """A random mechanism, some of whose joints are tied where it is closed, and that configuration by joint."""
    rng = np.random.default_rng(seed)
    m = random_mechanism(
        seed, int(rng.integers(4, 8)), KINDS, loops=seed % 3, floating=bool(seed % 2), friction=True
    )
    s = m.system()
    q = s.assemble()
    at = {name: s.joint_position(q, name) for name in m.joints if m.joints[name].dof}
    tied = [name for name in at if m.joints[name].dof == 1]
    for k in range(int(rng.integers(1, 4))):
        some = list(rng.choice(tied, size=int(rng.integers(1, min(3, len(tied)) + 1)), replace=False))
        if len(some) == 2:
            x, (a, b) = at[some[1]][0], rng.normal(size=2)
            m.add_polynomial_coupling(f"cam {k}", *some, (at[some[0]][0] - a * x - b * x * x, a, b))
        else:
            terms = {name: float(rng.normal()) for name in some}
            m.add_coupling(f"gear {k}", terms, sum(c * at[name][0] for name, c in terms.items()))
    return m, at, tied


@pytest.mark.parametrize("seed", [pytest.param(k, marks=pytest.mark.slow) for k in range(2, 40)])
def test_random_mechanisms_with_couplings_move_alike_in_all_formulations(seed):
    m, at, tied = randomly_coupled(seed)
    for cut in ([], tied[:1], tied[-1:]):
        try:
            s = m.system(cut=cut)
        except ct.PlanError:
            continue
        rng = np.random.default_rng(seed)
        q = s.assemble({name: at[name] for name in s.joints})
        v = s.project(q, rng.normal(size=s.nv), held=[])[1]
        tau = rng.normal(size=s.nv)
        known = s.forward_dynamics(q, v, tau, method="kkt")
        for method in ("auto", "absolute", "joint_multipliers"):
            found = s.forward_dynamics(q, v, tau, method=method)
            np.testing.assert_allclose(
                found, known, atol=1e-8 * max(1.0, np.abs(known).max()), err_msg=f"{cut} {method}"
            )


def test_wrenches_and_forces_of_couplings_do_not_depend_on_the_cut():
    m = geared_five_bar()
    told = {}
    for cut in "ABCDE":
        s = m.system(cut=[cut])
        q = s.assemble({"A": -0.8})
        v = s.velocity(q, {"A": 1.5})
        forces = s.coupling_forces(q, v, {"A": 2.0})
        wrenches = s.reactions(q, v, {"A": 2.0})
        own = told or told.update(force=forces["gear"], **wrenches) or told
        np.testing.assert_allclose(forces["gear"], own["force"], atol=1e-11)
        for name, wrench in wrenches.items():
            np.testing.assert_allclose(wrench, own[name], atol=1e-10, err_msg=f"{cut} {name}")


def test_the_force_of_a_gear_is_what_each_side_lacks():
    m = geared_chain()
    s = m.system()
    q, v, tau = states_of(s, 0.4)
    vdot, forces = s.forward_dynamics(q, v, tau), s.coupling_forces(q, v, tau)
    lacking = (s.mass_matrix(q) @ vdot[..., None])[..., 0] + s.bias_force(q, v) - tau
    x = q[:, s.slice_q("B")][:, 0]
    by_hand = [forces["gear"], 2.0 * forces["gear"] - (0.2 * x + 0.02) * forces["cam"], forces["cam"]]
    np.testing.assert_allclose(lacking, np.stack(by_hand, axis=-1), atol=1e-12)


def test_a_planetary_gear_moves_as_its_closed_form():
    """Sun, ring and carrier on one axis, a planet on the carrier: one freedom too few for two motors, so the sun turns
    the carrier against a held ring."""
    r_sun, r_planet = 0.03, 0.02
    inertia = {"sun": 2e-4, "carrier": 1e-3, "planet": 5e-5}
    mass = 0.3
    m = ct.Mechanism("planetary", gravity=(0, 0, 0))
    m.add_body("sun", 0.5, (0, 0, 0), inertia["sun"])
    m.add_body("carrier", 0.5, (0, 0, 0), inertia["carrier"])
    m.add_body("planet", mass, (0, 0, 0), inertia["planet"])
    z = ct.Revolute("z")
    m.add_joint("sun", "ground", "sun", z)
    m.add_joint("carrier", "ground", "carrier", z)
    m.add_joint("planet", "carrier", "planet", z, in_parent=P(p=(r_sun + r_planet, 0, 0)))
    # Teeth roll off without slip: the pitch points of sun and planet move alike, and the planet's at the ring rests.
    m.add_coupling("sun teeth", {"sun": r_sun, "carrier": -r_sun, "planet": r_planet})
    m.add_coupling("ring teeth", {"planet": r_planet, "carrier": r_sun + 2 * r_planet})
    s = m.system()
    torque = 0.4
    ring = r_sun + 2 * r_planet
    ratio = r_sun / (r_sun + ring)
    planet_rate = -ring / r_planet * ratio
    # Rates by that of the sun: carrier `ratio`, planet against the carrier `planet_rate`.
    felt = (
        inertia["sun"]
        + (inertia["carrier"] + mass * (r_sun + r_planet) ** 2) * ratio**2
        + inertia["planet"] * (ratio + planet_rate) ** 2
    )
    run = ct.simulate(s, duration=1.0, control=lambda t, q, v: {"sun": torque}, integrator="rk4", step=0.05)
    sun = 0.5 * torque / felt
    np.testing.assert_allclose(run.q[-1], [sun, ratio * sun, planet_rate * sun], rtol=1e-12)
    assert run.closure_error < 1e-12 * sun and s.diagnose(s.neutral()).mobility == 1


def test_a_differential_shares_its_torque():
    I_left, I_right, I_case = 0.1, 0.3, 0.2
    m = ct.Mechanism("differential", gravity=(0, 0, 0))
    for name, inertia in (("left", I_left), ("right", I_right), ("case", I_case)):
        m.add_body(name, 1.0, (0, 0, 0), inertia)
        m.add_joint(name, "ground", name, ct.Revolute("x"))
    m.add_coupling("differential", {"left": 1.0, "right": 1.0, "case": -2.0})
    s = m.system()
    torque, drag = 3.0, 0.4
    vdot = s.forward_dynamics(np.zeros(3), np.zeros(3), {"case": torque, "left": -drag})
    # With the force f of the coupling: I_l a_l = f - drag, I_r a_r = f, I_c a_c = torque - 2 f, a_l + a_r = 2 a_c.
    f = (2 * torque / I_case + drag / I_left) / (1 / I_left + 1 / I_right + 4 / I_case)
    np.testing.assert_allclose(
        vdot, [(f - drag) / I_left, f / I_right, (torque - 2 * f) / I_case], rtol=1e-13
    )
    forces = s.coupling_forces(np.zeros(3), np.zeros(3), {"case": torque, "left": -drag})
    np.testing.assert_allclose(forces["differential"], f, rtol=1e-13)


def test_a_cam_driven_valve_moves_as_its_lift_and_needs_the_torque_of_its_closed_form():
    lift, stiffness, preload, mass, inertia, speed = 0.01, 4e4, 200.0, 0.12, 2e-3, 50.0
    m = ct.Mechanism("valve", gravity=(0, 0, 0))
    m.add_body("shaft", 1.0, (0, 0, 0), inertia)
    m.add_body("valve", mass, (0, 0, 0), 1e-5)
    m.add_joint("shaft", "ground", "shaft", ct.Revolute("y"))
    m.add_joint("valve", "ground", "valve", ct.Prismatic("z"))
    m.add_spring("return", "valve", stiffness, rest=-preload / stiffness)

    def rise(x):
        c = (1.0 - cos(x)) / 2.0 if isinstance(x, float) else (1.0 - __import__("casadi").cos(x)) / 2.0
        return lift * c * c

    m.add_cam("cam", "valve", "shaft", rise)
    s = m.system()
    run = ct.simulate(s, {"shaft": 0.3}, {"shaft": speed}, duration=2 * np.pi / speed, motion={
        "shaft": lambda t: (0.3 + speed * t, speed, 0.0)}, samples=40)  # fmt: skip
    angle = run["shaft"][:, 0]
    c, d = (1 - np.cos(angle)) / 2, np.sin(angle) / 2
    np.testing.assert_allclose(run["valve"][:, 0], lift * c**2, atol=1e-14)
    slope, curvature = lift * 2 * c * d, lift * (2 * d**2 + c * np.cos(angle))
    on_valve = mass * curvature * speed**2 + stiffness * lift * c**2 + preload
    np.testing.assert_allclose(run.force("shaft")[:, 0], slope * on_valve, atol=1e-9)
    # The same from points on the cam, by a periodic spline.
    x = np.linspace(0, 2 * np.pi, 241)
    n = m.detach("shaft")
    n.add_joint("shaft", "ground", "shaft", ct.Revolute("y"))
    n.add_cam("cam", "valve", "shaft", ct.profiles.Spline(x, lift * ((1 - np.cos(x)) / 2) ** 2, "periodic"))
    t = n.system()
    q = t.assemble({"shaft": 1.0 + 4 * np.pi})
    assert t.joint_position(q, "valve")[0] == pytest.approx(lift * ((1 - cos(1.0)) / 2) ** 2, abs=1e-10)
    v = t.velocity(q, {"shaft": speed})
    assert t.joint_velocity(q, v, "valve")[0] == pytest.approx(
        speed * lift * (1 - cos(1.0)) / 2 * sin(1.0), rel=1e-6
    )


@pytest.mark.parametrize(
    "drift",
    ["projection", *(pytest.param(x, marks=pytest.mark.slow) for x in ("baumgarte", "corrective", "none"))],
)
def test_runs_keep_a_gear_exactly(drift):
    m = geared_chain()
    s = m.system()
    q = s.assemble({"A": 0.4})
    run = ct.simulate(s, q, s.velocity(q, {"A": 1.0}), duration=0.2, integrator="rk4", step=1e-3, drift=drift)
    fine = ct.simulate(s, q, s.velocity(q, {"A": 1.0}), duration=0.2)
    np.testing.assert_allclose(run.q[-1], fine.q[-1], atol=1e-9)
    assert run.closure_error < (1e-14 if drift == "projection" else 1e-9) and fine.energy_drift < 1e-10
    st = ct.Stepper(s, q, s.velocity(q, {"A": 1.0}), step=1e-3, drift=drift)
    for _ in range(3):
        st.step()
    np.testing.assert_allclose(st.q, run.q[3], atol=1e-11)


def test_whole_turns_of_a_joint_that_closes_a_loop_do_not_break_its_gear():
    m = geared_five_bar()
    m.add_body("flywheel", 1.0, (0, 0, 0), 0.1)
    m.add_joint("F", "ground", "flywheel", ct.Revolute("y"))
    m.add_coupling("fly gear", {"F": 1.0, "A": -3.0})
    whole, cut = m.system(cut=["C"]), m.system(cut=["A"])
    q = whole.assemble({"A": -0.8})
    here = {name: whole.joint_position(q, name)[0] for name in "BCDEF"}
    for turns in (0, 1, -3):
        at = np.array([here[name] + 6.0 * np.pi * turns * (name == "F") for name in cut.joints])
        assert np.abs(cut.closure(at)[0]).max() < 1e-12
        off = at + 0.01 * (np.array(cut.joints) == "F")
        np.testing.assert_allclose(cut.closure(off)[0][-1], 0.01, atol=1e-11)
        with ct.plain_numbers():
            np.testing.assert_allclose(cut.closure(off)[0][-1], 0.01, atol=1e-11)


def test_forces_that_pull_couplings_together_are_those_of_springs_along_them():
    s = geared_chain().system()
    rng = np.random.default_rng(4)
    q, v = 0.3 * rng.normal(size=(2, 4, s.nv))
    e, rate = s.closure(q, v)
    tau = -np.einsum("smn,sm->sn", s.closure_jacobian(q), 30.0 * e + 2.0 * rate)
    expected = np.linalg.solve(s.mass_matrix(q), tau[..., None])[..., 0]
    np.testing.assert_allclose(restoring_acceleration(s, q, v, 30.0, 2.0), expected, atol=1e-11)


def test_batches_copies_and_locked_joints():
    m = geared_chain()
    s = m.system()
    q, v, tau = states_of(s, 0.4)
    one = [s.forward_dynamics(*x) for x in zip(q, v, tau, strict=True)]
    many = s.forward_dynamics(*(np.repeat(x, 4, axis=0) for x in (q, v, tau)))
    np.testing.assert_array_equal(many[::4], one)
    linear = geared_five_bar().system()
    again = pickle.loads(pickle.dumps(linear))
    x = linear.assemble({"A": -0.5})
    np.testing.assert_array_equal(again.assemble({"A": -0.5}), x)
    # A locked joint holds what it is coupled to: 0.4 + 2 B = 0.1.
    held = m.lock("A", 0.4).system()
    q = held.assemble()
    assert q[0] == pytest.approx(-0.15, abs=1e-13) and held.diagnose(q).mobility == 0
    both = m.lock("A", 0.4).lock("B", -0.15).lock("C", 0.1 * 0.15**2 - 0.02 * 0.15)
    assert both.system().nv == 0
    with pytest.raises(
        ct.PlanError, match="'gear': its joints 'A', 'B' are all locked, at positions that miss it"
    ):
        m.lock("A", 0.4).lock("B", -0.1).system()


def test_a_coupling_that_says_what_others_say_is_redundant_by_name():
    m = geared_chain()
    m.add_coupling("again", {"A": 2.0, "B": 4.0}, 0.2)
    s = m.system()
    q = s.assemble({"A": 0.4})
    told = s.diagnose(q)
    assert (told.mobility, told.redundancy) == (1, 1)
    (redundant,) = told.redundant
    assert redundant.is_coupling and {"gear", "again"} == set(redundant.loops)
    assert "independent motion of the joints A, B by coupling" in str(told)
    v = s.velocity(q, {"A": 1.0})
    known = geared_chain().system()
    np.testing.assert_allclose(s.forward_dynamics(q, v), known.forward_dynamics(q, v), atol=1e-11)


def test_contradictions_and_bad_cams_are_refused_in_words():
    m = geared_chain()
    m.add_coupling("against", {"A": 1.0, "B": 2.0}, 0.5)
    with pytest.raises(ct.LoopError, match="coupling 'gear' .*; coupling 'against'"):
        m.system().assemble({"A": 0.4})
    five = geared_five_bar()
    five.add_coupling("straight", {"E": 1.0}, 0.0)
    with pytest.raises(ct.LoopError, match="cannot be closed.*loop 'C' .*coupling 'straight'"):
        five.system(cut=["C"]).assemble({"A": 1.0})
    m = geared_chain()
    x = np.linspace(0, 3, 7)
    with pytest.raises(
        ct.ModelError, match="'half': its profile is known from 0 to 3, but joint 'A' has no limits"
    ):
        m.add_cam("half", "C", "A", (x, x**2))
    with pytest.raises(
        ct.ModelError, match="'root': its profile has no finite value, slope or curvature at -6.28"
    ):
        m.add_cam("root", "C", "A", lambda x: x**0.5)
    with pytest.raises(
        ct.ModelError, match="'word': the formula 'abc' has the name abc: the position is called x"
    ):
        m.add_cam("word", "C", "A", "abc")
    with pytest.raises(
        ct.ModelError, match="'sum': its profile is 'x [+]', which is no formula: .* ends too early"
    ):
        m.add_cam("sum", "C", "A", "x +")
    with pytest.raises(ct.ModelError, match="Spline: it is periodic, but begins at 0 and ends at 9"):
        m.add_cam("open", "C", "A", ct.profiles.Spline(x, x**2, "periodic"))
    with pytest.raises(ct.UnknownNameError, match="nobody"):
        m.add_cam("cam 2", "nobody", "A", lambda x: x)
    with pytest.raises(ct.ModelError, match="'self': it ties joint 'A' to itself"):
        m.add_cam("self", "A", "A", lambda x: x)


def test_derivatives_and_equations_know_couplings():
    m = geared_chain()
    s = m.system()
    q, v, tau = (x[0] for x in states_of(s, 0.4))
    e = s.equations("forward_dynamics", symbols=["c.mass"])
    np.testing.assert_allclose(
        e(q, v, tau, parameters={"c.mass": 0.5}), s.forward_dynamics(q, v, tau), atol=1e-12
    )
    by_q, by_v, by_tau = s.forward_dynamics_derivatives(q, v, tau)
    step = 1e-6
    free = s.velocity(q, {"A": 1.0})
    ahead, behind = (s.forward_dynamics(*s.project(s.integrate(q, h * free), v), tau) for h in (step, -step))
    # A step along the coupling, which velocities follow.
    change = (
        s.project(s.integrate(q, step * free), v)[1] - s.project(s.integrate(q, -step * free), v)[1]
    ) / (2 * step)
    np.testing.assert_allclose(
        by_q @ free + by_v @ change, (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-7
    )
    some = np.array([0.3, -0.2, 0.1])
    by_force = s.forward_dynamics(q, v, tau + some) - s.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(by_tau @ some, by_force, atol=1e-11)
