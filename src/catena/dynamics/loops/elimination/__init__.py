"""Forward dynamics of mechanisms with loops by elimination on the graph, in lanes; linear while loops do not
interlock deeply.

A body i on the way to the base obeys f = A a + p + sum_l K_l lambda_l, and a loop l obeys
sum_i K_li^T a_i + sum_k L_lk lambda_k + l_l = 0: articulated bodies, with the K carrying what
the loops hold (Lilly and Orin's Omega and Lambda^-1 in other clothes; Popov and Vereshchagin).
`structure.elimination_order` says in which order bodies and multipliers go. For a star of chains on one member the
multipliers go when their chain is done, and what they leave on the member is Lilly and Orin's eq. 46.

L is negative semidefinite and singular wherever a chain blocks a direction or a constraint is redundant. So a
small M is put under the multipliers, which makes every elimination possible, and the solution is refined
against the true equations of motion and constraints (proximal iterations): what can be satisfied is satisfied,
and multipliers of redundant constraints stay near the least ones. How far the equations are from satisfied in
the end, the `defect`, is a result, and so is by how much the last two refinements still changed the accelerations
(`before`, `change`) beside their `size`. So a caller can tell the states where this was not enough: those with a
large defect, and those where a weak constraint, as beside a singular configuration, is found too slowly to show in
the residuals.
"""

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from catena.dynamics.loops.elimination.blocks import EliminationShape, shape_for, views
from catena.dynamics.loops.elimination.lending import borrowers as borrowers
from catena.dynamics.loops.elimination.schedule import KEEPING, rewritten, schedule, steps_for
from catena.dynamics.loops.elimination.steps import accelerating_ground
from catena.dynamics.loops.elimination.ties import KEEPING_TIES
from catena.kernels import POSITION, VELOCITY, Algorithm, Schedule
from catena.spatial import Force, Motion, Transform


@lru_cache(maxsize=32)
def loop_elimination(shape: EliminationShape, implicit: bool = False) -> Algorithm:
    """Return the elimination of a shape; `shape_for` tells which a plan needs. With `implicit` modes have the inertia
    and the force that a step implicit in them lends them."""
    order = partial(schedule, implicit=True) if implicit else schedule
    return Algorithm(
        f"loop_elimination_{shape}{'_implicit' * implicit}", accelerating_ground(shape.modes),
        (*steps_for(shape, implicit), Schedule(order)),
        inputs={"q": POSITION, "qd": VELOCITY, "tau": VELOCITY, "f_ext": Force}, outputs={"qdd": VELOCITY},
        ground_inputs={"a_base": Motion}, ground_outputs=("defect", "change", "before", "size"),
        optional=frozenset({"tau", "f_ext", "a_base"}), rewritten=rewritten(shape), views=views(shape),
        columns=shape.columns, link_rows=shape.link_rows,
    )  # fmt: skip


@lru_cache(maxsize=8)
def loop_wrenches(shape: EliminationShape) -> Algorithm:
    """Return the same with the wrenches of all joints: of tree joints on their nodes, with the transforms X from the
    nodes' parents, and of loop joints on their children, all in node frames; `stiffness` tells whether they are
    unique."""
    base = loop_elimination(shape)

    def stiff_ground(ground: Any) -> None:
        base.ground(ground)
        ground.stiffness = 0.0

    keeping = (*KEEPING, *KEEPING_TIES) if shape.coupled else KEEPING
    return replace(
        base, name=f"loop_wrenches_{shape}", ground=stiff_ground,
        sweeps=(*steps_for(shape), *keeping, Schedule(partial(schedule, keep=True))),
        outputs={"qdd": VELOCITY, "wrench": Force, "X": Transform},
        ground_outputs=(*base.ground_outputs, "stiffness"), multiplier_outputs=("on_child", "total"),
        rewritten=base.rewritten | {"wrench"},
    )  # fmt: skip


__all__ = ["EliminationShape", "loop_elimination", "loop_wrenches", "shape_for"]
