"""Options that several commands have."""

from __future__ import annotations

from catena.cli import gallery
from catena.cli.assignments import assignment
from catena.cli.completion import names_and_files
from catena.cli.parsing import Parser
from catena.formats.files import FORMATS

MODEL = (
    "a model file (.toml, .urdf, .sdf, .xml), a Python function (file.py:function) or a name of the gallery "
    "(catena models)"
)


def add_model(parser: Parser) -> None:
    """The MODEL to work on."""
    action = parser.add_argument("model", metavar="MODEL", help=MODEL)
    names_and_files(action, "model", gallery.names(), (*FORMATS, ".py"))
    add_trust(parser)


def add_trust(parser: Parser) -> None:
    """What a model file may use besides what is built in and lies in its folder."""
    parser.add_argument(
        "--kind",
        metavar="MODULE:CLASS",
        action="append",
        default=[],
        help="a joint or force of your own that the model file may use; its module is imported",
    )
    parser.add_argument(
        "--search",
        metavar="DIR",
        action="append",
        default=[],
        help="a folder in which meshes, packages and included files may lie besides that of the model",
    )


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
