"""How a command line is read: the parser, the forms in which values are typed, and completion in shells."""

from __future__ import annotations

import re
import sys
from argparse import (
    SUPPRESS,
    Action,
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from math import isfinite, pi
from typing import Any, NoReturn

from catena.cli.console import Console, UsageError, write

# argparse has no public name for a group of arguments.
Group = Any
Execute = Callable[[Namespace, Console], int]
SHELLS = ("bash", "zsh", "fish", "powershell")
_DEGREES = "deg"
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


class Parser(ArgumentParser):
    """An argument parser that raises a UsageError instead of ending the process."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=RawDescriptionHelpFormatter, **options)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write the help as everything else is written; argparse would not say that it could not."""
        write(file or sys.stdout, message.rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one paragraph."""
        if "arguments are required: MODEL" in message:
            # An option that takes several values, or perhaps one, swallows a MODEL that comes after it.
            message = f"which MODEL? It goes first: {self.prog} MODEL ..."
        raise UsageError(f"{message}{'' if message.endswith('?') else ';'} `{self.prog} --help` explains")


class Commands:
    """The commands of the program's parser, each with the function that executes it."""

    def __init__(self, program: Parser) -> None:
        self.program = program
        self._group = program.add_subparsers(metavar="COMMAND", parser_class=Parser, title="commands")

    @property
    def names(self) -> list[str]:
        """Return the commands there are."""
        return list(self._group.choices)

    def add(self, name: str, about: str, execute: Execute, text: str = "", examples: str = "") -> Parser:
        """Add a command and return its parser, for options; `execute` is called with what was typed.

        `about` is a sentence without a capital and a full stop, `text` explains more, `examples` are indented lines.
        """
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


def parse(commands: Commands, words: Sequence[str]) -> Namespace:
    """Read the command line, and explain the first word or option that nobody knows."""
    words = _joined(words)
    command = next((word for word in words if not word.startswith("-")), None)
    if command is not None and command not in commands.names:
        raise UsageError(f"there is no command {command!r}: {suggestion(command, commands.names)}")
    arguments, rest = commands.program.parse_known_args(words)
    if rest:
        asked = getattr(arguments, "parser", commands.program)
        if not rest[0].startswith("-"):
            raise UsageError(
                f"{asked.prog}: {rest[0]!r} is one word too many; `{asked.prog} --help` explains"
            )
        option = rest[0].partition("=")[0]
        options = sorted({*re.findall(r"--[a-z]+", asked.format_help())})
        raise UsageError(f"{asked.prog} has no option {option}: {suggestion(option, options)}")
    return arguments


def one_of(what: str, names: Sequence[str]) -> Callable[[str], str]:
    """Return the type of an argument that is one of some names."""

    def read(text: str) -> str:
        if text not in names:
            raise ArgumentTypeError(f"there is no {what} {text!r}: {suggestion(text, names)}")
        return text

    return read


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return the names that come close, or all of them."""
    close = get_close_matches(name, names, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"choose {', '.join(names)}"


def assignment(text: str) -> tuple[str, tuple[float, ...]]:
    """Read JOINT=VALUE or JOINT=VALUE,VALUE,...; names may have an equals sign in them, values have none."""
    name, sign, values = text.rpartition("=")
    if not sign or not name:
        raise ArgumentTypeError(f"{text!r} is not JOINT=VALUE: write it like A=0.3, A=30deg or base=0,0,1")
    return name, tuple(_number(text, value) for value in values.split(","))


def setting(text: str) -> tuple[str, float | str]:
    """Read NAME=VALUE, a parameter of a model file and its number or formula."""
    name, sign, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if not name or not sign or not value:
        raise ArgumentTypeError(f"{text!r} is not NAME=VALUE: write it like crank=0.4 or crank='400 mm'")
    return name, float(value) if _PLAIN.fullmatch(value) else value


def numbers(text: str) -> tuple[float, ...]:
    """Read VALUE,VALUE,..."""
    return tuple(_number(text, value) for value in text.split(","))


def vector(text: str) -> tuple[float, ...]:
    """Read X,Y,Z."""
    values = numbers(text)
    if len(values) != 3:
        raise ArgumentTypeError(f"{text!r} has {len(values)} numbers: give three, X,Y,Z")
    return values


def positive(text: str) -> float:
    """Read a positive number."""
    value = _number(text, text)
    if value <= 0.0:
        raise ArgumentTypeError(f"{text!r} is not positive: give a number above zero")
    return value


def count(text: str) -> int:
    """Read how many samples to keep."""
    try:
        value = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value < 2:
        raise ArgumentTypeError(f"{text!r} is too few: give 2 or more, the first and the last included")
    return value


def by_name(pairs: list[tuple[str, tuple[float, ...]]] | None) -> dict[str, Any]:
    """Return assignments as a mapping from names to values, a single value as a number."""
    return {name: values[0] if len(values) == 1 else values for name, values in pairs or ()}


def any_file(action: Action) -> None:
    """Let shells complete an argument by files."""
    action.complete = "file"  # type: ignore[attr-defined]


def names_and_files(action: Action, function: str, names: Sequence[str], endings: Sequence[str]) -> None:
    """Let shells complete an argument by names and by files with certain endings; `function` is what they call it."""
    # shtab's script for bash treats what it gets as file names if the function's name has _file in it.
    function = f"_catena_{function}_files"
    words = " ".join(names)
    action.complete = {  # type: ignore[attr-defined]
        "bash": function,
        "zsh": function,
        "tcsh": "f",
        "fish": f"({function})",
        "powershell": function,
        "preamble": {
            "bash": _bash(function, words, endings),
            "zsh": _zsh(function, words, endings),
            "fish": _fish(function, words, endings),
            "powershell": _powershell(function, names, endings),
        },
    }


def _joined(words: Sequence[str]) -> list[str]:
    """Return `--gravity -9.81,0,0` as one word, because argparse would take the second for an option."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1].startswith("--") and "=" not in joined[-1] and re.match(r"-[\d.]", word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _number(text: str, value: str) -> float:
    value = value.strip()
    degrees = value.endswith(_DEGREES)
    try:
        number = float(value.removesuffix(_DEGREES))
    except ValueError:
        raise ArgumentTypeError(f"{text!r}: {value!r} is not a number") from None
    if not isfinite(number):
        raise ArgumentTypeError(f"{text!r}: {value!r} is not finite: give a finite number")
    return number * pi / 180.0 if degrees else number


def _bash(function: str, words: str, endings: Sequence[str]) -> str:
    files = "\n".join(f"  compgen -f -X '!*{ending}' -- \"$1\"" for ending in endings)
    return f'{function}() {{\n  compgen -W \'{words}\' -- "$1"\n{files}\n  compgen -d -- "$1"\n}}\n'


def _zsh(function: str, words: str, endings: Sequence[str]) -> str:
    pattern = "|".join(ending.lstrip(".") for ending in endings)
    return (
        f"{function}() {{\n"
        f"  _alternative 'names:name:({words})' 'files:file:_files -g \"*.({pattern})\"'\n"
        "}\n"
    )


def _fish(function: str, words: str, endings: Sequence[str]) -> str:
    matches = " ".join(f"'*{ending}'" for ending in endings)
    return (
        f"function {function}\n"
        f"  printf '%s\\n' {words}\n"
        "  for candidate in (__fish_complete_path (commandline -ct))\n"
        f"    if string match -q '*/' $candidate; or string match -q {matches} $candidate\n"
        "      echo $candidate\n"
        "    end\n"
        "  end\n"
        "end\n"
    )


def _powershell(function: str, names: Sequence[str], endings: Sequence[str]) -> str:
    words = ", ".join(f"'{name}'" for name in names)
    includes = ", ".join(f"'*{ending}'" for ending in endings)
    return (
        f"function {function} {{\n"
        "  param([string]$WordToComplete)\n"
        f'  @({words}) | Where-Object {{ $_ -like "$WordToComplete*" }}\n'
        "  $dir = ''\n"
        "  if ($WordToComplete -match '^(.*[\\\\/])') { $dir = $Matches[1] }\n"
        f'  Get-ChildItem -Path "$WordToComplete*" -Include {includes} -File -ErrorAction SilentlyContinue |\n'
        "    ForEach-Object { $dir + $_.Name }\n"
        '  Get-ChildItem -Path "$WordToComplete*" -Directory -ErrorAction SilentlyContinue |\n'
        "    ForEach-Object { $dir + $_.Name + [System.IO.Path]::DirectorySeparatorChar }\n"
        "}\n"
    )
