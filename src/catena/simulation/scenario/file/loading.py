"""From a file to a scenario: the mechanism that it describes, and the tables of its run."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from catena.errors import CatenaError, CatenaWarning, FormatError
from catena.formats.files import PathLike, load, open_beside, read_text
from catena.formats.findings import Finding, Severity
from catena.formats.kinds import Kinds
from catena.formats.source import Source
from catena.formats.toml import read
from catena.formats.toml.reading import open_document
from catena.formats.toml.schema import RUN_MANY, RUN_ONCE
from catena.formats.toml.tables import FileTable
from catena.mechanism import Mechanism
from catena.mechanism.parts import Origin
from catena.simulation.scenario.file.reading import RunTables
from catena.simulation.scenario.scenario import Scenario


def load_scenario(
    path: PathLike,
    parameters: Mapping[str, float | str] | None = None,
    search: PathLike | Iterable[PathLike] = (),
    kinds: Iterable[type | str] = (),
) -> Scenario:
    """Return the scenario of a file; a file without the tables of a run says a mechanism alone."""
    mechanism = load(path, parameters=parameters, search=search, kinds=kinds)
    origin = mechanism.origin
    return Scenario(mechanism) if origin is None else read_scenario(mechanism, origin)


def read_with(origin: Origin, parameters: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a text that was read before, with other values of its parameters."""
    changed = replace(origin, given={**origin.given, **parameters})
    return read_scenario(read(changed.text, source_of(changed)), changed)


def read_scenario(mechanism: Mechanism, origin: Origin) -> Scenario:
    """Return the scenario of a text whose mechanism is known."""
    top = open_document(origin.text, source_of(origin))
    arguments = RunTables(top, mechanism).arguments()
    if "initial" in top and not arguments.pop("assemble"):
        arguments |= _as_given(mechanism, top, arguments.get("plan", {}))
    try:
        scenario = Scenario(mechanism, **arguments)
    except CatenaError as error:
        raise FormatError(f"{origin.name}: {error}") from error
    return scenario.from_file(
        replace(origin, parameters=dict(top.document.parameters)), top.content.get("run", ())
    )


def source_of(origin: Origin) -> Source:
    """Return what a text may reach."""
    source = Source(origin.name, origin.folder, origin.search, origin.kinds or Kinds(), open_file=open_beside)
    return replace(source, parameters=origin.given)


def _as_given(mechanism: Mechanism, top: FileTable, plan: Mapping[str, Any]) -> dict[str, Any]:
    """The positions and velocities of [initial] as rows of all coordinates."""
    table = top.inner("initial", "initial")
    with table.at_fault("assemble"):
        system = mechanism.system(**plan)
    sides = (("initial", "q", system.nq, system.slice_q), ("velocity", "v", system.nv, system.slice_v))
    found = {}
    for name, what, size, where in sides:
        initial, row = getattr(mechanism.initial, what), np.zeros(size)
        for joint in system.joints:
            if joint not in initial:
                table.fail(
                    f"assemble is false, and {what} has no joint {joint!r}: give all that carry coordinates"
                )
            row[where(joint)] = initial[joint]
        found[name] = row
    return found


def examine_scenario(path: PathLike, **options: Any) -> list[Finding]:
    """Return what is wrong with the tables of a run in a file whose mechanism can be read; the options are those of
    `Scenario.load`."""
    name = os.fspath(path)
    if Path(name).suffix.lower() != ".toml":
        return []
    try:
        top = open_document(read_text(Path(name), Source(name)), Source(name))
        if not any(word in top for word in (*RUN_ONCE, *RUN_MANY, "wrench")):
            return []
        with warnings.catch_warnings():
            # What looks wrong in the mechanism is told by those who check it.
            warnings.simplefilter("ignore", CatenaWarning)
            _ = load_scenario(path, **options).state
    except CatenaError as error:
        where, _, rest = str(error).partition(": ")
        if not where.startswith(name):
            where, rest = name, str(error)
        return [Finding(Severity.ERROR, where, "", rest, "run")]
    return []
