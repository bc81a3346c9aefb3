"""Whether every joint moves some inertia in the neutral configuration, so that accelerations are determined."""

import numpy as np

from catena.dynamics.moved_inertia import moving_nothing
from catena.structure import Plan


def lacking_inertia(plan: Plan, driven: np.ndarray | None = None) -> str | None:
    """Return what to say of a joint whose motion moves no inertia in the neutral configuration, None if all move
    some. The velocity components `driven` (nv,) move as they are told and need none."""
    free = None if driven is None else ~driven
    for i in moving_nothing(plan, lambda kind: kind.neutral(), free):
        bodies = ", ".join(repr(b) for b in plan.bodies[i])
        return (
            f"Joint {plan.joint[i]!r} can move without moving any inertia: the body {bodies} and what hangs on it "
            f"have no mass or no rotational inertia in that direction, so its acceleration is not determined. "
            f"Give the body mass and inertia, or lock the joint."
        )
    return None
