"""Where the text of a model comes from, and what it may reach from there.

A file may come from a stranger. It reaches other files only below its own folder, below the package that it lies in and
below folders that the caller names, and classes only if the caller hands them over or allows them by name. Files
include each other; a few short ones that each include the next ten times would be read for ever, so loads have a
budget.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from catena.errors import FormatError
from catena.formats.findings import Finding, Severity
from catena.formats.kinds import Kinds
from catena.mechanism import Mechanism
from catena.validation import entries, shown

MOST_BYTES = 64 * 2**20
"""How many bytes of models a load may read, files that are included several times counted as often."""
MOST_FILES = 1000
"""How many files a load may open."""
MOST_ELEMENTS = 500_000
"""How many elements of XML a load may make."""
MOST_PARTS = 20_000
"""How many parts repetition may make."""
MOST_COPIED = 4 * 2**20
"""How many characters and numbers these parts may have together."""


@dataclass
class Budget:
    """What a load has used so far; the sources of all files that it reads share it."""

    bytes: int = 0
    files: int = 0
    elements: int = 0
    parts: int = 0
    copied: int = 0

    def add_file(self, file: str, size: int) -> None:
        """Count a file that was read."""
        self.files += 1
        self.bytes += size
        if self.files > MOST_FILES:
            raise FormatError(f"{file}: more than {MOST_FILES} files include each other: this is no model")
        if self.bytes > MOST_BYTES:
            raise FormatError(f"{file}: the files that include each other have more than {MOST_BYTES} bytes")

    def add_element(self, where: str) -> None:
        """Count an element of XML."""
        self.elements += 1
        if self.elements > MOST_ELEMENTS:
            raise FormatError(f"{where}: there are more than {MOST_ELEMENTS} elements: this is no model")

    def add_part(self, size: int) -> str:
        """Count a part that repetition makes, of so many characters and numbers; why it is one too many, or ""."""
        self.parts += 1
        self.copied += size
        if self.parts > MOST_PARTS:
            return f"repetition makes more than {MOST_PARTS} parts"
        return f"what is repeated has more than {MOST_COPIED} characters" if self.copied > MOST_COPIED else ""


LARGEST = 32 * 2**20
"""How many bytes a model file may have: the largest robots need a few, and reading takes memory many times that."""
MOST_FINDINGS = 10_000
"""How many findings are told of a file."""
LONGEST_FINDING = 1000
"""How many characters a finding tells."""
MARKS = ("package.xml", "model.config")
"""Files that mark the folder of a package, to which the paths in its models are confined."""


@dataclass
class Source:
    """A text on its way to a mechanism: what messages call it, the folder it lies in, and what it may use.

    `folder` is None for a text that lies in no folder; it reaches no other file. `fix` allows readers to repair what
    has one obvious repair, `macros` to run a macro language on the text; without `mimic` no joint follows another.
    `parameters` are the values that parameters of the file are to have instead of those that it says.
    `findings` collects what readers notice, `places` the lines of parts by ("body", name), `outside` the paths of
    meshes that lead where it may not reach, `lengths` the couplings that are lengths of tendons and stay without
    `mimic`. `opened` are the files that led to this one, and `open_file` reads one that
    the text includes; `budget` counts what all of them have used.
    """

    name: str
    folder: Path | None = None
    search: tuple[Path, ...] = ()
    kinds: Kinds = field(default_factory=Kinds)
    fix: bool = False
    macros: bool = False
    mimic: bool = True
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    places: dict[tuple[str, str], int] = field(default_factory=dict)
    outside: set[str] = field(default_factory=set)
    lengths: set[str] = field(default_factory=set)
    opened: tuple[Path, ...] = ()
    open_file: Callable[[Path, Source], Mechanism] | None = None
    budget: Budget = field(default_factory=Budget)

    def note(self, severity: Severity, who: str, message: str, line: int | None = None, what: str = "",
             repaired: str = "") -> None:  # fmt: skip
        """Remember something about the text, unless so much was remembered that nobody reads it."""
        place = self.name if line is None else f"{self.name}:{line}"
        if len(self.findings) <= MOST_FINDINGS:
            self.findings.append(Finding(severity, place, _cut(who), _cut(message), what, _cut(repaired)))

    def place(self, what: str, name: str) -> str:
        """Return the place of a part as messages tell it: the file, and its line where known."""
        line = self.places.get((what, name))
        return self.name if line is None else f"{self.name}:{line}"

    def find(self, uri: str, where: str, who: str) -> Path | None:
        """Return the file that a path or URI in the text stands for, None if it is not known.

        It need not exist. A path that leads out of the folders the text may reach raises; `where` is the place and
        `who` the part that names it.
        """
        refused = FormatError(
            f"{where}: {who}: the path {shown(uri)} leads out of the folder of the model: "
            "put the file there, or name its folder, load(path, search=[...])"
        )
        if uri in self._known:
            return self._known[uri]
        found = self._known[uri] = self._find(uri, refused)
        return found

    @cached_property
    def _known(self) -> dict[str, Path | None]:
        """The files of the paths that were asked for, because meshes are named many times."""
        return {}

    def _find(self, uri: str, refused: FormatError) -> Path | None:
        if "\0" in uri:
            raise refused
        scheme, colon, rest = uri.partition("://")
        if colon and scheme in ("package", "model"):
            return self._in_package(unquote(rest) if "%" in rest else rest, refused)
        if colon and scheme != "file":
            return None
        written = Path(rest if colon else uri.replace("\\", "/"))
        roots = self._roots
        if not roots:
            return None
        starts = [written] if written.is_absolute() else [root / written for root in self._starts()]
        allowed = [path for path in starts if _is_below(path, roots)]
        if starts and not allowed:
            raise refused
        return next((path for path in allowed if os.path.exists(path)), allowed[0] if allowed else None)

    def _in_package(self, rest: str, refused: FormatError) -> Path | None:
        """Return the file of package://name/rest: below a search folder, or in the package that the text lies in."""
        name, _, inside = rest.partition("/")
        if not self._roots:
            return None
        roots = [folder / name for folder in self.search]
        roots += [folder for folder in self.search if folder.name == name]
        roots += [folder for folder in self._packages if folder.name == name]
        # A model without a package around it, as people send them: the folder takes the place of the package.
        if self.folder is not None:
            roots += [self.folder / name, self.folder]
        candidates = [root / inside for root in roots]
        allowed = [path for path in candidates if _is_below(path, self._roots)]
        if candidates and not allowed:
            raise refused
        return next((path for path in allowed if os.path.exists(path)), None)

    def _starts(self) -> list[Path]:
        return [*([self.folder] if self.folder is not None else []), *self.search]

    @cached_property
    def _packages(self) -> list[Path]:
        """The folders around the text that are marked as packages."""
        if self.folder is None:
            return []
        return [
            up
            for up in (self.folder, *self.folder.parents)
            if any(os.path.isfile(up / mark) for mark in MARKS)
        ]

    @cached_property
    def _roots(self) -> list[str]:
        """The folders that the text may reach, with all links followed."""
        return [os.path.realpath(folder) for folder in (*self._starts(), *self._packages)]


def _cut(text: str) -> str:
    """Return a text that holds what a file says, as much of it as can be read."""
    return text if len(text) <= LONGEST_FINDING else f"{text[:LONGEST_FINDING]} ..."


def search_folders(folders: Any) -> tuple[Path, ...]:
    """Return the folders that a caller allows a model to reach besides its own."""
    listed: Iterable[Any] = (folders,) if isinstance(folders, str | os.PathLike) else folders
    try:
        return tuple(Path(folder).absolute() for folder in entries(listed))
    except (TypeError, ValueError):
        raise FormatError(f"search is {shown(folders)}: give a folder or a list of folders") from None


def _is_below(path: Path, roots: list[str]) -> bool:
    """Return whether a path, with all links followed, lies in one of some folders."""
    try:
        real = os.path.realpath(path)
        return any(os.path.commonpath([real, root]) == root for root in roots)
    except (OSError, ValueError):
        return False
