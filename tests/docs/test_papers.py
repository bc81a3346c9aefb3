"""Tables that say which test shows what, of the five papers and of contacts: tests and names that are told there
exist."""

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

import catena as ct
from catena.equations.equations import Equations

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "theory" / "papers.md"


@pytest.mark.parametrize(
    ("page", "least"), [(PAGE, 150), (ROOT / "docs" / "contacts.md", 40)], ids=["papers", "contacts"]
)
def test_every_test_that_the_tables_name_exists(page, least):
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text(encoding="utf-8"))
    assert len(named) > least
    # Each is a link to its file.
    text, up = page.read_text(encoding="utf-8"), "../" * len(page.relative_to(ROOT).parent.parts)
    assert all(f"[`{file}::{function}`]({up}{file})" in text for file, function in named)
    missing = [
        f"{file}::{function}"
        for file, function in named
        if not (ROOT / file).is_file() or f"def {function}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert not missing, missing


def test_every_line_has_a_test():
    rows = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and not line.startswith(("|---", "| item"))
    ]  # fmt: skip
    silent = [row for row in rows if "::" not in row]
    # A dictionary of notation is a page to look at.
    assert [row.split("|")[1].strip() for row in silent] == ["SOA, ABA and Lie notation beside each other"]


PAGES = ("papers.md", "thesis.md", "counts.md", "closed_chains.md")
# By which names pages call what they talk about.
OWNERS = {
    "ct": ct,
    "s": ct.System,
    "m": ct.Mechanism,
    "e": Equations,
    "run": ct.Trajectory,
    "plan": ct.MotionPlan,
}


def named_in(page):
    """Names in code of a page, without the blocks that are run."""
    text = re.sub(r"```.*?```", "", (PAGE.parent / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    return [code for code in re.findall(r"`([^`]+)`", text) if not code.startswith(("tests/", "examples/"))]


def is_there(name):
    """Whether a dotted name leads to something, from a module on or from a class."""
    first, *rest = name.split(".")
    found = OWNERS.get(first)
    if first == "catena":
        found = ct
        while rest and hasattr(found, "__path__") and importlib.util.find_spec(f"{found.__name__}.{rest[0]}"):
            found, rest = importlib.import_module(f"{found.__name__}.{rest[0]}"), rest[1:]
    for part in rest:
        fields = getattr(found, "__dataclass_fields__", {})
        if not hasattr(found, part) and part not in fields:
            return False
        found = getattr(found, part, None)
    return True


@pytest.mark.parametrize("page", PAGES)
def test_every_name_that_a_page_tells_exists(page):
    codes = named_in(page)
    names = {
        name for code in codes
        for name in re.findall(r"(?<![\w./\"])((?:ct|s|m|e|run|plan|catena)(?:\.[A-Za-z_]\w*)+)", code)
        if not name.endswith(".py")
    }  # fmt: skip
    assert not [name for name in sorted(names) if not is_there(name)]
    files = {x for code in codes for x in re.findall(r"^(?:catena/)?((?:[a-z_]+/)+[a-z_]*(?:\.py)?)$", code)}
    rooms = [ROOT, ROOT / "src/catena", ROOT / "src/catena/dynamics"]
    missing = [
        x for x in sorted(files) if not any((r / x).exists() or (r / f"{x}.py").exists() for r in rooms)
    ]
    assert not missing
