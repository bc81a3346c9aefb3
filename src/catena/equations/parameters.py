"""Parameters of a mechanism by name, and its plan with some of them as symbols.

A parameter is called by its owner and what it is: `crank.mass`, `crank.com`, `crank.inertia`, `elbow.in_parent.p`,
`elbow.in_child.p`, `elbow.damping`, `elbow.friction`, `screw.pitch`, `tool.p` of a frame, and `gravity`; of a spring
or another force `strut.stiffness`, or whatever number its kind has. One entry of a vector has `.x`, `.y` or `.z` after
it, one of an inertia `.xx`, `.xy`, `.xz`, `.yy`, `.yz` or `.zz`, one of other rows of numbers its place counted from 0;
the other entries stay numbers. `.length` after a vector is its length, with its direction kept: a link length, or the
strength of gravity. Where a joint and a force share a name, the joint has the parameter.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, cast

import numpy as np

from catena.errors import ModelError, UnknownNameError
from catena.forces import ForceKind
from catena.kinematics.loops.kept_constraints import kept_as
from catena.mechanism import Actuator, Body, Coupling, Frame, Joint, Mechanism
from catena.mechanism.validation import INERTIA_TOLERANCE, known
from catena.spatial import Pose, array
from catena.structure import Plan, plan
from catena.structure.plan import Parts

XYZ = ("x", "y", "z")
SIX = ("xx", "xy", "xz", "yy", "yz", "zz")
_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


@dataclass(frozen=True, eq=False)
class Parameter:
    """A named parameter: the names of its entries, and their values (n,) in the mechanism."""

    name: str
    entries: tuple[str, ...]
    value: np.ndarray
    form: str = ""
    """What else than its entries may be given: "inertia" in every form that `add_body` takes, "alike" one number for
    all entries."""

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """Return the entries (..., n) of numbers that were given for a parameter of several, with leading batch
        dimensions; a ModelError says which shapes there are.

        An inertia is six entries (..., 6), three moments (..., 3), one number (..., 1) or () for all axes, or a
        symmetric matrix (..., 3, 3). Three rows of three are a matrix.
        """
        n, last = len(self.entries), numbers.shape[-1:]
        if self.form == "inertia" and numbers.shape[-2:] == (3, 3):
            return self._of_matrices(numbers)
        if self.form and (numbers.ndim == 0 or last == (1,)):
            number = numbers if numbers.ndim == 0 else numbers[..., 0]
            count = 3 if self.form == "inertia" else n
            alike = np.stack([number] * count, -1)
            return self._of_moments(alike) if self.form == "inertia" else alike
        if self.form == "inertia" and last == (3,):
            return self._of_moments(numbers)
        if last != (n,):
            raise ModelError(f"{self.name} has shape {numbers.shape}: {self._shapes()}")
        return numbers

    def _of_moments(self, moments: np.ndarray) -> np.ndarray:
        zero = np.zeros(moments.shape[:-1])
        x, y, z = np.moveaxis(moments, -1, 0)
        return np.stack([x, zero, zero, y, zero, z], -1)

    def _of_matrices(self, matrices: np.ndarray) -> np.ndarray:
        turned = np.swapaxes(matrices, -1, -2)
        skew, size = (np.abs(x).max(axis=(-1, -2)) for x in (matrices - turned, matrices))
        if (skew > INERTIA_TOLERANCE * size).any():
            raise ModelError(
                f"{self.name} has shape {matrices.shape}, which is that of matrices, and is not symmetric: for a batch "
                f"of three moments each give all six numbers, {', '.join(SIX)}"
            )
        mean = 0.5 * (matrices + turned)
        return np.stack([mean[..., i, j] for i, j in _UPPER], -1)

    def _shapes(self) -> str:
        entries = f"its last dimension must be {len(self.entries)} ({', '.join(self.entries)})"
        more = {
            "inertia": ", or 3 for moments, or 1 for the same about all axes, or its last two (3, 3) for a matrix",
            "alike": ", or 1 for the same number in all of them",
        }
        return f"{entries}{more.get(self.form, '')}; leading dimensions are batch dimensions"


@dataclass(frozen=True, eq=False)
class Description:
    """What planning reads of a mechanism, with symbols in place of some numbers."""

    name: str
    revision: int
    gravity: np.ndarray
    bodies: Mapping[str, Body]
    joints: Mapping[str, Joint]
    frames: Mapping[str, Frame]
    couplings: Mapping[str, Coupling]
    actuators: Mapping[str, Actuator]


@dataclass(frozen=True, eq=False)
class SymbolicPlan:
    """A plan whose numbers are symbols where asked for: `plan` holds them, `values` is the same plan in numbers,
    `symbols` maps each parameter's name to its symbols (n,). `kinds` are the forces, by name, that have symbols, and
    `parts` the bodies, joints and frames."""

    plan: Plan
    values: Plan
    parameters: tuple[Parameter, ...]
    symbols: Mapping[str, np.ndarray]
    kinds: Mapping[str, ForceKind] = field(default_factory=dict)
    parts: Parts | None = None


def symbolic_plan(
    mechanism: Mechanism, values: Plan, names: Iterable[str] = (), exact: bool = True
) -> SymbolicPlan:
    """Return the plan of a mechanism with the named parameters as symbols. Where that is to be `exact`, rotations that
    are those by a right angle but for rounding become so, and what they multiply by zero vanishes."""
    import casadi

    wanted = list(names)
    if len(set(wanted)) < len(wanted):
        twice = next(n for n in wanted if wanted.count(n) > 1)
        raise UnknownNameError(f"{mechanism.name!r}: the parameter {twice!r} is asked for twice.")
    parts = _Parts(mechanism, exact)
    symbols: dict[str, np.ndarray] = {}
    parameters = []
    for name in wanted:
        parameter, put = _find(parts, name)
        entries = array([casadi.SX.sym(entry) for entry in parameter.entries])
        put(entries)
        symbols[name] = entries
        parameters.append(parameter)
    symbolic = plan(cast(Mechanism, parts.description()), root=values.root, cut=values.cut, keep=values.keep)
    kept = kept_as(symbolic, values)
    return SymbolicPlan(
        _exact(kept) if exact else kept, values, tuple(parameters), symbols, parts.changed_kinds(),
        Parts(parts.bodies, parts.joints, parts.frames, tuple(parts.joints)),
    )  # fmt: skip


def find_parameters(mechanism: Mechanism, names: Iterable[str]) -> tuple[Parameter, ...]:
    """Return the parameters of these names, with the values that they have in the mechanism."""
    return tuple(_find(_Parts(mechanism, False), name)[0] for name in names)


def with_values(mechanism: Mechanism, values: Mapping[str, np.ndarray]) -> Mechanism:
    """Return the mechanism with other numbers (n,) for these parameters; nothing is checked but their names."""
    parts = _Parts(mechanism, False)
    for name, numbers in values.items():
        _find(parts, name)[1](np.asarray(numbers, dtype=float))
    return mechanism.with_parts(
        parts.gravity, parts.bodies, parts.joints, parts.frames, parts.changed_kinds()
    )


def plan_in_numbers(values: Plan) -> SymbolicPlan:
    """Return a plan without any symbol, rotations by right angles made exact."""
    return SymbolicPlan(_exact(values), values, (), {})


Put = Callable[[np.ndarray], None]


class _Parts:
    """The parts of a mechanism while their numbers are replaced. A number is replaced at most once."""

    def __init__(self, mechanism: Mechanism, exact: bool) -> None:
        self.name, self.revision = mechanism.name, mechanism.revision
        self.gravity = array(mechanism.gravity.tolist())
        self.bodies = dict(mechanism.bodies)
        self.joints, self.frames = dict(mechanism.joints), dict(mechanism.frames)
        self.elements = mechanism.force_elements
        self.ties = mechanism.couplings, mechanism.actuators
        self.kinds: dict[str, ForceKind] = {}
        if exact:
            for name, joint in self.joints.items():
                inner, outer = _right_angles(joint.in_child), _right_angles(joint.in_parent)
                self.joints[name] = replace(joint, in_parent=outer, in_child=inner)
            self.frames = {n: replace(f, pose=_right_angles(f.pose)) for n, f in self.frames.items()}

    def description(self) -> Description:
        """Return what planning reads."""
        return Description(
            self.name, self.revision, self.gravity, self.bodies, self.joints, self.frames, *self.ties
        )

    def kind(self, name: str) -> ForceKind:
        """Return the kind of a force, with what was replaced in it, and all its numbers, also those that are zero."""
        found = self.kinds.get(name)
        return self.elements[name].whole_kind if found is None else found

    def changed_kinds(self) -> dict[str, ForceKind]:
        """Return the forces, by name, in which something was replaced."""
        return dict(self.kinds)

    def body(self, name: str, **changes: Any) -> None:
        """Replace numbers of a body."""
        self.bodies[name] = replace(self.bodies[name], **changes)

    def joint(self, name: str, **changes: Any) -> None:
        """Replace numbers of a joint."""
        self.joints[name] = replace(self.joints[name], **changes)


def _find(parts: _Parts, name: str) -> tuple[Parameter, Put]:
    """Return the parameter of this name, and the function that puts symbols in its place."""
    if name == "gravity" or name.startswith("gravity."):

        def put_gravity(entries: np.ndarray) -> None:
            parts.gravity = entries

        return _vector("gravity", name.removeprefix("gravity").removeprefix("."), parts.gravity, put_gravity)
    for what, find in _ATTRIBUTES.items():
        owner, dot, component = name.rpartition(f".{what}")
        if dot and owner and component[:1] in ("", "."):
            found = find(parts, owner, component.removeprefix("."))
            if found is not None:
                return found
    return _of_force(parts, name) or _complain(parts, name)


def _of_force(parts: "_Parts", name: str) -> "Found":
    """Return a number of a force's kind, a row of numbers, or one entry of it."""
    for owner in sorted(parts.elements, key=len, reverse=True):
        if name.startswith(f"{owner}."):
            what, _, place = name.removeprefix(f"{owner}.").partition(".")
            found = _number_of_force(parts, owner, what, place)
            if found is not None:
                return found
    return None


