"""Velocity components that a user declares independent, by the names of their joints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from catena.mechanism.naming import selected
from catena.structure import Plan


def independent_components(plan: Plan, names: str | Iterable[str]) -> np.ndarray:
    """Return the velocity components (d,) of joints of the tree, in their order: "crank" means all of a joint,
    "hip[1]" its second component, and "leg*" all joints that are called so."""
    by_name: dict[str, list[int]] = {}
    for i in range(1, plan.n):
        if plan.owner is None or plan.owner[i] == i:
            start, size = int(plan.v_start[i]), int(plan.v_size[i])
            by_name[plan.joint[i]] = list(range(start, start + size))
            if size > 1:
                by_name |= {f"{plan.joint[i]}[{k}]": [start + k] for k in range(size)}
    found = {k for name in selected("joint of the tree", names, by_name) for k in by_name[name]}
    return np.array(sorted(found), dtype=np.int64)


def component_names(plan: Plan, components: np.ndarray) -> list[str]:
    """Return the names of velocity components (d,), in their order: "elbow", or "hip[1]" of a joint with several."""
    found = [""] * plan.nv
    for i in range(1, plan.n):
        start, size = int(plan.v_start[i]), int(plan.v_size[i])
        for k in range(size):
            if not found[start + k]:
                found[start + k] = plan.joint[i] if size == 1 else f"{plan.joint[i]}[{k}]"
    return [found[int(k)] for k in components]
