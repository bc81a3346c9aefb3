"""Tables on terminals and in files."""

import io
import sys

import pytest

from catena.cli.console import Console

HEAD = ("joint", "more")
ROWS = [("shoulder", "limits (-1.5, 1.5), " * 6 + "passive"), ("elbow", "[b]damped[/b] :smile:")]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    for name, value in {"TERM": "xterm", "COLUMNS": "60", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    return Terminal()


def test_a_table_fits_the_terminal(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stdout", terminal)
    Console().table(ROWS, HEAD)
    lines = terminal.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert [len([line for line in lines if word in line]) for word in ("joint", "shoulder", "elbow")] == [
        1,
        1,
        1,
    ]
    # Cells that are too long go on in the next line, and what looks like markup is no markup.
    assert sum(line.count("limits") for line in lines) == 6
    assert lines[-1].split(maxsplit=1)[1].rstrip() == ROWS[1][1]


def test_a_table_in_a_file_has_one_line_for_each_row(capsys):
    Console().table(ROWS, HEAD)
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["joint     more", f"shoulder  {ROWS[0][1]}", f"elbow     {ROWS[1][1]}"]


def test_without_rich_a_terminal_gets_the_lines_of_a_file(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setitem(sys.modules, "rich", None)
    Console().title("state")
    Console().table(ROWS)
    assert terminal.getvalue().splitlines() == ["state", f"shoulder  {ROWS[0][1]}", f"elbow     {ROWS[1][1]}"]


@pytest.mark.parametrize(("no_color", "shown"), [("", "\x1b[1mstate\x1b[0m\n"), ("1", "state\n")])
def test_titles_are_bold_unless_no_color_is_set(terminal, monkeypatch, no_color, shown):
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("NO_COLOR", no_color)
    Console().title("state")
    assert terminal.getvalue() == shown
