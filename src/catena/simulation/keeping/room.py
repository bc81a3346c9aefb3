"""Whether what a run is asked to keep fits into the memory, asked before it begins."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from catena.errors import StateError

# Arrays of the size of what is kept that exist at once: as recorded, in order, at samples, and in the result.
COPIES = 4
NUMBER = 8
LARGE = 1 << 28
"""What is smaller [bytes] fits anywhere."""
CGROUP = Path("/sys/fs/cgroup")


def require_room(states: int, samples: int, numbers: int) -> None:
    """Raise where so many states at so many samples of so many numbers each do not fit into the memory."""
    needed = COPIES * NUMBER * states * samples * numbers
    if needed < LARGE:
        return
    there = available()
    if there is not None and needed > there:
        raise StateError(
            f"{states} states at {samples} samples need about {_size(needed)} of memory, and {_size(there)} are "
            f"available. Keep less: keep='final', keep=['max(A)'] or signals by name, or fewer samples; or run the "
            f"states in several calls."
        )


def available() -> int | None:
    """Return how many bytes of memory this process may still take; None where nobody tells."""
    found = []
    with suppress(OSError, ValueError, IndexError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(line for line in lines if line.startswith("MemAvailable:"))
        found.append(int(free.split()[1]) * 1024)
    with suppress(OSError, ValueError):
        # In a container what the others use does not count, but its own limit does.
        limit = int((CGROUP / "memory.max").read_text(encoding="ascii"))
        found.append(limit - int((CGROUP / "memory.current").read_text(encoding="ascii")))
    if not found:
        with suppress(OSError, ValueError, AttributeError):
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"))
    return min(found) if found else None


def _size(count: float) -> str:
    return f"{count / 1e9:.3g} GB"
