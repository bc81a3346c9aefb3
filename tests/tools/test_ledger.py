"""The ledger of the sources counts every line once."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = '"""What it is."""\n\nimport os\n# Why.\nx = 1  # a remark\n\n\ndef f():\n    """Two\n    lines."""\n    return os\n'  # noqa: E501


def ledger(*words):
    command = [sys.executable, str(ROOT / "tools" / "ledger.py"), *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_each_line_is_counted_once(tmp_path):
    (tmp_path / "a.py").write_text(SOURCE)
    found = dict(line.split() for line in ledger("lines", str(tmp_path)).stdout.splitlines())
    assert found == {
        "docstrings": "3", "imports": "1", "comments": "1", "blank": "3", "code": "3", "all": "11",
    }  # fmt: skip


def test_other_words_are_told_the_usage():
    result = ledger("steps")
    assert result.returncode == 2 and "tools/ledger.py lines" in result.stderr
