"""`catena completion`: a script for the shell that completes commands, options, models and files."""

from __future__ import annotations

from argparse import Namespace

from catena.cli.console import Console, Exit, UsageError
from catena.cli.parsing import SHELLS, Commands, Parser, one_of

ABOUT = "print a script that lets the shell complete what you type"
TEXT = """Where the script goes:
  bash        catena completion bash > ~/.local/share/bash-completion/completions/catena
  zsh         catena completion zsh > a folder of $fpath, as _catena
  fish        catena completion fish > ~/.config/fish/completions/catena.fish
  powershell  catena completion powershell >> $PROFILE"""


def add(commands: Commands) -> None:
    """Add the command, whose scripts complete all commands."""

    def execute(arguments: Namespace, console: Console) -> int:
        console.result(_script(commands.program, arguments.shell))
        return Exit.OK

    parser = commands.add("completion", ABOUT, execute, TEXT)
    parser.add_argument(
        "shell", metavar="SHELL", type=one_of("shell", SHELLS), choices=SHELLS, help=", ".join(SHELLS)
    )


def _script(program: Parser, shell: str) -> str:
    try:
        import shtab
    except ImportError:
        raise UsageError(
            'completion needs shtab, which is not installed: pip install "catena-dynamics[cli]"'
        ) from None
    if shell not in shtab.SUPPORTED_SHELLS:
        raise UsageError(f"this version of shtab writes no script for {shell}: pip install --upgrade shtab")
    script: str = shtab.complete(program, shell)
    return script
