"""Derivatives of forward dynamics of a tree: from those of inverse dynamics at the accelerations vdot,

    vdot by q = -H^-1 (tau by q),    vdot by v = -H^-1 (tau by v),    vdot by tau = H^-1.

H^-1 is known by itself, but the products are found with the sparse factors of H, and (tau by q) has entries only where
one component is beyond the other. Cost O(N^2 d), d the depth of the tree. vdot is an input, so that any formulation may
have found it.
"""

from typing import Any

from catena.dynamics.tree.inverse_derivatives import (
    BY_Q,
    BY_V,
    FIELDS,
    INPUTS,
    OPTIONAL,
    VIEWS,
    DerivativeTable,
    changes,
    forces,
    ground,
    keep,
    meet,
)
from catena.dynamics.tree.tree_blocks import TreeBlocks
from catena.kernels import Algorithm, OnMatrices
from catena.spatial import Motion


def _solve(work: Any) -> None:
    table = DerivativeTable(work)
    table.fill()
    blocks = TreeBlocks(work, table)
    H_inv, solved = blocks.inverse(), blocks.divided()
    n, at = table.n, work.coordinate
    pairs = sorted((at[r] * n + at[c], r, c) for r in range(n) for c in range(n))
    for number, name in ((BY_Q, "by_q"), (BY_V, "by_v")):
        work.output(name, (n, n), [(index, solved.at(r, 2 * c + number)) for index, r, c in pairs])
    work.output("by_tau", (n, n), [(index, H_inv.at(r, c)) for index, r, c in pairs])


forward_derivatives = Algorithm(
    "forward_derivatives", ground, (changes, forces, meet, keep, OnMatrices(_solve)), INPUTS,
    ground_inputs={"a_base": Motion}, optional=OPTIONAL, views=VIEWS, component_fields=FIELDS,
    matrix_outputs=("by_q", "by_v", "by_tau"), code="inverse_derivatives",
)  # fmt: skip
