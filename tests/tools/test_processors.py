"""Which processors a machine can stand for."""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "processors.py"
SPEC = spec_from_file_location("processors", TOOL)
processors = sys.modules["processors"] = module_from_spec(SPEC)
SPEC.loader.exec_module(processors)


@pytest.mark.parametrize(
    ("features", "lanes", "kernels"),
    [
        ({"sse4_2"}, 2, []),
        ({"sse4_2", "avx"}, 4, ["Nehalem"]),
        ({"sse4_2", "avx", "avx2", "fma"}, 4, ["Nehalem", "Sandybridge", "Haswell"]),
        ({"sse4_2", "avx", "avx2", "fma", "avx512f"}, 8, ["Nehalem", "Sandybridge", "Haswell", "SkylakeX"]),
    ],
)
def test_kernels_need_what_the_processor_has(features, lanes, kernels):
    found = processors.others(features, lanes)
    assert [p.kernels for p in found] == kernels
    assert all((p.kernels, p.lanes) != (kernels[-1:] or [""], lanes) for p in found)


def test_where_kernels_cannot_be_chosen_lanes_are():
    assert [str(p) for p in processors.others(set(), 2)] == ["CATENA_LANES=4", "CATENA_LANES=8"]


def test_the_tests_that_are_named_exist():
    for name in (*processors.FEW, *processors.ALL):
        path, _, function = name.partition("::")
        assert (ROOT / path).exists()
        assert not function or f"def {function}(" in (ROOT / path).read_text()


def test_in_turns_every_file_is_run_by_one_processor_and_in_time_by_all():
    chosen = processors.others({"sse4_2", "avx", "avx2", "fma"}, 4)
    days = [processors.turns(chosen, day) for day in range(len(chosen))]
    files = sorted(file for part in days[0].values() for file in part)
    assert len(files) > 100 and len(set(files)) == len(files)
    assert all((ROOT / file).exists() for file in files)
    for day in days:
        assert sorted(file for part in day.values() for file in part) == files
    for processor in chosen:
        assert sorted(file for day in days for file in day[processor]) == files
    rooms = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    assert set(processors.COMPUTING) <= rooms


def test_this_machine_stands_for_others_and_words_that_mean_nothing_are_refused():
    features, lanes = processors.machine()
    chosen = processors.others(features, lanes)
    if {"avx2", "fma"} <= features:
        assert len(chosen) >= 3
    done = subprocess.run([sys.executable, str(TOOL), "many"], capture_output=True, text=True)
    assert done.returncode == 2 and "Usage" in done.stdout


def test_verdicts_must_be_the_same_and_measures_alike():
    ours = {"verdicts": {"mobility": 1, "run": "refused"}, "measures": {"steps": 100, "accelerations": 2.0}}
    assert not processors.differences(ours, ours)
    alike = {"verdicts": ours["verdicts"], "measures": {"steps": 104, "accelerations": 2.0 + 1e-7}}
    assert not processors.differences(ours, alike)
    other = {"verdicts": {"mobility": 2}, "measures": {"steps": 130, "accelerations": 2.1}}
    found = processors.differences(ours, other)
    assert [sentence.partition(" is ")[0] for sentence in found] == [
        "mobility",
        "run",
        "accelerations",
        "steps",
    ]


def test_verdicts_are_told_of_a_mechanism():
    found = processors.told(["1", "2"], {})
    assert list(found) == [1] and found[1]["verdicts"]["mobility"] == 8
    assert found[1]["measures"]["accelerations"] > 0.0
