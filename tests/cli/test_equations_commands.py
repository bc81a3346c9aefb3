"""`catena count` and `catena critical-path` against the equations that they tell of."""

import json

from catena.mechanism.generators import arm7, four_bar


def test_count_prints_what_the_equations_count(catena):
    done = catena("count", "arm7")
    counts = arm7().system().equations("forward_dynamics").count()
    assert done.code == 0
    line = next(line for line in done.out.splitlines() if line.startswith("after folding  "))
    assert [int(x) for x in line.split()[2:]][0] == counts.folded.multiplications
    assert f"{counts.general.total}" in done.out and "link3" in done.out


def test_count_by_step_and_as_json(catena):
    done = catena("count", "four_bar", "--equations", "mass_matrix", "--by", "step")
    assert done.code == 0 and "compose" in done.out
    told = json.loads(catena("count", "four_bar", "--equations", "mass_matrix", "--json").out)
    counts = four_bar().system().equations("mass_matrix").count()
    assert told["folded"]["additions"] == counts.folded.additions
    assert set(told["general_by_body"]) == set(counts.general_by_body)


def test_critical_path_prints_schedules_and_draws(catena, tmp_path):
    picture = tmp_path / "gantt.png"
    done = catena(
        "critical-path", "four_bar", "--method", "minimal", "--q", "A=0.3", "--processors", "2", "8",
        "--picture", str(picture),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "critical path" in done.out and "processors" in done.out
    assert picture.read_bytes().startswith(b"\x89PNG") and str(picture) in done.err
    words = ("--json", "--grain", "steps", "--sums", "trees", "--cost", "sine=10")
    told = json.loads(catena("critical-path", "four_bar", *words).out)
    assert told["serial_time"] >= told["critical_time"]
    assert told["largest_speed_up"] == told["serial_time"] / told["critical_time"]
    assert [s["processors"] for s in told["schedules"]] == [2, 4, 8, 16]


def test_faults_are_sentences(catena):
    for words, told in (
        (("count", "arm7", "--equations", "forward_dynamic"), "did you mean forward_dynamics"),
        (("count", "arm7", "--equations", "pose"), "frame"),
        (("critical-path", "arm7", "--cost", "sinus=3"), "choose addition"),
        (("critical-path", "arm7", "--processors", "0"), "at least 1 processor"),
        (("critical-path", "arm7", "--cost", "sine=-1"), "less than no time"),
    ):
        done = catena(*words)
        assert done.code == 2 and told in done.err, done.err
