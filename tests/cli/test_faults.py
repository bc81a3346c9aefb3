"""Every fault is one paragraph on standard error and an exit code."""

import pytest


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rn", "four_bar"), "there is no command 'rn': did you mean run?"),
        (("run",), "which MODEL?"),
        (("run", "--plot", "four_bar"), "which MODEL? It goes first"),
        (("run", "four_br"), "did you mean 'four_bar'"),
        (("run", "four_bar", "--tiem", "3"), "no option --tiem: did you mean --time"),
        (("run", "four_bar", "stewart"), "'stewart' is one word too many"),
        (("run", "four_bar", "--time", "-3"), "'-3' is not positive"),
        (("run", "four_bar", "--time", "soon"), "'soon' is not a number"),
        (("run", "four_bar", "--integrator", "dopri"), "did you mean dopri5?"),
        (("run", "four_bar", "--q", "A"), "'A' is not JOINT=VALUE"),
        (("run", "four_bar", "--q", "E=1"), "no joint is named 'E'"),
        (("run", "four_bar", "--q", "A=1,2"), "A"),
        (("run", "four_bar", "--gravity", "1,2"), "give three"),
        (("run", "four_bar", "--out", "run.txt"), "--out run.txt: the ending '.txt' is not known"),
        (("run", "four_bar", "--plot", "run"), "--plot run: the name has no ending"),
        (("run", "four_bar", "--control", "hodl"), "no control 'hodl': did you mean hold?"),
        (("run", "four_bar", "--control", "constant"), "which forces?"),
        (("run", "four_bar", "--control", "constant", "E=1"), "there are 'A', 'B', 'D', 'C'"),
        (("run", "four_bar", "--control", "constant", "A=1,2"), "2 forces were given"),
        (("run", "four_bar", "--gain", "3"), "--gain belongs to --control hold"),
        (("run", "stewart", "--event", "ball1=1"), "name one that has a single coordinate"),
        (("run", "four_bar", "--integrator", "rk4"), "step"),
        (("demo", "pendlum"), "did you mean pendulum?"),
        (("info", "missing.toml"), "missing.toml: there is no such file"),
    ],
)
def test_what_cannot_be_meant_is_explained(catena, words, said):
    answer = catena(*words)
    assert answer.code == 2
    assert answer.out == ""
    assert said in answer.err
    assert answer.err.startswith("catena: error: ")
    assert answer.err.count("\n") == 1


def test_a_fault_in_a_model_file_names_file_and_line(catena, tmp_path):
    (tmp_path / "bad.toml").write_text('[mechanism]\nname = "m"\n\n[[body]]\nname = "a"\nmas = 1.0\n')
    answer = catena("run", "bad.toml")
    assert answer.code == 2
    assert "bad.toml:6: " in answer.err
    assert "'mass'" in answer.err


def test_debug_shows_where_a_fault_came_from(pendulum, capsys):
    from catena.cli import main

    assert main(["run", f"{pendulum}:broken", "--debug"]) == 2
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "in broken" in said
