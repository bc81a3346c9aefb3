"""`catena check`: what a model file holds that looks wrong, and how to repair it."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from catena.cli.console import Console, Exit, counted
from catena.cli.models import allowed
from catena.cli.options import add_settings, add_trust
from catena.cli.parsing import Commands, Parser, any_file
from catena.formats import save
from catena.formats.complete import own_name
from catena.formats.files import FORMATS
from catena.formats.findings import Finding, Severity
from catena.simulation.scenario.file import examine_scenario
from catena.system.checking import examine

ABOUT = "say what looks wrong in a model file"
TEXT = """Errors keep the file from being used, loops that cannot close among them. Warnings do not stop a load.
With --fix what has one obvious repair is repaired, and the result is written to another file."""
EXAMPLES = """  catena check robot.urdf
  catena check robot.urdf --fix
  catena check robot.urdf --fix mended.toml
  catena check robot.sdf --json"""

# How many findings are worth listing to the eye.
SHOWN = 200


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("check", ABOUT, execute, TEXT, EXAMPLES)
    add_file(parser)
    parser.add_argument(
        "--fix",
        metavar="OUT",
        nargs="?",
        const="",
        help="repair what has one obvious repair and write the model to OUT (robot.fixed.urdf unless given)",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def add_file(parser: Parser) -> None:
    """Add the argument FILE, and the options that say what it may use."""
    action = parser.add_argument(
        "file", metavar="FILE", help="a model file: .toml, .urdf, .sdf, .xml (MJCF) or .xacro"
    )
    any_file(action)
    parser.add_argument(
        "--loops",
        metavar="FILE",
        help="a .toml file that adds loops and other parts to those of FILE, or a .yaml file of Extended URDF",
    )
    parser.add_argument(
        "--no-mimic",
        action="store_true",
        help="let joints that mimic others, or are coupled to them, move by themselves",
    )
    parser.add_argument(
        "--macros", action="store_true", help="expand a .xacro file, which evaluates what it says"
    )
    add_trust(parser)
    add_settings(parser)


def execute(arguments: Namespace, console: Console) -> int:
    """Print the findings, those that matter most first; the exit code is 2 if there are errors."""
    fix = arguments.fix is not None
    file = Path(arguments.file)
    mechanism, findings = examine(
        file,
        search=arguments.search,
        kinds=allowed(file, arguments.kind),
        loops=arguments.loops,
        mimic=not arguments.no_mimic,
        fix=fix,
        macros=arguments.macros,
        parameters=dict(arguments.settings),
    )
    if mechanism is not None and not fix:
        findings = [*findings, *_of_run(arguments, file)]
    counts = {severity: sum(found.severity is severity for found in findings) for severity in Severity}
    if arguments.json:
        console.result(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings[:SHOWN]:
            console.line(str(finding))
        if len(findings) > SHOWN:
            console.line(f"... and {len(findings) - SHOWN} more (--json lists all)")
        summary = ", ".join(counted(number, severity.value) for severity, number in counts.items())
        console.say(f"{file}: {summary}")
    if fix and mechanism is not None:
        ending = file.suffix if FORMATS[file.suffix.lower()].write is not None else ".toml"
        target = Path(arguments.fix) if arguments.fix else own_name(file.with_suffix(f".fixed{ending}"))
        save(mechanism, target)
        repaired = sum(bool(finding.repaired) for finding in findings)
        console.say(f"{counted(repaired, 'repair')}, written to {target}")
    return Exit.USAGE if counts[Severity.ERROR] else Exit.OK


def _of_run(arguments: Namespace, file: Path) -> list[Finding]:
    """Return what is wrong with the tables of a run."""
    return examine_scenario(
        file,
        parameters=dict(arguments.settings),
        search=arguments.search,
        kinds=allowed(file, arguments.kind),
    )
