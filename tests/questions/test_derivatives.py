"""Derivatives of dynamics against differences, against each other's ways, and against Pinocchio's."""

import numpy as np
import pinocchio as pin
import pytest

import catena as ct
from benchmarks.peers.pinocchio_model import to_pinocchio
from benchmarks.states import closed_states, random_states
from catena.mechanism.generators import arm7, chain, four_bar, random_mechanism, spatial_four_bar
from catena.questions.derivatives import has_lanes
from catena.questions.response import Responder


def differences(f, n, h=2e-3):
    """The derivative (..., n) of f at zero by differences of sixth order; f takes arrays (n,)."""
    columns = []
    for e in np.eye(n):
        d = [f(k * h * e) - f(-k * h * e) for k in (1, 2, 3)]
        columns.append((45.0 * d[0] - 9.0 * d[1] + d[2]) / (60.0 * h))
    return np.stack(columns, axis=-1)


def allowed(system, q):
    """A basis (nv, d) of the velocities that keep the loops closed."""
    _, sigma, Vt = np.linalg.svd(system.closure_jacobian(q))
    return Vt[np.count_nonzero(sigma > 1e-9 * sigma[0]) :].T


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_trees_of_all_kinds_against_differences(seed, mixed, agree):
    mechanism = mixed(seed, bodies=8)
    s = mechanism.system()
    q, v, tau, vdot = random_states(s, 2, seed)
    wrench = np.random.default_rng(seed).normal(size=6)
    f_ext = {list(mechanism.bodies)[-1]: wrench}

    def inverse(q, v, vdot):
        return s.inverse_dynamics(q, v, vdot, f_ext=f_ext)

    dq, dv, da = s.inverse_dynamics_derivatives(q, v, vdot, f_ext=f_ext)
    agree(dq, differences(lambda x: inverse(s.integrate(q, np.tile(x, (2, 1))), v, vdot), s.nv), 1e-8)
    agree(dv, differences(lambda x: inverse(q, v + x, vdot), s.nv, 0.1), 1e-8)
    agree(da, s.mass_matrix(q), 1e-13)
    dq, dv, dtau = s.forward_dynamics_derivatives(q, v, tau, f_ext=f_ext)
    moved = differences(
        lambda x: s.forward_dynamics(s.integrate(q, np.tile(x, (2, 1))), v, tau, f_ext=f_ext), s.nv
    )
    agree(dq, moved, 1e-8)
    agree(dv, differences(lambda x: s.forward_dynamics(q, v + x, tau, f_ext=f_ext), s.nv, 0.1), 1e-8)
    agree(dtau, np.linalg.inv(s.mass_matrix(q)), 1e-10)


def test_friction_and_base_acceleration_against_differences(agree):
    m = ct.Mechanism("rubbing", gravity=(0, 0, -9.81))
    m.add_body("a", mass=1.0, com=(0.3, 0, 0), inertia=0.1)
    m.add_body("b", mass=0.7, com=(0.2, 0, 0.1), inertia=0.05)
    m.add_joint("J", "ground", "a", ct.Revolute("y"), damping=0.3, friction=0.2)
    m.add_joint("K", "a", "b", ct.Revolute("z"), in_parent=ct.Pose(p=(1, 0, 0)), damping=0.1, friction=0.4)
    s = m.system()
    q, v, tau = np.array([0.3, -0.5]), np.array([4e-4, 0.7]), np.array([0.5, 0.1])
    base = np.array([0.1, 0.2, -0.3, 1.0, -2.0, 0.5])
    dq, dv, _ = s.forward_dynamics_derivatives(q, v, tau, base_acceleration=base)
    agree(dq, differences(lambda x: s.forward_dynamics(q + x, v, tau, base_acceleration=base), 2, 1e-3), 1e-9)
    agree(dv, differences(lambda x: s.forward_dynamics(q, v + x, tau, base_acceleration=base), 2, 2e-5), 1e-8)


