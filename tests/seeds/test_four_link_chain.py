"""Van der Merwe, section 5.5: the four-link example, to the printed digits, and ten seconds of its motion.

Mass matrices of the growing chain, Jacobians, Omega, Lambda^-1, the bias force and the accelerations of the open
chain; built from the SDOF tables 5.1 and 5.2 and from ordinary bodies and joints. Then the closed chain of the
generator.
"""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.notations import from_sdof
from catena.spatial import Pose

GRAVITY = (0.0, 0.0, -10.0)
GAMMA = [(0, 0, 0, 0, 0, 2), (0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 0, 1), (0, 0, 0, 1, 0, 0)]
PHI = [("ry",)] * 4
MASS = [2.0, 1.0, 1.0, 1.0]
COM = [(0, 0, 1), (0.5, 0, 0), (0, 0, 0.5), (0.5, 0, 0)]
INERTIA = [(1, 1, 0.1), (0.02, 0.2, 0.2), (0.2, 0.2, 0.02), (0.02, 0.2, 0.2)]

MASS_MATRIX = {  # (5.94), (5.100), (5.102), (5.104)
    1: [[3.0]],
    2: [[7.45, 0.45], [0.45, 0.45]],
    3: [[14.9, 2.9, 1.45], [2.9, 1.9, 0.45], [1.45, 0.45, 0.45]],
    4: [[26.35, 8.35, 5.4, 0.95], [8.35, 5.35, 2.4, 0.95], [5.4, 2.4, 1.9, 0.45], [0.95, 0.95, 0.45, 0.45]],
}
JACOBIAN = {  # rows omega_y, v_x, v_z of (5.92), (5.97), (5.101), (5.103); the others are zero
    1: [[1], [0], [0]],
    2: [[1, 1], [2, 0], [0, 0]],
    3: [[1, 1, 1], [2, 0, 0], [-1, -1, 0]],
    4: [[1, 1, 1, 1], [3, 1, 1, 0], [-1, -1, 0, 0]],
}
TIP_JACOBIAN = [[1, 1, 1, 1], [3, 1, 1, 0], [-2, -2, -1, -1]]  # (5.106)
OMEGA = [  # columns omega_y, v_x, v_z of (5.109)
    [0, -0.0078431, 0],
    [-0.5865103, 0.0078431, 0.0586510],
    [0.5865103, 0.7058824, -0.0586510],
    [2.8739003, -0.7058824, -2.28739],
]
LAMBDA_INVERSE = [[2.8739003, 0, -2.28739], [0, 0.69019610, 0], [-2.28739, 0, 2.228739]]  # (5.111)
BIAS = [-30.0, -30.0, -5.0, -5.0]  # (5.85)
OPEN = [0.0, 10.2639296, -10.2639296, -0.2932551]  # (5.114)
TIP_OPEN = [0, -0.29325510, 0, 0, 0, -9.9706745]  # (5.117)
MOVING = [1, 3, 5]
REST = np.zeros(4)


def from_tables(links=4):
    return from_sdof(GAMMA[:links], PHI[:links], MASS[:links], COM[:links], INERTIA[:links], gravity=GRAVITY)


def from_bodies_and_joints(links=4):
    m = ct.Mechanism("four links", gravity=GRAVITY)
    last, end = "ground", Pose()
    for i in range(1, links + 1):
        m.add_body(f"link{i}", MASS[i - 1], COM[i - 1], INERTIA[i - 1])
        m.add_joint(f"joint{i}", last, f"link{i}", ct.Revolute("y"), in_parent=end)
        last, end = f"link{i}", Pose(p=GAMMA[i - 1][3:])
    m.add_frame("tip", last, end)
    return m


@pytest.fixture(params=[from_tables, from_bodies_and_joints], ids=["SDOF tables", "bodies and joints"])
def build(request):
    return request.param


def planar(rows):
    """A matrix of six rows from those of omega_y, v_x and v_z."""
    full = np.zeros((6, np.shape(rows)[1]))
    full[MOVING] = rows
    return full


