"""Closing loops with flexible bodies: bodies stay as they are deformed while joints move."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from catena.dynamics.flexible.flexible_body import is_flexible
from catena.structure import Plan


def with_modes(plan: Plan, given: Mapping[str, Any] | None, q: np.ndarray | None) -> dict[str, Any]:
    """Return what is given for joints by name, and besides the amplitudes of all modes in q (..., nq), or zero
    velocities where q is None."""
    assert plan.owner is not None
    found: dict[str, Any] = {}
    for i in range(1, plan.n):
        if plan.owner[i] == i and is_flexible(plan.kind[i]):
            first, count = int(plan.q_start[i]), int(plan.q_size[i])
            found[plan.joint[i]] = np.zeros(count) if q is None else q[..., first : first + count]
    return {**found, **(given or {})}
