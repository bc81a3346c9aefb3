"""Inertia lent to bodies that have none, so that loops which alone determine their motion can be eliminated.

A joint is eliminated by what it moves: D = S^T A S of the articulated inertia behind it. A massless rod between two
legs moves nothing by itself, and D is zero although the loops leave the rod no freedom. Such bodies are lent a small
part of the usual inertia while factors are made. The residuals that refinements solve for are those of the true
equations, in which nothing is lent, so that refinements take back what the loan has changed.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination.magnitudes import Magnitudes, moved_pace
from catena.dynamics.tree.moved_inertia import moving_nothing
from catena.joints import JointKind
from catena.kernels import on_call
from catena.spatial import ArticulatedInertia
from catena.structure import Plan

# The part of the usual inertia of a body that is lent. Errors shrink by about this part with each refinement, and the
# rounding errors of what yields so much more than all else have to stay below the regularisation of multipliers.
LENT = 1e-7
# Where all loops are softened there are more refinements, and more is lent. A multiplier that blocks a direction feels
# accelerations with a stiffness of one over its M and is off by as much rounding, and what it is off by moves the loan:
# the solution begins with errors of the machine precision over M and over the loan, times the lever arms squared.
LENT_WITH_SOFT = 3e-5


@on_call
def lend(loop: Any, child: Any, parent: Any) -> None:
    """Lend inertia to one body, of the size that is usual in the mechanism."""
    _lend(LENT, loop, child)


@on_call
def lend_with_soft(loop: Any, child: Any, parent: Any) -> None:
    """The same where all loops are softened."""
    _lend(LENT_WITH_SOFT, loop, child)


def _lend(part: float, loop: Any, child: Any) -> None:
    angular, linear = _loan(part, loop)
    child.A += ArticulatedInertia.from_entries(
        [angular, 0.0, 0.0, angular, 0.0, angular, *[0.0] * 9, linear, 0.0, 0.0, linear, 0.0, linear]
    )


def _loan(part: float, loop: Any) -> tuple[Any, Any]:
    return part / loop.scale[0], part / loop.scale[1]


@on_call
def own_load(loop: Any, child: Any, parent: Any) -> None:
    """A body without inertia takes no force to move, and where nothing acts on it only rounding passes through its
    joint. What it would take to move the loan is little enough to call nothing, and does not vanish."""
    angular, linear = _loan(LENT, loop)
    child.load += Magnitudes(angular * child.pace.angular, linear * child.pace.linear)


@on_call
@but_particles
def own_pace(body: Any, parent: Any) -> None:
    """A body that was lent inertia is measured by how it moves. Forces would move the loan alone millions of times as
    fast, and beside that nothing is wrong."""
    body.pace = moved_pace(body, parent)


@lru_cache(maxsize=64)
def borrowers(plan: Plan) -> frozenset[int]:
    """Return the nodes whose joints move no inertia without the help of loops, wherever they stand."""
    if plan.inertia.dtype == object or not any(loop.constraints for loop in plan.loop_joints):
        return frozenset()
    random = np.random.default_rng(0)

    def somewhere(kind: JointKind) -> np.ndarray:
        return np.asarray(kind.integrate(kind.neutral(), random.uniform(-0.5, 0.5, kind.nv)), dtype=float)

    return frozenset(moving_nothing(plan, somewhere))
