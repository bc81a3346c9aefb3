"""The forces of springs, dampers and stops at the joints of the tree: each joint by itself, cost O(N).

    tau = -A^T (k d) - c v + stops,     d = difference(rest, q),  d' = A v

`element_force` is what one joint does, for whatever algorithm has `ELEMENT_INPUTS` among its inputs; those that are
not given cost nothing. `joint_element_inputs` gives their values, which all states share.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from catena.forces.deflection import deflection, is_vector
from catena.dynamics.stops import FAR, Stops, stop_force
from catena.joints import JointKind
from catena.kernels import POSITION, VELOCITY, Algorithm, each_body
from catena.mechanism import JointSpring, Mechanism
from catena.spatial import is_symbolic
from catena.structure import Plan

ELEMENT_INPUTS: Mapping[str, Any] = MappingProxyType({
    "spring_stiffness": VELOCITY, "spring_rest": POSITION, "spring_damping": VELOCITY,
    "stop_low": VELOCITY, "stop_high": VELOCITY, "stop_stiffness": VELOCITY, "stop_damping": VELOCITY,
})  # fmt: skip


def element_force(body: Any) -> Any:
    """The joint force, shape (nv,), of the springs, dampers and stops at a body's joint."""
    kind, q, v = body.joint, body.q, body.qd
    force = np.zeros(kind.nv)
    if _acts(body.spring_stiffness):
        force = force + spring_force(kind, body.spring_stiffness, body.spring_rest, q)
    if _acts(body.spring_damping):
        force = force - body.spring_damping * v
    if _acts(body.stop_stiffness):
        stops = SimpleNamespace(
            low=body.stop_low, high=body.stop_high, stiffness=body.stop_stiffness, damping=body.stop_damping
        )
        force = force + stop_force(kind, stops, q, v)
    return force


def spring_force(kind: JointKind, stiffness: Any, rest: Any, q: Any) -> Any:
    """The joint force (nv,) of a spring at a position q (nq,), numbers or symbols."""
    d, A = deflection(kind, rest, q)
    return -(stiffness * d) if A is None else -(A.T @ (stiffness * d))


def spring_energy(kind: JointKind, stiffness: Any, rest: Any, q: Any) -> Any:
    """The energy that a spring stores, sum(stiffness d^2) / 2."""
    d, _ = deflection(kind, rest, q)
    return 0.5 * sum([k * x * x for k, x in zip(stiffness, d, strict=True)], 0.0)


def _acts(coefficients: Any) -> bool:
    """Whether there is something to compute: inputs that are absent are zeros, and zeros do nothing."""
    return is_symbolic(coefficients) or bool(np.any(coefficients))


def ground(ground: Any) -> None:
    """The ground has no joint."""


@each_body
def press(body: Any) -> None:
    """Each joint by itself."""
    body.tau_elements = element_force(body)


joint_elements = Algorithm(
    "joint_elements", ground, (press,), inputs={"q": POSITION, "qd": VELOCITY, **ELEMENT_INPUTS},
    outputs={"tau_elements": VELOCITY}, optional=frozenset(ELEMENT_INPUTS),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class MergedSprings:
    """The springs of a joint as one, and those with a stiffness that do not fit in: springs of a ball or free joint
    that have another rest than the first."""

    stiffness: np.ndarray
    rest: np.ndarray
    damping: np.ndarray
    others: tuple[JointSpring, ...] = ()


def merged_springs(mechanism: Mechanism, joint: str, kind: JointKind) -> MergedSprings:
    """All springs at a joint. Where positions are vectors, several are one with the sum of their stiffnesses that
    rests at the mean of their rests weighed by stiffness."""
    springs = springs_at(mechanism, joint)
    damping = sum((s.damping for s in springs), np.zeros(kind.nv))
    stiff = [s for s in springs if s.stiffness.any()]
    if not stiff:
        return MergedSprings(np.zeros(kind.nv), kind.neutral(), damping)
    if is_vector(kind):
        total = sum((s.stiffness for s in stiff), np.zeros(kind.nv))
        moment = sum((s.stiffness * s.rest for s in stiff), np.zeros(kind.nv))
        return MergedSprings(
            total, np.where(total > 0.0, moment / np.where(total > 0.0, total, 1.0), 0.0), damping
        )
    rest = stiff[0].rest
    alike = [s for s in stiff if np.array_equal(s.rest, rest)]
    others = tuple(s for s in stiff if not np.array_equal(s.rest, rest))
    return MergedSprings(sum((s.stiffness for s in alike), np.zeros(kind.nv)), rest, damping, others)


def springs_at(mechanism: Mechanism, joint: str) -> list[JointSpring]:
    """The springs at a joint."""
    return [s for s in mechanism.springs.values() if isinstance(s, JointSpring) and s.joint == joint]


def joint_element_inputs(
    mechanism: Mechanism, plan: Plan, stops: Mapping[str, Stops]
) -> dict[str, np.ndarray]:
    """The values of `ELEMENT_INPUTS` on a plan, (nv,) or (nq,) each; what nothing needs is left out. `stops` are those
    of `joint_stops`. Springs that do not merge (`merged_springs`) are left to the caller."""
    inputs = {
        name: np.zeros(plan.nq if extent is POSITION else plan.nv) for name, extent in ELEMENT_INPUTS.items()
    }
    inputs["stop_low"][:], inputs["stop_high"][:] = -FAR, FAR
    for i in range(1, plan.n):
        kind, name = plan.kind[i], plan.joint[i]
        assert kind is not None
        v = slice(int(plan.v_start[i]), int(plan.v_start[i] + plan.v_size[i]))
        q = slice(int(plan.q_start[i]), int(plan.q_start[i] + plan.q_size[i]))
        springs = merged_springs(mechanism, name, kind)
        inputs["spring_stiffness"][v] = springs.stiffness
        inputs["spring_rest"][q] = springs.rest
        inputs["spring_damping"][v] = springs.damping
        if name in stops:
            for field in ("low", "high", "stiffness", "damping"):
                inputs[f"stop_{field}"][v] = getattr(stops[name], field)
    needed = {
        "spring_stiffness": ("spring_stiffness", "spring_rest"),
        "spring_damping": ("spring_damping",),
        "stop_stiffness": ("stop_low", "stop_high", "stop_stiffness"),
        "stop_damping": ("stop_damping",),
    }
    return {n: inputs[n] for key, names in needed.items() if inputs[key].any() for n in names}