def _number_of_force(parts: "_Parts", owner: str, what: str, place: str) -> "Found":
    numbers = parts.kind(owner).named_params()
    if what not in numbers:
        return None
    value, full = numbers[what], f"{owner}.{what}"
    row = list(value) if isinstance(value, tuple) else [value]
    chosen = range(len(row))
    if place:
        if not (isinstance(value, tuple) and place.isdecimal() and int(place) < len(row)):
            return None
        chosen = range(int(place), int(place) + 1)
    name = f"{full}.{place}" if place else full
    _require_numbers(name, [row[k] for k in chosen])
    entries = tuple(f"{full}.{k}" if len(row) > 1 else full for k in chosen)

    def put(numbers: np.ndarray) -> None:
        new = list(row)
        for k, x in zip(chosen, numbers, strict=True):
            new[k] = x
        changed = copy(parts.kind(owner))
        object.__setattr__(changed, what, tuple(new) if isinstance(value, tuple) else new[0])
        parts.kinds[owner] = changed

    return Parameter(name, entries, np.array([row[k] for k in chosen], dtype=float)), put


def _complain(parts: _Parts, name: str) -> tuple[Parameter, Put]:
    owner = name.partition(".")[0]
    owners = [*parts.bodies, *parts.joints, *parts.frames, *parts.elements, "gravity"]
    # Names may have dots in them.
    owner = max((o for o in owners if name.startswith(f"{o}.")), key=len, default=owner)
    what = "body, joint, frame or force with parameters"
    known(what, owner, owners, f"parameter {name!r} of {parts.name!r}")
    of_body = ["mass", "com", "inertia"] if owner in parts.bodies and owner != "ground" else []
    of_joint = ["in_parent.p", "in_child.p", "damping", "friction"] if owner in parts.joints else []
    of_frame = ["p"] if owner in parts.frames else []
    of_force = list(parts.kind(owner).named_params()) if owner in parts.elements else []
    names = [f"{owner}.{what}" for what in (*of_body, *of_joint, *of_frame, *of_force)]
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    there = ", ".join(names) or "none"
    raise UnknownNameError(
        f"{parts.name!r} has no parameter {name!r}.{meant} {owner!r} has {there}; add .x, .y, .z or .length for one "
        f"number of a vector, .xx to .zz for one of an inertia."
    )


