"""Tendons of a MuJoCo model: fixed ones as joints that are coupled to those they run over, straight ones as springs.

A fixed tendon has the length sum(coefficient * position). Where something acts along it, a slide on ground whose body
has no mass takes that position by a coupling, and springs, dampers, friction, rotors, motors and servos of the tendon
are those of the slide. A spatial tendon that runs straight from site to site is a spring along that line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.forces import PointSpring, PolynomialJointSpring, Table, TabledJointSpring, TabledPointSpring
from catena.formats.findings import NamedParts
from catena.formats.mjcf.dofs import TENDON
from catena.formats.mjcf.equalities import fixed_tendon
from catena.formats.mjcf.names import free_name, joint_name, unbounded
from catena.joints import Prismatic
from catena.mechanism import GROUND, Mechanism

SITE = 3
"""`mjWRAP_SITE` in `wrap_type`."""


@dataclass(frozen=True, eq=False)
class _Along:
    """What acts along a tendon: polynomials of `stiffness` and `damping`, the lengths (low, high) between which its
    spring is slack, `friction`, the inertia of rotors and whether it yields for good."""

    stiffness: NDArray[np.float64]
    damping: NDArray[np.float64]
    slack: tuple[float, float]
    friction: float
    armature: float
    yields: bool

    @property
    def acts(self) -> bool:
        return bool(self.stiffness.any() or self.damping.any() or self.friction or self.armature)

    @property
    def is_said(self) -> bool:
        """Whether its spring can be said."""
        return not self.yields and (self.slack[0] == self.slack[1] or not self.stiffness[1:].any())


@dataclass(frozen=True)
class TendonJoint:
    """The slide that stands for a fixed tendon: its name, the length of the tendon where its position is zero, and the
    coupling that moves it."""

    name: str
    start: float
    coupling: str


def tendons_as_joints(model: Any, off: frozenset[str]) -> dict[int, dict[int, float]]:
    """Return the fixed tendons that something acts along, with their coefficients by joint."""
    driven = {int(k) for k, way in zip(model.actuator_trnid[:, 0], model.actuator_trntype) if way == TENDON}
    found = {}
    for k in range(model.ntendon):
        terms = fixed_tendon(model, k)
        along, is_limited = _along(model, k, off), _limits(model, k, off) is not None
        acts = (along.acts and along.is_said) or is_limited or k in driven
        if terms and any(terms.values()) and acts:
            found[k] = {joint: factor for joint, factor in terms.items() if factor}
    return found


def add_tendons(
    mechanism: Mechanism, model: Any, off: frozenset[str], sites: list[str], unread: NamedParts
) -> dict[int, TendonJoint]:
    """Add what acts along tendons, and tell what cannot be said; return the slides of fixed tendons. `sites` are the
    frames of the model's sites."""
    slides, found = tendons_as_joints(model, off), {}
    for k in range(model.ntendon):
        name, along = tendon_name(model, k), _along(model, k, off)
        limits = _limits(model, k, off)
        if k in slides:
            found[k] = _add_slide(mechanism, model, k, slides[k], along, limits, unread)
            continue
        if limits is not None:
            unread.add("limits of the tendons through space", name)
        path = _path(model, k)
        if not along.acts or (path is not None and _is_still(model, path)):
            continue
        if path is None or not along.is_said or along.friction or along.armature or _is_bent(along):
            unread.add("tendons that pull", name)
            continue
        _add_line(mechanism, name, [sites[site] for site in path], along)
    return found


def tendon_name(model: Any, k: int) -> str:
    """Return the name of a tendon."""
    return str(model.tendon(k).name) or f"tendon {k}"


def _add_slide(
    mechanism: Mechanism, model: Any, k: int, terms: dict[int, float], along: _Along,
    limits: NDArray[np.float64] | None, unread: NamedParts,
) -> TendonJoint:  # fmt: skip
    """Add the slide of a fixed tendon, its coupling and what acts along it."""
    name = free_name(tendon_name(model, k), mechanism.joints)
    body = free_name(f"{name} tendon", mechanism.bodies, mechanism.frames)
    start = sum(c * float(model.qpos0[int(model.jnt_qposadr[joint])]) for joint, c in terms.items())
    mechanism.add_body(body)
    bent = along.damping[1:].any()
    mechanism.add_joint(
        name, GROUND, body, Prismatic("x"), damping=0.0 if bent else along.damping[0], friction=along.friction,
        armature=along.armature or None, actuated=k in _driven(model),
        limits=None if limits is None else limits - start,
    )  # fmt: skip
    by_name = {joint_name(model, joint): -factor for joint, factor in terms.items()}
    coupling = free_name(f"{name} length", mechanism.couplings)
    mechanism.add_coupling(coupling, {name: 1.0, **by_name})
    if bent:
        kind = PolynomialJointSpring(damping=tuple(along.damping))
        mechanism.add_force(free_name(f"{name} damper", mechanism.force_elements), kind, joint=name)
    if along.stiffness.any() and not along.is_said:
        unread.add("tendons that pull", tendon_name(model, k))
    elif along.stiffness.any():
        called, (low, high) = free_name(f"{name} spring", mechanism.force_elements), along.slack
        if low < high:
            kind_of = TabledJointSpring(_with_slack(along, start))
            mechanism.add_force(called, kind_of, joint=name)
        elif along.stiffness[1:].any():
            mechanism.add_force(
                called, PolynomialJointSpring(tuple(along.stiffness), rest=low - start), joint=name
            )
        else:
            mechanism.add_spring(called, name, float(along.stiffness[0]), low - start)
    return TendonJoint(name, start, coupling)


