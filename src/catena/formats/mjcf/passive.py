"""Forces of a MuJoCo model that act by themselves on bodies: springs of free joints, tendons that are springs between
two sites, compensated weight, and a fluid."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.forces import BoxInFluid, Bushing
from catena.formats.mjcf.equalities import fixed_tendon
from catena.formats.mjcf.names import body_name, free_name, joint_name
from catena.formats.mjcf.poses import pose_of
from catena.formats.named import NamedParts
from catena.mechanism import GROUND, Mechanism

SMALLEST = 1e-15
"""`mjMINVAL`, which MuJoCo puts in the place of what vanishes."""
SITE = 3
"""`mjWRAP_SITE` in `wrap_type`."""


def add_passive(
    mechanism: Mechanism, model: Any, off: frozenset[str], sites: list[str], unread: NamedParts
) -> None:
    """Add what acts by itself on bodies; `sites` are the frames of the model's sites."""
    _add_tendons(mechanism, model, off, sites, unread)
    if off >= {"SPRING", "DAMPER"}:
        # Without springs and dampers MuJoCo computes no passive forces at all.
        return
    if "GRAVITY" not in off:
        _add_compensation(mechanism, model)
    _add_fluid(mechanism, model, unread)


def add_free_spring(mechanism: Mechanism, model: Any, joint: int, stiffness: float) -> None:
    """Add the spring of a free joint: MuJoCo has one along the way in the world and one about the turn."""
    name, at = joint_name(model, joint), int(model.jnt_qposadr[joint])
    body = body_name(model, int(model.jnt_bodyid[joint]))
    rest = np.array(model.qpos_spring[at : at + 7])
    frame = _new_frame(mechanism, f"{name} at rest", GROUND, rest[:3], rest[3:])
    spring = free_name(f"{name} spring", mechanism.force_elements)
    mechanism.add_spring_between(spring, frame, body, stiffness)
    turning = Bushing((stiffness,) * 3 + (0.0,) * 3)
    mechanism.add_force(
        free_name(f"{name} turning spring", mechanism.force_elements), turning, between=(frame, body)
    )


def _add_compensation(mechanism: Mechanism, model: Any) -> None:
    for index in range(1, model.nbody):
        part = float(model.body_gravcomp[index])
        if part:
            frame = _inertial_frame(mechanism, model, index)
            force = -part * float(model.body_mass[index]) * mechanism.gravity
            name = free_name(f"gravity compensation of {body_name(model, index)}", mechanism.force_elements)
            mechanism.add_wrench(name, frame, force=force)


def _add_fluid(mechanism: Mechanism, model: Any, unread: NamedParts) -> None:
    density, viscosity = float(model.opt.density), float(model.opt.viscosity)
    if density == 0.0 and viscosity == 0.0:
        return
    for index in range(1, model.nbody):
        mass = float(model.body_mass[index])
        if mass < SMALLEST:
            continue
        first, count = int(model.body_geomadr[index]), int(model.body_geomnum[index])
        if any(float(row.flat[0]) > 0.0 for row in model.geom_fluid[first : first + count]):
            unread.add("fluid forces on ellipsoids of the bodies", body_name(model, index))
            continue
        moments = np.array(model.body_inertia[index])
        size = np.sqrt(np.maximum(SMALLEST, moments.sum() - 2.0 * moments) / mass * 6.0)
        frame = _inertial_frame(mechanism, model, index)
        kind = BoxInFluid(tuple(size), density, viscosity, tuple(model.opt.wind))
        name = free_name(f"fluid on {body_name(model, index)}", mechanism.force_elements)
        mechanism.add_force(name, kind, between=(GROUND, frame))


def _add_tendons(
    mechanism: Mechanism, model: Any, off: frozenset[str], sites: list[str], unread: NamedParts
) -> None:
    """Add tendons that are straight springs, and tell all others that act."""
    for k in range(model.ntendon):
        name = str(model.tendon(k).name) or f"tendon {k}"
        stiffness, damping = (_coefficients(model, f"tendon_{word}", k) for word in ("stiffness", "damping"))
        stiffness = stiffness * ("SPRING" not in off)
        damping = damping * ("DAMPER" not in off)
        friction = float(model.tendon_frictionloss[k]) if "FRICTIONLOSS" not in off else 0.0
        armature = float(np.sum(getattr(model, "tendon_armature", np.zeros(model.ntendon))[k]))
        others = bool(model.tendon_limited[k]) and "LIMIT" not in off
        if not (stiffness.any() or damping.any() or friction or armature or others):
            continue
        ends = _ends(model, k)
        low, high = (float(x) for x in model.tendon_lengthspring[k])
        is_line = not (stiffness[1:].any() or damping[1:].any() or friction or armature or others)
        if ends is None or not is_line or low != high or yields(model, "tendon", k):
            unread.add("tendons that pull", name)
            continue
        a, b = (sites[end] for end in ends)
        called = free_name(name, mechanism.force_elements)
        mechanism.add_spring_between(called, a, b, float(stiffness[0]), low, float(damping[0]))


def _ends(model: Any, tendon: int) -> tuple[int, int] | None:
    """The two sites of a tendon that runs straight from one to the other, None for any other."""
    if fixed_tendon(model, tendon) is not None or int(model.tendon_num[tendon]) != 2:
        return None
    first = int(model.tendon_adr[tendon])
    if any(int(model.wrap_type[k]) != SITE for k in (first, first + 1)):
        return None
    return int(model.wrap_objid[first]), int(model.wrap_objid[first + 1])


def _coefficients(model: Any, name: str, k: int) -> Any:
    first = np.atleast_1d(np.array(getattr(model, name)[k], dtype=np.float64))
    more = getattr(model, f"{name}poly", None)
    return first if more is None else np.concatenate([first, np.array(more[k], dtype=np.float64)])


def yields(model: Any, word: str, k: int) -> bool:
    """Whether the spring of a joint ("jnt") or a tendon gives way for good, which newer versions of MuJoCo have."""
    addresses = getattr(model, f"{word}_plasticadr", None)
    return addresses is not None and int(addresses[k]) >= 0


def _inertial_frame(mechanism: Mechanism, model: Any, index: int) -> str:
    """The frame in a body's mass centre, along its principal axes."""
    body = body_name(model, index)
    name = f"{body} mass centre"
    if name in mechanism.frames and mechanism.frames[name].body == body:
        return name
    return _new_frame(mechanism, name, body, model.body_ipos[index], model.body_iquat[index])


def _new_frame(mechanism: Mechanism, name: str, body: str, p: Any, quat: Any) -> str:
    free = free_name(name, mechanism.frames, mechanism.bodies)
    mechanism.add_frame(free, body, pose_of(p, quat))
    return free
