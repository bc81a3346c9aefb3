"""The process that computes runs, so that the studio stays awake and a run can be ended at any moment.

Orders and answers are lines of JSON: {"id", "text", "name", "folder"} comes in, {"id", "kind", ...} goes out, where the
kind is "part", "done" or "failed". It ends when nobody gives orders any more.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from catena.errors import CatenaError
from catena.simulation import Trajectory
from catena.studio.reading import scenario_of
from catena.view.movie import movie
from catena.view.player.payload import payload


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
        _say(out, done | {"id": order["id"]})


def computed(order: dict[str, Any]) -> dict[str, Any]:
    """The run of an order: its movie for the player, and what is told of it."""
    folder = Path(order["folder"]) if order["folder"] else None
    scenario = scenario_of(order["text"], order["name"], folder)
    run = scenario.run(progress=False)
    traces = [name for name in order.get("traces", []) if run.has(name)] or None
    shown = payload(movie(run, traces=traces or (), progress=False))
    return {"kind": "done", "movie": shown, "told": told(run), "digest": _digest(run)}


def told(run: Trajectory) -> dict[str, Any]:
    """What a run says in words: the verdict of its audit, and what changed on the way."""
    audit = run.audit()
    return {
        "accuracy": "fine" if audit.ok else "to be looked at",
        "audit": [{"level": line.level, "text": line.text} for line in audit],
        "changes": [
            {
                "t": float(change.t), "name": change.name, "energy_loss": float(change.energy_loss),
                "told": list(change.told),
            }
            for change in run.transitions
        ],
    }  # fmt: skip


def _digest(run: Trajectory) -> list[float]:
    last = run.segments[-1]
    return [float(x) for x in np.asarray(last.q)[-1]]


def _say(out: TextIO, words: dict[str, Any]) -> None:
    out.write(json.dumps(words, allow_nan=False, separators=(",", ":")) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
