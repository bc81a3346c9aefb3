"""How many processor cores this process may use, which is often fewer than the machine has: a batch system pins
processes to some of them, and a container is given a quota of their time. Threads beyond that only get in each other's
way.
"""

import contextlib
import math
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def available_cores() -> int:
    """Return the number of cores that this process may keep busy at once: those it may run on, at most as many as its
    quota of time is worth. It is looked up once in a process; one that was forked looks anew."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = quota()
    # With a quota of one and a half cores, two threads get half as much again done as one.
    return cores if allowed is None else max(1, min(cores, math.ceil(allowed)))


def quota(root: Path = Path("/")) -> float | None:
    """Return how many cores' worth of time the control groups of Linux, version 1 or 2, leave this process; None where
    they set no limit. `root` is the folder that /proc and /sys are looked for in."""
    limits: list[float] = []
    # Files that are not there, or not as expected, limit nothing.
    with contextlib.suppress(OSError, ValueError, IndexError):
        for folder in _folders(root):
            for read in (_version_2, _version_1):
                with contextlib.suppress(OSError, ValueError):
                    limits += read(folder)
    return min(limits, default=None)


def _folders(root: Path) -> Iterator[Path]:
    """Return the folders of the control groups that share out time and that this process is in, each followed by those
    around it."""
    groups: dict[str, str] = {}
    for line in (root / "proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        groups |= dict.fromkeys(controllers.split(","), group)
    for line in (root / "proc/self/mountinfo").read_text().splitlines():
        mounted, _, kind = line.partition(" - ")
        origin, place = mounted.split()[3:5]
        sort, _, options = kind.split()[:3]
        name = (
            "" if sort == "cgroup2" else "cpu" if sort == "cgroup" and "cpu" in options.split(",") else None
        )
        if name is None or name not in groups:
            continue
        top = root / place.lstrip("/")
        # A container may see a part of the tree only, and itself by names from outside of that part.
        inside = os.path.relpath(groups[name], origin)
        folder = top if inside.startswith("..") else top / inside
        yield folder
        while folder != top:
            folder = folder.parent
            yield folder


def _version_2(folder: Path) -> list[float]:
    time, period = (folder / "cpu.max").read_text().split()
    return [] if time == "max" else [int(time) / int(period)]


def _version_1(folder: Path) -> list[float]:
    time, period = (int((folder / f"cpu.cfs_{word}_us").read_text()) for word in ("quota", "period"))
    return [] if time < 0 else [time / period]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=available_cores.cache_clear)
