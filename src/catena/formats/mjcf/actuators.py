"""Actuators of a MuJoCo model that drive a joint.

The effort of a motor is what MuJoCo calls the actuator force. A motor waits for the efforts that a simulation gives it.
An actuator whose force depends on position or velocity is a servo and acts by itself: it becomes a force of the kind
`Servo` with the control signal of the keyframe that motions start from, or zero where there is none, or what its range
allows next to that. Of an actuator that is slow the activation is the signal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from catena.errors import CatenaError
from catena.forces import Servo
from catena.formats.findings import NamedParts, Severity
from catena.formats.mjcf.dofs import TENDON, drives_one_freedom
from catena.formats.mjcf.names import free_name, joint_name, merged_name, unbounded
from catena.formats.mjcf.tendons import TendonJoint
from catena.formats.source import Source
from catena.mechanism import Mechanism

FIXED_GAIN, AFFINE_GAIN = 0, 1
NO_BIAS, AFFINE_BIAS = 0, 1
NO_DYNAMICS = 0
_ELSEWHERE = {
    0: "at balls and free joints (give joint forces)",
    1: "at balls and free joints (give joint forces)",
    2: "that push by a crank",
    3: "of tendons through space",
    4: "at sites (give wrenches on their frames)",
    5: "that make bodies adhere",
}
"""What actuators do that are no motors of one freedom, by `actuator_trntype`."""
Place = tuple[str, int, float]
"""A joint, a component of it, and the position of MuJoCo's where that of the component is zero."""


def add_actuators(
    mechanism: Mechanism,
    model: Any,
    off: frozenset[str],
    begins: tuple[Any, Any],
    slides: Mapping[int, TendonJoint],
    source: Source,
    unread: NamedParts,
) -> dict[str, tuple[str, int]]:
    """Add those actuators that drive joints of one freedom, or tendons that are `slides`. `told` are the control
    signals and activations that they start with. Return where the signal of each servo stands in these: "ctrl" or
    "act", and its place there."""
    places = _places(mechanism, model, slides)
    chosen = [k for k in range(len(model.actuator_trntype)) if _is_read(model, k, places, source, unread)]
    alone = _alone(model)
    driven: set[tuple[str, int]] = set()
    signals: dict[str, tuple[str, int]] = {}
    # Motors come first, because a freedom has one of them, and servos act whether or not they find a place there.
    for k in sorted(chosen, key=lambda k: not _is_motor(model, k)):
        own, component, _ = places[k]
        name, is_motor = _name(model, k), _is_motor(model, k)
        if not is_motor and not _is_off(model, k, off):
            _add_servo(mechanism, model, k, places[k], k in alone, off, begins, unread, signals)
        if not is_motor and ((own, component) in driven or name in mechanism.actuators):
            continue
        try:
            gear = float(model.actuator_gear[k, 0])
            mechanism.add_actuator(name, own, component, gear, _limits(model, k, is_motor, k in alone))
            driven.add((own, component))
        except CatenaError as error:
            who = f"actuator {name!r}"
            source.note(
                Severity.WARNING, who, f"{str(error).removeprefix(f'{who}: ')}: left out", what="unread"
            )
    for k in chosen:
        if _bounds_of_joint(model, k) is not None and k not in alone:
            unread.add("limits of what several actuators do together, by the actuators", _name(model, k))
        elif _bounds_of_joint(model, k) is not None and _bears_weight(model, k):
            unread.add(
                "limits of what actuators and compensated weight do together, by the actuators",
                _name(model, k),
            )
    return signals


def _is_read(model: Any, k: int, places: dict[int, Place], source: Source, unread: NamedParts) -> bool:
    """Return whether an actuator becomes a motor or a servo; if not, this is told."""
    name, who = _name(model, k), f"actuator {_name(model, k)!r}"
    if k not in places:
        unread.add(f"actuators {_ELSEWHERE.get(int(model.actuator_trntype[k]), 'of other sorts')}", name)
        return False
    if float(model.actuator_gear[k, 0]) == 0.0:
        source.note(Severity.WARNING, who, "its gear is zero, so it drives nothing: left out", what="unread")
        return False
    return True


def _is_motor(model: Any, k: int) -> bool:
    """Return whether the force of an actuator is its control signal times a number."""
    return bool(
        model.actuator_biastype[k] == NO_BIAS
        and model.actuator_gaintype[k] == FIXED_GAIN
        and model.actuator_dyntype[k] == NO_DYNAMICS
        and not (model.actuator_ctrllimited[k] and not _range_holds_zero(model.actuator_ctrlrange[k]))
    )


def _range_holds_zero(limits: Any) -> bool:
    return bool(limits[0] <= 0.0 <= limits[1])


def _is_off(model: Any, k: int, off: frozenset[str]) -> bool:
    """Return whether a flag, or the group of an actuator, switches it off."""
    group = int(model.actuator_group[k])
    mask = int(getattr(model.opt, "disableactuator", 0))
    return "ACTUATION" in off or (0 <= group < 31 and bool(mask >> group & 1))


