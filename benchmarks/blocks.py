"""A bar of blocks with trilinear displacements: mass and stiffness matrices as finite-element programs export them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import lil_array

Array = NDArray[np.float64]
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


def block(
    size: tuple[float, float, float], young: float, poisson: float, density: float
) -> tuple[Array, Array]:
    """Mass and stiffness (24, 24) of a block with edges of these lengths [m], by eight Gauss points."""
    lam, mu = young * poisson / (1 + poisson) / (1 - 2 * poisson), young / 2 / (1 + poisson)
    D = np.diag([lam + 2 * mu] * 3 + [mu] * 3)
    D[:3, :3] += lam * (1 - np.eye(3))
    M, K = np.zeros((24, 24)), np.zeros((24, 24))
    for xi in CORNERS / np.sqrt(3.0):
        N = np.prod(1 + CORNERS * xi, axis=1) / 8.0
        B = np.zeros((6, 24))
        for a, (x, y, z) in enumerate(slopes(size, xi)):
            B[:, 3 * a : 3 * a + 3] = [[x, 0, 0], [0, y, 0], [0, 0, z], [y, x, 0], [0, z, y], [z, 0, x]]
        w = np.prod(size) / 8.0
        K += w * B.T @ D @ B
        M += w * density * np.kron(np.outer(N, N), np.eye(3))
    return M, K


def slopes(size: tuple[float, float, float], xi: Array) -> Array:
    """The derivatives (8, 3) of the shape functions of a block at a place xi (3,) from -1 to 1."""
    factors = 1 + CORNERS * xi
    others = np.stack([factors[:, [1, 2]], factors[:, [0, 2]], factors[:, [0, 1]]], axis=1).prod(axis=2)
    found: Array = CORNERS * others / 8.0 * 2.0 / np.array(size)
    return found


def bar(
    count: int = 6, size: tuple[float, float, float] = (0.2, 0.1, 0.1), young: float = 2e7, poisson: float = 0.3,
    density: float = 1000.0,
) -> tuple[Any, Any, Array, range, range]:  # fmt: skip
    """A bar of `count` blocks along x from the origin: M, K, the places of the nodes, and the nodes of its two ends."""
    nodes = np.array(
        [[x * size[0], y * size[1], z * size[2]] for x in range(count + 1) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    )  # fmt: skip
    n = 3 * len(nodes)
    M, K = lil_array((n, n)), lil_array((n, n))
    m, k = block(size, young, poisson, density)
    for e in range(count):
        some = np.arange(12 * e, 12 * e + 24)
        M[np.ix_(some, some)] += m
        K[np.ix_(some, some)] += k
    return M.tocsr(), K.tocsr(), nodes, range(4), range(len(nodes) - 4, len(nodes))


def stiffened_by_tension(
    count: int, size: tuple[float, float, float], stress: Callable[[float], float]
) -> Any:
    """The geometric stiffness matrix of a bar under a tension along x [N/m^2], which the place along it tells."""
    n = 12 * (count + 1)
    K = lil_array((n, n))
    for e in range(count):
        some = np.arange(12 * e, 12 * e + 24)
        for xi in CORNERS / np.sqrt(3.0):
            d = slopes(size, xi)[:, 0]
            here = stress(size[0] * (e + 0.5 * (1.0 + float(xi[0]))))
            K[np.ix_(some, some)] += here * np.prod(size) / 8.0 * np.kron(np.outer(d, d), np.eye(3))
    return K.tocsr()
