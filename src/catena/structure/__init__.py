"""Structure: from the graph of a mechanism to a tree, its loops and flat arrays. Graph theory, no physics."""

from catena.structure.branches import Branches, branches
from catena.structure.bridges import bridge_joints
from catena.structure.comparison import PlanComparison, compare_plans
from catena.structure.connectivity import (
    Connectivity,
    Interconnection,
    connectivity,
    connectivity_before,
    interconnection,
)
from catena.structure.coupled import PlannedCoupling, Term
from catena.structure.elimination_order import BodyGoes, LoopGoes, elimination_order
from catena.structure.flattening import canonical
from catena.structure.plan import Plan
from catena.structure.planning import plan

__all__ = [
    "Interconnection",
    "BodyGoes",
    "Branches",
    "Connectivity",
    "PlanComparison",
    "LoopGoes",
    "Plan",
    "PlannedCoupling",
    "Term",
    "branches",
    "bridge_joints",
    "canonical",
    "connectivity",
    "connectivity_before",
    "interconnection",
    "elimination_order",
    "compare_plans",
    "plan",
]
