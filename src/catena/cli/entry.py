"""The program `catena`: reads the command line, runs a command, and turns every fault into a sentence and a code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

from catena.cli.commands import COMMANDS
from catena.cli.console import Console, Exit, OutputError, flush, in_words
from catena.cli.parsing import Commands, Parser, parse
from catena.errors import CatenaError

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
    _open_streams()
    console = Console(debug="--debug" in words)
    code = _tried(words, console)
    try:
        _flush()
    except OutputError as error:
        console.error(in_words(error))
        code = code or int(Exit.OUTPUT)
    return code


def _tried(words: Sequence[str], console: Console) -> int:
    """Run the command line and return the exit code, whatever happens."""
    try:
        with warnings.catch_warnings():
            # They hold names from files, as everything else that is written.
            warnings.showwarning = lambda message, *about, **more: console.warning(
                str(message).replace(": warning: ", ": ")
            )
            return _execute(words, console)
    except KeyboardInterrupt:
        console.error("interrupted")
        return int(Exit.INTERRUPTED)
    except OutputError as error:
        console.trace(error)
        console.error(in_words(error))
        return int(Exit.OUTPUT)
    except CatenaError as error:
        console.trace(error)
        console.error(in_words(error))
        return int(Exit.USAGE)
    except Exception as error:
        console.trace(error)
        console.error(f"{in_words(error)} (this should not happen: `--debug` shows where, please report it)")
        return int(Exit.STOPPED)


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


def _open_streams() -> None:
    """Put an empty stream in the place of each that the shell has closed: the next file that is opened would take its
    number, and get what others write to it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _flush() -> None:
    """Write out both streams, and drop them if that cannot be done: Python would report it while it shuts down."""
    for stream in (sys.stderr, sys.stdout):
        flush(stream)
