"""`catena schema`: the JSON Schema of the native model file, for editors."""

from __future__ import annotations

import json
from argparse import Namespace

from catena.cli.console import Console, Exit
from catena.cli.parsing import Commands
from catena.simulation.scenario.file.json_schema import scenario_schema

ABOUT = "print the JSON Schema of .toml model files, with which editors check and complete them"
EXAMPLES = """  catena schema > catena-model.schema.json"""


def add(commands: Commands) -> None:
    """Add the command and its options."""
    commands.add("schema", ABOUT, execute, examples=EXAMPLES)


def execute(arguments: Namespace, console: Console) -> int:
    """Print the schema."""
    console.result(json.dumps(scenario_schema(), indent=2))
    return Exit.OK
