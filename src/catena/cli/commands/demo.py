"""`catena demo`: prepared runs."""

from __future__ import annotations

import shlex
from argparse import Namespace
from pathlib import Path

from catena.cli.commands import run
from catena.cli.console import Console
from catena.cli.demos import DEMOS
from catena.cli.faults import Exit, UsageError
from catena.cli.models import resolve
from catena.cli.parsing import Commands, Parser, one_of

ABOUT = "run a prepared demo, or list them"
EXAMPLES = """  catena demo
  catena demo four_bar
  catena demo stewart --show"""


def add(commands: Commands) -> None:
    """The options of the command."""
    parser = commands.add("demo", ABOUT, execute, examples=EXAMPLES)
    names = tuple(DEMOS)
    parser.add_argument(
        "name", metavar="NAME", nargs="?", type=one_of("demo", names), choices=names, help=", ".join(names)
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("out"), metavar="FOLDER", help="where the plot goes (out)"
    )
    parser.add_argument("--show", action="store_true", help="show the plot on the screen instead")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--quiet", action="store_true", help="print nothing but warnings and errors")


def execute(arguments: Namespace, console: Console) -> int:
    """List the demos, or run one."""
    if arguments.name is None:
        console.entries([(name, demo.about) for name, demo in DEMOS.items()])
        console.say()
        console.say("Run one: catena demo four_bar")
        return Exit.OK
    demo = DEMOS[arguments.name]
    options = Parser(prog="catena demo")
    run.add_options(options)
    settings = options.parse_args(demo.options)
    settings.json, settings.quiet = arguments.json, arguments.quiet
    settings.plot = "" if arguments.show else _picture(arguments.folder, arguments.name)
    mechanism = resolve(demo.model)
    if demo.change is not None:
        demo.change(mechanism)
    elif not arguments.json:
        console.say(f"$ {shlex.join(['catena', 'run', demo.model, *demo.options])}")
        console.say()
    return run.perform(mechanism, settings, console)


def _picture(folder: Path, name: str) -> str:
    """The file for the plot, in a folder that is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--folder {folder}: it cannot be made: {error.strerror or error}") from error
    return str(folder / f"{name}.png")
