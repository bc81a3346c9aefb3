"""The page about the command line and the program know the same options, controls, integrators and exit codes."""

import re
from pathlib import Path

from catena.cli.console import Exit
from catena.cli.controls import BUILT_IN
from catena.cli.entry import program
from catena.simulation.stepping.drift import NAMES as DRIFTS
from catena.simulation.stepping.integrators import INTEGRATORS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
OPTION = re.compile(r"(?<![\w-])--[a-z]+")


def test_every_option_is_explained_and_no_other(catena):
    commands = program()
    texts = [commands.program.format_help(), *(catena(name, "--help").out for name in commands.names)]
    options = {option for text in texts for option in OPTION.findall(text)}
    assert set(OPTION.findall(PAGE)) == options


def test_every_word_that_may_be_chosen_is_there():
    for name in (*INTEGRATORS, *DRIFTS, *BUILT_IN):
        assert re.search(rf"`{name}[` ]", PAGE), name
    for code in Exit:
        assert f"| {int(code)} |" in PAGE
