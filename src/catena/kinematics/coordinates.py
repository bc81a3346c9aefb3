"""Steps on the manifold of q: q (+) v and its inverse, joint by joint."""

from typing import Any

from catena.kernels import POSITION, VELOCITY, Algorithm, Sweep, each_body


def ground(ground: Any) -> None:
    """The ground has no coordinates."""


@each_body
def advance(body: Any) -> None:
    """Follow a constant joint velocity for unit time."""
    body.q_next = body.joint.integrate(body.q, body.qd)


@each_body
def compare(body: Any) -> None:
    """The constant joint velocity that leads from one configuration to the other in unit time."""
    body.step = body.joint.difference(body.q, body.q_next)


@each_body
def flow(body: Any) -> None:
    """The time derivative of the coordinates."""
    body.rate = body.joint.rate(body.q, body.qd)


def _joint_by_joint(name: str, step: Sweep, inputs: dict[str, Any], outputs: dict[str, Any]) -> Algorithm:
    return Algorithm(name, ground, (step,), inputs, outputs, use_constants=False)


integrate = _joint_by_joint("integrate", advance, {"q": POSITION, "qd": VELOCITY}, {"q_next": POSITION})

difference = _joint_by_joint("difference", compare, {"q": POSITION, "q_next": POSITION}, {"step": VELOCITY})

rate = _joint_by_joint("rate", flow, {"q": POSITION, "qd": VELOCITY}, {"rate": POSITION})
