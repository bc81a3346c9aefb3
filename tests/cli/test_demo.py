"""The demos are listed, run, and draw their picture."""

import pytest

from catena.cli.commands.demo import DEMOS


def test_demos_are_listed_with_a_line_each(catena):
    answer = catena("demo")
    assert answer.code == 0
    listed = [line.split()[0] for line in answer.out.splitlines() if line and not line.startswith(" ")]
    assert listed[: len(DEMOS)] == list(DEMOS)


@pytest.mark.parametrize("name", DEMOS)
def test_a_demo_runs_to_its_end_without_a_warning_and_draws(catena, tmp_path, name):
    answer = catena("demo", name, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert answer.data["reached"] == answer.data["duration"]
    assert answer.data["audit"]["ok"]
    assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_behind_a_demo_is_shown_and_does_the_same(catena):
    import shlex

    answer = catena("demo", "pendulum", "--folder", "pictures")
    command = next(line for line in answer.out.splitlines() if line.startswith("$ "))
    words = shlex.split(command)[2:]
    assert words[0] == "run"
    assert catena(*words, "--json").data["final"] == catena("demo", "pendulum", "--json").data["final"]