def _vector(name: str, component: str, value: np.ndarray, put: Put) -> tuple[Parameter, Put]:
    """Return a vector (3,), one of its entries, or its length."""
    full = f"{name}.{component}" if component else name
    if component == "":
        _require_numbers(full, value)
        return Parameter(full, tuple(f"{name}.{k}" for k in XYZ), np.asarray(value, dtype=float)), put
    if component in XYZ:
        k = XYZ.index(component)
        _require_numbers(full, value[k : k + 1])

        def put_entry(entries: np.ndarray) -> None:
            put(array([entries[0] if i == k else x for i, x in enumerate(value)]))

        return Parameter(full, (full,), np.array([value[k]], dtype=float)), put_entry
    if component == "length":
        _require_numbers(full, value)
        length = float(np.linalg.norm(value.astype(float)))
        if length == 0.0:
            raise ModelError(f"{full} is zero and has no direction: ask for {name}.x, {name}.y or {name}.z.")
        direction = value.astype(float) / length
        return Parameter(full, (full,), np.array([length])), lambda e: put(
            array([e[0] * x for x in direction])
        )
    raise UnknownNameError(f"The parameter {name} has no entry {component!r}: there are x, y, z and length.")


def _require_numbers(name: str, value: Iterable[Any]) -> None:
    if array(list(value)).dtype == object:
        raise UnknownNameError(
            f"The parameter {name!r} is asked for twice, as a whole and by one of its entries."
        )


Found = tuple[Parameter, Put] | None


def _mass(parts: _Parts, owner: str, component: str) -> Found:
    if owner not in parts.bodies or component:
        return None
    name = f"{owner}.mass"
    _require_numbers(name, [parts.bodies[owner].mass])
    value = np.array([parts.bodies[owner].mass])
    return Parameter(name, (name,), value), lambda e: parts.body(owner, mass=e[0])


