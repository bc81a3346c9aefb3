"""The tally of closed-chain robots: one that moves and one whose loop cannot be closed, by their files."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INERTIAL = (
    '<inertial><origin xyz="0.2 0 0"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'
)


def robot(reach: float) -> str:
    """Two bars from pins a metre apart, whose ends meet where both reach far enough."""
    parts = ['<robot name="bars"><link name="base"/>']
    for name, at, side in (("left", 0, 1), ("right", 1, -1)):
        parts.append(
            f'<link name="{name}">{INERTIAL}</link><link name="{name} end"/>'
            f'<joint name="{name} pin" type="continuous"><origin xyz="{at} 0 0"/><parent link="base"/>'
            f'<child link="{name}"/><axis xyz="0 1 0"/></joint>'
            f'<joint name="{name} tip" type="fixed"><origin xyz="{side * reach} 0 0.1"/><parent link="{name}"/>'
            f'<child link="{name} end"/></joint>'
        )
    return "".join([*parts, "</robot>"])


def test_robots_are_tallied_and_those_at_fault_are_told(tmp_path):
    pytest.importorskip("yaml")
    for name, reach in (("short", 0.2), ("fits", 0.6)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "robot.urdf").write_text(robot(reach))
        # The bars are held together at a point: a rigid triangle, which has no motion left.
        pair = "closed_loop: [[left end, right end]]\ntype: [3d]\nname_mot: [left pin]\n"
        (folder / "robot.yaml").write_text(pair)
    command = [sys.executable, str(ROOT / "tools" / "closed_chain_robots.py"), str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stderr
    assert "fits                   mobility  0 motors  1 loops 1" in told.stdout
    assert "short                  cannot be closed" in told.stdout and "move joint" in told.stdout
    assert "2 files" in told.stdout and "1 agrees" in told.stdout and "1 refused" in told.stdout
