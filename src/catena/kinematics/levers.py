"""How forces and moments of joints compare in size."""

import numpy as np

from catena.kinematics.extent import extent
from catena.structure import Plan


def levers(plan: Plan, lengths: np.ndarray | None = None) -> np.ndarray:
    """Return the levers (..., nv) at which joint forces count as forces [N]: the size of the mechanism [m] for
    components that turn, 1 for those that slide, and the root of the sum of squares for those that do both. `lengths`
    (...) are the sizes of mechanisms where they are not that of the plan.

    The smallest of many joint forces is the one with the least sum of squares of tau / lever: that depends neither on
    units nor on the plan.
    """
    length = np.asarray(extent(plan) if lengths is None else lengths)[..., None]
    result = np.ones((*length.shape[:-1], plan.nv))
    for i in range(1, plan.n):
        kind = plan.kind[i]
        assert kind is not None
        S = np.asarray(kind.motion_space(kind.neutral()).array, dtype=np.float64)
        size = np.sqrt(np.sum(S[:3] ** 2, axis=0) * length**2 + np.sum(S[3:] ** 2, axis=0))
        own = plan.v_of(i)
        shared = plan.owner is not None and plan.owner[i] != i
        result[..., own] = np.maximum(result[..., own], size) if shared else size
    return result
