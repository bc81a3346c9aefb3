"""What every body of a tree shows to the joint that carries it: articulated inertias and bias forces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena import dynamics
from catena.dynamics.flexible.flexible_body import most_modes
from catena.errors import StateError
from catena.spatial import ArticulatedInertia, Transform
from catena.system.by_name import as_arrays
from catena.system.own_forces import with_own_by_place

if TYPE_CHECKING:
    from catena.system.system import System

UPPER = tuple(zip(*np.triu_indices(3), strict=True))


@dataclass(frozen=True)
class ArticulatedInertias(Mapping[str, np.ndarray]):
    """The articulated inertia IA (..., 6, 6) of every body but ground by name, and its bias force in `bias`.

    A wrench f on a body, the one of its own joint among it, accelerates it by f = IA a + pA, a being the spatial
    acceleration less that of gravity, all in the body's own frame.
    """

    inertias: Mapping[str, np.ndarray]
    bias: Mapping[str, np.ndarray]

    def __getitem__(self, body: str) -> np.ndarray:
        return self.inertias[body]

    def __iter__(self) -> Iterator[str]:
        return iter(self.inertias)

    def __len__(self) -> int:
        return len(self.inertias)


def articulated_inertias(
    system: System, q: Any, v: Any, tau: Any,
    f_ext: Mapping[str, ArrayLike] | None, base_acceleration: ArrayLike | None,
) -> ArticulatedInertias:  # fmt: skip
    """Return what the sweep from the tips to the base finds at every body (Shao and Yuan, eq. 13 and 14)."""
    plan = system.plan
    if system.mechanics.constrained:
        raise StateError(
            "articulated_inertias: the mechanism has loops or couplings, and what a body shows then depends on bodies "
            "that do not hang on it. Detach the loops, or ask operational_space of a frame what the closed mechanism "
            "shows there."
        )
    if most_modes(plan):
        raise StateError(
            "articulated_inertias: bodies that bend show more than six by six numbers; lock their modes."
        )
    if v is None:
        v = np.zeros(system.nv)
    q, v, tau, _ = as_arrays(system, q, v, tau)
    system._outside(
        f_ext, base_acceleration
    )  # refuses what is no wrench, before those of the mechanism are added
    tau, _, f_ext = with_own_by_place(system, q, v, tau, None, f_ext)
    system._require_tree("articulated_inertias")
    inputs = {"q": q, "qd": v, "tau": tau, **system._outside(f_ext, base_acceleration)}
    result = system.mechanics.evaluator.evaluate(dynamics.articulated_inertia, inputs)
    inertia, force = _matrices(result["shown_inertia"]), result["shown_force"]
    inertias: dict[str, np.ndarray] = {}
    bias: dict[str, np.ndarray] = {}
    for name in system.mechanism.bodies:
        node, pose = plan.body_pose[name]
        if node:
            X = Transform.from_pose(pose).force_matrix()
            inertias[name] = X @ inertia[..., node, :, :] @ X.T
            bias[name] = force[..., node, :] @ X.T
    return ArticulatedInertias(inertias, bias)


def _matrices(entries: np.ndarray) -> np.ndarray:
    """Return symmetric matrices (..., 6, 6) from the entries of articulated inertias (..., 21)."""
    assert entries.shape[-1] == ArticulatedInertia.size
    J, H, M = entries[..., :6], entries[..., 6:15], entries[..., 15:]
    found = np.zeros((*entries.shape[:-1], 6, 6))
    found[..., :3, 3:] = H.reshape(*H.shape[:-1], 3, 3)
    found[..., 3:, :3] = np.swapaxes(found[..., :3, 3:], -1, -2)
    for k, (i, j) in enumerate(UPPER):
        found[..., i, j] = found[..., j, i] = J[..., k]
        found[..., i + 3, j + 3] = found[..., j + 3, i + 3] = M[..., k]
    return found
