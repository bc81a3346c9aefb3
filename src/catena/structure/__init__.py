"""Structure: from the graph of a mechanism to a tree, its loops and flat arrays. Graph theory, no physics."""

from catena.structure.branches import Branches, branches
from catena.structure.bridges import bridge_joints
from catena.structure.canonical import canonical
from catena.structure.comparison import JointComparison, PlanComparison, compare_plans
from catena.structure.connectivity import Connectivity, Link, connectivity, connectivity_before
from catena.structure.coupled import PlannedCoupling, Term
from catena.structure.elimination_order import BodyGoes, LoopGoes, elimination_order
from catena.structure.interconnection import Interconnection, interconnection
from catena.structure.plan import Loop, Placements, Plan
from catena.structure.planning import plan
from catena.structure.spanning_tree import Tree, least_dof_tree
from catena.structure.welding import Welds, weld

__all__ = [
    "Interconnection",
    "BodyGoes",
    "Branches",
    "Connectivity",
    "JointComparison",
    "PlanComparison",
    "Link",
    "Loop",
    "LoopGoes",
    "Placements",
    "Plan",
    "PlannedCoupling",
    "Term",
    "Tree",
    "Welds",
    "branches",
    "bridge_joints",
    "canonical",
    "connectivity",
    "connectivity_before",
    "interconnection",
    "elimination_order",
    "compare_plans",
    "least_dof_tree",
    "plan",
    "weld",
]
