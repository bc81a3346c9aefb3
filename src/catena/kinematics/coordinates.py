"""Steps on the manifold of q: q (+) v and its inverse, joint by joint."""

from typing import Any

from catena.kernels import POSITION, VELOCITY, Algorithm, each_body


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


integrate = Algorithm(
    "integrate",
    ground,
    (advance,),
    inputs={"q": POSITION, "qd": VELOCITY},
    outputs={"q_next": POSITION},
    use_constants=False,
)

difference = Algorithm(
    "difference",
    ground,
    (compare,),
    inputs={"q": POSITION, "q_next": POSITION},
    outputs={"step": VELOCITY},
    use_constants=False,
)

rate = Algorithm(
    "rate",
    ground,
    (flow,),
    inputs={"q": POSITION, "qd": VELOCITY},
    outputs={"rate": POSITION},
    use_constants=False,
)
