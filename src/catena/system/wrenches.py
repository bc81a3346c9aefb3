"""External wrenches by name, moved to the nodes that carry the bodies."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.kernels import arrays
from catena.structure import Plan


def in_node_frames(
    plan: Plan, f_ext: Mapping[str, Any], known: Callable[[str], str]
) -> dict[str, np.ndarray]:
    """Return {body or frame: wrench (..., 6)} at the origin and in the axes of the node that carries it, from
    wrenches in the body's or frame's own axes at its origin."""
    if not isinstance(f_ext, Mapping):
        raise StateError(
            f"f_ext is a {type(f_ext).__name__}; give a mapping from bodies or frames to wrenches [moment; force]."
        )
    given = {
        known(name): arrays.as_rows(f"f_ext[{name!r}]", wrench, 6, lambda: "a wrench [moment; force]")
        for name, wrench in f_ext.items()
    }
    result = {}
    for name, wrench in given.items():
        bad = ~np.isfinite(wrench)
        if bad.any():
            raise StateError(
                f"f_ext[{name!r}] has an entry that is {wrench[bad][0]}; every entry must be a finite number."
            )
        _, pose = plan.body_pose[name]
        force = wrench[..., 3:] @ pose.R.T
        moment = wrench[..., :3] @ pose.R.T + np.cross(pose.p, force)
        result[name] = np.concatenate([moment, force], axis=-1)
    return result


def on_nodes(plan: Plan, f_ext: Mapping[str, Any], known: Callable[[str], str]) -> np.ndarray:
    """Return wrenches on all nodes, shape (..., 6 n), from {body or frame: wrench (..., 6)} in the body's or frame's
    own axes at its origin."""
    wrenches = in_node_frames(plan, f_ext, known)
    batch = arrays.batch_shape(wrenches) if wrenches else ()
    total = np.zeros((*batch, plan.n, 6))
    for name, wrench in wrenches.items():
        total[..., plan.body_pose[name][0], :] += wrench
    return total.reshape(*batch, 6 * plan.n)
