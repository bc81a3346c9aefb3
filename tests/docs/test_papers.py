"""The tables of the five papers: tests that are named there exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "theory" / "papers.md"


def test_every_test_that_the_tables_name_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 40
    missing = [
        f"{file}::{function}"
        for file, function in named
        if not (ROOT / file).is_file() or f"def {function}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert not missing, missing


def test_every_line_has_a_test_or_says_what_is_missing():
    rows = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and not line.startswith(("|---", "| item"))
    ]  # fmt: skip
    silent = [row for row in rows if "::" not in row and "*missing*" not in row]
    # A dictionary of notation and a front end are pages to look at.
    assert [row.split("|")[1].strip() for row in silent] == [
        "SOA, ABA and Lie notation beside each other", "a graphical front end",
    ]  # fmt: skip
