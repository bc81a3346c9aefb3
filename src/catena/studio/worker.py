"""The process that computes runs, so that the studio stays awake and a run can be ended at any moment.

Orders and answers are lines of JSON: {"id", "text", "name", "folder"} comes in, {"id", "kind", ...} goes out, where the
kind is "part", "done" or "failed". It ends when nobody gives orders any more.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from catena.errors import CatenaError
from catena.simulation import Trajectory
from catena.studio.reading import scenario_of
from catena.view.movie import movie
from catena.view.player import page
from catena.view.player.payload import payload
from catena.view.points import traceable


def main() -> None:
    """Compute one run after the other."""
    # What libraries print is not to be taken for an answer.
    out, sys.stdout = sys.stdout, sys.stderr
    _say(out, {"kind": "ready"})
    for line in sys.stdin:
        order = json.loads(line)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                done = computed(order)
        except CatenaError as error:
            done = {"kind": "failed", "error": str(error)}
        except Exception as error:  # a fault of ours is told as well, and the next run is computed
            done = {"kind": "failed", "error": f"{type(error).__name__}: {error}"}
        _say(out, done | {"id": order["id"]})


def computed(order: dict[str, Any]) -> dict[str, Any]:
    """The run of an order: its movie for the player, and what is told of it."""
    folder = Path(order["folder"]) if order["folder"] else None
    scenario = scenario_of(order["text"], order["name"], folder)
    run = scenario.run(progress=False)
    known = {point.name for point in traceable(scenario.mechanism)}
    traces = [name for name in order.get("traces", []) if name in known]
    shown_movie = movie(run, traces=traces, progress=False)
    if order.get("what") == "page":
        return {"kind": "done", "page": page(shown_movie)}
    shown = payload(shown_movie)
    return {"kind": "done", "movie": shown, "told": told(run), "digest": _digest(run), "states": states(run)}


def told(run: Trajectory) -> dict[str, Any]:
    """What a run says in words: the verdict of its audit, and what changed on the way."""
    audit = run.audit()
    return {
        "accuracy": "fine" if audit.ok else "to be looked at",
        "audit": [{"level": line.level, "text": line.text} for line in audit],
        "changes": [
            {
                "t": float(change.t), "name": change.name, "energy_loss": float(change.energy_loss),
                "told": list(change.told), "impulses": impulses(change.impulse),
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


def impulses(found: Mapping[str, np.ndarray]) -> list[str]:
    """The impulses of a change in words, the largest first, without those that are nothing beside it."""
    sizes = {name: float(np.linalg.norm(x[..., -3:])) for name, x in found.items()}
    turns = {
        name: float(np.linalg.norm(x[..., :3])) if x.shape[-1] == 6 else 0.0 for name, x in found.items()
    }
    largest = max([*sizes.values(), *turns.values()], default=0.0)
    words = []
    for name in sorted(sizes, key=lambda one: -sizes[one]):
        parts = [(sizes[name], "N s"), (turns[name], "N m s")]
        shown = [f"{x:.3g} {unit}" for x, unit in parts if x > 1e-6 * largest]
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