@pytest.mark.parametrize("method", ["composite_body", "structurally_recursive"])
@pytest.mark.parametrize("links", [1, 2, 3, 4])
def test_mass_matrices_of_the_growing_chain(build, links, method):
    H = build(links).system().mass_matrix(REST[:links], method)
    np.testing.assert_allclose(H, MASS_MATRIX[links], atol=1e-14, rtol=0)


@pytest.mark.parametrize("links", [1, 2, 3, 4])
def test_jacobians_of_the_links(build, links):
    J = build(4).system().jacobian(REST, f"link{links}")
    np.testing.assert_allclose(J[:, :links], planar(JACOBIAN[links]), atol=1e-15, rtol=0)
    assert not np.any(J[:, links:])


def test_jacobian_of_the_tip(build):
    np.testing.assert_allclose(
        build().system().jacobian(REST, "tip"), planar(TIP_JACOBIAN), atol=1e-15, rtol=0
    )


def test_bias_force(build):
    np.testing.assert_allclose(build().system().bias_force(REST, REST), BIAS, atol=1e-13, rtol=0)


def test_operational_space_of_the_tip(build):
    lambda_inverse, omega = build().system().operational_space(REST, "tip")
    np.testing.assert_allclose(omega, planar(np.transpose(OMEGA)).T, atol=0.6e-7, rtol=0)
    np.testing.assert_allclose(lambda_inverse, planar(planar(LAMBDA_INVERSE).T), atol=0.6e-7, rtol=0)


@pytest.mark.parametrize("method", ["articulated_body", "composite_body"])
def test_accelerations_of_the_open_chain(build, method):
    vdot = build().system().forward_dynamics(REST, REST, REST, method)
    np.testing.assert_allclose(vdot, OPEN, atol=0.6e-7, rtol=0)


def test_acceleration_of_the_open_tip(build):
    """The misprinted (5.117) lacks its fourth zero."""
    system = build().system()
    vdot = system.forward_dynamics(REST, REST, REST)
    tip = system.jacobian(REST, "tip") @ vdot + system.bias_acceleration(REST, REST, "tip")
    np.testing.assert_allclose(tip, TIP_OPEN, atol=0.6e-7, rtol=0)


# The closed chain, section 5.5.5: ten seconds with 0.25 N m s at each joint.

# Link 1 level, the others straight down from the pin: 3 m of links cover the 3 m between pin and level.
AT_REST = np.array([np.pi / 2, -np.pi, np.pi / 2, -np.pi / 2])


@pytest.fixture(scope="module")
def closed():
    return ct.generators.four_link_chain().system(cut=["tip"])


@pytest.fixture(scope="module")
def ten_seconds(closed):
    return ct.simulate(closed, REST, REST, 10.0, rtol=1e-10, atol=1e-12, samples=4001)


def pin_force(system, run):
    """The force of the tip on its pin along x and z, (samples, 2)."""
    on_link = system.reactions(run.q, run.v)["tip"][:, 3:, None]
    return -(system.pose(run.q, "tip")[:, :3, :3] @ on_link)[:, [0, 2], 0]


def test_the_generator_is_the_chain_of_the_tables_with_its_tip_pinned(closed):
    diagnosis = closed.diagnose(REST)
    assert (diagnosis.mobility, diagnosis.rank, closed.plan.total_constraints) == (2, 2, 5)
    np.testing.assert_allclose(closed.closure(REST)[0], 0.0, atol=1e-15)
    opened = ct.generators.four_link_chain(damping=0.0).detach("tip").system()
    random = np.random.default_rng(0)
    q, v = random.normal(size=(2, 10, 4))
    tables = from_tables().system()
    np.testing.assert_allclose(opened.mass_matrix(q), tables.mass_matrix(q), rtol=1e-12)
    np.testing.assert_allclose(opened.bias_force(q, v), tables.bias_force(q, v), rtol=1e-11, atol=1e-11)


