"""Every numbered example runs by itself and writes pictures; what the first one prints is what it claims."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))
PNG = b"\x89PNG\r\n\x1a\n"


def run(example: Path, folder: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(example), str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_examples_and_the_list_names_them_all():
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert EXAMPLES
    assert [example.name for example in EXAMPLES if f"({example.name})" not in listed] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.stem for example in EXAMPLES])
def test_an_example_runs_and_writes_the_pictures_it_names(example, tmp_path):
    report = run(example, tmp_path / "pictures")
    written = sorted(tmp_path.glob("pictures/*.png"))
    assert written
    for picture in written:
        assert picture.read_bytes().startswith(PNG) and picture.stat().st_size > 10_000
        assert str(picture) in report
    if example.stem == "00_first_look":
        assert "gallery.png" in [picture.name for picture in written]
        check_first_look(report)


def check_first_look(report: str) -> None:
    """The printed forces agree with the published ones, and the changed structures compiled nothing."""
    rows = re.findall(r"joint\d \w+ +[\d.]+ +(-?[\d.]+) +(-?[\d.]+) +N", report)
    assert len(rows) == 5 and all(computed == printed for computed, printed in rows)
    assert "compiled for these structures: 0." in report
