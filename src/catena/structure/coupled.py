"""Couplings on one plan: which nodes and loops their joints are, and what locked joints leave of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.errors import PlanError
from catena.mechanism import Mechanism
from catena.mechanism.profiles import Line, Profile
from catena.spatial import is_symbolic

if TYPE_CHECKING:
    from catena.structure.plan import Plan

# Joints that are all locked satisfy a coupling if they miss it by no more than this part of what is summed up.
MISSED = 1e-9


@dataclass(frozen=True, eq=False)
class Term:
    """What one joint contributes to a coupling: sign * profile(position).

    `node` is the node of a tree joint and `loop` the number of a loop joint; the other is -1. `turns` tells whether its
    position is an angle.
    """

    joint: str
    node: int
    loop: int
    sign: float
    profile: Profile
    turns: bool

    def ends(self, plan: Plan) -> tuple[int, int]:
        """Return the nodes of the joint's child and parent."""
        if self.node >= 0:
            return self.node, int(plan.parent[self.node])
        loop = plan.loop_joints[self.loop]
        return loop.child_node, loop.parent_node


@dataclass(frozen=True, eq=False)
class PlannedCoupling:
    """An equation among positions of joints: the sum of its `terms` is `offset`. It is one constraint, or none where it
    is left out because others say the same up to the accuracy of the model.

    With an `inertia` it is no constraint but a rotor, which resists the acceleration of the sum: a joint of a loop has
    no coordinate whose inertia it could add to.
    """

    name: str
    terms: tuple[Term, ...]
    offset: float
    constraints: int = 1
    inertia: Any = 0.0

    @property
    def is_rotor(self) -> bool:
        """Whether it is a rotor. An inertia that is a symbol counts as one that does not vanish."""
        return is_symbolic(self.inertia) or self.inertia != 0.0

    @property
    def number(self) -> Any:
        """The inertia of a rotor, or the offset of an equation."""
        return self.inertia if self.is_rotor else self.offset

    @property
    def acts(self) -> bool:
        """Whether it does anything."""
        return bool(self.constraints) or self.is_rotor

    def nodes(self, plan: Plan) -> frozenset[int]:
        """Return the nodes that its joints move against each other; none if all its joints are within rigid pieces."""
        ends = [term.ends(plan) for term in self.terms]
        return frozenset(node for pair in ends if pair[0] != pair[1] for node in pair)

    def size(self, length: float) -> float:
        """Return how much the sum changes when some joint moves by a radian or by a `length` [m], from neutral
        positions."""
        steps = [abs(float(t.profile.slope(0.0))) * (1.0 if t.turns else length) for t in self.terms]
        return max(steps) or 1.0


def plan_couplings(
    mechanism: Mechanism, joints: Sequence[str], loops: Sequence[str]
) -> list[PlannedCoupling]:
    """Return the couplings of a mechanism whose tree has these joints by node, "" for ground, and these loops; and the
    rotors of loop joints."""
    nodes, closing = {name: i for i, name in enumerate(joints)}, {name: k for k, name in enumerate(loops)}
    found = []
    for coupling in mechanism.couplings.values():
        terms, offset, summed = [], coupling.right_hand_side, abs(coupling.right_hand_side)
        for name, (sign, profile) in coupling.terms.items():
            described = mechanism.joints[name]
            if described.locked_at is not None:
                held = sign * float(profile.value(float(described.locked_at[0])))
                offset, summed = offset - held, summed + abs(held)
                continue
            S = np.asarray(described.kind.motion_space(described.kind.neutral()).array, dtype=np.float64)
            turns = bool(np.any(S[:3]))
            terms.append(Term(name, nodes.get(name, -1), closing.get(name, -1), sign, profile, turns))
        if terms:
            found.append(PlannedCoupling(coupling.name, tuple(terms), offset))
        elif abs(offset) > MISSED * summed:
            raise PlanError(
                f"coupling {coupling.name!r}: its joints {', '.join(map(repr, coupling.joints))} are all locked, at "
                f"positions that miss it by {abs(offset):.3g}: lock them where it holds, or unlock one"
            )
    for name, k in closing.items():
        # Rotors at joints of more freedom are left to formulations that know all coordinates.
        joint = mechanism.joints.get(name)
        if joint is None or joint.dof != 1 or joint.armature is None:
            continue
        inertia = joint.armature[0] if is_symbolic(joint.armature[0]) else float(joint.armature[0])
        if is_symbolic(inertia) or inertia:
            turns = bool(np.any(joint.kind.motion_space(joint.kind.neutral()).array[:3]))
            term = Term(name, -1, k, 1.0, Line(1.0), turns)
            found.append(PlannedCoupling(f"{name}.rotor", (term,), 0.0, 0, inertia))
    return found
