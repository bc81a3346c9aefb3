"""Files that say a run, from the command line: the same numbers as from Python, options that take the place of what the
file says, and faults of its tables."""

import numpy as np

import catena as ct
from tests.simulation.scenario.file.test_file import FILE


def test_a_run_from_the_shell_is_that_from_python(catena, tmp_path):
    file = tmp_path / "pendulum.toml"
    file.write_text(FILE)
    data = catena("run", file, "--json").data
    run = ct.Scenario.load(file).run()
    # Numbers are told to the last digit.
    assert data["final"]["q"]["A"] == run["A"][-1].tolist() and data["duration"] == 0.4
    assert [found["name"] for found in data["events"]] == [found.name for found in run.events]
    told = catena(
        "run", file, "--set", "k=1", "--time", "0.1", "--control", "none", "--samples", "3", "--json"
    ).data
    other = ct.Scenario.load(file, parameters={"k": 1.0}).with_(duration=0.1, control=None, samples=3).run()
    assert told["final"]["q"]["A"] == other["A"][-1].tolist() and told["samples"] == 3
    assert np.isfinite(told["energy_drift"])


def test_check_and_run_tell_faults_of_the_tables(catena, tmp_path):
    file = tmp_path / "pendulum.toml"
    file.write_text(FILE)
    assert catena("check", file).code == 0
    file.write_text(FILE.replace("lower = -2", "lowr = -2"))
    for command in ("check", "run"):
        answer = catena(command, file)
        assert answer.code == 2 and "unknown key 'lowr': did you mean 'lower'?" in answer.out + answer.err
    file.write_text(FILE)
    answer = catena("run", file, "--gain", "3")
    assert answer.code == 2 and "--gain belongs to --control hold" in answer.err
