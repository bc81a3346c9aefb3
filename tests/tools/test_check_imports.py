"""The import-direction check: what it complains about, what it lets pass, and that Catena itself passes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def check(package: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "check_imports.py"), str(package)]
    return subprocess.run(command, capture_output=True, text=True)


def write(package: Path, **files: str) -> Path:
    """A package with one module per keyword; `spatial__vectors` becomes spatial/vectors.py."""
    for name, source in files.items():
        file = package.joinpath(*name.split("__")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    return package


@pytest.mark.parametrize(
    "source",
    [
        "from catena.dynamics.tree.newton_euler import newton_euler\n",
        "import catena.dynamics.tree.newton_euler\n",
        "from catena import dynamics\n",
        "from ..dynamics import newton_euler\n",
        "from .. import dynamics\n",
        "def late():\n    from catena import dynamics\n",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from catena import dynamics\n",
    ],
)
def test_every_spelling_of_a_downward_import_is_an_offence(tmp_path, source):
    package = write(tmp_path / "catena", joints__revolute=source, dynamics__newton_euler="newton_euler = 1\n")
    result = check(package)
    line = source.splitlines().index(next(row for row in source.splitlines() if "dynamics" in row)) + 1
    assert result.returncode == 1
    assert f"revolute.py:{line}: 'joints' imports 'dynamics', which comes after it" in result.stdout


def test_upward_own_room_foreign_and_type_checking_imports_pass(tmp_path):
    source = (
        "import numpy as np\n"
        "from typing import TYPE_CHECKING\n"
        "from catena.errors import ModelError\n"
        "from ..spatial import Motion\n"
        "from .contract import JointKind\n"
        "from . import contract\n"
        "if TYPE_CHECKING:\n"
        "    from catena.dynamics import newton_euler\n"
    )
    package = write(tmp_path / "catena", joints__revolute=source, joints__contract="")
    result = check(package)
    assert (result.returncode, result.stdout) == (0, "")


def test_the_public_surface_may_import_everything_but_nobody_imports_it(tmp_path):
    surface = "from catena.dynamics import newton_euler\n"
    package = write(tmp_path / "catena", __init__=surface, joints__revolute="from catena import Pose\n")
    result = check(package)
    assert result.returncode == 1
    assert "revolute.py:1: 'joints' imports the public surface" in result.stdout
    assert "__init__.py" not in result.stdout


def test_a_room_that_the_order_does_not_name_is_an_offence(tmp_path):
    result = check(write(tmp_path / "catena", utils__misc=""))
    assert result.returncode == 1
    assert "'utils' has no place in the reading order" in result.stdout


def test_catena_itself_imports_only_upwards():
    result = check(ROOT / "src" / "catena")
    assert (result.returncode, result.stdout) == (0, "")
