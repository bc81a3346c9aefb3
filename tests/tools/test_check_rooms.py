"""The check of what rooms may hold: each of its rules finds an offence, and Catena itself passes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACES = {
    "sources": 'BESIDE = ("dynamics/numbers.py",)\n',
    "kernels__cache": 'ROOMS = ("dynamics",)\n',
    "dynamics__numbers": "x = 1\n",
}


def check(package):
    command = [sys.executable, str(ROOT / "tools" / "check_rooms.py"), str(package)]
    return subprocess.run(command, capture_output=True, text=True)


def write(package, **files):
    for name, source in files.items():
        file = package.joinpath(*name.split("__")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    return package


@pytest.mark.parametrize("files, words", [
    ({"system__face": "import numpy as np\nx = np.linalg.inv\n"}, "system/face.py:2: system/ leaves linear algebra"),
    ({"view__other": "class Other(System):\n    pass\n"}, "view/other.py:1: 'Other' derives from System"),
    ({"dynamics__who": "class Who(Protocol):\n    pass\n"}, "dynamics/who.py:1: 'Who' stands for something after"),
    ({"view__one": "class Twin:\n    pass\n", "view__two": "class Twin:\n    pass\n"},
     "view/two.py:1: another class is called 'Twin' at view/one.py:1"),
    ({"joints__kind": "class Slot(JointKind):\n    pass\n", "view__two": "x = isinstance(k, Hinge | joints.Slot)\n"},
     "view/two.py:1: this tests for Slot; let the contract answer"),
    ({"forces__kind": "class Rope(LineForce):\n    pass\n", "view__two": "x = isinstance(k, forces.Rope)\n"},
     "view/two.py:1: this tests for Rope; let the contract answer"),
    ({f"view__file{k}": "" for k in range(40)}, "view:1: 40 files lie beside each other"),
    ({"dynamics__step": "from catena.dynamics.numbers import x\n"}, "dynamics/step.py:1: this may be traced"),
    ({"dynamics__step": "from catena.dynamics import numbers\n"}, "dynamics/step.py:1: this may be traced"),
    ({"dynamics__numbers": "y = Algorithm('y')\n"}, "dynamics/numbers.py:1: Algorithm makes code that is traced"),
    ({"sources": 'BESIDE = ("dynamics/gone.py",)\n'}, "BESIDE names 'dynamics/gone.py'"),
])  # fmt: skip
def test_each_rule_finds_its_offence(tmp_path, files, words):
    result = check(write(tmp_path / "catena", **(PLACES | files)))
    assert result.returncode == 1 and words in result.stdout, result.stdout


def test_catena_passes():
    result = check(ROOT / "src" / "catena")
    assert (result.returncode, result.stdout) == (0, "")
