"""Springs between points and constant wrenches as wrenches on bodies, all of them and many states at once.

A spring between points a and b at distance l pulls them together with k (l - l0) + c l'. Where the points coincide
there is no line to pull along, and it does nothing. Wrenches are given on the nodes that carry the bodies, at their
origins in their axes.
"""

from dataclasses import dataclass

import numpy as np

from catena.dynamics.body_states import body_states
from catena.kinematics import stacks
from catena.kinematics.closure import Runner
from catena.mechanism import Mechanism, PointSpring
from catena.structure import Plan


@dataclass(frozen=True, eq=False)
class Bodies:
    """Nodes in a batch of states: rotations R (states, n, 3, 3) from ground axes to node axes, origins p (states, n, 3)
    in ground, twists v (states, n, 6) in node axes."""

    R: np.ndarray
    p: np.ndarray
    v: np.ndarray


def standing(runner: Runner, q: np.ndarray, v: np.ndarray | None) -> Bodies:
    """All nodes at q (states, nq) and v (states, nv), or at rest."""
    result = runner.evaluate(body_states, {"q": q, "qd": v})
    entries, twists = result["pose"].copy(), result["v"].copy()
    entries[:, 0] = [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
    twists[:, 0] = 0.0
    return Bodies(entries[..., :9].reshape(*entries.shape[:2], 3, 3), entries[..., 9:], twists)


class Points:
    """The origins of frames or bodies: the names of their bodies, node numbers (m,), and places p (m, 3) in node
    axes."""

    def __init__(self, mechanism: Mechanism, plan: Plan, frames: list[str]) -> None:
        places = [plan.body_pose[name] for name in frames]
        self.bodies = tuple(mechanism.frames[n].body if n in mechanism.frames else n for n in frames)
        self.node = np.array([node for node, _ in places], dtype=np.int64)
        self.p = np.array([pose.p for _, pose in places]).reshape(-1, 3)
        # As a matrix, because a cross product in NumPy takes longer than everything else here.
        self._cross = stacks.skew(self.p)

    def positions(self, at: Bodies) -> np.ndarray:
        """Where they are in ground, (states, m, 3)."""
        return at.p[:, self.node] + _back(at.R[:, self.node], self.p)

    def velocities(self, at: Bodies) -> np.ndarray:
        """How they move, in ground axes, (states, m, 3)."""
        v = at.v[:, self.node]
        return _back(at.R[:, self.node], v[..., 3:] - stacks.apply(self._cross, v[..., :3]))

    def wrenches(self, at: Bodies, force: np.ndarray) -> np.ndarray:
        """Forces (states, m, 3) in ground axes that act at the points, as wrenches (states, m, 6) on the nodes."""
        here = stacks.apply(at.R[:, self.node], force)
        return np.concatenate([stacks.apply(self._cross, here), here], axis=-1)


class PointSprings:
    """All springs between points of a mechanism on one plan. They act on the bodies of `a`, then on those of `b`."""

    def __init__(self, mechanism: Mechanism, plan: Plan) -> None:
        springs = [s for s in mechanism.springs.values() if isinstance(s, PointSpring)]
        self.a = Points(mechanism, plan, [s.frame_a for s in springs])
        self.b = Points(mechanism, plan, [s.frame_b for s in springs])
        self.stiffness = np.array([s.stiffness for s in springs])
        self.rest_length = np.array([s.rest_length for s in springs])
        self.damping = np.array([s.damping for s in springs])
        self.bodies = self.a.bodies + self.b.bodies

    def wrenches(self, at: Bodies) -> np.ndarray:
        """Wrenches (states, 2 m, 6) on the nodes of `bodies`."""
        span = self.b.positions(at) - self.a.positions(at)
        length = np.linalg.norm(span, axis=-1)
        apart = length > 0.0
        along = np.where(apart[..., None], span, 0.0) / np.where(apart, length, 1.0)[..., None]
        rate = np.sum(along * (self.b.velocities(at) - self.a.velocities(at)), axis=-1)
        pull = self.stiffness * (length - self.rest_length) + self.damping * rate
        force = pull[..., None] * along
        return np.concatenate([self.a.wrenches(at, force), self.b.wrenches(at, -force)], axis=1)

    def energy(self, at: Bodies) -> np.ndarray:
        """What they store, (states,)."""
        length = np.linalg.norm(self.b.positions(at) - self.a.positions(at), axis=-1)
        return 0.5 * np.sum(self.stiffness * (length - self.rest_length) ** 2, axis=-1)


class ConstantWrenches:
    """All wrenches of a mechanism on one plan."""

    def __init__(self, mechanism: Mechanism, plan: Plan) -> None:
        wrenches = list(mechanism.wrenches.values())
        self.at = Points(mechanism, plan, [w.frame for w in wrenches])
        axes = [plan.body_pose[w.axes] for w in wrenches]
        self.axes_node = np.array([node for node, _ in axes], dtype=np.int64)
        self.moment = np.array(
            [pose.R @ w.moment for (_, pose), w in zip(axes, wrenches, strict=True)]
        ).reshape(-1, 3)
        self.force = np.array(
            [pose.R @ w.force for (_, pose), w in zip(axes, wrenches, strict=True)]
        ).reshape(-1, 3)
        self.bodies = self.at.bodies

    def wrenches(self, at: Bodies) -> np.ndarray:
        """Wrenches (states, m, 6) on the nodes of `bodies`."""
        to_ground = at.R[:, self.axes_node]
        moment, force = _back(to_ground, self.moment), _back(to_ground, self.force)
        result = self.at.wrenches(at, force)
        result[..., :3] += stacks.apply(at.R[:, self.at.node], moment)
        return result


def _back(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """R^T x: vectors in node axes to ground axes."""
    return stacks.apply(stacks.transposed(R), x)
