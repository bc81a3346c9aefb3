"""One scenario that is edited: its text with the history of texts, and what pages are told of it."""

from __future__ import annotations

import base64
import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catena.errors import CatenaError, FormatError, StateError
from catena.formats.complete import write_complete
from catena.studio.edits import apply
from catena.studio.reading import TextReading
from catena.validation import shown

BLANK = """# Drawn in the Catena studio. Units are SI, angles in radians, unless a unit is written.
format = 1

[mechanism]
name = "{name}"
gravity = [0.0, 0.0, 0.0]

[run]
duration = "5 s"
samples = 301
rtol = 1e-8
atol = 1e-10
"""
LONGEST = 2_000_000
"""Characters of a text."""
MOST = 500
"""Texts that the history keeps, and links."""


MESHES = (".stl", ".obj")
"""Endings of meshes that may be dropped."""


class Stale(StateError):
    """An edit of a text that somebody else has changed meanwhile."""


@dataclass
class HistoryEntry:
    """A text of the history: what made it, and a key that lets the acts of one drag be one entry."""

    text: str
    made_by: str
    merge: str = ""


class EditingSession:
    """A text, its history and its file; all acts go through here, one at a time."""

    def __init__(self, text: str, name: str, folder: Path, file: Path | None = None) -> None:
        self.folder, self.file = folder, file
        self.saved = text if file is not None else ""
        self.revision = 0
        self._past = [HistoryEntry(text, "open")]
        self._future: list[HistoryEntry] = []
        self._links: dict[str, str] = {}
        self._lock = threading.RLock()
        self.name = name
        self.reading = TextReading(text, name, folder)
        self.left = self._left_behind()
        """The text that a studio which ended left behind without saving, empty where there is none."""
        self.good = self.reading if self.reading.is_good else None

    @property
    def text(self) -> str:
        """The text as it is."""
        return self._past[-1].text

    def act(self, name: str, arguments: Mapping[str, Any], base: int, merge: str = "") -> None:
        """Make a named edit of the text with the revision `base`; a text that then has a fault is refused, and
        everything stays as it was. Acts with the same `merge` that follow each other are one step of the history."""
        with self._lock:
            self._require(base)
            if self.reading.document is None:
                raise StateError("the text has a fault; mend it first, or undo.")
            text = apply(self.text, name, arguments)
            reading = TextReading(text, self.name, self.folder)
            if reading.fault is not None and self.reading.fault is None:
                raise StateError(reading.fault[0])
            self._push(HistoryEntry(text, name, merge), reading)

    def set_text(self, text: Any, base: int) -> None:
        """Take a text that was typed, with a fault or without."""
        if not isinstance(text, str) or len(text) > LONGEST:
            raise StateError(f"a text is {shown(text)}; send at most {LONGEST} characters.")
        with self._lock:
            self._require(base)
            if text != self.text:
                self._push(HistoryEntry(text, "typing", "typing"), TextReading(text, self.name, self.folder))

    def undo(self, base: int) -> None:
        """Go back to the text before."""
        with self._lock:
            self._require(base)
            if len(self._past) < 2:
                raise StateError("there is nothing to undo.")
            self._future.append(self._past.pop())
            self._past[-1].merge = ""
            self._show(TextReading(self.text, self.name, self.folder))

    def redo(self, base: int) -> None:
        """Go forward again."""
        with self._lock:
            self._require(base)
            if not self._future:
                raise StateError("there is nothing to do again.")
            self._past.append(self._future.pop())
            self._show(TextReading(self.text, self.name, self.folder))

    def open(self, text: str, name: str, file: Path | None, base: int) -> None:
        """Begin with another text; the one before stays in the history."""
        with self._lock:
            self._require(base)
            self.name, self.file = name, file
            self.saved = text if file is not None else ""
            self._push(HistoryEntry(text, f"open {name}"), TextReading(text, name, self.folder))

    def link(self) -> str:
        """Keep the text as it is under a name that nobody guesses, and return that; the oldest ones are forgotten."""
        with self._lock:
            name = next(
                (key for key, text in self._links.items() if text == self.text), secrets.token_urlsafe(9)
            )
            self._links[name] = self.text
            while len(self._links) > MOST:
                del self._links[next(iter(self._links))]
            return name

    def follow(self, name: Any, base: int) -> None:
        """Show the text that a link was made of; the one before stays in the history."""
        with self._lock:
            self._require(base)
            if not isinstance(name, str) or name not in self._links:
                raise StateError(
                    "the link leads nowhere: the studio that made it has ended, or it was very long ago."
                )
            if self._links[name] != self.text:
                text = self._links[name]
                self._push(HistoryEntry(text, "follow a link"), TextReading(text, self.name, self.folder))

    def save(self, name: Any, base: int, over: bool = False) -> Path:
        """Write the text to a .toml file of the folder, complete or not at all. A file that somebody else has changed
        since it was read or written here is kept, unless `over` says to write over it."""
        with self._lock:
            self._require(base)
            file = self.path(name) if name else self.file
            if file is None:
                raise StateError("the scenario has no name yet; give one, such as crank.toml.")
            if file.exists() and not over:
                there = file.read_text(encoding="utf-8", errors="replace")
                if there != self.saved and there != self.text:
                    raise Stale(f"{file.name} was changed by somebody else since it was opened here.")
            write_complete(file, self.text.encode("utf-8"))
            with suppress(OSError):
                self.draft.unlink(missing_ok=True)
            self.file, self.saved, self.name = file, self.text, file.name
            self._tell()
            return file

    def resume(self, base: int) -> None:
        """Go on with the text that was left behind."""
        with self._lock:
            self._require(base)
            if not self.left:
                raise StateError("nothing was left behind.")
            text, self.left = self.left, ""
            self._push(HistoryEntry(text, "resume"), TextReading(text, self.name, self.folder))

    @property
    def draft(self) -> Path:
        """The file beside the saved one that keeps a text which is not saved yet."""
        return self.folder / f".{Path(self.name).stem}.draft.toml"

    def _left_behind(self) -> str:
        with suppress(OSError):
            there = self.draft.read_text(encoding="utf-8", errors="replace")
            return there if there != self.text else ""
        return ""

    def _keep_draft(self) -> None:
        """Keep what is not saved, in case Python ends; a folder that cannot be written keeps nothing."""
        with suppress(OSError, CatenaError):
            if self.text == self.saved:
                self.draft.unlink(missing_ok=True)
            else:
                write_complete(self.draft, self.text.encode("utf-8"))

    def keep_mesh(self, name: Any, content: Any) -> str:
        """Write a mesh file (base64) to the folder and return its name; what is there with another content stays."""
        plain = Path(name).name if isinstance(name, str) and "\0" not in name else ""
        if Path(plain).suffix.lower() not in MESHES or len(plain) > 100 or plain.startswith("."):
            raise FormatError(
                f"a mesh is called {shown(name)}; drop a file that ends in {' or '.join(MESHES)}."
            )
        try:
            data = base64.b64decode(content, validate=True) if isinstance(content, str) else b""
        except ValueError:
            data = b""
        if not data:
            raise FormatError(f"{plain} is empty or did not arrive whole; drop it again.")
        file = self.folder / plain
        if file.exists() and file.read_bytes() != data:
            raise FormatError(f"there is another {plain} in the folder already; give the file another name.")
        write_complete(file, data)
        return plain

    def path(self, name: Any) -> Path:
        """Return the file of a name, which lies in the folder."""
        if not isinstance(name, str) or not name or "\0" in name or len(name) > 200:
            raise FormatError(f"a file is called {shown(name)}; give a name such as crank.toml.")
        file = (self.folder / name).resolve()
        if file.suffix.lower() != ".toml":
            file = file.with_name(file.name + ".toml")
        if not file.is_relative_to(self.folder.resolve()):
            raise FormatError(f"{name} is not in {self.folder}; the studio writes nowhere else.")
        return file

    def state(self) -> dict[str, Any]:
        """Return all that a page shows of the text as it is."""
        with self._lock:
            now = self.reading
            shown_by = now if now.is_good or now.unfinished or self.good is None else self.good
            fault = now.fault
            return {
                "revision": self.revision, "text": self.text, "name": self.name,
                "is_saved": self.text == self.saved, "file": self.file.name if self.file else "",
                "can_undo": self._past[-2].made_by and self._past[-1].made_by if len(self._past) > 1 else "",
                "can_redo": self._future[-1].made_by if self._future else "",
                "fault": {"words": fault[0], "line": fault[1]} if fault else None,
                "left": bool(self.left), "words": now.words(),
                "ways": now.ways(), "unfinished": now.unfinished, "why_not_run": now.why_not_run(),
                "scene": shown_by.scene(),
                "drawing": shown_by.drawing(), "parts": shown_by.parts(),
            }  # fmt: skip

    def python(self) -> str:
        """Return a program that computes the very same run."""
        text = self.text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        return (
            "import tempfile\nfrom pathlib import Path\n\nimport catena as ct\n\n"
            f'TEXT = """\\\n{text}"""\n\n'
            f'file = Path(tempfile.mkdtemp()) / "{_plain_name(self.name)}"\nfile.write_text(TEXT, encoding="utf-8")\n'
            "scenario = ct.Scenario.load(file)\nrun = scenario.run()\nprint(run.audit())\n"
        )

    def _require(self, base: Any) -> None:
        if base != self.revision:
            raise Stale("the text was changed meanwhile, in another window or by a file; look at it again.")

    def _push(self, entry: HistoryEntry, reading: TextReading) -> None:
        if entry.merge and self._past[-1].merge == entry.merge:
            self._past[-1] = entry
        else:
            self._past.append(entry)
            del self._past[:-MOST]
        self._future.clear()
        self._show(reading)

    def _show(self, reading: TextReading) -> None:
        self.reading = reading
        if reading.is_good:
            self.good = reading
        self._tell()

    def _tell(self) -> None:
        self.revision += 1
        self._keep_draft()


def _plain_name(name: str) -> str:
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return kept if kept.endswith(".toml") else f"{kept}.toml"
