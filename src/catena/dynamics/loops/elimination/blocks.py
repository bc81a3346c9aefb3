"""The blocks that an elimination is made of, for loops of up to so many constraints and bodies of up to so many modes.

Every loop gets the same number of columns, and those that it does not need are zero: so there are only three shapes of
compiled elimination (3, 5 and 6 columns), whatever the mechanism, and as many that know couplings, besides one for
trees with couplings. Among flexible bodies there are as many for each number of modes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from catena.dynamics.flexible.flexible_body import most_modes
from catena.dynamics.tree.symmetric import Symmetric as Symmetric, Triangle as Triangle
from catena.kernels import JointRows
from catena.spatial import Force, ForceSpace
from catena.structure import Plan


@dataclass(frozen=True)
class EliminationShape:
    """A shape of compiled elimination: for loops of up to so many constraints, which are the columns of their blocks,
    with couplings or without, and for bodies that have 6 + `modes` accelerations at most."""

    columns: int
    coupled: bool = False
    modes: int = 0

    def __str__(self) -> str:
        return f"{self.columns}{'_coupled' * self.coupled}{f'_modes_{self.modes}' if self.modes else ''}"

    @property
    def rigid(self) -> EliminationShape:
        """The same where nobody asks how modes yield."""
        return replace(self, modes=0)

    @property
    def link_rows(self) -> int:
        """How many rows a link has: six, those of the modes, and those of a joint."""
        return 6 + self.modes + max(6, self.modes)


SHAPES = (
    EliminationShape(3),
    EliminationShape(5),
    EliminationShape(6),
    EliminationShape(1, True),
    EliminationShape(3, True),
    EliminationShape(5, True),
    EliminationShape(6, True),
)


@lru_cache(maxsize=64)
def shape_for(plan: Plan, sticks: bool = False) -> EliminationShape:
    """Return the shape with the fewest columns that serves all loops of a plan, its couplings, and the modes of its
    bodies; where friction `sticks`, loop joints that have some may hold along all their motions besides."""
    held = [
        loop.kind.nv if sticks and any(x != 0.0 for x in loop.friction) else 0 for loop in plan.loop_joints
    ]
    most = max(
        (loop.constraints + more for loop, more in zip(plan.loop_joints, held, strict=True)), default=0
    )
    coupled = bool(plan.couplings)
    found = next(shape for shape in SHAPES if shape.columns >= most and shape.coupled is coupled)
    return replace(found, modes=most_modes(plan))


@dataclass(frozen=True)
class ArrayView:
    """An array."""

    shape: tuple[int, ...]

    def zero(self) -> np.ndarray:
        """Return an array of zeros."""
        return np.zeros(self.shape)


@dataclass(frozen=True)
class Columns:
    """Forces, one for each constraint of a loop."""

    n: int

    def zero(self) -> ForceSpace:
        """Forces of nothing."""
        return ForceSpace.zero(self.n)


def views(shape: EliminationShape) -> dict[str, Any]:
    """Return the records of loops, of their links to bodies, of their effects on each other, and of joints that are
    coupled."""
    columns = shape.columns
    block, vector, triangle = Columns(columns), ArrayView((columns,)), Triangle(columns)
    ends: dict[str, Any] = {"K_child": block, "E_child": block, "K_parent": block, "E_parent": block}
    link = {"K": block, "E": JointRows(columns)}
    if shape.modes:
        held, rows = ArrayView((shape.modes, columns)), ArrayView((max(6, shape.modes), columns))
        ends = {
            "K_child": block, "Km_child": held, "E_child": rows, "K_parent": block, "Km_parent": held, "E_parent": rows,
        }  # fmt: skip
        link = {"K": block, "Km": held, "E": JointRows(columns)}
    term = {**ends, "w_child": Force, "w_parent": Force, "motion": ArrayView((3,))}
    return {
        **({"term": term} if shape.coupled else {}),
        "multiplier": {
            **ends, "gamma": vector, "l": vector, "L": triangle, "M": vector, "W": triangle, "w": vector, "lam": vector,
            "total": vector, "drag_child": Force, "drag_parent": Force, "on_child": Force, "position": vector,
            "velocity": vector, "per_length": ArrayView((1,)),
        },
        "link": link,
        "pair": {"K": ArrayView((columns, columns))},
        "above": "link", "other_link": "link", "other": "multiplier", "other_pair": "pair", "sum": "pair",
    }  # fmt: skip
