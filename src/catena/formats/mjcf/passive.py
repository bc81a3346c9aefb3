"""Forces of a MuJoCo model that act by themselves on bodies: springs of free joints, compensated weight, a fluid."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.forces import BoxInFluid, Buoyancy, Bushing, EllipsoidInFluid
from catena.formats.mjcf.names import body_name, free_name, joint_name
from catena.formats.mjcf.poses import pose_of
from catena.formats.mjcf.shapes import CAPSULE, CYLINDER, SPHERE
from catena.mechanism import GROUND, Mechanism

SMALLEST = 1e-15
"""`mjMINVAL`, which MuJoCo puts in the place of what vanishes."""


def add_passive(mechanism: Mechanism, model: Any, off: frozenset[str]) -> None:
    """Add what acts by itself on bodies."""
    if off >= {"SPRING", "DAMPER"}:
        # Without springs and dampers MuJoCo computes no passive forces at all.
        return
    if "GRAVITY" not in off:
        _add_compensation(mechanism, model)
    _add_fluid(mechanism, model)


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
        lifted = float(model.body_gravcomp[index]) * float(model.body_mass[index])
        if lifted:
            frame = _inertial_frame(mechanism, model, index)
            name = free_name(f"gravity compensation of {body_name(model, index)}", mechanism.force_elements)
            mechanism.add_force(name, Buoyancy(lifted), between=(GROUND, frame))


def _add_fluid(mechanism: Mechanism, model: Any) -> None:
    density, viscosity = float(model.opt.density), float(model.opt.viscosity)
    if density == 0.0 and viscosity == 0.0:
        return
    for index in range(1, model.nbody):
        mass = float(model.body_mass[index])
        if mass < SMALLEST:
            continue
        first, count = int(model.body_geomadr[index]), int(model.body_geomnum[index])
        shapes = [k for k in range(first, first + count) if float(model.geom_fluid[k].flat[0]) > 0.0]
        for k in shapes:
            _add_ellipsoid(mechanism, model, index, k)
        if shapes:
            continue
        moments = np.array(model.body_inertia[index])
        size = np.sqrt(np.maximum(SMALLEST, moments.sum() - 2.0 * moments) / mass * 6.0)
        frame = _inertial_frame(mechanism, model, index)
        kind = BoxInFluid(tuple(size), density, viscosity, tuple(model.opt.wind))
        name = free_name(f"fluid on {body_name(model, index)}", mechanism.force_elements)
        mechanism.add_force(name, kind, between=(GROUND, frame))


def _add_ellipsoid(mechanism: Mechanism, model: Any, body: int, geom: int) -> None:
    """Add the forces of the fluid on a shape that is taken as an ellipsoid."""
    share, blunt, slender, angular, kutta, magnus, *added = (float(x) for x in model.geom_fluid[geom].flat)
    name = str(model.geom(geom).name) or f"shape {geom} of {body_name(model, body)}"
    place = model.geom_pos[geom], model.geom_quat[geom]
    frame = _new_frame(mechanism, f"{name} centre", body_name(model, body), *place)
    kind = EllipsoidInFluid(
        _radii(model, geom), float(model.opt.density), float(model.opt.viscosity), tuple(model.opt.wind),
        blunt, slender, angular, kutta, magnus, tuple(added[:3]), tuple(added[3:6]), share,
    )  # fmt: skip
    mechanism.add_force(
        free_name(f"fluid on {name}", mechanism.force_elements), kind, between=(GROUND, frame)
    )


def _radii(model: Any, geom: int) -> tuple[float, float, float]:
    """Return the semi-axes of the ellipsoid that a shape is taken for."""
    a, b, c = (float(x) for x in model.geom_size[geom])
    kind = int(model.geom_type[geom])
    if kind == SPHERE:
        return a, a, a
    if kind == CAPSULE:
        return a, a, b + a
    if kind == CYLINDER:
        return a, a, b
    return a, b, c


def yields(model: Any, k: int) -> bool:
    """Return whether the spring of a joint gives way for good, which newer versions of MuJoCo have."""
    addresses = getattr(model, "jnt_plasticadr", None)
    return addresses is not None and int(addresses[k]) >= 0


def _inertial_frame(mechanism: Mechanism, model: Any, index: int) -> str:
    """Return the frame in a body's mass centre, along its principal axes."""
    body = body_name(model, index)
    name = f"{body} mass centre"
    if name in mechanism.frames and mechanism.frames[name].body == body:
        return name
    return _new_frame(mechanism, name, body, model.body_ipos[index], model.body_iquat[index])


def _new_frame(mechanism: Mechanism, name: str, body: str, p: Any, quat: Any) -> str:
    free = free_name(name, mechanism.frames, mechanism.bodies)
    mechanism.add_frame(free, body, pose_of(p, quat))
    return free
