"""What a run leaves behind: its summary, in a few lines or as plain data, and files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catena.cli.console import Console, UsageError, counted, in_words
from catena.cli.description import describe_state, plain
from catena.cli.running import Outcome
from catena.errors import CatenaError
from catena.formats.complete import own_name
from catena.mechanism import GROUND
from catena.simulation import Plot, Trajectory
from catena.simulation.results.audit import Audit
from catena.simulation.results.recording.files import ENDINGS, WHOLE
from catena.simulation.results.sizing import HEADS, Sizing
from catena.simulation.scenario.plots import PICTURES
from catena.view.plotting import require_matplotlib

PAGES = (".html", ".htm")
# What --columns can name besides frames and bodies.
COLUMNS = ("reactions", "power", "acceleration", "units")
# Backends of matplotlib that draw files only.
WITHOUT_SCREEN = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")


@dataclass
class Outputs:
    """What is to be written: the trajectory, a picture (the empty name stands for the screen) and a page; `columns` are
    what the table of a trajectory has besides. `plots` are the pictures that the file of a scenario says, drawn where a
    picture on the screen is asked for.

    `written` and `failed` name the files that came about and those that did not.
    """

    out: Path | None = None
    plot: str | None = None
    report: Path | None = None
    columns: Sequence[str] = ()
    plots: Sequence[Plot] = ()
    written: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Refuse names of files whose ending is not known, before anything is computed."""
        _check("--out", self.out, ENDINGS)
        if self.columns and (self.out is None or self.out.suffix.lower() in WHOLE):
            raise UsageError("--columns chooses columns of a table: name one, such as --out run.xlsx")
        _check("--plot", Path(self.plot) if self.plot else None, PICTURES)
        _check("--report", self.report, PAGES)

    def write(self, run: Trajectory, console: Console) -> None:
        """Write all files that were asked for and that can be written."""
        if self.out is not None and not self._attempt(
            self.out, lambda path: run.save(path, **self._choices()), console
        ):
            self._rescue(self.out, run, console)
        if self.plot:
            self._attempt(Path(self.plot), lambda path: run.plot(path=path), console)
        for plot in self._of_file(True):
            self._attempt(Path(plot.file), lambda path, show=plot.show: run.plot(*show, path=path), console)  # type: ignore[misc]
        if self.report is not None:
            self._attempt(self.report, run.report, console)

    def show(self, run: Trajectory, console: Console) -> None:
        """Show the picture on the screen if that was asked for, or write a file where there is no screen."""
        shown = [plot.show for plot in self._of_file(False)] or ([] if self.plots else [()])
        if self.plot != "" or not shown:
            return
        try:
            has_screen = require_matplotlib().get_backend().lower() not in WITHOUT_SCREEN
        except CatenaError as error:
            console.error(in_words(error))
            self.failed.append("plot")
            return
        if has_screen:
            for words in shown:
                run.plot(*words, show=True)
        else:
            console.note("there is no screen to show the plot on, so it goes to a file")
            for k, words in enumerate(shown):
                named = Path(f"{_as_file_name(run)}{k + 1 if k else ''}.png")
                self._attempt(named, lambda path, words=words: run.plot(*words, path=own_name(path)), console)  # type: ignore[misc]

    def _of_file(self, named: bool) -> list[Plot]:
        """Return the pictures that the file of a scenario says, those with or without names, if pictures are asked
        for."""
        return [plot for plot in self.plots if bool(plot.file) is named] if self.plot == "" else []

    def _choices(self) -> dict[str, Any]:
        """Return what `save` is asked for; names that are no words for columns are those of frames or bodies."""
        words = dict.fromkeys((name for name in self.columns if name in COLUMNS), True)
        frames = [name for name in self.columns if name not in COLUMNS]
        return {**words, "frames": frames} if frames else dict(words)

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
        """Write a trajectory to a temporary folder, because it could not be written where it should go."""
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


