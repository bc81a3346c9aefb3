"""Inverse dynamics and differences of a tree as formulas, for laws that are compiled into the step.

What springs, friction and other forces of the mechanism do is in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.dynamics import composite_body, newton_euler
from catena.dynamics.elements.element_force import element_force
from catena.forces.placed import LOOP
from catena.kernels.plain import play
from catena.spatial.scalars import array
from catena.system import System

# A law compiled into the step is one piece of code for all of the mechanism; beyond so many components, or forces, that
# takes long.
MOST_COMPILED = 40


def is_formula_tree(system: System) -> bool:
    """Return whether a system is a tree of moderate size that is the same for all states and on which nothing acts but
    what formulas tell: not friction in proportion to load, which is searched for, nor what is told from outside."""
    plan, variants = system.plan, system.variants
    if plan.total_constraints or plan.owner is not None or system.nv > MOST_COMPILED:
        return False
    if variants.base is not system or variants.unloaded is not system:
        return False
    elements = system.mechanics.elements
    told = any(force.kind.inputs or force.site == LOOP for force in elements.placed)
    return elements.is_compiled and not told and len(elements.placed) <= MOST_COMPILED


def required_forces(system: System, q: Any, v: Any, vdot: Any) -> np.ndarray:
    """Return the joint forces (nv,) that a motion takes besides the forces of the mechanism, symbols for q (nq,), v and
    vdot (nv,)."""
    plan, own = system.plan, system.mechanics.elements.placed
    taken: np.ndarray = play(newton_euler, plan, plan.gravity, {"q": q, "qd": v, "qdd": vdot})["tau"]
    if not own:
        return taken
    return taken - play(element_force, plan, plan.gravity, {"q": q, "qd": v}, forces=own)["load"]


def inertia(system: System, q: Any) -> np.ndarray:
    """Return the joint-space inertia (nv, nv) for symbols q (nq,)."""
    plan = system.plan
    found: np.ndarray = play(composite_body, plan, plan.gravity, {"q": q})["H"]
    return found


def way(system: System, q: Any, goal: Any) -> np.ndarray:
    """Return the way (nv,) from one configuration to another, symbols (nq,), on the manifolds of the joints."""
    plan, found = system.plan, np.zeros(system.nv, dtype=object)
    for i, kind in enumerate(plan.kind):
        if kind is not None:
            here = slice(plan.q_start[i], plan.q_start[i] + kind.nq)
            found[plan.v_start[i] : plan.v_start[i] + kind.nv] = kind.difference(q[here], goal[here])
    return array(list(found))
