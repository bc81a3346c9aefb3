"""Keyframes of MJCF as states of a mechanism, and states as keyframes.

A keyframe has the positions of all joints in the order of the file, velocities, control signals and activations. They
are read from the text, not from the compiled model: a keyframe for parts that are not read must not stop a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import FormatError
from catena.formats.findings import NamedParts
from catena.formats.markup import Element
from catena.formats.mjcf.names import BALL, FREE, joint_name, merged_name
from catena.formats.mjcf.poses import pose_of
from catena.formats.trees import Branch
from catena.joints.contract import BALL as BALL_WORD, FREE as FREE_WORD
from catena.mechanism import InitialState, Mechanism
from catena.mechanism.mechanism import HOME
from catena.spatial import Pose

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Keyframe:
    """The numbers of a keyframe: `qpos` (nq,), `qvel` (nv,), `ctrl` (nu,) and `act` (na,)."""

    name: str
    qpos: Floats
    qvel: Floats
    ctrl: Floats
    act: Floats


def keyframes(model: Any, elements: Sequence[Element], unread: NamedParts) -> list[Keyframe]:
    """Return the keyframes of a text; those that do not fit the model are told."""
    found: dict[str, Keyframe] = {}
    wanted = {
        "qpos": np.array(model.qpos0),
        "qvel": np.zeros(model.nv),
        "ctrl": np.zeros(controls(model)),
        "act": np.zeros(model.na),
    }
    for k, element in enumerate(elements):
        name = element.get("name") or f"key {k}"
        values, fits = {}, name not in found
        for key, default in wanted.items():
            try:
                row = element.numbers(key, len(default)) if key in element.attributes else default
            except FormatError:
                fits = False
                break
            values[key] = np.array(row, dtype=np.float64)
        if fits:
            found[name] = Keyframe(name, **values)
        else:
            unread.add("keyframes that do not fit the model", name)
    return list(found.values())


def controls(model: Any) -> int:
    """Return the number of control signals, of which newer versions of MuJoCo may have several for an actuator."""
    own = getattr(model, "actuator_ctrlnum", None)
    return len(model.actuator_trntype) if own is None else int(np.sum(own))


def default_keyframe(found: Sequence[Keyframe]) -> Keyframe | None:
    """Return the keyframe that motions start from: the one called home, or the first."""
    return next((one for one in found if one.name == HOME), found[0] if found else None)


def add_states(
    mechanism: Mechanism,
    model: Any,
    found: Sequence[Keyframe],
    signals: Mapping[str, tuple[str, int]],
    unread: NamedParts,
) -> None:
    """Add a state for each keyframe. `signals` tells where the signal of each servo stands: in "ctrl" or "act", and
    where there."""
    for one in found:
        q, v = _positions(mechanism, model, one.qpos), _velocities(mechanism, model, one)
        if q is None:
            unread.add("keyframes with quaternions of no length", one.name)
            continue
        signal_values = {name: float(getattr(one, word)[k]) for name, (word, k) in signals.items()}
        heard = {k for word, k in signals.values() if word == "ctrl"}
        if any(x for k, x in enumerate(one.ctrl) if k not in heard):
            unread.add("control signals of motors in the keyframes", one.name)
        mechanism.add_state(one.name, q, v if any(map(np.any, v.values())) else None, signal_values)


def joints_of(mechanism: Mechanism, model: Any) -> dict[str, list[int]]:
    """Return the joints of the mechanism that stand for those of the model, each with their numbers there."""
    found: dict[str, list[int]] = {}
    for body in range(1, int(model.nbody)):
        first = int(model.body_jntadr[body])
        indices = list(range(first, first + int(model.body_jntnum[body])))
        names = [joint_name(model, k) for k in indices]
        whole = merged_name(names)
        if len(names) > 1 and whole in mechanism.joints:
            found[whole] = indices
        else:
            found.update({name: [k] for name, k in zip(names, indices)})
    return found


def _positions(mechanism: Mechanism, model: Any, qpos: Floats) -> dict[str, Floats] | None:
    """Return the positions of joints; None where a quaternion is none."""
    found = {}
    for name, indices in joints_of(mechanism, model).items():
        at, kind = int(model.jnt_qposadr[indices[0]]), int(model.jnt_type[indices[0]])
        if kind in (FREE, BALL):
            start = at + 3 * (kind == FREE)
            quat = qpos[start : start + 4]
            length = float(np.linalg.norm(quat))
            if not length > 0.0:
                return None
            found[name] = np.concatenate([qpos[at:start], quat / length])
        else:
            places = [int(model.jnt_qposadr[k]) for k in indices]
            found[name] = qpos[places] - model.qpos0[places]
    return found


def _velocities(mechanism: Mechanism, model: Any, one: Keyframe) -> dict[str, Floats]:
    """Return the velocities of joints. That of a free body is [v; omega] in MuJoCo, with v in the axes of the world,
    and [omega; v] in the body's axes here."""
    found = {}
    for name, indices in joints_of(mechanism, model).items():
        at, kind = int(model.jnt_dofadr[indices[0]]), int(model.jnt_type[indices[0]])
        if kind == FREE:
            start = int(model.jnt_qposadr[indices[0]])
            quat = one.qpos[start + 3 : start + 7]
            turn = pose_of(np.zeros(3), quat).R if quat.any() else np.eye(3)
            found[name] = np.concatenate([one.qvel[at + 3 : at + 6], turn.T @ one.qvel[at : at + 3]])
        elif kind == BALL:
            found[name] = one.qvel[at : at + 3]
        else:
            found[name] = one.qvel[[int(model.jnt_dofadr[k]) for k in indices]]
    return found


