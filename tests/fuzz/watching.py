"""Cases of a fuzzer in processes of their own, so that one that is endless or deadly ends nothing else.

A fuzzer is a module with a function `check(seed)` that returns what is wrong, a list of sentences. A case may take
`LIMIT` seconds of processor time, which a busy machine does not change; a case that had code to compile, as the first
ones with an empty cache have, gets its time anew. A process that says nothing for much longer than that, because it
waits or hangs in compiled code, is ended from outside.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import catena as ct

LIMIT = 30.0
SILENT = 20.0 * LIMIT
MEMORY = 6 << 30
ATTEMPTS = 4
ROOT = Path(__file__).parents[2]


class TooSlow(BaseException):
    """A case has had its time. Not an Exception, so that nothing takes it for an error of the case."""


def faults(name: str, seeds: Iterable[int], processes: int = 1) -> list[str]:
    """What is wrong with the cases of the fuzzer tests.fuzz.<name>, each with the command that repeats it."""
    waiting = list(seeds)[::-1]
    found: list[tuple[int, str]] = []
    lock = threading.Lock()

    def feed() -> None:
        worker = _Worker(name)
        try:
            while True:
                with lock:
                    if not waiting:
                        return
                    seed = waiting.pop()
                wrong = worker.ask(seed)
                with lock:
                    found.extend((seed, sentence) for sentence in wrong)
        finally:
            worker.end()

    threads = [threading.Thread(target=feed) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    short = name.removeprefix("test_")
    return [f"python -m tests.fuzz {short} {seed}: {sentence}" for seed, sentence in sorted(found)]


class _Worker:
    """A process that checks one case after the other, and is replaced when it does not answer.

    It works in a folder of its own: some calls write files under names that are bad, or that nobody gave.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.process: subprocess.Popen[str] | None = None
        self.folder = tempfile.TemporaryDirectory(prefix="catena_fuzz_")

    def ask(self, seed: int) -> list[str]:
        if self.process is None:
            self.process = self._start()
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        timer = threading.Timer(SILENT, process.kill)
        timer.start()
        try:
            process.stdin.write(f"{seed}\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        finally:
            timer.cancel()
        if answer:
            return list(json.loads(answer))
        self._stop()
        ended = process.returncode
        how = f"said nothing for {SILENT:g} s" if ended == -signal.SIGKILL else f"ended with {ended}"
        return [f"the process {how}"]

    def _start(self) -> subprocess.Popen[str]:
        given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        paths = [str(ROOT), *(str(Path(path).absolute()) for path in given if path)]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            # Threads that look for work would be counted as work of the case.
            "CATENA_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg",
        }  # fmt: skip
        return subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.watching", self.name], cwd=self.folder.name, env=environment,
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def end(self) -> None:
        """End the process, and take its folder away."""
        self._stop()
        self.folder.cleanup()

    def _stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def limited(check: Callable[[int], list[str]], seed: int) -> list[str]:
    """What a check finds within the time it has, which does not count while there is code to compile."""
    for _ in range(ATTEMPTS):
        compiled = ct.compilations()
        found = _limited(check, seed)
        if found is not None:
            return found
        if ct.compilations() == compiled:
            break
    return [f"{getattr(check, 'doing', '')} takes more than {LIMIT:g} s"]


def _limited(check: Callable[[int], list[str]], seed: int) -> list[str] | None:
    """What a check finds, or None if it takes too long."""
    armed, fired = [True], []

    def stop(*_: Any) -> None:
        if armed:
            fired.append(True)
            raise TooSlow

    signal.signal(signal.SIGPROF, stop)
    # Once more and again, should the first be caught where exceptions are swallowed.
    signal.setitimer(signal.ITIMER_PROF, LIMIT, 1.0)
    try:
        try:
            return check(seed)
        except Exception as error:
            if fired:
                # Bindings make other errors of what they do not know.
                return None
            return [f"{getattr(check, 'doing', '')} ends in a bare {type(error).__name__}: {error}"]
        finally:
            armed.clear()
    except TooSlow:
        armed.clear()
        return None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def serve(name: str) -> None:
    """Check the cases whose seeds come in, line by line."""
    answers = os.fdopen(os.dup(1), "w")
    # Whatever a case prints goes nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    check = import_module(f"tests.fuzz.{name}").check
    for line in sys.stdin:
        answers.write(json.dumps(limited(check, int(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