def test_the_pinned_chain_starts_as_printed(closed):
    """(5.133); and (5.131), here as the force on the link."""
    vdot = closed.forward_dynamics(REST, REST)
    np.testing.assert_allclose(vdot, [0, 10.5263158, -10.5263158, -10.5263158], atol=0.6e-7)
    np.testing.assert_allclose(closed.reactions(REST, REST)["tip"], [0, 0, 0, 0, 0, 4.4736842], atol=0.6e-7)


def test_the_tip_force_peaks_near_230_newtons(closed, ten_seconds):
    size = np.linalg.norm(pin_force(closed, ten_seconds), axis=1)
    assert 225.0 < size.max() < 240.0
    # "High peaks": the links weigh 50 N, and the force passes four times that twice only.
    high = np.flatnonzero(size > 180.0)
    assert np.count_nonzero(np.diff(high) > 1) == 1
    straight = ten_seconds.q[size.argmax(), 1:] - AT_REST[1:]
    assert np.max(np.abs(straight)) < 0.5


def test_friction_takes_what_energy_the_chain_loses(closed, ten_seconds):
    q, v, t = ten_seconds.q, ten_seconds.v, ten_seconds.t
    energy = closed.kinetic_energy(q, v) + closed.potential_energy(q)
    assert np.all(np.diff(energy) < 0.0)
    power = 0.25 * np.sum(v**2, axis=1)
    # Simpson's rule on 4000 intervals.
    lost = np.sum(power[:-1:2] + 4.0 * power[1::2] + power[2::2]) * (t[1] - t[0]) / 3.0
    np.testing.assert_allclose(energy[0] - energy[-1], lost, atol=1e-6)
    # 20 + 20 + 25 + 30 J at the start.
    np.testing.assert_allclose(energy[0], 95.0, atol=1e-12)


def test_it_comes_to_rest_where_three_links_hang_straight(closed, ten_seconds):
    """The pin bears the three hanging links and half of link 1."""
    still = closed.forward_dynamics(AT_REST, REST)
    np.testing.assert_allclose(still, 0.0, atol=1e-12)
    up = closed.pose(AT_REST, "tip").R @ closed.reactions(AT_REST, REST)["tip"][3:]
    np.testing.assert_allclose(up, [0, 0, 40], atol=1e-12)
    np.testing.assert_allclose(closed.potential_energy(AT_REST), 45.0, atol=1e-12)
    later = ct.simulate(closed, ten_seconds.q[-1], ten_seconds.v[-1], 60.0, samples=2)
    np.testing.assert_allclose(later.q[-1], AT_REST, atol=2e-3)


def test_euler_steps_with_the_corrective_force_of_the_thesis(closed):
    """The first 1.5 s by hand: the accelerations of the pinned chain, and those of the open one under (5.75)."""
    h, K_p, K_v = 1e-3, 60.0, 40.0
    remedy = ct.Corrective(stiffness=K_p, damping=K_v)
    run = ct.simulate(closed, REST, REST, 1.5, integrator="euler", step=h, drift=remedy)
    q, v = REST, REST
    largest = 0.0
    for k in range(1500):
        tip = closed.pose(q, "tip")
        J = tip.R @ closed.jacobian(q, "tip")[3:]
        f_corrective = K_v * (0 - J @ v) + K_p * ((2, 0, 3) - tip.p)
        largest = max(largest, np.linalg.norm(f_corrective))
        qdd = closed.forward_dynamics(q, v) + np.linalg.solve(closed.mass_matrix(q), J.T @ f_corrective)
        q, v = q + h * v, v + h * qdd
        np.testing.assert_allclose(run.q[k + 1], q, atol=1e-10)
    # Small beside the tip force, and enough to keep the tip within 2 cm.
    peak = np.linalg.norm(pin_force(closed, run), axis=1).max()
    assert 230.0 < peak < 242.0
    assert 0.2 < largest < 0.01 * peak
    assert 2e-3 < np.abs((2, 0, 3) - run.position("tip")).max() < 20e-3
