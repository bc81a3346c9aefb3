"""Motions that are shown without a run: a way in which a mechanism can move, and one that is pulled by the pointer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import CatenaError, StateError
from catena.simulation import simulate
from catena.simulation.acting.external import ExternalWrench
from catena.studio.reading import TextReading
from catena.system import System
from catena.validation import shown
from catena.view.course import Course
from catena.view.movie import body_frames

Floats = NDArray[np.float64]

SWING = 0.25
"""How far [rad, or parts of a metre] the coordinate that moves most goes to either side."""
STEPS = 12
"""Configurations to either side."""
LONGEST = 0.25
"""Seconds of motion that one question may ask for."""
PULL = 40.0
"""How hard a point is pulled: newtons for each metre that the pointer is away, for each kilogram of the mechanism."""


def swing(system: System, q: Floats, way: Any) -> Course:
    """Return the mechanism at q (nq,) swinging to both sides in one of its ways, loops closed, as a course."""
    ways = ways_to_move(system, q)
    if isinstance(way, bool) or not isinstance(way, int) or not 0 <= way < len(ways):
        raise StateError(f"way is {shown(way)}; it can move in {len(ways)} ways, counted from 0.")
    step = ways[way] * (SWING / STEPS / float(np.max(np.abs(ways[way]))))
    sides = [_along(system, q, side * step) for side in (1.0, -1.0)]
    there, back = sides
    path = [q, *there, *there[-2::-1], q, *back, *back[-2::-1], q]
    return Course(system, np.array(path))


def ways_to_move(system: System, q: Floats) -> Floats:
    """Independent velocities (ways, nv) of the closed mechanism at q (nq,), of length 1."""
    if not system.mechanics.constrained:
        return np.eye(system.nv)
    K = np.asarray(system.closure_jacobian(q))
    _, sizes, rows = np.linalg.svd(K)
    rank = int(np.sum(sizes > 1e-9 * max(1.0, float(np.max(sizes, initial=0.0)))))
    return np.asarray(rows[rank:])


def _along(system: System, q: Floats, step: Floats) -> list[Floats]:
    """Configurations one step after the other, as far as the loops close."""
    found = [q]
    for _ in range(STEPS):
        moved = np.asarray(system.integrate(found[-1], step))
        try:
            found.append(np.asarray(system.project(moved)) if system.mechanics.constrained else moved)
        except CatenaError:
            break
    return found[1:] or [q]


def pull_point(reading: TextReading, question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state after some hundredths of a second in which a point of a body is pulled towards a place: a spring
    and a damper from the point to the pointer act beside everything else that the scenario has."""
    scenario = reading.scenario
    assert scenario is not None
    system = scenario.system
    q, v = (
        _numbers(question.get(name), (size,), name) for name, size in (("q", system.nq), ("v", system.nv))
    )
    t = float(_numbers(question.get("t", 0.0), (), "t"))
    seconds = float(np.clip(_numbers(question.get("seconds"), (), "seconds"), 1e-3, LONGEST))
    forces: dict[str, Any] = dict(scenario.wrenches)
    body = question.get("body")
    if body is not None:
        if body not in reading.shape.bodies[1:]:
            raise StateError(f"no body is called {shown(body)}.")
        point, to = (_numbers(question.get(name), (3,), name) for name in ("point", "to"))
        mass = sum(each.mass for each in scenario.mechanism.bodies.values()) or 1.0
        forces[str(body)] = _hand(system, str(body), point, to, PULL * mass)
    control: Any = scenario.control
    run = simulate(
        system, q, v, seconds, control=control, motion=scenario.drives, forces=forces, start=t,
        integrator="rk4", step=min(4e-3, seconds), samples=2, check=False, parameters=scenario.parameters or None,
    )  # fmt: skip
    end_q, end_v = np.asarray(run.q)[-1], np.asarray(run.v)[-1]
    poses = body_frames(reading.shape, end_q)
    return {
        "t": t + seconds, "q": [float(x) for x in end_q], "v": [float(x) for x in end_v],
        "poses": [float(f"{x:.9g}") for x in poses.ravel()],
    }  # fmt: skip


def _hand(system: System, body: str, point: Floats, to: Floats, stiffness: float) -> ExternalWrench:
    """Return the wrench of a hand that holds a point (3,) of a body and pulls it to a place (3,), in the axes of the
    body."""
    damping = 0.4 * stiffness

    def wrench(t: float, q: Floats, v: Floats) -> Floats:
        pose = np.asarray(system.body_poses(q)[body])
        twist = np.asarray(system.twist(q, v, body))
        away = np.einsum("...ji,...j->...i", pose[..., :3, :3], to - pose[..., :3, 3]) - point
        rate = twist[..., 3:] + np.cross(twist[..., :3], point)
        force = stiffness * away - damping * rate
        return np.concatenate([np.cross(point, force), force], axis=-1)

    return ExternalWrench(wrench, None)


def _numbers(sent: Any, shape: tuple[int, ...], name: str) -> Floats:
    try:
        values = np.asarray(sent, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise StateError(f"{name} is {shown(sent)}; send numbers.") from None
    if values.shape != shape or isinstance(sent, bool) or not np.all(np.isfinite(values)):
        raise StateError(f"{name} has shape {values.shape}; send {shape} finite numbers.")
    return values
