"""How many threads share a batch. The compiled loop releases Python's lock, so plain threads are enough."""

import os

from catena.errors import KernelError
from catena.kernels.teams.cores import available_cores

_count: int | None = None


def threads() -> int:
    """Return the number of threads that a batch may be split over: what `set_threads` said, else $CATENA_THREADS, else
    one for each core that this process may use, and no more than $OMP_NUM_THREADS where that is set.

    No batch is split over more threads than there are cores to use (`available_cores`), whatever the number is: they
    would wait for each other.
    """
    global _count
    if _count is None:
        asked = os.environ.get("CATENA_THREADS", "")
        if asked and not asked.isdigit():
            raise KernelError(
                f"CATENA_THREADS is {asked!r}; set it to a positive whole number, or leave it unset."
            )
        set_threads(int(asked) if asked else min(available_cores(), _openmp()))
        assert _count is not None
    return _count


def set_threads(count: int) -> None:
    """Split batches over `count` threads from now on, or over as many as there are cores to use if these are fewer."""
    global _count
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise KernelError(f"A number of threads must be a positive whole number; found {count!r}.")
    _count = count


def useful_threads() -> int:
    """Return the number of threads that a large batch is split over."""
    asked = threads() if _count is None else _count
    cores = available_cores()
    return asked if asked < cores else cores


def _openmp() -> int:
    """Return the number of threads that $OMP_NUM_THREADS allows: the first of its list, which is that of the outermost
    level. What is no positive number allows any, as in other programs."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdigit() and int(first) > 0 else available_cores()
