"""What became of each joint and its coordinates from one plan to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from catena.mechanism import Mechanism
from catena.mechanism.validation import known
from catena.structure.plan import Plan

Place = Literal["tree", "loop", "held", "absent"]
_WORDS = {"tree": "in the tree", "loop": "closes a loop", "held": "holds", "absent": "is not there"}


@dataclass(frozen=True)
class JointComparison:
    """A joint before and after: whether it is in the tree, closes a loop, holds its bodies together (fixed or locked)
    or is absent; which components of v are its own (None outside the tree), and how many constraints it adds as a
    loop."""

    joint: str
    before: Place
    after: Place
    v_before: slice | None
    v_after: slice | None
    constraints_before: int
    constraints_after: int

    @property
    def is_same(self) -> bool:
        """Whether the joint has the same place and the same components as before."""
        return self.before == self.after and self.v_before == self.v_after

    def __str__(self) -> str:
        def described(place: Place, at: slice | None, constraints: int) -> str:
            if at is not None:
                last = f" to {at.stop - 1}" if at.stop - at.start > 1 else ""
                return f"{_WORDS[place]}, v {at.start}{last}"
            return f"{_WORDS[place]}, {constraints} constraints" if place == "loop" else _WORDS[place]

        before = described(self.before, self.v_before, self.constraints_before)
        after = described(self.after, self.v_after, self.constraints_after)
        return f"{self.joint}: {before}" + ("" if self.is_same else f" -> {after}")


@dataclass(frozen=True)
class PlanComparison:
    """The joints of two plans by name, and the numbers of coordinates and constraints; print it to read them."""

    joints: dict[str, JointComparison]
    nv: tuple[int, int]
    constraints: tuple[int, int]

    def __getitem__(self, joint: str) -> JointComparison:
        """Return what became of a joint."""
        return self.joints[known("joint", joint, self.joints, "compare_plans")]

    def __str__(self) -> str:
        head = (
            f"velocity components {self.nv[0]} -> {self.nv[1]}, constraints of loops {self.constraints[0]} -> "
            f"{self.constraints[1]}"
        )
        return "\n".join([head, *(f"  {joint}" for joint in self.joints.values())])


def compare_plans(before: tuple[Mechanism, Plan], after: tuple[Mechanism, Plan]) -> PlanComparison:
    """Return what became of each joint of two mechanisms with their plans."""
    names = dict.fromkeys([*before[1].joints, *before[0].joints, *after[1].joints, *after[0].joints])
    (mechanism_a, plan_a), (mechanism_b, plan_b) = before, after
    found = {}
    for name in names:
        a, b = _place(mechanism_a, plan_a, name), _place(mechanism_b, plan_b, name)
        found[name] = JointComparison(name, a[0], b[0], a[1], b[1], a[2], b[2])
    constraints = plan_a.total_constraints, plan_b.total_constraints
    return PlanComparison(found, (plan_a.nv, plan_b.nv), constraints)


def _place(mechanism: Mechanism, plan: Plan, joint: str) -> tuple[Place, slice | None, int]:
    if joint in plan.joints:
        i = plan.joint.index(joint)
        return "tree", plan.v_of(i), 0
    if joint in plan.loops:
        return "loop", None, next(x.constraints for x in plan.loop_joints if x.name == joint)
    return ("held" if joint in mechanism.joints else "absent"), None, 0
