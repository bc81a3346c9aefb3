"""`catena studio`: draw, run and change a mechanism in a browser."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from catena.cli.console import Console
from catena.cli.parsing import Commands, names_and_files
from catena.cli.serving import add_serving, serve
from catena.formats.files import FORMATS

ABOUT = "draw a mechanism, run it, change it and save it, in a browser"
TEXT = """The page is served to this computer only, at an address that has a secret in it, until Ctrl-C. Files are
written to one folder only: that of FILE, or the present one, or the one that --folder names."""
EXAMPLES = """  catena studio
  catena studio crank.toml
  catena studio robot.urdf --no-browser --port 8123"""


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("studio", ABOUT, execute, TEXT, EXAMPLES)
    action = parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="a scenario or a model")
    names_and_files(action, "scenario", [], tuple(FORMATS))
    parser.add_argument("--folder", metavar="FOLDER", type=Path, help="where files are opened and saved")
    add_serving(parser)


def execute(arguments: Namespace, console: Console) -> int:
    """Serve the page until somebody interrupts it."""
    from catena.studio import studio

    made = studio(
        arguments.file, folder=arguments.folder, host=arguments.host, port=arguments.port, show=False
    )
    return serve(made, arguments, console)