def test_far_from_the_ground_nothing_is_lost(agree):
    m = ct.Mechanism("flyer")
    m.add_body("base", mass=3.0, com=(0.1, 0, 0), inertia=(0.3, 0.4, 0.5))
    m.add_body("arm", mass=1.0, com=(0.5, 0, 0.1), inertia=(0.1, 0.2, 0.3))
    m.add_joint("F", "ground", "base", ct.Free())
    m.add_joint("J", "base", "arm", ct.Revolute("y"), in_parent=ct.Pose(p=(0.2, 0.1, 0)))
    s = m.system()
    q, v, tau, _ = random_states(s, 1)
    far = q.copy()
    far[:, :3] += 1e6
    for near, there in zip(
        s.forward_dynamics_derivatives(q, v, tau), s.forward_dynamics_derivatives(far, v, tau)
    ):
        agree(there, near, 1e-9)


def test_plain_numbers_give_the_same(mixed, agree):
    s = mixed(1, bodies=5).system()
    q, v, tau, _ = random_states(s, 2)
    compiled = s.forward_dynamics_derivatives(q, v, tau)
    with ct.plain_numbers():
        plain = s.forward_dynamics_derivatives(q, v, tau)
    for a, b in zip(compiled, plain):
        agree(a, b, 1e-11)


@pytest.mark.parametrize(
    "make", [lambda: chain(20), lambda: random_mechanism(3, 25, ["Revolute", "Prismatic"])]
)
def test_long_chains_and_many_branches(make, agree):
    """Chains that are cut into several blocks, and blocks below which the tree goes on in several ways."""
    s = make().system()
    q, v, tau, _ = random_states(s, 5)
    by_q, by_v, H = s.inverse_dynamics_derivatives(q, v, s.forward_dynamics(q, v, tau))
    inverse = np.linalg.inv(H)
    tolerance = 1e-15 * np.linalg.cond(H).max()
    for found, expected in zip(
        s.forward_dynamics_derivatives(q, v, tau), (-inverse @ by_q, -inverse @ by_v, inverse)
    ):
        agree(found, expected, tolerance)


@pytest.mark.parametrize("order", [(1, 2, 3, 4), (4, 3, 2, 1), (2, 1, 4, 3)])
def test_coordinates_in_any_order(order, agree):
    """Joints nearer to the ground may have been added after those beyond them."""
    m = ct.Mechanism("branches")
    for k in range(1, 5):
        m.add_body(f"b{k}", mass=0.5 + 0.2 * k, com=(0.1, 0.05 * k, 0.1), inertia=0.02 * k)
    above = {1: "ground", 2: "b1", 3: "b1", 4: "b3"}
    for k in order:
        place = ct.Pose(p=(0.2, 0.1 * k, 0.0))
        m.add_joint(f"J{k}", above[k], f"b{k}", ct.Revolute("xyzy"[k - 1]), in_parent=place)
    s = m.system()
    assert s.joints == tuple(f"J{k}" for k in order)
    q, v, tau, _ = random_states(s, 3)
    dq, dv, dtau = s.forward_dynamics_derivatives(q, v, tau)
    agree(dq, differences(lambda x: s.forward_dynamics(q + x, v, tau), 4), 1e-8)
    agree(dv, differences(lambda x: s.forward_dynamics(q, v + x, tau), 4, 0.1), 1e-8)
    agree(dtau, np.linalg.inv(s.mass_matrix(q)), 1e-11)
    Y = s.regressor(q, v, tau) @ ct.inertial_parameters(s)
    agree(Y, s.inverse_dynamics(q, v, tau), 1e-12)


@pytest.mark.parametrize("states", [1, 3, 4, 9, 257])
def test_batches_of_any_size_are_the_single_states(states, agree):
    s = arm7().system()
    q, v, tau, _ = random_states(s, states)
    together = s.forward_dynamics_derivatives(q, v, tau)
    for k in (0, states - 1):
        for whole, one in zip(together, s.forward_dynamics_derivatives(q[k], v[k], tau[k])):
            assert one.shape == (7, 7)
            agree(whole[k], one, 1e-13)


