"""What the pages say about the source and about each other, checked without running anything."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]*)\)")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The names by which the headings of a page can be linked to."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_lead_to_a_heading(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        path, _, heading = target.partition("#")
        if heading and "://" not in target:
            other = page.parent / path if path else page
            assert heading in anchors(other), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page):
    """Paths in backquotes that begin like one of ours; a path without `src/catena` may leave it out."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for name in re.findall(r"`((?:[a-z_]+/)+[\w.]+\.(?:py|md))`", text):
        assert any((base / name).exists() for base in (ROOT, ROOT / "src" / "catena")), f"{page.name}: {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    for target in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        path = target.partition("#")[0]
        assert not path or "://" in target or (page.parent / path).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/kernels.md"])
def test_paths_and_targets_that_a_page_about_the_house_names_exist(name):
    """Paths in backquotes, of files and folders; those in a row of the table of rooms are in its room."""
    text = FENCED.sub("", (ROOT / name).read_text(encoding="utf-8"))
    package = ROOT / "src" / "catena"
    for line in text.splitlines():
        named = re.findall(r"`([\w.-]+(?:/[\w.-]*)+|\w+\.py)`", line)
        room = named[0] if line.startswith("| `") and named else None
        for path in named:
            places = [
                ROOT,
                package,
                ROOT / "tests",
                ROOT / "benchmarks",
                package / "kernels",
                package / "equations",
            ]
            if room is not None and path != room:
                places = [package / room]
            assert any((place / path).exists() for place in places), f"{name}: {path}"
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"(?:`|^    )make ([a-z-]+)", text, re.MULTILINE)) <= set(targets)


def test_the_kernels_of_the_drawing_exist():
    text = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
    drawing = text[text.index("an algorithm: steps and sweeps") : text.index("**Steps become units.**")]
    files = re.findall(r"\w+\.py", drawing)
    assert len(files) > 10
    for file in files:
        assert list((ROOT / "src" / "catena").rglob(file)), file


def test_the_rooms_are_told_in_the_order_in_which_they_import():
    """The tables of rooms in the pages and the order that `tools/check_imports.py` enforces are one, and it is that of
    the folders there are."""
    source = (ROOT / "tools" / "check_imports.py").read_text(encoding="utf-8")
    order = re.findall(
        r'"(\w+)"', source[source.index("ORDER = (") : source.index(")", source.index("ORDER = ("))]
    )
    assert order.pop() == "__main__"
    there = (ROOT / "src" / "catena").iterdir()
    assert set(order) == {
        path.stem for path in there if not path.name.startswith("_") and path.suffix in ("", ".py")
    }
    table = re.findall(
        r"^\| `(\w+)(?:/|\.py)` \|", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE
    )
    assert table == order
    told = (
        (ROOT / "CONTRIBUTING.md")
        .read_text(encoding="utf-8")
        .partition("a room imports only from those before it:")[2]
    )
    assert told.partition("`tools/check_imports.py`")[0].split() == order


def test_every_decision_is_listed_and_has_the_sections_of_a_record():
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    records = sorted(folder.glob("[0-9]*.md"))
    assert [record.name[:3] for record in records] == [f"{k:03d}" for k in range(1, len(records) + 1)]
    for record in records:
        assert f"({record.name})" in index
        text = record.read_text(encoding="utf-8")
        assert text.startswith(f"# {record.name[:3]}: ")
        sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert sections == ["Question", "Decision", "Measurements", "Turned down", "Consequences"]


def test_corrections_that_docstrings_refer_to_are_in_the_notation():
    """Equation numbers named next to a reference to the notation page stand in its table of corrections."""
    text = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    corrected = text[text.index("## Equations followed") :]
    referring = [
        path
        for path in (ROOT / "src").rglob("*.py")
        if "docs/notation.md" in path.read_text(encoding="utf-8")
    ]
    assert referring
    for path in referring:
        assert str(path.relative_to(ROOT / "src" / "catena")) in corrected


def test_settings_from_the_environment_are_documented():
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("conftest.py")]
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    documented = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = set(re.findall(r"\bCATENA_[A-Z]+\b", source))
    assert names == set(re.findall(r"`(CATENA_[A-Z]+)`", documented))
