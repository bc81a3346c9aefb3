"""`catena models`: the gallery."""

from __future__ import annotations

import json
from argparse import Namespace

from catena.cli.console import Console, Exit
from catena.cli.models import gallery_about, gallery_names, gallery_signature
from catena.cli.parsing import Commands

ABOUT = "list the mechanisms of the gallery"


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("models", ABOUT, execute)
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def execute(arguments: Namespace, console: Console) -> int:
    """Print every name with its arguments and a sentence."""
    names = gallery_names()
    if arguments.json:
        rows = [{"name": n, "call": gallery_signature(n), "about": gallery_about(n)} for n in names]
        console.result(json.dumps(rows, indent=2))
        return Exit.OK
    for name in names:
        console.title(gallery_signature(name))
        console.paragraph(gallery_about(name), indent=4)
    console.say()
    console.say("Use one as MODEL, with other arguments if you like: catena info 'n_four_bars(3)'")
    return Exit.OK
