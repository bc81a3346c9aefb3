"""The program as a process of its own: start, streams and signals."""

import os
import subprocess
import sys

import pytest

PROGRAM = [sys.executable, "-m", "catena"]


def call(*words, **options):
    return subprocess.run([*PROGRAM, *words], capture_output=True, text=True, timeout=600, **options)


def test_version_and_help_do_not_load_what_is_slow():
    probe = (
        "import sys; from catena.cli import main; code = main(['--help']) or main(['--version']);"
        "slow = {'casadi', 'scipy', 'matplotlib', 'llvmlite', 'xarray', 'shtab', 'rich'} & {*sys.modules};"
        "sys.exit(code or (repr(slow) if slow else 0))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "catena 0." in done.stdout
    for command in ("run", "info", "demo", "models", "completion"):
        assert command in done.stdout


def test_the_exit_code_reaches_the_shell():
    done = call("info", "four_br")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "did you mean 'four_bar'" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="pipes break differently")
@pytest.mark.parametrize(
    "words", [("info", "n_four_bars(40)"), ("models",), ("completion", "bash"), ("--help",)]
)
def test_a_reader_that_goes_away_is_no_fault(words):
    process = subprocess.Popen([*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.wait(timeout=600) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_names_that_the_terminal_cannot_show_are_spelled_out(tmp_path):
    file = tmp_path / "name.toml"
    file.write_text('[mechanism]\nname = "Gelenkgetriebe \u03b1"\n', encoding="utf-8")
    done = call("info", str(file), env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 0, done.stderr
    assert "Gelenkgetriebe \\u03b1" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals")
@pytest.mark.parametrize(("no_color", "painted"), [("", True), ("1", False)])
def test_colours_are_for_terminals_unless_no_color_is_set(no_color, painted):
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "info", "four_bar"], stdout=theirs, stderr=theirs,
        env=os.environ | {"NO_COLOR": no_color, "TERM": "xterm"},
    )  # fmt: skip
    assert process.wait(timeout=600) == 0
    os.close(theirs)
    seen = os.read(ours, 1 << 16)
    os.close(ours)
    assert (b"\x1b[1mfour-bar\x1b[0m" in seen) == painted
    assert b"\x1b" not in call("info", "four_bar").stdout.encode()
