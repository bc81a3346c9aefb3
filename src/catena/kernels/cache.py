"""Compiled objects on disk, so that a second process compiles nothing.

An entry holds machine code and a description (JSON). Its key is a digest of everything the code depends on:
the sources of the algebra, of joints and forces, of the kernels and of all algorithms, the versions of CasADi, NumPy
and LLVM's binding, the processor and the number of lanes. The folder is `$CATENA_CACHE`, else the user's
cache folder; it is made for this user alone, and one that others can write is refused. A folder that cannot be
written, as one of the superuser's that an image ships, only costs time. What several processes need at once is made by
one of them.

Entries whose sources have changed are never asked for again, and control laws leave one for every text they had. So
those that nobody used for two months go, and of too many the ones not used for longest. Using an entry renews its
time. Several processes may do this at once; what one of them has removed already is not there for the other.
"""

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from catena import sources
from catena.kernels.machine_code.cpu import target
from catena.kernels.private_folder import PrivateFolder

# The rooms that every entry depends on.
ROOMS = ("spatial", "joints", "forces", "kernels", "kinematics", "dynamics", "simulation/stepping/methods")
# Entries that a process writes from one look at how many there are to the next. The first one looks.
EVICT_EVERY = 256
# Seconds that a process waits for another one that compiles the same.
PATIENCE = 120.0
_written = 0


def folder() -> Path | None:
    """Return where compiled objects are kept; None where there is no place for them, as for a user without a home."""
    chosen = os.environ.get("CATENA_CACHE")
    if chosen:
        return Path(os.path.abspath(chosen))
    import platformdirs

    try:
        path = platformdirs.user_cache_path("catena", appauthor=False)
    except RuntimeError:
        return None
    return path if path.is_absolute() else None


def digest_file(path: str) -> str:
    """Return the digest of one source file, as it is now."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@lru_cache(maxsize=1)
def _base() -> str:
    """Return what every entry depends on besides sources."""
    from importlib.metadata import PackageNotFoundError, version

    versions = []
    for name in ("catena-dynamics", "llvmlite", "casadi", "numpy"):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} unknown")
    machine = target()
    return "\n".join([*versions, machine.name, machine.features, str(machine.lanes)])


def key(*parts: str, rooms: tuple[str, ...] = ROOMS) -> str | None:
    """Return the name of the entry that depends on `parts` besides the sources of `rooms`, versions and processor; None
    where the sources have changed since they were loaded, so that nothing can be kept."""
    loaded = sources.digest(*rooms)
    if loaded is None:
        return None
    return hashlib.sha256("\0".join([loaded, _base(), *parts]).encode()).hexdigest()[:40]


def read(entry: str) -> tuple[bytes, dict[str, Any]] | None:
    """Return code and description of an entry; None if there is none, if it is damaged, or if somebody else could
    have put it there."""
    path = folder()
    opened = PrivateFolder.open(path) if path else None
    if opened is None:
        return None
    with opened as place:
        raw = place.read(f"{entry}.bin")
    if raw is None:
        return None
    checksum, size, rest = raw[:32], int.from_bytes(raw[32:40], "little"), raw[40:]
    if hashlib.sha256(rest).digest() != checksum:
        return None
    try:
        return rest[size:], json.loads(rest[:size])
    except ValueError:
        return None


@contextlib.contextmanager
def only_once(entry: str) -> Iterator[None]:
    """Let one process at a time make an entry, so that those that wait find it made. There are a few locks for all."""
    path = folder()
    opened = PrivateFolder.open(path, make=True) if path else None
    if opened is None:
        yield
        return
    with opened as place, place.locked(f"{entry[:2]}.lock", PATIENCE):
        yield


def write(entry: str, code: bytes, description: dict[str, Any]) -> None:
    """Write an entry, whole or not at all. Failure to write is not an error."""
    global _written
    path = folder()
    opened = PrivateFolder.open(path, make=True) if path else None
    if opened is None:
        return
    text = json.dumps(description).encode()
    rest = text + code
    raw = hashlib.sha256(rest).digest() + len(text).to_bytes(8, "little") + rest
    with opened as place:
        if _written % EVICT_EVERY == 0:
            evict(place)
        _written += 1
        place.write(f"{entry}.bin", f"{entry}.{os.urandom(8).hex()}.part", raw)


MOST, OLDEST = 16384, 60 * 86400.0
"""Entries that are kept, and seconds since an entry was used after which it goes."""
# Removed at once so many beyond the limit that there is nothing to do for a while.
_LEFT = 0.75
# A file that is being written is finished in seconds; one that is older was left by a process that came to an end.
_ABANDONED = 3600.0
_ENTRY = re.compile(r"[0-9a-f]{40}\.bin")
_UNFINISHED = re.compile(r"[0-9a-f]{40}\.[0-9a-f]{16}\.part")


def evict(folder: PrivateFolder) -> None:
    """Remove entries that are too old or too many, and what was never finished. Other files are left alone."""
    now = time.time()
    kept: list[tuple[float, str]] = []
    for name, status in folder.files():
        used = status.st_mtime
        if _UNFINISHED.fullmatch(name):
            if abs(now - used) > _ABANDONED:
                folder.remove(name)
        elif _ENTRY.fullmatch(name):
            if used > now + _ABANDONED:
                # A clock was wrong. From now on the entry ages like the others.
                folder.touch(name)
                used = now
            if now - used > OLDEST:
                folder.remove(name)
            else:
                kept.append((used, name))
    if len(kept) > MOST:
        kept.sort()
        for _, name in kept[: len(kept) - int(_LEFT * MOST)]:
            folder.remove(name)
