"""`catena count`: the operations of an algorithm for a model."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict

from catena.cli.console import Console, Exit
from catena.cli.options import add_equations, equations_of
from catena.cli.parsing import Commands
from catena.equations.counting import OperationCount

ABOUT = "count the multiplications, additions, divisions, roots and sines of an algorithm for a model"
TEXT = """The general code does the same whatever the numbers of the model are; folding leaves out what they make
superfluous and does nothing twice, as s.equations(...) and s.specialise() do."""
EXAMPLES = """  catena count arm7
  catena count stewart --by step
  catena count robot.toml --equations inverse_dynamics --json"""
COLUMNS = ("multiplications", "additions", "divisions", "roots", "sines", "others", "total")


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("count", ABOUT, execute, text=TEXT, examples=EXAMPLES)
    add_equations(parser)
    parser.add_argument(
        "--by", choices=("body", "step"), default="body", help="what the folded operations are told by"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def execute(arguments: Namespace, console: Console) -> int:
    """Print tables, or everything as JSON."""
    counts = equations_of(arguments).count()
    if arguments.json:
        report = {
            "name": counts.name, "general": asdict(counts.general), "folded": asdict(counts.folded),
            "general_by_body": _dicts(counts.general_by_body), "folded_by_body": _dicts(counts.folded_by_body),
            "folded_by_step": _dicts(counts.folded_by_step),
        }  # fmt: skip
        console.result(json.dumps(report, indent=2))
        return Exit.OK
    console.title(counts.name)
    console.table(
        [_row("general code", counts.general), _row("after folding", counts.folded)], ("", *COLUMNS)
    )
    console.say()
    parts = counts.folded_by_step if arguments.by == "step" else counts.folded_by_body
    console.title(f"after folding, by {arguments.by}")
    console.table([_row(who, count) for who, count in parts.items()], (arguments.by, *COLUMNS))
    return Exit.OK


def _row(who: str, count: OperationCount) -> tuple[str, ...]:
    return (who, *(str(getattr(count, column)) for column in COLUMNS))


def _dicts(counts: Mapping[str, OperationCount]) -> dict[str, dict[str, int]]:
    return {who: asdict(count) for who, count in counts.items()}
