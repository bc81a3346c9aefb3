"""Names of a stranger's model on the terminal: spelled out, short enough, and one line each."""

import json
import os
import subprocess
import sys
import unicodedata
from contextlib import suppress

import pytest

HOSTILE = [
    "a\x1b[2J\x1b]0;t\x07",
    "b\r+ forged",
    "c\nforged: error: line",
    "d\u202eesrever",
    "e\u2066\u2028x",
    "f\x9b31m\x85g",
]
PROGRAM = [sys.executable, "-m", "catena"]


def quoted(name):
    return json.dumps(name)


@pytest.fixture
def model(tmp_path):
    """A model whose names are all hostile, and about which a load warns."""
    text = f"[mechanism]\nname = {quoted(HOSTILE[0])}\n"
    before = '"ground"'
    for k, name in enumerate(HOSTILE):
        text += f"[[body]]\nname = {quoted(name)}\nmass = 1.0\ninertia = [0.1, 0.1, 0.1]\n"
        text += f'visual = [{{ shape = "mesh", path = {quoted("none" + name)} }}]\n'
        text += f'[[joint]]\nname = {quoted("joint " + name)}\nkind = "revolute"\naxis = "y"\n'
        text += f"parent = {before}\nchild = {quoted(name)}\nin_parent = {{ p = [0.0, 0.0, 0.{k + 1}] }}\n"
        before = quoted(name)
    (tmp_path / "m.toml").write_text(text, encoding="utf-8")
    return tmp_path / "m.toml"


def is_harmless(text):
    """Whether a terminal shows a text as it stands, by the categories of Unicode."""
    return all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp", "Cs", "Co") for c in text)


@pytest.mark.parametrize(
    "words",
    [
        ("info",), ("count", "--equations", "mass_matrix"), ("critical-path", "--equations", "mass_matrix"), ("check",),
        ("run", "--time", "0.02", "--event", "joint b\r+ forged=0.001"), ("info", "--json"), ("check", "--json"),
        ("info", "--q", "nobody=1"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_command_writes_what_moves_the_cursor(catena, model, words):
    answer = catena(words[0], model, *words[1:])
    assert is_harmless(answer.out) and is_harmless(answer.err)
    assert "forged" not in [line[: len("forged")] for line in (answer.out + answer.err).splitlines()]
    assert answer.code in (0, 2)
    if words == ("info",):
        assert "a\\x1b[2J" in answer.out and "d\\u202eesrever" in answer.out and "b\\r+ forged" in answer.out


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals")
def test_a_terminal_gets_styles_and_no_escapes_of_others(model):
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "info", str(model)],
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "NO_COLOR": ""},
    )
    os.close(theirs)
    seen = b""
    # What has been written stays there until it is read; then the other end is gone.
    with suppress(OSError):
        while more := os.read(ours, 1 << 16):
            seen += more
    os.close(ours)
    assert process.wait(timeout=600) == 0
    assert b"\x1b[1m" in seen
    for sequence in (b"\x1b[2J", b"\x1b]0", "\u202e".encode(), "\x9b".encode()):
        assert sequence not in seen


def test_long_names_and_many_findings_are_cut(catena, tmp_path):
    (tmp_path / "m.toml").write_text(f'[mechanism]\nname = "{"x" * 100_000}"\n')
    answer = catena("info", "m.toml")
    assert answer.code == 2 and "characters: give one of at most 500" in answer.err and len(answer.err) < 1000
    meshes = "".join(
        f'<visual><geometry><mesh filename="{k}.stl"/></geometry></visual>' for k in range(12_000)
    )
    (tmp_path / "m.urdf").write_text(f'<robot name="r"><link name="a">{meshes}</link></robot>')
    answer = catena("check", "m.urdf")
    assert len(answer.out.splitlines()) < 210 and "more (--json lists all)" in answer.out
    assert len(catena("check", "m.urdf", "--json").data) < 10_010
    (tmp_path / "m.xml").write_text(
        f'<mujoco><asset><mesh name="a" file="{"x" * 100_000}.stl"/></asset></mujoco>'
    )
    answer = catena("check", "m.xml")
    assert len(answer.out + answer.err) < 5000


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("words", [("info", "four_bar"), ("--help",)])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_standard_output_is_told(words, unbuffered, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with open("/dev/full", "w") as full:
        done = subprocess.run([*PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=600)
        assert done.returncode == 4
        assert done.stderr == "catena: error: standard output cannot be written: no space left on device\n"
        # Of what standard error cannot take nobody can be told; the code says it.
        assert subprocess.run([*PROGRAM, *words], stdout=full, stderr=full, timeout=600).returncode == 4
        assert subprocess.run([*PROGRAM, "info", "nobody"], stderr=full, timeout=600).returncode == 2


@pytest.mark.skipif(os.name == "nt", reason="shells there close no streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_streams_that_the_shell_has_closed_are_no_fault(closed, tmp_path):
    """A file that is written meanwhile does not get what is meant for the stream whose number it has."""
    command = f'"$@" run four_bar --time 0.02 --out {tmp_path / "run.csv"} {closed}'
    done = subprocess.run(["sh", "-c", command, "sh", *PROGRAM], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "should not happen" not in done.stderr
    lines = (tmp_path / "run.csv").read_text().splitlines()
    assert lines[0].startswith("t,") and all(line[0].isdigit() for line in lines[1:])