def test_results_go_where_they_are_told_to(agree):
    s = random_mechanism(3, 6, ["Revolute"]).system()
    q, v, tau, vdot = random_states(s, 5)
    for call, x in ((s.forward_dynamics_derivatives, tau), (s.inverse_dynamics_derivatives, vdot)):
        expected = call(q, v, x)
        out = [np.full((5, s.nv, s.nv), 7.0) for _ in range(3)]
        found = call(q, v, x, out=out)
        for a, b, c in zip(expected, found, out):
            assert b is c or np.shares_memory(b, c)
            agree(c, a, 1e-14)
    with pytest.raises(ct.StateError, match="shape"):
        s.forward_dynamics_derivatives(q, v, tau, out=[np.zeros((4, s.nv, s.nv))] * 3)
    with pytest.raises(ct.StateError, match="three"):
        s.forward_dynamics_derivatives(q, v, tau, out=[np.zeros((5, s.nv, s.nv))])


def test_pinocchio_has_the_same_derivatives(agree):
    mechanism = random_mechanism(11, 7, ["Revolute", "Prismatic"])
    s = mechanism.system()
    model, to = to_pinocchio(mechanism)
    data = model.createData()
    q, v, tau, vdot = random_states(s, 3)
    forward, inverse = s.forward_dynamics_derivatives(q, v, tau), s.inverse_dynamics_derivatives(q, v, vdot)
    their_q, their_v = to.configuration(q), to.velocity(q, v)
    # Joints may come in another order; unit velocities tell which.
    order = to.velocity(q[:1].repeat(s.nv, 0), np.eye(s.nv))
    for k in range(3):
        found = pin.computeABADerivatives(model, data, their_q[k], their_v[k], to.effort(q, v, tau)[k])
        for ours, theirs in zip(forward, found):
            agree(ours[k], order @ theirs @ order.T, 1e-9)
        found = pin.computeRNEADerivatives(
            model, data, their_q[k], their_v[k], to.acceleration(q, v, vdot)[k]
        )
        for ours, theirs in zip(inverse[:2], found[:2]):
            agree(ours[k], order @ theirs @ order.T, 1e-9)


def ball_loop():
    """A crank, a coupler on a ball and a slider on a universal joint: a spatial loop without redundant constraints."""
    m = ct.Mechanism("slider crank", gravity=(1.0, 2.0, -9.0))
    m.add_body("crank", mass=1.0, com=(0.1, 0, 0.05), inertia=(0.02, 0.03, 0.04))
    m.add_body("coupler", mass=0.8, com=(0.4, 0.1, 0), inertia=(0.01, 0.05, 0.05))
    m.add_body("slider", mass=0.5, com=(0, 0, 0.1), inertia=0.02)
    m.add_joint("A", "ground", "crank", ct.Revolute("z"))
    m.add_joint("U", "crank", "coupler", ct.Universal("y", "z"), in_parent=ct.Pose(p=(0.3, 0, 0.1)))
    m.add_joint("P", "ground", "slider", ct.Prismatic("x"), in_parent=ct.Pose(p=(1.0, 0.1, 0)))
    m.add_joint("B", "coupler", "slider", ct.Spherical(), in_parent=ct.Pose(p=(0.8, 0, 0)))
    return m


LOOPS = {"redundant": four_bar, "redundant in space": spatial_four_bar, "in space": ball_loop}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_against_differences_of_the_closed_mechanism(name, agree):
    s = LOOPS[name]().system()
    assert has_lanes(s.plan)
    # More states than lanes, so that one block of them follows another.
    q, v, tau, _ = closed_states(s, 9, spread=0.2)
    dq, dv, dtau = s.forward_dynamics_derivatives(q, v, tau)
    found, _ = Responder(s.mechanics).respond(q, v, tau, acting=False)
    for k in (0, 8):
        one = q[k], v[k], tau[k]
        check_along_the_loops(s, one, (dq[k], dv[k], dtau[k]), agree)
    if "redundant" not in name:
        for lanes, other in zip((dq, dv, dtau), (found.by_q, found.by_v, found.by_tau)):
            agree(lanes, other, 1e-9)


