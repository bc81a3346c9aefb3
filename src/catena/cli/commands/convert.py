"""`catena convert`: a model file in another format."""

from __future__ import annotations

import warnings
from argparse import Namespace
from pathlib import Path

from catena.cli.commands.check import add_file
from catena.cli.console import Console, Exit, counted
from catena.cli.models import allowed
from catena.cli.parsing import Commands, any_file
from catena.errors import CatenaWarning
from catena.formats import convert

ABOUT = "write a model file in another format"
EXAMPLES = """  catena convert robot.urdf robot.toml
  catena convert cassie.sdf cassie.toml --search ~/robots
  catena convert stewart.toml stewart.xml"""


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("convert", ABOUT, execute, examples=EXAMPLES)
    add_file(parser)
    action = parser.add_argument("out", metavar="OUT", help="the file to write: .toml, .urdf or .xml (MJCF)")
    any_file(action)


def execute(arguments: Namespace, console: Console) -> int:
    """Read, write, and say what was written and what was lost."""
    file = Path(arguments.file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CatenaWarning)
        mechanism = convert(
            file,
            arguments.out,
            search=arguments.search,
            kinds=allowed(file, arguments.kind),
            loops=arguments.loops,
            mimic=not arguments.no_mimic,
            macros=arguments.macros,
            parameters=dict(arguments.settings),
        )
    for warning in caught:
        console.warning(str(warning.message))
    bodies, joints = len(mechanism.bodies) - 1, len(mechanism.joints)
    console.say(f"{arguments.out}: {counted(bodies, 'body', 'bodies')}, {counted(joints, 'joint')}")
    return Exit.OK
