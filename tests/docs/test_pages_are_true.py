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
