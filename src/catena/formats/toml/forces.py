"""Forces of any kind in model files: the built-in ones by a word and their arguments, a user's by "module:Class".

A built-in kind has its arguments among the keys of the force, tables as inline tables of x and y; a user's has them in
the table `arguments`.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from catena.forces import (
    BoxInFluid,
    Buoyancy,
    Bushing,
    Cable,
    ConstantWrench,
    Drag,
    EllipsoidInFluid,
    ForceKind,
    GasSpring,
    JointFriction,
    JointSpring,
    JointStop,
    PointSpring,
    PolynomialJointSpring,
    Servo,
    Table,
    TabledJointSpring,
    TabledPointSpring,
)
from catena.formats.toml.kinds import ARGUMENTS, describe_users, make, make_users
from catena.formats.toml.schema import KEYS
from catena.formats.toml.tables import FileTable as FileTable
from catena.mechanism import Mechanism
from catena.validation import suggestion

BUILT_IN: dict[str, type[ForceKind]] = {
    "joint_spring": JointSpring,
    "joint_stop": JointStop,
    "joint_friction": JointFriction,
    "tabled_joint_spring": TabledJointSpring,
    "polynomial_joint_spring": PolynomialJointSpring,
    "servo": Servo,
    "point_spring": PointSpring,
    "tabled_point_spring": TabledPointSpring,
    "cable": Cable,
    "gas_spring": GasSpring,
    "bushing": Bushing,
    "drag": Drag,
    "box_in_fluid": BoxInFluid,
    "ellipsoid_in_fluid": EllipsoidInFluid,
    "constant_wrench": ConstantWrench,
    "buoyancy": Buoyancy,
}
_WORDS = {made: word for word, made in BUILT_IN.items()}
_TABLE = ("x", "y", "smooth", "beyond")


def add_force(mechanism: Mechanism, table: FileTable) -> Mechanism:
    """Add the force that a table of a file tells."""
    required, optional = KEYS["force"]
    word = table.text("kind") if "kind" in table else ""
    if word and ":" not in word and word not in BUILT_IN:
        table.fail(f"no kind of force is named {word!r}: {suggestion(word, list(BUILT_IN))}", "kind")
    arguments = [ARGUMENTS] if ":" in word else [one.name for one in _fields(BUILT_IN.get(word))]
    table.check_keys(required, (*optional, *arguments))
    if ":" in word:
        passed = table.inner(ARGUMENTS, table.who).content if ARGUMENTS in table else {}
        with table.at_fault("kind"):
            kind = make_users(word, passed, ForceKind, table.document.source.kinds)
    else:
        values = {one.name: _read(table, one) for one in _fields(BUILT_IN[word]) if one.name in table}
        with table.at_fault():
            kind = make(word, BUILT_IN[word], values)
    place: dict[str, Any] = {}
    if "joint" in table:
        place["joint"] = table.text("joint")
    if "between" in table:
        place["between"] = table.texts("between")
    with table.at_fault():
        mechanism.add_force(table.text("name"), kind, **place)
    return mechanism


def describe_force(kind: ForceKind) -> tuple[str, dict[str, Any]]:
    """Return the word of a kind, or "module:Class", and those of its arguments that are not at their defaults."""
    word = _WORDS.get(type(kind))
    if word is None:
        return describe_users(kind, ForceKind)
    found = {}
    for one in _fields(type(kind)):
        value = getattr(kind, one.name)
        if value != one.default:
            found[one.name] = _table(value) if isinstance(value, Table) else value
    return word, found


def _fields(made: type[ForceKind] | None) -> list[Field[Any]]:
    """Return the arguments of a kind."""
    return [one for one in fields(made) if one.init] if made is not None and is_dataclass(made) else []


def _read(table: FileTable, one: Field[Any]) -> Any:
    """Return the value of an argument, of the type that its field is annotated with."""
    annotation = str(one.type)
    if annotation.startswith("Table"):
        inner = table.inner(one.name, f"{table.who}: {one.name}")
        inner.check_keys(_TABLE[:2], _TABLE[2:])
        values: dict[str, Any] = {key: inner.numbers(key) for key in _TABLE[:2]}
        if "smooth" in inner:
            values["smooth"] = inner.switch("smooth")
        if "beyond" in inner:
            values["beyond"] = inner.text("beyond")
        with inner.at_fault():
            return Table(**values)
    return table.integers(one.name) if annotation == "int" else table.numbers(one.name)


def _table(table: Table) -> dict[str, Any]:
    return {one.name: getattr(table, one.name) for one in fields(table)
            if one.init and (one.default is MISSING or getattr(table, one.name) != one.default)}  # fmt: skip
