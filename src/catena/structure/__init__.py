"""Structure: from the graph of a mechanism to a tree, its loops and flat arrays. Graph theory, no physics."""

from catena.structure.bridges import bridge_joints
from catena.structure.canonical import canonical
from catena.structure.coupled import PlannedCoupling, Term
from catena.structure.elimination_order import BodyGoes, LoopGoes, elimination_order
from catena.structure.plan import Loop, Placements, Plan
from catena.structure.planning import plan
from catena.structure.spanning_tree import Tree, least_dof_tree
from catena.structure.welding import Welds, weld

__all__ = [
    "BodyGoes",
    "Loop",
    "LoopGoes",
    "Placements",
    "Plan",
    "PlannedCoupling",
    "Term",
    "Tree",
    "Welds",
    "bridge_joints",
    "canonical",
    "elimination_order",
    "least_dof_tree",
    "plan",
    "weld",
]
