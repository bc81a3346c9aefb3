"""The text of a scenario that is saved: that of its mechanism, and the tables of the run behind it.

What the file says already stays as it is written: the text of the mechanism where it says the same mechanism, and the
tables of the run, all of them, where they say the same run.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from catena.errors import CatenaError, FormatError
from catena.formats.complete import own_name, write_complete
from catena.formats.files import file_path, model_texts, read_text
from catena.formats.source import Source
from catena.formats.toml.blocks import Block, value_text
from catena.formats.toml.lines import Lines
from catena.formats.toml.reading import is_of_run, open_document, part_tables
from catena.formats.toml.schema import RUN_MANY, RUN_ONCE
from catena.given import is_one_of, shown
from catena.mechanism import Mechanism
from catena.simulation.scenario.file.writing import refuse, run_blocks
from catena.simulation.scenario.resolving import named_numbers
from catena.simulation.scenario.scenario import Scenario

FUNCTIONS = ("refuse", "leave out")


def save_scenario(scenario: Scenario, path: str | os.PathLike[str], functions: str = "refuse") -> None:
    """Write a scenario to a .toml file; it appears complete or not at all."""
    file = file_path(path)
    if file.suffix.lower() != ".toml":
        raise FormatError(f"{file}: a scenario is written to a .toml file: name one")
    if not is_one_of(functions, FUNCTIONS):
        raise FormatError(f"{file}: functions is {shown(functions)}: give {' or '.join(map(repr, FUNCTIONS))}")
    _require_state(scenario, file)
    leave_out = refuse(str(file)) if functions == "refuse" else lambda place, value: None
    blocks = run_blocks(scenario, leave_out)
    texts = model_texts(_with_start(scenario), file)
    texts[""] = _with_run(texts[""], blocks, scenario, file)
    for ending, text in texts.items():
        write_complete(own_name(file.with_suffix(ending)) if ending else file, text.encode("utf-8"))
