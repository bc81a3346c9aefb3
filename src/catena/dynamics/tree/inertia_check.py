"""Whether every joint moves some inertia in the neutral configuration, so that accelerations are determined."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

import numpy as np

from catena.dynamics.tree.moved_inertia import moving_nothing
from catena.errors import SingularDynamicsError
from catena.structure import Plan


class InertiaCheck:
    """What is known of the joints of a plan that move no inertia; it is looked at when it first matters."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._beside: dict[bytes, bool] = {}

    @cached_property
    def lacking(self) -> str | None:
        """Return why articulated bodies do not exist in the neutral configuration, None where they do."""
        return _lacking_inertia(self._plan)

    def lacking_beside(self, driven: np.ndarray) -> bool:
        """Return whether a joint that is not driven (nv,) moves no inertia in the neutral configuration."""
        key = driven.tobytes()
        if key not in self._beside:
            self._beside[key] = _lacking_inertia(self._plan, driven) is not None
        return self._beside[key]

    def require(self) -> None:
        """Raise a SingularDynamicsError where articulated bodies do not exist."""
        if self.lacking is not None:
            raise SingularDynamicsError(self.lacking)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Let an error about singular dynamics name the joint of the tree that moves no inertia, where there is one."""
        try:
            yield
        except SingularDynamicsError:
            if self.lacking is None:
                raise
            raise SingularDynamicsError(self.lacking) from None


def _lacking_inertia(plan: Plan, driven: np.ndarray | None = None) -> str | None:
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
