"""Who computes the chunks of a study: this process, others on this machine, or whoever takes tasks by `submit`.

There is no scheduler here. Executors of `concurrent.futures`, of `mpi4py.futures` and of submitit, and clients of Dask,
have `submit`, which gives something with `done` and `result`; Ray has `remote`, `wait` and `get`.

A job reaches other processes of this machine as bytes, and without the script that started them. A process that is
spawned runs that script once more, under another name, because functions of it may be asked for: a study in a script of
five lines would begin itself again. So functions of scripts are sent whole, which cloudpickle does, and the processes
begin without the script.
"""

from __future__ import annotations

import io
import multiprocessing
import multiprocessing.context
import os
import pickle
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np

from catena.errors import SimulationError, StateError
from catena.kernels import set_threads
from catena.studies.job import Job, VariantOutcomes
from catena.validation import shown


def pickled(job: Job) -> tuple[bytes, bool]:
    """Return a job as bytes for other processes, and whether these have to run the script first: with cloudpickle,
    where it is installed, functions that no module holds are sent whole."""
    noted = _ScriptFinder(io.BytesIO(), protocol=pickle.HIGHEST_PROTOCOL)
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


class _ScriptFinder(pickle.Pickler):
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


Task = tuple[int, dict[str, np.ndarray]]
"""The number of a chunk, and the values of its variants."""
# Chunks that wait with each worker, so that none has to.
AHEAD = 2
# Seconds between looks at tasks that do not tell when they are done.
LOOK = 0.005
# How often lost workers are replaced.
TRIES = 5

_known: dict[bytes, Job] = {}
"""The jobs that this worker has been told, the last one only."""


def compute(told: bytes, values: dict[str, np.ndarray], alone: bool = True) -> VariantOutcomes:
    """Return what a job, as a pickle, tells of some variants; one that computes beside others takes one thread."""
    if told not in _known:
        _known.clear()
        _known[told] = pickle.loads(told)
    if alone:
        set_threads(1)
    return _known[told].run(values)


def computed(executor: Any, job: Job, tasks: Iterable[Task]) -> Iterator[tuple[int, VariantOutcomes]]:
    """Give what is told of chunks, in the order in which they are done."""
    if executor is None:
        for number, values in tasks:
            yield number, job.run(values)
        return
    told, needs_script = pickled(job)
    if isinstance(executor, int | np.integer) and not isinstance(executor, bool):
        if executor < 1:
            raise StateError(f"executor is {executor}; give a number of processes, 1 or more.")
        yield from _by_processes(int(executor), told, tasks, needs_script)
    elif callable(getattr(executor, "submit", None)):
        yield from _in_turns(executor.submit, _workers(executor), told, tasks, _wait)
    elif callable(getattr(executor, "remote", None)) and callable(getattr(executor, "get", None)):
        yield from _by_ray(executor, told, tasks)
    else:
        raise StateError(
            f"executor is {shown(executor)}; give a number of processes, an Executor of concurrent.futures, a client "
            "of Dask, an MPIPoolExecutor, an executor of submitit, or the module ray."
        )


def _by_processes(
    count: int, told: bytes, tasks: Iterable[Task], needs_script: bool
) -> Iterator[tuple[int, VariantOutcomes]]:
    """Compute by processes of this machine. Those that are killed are replaced, and what they had is done again."""
    left = list(tasks)
    began = len(left)
    for _ in range(TRIES):
        done: set[int] = set()
        with _pool(count, needs_script) as pool:
            try:
                for number, found in _in_turns(pool.submit, count, told, left, _wait):
                    done.add(number)
                    yield number, found
                return
            except BrokenProcessPool:
                left = [task for task in left if task[0] not in done]
        if needs_script and len(left) == began:
            break
    if needs_script and len(left) == began:
        raise SimulationError(
            "Processes of the study end before they compute: each of them runs the script that starts the study, to "
            "find its functions. Install cloudpickle, so that functions are sent to them; or begin the study below "
            "if __name__ == '__main__':, or let its functions be in a module of their own."
        )
    raise SimulationError(
        f"Processes of the study were lost {TRIES} times, by too little memory or by somebody who ended them. What "
        f"there is is kept in its store; study.resume() goes on."
    )


@contextmanager
def _pool(count: int, needs_script: bool) -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn") if needs_script else WithoutScript()
    pool = ProcessPoolExecutor(count, mp_context=context)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _in_turns(
    submit: Callable[..., Any], workers: int, told: bytes, tasks: Iterable[Task],
    wait: Callable[[list[Any]], None],
) -> Iterator[tuple[int, VariantOutcomes]]:  # fmt: skip
    """Hand out as many chunks as keep the workers busy, and give what comes back."""
    waiting: list[tuple[int, Any]] = []
    source = iter(tasks)
    exhausted = False
    try:
        while True:
            while not exhausted and len(waiting) < AHEAD * workers:
                task = next(source, None)
                if task is None:
                    exhausted = True
                    break
                waiting.append((task[0], submit(compute, told, task[1])))
            if not waiting:
                return
            wait([future for _, future in waiting])
            finished = [pair for pair in waiting if pair[1].done()]
            waiting = [pair for pair in waiting if pair not in finished]
            for number, future in finished:
                yield number, future.result()
    finally:
        for _, future in waiting:
            cancel = getattr(future, "cancel", None)
            if cancel is not None:
                cancel()


def _wait(futures: list[Any]) -> None:
    """Wait until one of the futures is done, whoever's they are."""
    while not any(future.done() for future in futures):
        time.sleep(LOOK)


def _workers(executor: Any) -> int:
    """Return how many workers an executor has, as far as it tells."""
    for name in ("_max_workers", "num_workers", "_num_workers"):
        found = getattr(executor, name, None)
        if isinstance(found, int) and found > 0:
            return found
    threads = getattr(executor, "nthreads", None)
    if callable(threads):
        return max(1, len(threads()))
    return max(2, os.cpu_count() or 1)


def _by_ray(ray: Any, told: bytes, tasks: Iterable[Task]) -> Iterator[tuple[int, VariantOutcomes]]:
    """Compute by tasks of Ray."""
    remote = ray.remote(compute)
    waiting: dict[Any, int] = {}
    source = iter(tasks)
    workers = int(ray.available_resources().get("CPU", 2)) if hasattr(ray, "available_resources") else 2
    while True:
        while len(waiting) < AHEAD * max(1, workers):
            task = next(source, None)
            if task is None:
                break
            waiting[remote.remote(told, task[1])] = task[0]
        if not waiting:
            return
        ready, _ = ray.wait(list(waiting), num_returns=1)
        for one in ready:
            yield waiting.pop(one), ray.get(one)