def check_along_the_loops(s, state, derivatives, agree):
    """One state against differences along changes that keep its loops closed."""
    (q, v, tau), (dq, dv, dtau) = state, derivatives
    N = allowed(s, q)
    d = N.shape[1]

    def forward(q, v, tau):
        return s.forward_dynamics(q, v, tau, method="kkt")

    def closed(x):
        return s.project(s.integrate(q, N @ x), held=[])

    # Where constraints are redundant, a velocity must stay one of the closed mechanism.
    steps = differences(lambda x: s.difference(q, closed(x)), d)
    rates = differences(lambda x: s.project(closed(x), v)[1], d)
    moved = differences(lambda x: forward(*s.project(closed(x), v), tau), d)
    agree(dq @ steps + dv @ rates, moved, 1e-8)
    agree(dv @ N, differences(lambda x: forward(q, v + N @ x, tau), d, 0.1), 1e-8)
    agree(dtau, differences(lambda x: forward(q, v, tau + x), s.nv, 1.0), 1e-8)


def test_loops_that_lanes_do_not_know_take_the_other_way(agree):
    """A loop that a universal joint closes, whose constraints turn with it, and that rubs."""
    m = ball_loop()
    s = m.system(cut=["U"])
    assert s.loops == ("U",) and not has_lanes(s.plan)
    q, v, tau, _ = closed_states(s, 2, spread=0.2)
    dq, dv, dtau = s.forward_dynamics_derivatives(q, v, tau)
    for k in range(2):
        check_along_the_loops(s, (q[k], v[k], tau[k]), (dq[k], dv[k], dtau[k]), agree)


def test_energies_poses_and_closure_have_derivatives(agree):
    """By the same names: joint forces are the derivatives of energies, Jacobians those of poses and closure."""
    s = four_bar().system()
    q = s.assemble({"A": 0.4})
    rest = np.zeros(s.nv)
    agree(differences(lambda x: s.potential_energy(s.integrate(q, x)), s.nv), s.bias_force(q, rest), 1e-9)
    opening = differences(lambda x: s.closure(s.integrate(q, x))[0], s.nv)
    agree(opening, s.closure_jacobian(q), 1e-9, scale=1.0)


@pytest.mark.parametrize("seed", [0, 1])
def test_energies_by_positions_and_velocities(seed, mixed, agree):
    s = mixed(seed, bodies=6).system()
    q, v, _, _ = random_states(s, 3, seed)
    by_q, by_v, fall = ct.energy_derivatives(s, q, v)

    def moved(x):
        return s.integrate(q, np.tile(x, (3, 1)))

    agree(by_q, differences(lambda x: s.kinetic_energy(moved(x), v), s.nv), 1e-8)
    agree(by_v, differences(lambda x: s.kinetic_energy(q, v + x), s.nv, 0.1), 1e-9)
    agree(fall, differences(lambda x: s.potential_energy(moved(x)), s.nv), 1e-8)
    for whole, one in zip((by_q, by_v, fall), ct.energy_derivatives(s, q[1], v[1]), strict=True):
        agree(one, whole[1], 1e-13)


def test_energies_of_rotors_at_joints_that_close_loops_are_refused_in_words(geared_loop):
    s = geared_loop().system(cut=["P"])
    with pytest.raises(ct.StateError, match="rotors.*P.rotor.*cut other joints"):
        ct.energy_derivatives(s, s.assemble({"A": 0.4}), np.zeros(s.nv))


def test_couplings_and_rotors_of_joints_that_close_loops(geared_loop, agree):
    s = geared_loop().system(cut=["P"])
    assert [c.name for c in s.plan.couplings] == ["gear", "P.rotor"]
    q = s.assemble({"A": 0.4})
    state = q, s.velocity(q, {"A": 1.3}), np.linspace(1.0, 2.0, s.nv)
    check_along_the_loops(s, state, s.forward_dynamics_derivatives(*state), agree)
    by = s.parameter_derivatives(*state, ["P.armature"])["P.armature"]
    heavier = differences(lambda x: geared_loop(0.3 + x[0]).system(cut=["P"]).forward_dynamics(*state), 1)
    agree(by, heavier, 1e-8)
