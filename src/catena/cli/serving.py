"""Commands that serve a page until somebody interrupts them: their options, and what they do in the end."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from catena.cli.console import Console, Exit

if TYPE_CHECKING:
    from catena.studio import Studio
    from catena.view.live.view import View


def add_serving(parser: ArgumentParser) -> None:
    """Add the options that say where a page is served."""
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to serve at (127.0.0.1: this computer only)"
    )
    parser.add_argument("--port", type=int, default=0, help="the port to serve at (one that is free)")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open nothing")


def serve(made: Studio | View, arguments: Namespace, console: Console) -> int:
    """Tell the address, open the browser unless it is not wanted, and serve until Ctrl-C."""
    console.result(made.url)
    if not arguments.no_browser:
        made.show()
    console.say("Ctrl-C ends it.")
    made.wait()
    return Exit.OK
