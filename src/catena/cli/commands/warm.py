"""`catena warm`: compile ahead of time, so that nothing is compiled while something moves."""

from __future__ import annotations

from argparse import Namespace

from catena.cli.console import Console, Exit
from catena.cli.models import resolve
from catena.cli.options import add_settings, add_trust
from catena.cli.parsing import Commands
from catena.simulation import warm

ABOUT = "compile all kinds of joints and usual loops ahead of time, or what some models need"
EXAMPLES = """  catena warm
  catena warm robot.toml stewart
  catena warm --processes 4"""


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("warm", ABOUT, execute, examples=EXAMPLES)
    parser.add_argument(
        "models", metavar="MODEL", nargs="*", help="models to compile for; without any, all kinds of joints"
    )
    parser.add_argument(
        "--processes",
        metavar="N",
        type=int,
        help="how many processes share the work (as many as threads)",
    )
    add_trust(parser)
    add_settings(parser)


def execute(arguments: Namespace, console: Console) -> int:
    """Compile, and tell how much there was to do."""
    settings = dict(arguments.settings)
    models = [resolve(name, arguments.kind, arguments.search, settings) for name in arguments.models]
    if not models:
        console.note("all kinds of joints: about a minute of computing the first time")
    console.say(str(warm(*models, processes=arguments.processes)))
    return Exit.OK