def _add_line(mechanism: Mechanism, name: str, frames: list[str], along: _Along) -> None:
    """Add a tendon that runs straight from each frame to the next."""
    called, (low, high) = free_name(name, mechanism.force_elements), along.slack
    stiffness, damping = float(along.stiffness[0]), float(along.damping[0])
    if low < high and stiffness:
        damper = Table((0.0, 1.0), (0.0, damping)) if damping else None
        mechanism.add_force(called, TabledPointSpring(_with_slack(along, 0.0), damper), between=frames)
    elif len(frames) == 2:
        mechanism.add_spring_between(called, frames[0], frames[1], stiffness, low, damping)
    else:
        mechanism.add_force(called, PointSpring(stiffness, low, damping), between=frames)


def _with_slack(along: _Along, start: float) -> Table:
    """Return the force of a spring that is slack between two lengths, against the length beyond `start`."""
    low, high = (x - start for x in along.slack)
    width, k = max(high - low, 1e-3), float(along.stiffness[0])
    return Table((low - width, low, high, high + width), (-k * width, 0.0, 0.0, k * width))


def _along(model: Any, k: int, off: frozenset[str]) -> _Along:
    stiffness, damping = (_coefficients(model, f"tendon_{word}", k) for word in ("stiffness", "damping"))
    low, high = (float(x) for x in model.tendon_lengthspring[k])
    addresses = getattr(model, "tendon_plasticadr", None)
    armature = float(np.sum(getattr(model, "tendon_armature", np.zeros(model.ntendon))[k]))
    damping = damping * ("DAMPER" not in off)
    for actuator in _driven(model).get(k, ()):
        square = float(model.actuator_gear[actuator, 0]) ** 2
        armature += square * float(getattr(model, "actuator_armature", np.zeros(actuator + 1))[actuator])
        if hasattr(model, "actuator_damping") and "DAMPER" not in off:
            own = _coefficients(model, "actuator_damping", actuator)
            damping[: len(own)] += square * own
    return _Along(
        stiffness * ("SPRING" not in off),
        damping,
        (low, max(low, high)),
        float(model.tendon_frictionloss[k]) * ("FRICTIONLOSS" not in off),
        armature,
        addresses is not None and int(addresses[k]) >= 0,
    )


def _limits(model: Any, k: int, off: frozenset[str]) -> NDArray[np.float64] | None:
    """Return the shortest and the longest that a tendon may be, (2,), None where nothing bounds it."""
    return unbounded(model.tendon_range[k]) if model.tendon_limited[k] and "LIMIT" not in off else None


def _is_bent(along: _Along) -> bool:
    return bool(along.stiffness[1:].any() or along.damping[1:].any())


def _driven(model: Any) -> dict[int, list[int]]:
    """Return the actuators that pull at each tendon."""
    found: dict[int, list[int]] = {}
    for k, (way, at) in enumerate(zip(model.actuator_trntype, model.actuator_trnid[:, 0])):
        if way == TENDON:
            found.setdefault(int(at), []).append(k)
    return found


def _path(model: Any, tendon: int) -> list[int] | None:
    """Return the sites that a tendon runs over, straight from each to the next; None for one that wraps or branches."""
    first = int(model.tendon_adr[tendon])
    rows = range(first, first + int(model.tendon_num[tendon]))
    if any(int(model.wrap_type[k]) != SITE for k in rows):
        return None
    return [int(model.wrap_objid[k]) for k in rows]


def _is_still(model: Any, path: list[int]) -> bool:
    """Return whether all sites move with one body, so that a tendon over them moves nothing."""
    return len({int(model.body_weldid[int(model.site_bodyid[site])]) for site in path}) == 1


def _coefficients(model: Any, name: str, k: int) -> NDArray[np.float64]:
    first = np.atleast_1d(np.array(getattr(model, name)[k], dtype=np.float64))
    more = getattr(model, f"{name}poly", None)
    return first if more is None else np.concatenate([first, np.array(more[k], dtype=np.float64)])
