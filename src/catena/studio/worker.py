"""The process that computes runs, so that the studio stays awake and a run can be ended at any moment.

Orders and answers are lines of JSON: {"id", "text", "name", "folder", "traces", "what", "forces"} comes in, {"id",
"kind"} and more goes out, where the kind is "progress", "part", "done" or "failed". {"cancel": id} ends the run of an
order behind its next step, and what there is of it is done. The process ends when nobody gives orders any more.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

import numpy as np

from catena.errors import CatenaError, StateError
from catena.simulation import Trajectory
from catena.simulation.scenario import Scenario
from catena.simulation.scenario.changes import change_list
from catena.simulation.scenario.stream import Stream
from catena.studies import study
from catena.studies.file import study_arguments
from catena.studio.reading import scenario_of
from catena.view.course import Course
from catena.view.movie import Movie, movie
from catena.view.player.payload import payload
from catena.view.points import traceable

FILMS = (".mp4", ".gif", ".webp")
ENDINGS = (".html", *FILMS, ".csv", ".nc")
"""The files that a run is given as."""
STUDY_ENDINGS = (".html", ".csv")
"""The files that a study is given as."""
MOST = 100_000
"""Variants that a page can show."""
FILM = (960, 720)
"""Pixels of a film."""
NOTHING = 1e-6
"""Impulses below this part of the momentum that the mechanism had, and losses below this part of its energy, are not
told."""
EVERY = 0.1
"""Seconds on the clock between looks at a run that is under way."""
FIRST = 0.6
"""Seconds after which a run is shown that is not done by then; each further wait is as long as all so far, so that
showing takes a part of the time only."""

FIRST_RUN = """format = 1
[mechanism]
name = "first"
gravity = [0.0, 0.0, 0.0]
[linkage.fixed]
A = [0.0, 0.0]
D = [1.0, 0.0]
[linkage.bars]
A-B = 0.4
B-C = 0.984886
C-D = 0.806226
[linkage.sketch]
B = [0.0, 0.4]
C = [0.9, 0.8]
[[drive]]
joint = "A"
position = "60 rpm * t"
[run]
duration = 0.02
samples = 3
rtol = 1e-8
atol = 1e-10
"""
"""What is run while somebody still draws, so that on a new computer the first run does not wait for a compiler."""


class Desk:
    """Takes orders in a thread of its own, so that one that cancels is heard while a run is computed."""

    def __init__(self) -> None:
        self.orders: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._stream: Stream | None = None
        self._id = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in sys.stdin:
            order = json.loads(line)
            if "cancel" not in order:
                self.orders.put(order)
            elif self._stream is not None and order["cancel"] == self._id:
                self._stream.cancel()
        self.orders.put(None)

    def streamed(self, scenario: Scenario, order: Mapping[str, Any]) -> Stream:
        """Return the stream of the run of an order, which can be cancelled from now on."""
        stream = scenario.stream(every=EVERY, check=False)
        self._id, self._stream = order["id"], stream
        return stream


def main() -> None:
    """Compute one run after the other."""
    # What libraries print is not to be taken for an answer.
    out, sys.stdout = sys.stdout, sys.stderr
    desk = Desk()
    _say(out, {"kind": "ready"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        computed(
            {"id": 0, "text": FIRST_RUN, "name": "first.toml", "folder": ""}, desk.streamed, lambda part: None
        )
    while (order := desk.orders.get()) is not None:
        number = {"id": order["id"]}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                done = computed(order, desk.streamed, lambda part: _say(out, part | number))  # noqa: B023
        except CatenaError as error:
            done = {"kind": "failed", "error": str(error)}
        except Exception as error:  # a fault of ours is told as well, and the next run is computed
            done = {"kind": "failed", "error": f"{type(error).__name__}: {error}"}
        _say(out, done | number)


def computed(
    order: Mapping[str, Any],
    streamed: Callable[[Scenario, Mapping[str, Any]], Stream],
    show: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """Return the run of an order: its movie for the player, and what is told of it. What takes long is shown on the
    way."""
    folder = Path(order["folder"]) if order["folder"] else None
    scenario = scenario_of(order["text"], order["name"], folder)
    what = order.get("what", "movie")
    if what.startswith("study"):
        return studied(scenario, what.removeprefix("study"), show)
    known = {point.name for point in traceable(scenario.mechanism)}
    traces = [name for name in order.get("traces", []) if name in known]

    def seen(run: Trajectory | Course) -> Movie:
        made = movie(run, traces=traces, progress=False)
        return replace(made, events=tuple((t, change_words(scenario, t) or name) for t, name in made.events))

    start, parts, shown_after = time.monotonic(), [], FIRST
    stream = streamed(scenario, order)
    for part in stream:
        parts.append(part)
        gone = time.monotonic() - start
        show({"kind": "progress", "share": share_done(scenario, float(part.t[-1]))})
        if gone > shown_after and what == "movie" and (course := so_far(parts)) is not None:
            show({"kind": "part", "movie": payload(seen(course)), "t": float(part.t[-1])})
            shown_after = 2.0 * (time.monotonic() - start)
    run = stream.run
    if what != "movie":
        return {"kind": "done", "content": file_of(run, what, traces, order.get("forces", []))}
    return {
        "kind": "done", "movie": payload(seen(run)), "told": told(run, scenario), "digest": _digest(run),
        "states": states(run),
        "until": float(run.t[-1]), "is_whole": bool(run.t[-1] >= scenario.start + scenario.duration * (1.0 - 1e-9)),
    }  # fmt: skip


def studied(scenario: Scenario, ending: str, show: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Return the study that the text of a scenario says: the numbers of its variants and what was found, or a file of
    it."""
    asked = study_arguments(scenario)
    if not asked:
        raise StateError("the text has no study: choose what is varied.")
    asked["keep"] = asked.get("keep")

    def tell(far: Mapping[str, Any]) -> None:
        show({"kind": "progress", "share": far["done"] / max(1, far["total"])})

    done = study(scenario, **asked, progress=tell)
    if len(done) > MOST:
        raise StateError(f"{len(done)} variants are more than a page shows; run catena study on the file.")
    if ending:
        return {"kind": "done", "content": _encoded(ending, done.report if ending == ".html" else done.save)}
    outcomes = list(asked.get("outcomes", {}))
    columns = {
        name: np.asarray(done[name], dtype=np.float64).tolist() for name in (*asked["vary"], *outcomes)
    }
    return {
        "kind": "done", "is_whole": True,
        "study": {
            "varied": list(asked["vary"]), "outcomes": outcomes, "failed": list(done.failed.items())[:20],
            "columns": {name: [x if np.isfinite(x) else None for x in row] for name, row in columns.items()},
        },
    }  # fmt: skip


