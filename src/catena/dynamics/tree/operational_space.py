"""The operational-space inertia of a frame by force propagation: three sweeps and two steps at the frame, cost
O(N). Van der Merwe §5.2.6; Lilly and Orin.

Six unit wrenches on the frame are carried down to the base as an articulated body feels them, and the
accelerations they cause are carried up again: Omega = H^-1 J^T from the joints, Lambda^-1 = J Omega at the
frame. Neither H nor J is formed.
"""

from typing import Any

import numpy as np

from catena.dynamics.tree.rotors import felt_through, with_rotor
from catena.kernels import POSITION, ROWS, Algorithm, at_frame, base_to_tip, tip_to_base
from catena.spatial import ArticulatedInertia, ForceSpace, MotionSpace, spd_inverse


def ground(ground: Any) -> None:
    """The ground does not yield."""
    ground.IA = ArticulatedInertia.zero()
    ground.F = ForceSpace.zero(6)
    ground.A = MotionSpace.zero(6)


@base_to_tip
def place(body: Any, parent: Any) -> None:
    """Where each joint stands and how it can move."""
    body.X = body.joint.transform(body.q) * body.placement
    body.S = body.joint.motion_space(body.q)


@at_frame
def push(frame: Any, body: Any) -> None:
    """Six unit wrenches on the frame."""
    body.IA = ArticulatedInertia.zero()
    body.F = frame.placement.pull(ForceSpace(np.eye(6)))


@tip_to_base
def propagate(body: Any, parent: Any) -> None:
    """What the parent feels of inertia and wrenches."""
    IA = body.IA + body.inertia
    U = IA * body.S
    D_inv = spd_inverse(with_rotor(body.joint, body.S.T * U))
    e = D_inv @ (body.S.T * body.F)
    parent.IA += body.X.pull(felt_through(body.joint, IA, body.S, U, D_inv))
    parent.F += body.X.pull(body.F - U * e)
    body.W, body.e = U * D_inv, e


@base_to_tip
def respond(body: Any, parent: Any) -> None:
    """How joints and bodies accelerate under each wrench."""
    A = body.X * parent.A
    body.Omega = body.e - body.W.T * A
    body.A = A + body.S * body.Omega


@at_frame
def feel(frame: Any, body: Any) -> None:
    """How the frame accelerates under each wrench."""
    frame.Lambda_inv = frame.placement * body.A


operational_space = Algorithm(
    "operational_space", ground, (place, push, propagate, respond, feel), inputs={"q": POSITION},
    outputs={"Omega": ROWS}, frame_outputs=("Lambda_inv",),
)  # fmt: skip