def print_summary(outcome: Outcome, outputs: Outputs, console: Console) -> None:
    """Write the mechanism, the effort, the audit and the files of a run; warnings go to standard error."""
    run = outcome.run
    if run is None:
        return
    audit = _audit(run, console)
    rows = [
        ("model", _parts(run)),
        ("motion", _motion(outcome, run)),
        (
            "effort",
            f"{outcome.wall_time:.3g} s, {_speed(outcome, run):.3g} times as fast as the motion itself",
        ),
    ]
    rows += [("event", f"{found.name} at t = {found.t:.9g} s") for found in run.events]
    if audit is not None:
        # Why it ended early is said by the event, or as an error.
        rows += [(line.name, line.text) for line in audit if line.ok and line.name != "end"]
    if outputs.written:
        rows.append(("files", ", ".join(outputs.written)))
    console.entries(rows)
    for line in audit or ():
        if not line.ok:
            console.warning(line.text)


def print_sizing(sizing: Sizing, console: Console) -> None:
    """Write what the motion asks of its motors."""
    console.say()
    console.title(sizing.title)
    if sizing.motors:
        console.table([motor.cells() for motor in sizing], HEADS)


def as_data(outcome: Outcome, outputs: Outputs, console: Console) -> dict[str, Any]:
    """Return the summary of a run, with its last state, as data for JSON."""
    run, scenario = outcome.run, outcome.task.scenario
    data: dict[str, Any] = {
        "model": scenario.mechanism.name,
        "integrator": scenario.integrator,
        "duration": scenario.duration,
        "wall_time": outcome.wall_time,
        "code": int(outcome.code),
        "error": outcome.reason or None,
        "files": outputs.written,
        "failed": outputs.failed,
    }
    if run is None:
        return data | {"reached": None}
    audit = _audit(run, console)
    return data | {
        "reached": float(run.t[-1]),
        "steps": run.steps,
        "samples": len(run.t),
        "real_time_factor": _speed(outcome, run),
        "energy_drift": plain(run.energy_drift),
        "closure_error": plain(run.closure_error),
        "ended": run.ended or None,
        "events": [{"name": found.name, "t": float(found.t)} for found in run.events],
        "audit": {"ok": audit.ok, "lines": [plain(vars(line)) for line in audit]} if audit else None,
        "final": _final(run),
    }


def what_is_left(outcome: Outcome, outputs: Outputs) -> str:
    """Return what to say after the reason why a run stopped: how far it came, and where it is kept."""
    run = outcome.run
    if run is None:
        return "There is nothing to keep."
    kept = f"is in {', '.join(outputs.written)}" if outputs.written else "was not written: --out keeps it"
    return f"The motion up to t = {run.t[-1]:.6g} s {kept}."


def _check(option: str, file: Path | None, endings: Sequence[str]) -> None:
    if file is None or (os.path.exists(file) and not os.path.isfile(file)):
        # A device has no ending; what else it may be comes up when it is written.
        return
    if file.suffix.lower() not in endings:
        found = f"the ending {file.suffix!r} is not known" if file.suffix else "the name has no ending"
        raise UsageError(f"{option} {file}: {found}: name a file that ends in {', '.join(endings)}")


def _as_file_name(run: Trajectory) -> str:
    """Return the mechanism's name without what file names cannot have."""
    name = run.all_segments[0].system.mechanism.name
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)


def _final(run: Trajectory) -> Any:
    """Return the last state of a run, whatever its structure is by then."""
    last = run.segments[-1]
    return describe_state(last.system, last.q[-1], last.v[-1])


def _audit(run: Trajectory, console: Console) -> Audit | None:
    try:
        return run.audit()
    except CatenaError as error:
        console.warning(f"the run could not be audited: {error}")
        return None


def _parts(run: Trajectory) -> str:
    system = run.all_segments[0].system
    mechanism = system.mechanism
    bodies = sum(name != GROUND for name in mechanism.bodies)
    return ", ".join(
        (
            f"{mechanism.name}: {counted(bodies, 'body', 'bodies')}",
            counted(len(mechanism.joints), "joint"),
            counted(len(system.loops), "loop"),
        )
    )


def _motion(outcome: Outcome, run: Trajectory) -> str:
    scenario = outcome.task.scenario
    whole = f" of {scenario.duration:g} s" if run.t[-1] < scenario.start + scenario.duration else ""
    steps = f"{counted(run.steps, 'step')} of {scenario.integrator}"
    return f"{run.t[-1]:g} s{whole} in {steps}, {counted(len(run.t), 'sample')} kept"


def _speed(outcome: Outcome, run: Trajectory) -> float:
    """Return seconds of motion for each second of computing."""
    return float(run.t[-1]) / max(outcome.wall_time, 1e-9)
