"""What the shells offer when Tab is pressed: shell functions for shtab, which writes the rest of the scripts."""

from __future__ import annotations

from argparse import Action
from collections.abc import Sequence

SHELLS = ("bash", "zsh", "fish", "powershell")


def any_file(action: Action) -> None:
    """Complete an argument by files."""
    action.complete = "file"  # type: ignore[attr-defined]


def names_and_files(action: Action, function: str, names: Sequence[str], endings: Sequence[str]) -> None:
    """Complete an argument by names and by files with certain endings; `function` is what the shells call it."""
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
