"""Van der Merwe, section 5.5: the open chain of the four-link example, to the printed digits.

Mass matrices of the growing chain, Jacobians, Omega, Lambda^-1, the bias force and the accelerations of the open
chain; built from the SDOF tables 5.1 and 5.2 and from ordinary bodies and joints.
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
