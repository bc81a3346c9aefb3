"""The text of a scenario that is saved: its mechanism, its parameters, and the tables of its run.

The text of the mechanism is that of the file which is there, or which it comes from, changed where the mechanism
differs. The tables of a run are changed where they say another one, and nowhere else; where that cannot be, they are
written anew behind the rest. Whatever is made of a text that was there is read first, and has to say the very same
scenario.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

from catena.errors import CatenaError, FormatError
from catena.formats.complete import file_path, own_name, write_complete
from catena.formats.files import FORMATS
from catena.formats.kinds import Kinds
from catena.formats.source import Source
from catena.formats.toml import read, write
from catena.formats.toml.blocks import Block, value_text
from catena.formats.toml.lines import Lines
from catena.formats.toml.merging import CannotMergeError, merged
from catena.formats.toml.reading import is_of_run, open_document, part_tables
from catena.formats.toml.schema import RUN_MANY, RUN_ONCE
from catena.mechanism import Mechanism
from catena.mechanism.parts import Origin
from catena.simulation.scenario.file.loading import read_scenario, source_of
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
    own = write(mechanism, str(file), file.absolute().parent)
    anew = "\n".join([own, *(block.text for block in (*_beside_run(scenario), *tables))])
    # Matrices of flexible bodies lie in files of their own, which are not there yet.
    texts[""] = next(_like(texts[""], scenario, file, anew, tables), anew) if len(texts) == 1 else anew
    for ending, text in texts.items():
        write_complete(own_name(file.with_suffix(ending)) if ending else file, text.encode("utf-8"))


def _with_start(scenario: Scenario, file: Path) -> Mechanism:
    """The mechanism of a scenario, which begins where the scenario does."""
    rows = {}
    for what, start in (("q", scenario.initial), ("v", scenario.velocity)):
        if isinstance(start, np.ndarray):
            rows[what] = start
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


def _beside_run(scenario: Scenario) -> Iterator[Block]:
    """The named numbers, and that positions stand as they are."""
    named = {name: value_text(x) for name, x in scenario.parameters.items() if "." not in name}
    if named:
        yield Block(("parameters",), False, named)
    if any(isinstance(start, np.ndarray) for start in (scenario.initial, scenario.velocity)):
        yield Block(("initial",), False, {"assemble": "false"})


def _like(base: str, scenario: Scenario, file: Path, anew: str, tables: list[Block]) -> Iterator[str]:
    """Texts that say the same as one that is written anew, and keep what a base has."""
    wanted = _meaning(anew, scenario, file)
    for make in (_as_it_is, _changed, _with_tables):
        try:
            text = make(base, scenario, file, tables)
            if _meaning(text, scenario, file) == wanted:
                yield text
        except (CatenaError, CannotMergeError, ValueError):
            # A text that cannot be read or changed is none to build on.
            continue


def _meaning(text: str, scenario: Scenario, file: Path) -> Scenario:
    """The scenario that a text says if it lies at a path, where it may use the kinds that a mechanism has."""
    mechanism = scenario.mechanism
    kinds = {type(part.kind) for parts in (mechanism.joints, mechanism.forces) for part in parts.values()}
    search = scenario.origin.search if scenario.origin is not None else ()
    origin = Origin(text, str(file), {}, {}, file.absolute().parent, search, Kinds(kinds))
    return read_scenario(read(text, source_of(origin)), origin)


def _as_it_is(base: str, scenario: Scenario, file: Path, tables: list[Block]) -> str:
    return base


def _changed(base: str, scenario: Scenario, file: Path, tables: list[Block]) -> str:
    """A text in which what differs in the tables of the run is changed, and nothing else."""
    before = run_tables(_meaning(base, scenario, file), refuse(str(file)))
    content, pushes = _content(base, scenario, file)
    rows = {word: range(len(content.get(word, ()))) for word in RUN_MANY} | {"wrench": pushes}
    before_by_word = Counter(block.words[0] for block in before if block.many)
    if any(len(rows[word]) != before_by_word[word] for word in rows):
        # Some tables say what canonical ones say together, or otherwise.
        raise CannotMergeError
    return merged(base, before, _numbered(before, tables), rows=rows)


def _numbered(before: list[Block], tables: list[Block]) -> list[Block]:
    """The tables of a run, of which there are many with the numbers of those that they were before: of those that are
    the same, and in between of those that stand in their place."""
    found = [block for block in tables if not block.many]
    for word in dict.fromkeys(block.words for block in tables if block.many):
        old, new = ([block for block in blocks if block.words == word] for blocks in (before, tables))
        was, now = ([block.text for block in blocks] for blocks in (old, new))
        numbers = list(range(len(old), len(old) + len(new)))
        for _, i, i_end, j, j_end in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
            for k in range(min(i_end - i, j_end - j)):
                numbers[j + k] = i + k
        found += [replace(block, number=number) for block, number in zip(new, numbers, strict=True)]
    return found


def _content(base: str, scenario: Scenario, file: Path) -> tuple[dict[str, Any], list[int]]:
    """What a text has, and which of its wrenches are those of the run."""
    top = open_document(base, Source(str(file)))
    pushes = [k for k, table in enumerate(part_tables("wrench", top)) if is_of_run(table, scenario.mechanism)]
    return tomllib.loads(base), pushes


def _with_tables(base: str, scenario: Scenario, file: Path, tables: list[Block]) -> str:
    """A text with all tables of the run written anew, behind the rest."""
    lines, (_, pushes) = Lines(base), _content(base, scenario, file)
    kept: list[str] = []
    for header, following in zip(lines.headers, [*lines.headers[1:], None], strict=True):
        word, *rest = header.path
        until = len(base) if following is None else following.start
        of_run = word in (*RUN_ONCE, *RUN_MANY) or (word == "wrench" and rest and rest[0] in pushes)
        if not kept:
            kept.append(base[: header.start])
        if not of_run:
            kept.append(base[header.start : until])
    return "\n".join(["".join(kept).rstrip("\n") + "\n", *(block.text for block in tables)])
