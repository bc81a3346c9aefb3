"""Bodies from mass and stiffness matrices: the reduced body against the whole matrices and against a beam."""

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.linalg import eigh
from scipy.sparse import lil_array

from catena.bodies import FiniteElements
from catena.errors import ModelError

POINTS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


def brick(size, young=2e7, poisson=0.3, density=1000.0):
    """Mass and stiffness (24, 24) of a block with trilinear displacements."""
    lam, mu = young * poisson / (1 + poisson) / (1 - 2 * poisson), young / 2 / (1 + poisson)
    D = np.diag([lam + 2 * mu] * 3 + [mu] * 3)
    D[:3, :3] += lam * (1 - np.eye(3))
    M, K = np.zeros((24, 24)), np.zeros((24, 24))
    g = 1.0 / np.sqrt(3.0)
    for xi in POINTS * g:
        N = np.prod(1 + POINTS * xi, axis=1) / 8.0
        d = np.array([[POINTS[a, i] * np.prod([1 + POINTS[a, j] * xi[j] for j in range(3) if j != i]) / 8.0
                       for i in range(3)] for a in range(8)]) * 2.0 / np.array(size)  # fmt: skip
        B = np.zeros((6, 24))
        for a, (x, y, z) in enumerate(d):
            B[:, 3 * a : 3 * a + 3] = [[x, 0, 0], [0, y, 0], [0, 0, z], [y, x, 0], [0, z, y], [z, 0, x]]
        w = np.prod(size) / 8.0
        K += w * B.T @ D @ B
        M += w * density * np.kron(np.outer(N, N), np.eye(3))
    return M, K


def bar(count=6, size=(0.2, 0.1, 0.1)):
    """A bar of blocks along x: M, K, places of nodes, and the nodes of its two ends."""
    nodes = np.array([[x * size[0], y * size[1], z * size[2]]
                      for x in range(count + 1) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])  # fmt: skip
    n = 3 * len(nodes)
    M, K = lil_array((n, n)), lil_array((n, n))
    m, k = brick(size)
    for e in range(count):
        dofs = np.concatenate([np.arange(3 * a, 3 * a + 3) for a in range(4 * e, 4 * e + 8)])
        M[np.ix_(dofs, dofs)] += m
        K[np.ix_(dofs, dofs)] += k
    return M.tocsr(), K.tocsr(), nodes, range(4), range(len(nodes) - 4, len(nodes))


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
