"""What the entries of arguments, parameters and results are, in words."""

import math

from catena.joints import Free, JointKind, Spherical, described
from catena.structure import Plan


def entry_names(plan: Plan, name: str, size: int, parameters: tuple[str, ...] = ()) -> list[str]:
    """A short name for every entry of an argument or a parameter: joint names with a number where a joint has several,
    or the names of a parameter's entries."""
    if parameters:
        return list(parameters)
    if name == "q" or size == plan.nv:
        starts, sizes = (plan.q_start, plan.q_size) if name == "q" else (plan.v_start, plan.v_size)
        names = [""] * size
        for i in range(1, plan.n):
            for k in range(int(sizes[i])):
                names[int(starts[i]) + k] = plan.joint[i] if sizes[i] == 1 else f"{plan.joint[i]}.{k}"
        return names
    return [str(k) for k in range(size)]


def entry_meanings(plan: Plan, name: str, size: int) -> list[str]:
    """A sentence for every entry of an argument."""
    if name == "base_acceleration":
        return [f"acceleration of the ground, {_SIX[k]}" for k in range(6)]
    if name.startswith("f_ext."):
        return [f"wrench on {name.removeprefix('f_ext.')} in its own axes, {_WRENCH[k]}" for k in range(6)]
    what = {"q": "position", "v": "velocity", "tau": "force", "vdot": "acceleration"}.get(name, name)
    meanings = []
    for label in entry_names(plan, name, size):
        joint, _, component = label.rpartition(".") if label not in plan.joint else (label, "", "")
        part = f", component {component} of its kind's order" if component else ""
        meanings.append(f"{what} of joint {joint}{part}")
    return meanings


def rates_are_derivatives(plan: Plan, joint: str) -> bool:
    """Whether a joint's velocities are the derivatives of its positions."""
    kind: JointKind | None = plan.kind[plan.joint.index(joint)]
    kind = described(kind)
    return not isinstance(kind, (Spherical, Free)) and kind is not None and kind.nq == kind.nv


def result_index(shape: tuple[int, ...], k: int) -> str:
    """The index of entry k of a result, as a reader writes it."""
    if not shape:
        return ""
    index = []
    for size in reversed(shape):
        index.append(k % size)
        k //= size
    return "".join(f"[{i}]" for i in reversed(index)) if math.prod(shape) else ""


_SIX = ("angular x", "angular y", "angular z", "linear x", "linear y", "linear z")
_WRENCH = ("moment x", "moment y", "moment z", "force x", "force y", "force z")
