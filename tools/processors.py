"""Runs the tests as other processors would: with other kernels of the linear algebra library and another number of
lanes, so that one machine stands for many.

Rounding differs from processor to processor: sums are taken in another order, products are fused or not. A decision
about rank, consistency, reach or acceptance must not hang on that (docs/notation.md, Thresholds).

Usage: python tools/processors.py few    one other processor, on the tests that came out differently before
       python tools/processors.py turns    all others that this machine can stand for, on the tests in which rounding
                                           may decide: each file as one of them, another one tomorrow
       python tools/processors.py turns 5    the same, as on the day with that number
       python tools/processors.py all    all others that this machine can stand for, on all tests that take seconds
       python tools/processors.py verdicts 0 200    all others, on what is decided about the random mechanisms 0 to 199
Prints which ones were run; the exit code is 1 if a test failed with one of them, or a verdict is another one.

Verdicts (`tests/fuzz/verdicts.py`) are mobility, redundancy, which states are solved in lanes and which by singular
values, who takes the steps of a run, what its audit says and the words of errors. They must be the same; measures, such
as accelerations and the number of steps, may differ by little.
"""

import json
import math
import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

FEW = (
    "tests/agreement/test_closed_formulations.py::test_flat_four_bars",
    "tests/agreement/test_closed_formulations.py::test_four_bars_fall_as_a_pendulum_beside_the_flat_configuration",
    "tests/agreement/test_closed_formulations.py::test_stretched_pair",
    "tests/agreement/test_closed_formulations.py::test_dead_point_of_a_crank",
    "tests/kinematics/loops/test_assembly.py",
    "tests/simulation/references/test_joint_path.py",
    "tests/simulation/stepping/test_singular.py",
    "tests/questions/test_diagnose.py",
    "tests/kinematics/loops/test_near_redundancy.py::test_the_verdict_is_the_same_everywhere",
    "tests/kinematics/loops/test_near_redundancy.py::test_a_singular_configuration_is_not_mistaken",
)
ALL = ("tests",)
# The rooms whose tests compute with numbers that differ from processor to processor.
COMPUTING = (
    "agreement", "bodies", "changing", "dynamics", "equations", "flying", "fuzz", "joints", "kinematics", "planning",
    "seeds", "simulation", "structure", "system",
)  # fmt: skip
ROOT = Path(__file__).resolve().parents[1]
# What a processor must have to run the kernels of this name.
NEEDS = {"Nehalem": {"sse4_2"}, "Sandybridge": {"avx"}, "Haswell": {"avx2", "fma"}, "SkylakeX": {"avx512f"}}
CHOICES = (("Nehalem", 2), ("Sandybridge", 4), ("Haswell", 8), ("SkylakeX", 4))

# By how many parts measures may differ: steps by more, because the last digits of an error estimate decide about each.
ALIKE = {"steps": 0.1}
ALIKE_ELSE = 1e-6


@dataclass(frozen=True)
class Processor:
    """Kernels of the linear algebra library, empty for the machine's own, and a number of lanes."""

    kernels: str
    lanes: int

    @property
    def variables(self) -> dict[str, str]:
        """The environment in which this machine stands for the processor."""
        chosen = {"CATENA_LANES": str(self.lanes)}
        return chosen | ({"OPENBLAS_CORETYPE": self.kernels} if self.kernels else {})

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in sorted(self.variables.items(), reverse=True))


def others(features: Collection[str], own_lanes: int) -> list[Processor]:
    """The processors that a machine with these features can stand for, besides itself."""
    if not set(features) & set().union(*NEEDS.values()):
        # Not an x86-64, or one that does not say: only lanes can be chosen.
        return [Processor("", lanes) for lanes in (2, 4, 8) if lanes != own_lanes]
    able = [name for name, needs in NEEDS.items() if needs <= set(features)]
    return [Processor(*c) for c in CHOICES if c[0] in able and c != (able[-1], own_lanes)]


def turns(processors: Sequence[Processor], day: int) -> dict[Processor, list[str]]:
    """The test files that each processor is to run on a day, so that all of them together run each file once. In as
    many days as there are processors each has run every file."""
    files = sorted(
        str(file.relative_to(ROOT))
        for room in COMPUTING
        for file in (ROOT / "tests" / room).rglob("test_*.py")
    )
    count = len(processors)
    return {each: files[(k + day) % count :: count] for k, each in enumerate(processors)}


def machine() -> tuple[set[str], int]:
    """The features of this machine's processor, and the lanes it has by itself."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    features = next((set(x.partition(":")[2].split()) for x in lines if x.startswith("flags")), set())
    return features, 8 if "avx512f" in features else 4 if "avx" in features else 2


def told(seeds: list[str], variables: dict[str, str]) -> dict[int, dict[str, Any]]:
    """What is decided and measured about random mechanisms, by seed."""
    command = [sys.executable, "-m", "tests.fuzz.verdicts", *seeds]
    done = subprocess.run(
        command, env=os.environ | variables, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["seed"]: line for line in lines}


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Say in which verdicts and measures of one mechanism two processors differ."""
    found = []
    for name in sorted({*ours["verdicts"], *theirs["verdicts"]}):
        a, b = (told["verdicts"].get(name) for told in (ours, theirs))
        if a != b:
            found.append(f"{name} is {a!r} and {b!r}")
    for name in sorted({*ours["measures"]} & {*theirs["measures"]}):
        a, b = (told["measures"][name] for told in (ours, theirs))
        part = ALIKE.get(name, ALIKE_ELSE)
        if not math.isclose(a, b, rel_tol=part, abs_tol=ALIKE_ELSE if part == ALIKE_ELSE else 5.0):
            found.append(f"{name} is {a:.9g} and {b:.9g}")
    return found


def compare(seeds: list[str]) -> int:
    """Compare verdicts with those of other processors and return the exit code."""
    ours, code = told(seeds, {}), 0
    chosen = others(*machine())
    for processor in chosen:
        print(f"== as another processor: {processor}", flush=True)
        theirs = told(seeds, processor.variables)
        for seed, line in ours.items():
            for sentence in differences(line, theirs[seed]):
                print(f"seed {seed}: {sentence}", flush=True)
                code = 1
    print(f"== as other processors were asked: {'; '.join(map(str, chosen))}")
    return code


def main(arguments: list[str]) -> int:
    """Run what is asked for and return the exit code."""
    if len(arguments) == 3 and arguments[0] == "verdicts" and all(map(str.isdigit, arguments[1:])):
        return compare(arguments[1:])
    chosen = others(*machine())
    day = date.today().toordinal() % max(1, len(chosen))
    if arguments == ["few"]:
        tests = {each: list(FEW) for each in chosen[:1]}
    elif arguments == ["all"]:
        tests = {each: list(ALL) for each in chosen}
    elif arguments == ["turns"] or len(arguments) == 2 and arguments[0] == "turns" and arguments[1].isdigit():
        day = int(arguments[1]) if len(arguments) == 2 else day
        print(f"== the turns of day {day}: python tools/processors.py turns {day}", flush=True)
        tests = turns(chosen, day)
    else:
        print(__doc__)
        return 2
    failed = []
    for processor, names in tests.items():
        print(f"== as another processor: {processor}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *names, "-m", "not slow and not fuzz"]
        if subprocess.run(command, env=os.environ | processor.variables).returncode:
            failed.append(processor)
    print(f"== as other processors were run: {'; '.join(map(str, tests))}")
    for processor in failed:
        print(f"== tests failed with {processor}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
