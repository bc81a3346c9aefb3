"""The spaces of a joint and their duals. Van der Merwe, eq. 2.10 to 2.15: [psi psi_c]^T = [phi phi_c]^-1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.kinematics.kind_values import KindValues
from catena.kinematics.stacks import transposed


@dataclass(frozen=True, eq=False)
class JointBases:
    """The spaces of a joint at its child-side frame: free motions `phi` (..., 6, n) and blocked ones `phi_c` (..., 6,
    6 - n), and the dual bases, forces that drive `psi` (..., 6, n) and that hold `psi_c` (..., 6, 6 - n)."""

    phi: np.ndarray
    phi_c: np.ndarray
    psi: np.ndarray
    psi_c: np.ndarray


def bases_of(values: KindValues) -> JointBases:
    """Return the spaces of a joint kind at some configurations: psi_c spans what it resists, and phi_c and psi are the
    least that are dual to psi_c and phi."""
    return JointBases(values.S, _dual(values.Phi), _dual(values.S), values.Phi)


def _dual(A: np.ndarray) -> np.ndarray:
    found: np.ndarray = A @ np.linalg.inv(transposed(A) @ A)
    return found
