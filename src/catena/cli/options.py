"""Options that several commands have."""

from __future__ import annotations

from catena.cli import gallery
from catena.cli.assignments import assignment
from catena.cli.completion import names_and_files
from catena.cli.parsing import Parser

MODEL = (
    "a model file (robot.toml), a Python function (file.py:function) or a name of the gallery (catena models)"
)


def add_model(parser: Parser) -> None:
    """The MODEL to work on."""
    action = parser.add_argument("model", metavar="MODEL", help=MODEL)
    names_and_files(action, "model", gallery.names(), (".toml", ".py"))


def add_state(parser: Parser) -> None:
    """Positions and velocities of joints."""
    for name, what in (("q", "position"), ("v", "velocity")):
        parser.add_argument(
            f"--{name}",
            metavar="JOINT=VALUE",
            nargs="+",
            action="extend",
            type=assignment,
            help=f"{what} of a joint at the start, in rad or m (30deg, or several numbers: base=0,0,1,1,0,0,0); loops "
            "are closed around what is given",
        )
