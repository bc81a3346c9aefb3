"""Compiled objects on disk, so that a second process compiles nothing.

An entry holds machine code and a description (JSON). Its key is a digest of everything the code depends on:
the sources of the algebra, of joints and forces, of the kernels and of all algorithms, the versions of CasADi, NumPy
and LLVM's binding, the processor and the number of lanes. The folder is `$CATENA_CACHE`, else the user's
cache folder; a folder that cannot be written only costs time.
"""

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from catena.kernels.cpu import target

_SOURCES = ("spatial", "joints", "forces", "kernels", "kinematics", "dynamics", "simulation/steps")


def folder() -> Path:
    """Where compiled objects are kept."""
    chosen = os.environ.get("CATENA_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "catena"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home()))) / "catena" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))) / "catena"


@lru_cache(maxsize=256)
def digest_file(path: str) -> str:
    """The digest of one source file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@lru_cache(maxsize=1)
def _base() -> str:
    """The digest of what every entry depends on."""
    package = Path(__file__).resolve().parent.parent
    sources = [digest_file(str(p)) for room in _SOURCES for p in sorted((package / room).rglob("*.py"))]
    versions = []
    for name in ("llvmlite", "casadi", "numpy"):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} unknown")
    machine = target()
    return "\n".join([*sources, *versions, machine.name, machine.features, str(machine.lanes)])


def key(*parts: str) -> str:
    """The name of the entry that depends on `parts` besides the common sources, versions and processor."""
    return hashlib.sha256("\0".join([_base(), *parts]).encode()).hexdigest()[:40]


def read(entry: str) -> tuple[bytes, dict[str, Any]] | None:
    """Code and description of an entry; None if there is none or if it is damaged."""
    try:
        raw = (folder() / f"{entry}.bin").read_bytes()
        checksum, size, rest = raw[:32], int.from_bytes(raw[32:40], "little"), raw[40:]
        if hashlib.sha256(rest).digest() != checksum:
            return None
        return rest[size:], json.loads(rest[:size])
    except (OSError, ValueError):
        return None


def write(entry: str, code: bytes, description: dict[str, Any]) -> None:
    """Keep an entry. It appears whole or not at all; failure to write is not an error."""
    text = json.dumps(description).encode()
    rest = text + code
    raw = hashlib.sha256(rest).digest() + len(text).to_bytes(8, "little") + rest
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder())
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(raw)
            os.replace(name, folder() / f"{entry}.bin")
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name)
