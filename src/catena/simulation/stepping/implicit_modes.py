"""Accelerations of a step that is implicit in modes (`steps.implicit`), from those that the mechanism has.

Where Python solves for the accelerations of a stage, next to singular configurations, it finds those of the mechanism
itself, a, with M a + J^T lambda = f and J a given. The step wants b with (M + F) b + J^T mu = f + g for the diagonal F
and the force g that it lends to modes. With Z that spans the motions that loops allow, b = a + Z y and

    Z^T (M + F) Z y = Z^T (g - F a).
"""

import numpy as np

from catena.dynamics.tree.friction import elastic
from catena.system import System


def lent_inertia(system: System, q: np.ndarray, h: float) -> np.ndarray:
    """Return the inertias F (nv,) that a step of size h lends to modes at q (nq,)."""
    F, damping = np.zeros(system.nv), np.asarray(system.plan.damping)
    for own, kind, _ in elastic(system.plan, q):
        stiffness = np.asarray(getattr(kind, "kind", kind).stiffness)
        F[own] = 0.5 * h * damping[own] + 0.25 * h * h * stiffness
    return F


def implicit_accelerations(
    system: System, q: np.ndarray, a: np.ndarray, a_past: np.ndarray, h: float
) -> np.ndarray:
    """Return the accelerations (nv,) of a step of size h, whose middle is at q (nq,), where the mechanism has a (nv,);
    a_past (nv,) are those of the step before."""
    plan, F, g = system.plan, lent_inertia(system, q, h), np.zeros(system.nv)
    for own, kind, _ in elastic(plan, q):
        C, modal = np.asarray(plan.damping)[own], getattr(kind, "kind", kind)
        g[own] = 0.5 * h * C * a_past[own] / (1.0 + 4.0 * h * h * np.asarray(modal.squares))
    J = system.closure_jacobian(q)
    _, sigma, rows = np.linalg.svd(J.reshape(-1, system.nv))
    Z = rows[int(np.sum(sigma > 1e-9 * sigma.max(initial=1.0))) :].T
    M = system.mass_matrix(q) + np.diag(F)
    found: np.ndarray = a + Z @ np.linalg.lstsq(Z.T @ M @ Z, Z.T @ (g - F * a), rcond=None)[0]
    return found
