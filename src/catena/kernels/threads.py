"""How many threads share a batch. The compiled loop releases Python's lock, so plain threads are enough."""

import os

from catena.errors import KernelError

_count: int | None = None


def threads() -> int:
    """Return the number of threads that a batch is split over: what `set_threads` said, else $CATENA_THREADS, else
    one for each core."""
    global _count
    if _count is None:
        asked = os.environ.get("CATENA_THREADS", "")
        if asked and not asked.isdigit():
            raise KernelError(
                f"CATENA_THREADS is {asked!r}; set it to a positive whole number, or leave it unset."
            )
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        set_threads(int(asked) if asked else cores)
        assert _count is not None
    return _count


def set_threads(count: int) -> None:
    """Split batches over `count` threads from now on."""
    global _count
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise KernelError(f"A number of threads must be a positive whole number; found {count!r}.")
    _count = count
