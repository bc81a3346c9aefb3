"""This commit against an older one, in turns: `python -m benchmarks.against REVISION [word ...]`.

The sources of both are put side by side, the older ones in a worktree of git, each with a process of its own that waits
until it is asked. Both are asked for the same turn, one right after the other, in changing order, and tell the time of
the processor that it took; what else the machine does meets both alike. The first turns, which compile, do not count.
Words choose the cases whose names begin with them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
# Turns of each case, and the seconds that one of them should take.
ROUNDS, SECONDS = 25, 0.05
# What a case may take longer than before.
SLOWER = 1.02


class Rival:
    """A process with the sources of one commit that takes turns when it is asked."""

    def __init__(self, tree: Path, cache: Path) -> None:
        found = {
            **os.environ,
            "PYTHONPATH": str(tree / "src"),
            "CATENA_CACHE": str(cache),
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-P", str(HERE.with_name("turns.py"))]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=found, cwd=tree
        )

    def ask(self, case: str, repeats: int) -> float | None:
        """Return the seconds of a call of a case, asked so many times; None where this commit cannot do it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([case, repeats]) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        if "fault" in answer:
            print(f"{case}: {answer['fault']}", file=sys.stderr)
        return answer.get("seconds")

    def end(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compared(before: Rival, now: Rival, case: str, rounds: int) -> tuple[float, float, float] | None:
    """Return the least seconds of a call before and now, and the median of their ratios; None where one of them cannot
    do it."""
    first = [rival.ask(case, 1) for rival in (before, now)]
    again = [rival.ask(case, 1) for rival in (before, now)]
    if None in (*first, *again):
        return None
    repeats = max(1, round(SECONDS / max(x for x in again if x is not None)))
    pairs = []
    for k in range(rounds):
        order = (before, now) if k % 2 == 0 else (now, before)
        took = {id(rival): rival.ask(case, repeats) for rival in order}
        pairs.append((took[id(before)] or 0.0, took[id(now)] or 0.0))
    ratio = statistics.median(y / x for x, y in pairs)
    return min(x for x, _ in pairs), min(y for _, y in pairs), ratio


def report(revision: str, words: Sequence[str], rounds: int = ROUNDS) -> str:
    """The table of this benchmark as Markdown."""
    top = HERE.parents[1]
    cases = subprocess.run(
        [sys.executable, "-P", str(HERE.with_name("turns.py")), "--names"],
        check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(top / "src")},
    ).stdout.split("\n")[:-1]  # fmt: skip
    chosen = [case for case in cases if not words or case.startswith(tuple(words))]
    lines = [
        f"### This commit against {revision}, processor time, one thread, {rounds} turns each",
        "",
        "| case | before [ms] | now [ms] | ratio of the least | median ratio |",
        "|---|--:|--:|--:|--:|",
    ]
    ratios = {}
    with tempfile.TemporaryDirectory(prefix="catena_against_") as folder:
        old = Path(folder) / "before"
        subprocess.run(
            ["git", "worktree", "add", "--detach", str(old), revision], cwd=top, check=True, stdout=2
        )
        try:
            before, now = Rival(old, Path(folder) / "cache_before"), Rival(top, Path(folder) / "cache_now")
            for case in chosen:
                found = compared(before, now, case, rounds)
                if found is None:
                    lines.append(f"| {case} | not in both | | | |")
                    continue
                ratios[case] = found[2]
                x, y, ratio = found
                lines.append(f"| {case} | {1e3 * x:.4g} | {1e3 * y:.4g} | {y / x:.3f} | {ratio:.3f} |")
                print(lines[-1], file=sys.stderr, flush=True)
            before.end(), now.end()
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(old)], cwd=top, check=True)
    if ratios:
        worst = max(ratios, key=ratios.__getitem__)
        slower = [case for case, ratio in ratios.items() if ratio > SLOWER]
        lines += [
            "",
            f"Median of all {statistics.median(ratios.values()):.3f}; worst {ratios[worst]:.3f} ({worst}).",
        ]
        lines += [f"Slower than {SLOWER:g}: {', '.join(slower) or 'none'}."]
    return "\n".join([*lines, ""])


def main() -> None:
    """Compare this commit with the one that is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("revision", help="what git knows a commit by, as HEAD~1")
    parser.add_argument("words", nargs="*", metavar="word", help="how the names of cases begin")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns of each case ({ROUNDS})")
    given = parser.parse_args()
    print(report(given.revision, given.words, given.rounds))


if __name__ == "__main__":
    main()
