"""External wrenches by name, moved to the nodes that carry the bodies."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.kernels import arrays
from catena.structure import Plan

Places = Callable[[str], tuple[np.ndarray, np.ndarray]]


def in_node_frames(
    plan: Plan, f_ext: Mapping[str, Any], known: Callable[[str], str], place: Places | None = None
) -> dict[str, np.ndarray]:
    """Return {body or frame: wrench (..., 6)} at the origin and in the axes of the node that carries it, from
    wrenches in the body's or frame's own axes at its origin. `place` tells rotations (3, 3) and places (..., 3) in
    nodes where they are not those of the plan."""
    if not isinstance(f_ext, Mapping):
        raise StateError(
            f"f_ext is a {type(f_ext).__name__}; give a mapping from bodies or frames to wrenches [moment; force]."
        )
    wrenches = {
        known(name): arrays.as_rows(f"f_ext[{name!r}]", wrench, 6, lambda: "a wrench [moment; force]")
        for name, wrench in f_ext.items()
    }
    result = {}
    for name, wrench in wrenches.items():
        bad = ~np.isfinite(wrench)
        if bad.any():
            raise StateError(
                f"f_ext[{name!r}] has an entry that is {wrench[bad][0]}; every entry must be a finite number."
            )
        _, pose = plan.body_pose[name]
        R, p = (pose.R, pose.p) if place is None else place(name)
        force = wrench[..., 3:] @ R.T
        moment = wrench[..., :3] @ R.T + np.cross(p, force)
        result[name] = np.concatenate([moment, np.broadcast_to(force, moment.shape)], axis=-1)
    return result


def on_nodes(
    plan: Plan, f_ext: Mapping[str, Any], known: Callable[[str], str], place: Places | None = None
) -> np.ndarray:
    """Return wrenches on all nodes, shape (..., 6 n), from {body or frame: wrench (..., 6)} in the body's or frame's
    own axes at its origin; `place` is that of `in_node_frames`."""
    wrenches = in_node_frames(plan, f_ext, known, place)
    batch = arrays.batch_shape(wrenches) if wrenches else ()
    total = np.zeros((*batch, plan.n, 6))
    for name, wrench in wrenches.items():
        total[..., plan.body_pose[name][0], :] += wrench
    return total.reshape(*batch, 6 * plan.n)
