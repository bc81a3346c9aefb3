"""The check for private names: what it complains about, what it lets pass, and that Catena itself passes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """
_LIMIT = 3

def _find():
    _local = 1

class Plan:
    def __init__(self):
        self._nodes, self.names = [], []
"""


def check(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "check_privates.py"), str(root)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def repository(tmp_path):
    package = tmp_path / "src" / "catena"
    package.mkdir(parents=True)
    (package / "plan.py").write_text(SOURCE)
    (tmp_path / "tests").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def test(plan):\n    assert plan._nodes\n", "_nodes"),
        ("def test(plan):\n    plan._nodes = []\n", "_nodes"),
        ("from catena import plan\nassert plan._find()\n", "_find"),
        ("import catena\nfrom catena.plan import _LIMIT\n", "_LIMIT"),
        ("def test(monkeypatch, plan):\n    monkeypatch.setattr(plan, '_LIMIT', 2)\n", "_LIMIT"),
        ("def test(monkeypatch):\n    monkeypatch.setattr('catena.plan._LIMIT', 2)\n", "_LIMIT"),
        ("def test(plan):\n    assert getattr(plan, '_nodes')\n", "_nodes"),
    ],
)
def test_every_way_to_a_private_name_is_an_offence(repository, text, name):
    (repository / "tests" / "test_plan.py").write_text(text)
    result = check(repository)
    assert result.returncode == 1
    assert f"test_plan.py:2: {name!r} is private to Catena" in result.stdout


def test_public_names_names_of_others_and_a_tests_own_pass(repository):
    (repository / "tests" / "test_plan.py").write_text(
        "import os\n"
        "from catena.plan import Plan, __doc__\n"
        "class Watch:\n"
        "    def __init__(self):\n"
        "        self._nodes = []\n"
        "def test(monkeypatch, plan, axes):\n"
        "    monkeypatch.setattr(plan, 'names', [])\n"
        "    assert plan.names == axes._box_aspect == plan.__dict__['_nodes_of_others']\n"
        "    os._exit(0)\n"
    )
    result = check(repository)
    assert (result.returncode, result.stdout) == (0, "")


def test_a_folder_without_the_package_is_named(tmp_path):
    result = check(tmp_path)
    assert result.returncode == 2
    assert "is not a folder" in result.stderr


def test_catena_passes():
    result = check(ROOT)
    assert (result.returncode, result.stdout) == (0, "")
