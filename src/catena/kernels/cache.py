"""Compiled objects on disk, so that a second process compiles nothing.

An entry holds machine code and a description (JSON). Its key is a digest of everything the code depends on:
the sources of the algebra, of joints and forces, of the kernels and of all algorithms, the versions of CasADi, NumPy
and LLVM's binding, the processor and the number of lanes. The folder is `$CATENA_CACHE`, else the user's
cache folder; it is made for this user alone, and one that others can write is refused. A folder that cannot be
written, as one of the superuser's that an image ships, only costs time. What several processes need at once is made by
one of them.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from catena import sources
from catena.kernels.eviction import evict
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
