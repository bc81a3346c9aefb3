"""What methods for the joint-space inertia share that go from body to body by themselves: where joints stand, and how a
force is felt by the joints on its way to the base."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from catena.spatial import Force, Motion, Transform
from catena.structure import Plan


class Joints:
    """The transforms X and motion spaces of all joints of a plan in one state, of numbers or symbols, as
    `joint_motions` gives them."""

    def __init__(self, plan: Plan, found: Mapping[str, np.ndarray]) -> None:
        self.plan, self._S = plan, found["S_rows"]
        self._kind = np.result_type(found["X"], found["S_rows"])
        self.X = [Transform.from_entries(list(row)) for row in found["X"]]

    def zero(self) -> np.ndarray:
        """Return an empty matrix (nv, nv)."""
        return np.zeros((self.plan.nv, self.plan.nv), dtype=self._kind)

    def motions(self, i: int) -> Iterator[tuple[int, Motion]]:
        """The velocity components of a joint and the motions they stand for."""
        start = int(self.plan.v_start[i])
        for k in range(start, start + int(self.plan.v_size[i])):
            yield k, Motion(self._S[k])


def add_column(joints: Joints, H: np.ndarray, i: int, k: int, force: Force) -> None:
    """Add a force on body i, which an acceleration of component k takes, as all joints to the base feel it."""
    start = i
    while i:
        for c, s in joints.motions(i):
            felt = s.array @ force.array
            H[c, k] = H[c, k] + felt
            if i != start:
                H[k, c] = H[k, c] + felt
        force, i = joints.X[i].pull(force), int(joints.plan.parent[i])


def state_by_state(
    method: Callable[[Joints], np.ndarray],
    plan: Plan,
    found: Mapping[str, np.ndarray],
    batch: tuple[int, ...],
) -> np.ndarray:
    """H, shape (*batch, nv, nv), of a method for each state."""
    rows: dict[str, Any] = {
        name: found[name].reshape(-1, *found[name].shape[len(batch) :]) for name in ("X", "S_rows")
    }
    each = [method(Joints(plan, {name: x[k] for name, x in rows.items()})) for k in range(len(rows["X"]))]
    return np.array(each).reshape(*batch, plan.nv, plan.nv)
