"""The program `catena`: reads the command line, runs a command, and turns every fault into a sentence and a code."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from catena.cli.commands import COMMANDS
from catena.cli.console import Console, Exit, drop, in_words
from catena.cli.parsing import Commands, Parser, parse
from catena.errors import CatenaError, CatenaWarning

ABOUT = "The dynamics of mechanisms whose chains branch, close into loops and change their structure while they move."
EPILOG = """exit codes: 0 done, 1 the simulation stopped with an error, 2 the command line or the model is wrong,
3 interrupted by Ctrl-C, 4 a file could not be written"""


def program() -> Commands:
    """Return all commands and the parser of the whole command line."""
    parser = Parser(prog="catena", description=ABOUT, epilog=EPILOG)
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = Commands(parser)
    for command in COMMANDS:
        command.add(commands)
    return commands


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line `words` (that of the process unless given) and return the exit code."""
    words = sys.argv[1:] if words is None else list(words)
    console = Console(debug="--debug" in words)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _shown_by(console, warnings.showwarning)
            return _execute(words, console)
    except KeyboardInterrupt:
        console.error("interrupted")
        return int(Exit.INTERRUPTED)
    except CatenaError as error:
        console.trace(error)
        console.error(in_words(error))
        return int(Exit.USAGE)
    except Exception as error:
        console.trace(error)
        console.error(f"{in_words(error)} (this should not happen: `--debug` shows where, please report it)")
        return int(Exit.STOPPED)
    finally:
        _flush()


def _shown_by(console: Console, usual: Callable[..., None]) -> Callable[..., None]:
    """What shows warnings while a command runs: Catena's as sentences, without the lines of source that Python adds."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, CatenaWarning):
            console.warning(str(message).replace(": warning: ", ": "))
        else:
            usual(message, category, *where, **more)

    return show


def _execute(words: Sequence[str], console: Console) -> int:
    commands = program()
    try:
        arguments = parse(commands, words)
    except SystemExit:
        # argparse has printed the help and wants to leave.
        return int(Exit.OK)
    if arguments.version:
        console.result(f"catena {_version()}")
        return int(Exit.OK)
    if not hasattr(arguments, "execute"):
        console.result(commands.program.format_help().rstrip())
        return int(Exit.OK)
    console.quiet = getattr(arguments, "quiet", False)
    return int(arguments.execute(arguments, console))


def _version() -> str:
    """Return the version of the package that is running, which need not be the one that is installed."""
    package = sys.modules[__name__.partition(".")[0]]
    return str(package.__version__)


def _flush() -> None:
    """Write out both streams, and drop them if their reader went away: Python would report it while it shuts down."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            drop(stream)
