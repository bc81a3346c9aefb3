"""Compiling the sources of an FMU for the machine that exports it, where there is a C compiler."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from catena.errors import FormatError, StateError, warn
from catena.validation import shown

CANDIDATES = ("cc", "gcc", "clang")
_MACHINES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
_SYSTEMS = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib"), "win32": ("windows", ".dll")}


def find_compiler(compiler: Any, what: str) -> list[str] | None:
    """Return the command of a compiler: the one that is named, or $CC, cc, gcc or clang. Where none is found, a warning
    says so about `what`; with False none is looked for."""
    if compiler is False:
        return None
    if compiler is None:
        named = shlex.split(os.environ.get("CC", ""))
        for command in ([named] if named else []) + [[name] for name in CANDIDATES]:
            found = shutil.which(command[0])
            if found:
                return [found, *command[1:]]
        warn(
            f"{what}: no C compiler was found ($CC, {', '.join(CANDIDATES)}), so it has sources and no binary. "
            f"Importers that compile take it as it is; for others install a compiler and export again."
        )
        return None
    if not isinstance(compiler, str | os.PathLike) or not shutil.which(compiler):
        raise StateError(
            f"compiler is {shown(compiler)}, which is no program here; give the name or the path of a C compiler, None "
            f"to look for one, or False for sources only."
        )
    return [str(shutil.which(compiler))]


def binary_place(version: str) -> tuple[str, str]:
    """Return the folder of binaries for this machine as a version of FMI calls it, and how their names end."""
    system, ending = _SYSTEMS.get(sys.platform, (sys.platform, ".so"))
    machine = platform.machine().lower()
    machine = _MACHINES.get(machine, machine)
    if version == "3.0":
        return f"{machine}-{system}", ending
    return f"{'win' if system == 'windows' else system}{64 if sys.maxsize > 2**32 else 32}", ending


def compiled(command: list[str], sources: Mapping[str, str], face: str, what: str) -> bytes:
    """Return the library that a compiler makes of sources, of which `face` is the file to compile."""
    with TemporaryDirectory(prefix="catena_") as folder:
        for name, text in sources.items():
            (Path(folder) / name).write_text(text)
        # Names without folders, so that nothing of this machine is in what comes out.
        options = ["-std=c99", "-O1", "-ffp-contract=off", "-shared", "-o", "model.bin", face]
        options = options if sys.platform == "win32" else ["-fPIC", "-fvisibility=hidden", *options, "-lm"]
        try:
            run = subprocess.run(
                [*command, *options],
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        except OSError as error:
            raise FormatError(
                f"{what}: the compiler {command[0]!r} cannot be run: {error.strerror}"
            ) from error
        binary = Path(folder) / "model.bin"
        if run.returncode or not binary.is_file():
            said = "\n".join((run.stderr or run.stdout).splitlines()[:12])
            raise FormatError(
                f"{what}: the compiler {command[0]!r} failed ({run.returncode}); give another one, or compiler=False "
                f"for sources only. It says:\n{said}"
            )
        return binary.read_bytes()
