"""Counts what the sources of Catena consist of, and how far a call walks through them.

Usage: python tools/ledger.py lines [package folder]    lines of code, docstrings, comments, imports and blank ones
       python tools/ledger.py walks                     files, functions and depth of three calls, warm

A walk is what Python does inside the package while a call runs for the second time: how many of its files and functions
it passes, and how deep its functions call one another.
"""

import ast
import io
import sys
import tokenize
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "catena"


def lines(package: Path) -> dict[str, int]:
    """Return how many lines of each sort the package has; a line is of the first sort that it belongs to."""
    found = dict.fromkeys(("docstrings", "imports", "comments", "blank", "code"), 0)
    for file in sorted(package.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        sorts = _sorts(text)
        for k, line in enumerate(text.splitlines(), 1):
            found[sorts.get(k, "code" if line.strip() else "blank")] += 1
    return found


def _sorts(text: str) -> dict[int, str]:
    sorts: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            sorts[token.start[0]] = "comments"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            _mark(sorts, node, "imports")
        # Texts that stand alone document what they stand in or behind.
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            _mark(sorts, node, "docstrings")
    return sorts


def _mark(sorts: dict[int, str], node: ast.stmt, sort: str) -> None:
    for k in range(node.lineno, (node.end_lineno or node.lineno) + 1):
        sorts[k] = sort


def walk(call: Callable[[], Any]) -> tuple[int, int, int]:
    """Return the files and functions of Catena that a call passes, and the depth that it reaches."""
    root, functions, depth, deepest = str(PACKAGE), set(), 0, 0

    def look(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(root):
            return
        if event == "call":
            functions.add((code.co_filename, code.co_qualname))
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1

    call()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len({file for file, _ in functions}), len(functions), deepest


def walks() -> dict[str, tuple[int, int, int]]:
    """Return the walks of a simulation, of a transfer to a locked mechanism, and of a view of a run."""
    import catena as ct

    m = ct.generators.four_bar()
    s = m.system()
    q = s.assemble({"A": 0.3})
    v = s.velocity(q, {"A": 1.0})
    run = ct.simulate(s, q, v, 0.1)
    locked = m.lock("A", at=0.3).system()
    return {
        "simulate(four_bar)": walk(lambda: ct.simulate(s, q, v, 0.1)),
        "transfer of a lock": walk(lambda: ct.transfer(s, q, v, locked)),
        "run.view()": walk(lambda: run.view(show=False).close()),
    }


def main(arguments: list[str]) -> int:
    """Print what is asked for and return the exit code."""
    if arguments[:1] == ["lines"]:
        found = lines(Path(arguments[1]) if arguments[1:] else PACKAGE)
        for sort, count in {**found, "all": sum(found.values())}.items():
            print(f"{sort:12s} {count:7d}")
        return 0
    if arguments == ["walks"]:
        for name, (files, functions, depth) in walks().items():
            print(f"{name:20s} {files:4d} files {functions:4d} functions, {depth:3d} deep")
        return 0
    print((__doc__ or "").partition("Usage: ")[2], file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
