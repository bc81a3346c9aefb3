"""Prescribed joint accelerations at the public edge: what is given by name, and the words for what loops do not
allow."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from catena.dynamics.closed.hybrid import HybridSolution
from catena.errors import LoopError, StateError
from catena.kinematics.held import held_velocities
from catena.mechanism import Mechanism
from catena.structure import Plan


def prescribed_accelerations(
    mechanism: Mechanism, plan: Plan, prescribed: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return which velocity components are driven (nv,), and their accelerations (..., nv), zero elsewhere."""
    held = held_velocities(mechanism, plan, prescribed)
    for h in held:
        if h.node < 0:
            raise StateError(
                f"joint {h.name!r} closes a loop in this plan and carries no coordinates that could be prescribed: "
                f"keep it in the tree, m.system(keep=[{h.name!r}])."
            )
    shapes = {h.name: h.value.shape[:-1] for h in held}
    try:
        batch = np.broadcast_shapes(*shapes.values())
    except ValueError as error:
        raise StateError(f"The batch dimensions of prescribed do not fit together: {shapes}.") from error
    driven, given = np.zeros(plan.nv, dtype=bool), np.zeros((*batch, plan.nv))
    for h in held:
        at = slice(int(plan.v_start[h.node]), int(plan.v_start[h.node] + plan.v_size[h.node]))
        driven[at] = h.mask
        given[..., at] = np.where(h.mask, np.nan_to_num(h.value), 0.0)
    return driven, given


def require_agreement(plan: Plan, solution: HybridSolution, joints: list[str]) -> None:
    """Raise for accelerations that open loops."""
    if not len(solution.open_states):
        return
    worst = int(np.argmax(np.linalg.norm(solution.opening, axis=-1)))
    at, rows = 0, []
    for loop in plan.constraints:
        part = solution.opening[worst, at : at + loop.constraints]
        at += loop.constraints
        if len(part):
            rows.append(f"{loop.name!r} by {np.linalg.norm(part):.3g}")
    raise LoopError(
        f"The accelerations prescribed for {', '.join(map(repr, joints))} open the loops of {plan.name!r} in state "
        f"{int(solution.open_states[worst])}: {', '.join(rows)} [rad/s^2 or m/s^2]. Prescribe fewer joints, or "
        f"accelerations that agree with the loops."
    )
