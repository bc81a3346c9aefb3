"""The text of a scenario that is saved: its mechanism, its parameters, and the tables of its run.

The text of the mechanism is that of the file which is there, or which it comes from, changed where the mechanism
differs. The tables of a run stay as they are written where they say the same run; else they are written anew behind the
rest. Whatever is made of a text that was there is read first, and has to say the very same scenario.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from catena.errors import CatenaError, FormatError
from catena.formats.complete import file_path, own_name, write_complete
from catena.formats.files import FORMATS
from catena.formats.kinds import Kinds
from catena.formats.source import Source
from catena.formats.toml import read, write
from catena.formats.toml.lines import Lines
from catena.formats.toml.reading import is_of_run, open_document, part_tables
from catena.formats.toml.schema import RUN_MANY, RUN_ONCE
from catena.mechanism import Mechanism
from catena.mechanism.origin import Origin
from catena.simulation.scenario.file.loading import read_scenario, source_of
from catena.simulation.scenario.file.values import table_text
from catena.simulation.scenario.file.writing import refuse, run_tables
from catena.simulation.scenario.scenario import Scenario
from catena.validation import is_one_of, shown

FUNCTIONS = ("refuse", "leave out")


def save_scenario(scenario: Scenario, path: str | os.PathLike[str], functions: str = "refuse") -> None:
    """Write a scenario to a .toml file, which appears complete or not at all."""
    file = file_path(path)
    if file.suffix.lower() != ".toml":
        raise FormatError(f"{file}: a scenario is written to a .toml file: name one")
    if not is_one_of(functions, FUNCTIONS):
        raise FormatError(
            f"{file}: functions is {shown(functions)}: give {' or '.join(map(repr, FUNCTIONS))}"
        )
    leave_out = refuse(str(file)) if functions == "refuse" else lambda place, value: None
    tables = run_tables(scenario, leave_out)
    mechanism = _with_start(scenario, file)
    to_file = FORMATS[".toml"].write
    assert to_file is not None
    texts = to_file(mechanism, file)
    anew = "\n".join([write(mechanism, str(file), file.absolute().parent), *_beside_run(scenario), *tables])
    # Matrices of flexible bodies lie in files of their own, which are not there yet.
    texts[""] = next(_like(texts[""], scenario, file, anew, tables), anew) if len(texts) == 1 else anew
    for ending, text in texts.items():
        write_complete(own_name(file.with_suffix(ending)) if ending else file, text.encode("utf-8"))


def _with_start(scenario: Scenario, file: Path) -> Mechanism:
    """The mechanism of a scenario, which begins where the scenario does."""
    rows = {}
    for what, given in (("q", scenario.initial), ("v", scenario.velocity)):
        if isinstance(given, np.ndarray):
            rows[what] = given
    if not rows:
        return scenario.mechanism
    q, v = scenario.state
    if q.ndim > 1 or v.ndim > 1:
        raise FormatError(f"{file}: the scenario has a batch of initial states: a file says one of them")
    system, mechanism = scenario.system, scenario.mechanism.copy()
    mechanism.set_initial(
        q={joint: q[system.slice_q(joint)] for joint in system.joints},
        v={joint: v[system.slice_v(joint)] for joint in system.joints},
    )
    return mechanism


def _beside_run(scenario: Scenario) -> Iterator[str]:
    """The named numbers, and that positions stand as they are."""
    named = {name: x for name, x in scenario.parameters.items() if "." not in name}
    if named:
        yield table_text("[parameters]", named)
    if any(isinstance(given, np.ndarray) for given in (scenario.initial, scenario.velocity)):
        yield table_text("[initial]", {"assemble": False})


def _like(base: str, scenario: Scenario, file: Path, anew: str, tables: list[str]) -> Iterator[str]:
    """Texts that say the same as one that is written anew, and keep what a base has."""
    wanted = _meaning(anew, scenario, file)
    for text in (base, *_with_tables(base, scenario, file, tables)):
        try:
            if _meaning(text, scenario, file) == wanted:
                yield text
        except CatenaError:
            # A text that cannot be read is none to build on.
            continue


def _meaning(text: str, scenario: Scenario, file: Path) -> Scenario:
    """The scenario that a text says if it lies at a path, where it may use the kinds that a mechanism has."""
    mechanism = scenario.mechanism
    kinds = {type(part.kind) for parts in (mechanism.joints, mechanism.forces) for part in parts.values()}
    search = scenario.origin.search if scenario.origin is not None else ()
    origin = Origin(text, str(file), {}, {}, file.absolute().parent, search, Kinds(kinds))
    return read_scenario(read(text, source_of(origin)), origin)


def _with_tables(base: str, scenario: Scenario, file: Path, tables: list[str]) -> Iterator[str]:
    """A text with other tables of the run."""
    try:
        top = open_document(base, Source(str(file)))
        lines = Lines(base)
    except CatenaError:
        return
    pushes = {k for k, table in enumerate(part_tables("wrench", top)) if is_of_run(table, scenario.mechanism)}
    kept: list[str] = []
    for header, following in zip(lines.headers, [*lines.headers[1:], None], strict=True):
        word, *rest = header.path
        until = len(base) if following is None else following.start
        of_run = word in (*RUN_ONCE, *RUN_MANY) or (word == "wrench" and rest and rest[0] in pushes)
        if not kept:
            kept.append(base[: header.start])
        if not of_run:
            kept.append(base[header.start : until])
    yield "\n".join(["".join(kept).rstrip("\n") + "\n", *tables])