@dataclass(frozen=True, eq=False)
class StateOf:
    """A state as numbers of a file: those of one branch after the other, in the order of the file."""

    state: InitialState

    def qpos(self, branch: Branch) -> list[float]:
        """Return the positions that the motions of a branch have in MuJoCo; what is not named is neutral."""
        q, motions = self._position(branch), branch.motions or ()
        if not any(one.type in (BALL_WORD, FREE_WORD) for one in motions):
            return [float(q[one.component]) for one in motions]
        motion = branch.joint.kind.transform(q).pose()
        seen = motion if branch.joint.parent == branch.parent else motion.inverse()
        if motions[0].type == FREE_WORD:
            placed = branch.in_parent * seen * branch.in_child.inverse()
            return [*map(float, placed.p), *map(float, placed.quat)]
        turned = branch.in_child.R @ seen.R @ branch.in_child.R.T
        return [float(x) for x in Pose(R=turned).quat]

    def qvel(self, branch: Branch) -> list[float]:
        """Return the velocities that the motions of a branch have in MuJoCo."""
        kind, motions = branch.joint.kind, branch.motions or ()
        v = np.array(self.state.v.get(branch.joint.name, np.zeros(kind.nv)))
        if not any(one.type in (BALL_WORD, FREE_WORD) for one in motions):
            return [float(v[one.component]) for one in motions]
        motion = kind.transform(self._position(branch)).pose()
        omega, linear = v[:3], v[3:] if len(v) == 6 else np.zeros(3)
        if branch.joint.parent != branch.parent:
            omega, linear = _carried(motion, -omega, -linear)
            motion = motion.inverse()
        omega, linear = _carried(branch.in_child, omega, linear)
        if motions[0].type == BALL_WORD:
            return [float(x) for x in omega]
        axes = (branch.in_parent * motion * branch.in_child.inverse()).R
        return [*map(float, axes @ linear), *map(float, omega)]

    def _position(self, branch: Branch) -> Floats:
        kind = branch.joint.kind
        return np.array(self.state.q.get(branch.joint.name, kind.neutral()), dtype=np.float64)


def _carried(pose: Pose, omega: Any, linear: Any) -> tuple[Any, Any]:
    """Return a twist in the axes of a frame, in those of the frame that it has this pose in."""
    turned = pose.R @ omega
    return turned, pose.R @ linear + np.cross(pose.p, turned)
