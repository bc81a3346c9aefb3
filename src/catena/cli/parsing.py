"""The parser of the command line: argparse, with faults as errors of our own and suggestions for typing errors."""

from __future__ import annotations

import re
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from catena.cli.console import Console
from catena.cli.faults import UsageError

# argparse has no public name for a group of arguments.
Group = Any
Execute = Callable[[Namespace, Console], int]


class Parser(ArgumentParser):
    """An argument parser that raises a UsageError instead of ending the process."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=RawDescriptionHelpFormatter, **options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one paragraph."""
        if "arguments are required: MODEL" in message:
            # An option that takes several values, or perhaps one, swallows a MODEL that comes after it.
            message = f"which MODEL? It goes first: {self.prog} MODEL ..."
        raise UsageError(f"{message}{'' if message.endswith('?') else ';'} `{self.prog} --help` explains")


class Commands:
    """The commands of a parser, each with what executes it."""

    def __init__(self, parser: Parser) -> None:
        self._group = parser.add_subparsers(metavar="COMMAND", parser_class=Parser, title="commands")

    @property
    def names(self) -> list[str]:
        """The commands there are."""
        return list(self._group.choices)

    def add(self, name: str, about: str, execute: Execute, text: str = "", examples: str = "") -> Parser:
        """Add a command with its sentence, a longer text and examples."""
        description = f"{about[0].upper()}{about[1:]}." + (f"\n\n{text}" if text else "")
        parser: Parser = self._group.add_parser(
            name, help=about, description=description, epilog=f"examples:\n{examples}" if examples else None
        )
        parser.set_defaults(execute=execute, parser=parser)
        # Also after the command, where one thinks of it.
        parser.add_argument(
            "--debug", action="store_true", default=SUPPRESS, help="show the traceback of an error"
        )
        return parser


def one_of(what: str, names: Sequence[str]) -> Callable[[str], str]:
    """The type of an argument that is one of some names."""

    def read(text: str) -> str:
        if text not in names:
            raise ArgumentTypeError(f"there is no {what} {text!r}: {suggestion(text, names)}")
        return text

    return read


def suggestion(name: str, names: Sequence[str]) -> str:
    """The names that come close, or all of them."""
    close = get_close_matches(name, names, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"choose {', '.join(names)}"


def parse(parser: Parser, commands: Commands, words: Sequence[str]) -> Namespace:
    """Read the command line, and explain the first word or option that nobody knows."""
    words = _joined(words)
    command = next((word for word in words if not word.startswith("-")), None)
    if command is not None and command not in commands.names:
        raise UsageError(f"there is no command {command!r}: {suggestion(command, commands.names)}")
    arguments, rest = parser.parse_known_args(words)
    if rest:
        asked = getattr(arguments, "parser", parser)
        if not rest[0].startswith("-"):
            raise UsageError(
                f"{asked.prog}: {rest[0]!r} is one word too many; `{asked.prog} --help` explains"
            )
        option = rest[0].partition("=")[0]
        options = sorted({*re.findall(r"--[a-z]+", asked.format_help())})
        raise UsageError(f"{asked.prog} has no option {option}: {suggestion(option, options)}")
    return arguments


def _joined(words: Sequence[str]) -> list[str]:
    """`--gravity -9.81,0,0` as one word, because argparse would take the second for an option."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1].startswith("--") and "=" not in joined[-1] and re.match(r"-[\d.]", word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined
