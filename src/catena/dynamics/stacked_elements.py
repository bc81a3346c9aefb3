"""Springs, dampers and stops of one joint for many states at once, without compiling: for joints that close loops, for
springs that do not merge, and for energies. The law is that of `joint_elements`."""

from collections.abc import Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from catena.dynamics.joint_elements import ELEMENT_INPUTS, element_force, spring_energy
from catena.dynamics.stops import FAR, Stops, stop_energy
from catena.joints import JointKind
from catena.kernels import POSITION
from catena.mechanism import JointSpring
from catena.spatial.scalars import array


class StackedElements:
    """What acts at one joint of a given kind."""

    def __init__(
        self, kind: JointKind, springs: Sequence[JointSpring], stops: Stops | None, damped: bool = True
    ) -> None:
        self.kind = kind
        nothing, far = np.zeros(kind.nv), np.full(kind.nv, FAR)
        stopping = (-far, far, nothing, nothing)
        if stops is not None:
            stopping = (stops.low, stops.high, stops.stiffness, stops.damping)
        rows = [
            (s.stiffness, s.rest, s.damping if damped else nothing, -far, far, nothing, nothing)
            for s in springs
        ]
        self._rows = [*rows, (nothing, kind.neutral(), nothing, *stopping)] if stops is not None else rows

    def __bool__(self) -> bool:
        return bool(self._rows)

    def force(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The joint force (states, nv) at q (states, nq) and v (states, nv)."""
        return self._sum(q, v)[:, :-1]

    def energy(self, q: np.ndarray) -> np.ndarray:
        """What is stored, (states,)."""
        return self._sum(q, np.zeros((len(q), self.kind.nv)))[:, -1]

    def _sum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        total = np.zeros((len(q), self.kind.nv + 1))
        if len(q):
            for row in self._rows:
                total += np.asarray(_function(self.kind)(q.T, v.T, *row), dtype=np.float64).T
        return total


def _function(kind: JointKind) -> Any:
    try:
        return _remembered(kind)
    except TypeError:  # a user's kind that cannot be hashed
        return _build(kind)


def _build(kind: JointKind) -> Any:
    """Force and energy as a function of q, v and the coefficients."""
    import casadi

    columns = {
        name: casadi.SX.sym(name, kind.nq if extent is POSITION else kind.nv)
        for name, extent in {"q": POSITION, "qd": None, **ELEMENT_INPUTS}.items()
    }
    at = SimpleNamespace(
        joint=kind, **{name: array([x[i] for i in range(x.numel())]) for name, x in columns.items()}
    )
    stops = SimpleNamespace(
        low=at.stop_low, high=at.stop_high, stiffness=at.stop_stiffness, damping=at.stop_damping
    )
    energy = spring_energy(kind, at.spring_stiffness, at.spring_rest, at.q) + stop_energy(kind, stops, at.q)
    entries = casadi.vertcat(*[casadi.SX(x) for x in [*element_force(at), energy]])
    return casadi.Function("elements", list(columns.values()), [casadi.densify(entries)])


_remembered = lru_cache(maxsize=512)(_build)
