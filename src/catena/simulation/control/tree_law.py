"""Inverse dynamics and differences of a tree as formulas, for laws that are compiled into the step."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.dynamics import newton_euler
from catena.kernels.plain import play
from catena.spatial.scalars import array
from catena.system import System

# A law compiled into the step is one piece of code for all of the mechanism; beyond so many components that takes long.
MOST_COMPILED = 40


def is_bare_tree(system: System) -> bool:
    """Return whether a system is a tree of moderate size on which nothing acts but its drives and gravity."""
    plan = system.plan
    plain = not plan.total_constraints and plan.owner is None and system.nv <= MOST_COMPILED
    return plain and system.variants.bare is system


def required_forces(system: System, q: Any, v: Any, vdot: Any) -> np.ndarray:
    """Return the joint forces (nv,) of a motion, symbols for q (nq,), v and vdot (nv,)."""
    return play(newton_euler, system.plan, system.plan.gravity, {"q": q, "qd": v, "qdd": vdot})["tau"]


def way(system: System, q: Any, goal: Any) -> np.ndarray:
    """Return the way (nv,) from one configuration to another, symbols (nq,), on the manifolds of the joints."""
    plan, found = system.plan, np.zeros(system.nv, dtype=object)
    for i, kind in enumerate(plan.kind):
        if kind is not None:
            here = slice(plan.q_start[i], plan.q_start[i] + kind.nq)
            found[plan.v_start[i] : plan.v_start[i] + kind.nv] = kind.difference(q[here], goal[here])
    return array(list(found))
