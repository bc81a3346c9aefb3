"""The constants of a mechanism as symbols for a step that is run on them, loaded where the step uses them.

`constants.py` writes the numbers in the same order.
"""

from collections.abc import Callable, Mapping
from typing import Any

from catena.forces.contract import NO_INPUTS
from catena.forces.placed import LOOP, PlacedForce
from catena.joints.contract import JointKind
from catena.kernels.algorithm import NEAR
from catena.kernels.machine_code.lowering import CONSTANTS, Slot
from catena.kernels.traced_records import TracedStep
from catena.mechanism.profiles import Profile
from catena.spatial import RigidInertia, Transform
from catena.spatial.scalars import array

# Loads so many constants from a place on.
Load = Callable[[int, int], list[Any]]


def loading(step: TracedStep) -> Load:
    """Return what loads the constants of the record that a step is done for."""
    return lambda start, count: [step.load(Slot(CONSTANTS, start + k)) for k in range(count)]


def ground_constants(load: Load) -> dict[str, Any]:
    """Return the constants of the ground: gravity (3)."""
    return Lazy({"gravity": lambda: array(load(0, 3))})


def body_constants(kind: JointKind, load: Load) -> dict[str, Any]:
    """Return the constants of a body: placement (12), inertia (10), damping and friction (nv each), joint parameters,
    as symbols that are loaded where they are used."""

    nv = kind.nv
    return Lazy({
        "placement": lambda: Transform.from_entries(load(0, 12)),
        "inertia": lambda: RigidInertia.from_entries(load(12, 10)),
        "damping": lambda: array(load(22, nv)),
        "friction": lambda: array(load(22 + nv, nv)),
        "has_constant_motion_space": lambda: kind.has_constant_motion_space,
        "joint": lambda: kind.with_params(load(22 + 2 * nv, len(kind.params()))) if kind.params() else kind,
    })  # fmt: skip


def loop_constants(kind: JointKind, load: Load, columns: int) -> dict[str, Any]:
    """Return the constants of a loop: placements on the parent's and on the child's side (12 each), damping and
    friction (nv each), the usual angular and linear mobility (2), joint parameters."""

    nv = kind.nv
    return Lazy({
        "on_parent": lambda: Transform.from_entries(load(0, 12)),
        "on_child": lambda: Transform.from_entries(load(12, 12)),
        "damping": lambda: array(load(24, nv)),
        "friction": lambda: array(load(24 + nv, nv)),
        "scale": lambda: array(load(24 + 2 * nv, 2)),
        "columns": columns,
        "has_constant_constraint_space": kind.has_constant_constraint_space,
        "has_constant_motion_space": kind.has_constant_motion_space,
        "neutral": kind.neutral(),
        "joint": lambda: kind.with_params(load(26 + 2 * nv, len(kind.params()))) if kind.params() else kind,
    })  # fmt: skip


def term_constants(profile: Profile, load: Load, columns: int) -> dict[str, Any]:
    """Return the constants of a joint of a coupling: its sign, the offset, the usual angular and linear mobility (2),
    the numbers of the profile."""

    count = len(profile.params())
    return Lazy({
        "sign": lambda: load(0, 1)[0],
        "offset": lambda: load(1, 1)[0],
        "scale": lambda: array(load(2, 2)),
        "columns": columns,
        "profile": lambda: profile.with_params(load(4, count)) if count else profile,
    })  # fmt: skip


def force_constants(force: PlacedForce, load: Load, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constants of `PlacedForce.constants`, and what the code depends on; what is among the `inputs` of the
    force is none of them."""

    kind, joint = force.kind, force.joint
    count = len(kind.params())
    given: dict[str, Any] = {
        "site": force.site,
        "acts": force.acts,
        "on_a": lambda: Transform.from_entries(load(0, 12)),
        "on_b": lambda: Transform.from_entries(load(12, 12)),
        "kind": lambda: kind.with_params(load(24, count)) if count else kind,
    }
    if not kind.inputs:
        given["inputs"] = NO_INPUTS
    if NEAR not in inputs:
        given[NEAR] = None
    if joint is not None:
        given["joint"] = lambda: (
            joint.with_params(load(24 + count, len(joint.params()))) if joint.params() else joint
        )
        given["has_constant_motion_space"] = joint.has_constant_motion_space if force.site == LOOP else False
        given["neutral"] = joint.neutral()
    return Lazy(given)


def frame_constants(load: Load) -> dict[str, Any]:
    """Return the constants of the frame: its placement (12)."""
    return {"placement": Transform.from_entries(load(0, 12))}


class Lazy(dict[str, Any]):
    """A mapping whose values are made when first asked for, so that constants nobody reads are not loaded."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if callable(value) and not isinstance(value, JointKind | Profile):
            value = value()
            self[name] = value
        return value