def _encoded(ending: str, write: Callable[[Path], None]) -> str:
    """Return what is written to a file, as text that JSON can hold."""
    with tempfile.TemporaryDirectory(prefix="catena_") as folder:
        file = Path(folder) / f"run{ending}"
        write(file)
        return base64.b64encode(file.read_bytes()).decode()


def share_done(scenario: Scenario, t: float) -> float:
    """Return which part of the duration of a run is over at a time."""
    return min(1.0, max(0.0, (t - scenario.start) / scenario.duration)) if scenario.duration else 1.0


def file_of(run: Trajectory, ending: str, traces: list[str], forces: list[str]) -> str:
    """Return a run as the content of a file, by its ending."""
    if ending == ".html":
        return _encoded(ending, lambda file: run.save_html(file, traces=traces))
    if ending in FILMS:
        return _encoded(
            ending, lambda file: run.save_video(file, size=FILM, traces=traces, forces=forces, progress=False)
        )
    return _encoded(ending, lambda file: run.save(file, **({"units": True} if ending == ".csv" else {})))


def so_far(parts: Sequence[Trajectory]) -> Course | None:
    """Return the configurations of the parts of a run that have the structure of the last one; None of a single one."""
    segments = [segment for part in parts for segment in part.segments]
    system = segments[-1].system
    own = [segment for segment in segments if segment.system is system and segment.q.ndim == 2]
    t = np.concatenate([segment.t for segment in own]) if own else np.zeros(0)
    new = np.flatnonzero(np.diff(t, prepend=-np.inf) > 0.0)
    return (
        Course(system, np.concatenate([segment.q for segment in own])[new], t[new]) if len(new) > 1 else None
    )


def change_words(scenario: Scenario, t: float) -> str:
    """Return what the scenario changes at a time, in words such as "lock D"; empty where it changes nothing then."""
    return "; ".join(
        f"{action} {', '.join(getattr(change, action))}"
        for change in change_list(scenario.changes)
        if change.at is not None and abs(change.at - t) <= 1e-9 * max(1.0, abs(t))
        for action in ("lock", "unlock", "detach")
        if getattr(change, action)
    )


def told(run: Trajectory, scenario: Scenario) -> dict[str, Any]:
    """Return what a run says in words: the verdict of its audit, and what changed on the way."""
    audit = run.audit()
    mass = sum(body.mass for body in scenario.mechanism.bodies.values())
    energy = max(
        (float(np.max(segment.kinetic_energy, initial=0.0)) for segment in run.segments), default=0.0
    )
    # A foot that begins to stick or to slip is struck by rounding only.
    least = NOTHING * float(np.sqrt(2.0 * energy * mass))
    return {
        "accuracy": "fine" if audit.ok else "to be looked at",
        "audit": [{"level": line.level, "text": line.text} for line in audit],
        "changes": [
            {
                "t": float(change.t), "name": change_words(scenario, float(change.t)) or change.name,
                "energy_loss": float(change.energy_loss) if change.energy_loss > NOTHING * energy else 0.0,
                "told": list(change.told), "impulses": impulses(change.impulse, least),
            }
            for change in run.transitions
        ],
    }  # fmt: skip


def states(run: Trajectory) -> dict[str, Any] | None:
    """Times and states of a run of one structure, at a hundred samples or so, to go on from; None of any other."""
    if len(run.segments) != 1:
        return None
    every = max(1, len(run.t) // 120)
    return {name: np.asarray(getattr(run, name))[::every].tolist() for name in ("t", "q", "v")}


def impulses(found: Mapping[str, np.ndarray], least: float) -> list[str]:
    """Return the impulses of a change in words, the largest first, without those that are nothing beside it or below
    the `least` that is told."""
    sizes = {name: float(np.linalg.norm(x[..., -3:])) for name, x in found.items()}
    turns = {
        name: float(np.linalg.norm(x[..., :3])) if x.shape[-1] == 6 else 0.0 for name, x in found.items()
    }
    largest = max([*sizes.values(), *turns.values()], default=0.0)
    words = []
    for name in sorted(sizes, key=lambda one: -sizes[one]):
        parts = [(sizes[name], "N s"), (turns[name], "N m s")]
        shown = [f"{x:.3g} {unit}" for x, unit in parts if x > max(least, NOTHING * largest)]
        words += [f"{name} is struck with {' and '.join(shown)}"] if shown else []
    return words[:6]


def _digest(run: Trajectory) -> list[float]:
    last = run.segments[-1]
    return [float(x) for x in np.asarray(last.q)[-1]]


def _say(out: TextIO, words: dict[str, Any]) -> None:
    out.write(json.dumps(words, allow_nan=False, separators=(",", ":")) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
