"""What a joint passes on, split in what drives it and what it resists. Van der Merwe, eq. 2.16: f = psi tau + psi_c
tau_c."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.kinematics.kind_values import KindValues, kind_values
from catena.kinematics.stacks import apply, transposed
from catena.mechanism.validation import known
from catena.questions.joint_bases import JointBases, bases_of
from catena.system.system import System


@dataclass(frozen=True, eq=False)
class JointWrench:
    """The wrench [moment; force] that a joint passes to its child: as `s.reactions` has it, at the child-side joint
    frame in its axes (`far`), and the same at the parent-side frame in the axes of that (`near`), each (..., 6); its
    parts `tau` (..., n), which work, and `tau_c` (..., 6 - n), which do not, in the dual `bases`."""

    far: np.ndarray
    near: np.ndarray
    tau: np.ndarray
    tau_c: np.ndarray
    bases: JointBases


def joint_bases(system: System, q: ArrayLike, joint: str) -> JointBases:
    """Return phi, phi_c and the dual bases psi, psi_c of any joint at q (..., nq), at its child-side frame in the axes
    of that."""
    return bases_of(_values(system, q, joint))


def joint_wrench(
    system: System, q: ArrayLike, v: ArrayLike, joint: str, tau: ArrayLike | Mapping[str, ArrayLike] | None = None,
    **given: Any,
) -> JointWrench:  # fmt: skip
    """Return what a joint passes to its child at q (..., nq), v (..., nv) under joint forces tau, split in what works
    and what does not; the other arguments are those of `System.reactions`."""
    values = _values(system, q, joint)
    far = system.reactions(q, v, tau, **given)[joint]
    bases = bases_of(values)
    return JointWrench(
        far, apply(transposed(values.X), far), apply(transposed(bases.phi), far), apply(transposed(bases.phi_c), far),
        bases,
    )  # fmt: skip


def _values(system: System, q: ArrayLike, joint: str) -> KindValues:
    """Return the kind of a joint, as it was described, at the configurations q (..., nq)."""
    joints = system.mechanism.joints
    kind = joints[known("joint", joint, joints, repr(system.mechanism.name))].kind
    # A weld has no coordinates, and none to ask for.
    nothing = np.zeros((*np.shape(q)[:-1], 0))
    at = nothing if kind.nq == 0 else system.joint_position(q, joint)
    return kind_values(kind, at, np.zeros(kind.nv))
