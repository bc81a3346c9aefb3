"""What parts of a MuJoCo model are called, in the same way wherever a model meets a mechanism.

Parts may have no name in MJCF. `model` is a `mujoco.MjModel`; nothing of MuJoCo is imported here.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.mechanism import GROUND

FREE, BALL, SLIDE, HINGE = range(4)
"""The types of joints in `model.jnt_type`."""
SMALLEST = 2e-15
"""Mass and moments of inertia that stand for none in written files: MuJoCo wants more than 1e-15."""
LARGEST = 1e9
"""A bound that stands for none in written files: MuJoCo has ranges with two ends only."""


def body_name(model: Any, index: int) -> str:
    """Return the name of a body; that of the world is ground."""
    if index == 0:
        return GROUND
    name = model.body(index).name or f"body {index}"
    return f"{GROUND} body" if name == GROUND else name


def joint_name(model: Any, index: int) -> str:
    """Return the name of one of MuJoCo's joints, of which a body may have several."""
    name = model.joint(index).name
    if name:
        return str(name)
    body = int(model.jnt_bodyid[index])
    count = index - int(model.body_jntadr[body])
    return f"{body_name(model, body)} joint" + (f" {count + 1}" if count else "")


def merged_name(names: list[str]) -> str:
    """Return the name of the joint that stands for several of MuJoCo's."""
    return "+".join(names)


def unbounded(range_: Any) -> NDArray[np.float64]:
    """Return the two ends of a range, infinite where one stands for none."""
    ends = np.array(range_, dtype=np.float64)
    return np.where(np.abs(ends) >= LARGEST, np.copysign(np.inf, ends), ends)


def free_name(name: str, *taken: Container[str]) -> str:
    """Return a name that nothing has yet: this one, with strokes behind it if need be."""
    while any(name in one for one in taken):
        name += "'"
    return name
