"""Counts what the sources of Catena consist of.

Usage: python tools/ledger.py lines [package folder]    lines of code, docstrings, comments, imports and blank ones
"""

import ast
import io
import sys
import tokenize
from pathlib import Path

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


def main(arguments: list[str]) -> int:
    """Print what is asked for and return the exit code."""
    if arguments[:1] == ["lines"]:
        found = lines(Path(arguments[1]) if arguments[1:] else PACKAGE)
        for sort, count in {**found, "all": sum(found.values())}.items():
            print(f"{sort:12s} {count:7d}")
        return 0
    print((__doc__ or "").partition("Usage: ")[2], file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
