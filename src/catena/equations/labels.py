"""What the entries of arguments, parameters and results are, in words."""

import math

from catena.mechanism import MODES
from catena.structure import Plan


def entry_names(plan: Plan, name: str, size: int, parameters: tuple[str, ...] = ()) -> list[str]:
    """Return a short name for every entry of an argument or a parameter: joint names with a number where a joint has
    several, or the names of a parameter's entries."""
    if parameters:
        return list(parameters)
    if name == "q" or size == plan.nv:
        starts, sizes = (plan.q_start, plan.q_size) if name == "q" else (plan.v_start, plan.v_size)
        names = [""] * size
        for i in range(1, plan.n):
            for k in range(int(sizes[i])):
                # The points of a flexible body have its coordinates too, and come after it.
                names[int(starts[i]) + k] = names[int(starts[i]) + k] or _entry_name(
                    plan.joint[i], k, int(sizes[i])
                )
        return names
    return [str(k) for k in range(size)]


def _entry_name(joint: str, k: int, count: int) -> str:
    """Return the name of coordinate k of a joint: of a flexible body that of its mode, as tables and files have it."""
    if joint.endswith(MODES):
        return f"{joint.removesuffix(MODES)}.mode{k + 1}"
    return joint if count == 1 else f"{joint}.{k}"


def owner_of(plan: Plan, entry: str) -> tuple[str, str]:
    """Return the joint of the plan that an entry of `entry_names` belongs to, and its component, "" where it has one
    only."""
    if entry in plan.joint:
        return entry, ""
    owner, _, component = entry.rpartition(".")
    modes = f"{owner}{MODES}"
    return (modes, component) if component.startswith("mode") and modes in plan.joint else (owner, component)


def entry_meanings(plan: Plan, name: str, size: int) -> list[str]:
    """Return a sentence for every entry of an argument."""
    if name == "base_acceleration":
        return [f"acceleration of the ground, {_SIX[k]}" for k in range(6)]
    if name.startswith("f_ext."):
        return [f"wrench on {name.removeprefix('f_ext.')} in its own axes, {_WRENCH[k]}" for k in range(6)]
    what = {"q": "position", "v": "velocity", "tau": "force", "vdot": "acceleration"}.get(name, name)
    meanings = []
    for label in entry_names(plan, name, size):
        joint, component = owner_of(plan, label)
        if joint.endswith(MODES):
            meanings.append(f"{what} of {component} of body {joint.removesuffix(MODES)}")
            continue
        part = f", component {component} of its kind's order" if component else ""
        meanings.append(f"{what} of joint {joint}{part}")
    return meanings


def rates_are_derivatives(plan: Plan, joint: str) -> bool:
    """Return whether a joint's velocities are the derivatives of its positions."""
    kind = plan.joint_kind(plan.joint.index(joint))
    return kind.nq == kind.nv


def result_index(shape: tuple[int, ...], k: int) -> str:
    """Return the index of entry k of a result, as a reader writes it."""
    if not shape:
        return ""
    index = []
    for size in reversed(shape):
        index.append(k % size)
        k //= size
    return "".join(f"[{i}]" for i in reversed(index)) if math.prod(shape) else ""


_SIX = ("angular x", "angular y", "angular z", "linear x", "linear y", "linear z")
_WRENCH = ("moment x", "moment y", "moment z", "force x", "force y", "force z")
