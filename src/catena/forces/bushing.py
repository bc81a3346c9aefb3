"""A bushing: six-dimensional stiffness and damping between two frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.forces.contract import FrameForce, Relative
from catena.forces.deflection import exact_rate
from catena.spatial import Force, Motion, is_symbolic, log
from catena.spatial.scalars import array
from catena.validation import real_array, shown


@dataclass(frozen=True)
class Bushing(FrameForce):
    """Stiffness and damping in all six directions between two frames that coincide at rest.

    The deflection d (6,) [rad, m] is the twist that carries frame a to frame b in unit time, [angular; linear]: for
    small motions, the angles and displacements of b in a. It is good short of half a turn. The energy is
    d^T stiffness d / 2, and the damping wrench on b is -damping v for the relative twist v in b's axes. Each matrix is
    given as six numbers, for its diagonal, or as 36, row after row, or as (6, 6); both are symmetric and not negative.
    """

    stiffness: tuple[float, ...] = ()
    damping: tuple[float, ...] = ()

    stores = True
    drawn_as = "bushing"

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            object.__setattr__(self, name, _matrix(name, getattr(self, name)))
        if not self.stiffness and not self.damping:
            raise ModelError(
                "Bushing: it has neither stiffness nor damping, so it does nothing: give one of them"
            )

    @property
    def spends(self) -> bool:
        return any(self.damping)

    def load(self, at: Relative) -> Force:
        total = np.zeros(6)
        if self.stiffness:
            d = log(at.X)
            y = _times(self.stiffness, d.array)
            # The rate of d is A v, so what resists it along d acts as A^T y.
            columns = [exact_rate(d, Motion(e)).array for e in np.eye(6)]
            total = array([-(column @ y) for column in columns])
        if self.damping:
            total = total - _times(self.damping, at.v.array)
        return Force(total)

    def energy(self, at: Relative) -> Any:
        if not self.stiffness:
            return 0.0
        d = log(at.X).array
        return 0.5 * (d @ _times(self.stiffness, d))

    def outputs(self, at: Relative) -> Mapping[str, Any]:
        names = ("rx", "ry", "rz", "dx", "dy", "dz")
        moments = zip(("mx", "my", "mz", "fx", "fy", "fz"), self.load(at).array, strict=True)
        return dict(zip(names, log(at.X).array, strict=True)) | dict(moments)


def _times(matrix: tuple[Any, ...], x: Any) -> np.ndarray:
    """Return the product of a matrix, given by its diagonal or by rows, with a vector."""
    if len(matrix) == 6:
        return array([m * e for m, e in zip(matrix, x, strict=True)])
    return array([sum(m * e for m, e in zip(matrix[6 * i : 6 * i + 6], x, strict=True)) for i in range(6)])


def _matrix(name: str, value: Any) -> tuple[float, ...]:
    """Return the entries of a diagonal (6,) or of a whole matrix (36,); none if all are zero."""
    if is_symbolic(value):
        return tuple(value)
    try:
        found = real_array(value)
    except ValueError:
        raise ModelError(f"Bushing: {name} is {shown(value)}, which are not numbers: give floats") from None
    if found.size == 0 or not found.any():
        return ()
    if found.shape not in ((6,), (36,), (6, 6)):
        raise ModelError(
            f"Bushing: {name} has shape {found.shape}: give 6 numbers for the diagonal, or (6, 6)"
        )
    if not np.isfinite(found).all():
        raise ModelError(f"Bushing: {name} holds NaN or infinity: give finite numbers")
    full = np.diag(found) if found.shape == (6,) else found.reshape(6, 6)
    size = np.abs(full).max()
    if np.abs(full / size - full.T / size).max() > 1e-9:
        raise ModelError(f"Bushing: {name} is not symmetric: give a symmetric 6 x 6 matrix")
    # In parts of the largest entry, because squares of very large ones overflow.
    if np.linalg.eigvalsh(full / size).min() < -1e-9:
        raise ModelError(
            f"Bushing: {name} has a negative eigenvalue: a bushing resists motion in every direction"
        )
    return tuple(found.ravel().tolist())
