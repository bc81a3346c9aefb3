"""Stress resultants along the beams of a system at states of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.questions.resultants import BeamMotion, along_beam
from catena.system.own_forces import with_wrenches

if TYPE_CHECKING:
    from catena.system.system import System


def beam_resultants(
    system: System, body: Any, x: Any, q: np.ndarray, v: np.ndarray, vdot: np.ndarray,
    reactions: Mapping[str, np.ndarray], f_ext: Mapping[str, Any] | None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return the resultants {name: (..., n)} of a beam at places x (n,) for states (..., nq), (..., nv) that accelerate
    by vdot, with the wrenches of joints and those on frames and bodies."""

    def motion() -> BeamMotion:
        twist, acceleration = system.twist(q, v, body), system.acceleration(q, v, vdot, body)
        return BeamMotion(q, v, vdot, system.body_poses(q), twist, acceleration)

    pressing = with_wrenches(f_ext, system.forces.loads(q, v).between)
    return along_beam(system.mechanism, system.plan, body, x, motion, reactions, pressing)
