"""What laws know of a mechanism as formulas, for the compiled step: inverse dynamics, inertia, loops, and differences.

What springs, friction and other forces of the mechanism do is in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.dynamics import composite_body, newton_euler
from catena.dynamics.elements.element_force import element_force
from catena.dynamics.loops.formulations.certified_elimination import knows_joints
from catena.dynamics.tree.rotors import with_rotors
from catena.equations.loop_rows import rows_of, told_of_loops
from catena.forces.placed import LOOP
from catena.kernels.plain import play
from catena.kinematics.loops.scales import scales_of
from catena.simulation.control.mobility import JointMobility
from catena.spatial.scalars import array
from catena.system import System

# A law compiled into the step is one piece of code for all of the mechanism; beyond so many components, or forces, that
# takes long; with loops beyond so many components and constraints.
MOST_COMPILED, MOST_IN_LOOPS, MOST_CONSTRAINTS = 40, 24, 26


def is_formula_tree(system: System) -> bool:
    """Return whether a system is a tree of moderate size that is the same for all states and on which nothing acts but
    what formulas tell: not friction in proportion to load, which is searched for, nor what is told from outside."""
    return not system.plan.total_constraints and _is_formula(system)


def is_formula(system: System) -> bool:
    """Return the same of a tree, or of a mechanism of moderate size with loops whose joints find their coordinates by
    formulas; rotors of joints that close loops are left to numbers."""
    if not _is_formula(system):
        return False
    if not system.plan.total_constraints:
        return True
    plan = system.mechanics.effective_plan
    small = plan.nv <= MOST_IN_LOOPS and plan.total_constraints <= MOST_CONSTRAINTS
    return small and knows_joints(plan) and not any(x.is_rotor for x in plan.couplings)


def _is_formula(system: System) -> bool:
    plan, variants = system.plan, system.variants
    if plan.owner is not None or system.nv > MOST_COMPILED:
        return False
    if variants.base is not system or variants.unloaded is not system:
        return False
    elements = system.mechanics.elements
    needs_more = any(force.kind.inputs or force.site == LOOP for force in elements.placed)
    return elements.is_compiled and not needs_more and len(elements.placed) <= MOST_COMPILED


def required_forces(system: System, q: Any, v: Any, vdot: Any) -> np.ndarray:
    """Return the joint forces (nv,) that a motion takes besides the forces of the mechanism, symbols for q (nq,), v and
    vdot (nv,). With loops it is what it would take if nothing held these."""
    plan, own = system.plan, system.mechanics.elements.placed
    taken: np.ndarray = play(newton_euler, plan, plan.gravity, {"q": q, "qd": v, "qdd": vdot})["tau"]
    if not own:
        return taken
    return taken - play(element_force, plan, plan.gravity, {"q": q, "qd": v}, forces=own)["load"]


def inertia(system: System, q: Any) -> np.ndarray:
    """Return the joint-space inertia (nv, nv) for symbols q (nq,)."""
    plan = system.plan
    return with_rotors(plan, play(composite_body, plan, plan.gravity, {"q": q})["H"])


def mobility(system: System, q: Any, v: Any) -> JointMobility:
    """Return how joint forces accelerate the mechanism at q (nq,) and v (nv,), symbols, its loops closed."""
    H, load = inertia(system, q), required_forces(system, q, v, np.zeros(system.nv))
    if not system.plan.total_constraints:
        return JointMobility(H, list(load))
    plan = system.mechanics.effective_plan
    of_loops = play(told_of_loops(plan), plan, plan.gravity, {"q": q, "qd": v})
    rows = rows_of(plan, of_loops, {"q": q, "v": v})
    per = 1.0 / scales_of(plan).rows
    G = [[float(unit) * x for x in row] for unit, row in zip(per, rows.J, strict=True)]
    gamma = [float(unit) * x for unit, x in zip(per, rows.gamma, strict=True)]
    return JointMobility(H, list(load - rows.friction), G, gamma)


def way(system: System, q: Any, goal: Any) -> np.ndarray:
    """Return the way (nv,) from one configuration to another, symbols (nq,), on the manifolds of the joints."""
    plan, found = system.plan, np.zeros(system.nv, dtype=object)
    for i, kind in enumerate(plan.kind):
        if kind is not None:
            here = slice(plan.q_start[i], plan.q_start[i] + kind.nq)
            found[plan.v_start[i] : plan.v_start[i] + kind.nv] = kind.difference(q[here], goal[here])
    return array(list(found))
