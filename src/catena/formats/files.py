"""Reading and writing model files: the ending of the name says which format, and every fault names the file.

A format is a pair of functions between a mechanism and text. Files are touched only here and where a format looks for
meshes, so that every format reports missing and unwritable files alike and never leaves half a file behind.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from catena.errors import CatenaError, FormatError, ModelError, warn
from catena.formats import extended_urdf, toml
from catena.formats.checks import check_mechanism
from catena.formats.closing import close_by_names, close_given
from catena.formats.complete import file_path, own_name, reason, write_complete
from catena.formats.findings import Finding, Severity
from catena.formats.kinds import Kinds
from catena.formats.regular import read_regular
from catena.formats.shape_files import path_from
from catena.formats.source import LARGEST, MOST_FINDINGS, Source, search_folders
from catena.formats.toml.flexible import matrices_beside
from catena.formats.toml.merging import Meaning, text_like
from catena.mechanism import Mechanism, validation
from catena.mechanism.parts import Origin
from catena.mechanism.shapes import Mesh
from catena.validation import is_one_of, shown

PathLike = str | os.PathLike[str]
Loops = PathLike | Mapping[str, Sequence[Any]] | Iterable[Sequence[Any]] | Literal[False] | None
"""Where loops come from: a file, joints by name, pairs of frames, False for nowhere, None for what lies beside."""

LOOPS = ".loops.toml"
"""The ending of a file beside a tree file that adds what the tree file cannot say."""
COMPANIONS = (".yaml", ".yml")
"""The endings of a file beside a tree file that may be one of Extended URDF."""
WAYS_OF_LOOPS = ("beside", "elements", "constraints", "drake", "frames", "companion")
"""The ways in which URDF that is written may say loops; other formats have one of their own."""
TOLD = 4
"""How many findings a warning tells before it refers to `catena check`."""


@dataclass(frozen=True)
class Format:
    """How a kind of file becomes a mechanism and back: `read(text, source)`, and `write(mechanism, path)` -> texts.

    What is written is a text for the file itself, and texts for files beside it by the ending of their names. A format
    whose `write` is None is only read. `side` is the ending of a file beside it that is read with it, because the
    format cannot say everything and the other file has the rest; `companions` are the endings of a file of Extended
    URDF that may lie there instead. Where it `closes_by_names`, frames called closing_<name>_1 and _2 close loops. A
    format with `parameters` has named numbers that a caller may give.
    """

    name: str
    read: Callable[[str, Source], Mechanism]
    write: Callable[..., dict[str, str]] | None = None
    side: str = ""
    companions: tuple[str, ...] = ()
    closes_by_names: bool = False
    parameters: bool = False


def _imported(function: str) -> Callable[..., Any]:
    """Return a function of a format, which is imported when it is called, because `import catena` must stay quick."""
    module, _, name = function.rpartition(".")

    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"catena.formats.{module}"), name)(*arguments)

    return call


def _write_toml(mechanism: Mechanism, path: Path) -> dict[str, str]:
    """Return the text of a native model file, which keeps what it can of the file that is there, or of the one that the
    mechanism comes from; and by their endings the texts of files with matrices that lie beside it."""
    text = None
    matrices = matrices_beside(mechanism)
    bases = [] if matrices else [base for base in (_existing(mechanism, path), _text_of(mechanism)) if base]
    if bases:
        folder = path.absolute().parent
        wanted = Meaning(toml.blocks(mechanism, str(path), folder), mechanism.parameters)
        parameters = mechanism.origin.given if mechanism.origin is not None else {}
        text = text_like(wanted, parameters, bases, lambda base: _meaning(base, mechanism, path))
    if text is None:
        text = toml.write_drawn(mechanism, str(path), path.absolute().parent)
    return {"": text, **matrices}


def _text_of(mechanism: Mechanism) -> str:
    return mechanism.origin.text if mechanism.origin is not None else ""


def _existing(mechanism: Mechanism, file: Path) -> str:
    """Return the text of a file that is there already and has a mechanism of the same name; empty if there is none."""
    if not os.path.isfile(file):
        return ""
    try:
        text = read_text(file, Source(str(file)))
        name = tomllib.loads(text)["mechanism"]["name"]
    except (CatenaError, ValueError, LookupError, TypeError, RecursionError):
        return ""
    return text if name == mechanism.name else ""


def _meaning(text: str, mechanism: Mechanism, path: Path) -> Meaning:
    """Return what a text stands for if it lies at a path, where it may use the kinds that a mechanism has."""
    kinds: set[type[Any]] = {type(joint.kind) for joint in mechanism.joints.values()}
    kinds |= {type(force.kind) for force in mechanism.forces.values()}
    search = mechanism.origin.search if mechanism.origin is not None else ()
    folder = path.absolute().parent
    source = Source(str(path), folder, search, Kinds(kinds), open_file=open_beside)
    found = toml.read(text, replace(source, opened=(_real(path),)))
    return Meaning(toml.blocks(found, str(path), folder), found.parameters)


WRITE_URDF = _imported("urdf.writing.write")
FORMATS = {
    ".toml": Format("Catena model", toml.read, _write_toml, parameters=True),
    ".urdf": Format(
        "URDF", _imported("urdf.reading.read"), WRITE_URDF, LOOPS, COMPANIONS, closes_by_names=True
    ),
    ".xacro": Format(
        "xacro", _imported("urdf.reading.read_xacro"), None, LOOPS, COMPANIONS, closes_by_names=True
    ),
    ".xml": Format("MJCF", _imported("mjcf.reading.read"), _imported("mjcf.writing.write")),
    ".mjcf": Format("MJCF", _imported("mjcf.reading.read"), _imported("mjcf.writing.write")),
    ".sdf": Format(
        "SDF", _imported("sdf.reading.read"), _imported("sdf.writing.write"), LOOPS, closes_by_names=True
    ),
    ".usda": Format("USD", _imported("usd.reading.read")),
}


def load(
    path: PathLike,
    *,
    search: PathLike | Iterable[PathLike] = (),
    kinds: Iterable[type | str] = (),
    loops: Loops = None,
    mimic: bool = True,
    fix: bool = False,
    macros: bool = False,
    parameters: Mapping[str, float | str] | None = None,
) -> Mechanism:
    """Read and return a mechanism from a model file; the ending of its name says the format: .toml, .urdf, .sdf, .xml
    (MJCF), .usda or .xacro.

    `search` are folders besides its own in which meshes, packages and included files may lie. `kinds` are classes of
    joints and forces of your own that the file may use, or their names "module:Class"; nothing is imported otherwise.
    `parameters` gives parameters of a .toml file other values than it says: numbers, or text such as "400 mm".
    `fix` repairs what has one obvious repair. `macros` lets a .xacro file be expanded, which evaluates what the file
    says: only for files that you trust.

    `loops` closes loops: a .toml file that adds joints and other parts, a .yaml file of Extended URDF, a mapping from
    new joints to (parent, child, kind), or a list of pairs of frames that coincide. Unless given, what lies beside a
    .urdf or .xacro file is read by itself: a file of its name that ends in .loops.toml, else one that ends in .yaml;
    and frames called closing_<name>_1 and _2 are closed. `loops=False` leaves all that out. With `mimic=False` joints
    that mimic others, or are coupled to them otherwise, move by themselves.

    A fault in the file raises a `FormatError` that starts with the file and the line. What looks wrong but can be
    loaded is told in one `CatenaWarning`; `check` lists it.
    """
    mechanism, findings = read_and_check(
        path,
        search=search,
        kinds=kinds,
        loops=loops,
        mimic=mimic,
        fix=fix,
        macros=macros,
        parameters=parameters,
    )
    warned = [finding for finding in findings if finding.severity is Severity.WARNING]
    if warned:
        rest = len(warned) - TOLD
        more = f" ... and {rest} more: `catena check` lists them" if rest > 0 else ""
        warn("; ".join(map(str, warned[:TOLD])) + more)
    return mechanism


def with_parameters(mechanism: Mechanism, values: Mapping[str, float | str]) -> Mechanism:
    """Return the mechanism of the file that another one was read from, with other values of its parameters."""
    origin = mechanism.origin
    if origin is None:
        raise ModelError(
            f"mechanism {mechanism.name!r} has no parameters, because it comes from no .toml file: build it with other "
            "numbers, or change them, m.with_body(...)"
        )
    again = _read_again(origin)
    before, now = (toml.blocks(one, origin.name, origin.folder) for one in (again, mechanism))
    if before != now:
        raise ModelError(
            f"mechanism {mechanism.name!r} was edited after it was loaded, and its parameters tell nothing about that: "
            "give them to load(path, parameters={...}), then edit"
        )
    return _read_again(replace(origin, given={**origin.given, **values}))


def _read_again(origin: Origin) -> Mechanism:
    """Return the mechanism of a text that was read before."""
    source = Source(
        origin.name, origin.folder, origin.search, origin.kinds, origin.fix, open_file=open_beside
    )
    return toml.read(origin.text, replace(source, mimic=origin.mimic, parameters=origin.given))


def convert(
    path: PathLike,
    into: PathLike,
    *,
    search: PathLike | Iterable[PathLike] = (),
    kinds: Iterable[type | str] = (),
    loops: Loops = None,
    mimic: bool = True,
    fix: bool = False,
    macros: bool = False,
    parameters: Mapping[str, float | str] | None = None,
) -> Mechanism:
    """Read a model file and write it in another format; the arguments are those of `load`. Returns the mechanism."""
    mechanism = load(
        path,
        search=search,
        kinds=kinds,
        loops=loops,
        mimic=mimic,
        fix=fix,
        macros=macros,
        parameters=parameters,
    )
    save(mechanism, into)
    return mechanism


def read_and_check(
    path: PathLike,
    *,
    search: PathLike | Iterable[PathLike] = (),
    kinds: Iterable[type | str] = (),
    loops: Loops = None,
    mimic: bool = True,
    fix: bool = False,
    macros: bool = False,
    parameters: Mapping[str, float | str] | None = None,
) -> tuple[Mechanism, list[Finding]]:
    """Return the mechanism of a model file and all that was found on the way; the arguments are those of `load`."""
    file = file_path(path)
    for what, value in (("mimic", mimic), ("fix", fix), ("macros", macros)):
        validation.switch(str(file), what, value)
    folders = search_folders(search)
    source = Source(
        str(file), file.absolute().parent, folders, Kinds(kinds), fix, macros, open_file=open_beside
    )
    source = replace(
        source, opened=(_real(file),), mimic=mimic, parameters=_given_parameters(parameters, file)
    )
    mechanism = _format(file).read(read_text(file, source), source)
    if loops is None:
        mechanism = _with_what_lies_beside(mechanism, file, source)
    elif isinstance(loops, str | os.PathLike):
        mechanism = _with_side_file(mechanism, file_path(loops), source)
    elif loops is not False:
        close_given(mechanism, loops)
    if not mimic and mechanism.couplings:
        follow = [name for name in mechanism.couplings if name not in source.lengths]
        mechanism = mechanism.without_coupling(follow)
    return mechanism, _readable([*source.findings, *check_mechanism(mechanism, source)], source)


def _given_parameters(parameters: Mapping[str, float | str] | None, file: Path) -> Mapping[str, float | str]:
    """Return the parameters that a caller gives for a file, if it is one that has parameters."""
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise FormatError(
            f"{file}: parameters are {shown(parameters)}: give a mapping from names to values, such as {{'crank': 0.4}}"
        )
    if parameters and not _format(file).parameters:
        raise FormatError(
            f"{file}: {_format(file).name} files have no parameters: name a .toml file, or give none"
        )
    return dict(parameters)


def _readable(findings: list[Finding], source: Source) -> list[Finding]:
    """Return the findings, of very many those that matter most."""
    if len(findings) <= MOST_FINDINGS:
        return findings
    order = list(Severity)
    kept = sorted(findings, key=lambda finding: order.index(finding.severity))[:MOST_FINDINGS]
    return [*kept, Finding(Severity.NOTE, source.name, "", "there is more than is told", "more")]


def open_beside(file: Path, source: Source) -> Mechanism:
    """Return the mechanism of a file that another file includes."""
    real = _real(file)
    if real in source.opened:
        raise FormatError(f"{source.name}: it includes {str(file)!r}, which includes it: break the circle")
    inner = replace(source, name=str(file), folder=file.absolute().parent, places={}, parameters={})
    inner = replace(inner, opened=(*source.opened, real))
    return _format(file).read(read_text(file, inner), inner)


def save(mechanism: Mechanism, path: PathLike, *, loops: str = "beside") -> None:
    """Write a mechanism to a model file; the ending of its name says the format: .toml, .urdf, .sdf or .xml (MJCF).

    A .toml file holds everything. URDF holds trees, and SDF graphs that are closed with all joints at zero: other loops
    and what else they cannot say go to a file beside it with the ending .loops.toml. Of URDF, with `loops="elements"`
    loops stand in the file itself where <loop> of URDF+ can say them, with "constraints" as <constraint> proposed for
    urdfdom, with "drake" as ball constraints, with "frames" as pairs of frames named for it; with "companion" they and
    the kinds of joints that URDF has not go to the .yaml file of Extended URDF. The file appears complete or not at
    all: one that exists is replaced in one step, and stays as it is if anything goes wrong.
    """
    if not isinstance(mechanism, Mechanism):
        raise FormatError(f"there is no mechanism to save, but {shown(mechanism)}: give a Mechanism")
    file = file_path(path)
    write = _format(file).write
    if write is None:
        raise FormatError(
            f"{file}: {_format(file).name} files are only read: name a .toml, .urdf, .sdf or .xml file"
        )
    if not is_one_of(loops, WAYS_OF_LOOPS):
        raise FormatError(
            f"{file}: loops is {shown(loops)}: give one of {', '.join(map(repr, WAYS_OF_LOOPS))}"
        )
    texts = write(mechanism, file, loops) if write is WRITE_URDF else write(mechanism, file)
    beside = _beside(file) or _companion(file, Source(str(file)))
    if beside is not None and LOOPS not in texts and beside.suffix not in texts:
        raise FormatError(
            f"{file}: beside it lies {beside.name!r}, which would be read with it and belongs to another mechanism: "
            "remove it, or choose another name"
        )
    contents = {ending: _encoded(file, text) for ending, text in texts.items()}
    for ending, content in contents.items():
        write_complete(own_name(file.with_suffix(ending)) if ending else file, content)
    _warn_of_meshes(mechanism, file)


def _warn_of_meshes(mechanism: Mechanism, file: Path) -> None:
    """Say that a file was written whose meshes it may not reach when it is loaded."""
    folder = file.absolute().parent
    shapes = (s for body in mechanism.bodies.values() for s in (*body.visuals, *body.collisions))
    far = {path for s in shapes if isinstance(s, Mesh) and Path(path := path_from(s, folder)).is_absolute()}
    if far:
        warn(
            f"{file}: {len(far)} meshes lie outside of its folder, such as {min(far)!r}: copy them there, or name "
            "their folder when it is loaded, load(path, search=[...])"
        )


def _encoded(file: Path, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FormatError(
            f"{file}: {text[error.start : error.end]!r} in a name is not valid text: rename the part"
        ) from None


def _with_what_lies_beside(mechanism: Mechanism, file: Path, source: Source) -> Mechanism:
    """Return the mechanism with what is read by itself: a file beside a tree file, and frames whose names close
    loops."""
    beside, companion = _beside(file), _companion(file, source)
    if beside is not None:
        mechanism = _with_side_file(mechanism, beside, source)
        if companion is not None:
            message = f"{companion.name!r} lies beside it too and is not read, because {beside.name!r} is"
            source.note(Severity.WARNING, "", message, what="loop")
    elif companion is not None:
        mechanism = _with_side_file(mechanism, companion, source)
    if _format(file).closes_by_names:
        close_by_names(mechanism, source)
    return mechanism


def _with_side_file(mechanism: Mechanism, beside: Path, source: Source) -> Mechanism:
    """Return the mechanism with what another file adds to it: one of our own, or one of Extended URDF."""
    more = replace(source, name=str(beside), folder=beside.absolute().parent, places={}, parameters={})
    is_companion = beside.suffix.lower() in COMPANIONS
    read_into = extended_urdf.read_into if is_companion else toml.read_into
    mechanism = read_into(mechanism, read_text(beside, more), more)
    source.places |= more.places
    return mechanism


def _beside(file: Path) -> Path | None:
    """Return the file beside a tree file that is read with it, None where there is none."""
    side = _format(file).side
    beside = file.with_suffix(side) if side else None
    return beside if beside is not None and os.path.isfile(beside) else None


def _companion(file: Path, source: Source) -> Path | None:
    """Return the file of Extended URDF beside a tree file, None where there is none. It lies there, links followed, and
    looks like one: other files of such names are none of ours."""
    for ending in _format(file).companions:
        beside = file.with_suffix(ending)
        if not os.path.isfile(beside) or os.path.getsize(beside) > extended_urdf.LARGEST:
            continue
        if not os.path.samefile(Path(os.path.realpath(beside)).parent, file.absolute().parent):
            continue
        try:
            text = read_text(beside, source)
        except FormatError:
            continue
        if extended_urdf.is_companion(text):
            return beside
    return None


def _format(file: Path) -> Format:
    """Return the format that the ending of a name says, in either case."""
    try:
        return FORMATS[file.suffix.lower()]
    except KeyError:
        found = f"the ending {file.suffix!r} is" if file.suffix else "a name without an ending is"
        raise FormatError(
            f"{file}: {found} no model format: name a .toml file, or one of {', '.join(list(FORMATS)[1:])}"
        ) from None


def read_text(file: Path, source: Source) -> str:
    """Return the text of a file that is not too large; what it has is counted for the whole load."""
    try:
        content = read_regular(file, LARGEST, "a model")
    except FileNotFoundError as error:
        raise FormatError(f"{file}: there is no such file{_similar(file)}") from error
    except IsADirectoryError as error:
        raise FormatError(f"{file}: this is a folder: give the name of a file in it") from error
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{file}: the file cannot be read: {reason(error)}") from error
    source.budget.add_file(str(file), len(content))
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"{file}:{line}: byte 0x{content[error.start]:02x} is not UTF-8 text: save the file as UTF-8"
        ) from None


def _real(file: Path) -> Path:
    try:
        return Path(os.path.realpath(file))
    except (OSError, ValueError):
        return file


def _similar(file: Path) -> str:
    """Return what to say after a missing file: names in its folder that are close, or that the folder is missing."""
    folder = file.parent
    try:
        names = [entry.name for entry in folder.iterdir() if entry.suffix.lower() in FORMATS]
    except OSError:
        return f", and no folder {str(folder)!r}: check the path"
    close = get_close_matches(file.name, names, n=3, cutoff=0.6)
    return f": did you mean {' or '.join(map(repr, close))}?" if close else ": check the path"
