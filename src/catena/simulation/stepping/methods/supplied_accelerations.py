"""Accelerations that Python tells a step at its pause, as where bodies have many modes (`dynamics.tree_accelerations`).

The step itself integrates coordinates and knows nothing of what they move.
"""

from typing import Any

import numpy as np

from catena.dynamics import articulated_body
from catena.kernels import VELOCITY, Algorithm, each_body
from catena.spatial import Motion


def ground(ground: Any) -> None:
    """The ground rests."""
    ground.v = Motion.zero()


@each_body
def wait(body: Any) -> None:
    """Have a place for accelerations, which are told before anybody reads them."""
    body.qdd = np.zeros(body.joint.nv)


supplied_accelerations = Algorithm(
    "supplied_accelerations", ground, (wait,), inputs=articulated_body.inputs, outputs={"qdd": VELOCITY},
    ground_inputs=articulated_body.ground_inputs, optional=articulated_body.optional,
)  # fmt: skip
