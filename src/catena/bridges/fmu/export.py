"""A mechanism as a Functional Mock-up Unit, FMI 2.0 or 3.0."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from io import BytesIO
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from numpy.typing import ArrayLike

from catena.bridges.fmu.c_text import equations_text, make_solver, numbers_text
from catena.bridges.fmu.description import FACES, build_description, description
from catena.bridges.fmu.model import make_model
from catena.equations.graph import identifier
from catena.errors import FormatError, StateError, warn
from catena.formats.complete import file_path, write_complete
from catena.mechanism import Mechanism
from catena.simulation.guards.events import Event
from catena.system import System
from catena.validation import is_one_of, is_positive, listed, shown

KINDS = ("co-simulation", "model-exchange")
SHARED = ("model.h", "closing.h", "stepping.h", "crossing.h", "slopes.h", "calls.h")
_LONGEST = 60


def export_fmu(
    system: System | Mechanism,
    path: str | PathLike[str],
    *,
    version: str = "2.0",
    kinds: Sequence[str] = KINDS,
    inputs: Iterable[str] | None = None,
    outputs: Iterable[str] | None = None,
    parameters: Iterable[str] = (),
    initial: ArrayLike | Mapping[str, ArrayLike] | None = None,
    velocity: ArrayLike | Mapping[str, ArrayLike] | None = None,
    events: Sequence[Event | Callable[..., Any]] | Event | Callable[..., Any] = (),
    integrator: str = "dopri5",
    step: float | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    stabilisation: float = 0.05,
    derivatives: bool = False,
    duration: float = 1.0,
    compiler: str | PathLike[str] | bool | None = None,
) -> Path:
    """Write a mechanism as a Functional Mock-up Unit and return its path: FMI `version` "2.0" or "3.0", of the `kinds`
    "co-simulation" and "model-exchange".

    The equations are those of `system.equations`, as C. Their sources are always inside, and a binary for this machine
    if a C compiler is found; `compiler` names one, and with False none is used. The same request gives the same bytes.

    `inputs` are joint forces ("elbow.tau", of tree and loop joints), prescribed motions ("elbow.motion", of tree
    joints: position, velocity and acceleration; what a joint is off its motion fades as gaps of loops do), wrenches on
    bodies and frames in their own axes ("tool.wrench", "tool.force", "tool.moment"), or any number of the mechanism
    ("servo.signal"); without them, the forces of all joints with actuators, or of all actuated joints of the tree.
    `outputs` are "elbow.q", "elbow.v", "elbow.a", "elbow.reaction" (what a joint of the tree passes to its child, in
    the joint frame there), of a joint whose motion is prescribed "elbow.tau", of frames and bodies "tool.position",
    "tool.rotation", "tool.velocity", "tool.angular_velocity", "tool.acceleration", "tool.angular_acceleration", in
    ground axes, of forces what `force_outputs` tells ("strut.length"), "kinetic_energy", "potential_energy", "energy"
    and "closure_error"; without them, positions and velocities of the tree's joints. `parameters` are names as
    `equations` takes them ("pole.mass", "gravity").

    The motion begins at `initial` and `velocity`, arrays or by joint, or where the mechanism does. Importers may set
    start values of all coordinates; loops are closed in the initialisation, with what was set held. `events` are
    formulas of (t, q, v) whose sign changes are counted, and end the motion where they are terminal.

    In co-simulation `integrator` takes the steps: "dopri5" by `rtol` (the importer's tolerance, if it gives one) and
    `atol`, or "rk4" with a `step`; loops are closed after each. In model exchange gaps of loops fade within
    `stabilisation` seconds, as `ct.Baumgarte` has it. With `derivatives` there are exact directional derivatives, in
    about three times as much code. `duration` is what importers run by default.
    """
    if isinstance(system, Mechanism):
        system = system.system()
    if not isinstance(system, System):
        raise StateError(f"{shown(system)} is no system; give m.system().")
    if not is_one_of(version, FACES):
        raise StateError(f"version is {shown(version)}; give '2.0' or '3.0'.")
    try:
        chosen = listed(kinds)
    except ValueError:
        chosen = ()
    if not chosen or not all(is_one_of(kind, KINDS) for kind in chosen):
        raise StateError(f"kinds are {shown(kinds)}; choose among {', '.join(map(repr, KINDS))}.")
    if not is_positive(duration):
        raise StateError(f"duration is {shown(duration)}; give a positive number of seconds.")
    place = file_path(path)
    if place.suffix.lower() != ".fmu":
        raise FormatError(
            f"{place}: importers know FMUs by their ending: give a file name that ends with .fmu"
        )
    command = find_compiler(compiler, str(place))
    solver = make_solver(integrator, step, rtol, atol, stabilisation)
    model = make_model(
        system,
        inputs,
        outputs,
        parameters,
        initial,
        velocity,
        events,
        bool(derivatives),
        1.0 / solver.stabilisation,
    )

    face = FACES[version]
    name = identifier(model.title)[:_LONGEST]

    def described(token: str) -> str:
        return description(version, model, name, token, chosen, float(duration), solver.rtol)

    own = resources.files("catena.bridges.fmu") / "sources"
    sources = {file: (own / file).read_text() for file in (*SHARED, face)}
    sources["equations.h"] = equations_text(model)
    whole = [described(""), numbers_text(model, solver, "", chosen), *(sources[n] for n in sorted(sources))]
    token = f"{{{UUID(bytes=hashlib.sha256(chr(0).join(whole).encode()).digest()[:16])}}}"
    sources["mechanism.h"] = numbers_text(model, solver, token, chosen)

    files = {f"sources/{file}": text.encode() for file, text in sources.items()}
    files["modelDescription.xml"] = described(token).encode()
    if version == "3.0":
        files["sources/buildDescription.xml"] = build_description(name).encode()
    if command is not None:
        folder, ending = binary_place(version)
        files[f"binaries/{folder}/{name}{ending}"] = compiled(command, sources, face, str(place))
    write_complete(place, packed(files))
    return place


# The earliest time that an archive can tell: when it was written is no part of a model.
EPOCH = (1980, 1, 1, 0, 0, 0)
_READABLE, _RUNNABLE = 0o100644 << 16, 0o100755 << 16


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return the archive of files by their paths in it."""
    archive = BytesIO()
    with ZipFile(archive, "w") as zipped:
        for path in sorted(files):
            entry = ZipInfo(path, EPOCH)
            entry.compress_type, entry.create_system = ZIP_DEFLATED, 3
            entry.external_attr = _RUNNABLE if path.startswith("binaries/") else _READABLE
            zipped.writestr(entry, files[path])
    return archive.getvalue()


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
