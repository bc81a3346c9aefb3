"""The scripts for the shells know the commands; bash is asked to complete for real."""

import shutil
import subprocess

import pytest

from catena.cli.models import gallery_names
from catena.cli.parsing import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_name_commands_models_integrators_and_demos(catena, shell):
    answer = catena("completion", shell)
    assert (answer.code, answer.err) == (0, "")
    for word in (
        "run",
        "info",
        "check",
        "convert",
        "schema",
        "demo",
        "models",
        "completion",
        *gallery_names(),
        "dop853",
        "baumgarte",
        "pendulum",
    ):
        assert word in answer.out, word


def completed(script, *words):
    """What bash offers after these words."""
    asked = f"""
source {script}
COMP_WORDS=({" ".join(f"'{word}'" for word in words)})
COMP_CWORD={len(words) - 1}
_shtab_catena
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "-c", asked], capture_output=True, text=True, cwd=script.parent, check=True
    )
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_models_files_and_names(catena, tmp_path):
    script = tmp_path / "script.sh"
    script.write_text(catena("completion", "bash").out)
    for name in ("robot.toml", "arm.py", "notes.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "models").mkdir()
    assert completed(script, "catena", "") == {
        "run",
        "info",
        "fmu",
        "demo",
        "models",
        "completion",
        "count",
        "critical-path",
        "view",
        "studio",
        "study",
        "check",
        "convert",
        "schema",
        "warm",
    }
    assert completed(script, "catena", "info", "four_") == {"four_bar", "four_link_chain"}
    assert {"robot.toml", "arm.py", "models", "stewart"} <= completed(script, "catena", "run", "")
    assert "notes.txt" not in completed(script, "catena", "run", "")
    assert completed(script, "catena", "run", "stewart", "--integrator", "dop") == {"dopri5", "dop853"}
    assert completed(script, "catena", "run", "stewart", "--drift", "b") == {"baumgarte"}
    assert completed(script, "catena", "run", "stewart", "--sam") == {"--samples"}
    assert completed(script, "catena", "run", "stewart", "--control", "h") == {"hold"}
    assert completed(script, "catena", "demo", "pen") == {"pendulum"}


def test_an_unknown_shell_and_a_missing_shtab_are_explained(catena, monkeypatch):
    answer = catena("completion", "fsh")
    assert answer.code == 2
    assert "did you mean" in answer.err
    monkeypatch.setitem(__import__("sys").modules, "shtab", None)
    answer = catena("completion", "bash")
    assert answer.code == 2
    assert 'pip install "catena-dynamics[cli]"' in answer.err
