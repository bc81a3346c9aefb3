"""Files that a run leaves behind. One that cannot be written costs none of the others."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from catena.cli.console import Console
from catena.cli.faults import UsageError, in_words
from catena.errors import CatenaError
from catena.simulation import Trajectory
from catena.simulation.recording.files import WRITERS
from catena.view.plotting import require_matplotlib

PICTURES = (".png", ".pdf", ".svg", ".jpg")
PAGES = (".html", ".htm")
# Backends of matplotlib that draw files only.
WITHOUT_SCREEN = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")


@dataclass
class Outputs:
    """What is to be written: the trajectory, a picture (the empty name stands for the screen) and a page.

    `written` and `failed` name the files that came about and those that did not.
    """

    out: Path | None = None
    plot: str | None = None
    report: Path | None = None
    written: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Complain about endings before anything is computed."""
        _check("--out", self.out, tuple(WRITERS))
        _check("--plot", Path(self.plot) if self.plot else None, PICTURES)
        _check("--report", self.report, PAGES)

    def write(self, run: Trajectory, console: Console) -> None:
        """Write everything that can be written."""
        if self.out is not None and not self._attempt(self.out, run.save, console):
            self._rescue(self.out, run, console)
        if self.plot:
            self._attempt(Path(self.plot), lambda path: run.plot(path=path), console)
        if self.report is not None:
            self._attempt(self.report, run.report, console)

    def show(self, run: Trajectory, console: Console) -> None:
        """Show the picture on the screen if that was asked for, or write a file where there is no screen."""
        if self.plot != "":
            return
        try:
            has_screen = require_matplotlib().get_backend().lower() not in WITHOUT_SCREEN
        except CatenaError as error:
            console.error(in_words(error))
            self.failed.append("plot")
            return
        if has_screen:
            run.plot(show=True)
        else:
            console.note("there is no screen to show the plot on, so it goes to a file")
            self._attempt(Path(f"{_as_file_name(run)}.png"), lambda path: run.plot(path=path), console)

    def _attempt(self, file: Path, write: Callable[[Path], object], console: Console) -> bool:
        try:
            write(file)
        except Exception as error:
            words = in_words(error)
            console.error(words if str(file) in words else f"{file}: it could not be written: {words}")
            console.trace(error)
            self.failed.append(str(file))
            return False
        self.written.append(str(file))
        return True

    def _rescue(self, file: Path, run: Trajectory, console: Console) -> None:
        """Keep a trajectory that could not be written where it should go: a long run must not be lost."""
        try:
            folder = Path(tempfile.mkdtemp(prefix="catena_"))
        except OSError as error:
            console.error(
                f"the trajectory could not be kept in another place either, and is lost: {in_words(error)}"
            )
            return
        for refuge in (folder / file.name, folder / f"{file.stem}.csv"):
            try:
                run.save(refuge)
            except Exception as error:
                console.trace(error)
                continue
            console.warning(f"the trajectory was kept in {refuge} instead")
            self.written.append(str(refuge))
            return
        folder.rmdir()
        console.error(f"the trajectory could not be kept in {folder.parent} either, and is lost")


def _check(option: str, file: Path | None, endings: Sequence[str]) -> None:
    if file is None or (file.exists() and not file.is_file()):
        # A device has no ending; what else it may be comes up when it is written.
        return
    if file.suffix.lower() not in endings:
        found = f"the ending {file.suffix!r} is not known" if file.suffix else "the name has no ending"
        raise UsageError(f"{option} {file}: {found}: name a file that ends in {', '.join(endings)}")


def _as_file_name(run: Trajectory) -> str:
    """The mechanism's name without what file names cannot have."""
    name = run.system.mechanism.name
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)
