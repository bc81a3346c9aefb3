"""Runs in a process of their own, which can be cancelled."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from catena.errors import StateError

PATIENCE = 0.4
"""Seconds that a run which is cancelled has to end by itself."""


class Runner:
    """Computes one run at a time in a process that is kept; a run that is cancelled takes its process with it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._turn = threading.Lock()
        self._count = 0
        self._cancelled = threading.Event()
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        """Whether a run is under way."""
        return self._turn.locked()

    def start(self) -> None:
        """Start the process, so that the first run does not wait for it."""
        if not self._is_closed and (self._process is None or self._process.poll() is not None):
            self._process = subprocess.Popen(
                [sys.executable, "-m", "catena.studio.worker"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
            )  # fmt: skip

    def run(
        self, text: str, name: str, folder: Path | None, traces: list[str], what: str = "movie",
        forces: Sequence[str] = (),
    ) -> Iterator[dict[str, Any]]:  # fmt: skip
        """The answers to an order, of which the last is done, failed or cancelled; what is done is the movie of a run,
        or a file of it by its ending, a film with the forces that are named."""
        with self._turn:
            self._cancelled.clear()
            self.start()
            process = self._process
            if process is None or process.stdin is None or process.stdout is None:
                yield {"kind": "failed", "error": "the studio is closed"}
                return
            self._count += 1
            order = {
                "id": self._count, "text": text, "name": name, "folder": str(folder or ""), "traces": traces,
                "what": what, "forces": list(forces),
            }  # fmt: skip
            try:
                process.stdin.write(json.dumps(order) + "\n")
                process.stdin.flush()
                for line in process.stdout:
                    answer = json.loads(line)
                    if answer.get("id") == self._count:
                        yield answer
                        if answer["kind"] in ("done", "failed"):
                            return
            except (BrokenPipeError, OSError, ValueError):
                pass
            words = (
                "the run was cancelled" if self._cancelled.is_set() else "the process of the run has ended"
            )
            self._process = None
            yield {"kind": "cancelled" if self._cancelled.is_set() else "failed", "error": words}
            self.start()

    def cancel(self) -> None:
        """End the run that is under way: behind its next step, so that what there is of it is kept, or with its process
        where that takes long."""
        process, number = self._process, self._count
        if not self._turn.locked() or process is None or process.stdin is None:
            raise StateError("no run is under way.")
        self._cancelled.set()
        with suppress(OSError, ValueError):
            process.stdin.write(json.dumps({"cancel": number}) + "\n")
            process.stdin.flush()
        threading.Timer(PATIENCE, self._end, (process, number)).start()

    def _end(self, process: subprocess.Popen[str], number: int) -> None:
        if self._turn.locked() and self._count == number and self._process is process:
            process.kill()

    def close(self) -> None:
        """End the process; no other one is started."""
        self._is_closed = True
        # Whoever waits for its answers forgets it when it ends.
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
