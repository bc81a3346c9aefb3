"""The gallery against what there is to show: every generator and every example has a picture and a line of the page."""

import importlib.util
from pathlib import Path

import pytest

from catena.cli.models import gallery_names

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("write_gallery", ROOT / "tools" / "write_gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_generator_and_example_has_a_picture_that_is_not_too_large(tool):
    names = [*gallery_names(), *(f.stem for f in sorted((ROOT / "examples").glob("[0-9][0-9]_*.py")))]
    sizes = {file.stem: file.stat().st_size for file in (ROOT / "docs" / "gallery").glob("*.webp")}
    assert sorted(sizes) == sorted(names), "run python tools/write_gallery.py with the names that are missing"
    assert max(sizes.values()) <= tool.LARGEST and sum(sizes.values()) <= tool.IN_ALL


def test_the_page_is_the_one_that_the_tool_writes(tool):
    written = (ROOT / "docs" / "gallery" / "README.md").read_text(encoding="utf-8")
    assert written == tool.page(), "run python tools/write_gallery.py"


def test_examples_that_move_make_a_film_and_all_write_through_one_place():
    for file in sorted((ROOT / "examples").glob("[0-9][0-9]_*.py")):
        text = file.read_text(encoding="utf-8")
        assert "Pictures(__file__, arguments)" in text, file.name
        assert "savefig" not in text and "save_video" not in text, file.name
        assert "simulate(" not in text or "out.film(" in text, file.name