def _com(parts: _Parts, owner: str, component: str) -> Found:
    if owner not in parts.bodies:
        return None
    return _vector(f"{owner}.com", component, parts.bodies[owner].com, lambda e: parts.body(owner, com=e))


def _inertia(parts: _Parts, owner: str, component: str) -> Found:
    if owner not in parts.bodies or (component and component not in SIX):
        return None
    chosen = [SIX.index(component)] if component else list(range(6))
    six = [parts.bodies[owner].inertia[k] for k in _UPPER]
    name = f"{owner}.inertia.{component}" if component else f"{owner}.inertia"
    _require_numbers(name, [six[k] for k in chosen])

    def put(entries: np.ndarray) -> None:
        new = list(six)
        for k, entry in zip(chosen, entries, strict=True):
            new[k] = entry
        a, b, c, d, e, f = new
        parts.body(owner, inertia=array([[a, b, c], [b, d, e], [c, e, f]]))

    value = np.array([six[k] for k in chosen], dtype=float)
    entries = tuple(f"{owner}.inertia.{SIX[k]}" for k in chosen)
    return Parameter(name, entries, value, "" if component else "inertia"), put


def _placement(side: str) -> Callable[[_Parts, str, str], Found]:
    def find(parts: _Parts, owner: str, component: str) -> Found:
        if owner not in parts.joints:
            return None
        pose: Pose = getattr(parts.joints[owner], side)

        def put(entries: np.ndarray) -> None:
            parts.joint(owner, **{side: Pose.unchecked(entries, pose.R)})

        return _vector(f"{owner}.{side}.p", component, pose.p, put)

    return find


def _frame_place(parts: _Parts, owner: str, component: str) -> Found:
    if owner not in parts.frames:
        return None
    frame = parts.frames[owner]

    def put(entries: np.ndarray) -> None:
        parts.frames[owner] = replace(frame, pose=Pose.unchecked(entries, frame.pose.R))

    return _vector(f"{owner}.p", component, frame.pose.p, put)


def _resistance(what: str) -> Callable[[_Parts, str, str], Found]:
    def find(parts: _Parts, owner: str, component: str) -> Found:
        if owner not in parts.joints or component or getattr(parts.joints[owner], what) is None:
            return None
        name, value = f"{owner}.{what}", getattr(parts.joints[owner], what)
        entries = (name,) if len(value) == 1 else tuple(f"{name}.{k}" for k in range(len(value)))
        _require_numbers(name, value)
        parameter = Parameter(name, entries, np.array(value, dtype=float), "alike")
        return parameter, lambda e: parts.joint(owner, **{what: e})

    return find


def _pitch(parts: _Parts, owner: str, component: str) -> Found:
    if owner not in parts.joints or component or not hasattr(parts.joints[owner].kind, "pitch"):
        return None
    kind, name = parts.joints[owner].kind, f"{owner}.pitch"
    _require_numbers(name, kind.params())
    return (
        Parameter(name, (name,), np.array(kind.params(), dtype=float)),
        lambda e: parts.joint(owner, kind=kind.with_params(list(e))),
    )


# Longer names before those that they end with.
_ATTRIBUTES: dict[str, Callable[[_Parts, str, str], Found]] = {
    "in_parent.p": _placement("in_parent"), "in_child.p": _placement("in_child"), "mass": _mass, "com": _com,
    "inertia": _inertia, "damping": _resistance("damping"), "friction": _resistance("friction"), "pitch": _pitch,
    "armature": _resistance("armature"),
    "p": _frame_place,
}  # fmt: skip

# Entries of rotations are sums of products of numbers up to 1, so what differs from 0 or 1 by this much is rounding.
ROUNDING = 4.0 * np.finfo(float).eps


def _right_angles(pose: Pose) -> Pose:
    return Pose.unchecked(pose.p[:], _rounded(pose.R))


def _rounded(R: np.ndarray) -> np.ndarray:
    """Rotations with entries that are 0, 1 or -1 where they are so but for rounding."""
    nearest = np.round(R)
    return np.where(np.abs(R - nearest) <= ROUNDING, nearest, R)


def _exact(symbolic: Plan) -> Plan:
    """Return the plan with rotations and vanishing inertias made exact."""
    loops = [
        replace(loop, parent_R=_rounded(loop.parent_R), child_R=_rounded(loop.child_R))
        for loop in symbolic.loop_joints
    ]
    inertia = symbolic.inertia.copy()
    for row in inertia:
        for part in (row[1:4], row[4:]):
            size = max((abs(x) for x in part if isinstance(x, float)), default=0.0)
            part[:] = [0.0 if isinstance(x, float) and abs(x) <= ROUNDING * size else x for x in part]
    return replace(symbolic, placement_R=_rounded(symbolic.placement_R), loop_joints=loops, inertia=inertia)
