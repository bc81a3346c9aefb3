"""Bodies from mass and stiffness matrices: the reduced body against the whole matrices and against a beam."""

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.linalg import eigh

import catena as ct
from benchmarks.blocks import bar, stiffened_by_tension
from catena.bodies import FiniteElements
from catena.errors import ModelError


def test_the_lowest_frequencies_are_those_of_all_nodes_with_the_root_held():
    M, K, nodes, root, tip = bar()
    body = FiniteElements(M, K, nodes, {"root": root, "tip": tip}, modes=12)
    free = np.arange(12, 3 * len(nodes))
    # The tip is a rigid frame in the reduced body, so compare with matrices in which it is one.
    rigid = body.rigid_motions(list(tip))
    rest = np.eye(3 * len(nodes))[:, 12:-12]
    T = np.hstack([rest, rigid])
    expected = np.sqrt(eigh(T.T @ (K @ T), T.T @ (M @ T), eigvals_only=True))
    np.testing.assert_allclose(body.frequencies[:4], expected[:4], rtol=2e-3)
    assert np.all(body.frequencies[:6] >= expected[:6] * (1 - 1e-9))
    assert len(free)


def test_mass_centre_and_inertia_are_those_of_the_block():
    M, K, nodes, root, tip = bar()
    mass, com, inertia = FiniteElements(M, K, nodes, {"root": root, "tip": tip}, modes=3).rigid
    np.testing.assert_allclose([mass, *com], [12.0, 0.6, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(inertia[2, 2], 12.0 / 12.0 * (1.2**2 + 0.1**2), rtol=1e-6)


def test_matrices_are_read_from_matrix_market_files(tmp_path):
    M, K, nodes, root, tip = bar(3)
    mmwrite(tmp_path / "m.mtx", M)
    mmwrite(tmp_path / "k.mtx", K)
    ends = {"root": root, "tip": tip}
    read = FiniteElements(tmp_path / "m.mtx", tmp_path / "k.mtx", nodes, ends, modes=2)
    np.testing.assert_allclose(
        read.frequencies, FiniteElements(M, K, nodes, ends, modes=2).frequencies, rtol=1e-9
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda M, K: (M, K + np.triu(np.ones(K.shape)) * 1e7), "not symmetric"),
        (lambda M, K: (-M, K), "not positive"),
        (lambda M, K: (M[:5, :5], K), "has shape"),
        (lambda M, K: (M, K * np.nan), "not finite"),
    ],
)
def test_matrices_that_cannot_be_are_refused_in_words(change, words):
    M, K, nodes, root, tip = bar(2)
    M, K = change(M.toarray(), K.toarray())
    with pytest.raises(ModelError, match=words):
        FiniteElements(M, K, nodes, {"root": root, "tip": tip})


def test_too_few_modes_and_poor_interfaces_are_refused_in_words():
    M, K, nodes, root, tip = bar(2)
    with pytest.raises(ModelError, match="give more modes"):
        FiniteElements(M, K, nodes, {"root": root}, modes=0)
    with pytest.raises(ModelError, match="on one line"):
        FiniteElements(M, K, nodes, {"root": [0, 1], "tip": tip})
    with pytest.raises(ModelError, match="share a node"):
        FiniteElements(M, K, nodes, {"root": root, "tip": root})
    with pytest.raises(ModelError, match="no interface and no node at"):
        FiniteElements(M, K, nodes, {"root": root, "tip": tip}).shapes((9.0, 0.0, 0.0))


def test_geometric_stiffness_matrices_stiffen_a_body_that_spins():
    size, L = (0.2, 0.1, 0.1), 1.2
    M, K, nodes, root, tip = bar(6, size)
    spun = stiffened_by_tension(6, size, lambda x: 1000.0 * (L**2 - x**2) / 2.0)
    pulled = stiffened_by_tension(6, size, lambda x: 1.0 / 0.01)
    body = FiniteElements(
        M, K, nodes, {"root": root, "tip": tip}, modes=2, stiffening={"xx": spun, "tip.x": pulled}
    )
    m = ct.Mechanism("rotor", gravity=(0.0, 0.0, 0.0))
    m.add_body("bar", flexible=body)
    m.add_joint("hub", "ground", "bar", ct.Revolute("z"))
    m.add_frame("tip", "bar", ct.Pose(p=(L, 0.0, 0.0)))
    s = m.system()
    speed, h, modes = 20.0, 1e-5, s.slice_v("bar.modes")
    v, rest = np.zeros(s.nv), np.zeros(s.nv)
    v[s.slice_v("hub")] = speed
    pull = {"tip": [0.0, 0.0, 0.0, 500.0, 0.0, 0.0]}

    def stiffness(**acting):
        rows = []
        for e in np.eye(s.nv)[modes]:
            ends = [s.inverse_dynamics(s.neutral() + d * e, v, rest, **acting)[modes] for d in (h, -h)]
            rows.append((ends[0] - ends[1]) / (2 * h))
        return np.transpose(rows)

    S = np.concatenate([body.shapes(node).S for node in nodes])
    plane = np.tile([1.0, 1.0, 0.0], len(nodes))
    expected = S.T @ (K @ S) + speed**2 * (
        S.T @ (spun @ S) - (S * plane[:, None]).T @ (M @ (S * plane[:, None]))
    )
    np.testing.assert_allclose(stiffness(), expected, atol=1e-6 * np.abs(expected).max())
    expected += 500.0 * S.T @ (pulled @ S)
    np.testing.assert_allclose(
        stiffness() + _pulled(s, body, pull, h), expected, atol=1e-6 * np.abs(expected).max()
    )
    # The flap of a slender cantilever grows by 1.19334 times the square of the speed.
    first = np.flatnonzero(np.abs(body.shapes((L, 0.0, 0.0)).S[2]) > 0.5)[0]
    found = S[:, first] @ (spun @ S[:, first]) / (S[:, first] @ (M @ S[:, first]))
    assert found == pytest.approx(1.19334, rel=0.02)


def _pulled(s, body, pull, h):
    """The stiffness that a force on the tip adds, which is its work along the displacement of second order."""
    B = body.shapes((1.2, 0.0, 0.0)).B
    return -np.tensordot(pull["tip"][3:], B, axes=1)


def test_loads_that_are_not_known_are_refused_in_words():
    M, K, nodes, root, tip = bar(2)
    with pytest.raises(ModelError, match="stiffening under 'spin' is not known; loads are x, xx"):
        FiniteElements(M, K, nodes, {"root": root, "tip": tip}, stiffening={"spin": K})
