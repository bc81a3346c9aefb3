"""Actuators of a MuJoCo model that drive a joint.

The effort of a motor is what MuJoCo calls the actuator force. How a position or velocity servo computes it is control
and is not read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import CatenaError
from catena.formats.findings import Severity
from catena.formats.mjcf.names import joint_name, merged_name
from catena.formats.source import Source
from catena.mechanism import Mechanism

AT_JOINT = (0, 1)
"""The transmissions of `actuator_trntype` to a joint, in the axes of the child or of the parent."""
NO_BIAS = 0
FIXED_GAIN = 0


def add_actuators(mechanism: Mechanism, model: Any, source: Source) -> None:
    """Add those actuators that drive joints."""
    where = _components(mechanism, model)
    for k in range(model.nu):
        name = str(model.actuator(k).name) or f"actuator {k}"
        who = f"actuator {name!r}"
        joint = int(model.actuator_trnid[k, 0])
        if int(model.actuator_trntype[k]) not in AT_JOINT or joint not in where:
            source.note(
                Severity.WARNING,
                who,
                "it does not drive a joint with one freedom and is not read",
                what="unread",
            )
            continue
        gear = float(model.actuator_gear[k, 0])
        if gear == 0.0:
            source.note(
                Severity.WARNING, who, "its gear is zero, so it drives nothing: left out", what="unread"
            )
            continue
        own, component = where[joint]
        is_motor = model.actuator_biastype[k] == NO_BIAS and model.actuator_gaintype[k] == FIXED_GAIN
        if not is_motor:
            source.note(
                Severity.NOTE, who, "it is a servo: the motor is read, its controller is not", what="unread"
            )
        try:
            mechanism.add_actuator(name, own, component, gear, _limits(model, k, is_motor))
        except CatenaError as error:
            source.note(
                Severity.WARNING, who, f"{str(error).removeprefix(f'{who}: ')}: left out", what="unread"
            )


def _limits(model: Any, k: int, is_motor: bool) -> Any:
    """The lowest and highest effort; of a motor also as far as its control signal allows."""
    low, high = -np.inf, np.inf
    if model.actuator_forcelimited[k]:
        low, high = model.actuator_forcerange[k]
    if is_motor and model.actuator_ctrllimited[k]:
        ends = sorted(float(model.actuator_gainprm[k, 0]) * np.array(model.actuator_ctrlrange[k]))
        low, high = max(low, ends[0]), min(high, ends[1])
    return (float(low), float(high)) if low <= 0.0 <= high else None


def _components(mechanism: Mechanism, model: Any) -> dict[int, tuple[str, int]]:
    """For each joint of the model with one freedom the joint of the mechanism that has it, and its component there."""
    found = {}
    for body in range(1, model.nbody):
        first = int(model.body_jntadr[body])
        indices = range(first, first + int(model.body_jntnum[body]))
        names = [joint_name(model, k) for k in indices]
        whole = merged_name(names)
        for component, k in enumerate(indices):
            if model.jnt_type[k] in (2, 3):
                merged = whole in mechanism.joints
                found[k] = (whole, component) if merged else (names[component], 0)
    return found
