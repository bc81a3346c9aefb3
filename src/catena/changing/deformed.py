"""Where the places and points of flexible bodies are and how they move, with the amplitudes that bodies have.

A flexible body is known by the pose and twist of its floating frame and by the amplitudes of its modes and their rates.
What attaches to it, and what has its mass, moves as `joints.modal` tells; which places
there are, the plan that asks says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.joints.modal import Modal
from catena.kinematics import stacks
from catena.mechanism import MODES, Body, Mechanism
from catena.spatial import Pose
from catena.structure.plan import Parts
from catena.system import System


@dataclass(frozen=True, eq=False)
class Amplitudes:
    """Amplitudes `eta` (states, k) of the modes of a body, and their rates (states, k)."""

    eta: np.ndarray
    rate: np.ndarray


@dataclass(frozen=True, eq=False)
class Bodies:
    """Poses of all bodies of a mechanism, in its order, as motion matrices X from ground (states, bodies, 6, 6), and
    their twists (states, bodies, 6) in their own axes at their own origin; for flexible bodies, those of their floating
    frames, and their `modes` by name."""

    X: np.ndarray
    twist: np.ndarray
    modes: Mapping[str, Amplitudes] = field(default_factory=dict)

    def of(self, states: np.ndarray) -> Bodies:
        """Return those of some of the states."""
        modes = {name: Amplitudes(own.eta[states], own.rate[states]) for name, own in self.modes.items()}
        return Bodies(self.X[states], self.twist[states], modes)

    def faster(self, other: Bodies, factor: float) -> Bodies:
        """Return the same bodies with velocities that differ from theirs by a factor of what those of others do."""
        modes = {
            name: replace(own, rate=own.rate + factor * (other.modes[name].rate - own.rate))
            for name, own in self.modes.items()
        }
        return Bodies(self.X, self.twist + factor * (other.twist - self.twist), modes)


def amplitudes(system: System, q: np.ndarray, v: np.ndarray) -> dict[str, Amplitudes]:
    """Return the amplitudes of all flexible bodies at q (states, nq) and v (states, nv); locked ones stay where they
    are held."""
    found = {}
    for name, body in _flexible(system.mechanism).items():
        if body.locked_at is None:
            modes = name + MODES
            found[name] = Amplitudes(q[:, system.slice_q(modes)], v[:, system.slice_v(modes)])
        else:
            eta = np.broadcast_to(body.locked_at, (len(q), len(body.locked_at)))
            found[name] = Amplitudes(eta, np.zeros_like(eta))
    return found


def parts_of(system: System) -> Mechanism | Parts:
    """Return bodies and joints as the plan of a system has them: with the places and points of flexible bodies."""
    return system.plan.parts or system.mechanism


def with_points(bodies: Bodies, system: System) -> Bodies:
    """Return poses and twists of all parts of a system (`parts_of`), in their order, for bodies that are like this."""
    parts = system.plan.parts
    if parts is None:
        return bodies
    number = {name: k for k, name in enumerate(parts.bodies)}
    states, count = len(bodies.twist), bodies.twist.shape[1]
    X, twist = np.zeros((states, len(number), 6, 6)), np.zeros((states, len(number), 6))
    X[:, :count], twist[:, :count] = bodies.X, bodies.twist
    for name, joint in parts.joints.items():
        if isinstance(joint.kind, Modal) and name == joint.name:
            own, middle, end = bodies.modes[joint.parent], number[joint.parent], number[joint.child]
            to_point, moves = _moved(joint.kind, np.asarray(joint.in_parent.p, dtype=np.float64), own)
            X[:, end] = to_point @ X[:, middle]
            twist[:, end] = stacks.apply(to_point, twist[:, middle]) + moves
    return Bodies(X, twist, bodies.modes)


def _moved(kind: Modal, place: np.ndarray, own: Amplitudes) -> tuple[np.ndarray, np.ndarray]:
    """Return the motion matrices (states, 6, 6) from the floating frame to a point that rests at a place (3,) of it,
    and the twist (states, 6) of the point in that frame, in the axes of the point."""
    states, eta, rate = len(own.eta), own.eta.T, own.rate.T

    def stacked(rows: list[Any]) -> np.ndarray:
        return np.stack([np.broadcast_to(row, states) for row in rows], axis=-1)

    u = stacked(kind.displacement(eta))
    moves = stacked([sum(s * r for s, r in zip(row, rate, strict=True)) for row in kind.slopes(eta)])
    R = np.reshape(kind.turns, (3, kind.modes)) if kind.turns else np.zeros((3, kind.modes))
    a, turns = 0.5 * own.eta @ R.T, own.rate @ R.T
    E = stacks.transposed(stacks.cayley(a))
    w = (turns - np.cross(a, turns)) / (1.0 + np.sum(a * a, axis=-1, keepdims=True))
    return stacks.motion_matrices(E, place + u), np.concatenate([w, stacks.apply(E, moves)], axis=-1)


def place_of(body: Body, eta: np.ndarray, pose: Pose) -> Pose:
    """Return the pose in the floating frame of a frame that rests at a pose of a body, for amplitudes eta (k,)."""
    if body.flexible is None:
        return pose
    u, R = _displaced(body, eta, np.asarray(pose.p, dtype=np.float64))
    return Pose(p=tuple(pose.p + u), R=R @ pose.R)


def resting(body: Body, eta: np.ndarray, pose: Pose) -> Pose:
    """Return the pose at which a frame rests that is at a pose in the floating frame of a body now, for amplitudes eta
    (k,): what `place_of` takes there."""
    if body.flexible is None:
        return pose
    s = np.array(pose.p, dtype=np.float64)
    reach = body.flexible.reach()
    for _ in range(100):
        u, R = _displaced(body, eta, s)
        missed = pose.p - u - s
        s = s + missed
        if np.abs(missed).max() <= 1e-15 * reach:
            break
    else:
        if np.abs(missed).max() > 1e-11 * reach:
            raise StateError(
                f"body {body.name!r} is deformed so far that the place of a joint at {np.round(pose.p, 6).tolist()} "
                "in its axes is not found: give the poses of the joint on both sides."
            )
    return Pose(p=tuple(s), R=R.T @ pose.R)


def _displaced(body: Body, eta: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return displacement (3,) and rotation (3, 3) of the point of a body that rests at s (3,)."""
    assert body.flexible is not None
    shapes = body.flexible.shapes(tuple(s))
    return shapes.displacement(eta, body.flexible.products), stacks.cayley(0.5 * shapes.R @ eta)


def require_same_modes(old: Mechanism, new: Mechanism) -> None:
    """Raise an error unless the flexible bodies of two mechanisms of the same bodies are the same: amplitudes go over
    as they are."""
    before, after = _flexible(old), _flexible(new)
    for name in [*before, *after]:
        one, other = (some[name].flexible if name in some else None for some in (before, after))
        if one is other:
            continue
        if one is not None and other is not None and one.modes == other.modes:
            pairs = [(one.stiffness, other.stiffness), (one.points().S, other.points().S)]
            if all(x.shape == y.shape and np.allclose(x, y, rtol=1e-9, atol=0.0) for x, y in pairs):
                continue
        raise StateError(
            f"body {name!r} is not the same flexible body in {old.name!r} and {new.name!r}: a state goes over where "
            "bodies stay and joints change. Lock and unlock its modes instead."
        )


def _flexible(mechanism: Mechanism) -> dict[str, Body]:
    return {name: body for name, body in mechanism.bodies.items() if body.flexible is not None}