def _add_servo(
    mechanism: Mechanism, model: Any, k: int, place: Place, is_alone: bool, off: frozenset[str],
    begins: tuple[Any, Any], unread: NamedParts, signals: dict[str, tuple[str, int]],
) -> None:  # fmt: skip
    name = _name(model, k)
    gain_type, bias_type = int(model.actuator_gaintype[k]), int(model.actuator_biastype[k])
    if gain_type not in (FIXED_GAIN, AFFINE_GAIN) or bias_type not in (NO_BIAS, AFFINE_BIAS):
        unread.add("actuators with a law of their own (muscles, PID, motors with windings)", name)
        return
    gear = float(model.actuator_gear[k, 0])
    joint, component, begin = place
    # MuJoCo counts from the zero of the joint, Catena from the configuration of the file.
    start = gear * begin
    gain = _affine(model.actuator_gainprm[k], gain_type == AFFINE_GAIN, start)
    bias = _affine(model.actuator_biasprm[k], True, start) if bias_type == AFFINE_BIAS else (0.0,) * 3
    if model.actuator_dyntype[k] != NO_DYNAMICS:
        # What its force is made of is the activation, which in MuJoCo follows the control signal in time.
        unread.add(
            "how activations follow the control signals (they are the signals here) of the actuators", name
        )
        at = "act", int(model.actuator_actadr[k]) + int(model.actuator_actnum[k]) - 1
        signal = float(begins[1][at[1]])
        if model.actuator_actlimited[k]:
            signal = float(np.clip(signal, *model.actuator_actrange[k]))
    else:
        at = "ctrl", int(getattr(model, "actuator_ctrladr", range(k + 1))[k])
        signal = float(begins[0][at[1]])
        if model.actuator_ctrllimited[k] and "CLAMPCTRL" not in off:
            signal = float(np.clip(signal, *model.actuator_ctrlrange[k]))
    low, high = _effort_limits(model, k, is_alone)
    limits = (low, high) if np.isfinite(low) and np.isfinite(high) else ()
    kind = Servo(gain, bias, signal, gear, limits, component)
    if any(gain) or any(bias):
        called = free_name(name, mechanism.force_elements)
        mechanism.add_force(called, kind, joint=joint)
        signals[called] = at


def _affine(parameters: Any, is_affine: bool, start: float) -> tuple[float, float, float]:
    """Return the coefficients of 1, x and its rate, where x counts from `start`."""
    c0, c1, c2 = (float(x) for x in parameters[:3])
    return (c0 + c1 * start, c1, c2) if is_affine else (c0, 0.0, 0.0)


def _effort_limits(model: Any, k: int, is_alone: bool) -> tuple[float, float]:
    """Return the lowest and highest force of an actuator, also as far as its joint allows if nothing else drives
    that."""
    low, high = -np.inf, np.inf
    if model.actuator_forcelimited[k]:
        low, high = (float(x) for x in unbounded(model.actuator_forcerange[k]))
    bounds = _bounds_of_joint(model, k)
    if bounds is not None and is_alone:
        ends = sorted(unbounded(bounds) / float(model.actuator_gear[k, 0]))
        low, high = max(low, float(ends[0])), min(high, float(ends[1]))
    return low, high


def _bounds_of_joint(model: Any, k: int) -> Any:
    """Return what all actuators of a joint or tendon may do together, None where nothing bounds it."""
    word, at = "tendon" if model.actuator_trntype[k] == TENDON else "jnt", int(model.actuator_trnid[k, 0])
    limited = getattr(model, f"{word}_actfrclimited", None)
    return None if limited is None or not limited[at] else getattr(model, f"{word}_actfrcrange")[at]


def _bears_weight(model: Any, k: int) -> bool:
    """Return whether the actuator of a joint is what compensates weight there."""
    bears = getattr(model, "jnt_actgravcomp", None)
    if bears is None or model.actuator_trntype[k] == TENDON:
        return False
    return bool(bears[int(model.actuator_trnid[k, 0])]) and bool(np.any(model.body_gravcomp))


def _limits(model: Any, k: int, is_motor: bool, is_alone: bool) -> Any:
    """Return the lowest and highest effort; of a motor also as far as its control signal allows."""
    low, high = _effort_limits(model, k, is_alone)
    if is_motor and model.actuator_ctrllimited[k]:
        ends = sorted(float(model.actuator_gainprm[k, 0]) * unbounded(model.actuator_ctrlrange[k]))
        low, high = max(low, ends[0]), min(high, ends[1])
    return (float(low), float(high)) if low <= 0.0 <= high else None


def _alone(model: Any) -> set[int]:
    """Return the actuators of joints that no other actuator drives."""
    at: dict[tuple[bool, int], list[int]] = {}
    for k in range(len(model.actuator_trntype)):
        on_tendon = model.actuator_trntype[k] == TENDON
        if on_tendon or drives_one_freedom(model, k):
            at.setdefault((on_tendon, int(model.actuator_trnid[k, 0])), []).append(k)
    return {several[0] for several in at.values() if len(several) == 1}


def _name(model: Any, k: int) -> str:
    return str(model.actuator(k).name) or f"actuator {k}"


def _places(mechanism: Mechanism, model: Any, slides: Mapping[int, TendonJoint]) -> dict[int, Place]:
    """For each actuator that drives one freedom the joint of the mechanism that has it, its component there, and where
    MuJoCo counts from."""
    where, found = components_of(mechanism, model), {}
    for k in range(len(model.actuator_trntype)):
        at = int(model.actuator_trnid[k, 0])
        if model.actuator_trntype[k] == TENDON and at in slides:
            found[k] = slides[at].name, 0, slides[at].start
        elif drives_one_freedom(model, k) and at in where:
            found[k] = *where[at], float(model.qpos0[int(model.jnt_qposadr[at])])
    return found


def components_of(mechanism: Mechanism, model: Any) -> dict[int, tuple[str, int]]:
    """Return for each joint of the model with one freedom the joint of the mechanism that has it, and its component
    there."""
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
