"""The plans of systems as tables: their links, and what became of each joint from one to another."""

from __future__ import annotations

from catena.errors import StateError
from catena.mechanism import GROUND
from catena.structure import Connectivity, PlanComparison
from catena.structure.comparison import compare_plans as compared
from catena.structure.connectivity import connectivity as links
from catena.system.of_system import of_system
from catena.system.system import System
from catena.validation import shown


@of_system
def connectivity(system: System, base: str = GROUND) -> Connectivity:
    """Return the links of a system's plan with parent, end-effector, connect and cflag, as Lampariello et al. print
    them; `base` is the body of link 0. Print it for the table."""
    return links(system.plan, base)


def compare_plans(before: System, after: System) -> PlanComparison:
    """Return what became of each joint and its coordinates from one system to another that was planned after an edit;
    print it to read."""
    for who, system in (("before", before), ("after", after)):
        if not isinstance(system, System):
            raise StateError(f"{who} is {shown(system)}; give a system, such as m.system().")
    return compared((before.mechanism, before.plan), (after.mechanism, after.plan))
