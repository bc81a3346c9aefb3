"""Hybrid dynamics: forward dynamics with some joint accelerations given, and the forces that give them. Three sweeps,
cost O(N). Featherstone, chapter 9.

A driven joint does not yield: its body is felt as if the joint were rigid, besides the acceleration S qdd that its
drive gives it, so a driven body needs no inertia. The drive's force is what passes through the joint along S.
"""

from typing import Any

import numpy as np

from catena.dynamics.tree.articulated_body import (
    accelerations as free_accelerations,
    articulated_body,
    ground,
    pass_on,
    resistance,
    velocities as free_velocities,
)
from catena.dynamics.tree.rotors import rotor_force, with_rotor
from catena.kernels import VELOCITY, Algorithm, base_to_tip, tip_to_base
from catena.spatial import ArticulatedInertia, spd_inverse
from catena.spatial.scalars import array

DRIVE_INPUTS = {"driven": VELOCITY, "qdd_given": VELOCITY}
"""1 where the acceleration is given and 0 elsewhere, and the accelerations, which count where they are given."""


@base_to_tip
def velocities(body: Any, parent: Any) -> None:
    """As in free motion; what drives give belongs to the acceleration that needs no force of the joint."""
    free_velocities.step(body, parent)
    body.c = body.c + body.S * (body.driven * body.qdd_given)


@tip_to_base
def articulated_inertias(body: Any, parent: Any) -> None:
    """What the parent feels of a body through a joint that yields in part or not at all."""
    IA, pA, U, u = resistance(body)
    D_inv = inverse_where_free(with_rotor(body.joint, body.S.T * U), body.driven)
    pass_on(body, parent, IA - ArticulatedInertia.from_outer(U, D_inv), pA, U, D_inv, u)


def inverse_where_free(D: np.ndarray, driven: np.ndarray) -> np.ndarray:
    """Return the inverse of the rows and columns of D (n, n) that are not driven, zero in the others."""
    n = len(driven)
    left = [1.0 - x for x in driven]
    masked = [
        [left[i] * D[i, j] * left[j] + (driven[i] if i == j else 0.0) for j in range(n)] for i in range(n)
    ]
    inverse = spd_inverse(array(masked).reshape(n, n))
    return array([[left[i] * inverse[i, j] * left[j] for j in range(n)] for i in range(n)]).reshape(n, n)


@base_to_tip
def accelerations(body: Any, parent: Any) -> None:
    """Free joints accelerate as forces have it, driven ones as given; `drive` is the joint force of both."""
    free_accelerations.step(body, parent)
    body.qdd = body.qdd + body.driven * body.qdd_given
    force = body.U.T * body.a - body.u + rotor_force(body.joint, body.qdd)
    body.drive = body.tau + body.driven * force


hybrid_dynamics = Algorithm(
    "hybrid_dynamics", ground, (velocities, articulated_inertias, accelerations),
    inputs={**articulated_body.inputs, **DRIVE_INPUTS},
    outputs={"qdd": VELOCITY, "drive": VELOCITY}, ground_inputs=articulated_body.ground_inputs,
    optional=articulated_body.optional, rewritten=frozenset({"c"}),
)  # fmt: skip
