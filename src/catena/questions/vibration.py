"""Small vibrations about a state at rest: eigenvalues and shapes."""

import numpy as np

from catena.questions.linearisation import Linearisation


def eigenmodes(linear: Linearisation) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues (k,) of a linear motion at rest, slowest first, and its shapes (nv, k) in all velocity
    components, the largest entry 1. A pair of conjugate eigenvalues is one mode, and so is a real eigenvalue."""
    d = linear.A.shape[0] // 2
    K, C = -linear.A[d:, :d], -linear.A[d:, d:]
    if not np.any(C):
        squares, vectors = np.linalg.eig(K)
        values = np.where(
            squares.real >= 0.0, 1j * np.sqrt(np.abs(squares.real)), np.sqrt(np.abs(squares.real))
        )
    else:
        values, whole = np.linalg.eig(linear.A)
        chosen = values.imag >= 0.0
        values, vectors = values[chosen], whole[:d, chosen]
    order = np.argsort(np.abs(values), kind="stable")
    shapes = linear.E @ vectors[:, order]
    if shapes.size:
        largest = shapes[np.argmax(np.abs(shapes), axis=0), np.arange(shapes.shape[1])]
        shapes = shapes / largest
    return np.asarray(values[order], dtype=complex), shapes.astype(complex)


def rests(linear: Linearisation, gravity: np.ndarray, H: np.ndarray) -> bool:
    """Return whether a state stays as it is: accelerations are little beside what gravity would do to the inertia H
    (nv, nv) of the tree."""
    size = np.linalg.norm(gravity) * np.sqrt(np.trace(H)) if H.size else 0.0
    return bool(np.linalg.norm(linear.vdot) <= 1e-3 * max(size, 1.0))
