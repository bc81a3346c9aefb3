"""The tally of collections: small files of every verdict, and some of packages where these are installed."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
LINK = f'<link name="{{}}"><inertial><mass value="1"/>{INERTIA}</inertial></link>'
HINGE = (
    '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>'
    '<dynamics damping="0.3" friction="0.2"/></joint>'
)
FILES = {
    "tree.urdf": f'<robot name="m">{LINK.format("a")}{LINK.format("b")}{HINGE}</robot>',
    "massless.urdf": f'<robot name="m">{LINK.format("a")}<link name="b"/>{HINGE}</robot>',
    "broken.urdf": "<robot>",
    "bars.sdf": '<sdf><model name="m"><link name="a"><inertial><mass>1</mass></inertial></link></model></sdf>',
    "servo.xml": '<mujoco><worldbody><body><joint name="j" armature="0.1" damping="0.2" stiffness="3"/>'
    '<geom size="0.1" pos="0.3 0 0"/></body></worldbody><actuator><position joint="j" kp="5" kv="1"/></actuator>'
    "</mujoco>",
}


def tallied(*folders):
    command = [sys.executable, str(ROOT / "tools" / "model_collections.py"), *map(str, folders)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


def test_every_file_has_a_verdict(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    told = tallied(tmp_path)
    assert (
        "5 files" in told
        and "2 agrees" in told
        and "2 loads, cannot be compared" in told
        and "1 refused" in told
    )
    assert "can move without moving any inertia" in told and "no other program here reads SDF" in told


SOME = {
    "gymnasium": "gymnasium/envs/mujoco/assets/",
    "dm_control": "dm_control/suite/",
    "example-robot-data": "example-robot-data/robots/ur_description/",
}


@pytest.mark.slow
@pytest.mark.parametrize("package", SOME)
def test_files_of_packages_agree_or_say_why_not(package):
    """Forward dynamics against MuJoCo and Pinocchio; nothing is wrong and nothing is silent."""
    try:
        found = [one for one in files(package) or () if SOME[package] in str(one)]
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed: pip install --no-deps {package}")
    path = str(found[0].locate())
    told = tallied(path[: path.index(SOME[package]) + len(SOME[package])])
    assert "agrees" in told and "WRONG" not in told
