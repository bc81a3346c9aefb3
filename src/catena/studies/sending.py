"""How a job reaches other processes of this machine: as bytes, and without the script that started them.

A process that is spawned runs the script of the one that started it once more, under another name, because functions
of that script may be asked for. A study in a script of five lines would begin itself again. So functions of scripts are
sent whole, which cloudpickle does, and the processes begin without the script.
"""

from __future__ import annotations

import io
import multiprocessing.context
import pickle
import sys
import types
from multiprocessing.process import BaseProcess
from typing import Any

from catena.errors import StateError
from catena.studies.job import Job


def pickled(job: Job) -> tuple[bytes, bool]:
    """Return a job as bytes for other processes, and whether these have to run the script first: with cloudpickle,
    where it is installed, functions that no module holds are sent whole."""
    noted = _Noting(io.BytesIO(), protocol=pickle.HIGHEST_PROTOCOL)
    reason: Exception | None = None
    try:
        noted.dump(job)
        if not noted.of_script:
            return noted.stream.getvalue(), False
    except Exception as error:
        reason = error
    try:
        import cloudpickle
    except ImportError:
        if reason is None:
            return noted.stream.getvalue(), True
        raise StateError(
            f"This study cannot be sent to other processes ({reason}): say outcomes as formulas, 'max(A)', or as "
            f"functions in a module of their own; or install cloudpickle."
        ) from reason
    return cloudpickle.dumps(job), False


class _Noting(pickle.Pickler):
    """Notes whether something is asked for by its name in the script that runs."""

    def __init__(self, stream: io.BytesIO, protocol: int) -> None:
        super().__init__(stream, protocol)
        self.stream, self.of_script = stream, False

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type | types.FunctionType) and value.__module__ == "__main__":
            self.of_script = True
        return NotImplemented


class _WorkerProcess(multiprocessing.context.SpawnProcess):
    """A process that is spawned and finds an empty script."""

    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:
        script = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            return multiprocessing.context.SpawnProcess._Popen(process_obj)
        finally:
            sys.modules["__main__"] = script


class WithoutScript(multiprocessing.context.SpawnContext):
    """Starts processes by spawn that do not run the script which started them."""

    Process = _WorkerProcess
