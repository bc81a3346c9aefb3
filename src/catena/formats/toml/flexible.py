"""Flexible bodies in model files: beams and frames of beams in words, finite elements by files of matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from catena.bodies import Beam, BeamFrame, FiniteElements, FlexibleBody, Member
from catena.bodies.finite_elements import read_matrix
from catena.errors import FormatError
from catena.formats.toml.schema import BEAM, BEAM_FRAME, FINITE_ELEMENTS, MEMBER
from catena.formats.toml.tables import FileTable
from catena.mechanism import Body, Mechanism


class Words(NamedTuple):
    """How keys and values are written."""

    key: Callable[[str], str]
    value: Callable[[Any], str]


def read_flexible(table: FileTable) -> FlexibleBody | None:
    """Return the flexible body that the table of a body tells, None if it tells none."""
    found = [key for key in READERS if key in table]
    if len(found) > 1:
        table.fail(f"it has {found[0]} and {found[1]}: a body is one of them", found[1])
    return READERS[found[0]](table.inner(found[0], f"{table.who}: {found[0]}")) if found else None


def _beam(table: FileTable) -> Beam:
    table.check_keys(*BEAM)
    words = ("modes", "ends", "rotary", "interface")
    options: dict[str, Any] = {key: table.numbers(key) for key in table.content if key not in words}
    modes = table.content["modes"]
    if isinstance(modes, dict):
        inner = table.inner("modes", f"{table.who}: modes")
        options["modes"] = {key: inner.integers(key) for key in modes}
    else:
        options["modes"] = table.integers("modes")
    if "ends" in table:
        options["ends"] = table.text("ends")
    for key in ("rotary", "interface"):
        if key in table:
            options[key] = table.switch(key)
    with table.at_fault():
        return Beam(**options)


def _frame(table: FileTable) -> BeamFrame:
    table.check_keys(*BEAM_FRAME)
    members = []
    for one in table.tables("members"):
        one.check_keys(*MEMBER)
        options: dict[str, Any] = {"a": one.text("a"), "b": one.text("b")}
        options |= {key: one.numbers(key) for key in one.content if key not in ("a", "b", "elements")}
        if "elements" in one:
            options["elements"] = one.integers("elements")
        members.append(Member(**options))
    nodes = table.inner("nodes", f"{table.who}: nodes")
    more: dict[str, Any] = {"damping": table.numbers("damping")} if "damping" in table else {}
    if "masses" in table:
        masses = table.inner("masses", f"{table.who}: masses")
        more["masses"] = {key: masses.numbers(key) for key in masses.content}
    with table.at_fault():
        return BeamFrame(
            {key: nodes.numbers(key) for key in nodes.content}, members, table.texts("interfaces"),
            _count(table), **more,
        )  # fmt: skip


def _finite_elements(table: FileTable) -> FiniteElements:
    table.check_keys(*FINITE_ELEMENTS)
    interfaces = table.inner("interfaces", f"{table.who}: interfaces")
    more: dict[str, Any] = {"damping": table.numbers("damping")} if "damping" in table else {}
    if "stiffening" in table:
        inner = table.inner("stiffening", f"{table.who}: stiffening")
        more["stiffening"] = {key: _matrix(inner, key) for key in inner.content}
    nodes = _matrix(table, "nodes") if isinstance(table.content["nodes"], str) else table.numbers("nodes")
    groups = {key: interfaces.integers(key) for key in interfaces.content}
    with table.at_fault():
        return FiniteElements(
            _matrix(table, "mass"), _matrix(table, "stiffness"), nodes,
            {key: some if isinstance(some, list) else [some] for key, some in groups.items()},
            _count(table), **more,
        )  # fmt: skip


def _count(table: FileTable) -> int:
    found = table.integers("modes")
    if isinstance(found, list):
        table.fail("modes is an array: give one whole number", "modes")
    return found


def _matrix(table: FileTable, key: str) -> Any:
    """Return the matrix in the file that a key names, which lies in the folder of the model."""
    path = table.text(key)
    file = table.document.source.find(path, table.where(key), table.who)
    if file is None or not file.is_file():
        table.fail(f"the file {path!r} is not there: put it into the folder of the model", key)
    with table.at_fault(key):
        return read_matrix(key, file)


READERS: dict[str, Callable[[FileTable], FlexibleBody]] = {
    "beam": _beam,
    "beam_frame": _frame,
    "finite_elements": _finite_elements,
}


def describe_flexible(body: Body, stem: str | None, number: int, words: Words) -> tuple[str, str]:
    """Return the key and the table in one line of a flexible body. `stem` is the name of the model file without its
    ending and `number` that of the body among those with matrices; `words` writes keys and values."""
    kind = body.flexible
    if isinstance(kind, Beam):
        return "beam", _inline(_words_of_beam(kind), words)
    if isinstance(kind, BeamFrame):
        return "beam_frame", _inline(_words_of_frame(kind), words)
    if not isinstance(kind, FiniteElements) or stem is None:
        raise FormatError(
            f"body {body.name!r}: model files hold beams, frames of beams, and finite elements beside a file, and "
            f"this one is a {type(kind).__name__}: describe it in Python, or lock its modes and write a rigid body"
        )
    return "finite_elements", _inline(_words_of_elements(kind, stem, number), words)


def _words_of_beam(beam: Beam) -> Iterator[tuple[str, Any]]:
    for name in ("length", "area", "inertia", "density", "young", "shear", "torsion"):
        if getattr(beam, name) is not None:
            yield name, getattr(beam, name)
    yield from (("modes", dict(beam.modes_wanted)), ("ends", beam.ends), ("rotary", bool(beam.rotary)))
    if np.any(beam.damping_ratio):
        yield "damping", beam.damping_ratio
    if beam.interface:
        yield "interface", True
    if beam.stations:
        yield "stations", beam.stations


def _words_of_frame(frame: BeamFrame) -> Iterator[tuple[str, Any]]:
    yield "nodes", dict(frame.nodes)
    names = ("a", "b", "area", "inertia", "density", "young", "shear", "torsion", "up", "elements")
    yield (
        "members",
        [{n: getattr(m, n) for n in names if getattr(m, n) is not None} for m in frame.members],
    )
    yield from (("interfaces", list(frame.interfaces)), ("modes", frame.inner_modes))
    if frame.damping_ratio:
        yield "damping", frame.damping_ratio
    if frame.masses:
        yield "masses", dict(frame.masses)


def _words_of_elements(body: FiniteElements, stem: str, number: int) -> Iterator[tuple[str, Any]]:
    for name in ("mass", "stiffness", "nodes"):
        yield name, f"{stem}{_ending(number, name)}"
    yield "interfaces", {name: list(some) for name, some in body.interfaces.items()}
    yield "modes", body.inner_modes
    if body.damping_ratio:
        yield "damping", body.damping_ratio
    if body.stiffening:
        yield "stiffening", {load: f"{stem}{_ending(number, f'under_{load}')}" for load in body.stiffening}


def matrices_beside(mechanism: Mechanism) -> dict[str, str]:
    """Return the files that lie beside a model because of its bodies of finite elements: endings, and their text in the
    format of Matrix Market."""
    found: dict[str, str] = {}
    for number, kind in enumerate(with_matrices(mechanism), 1):
        parts = {"mass": kind.mass, "stiffness": kind.stiffness_matrix, "nodes": kind.nodes}
        parts |= {f"under_{load}": matrix for load, matrix in (kind.stiffening or {}).items()}
        found |= {_ending(number, name): _matrix_market(matrix) for name, matrix in parts.items()}
    return found


def with_matrices(mechanism: Mechanism) -> list[FiniteElements]:
    """Return the bodies of finite elements, in order."""
    return [body.flexible for body in mechanism.bodies.values() if isinstance(body.flexible, FiniteElements)]


def _ending(number: int, what: str) -> str:
    return f".elements{number}.{what}.mtx"


def _matrix_market(matrix: Any) -> str:
    from scipy.io import mmwrite

    stream = BytesIO()
    symmetric = "general" if isinstance(matrix, np.ndarray) else "symmetric"
    mmwrite(stream, matrix, precision=17, symmetry=symmetric)
    return stream.getvalue().decode("ascii")


def _inline(pairs: Iterator[tuple[str, Any]], words: Words) -> str:
    return "{ " + ", ".join(f"{words.key(name)} = {_shown(x, words)}" for name, x in pairs) + " }"


def _shown(x: Any, words: Words) -> str:
    if isinstance(x, Mapping):
        return _inline(iter(x.items()), words)
    if isinstance(x, list) and x and isinstance(x[0], Mapping):
        return "[" + ", ".join(_shown(one, words) for one in x) + "]"
    return words.value(x)
