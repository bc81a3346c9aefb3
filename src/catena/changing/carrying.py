"""Where bodies are and how they move, told in the coordinates of another plan.

Joints that are in the tree of both plans, and are the same, keep their coordinates to the last digit, whole turns
included, and joints that are unlocked have the position at which they were held. For all others the relative pose and
twist of the two bodies give position and velocity of the joint, whatever it was before: a loop, or not there at all.
How often such a joint was turned is known where a linear coupling tells it. The modes of flexible bodies keep their
amplitudes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.changing.deformed import Bodies, amplitudes, parts_of, require_same_modes, with_points
from catena.changing.fitting import FITS, sizes
from catena.errors import StateError
from catena.joints import JointKind
from catena.kinematics import stacks
from catena.kinematics.extent import extent
from catena.kinematics.kind_values import kind_values, nearest_coordinates
from catena.kinematics.loops.closure import tree_motions
from catena.kinematics.loops.coupling_states import TURN, constraint_states
from catena.mechanism import MODES, Joint, Mechanism
from catena.mechanism.profiles import Line
from catena.structure.plan import Parts
from catena.system import System


@dataclass(frozen=True, eq=False)
class Carried:
    """Coordinates of a plan for bodies that are somewhere: q (states, nq), v (states, nv); and what does not fit at
    those joints that are not just as before, `joints` by name: the position error `gap` (states, joints, 6) and the
    velocity error `slip` (states, joints, 6) as twists of the child-side frame, zero where the joint allows what its
    bodies do. `open_before` (states, 6) is the largest position error that loops had already on the plan that the
    bodies come from."""

    q: np.ndarray
    v: np.ndarray
    joints: tuple[str, ...]
    gap: np.ndarray
    slip: np.ndarray
    open_before: np.ndarray


def bodies_of(system: System, q: np.ndarray, v: np.ndarray) -> Bodies:
    """Return where the bodies of a system are at q (states, nq) and how they move with v (states, nv)."""
    plan, count = system.plan, len(system.mechanism.bodies)
    motions = tree_motions(system.mechanics.evaluator, q, v)
    X = np.empty((len(q), plan.n, 6, 6))
    X[:, 0] = np.eye(6)
    for nodes in plan.levels:
        X[:, nodes] = motions.X[:, nodes] @ X[:, plan.parent[nodes]]
    placed = plan.body_pose
    node = placed.node[:count]
    own = stacks.motion_matrices(stacks.transposed(placed.R[:count]), placed.p[:count])
    return Bodies(own @ X[:, node], stacks.apply(own, motions.v[:, node]), amplitudes(system, q, v))


def carry(
    bodies: Bodies, old: System, q: np.ndarray, v: np.ndarray, new: System, keep: bool = True
) -> Carried:
    """Return the coordinates of `new` for bodies that are where those of `old` are at q (states, nq), v (states, nv).

    Without `keep` no velocity is taken over: all follow from the twists of the bodies.
    """
    require_same_bodies(old.mechanism, new.mechanism)
    plan, before, parts = new.plan, old.mechanism.joints, parts_of(new)
    q_new, v_new = np.zeros((len(q), plan.nq)), np.zeros((len(q), plan.nv))
    in_tree, were_in_tree = set(plan.joints), set(old.joints)
    changed = []
    for name, joint in new.mechanism.joints.items():
        same = name in in_tree and name in were_in_tree and alike(joint, before[name])
        if same:
            q_new[:, new.slice_q(name)] = q[:, old.slice_q(name)]
            v_new[:, new.slice_v(name)] = v[:, old.slice_v(name)]
        if not (same and keep):
            changed.append(joint)
    placed = with_points(bodies, new)
    q_joints, v_joints, gap, slip = nearest(parts, placed, [parts.joints[joint.name] for joint in changed])
    for k, joint in enumerate(changed):
        if joint.name in in_tree:
            v_new[:, new.slice_v(joint.name)] = v_joints[k]
            if not (joint.name in were_in_tree and alike(joint, before[joint.name])):
                q_new[:, new.slice_q(joint.name)] = q_joints[k]
    for joint, there in _unlocked(bodies, old, [joint for joint in changed if joint.name in in_tree]):
        q_new[there, new.slice_q(joint.name)] = before[joint.name].locked_at
    for name, own in bodies.modes.items():
        if name + MODES in in_tree:
            q_new[:, new.slice_q(name + MODES)] = own.eta
            v_new[:, new.slice_v(name + MODES)] = own.rate
    _pin(placed, new, q_new, v_new)
    _wind(new, q_new, [joint.name for joint in changed if _is_new(joint, before, were_in_tree)])
    held, apart, rate = _held_modes(bodies, new)
    was = parts_of(old)
    loops = [was.joints[name] for name in old.loops]
    drifted = np.abs(nearest(was, with_points(bodies, old), loops)[2])
    return Carried(
        q_new, v_new, (*(joint.name for joint in changed), *held), np.concatenate([gap, apart], axis=1),
        np.concatenate([slip, rate], axis=1), drifted.max(axis=1, initial=0.0),
    )  # fmt: skip


def _unlocked(bodies: Bodies, old: System, joints: Sequence[Joint]) -> list[tuple[Joint, np.ndarray]]:
    """Return those of the joints that a system held, and in which states (states,) their bodies are where it held them:
    a pose does not tell how often a joint was turned."""
    before, was = old.mechanism.joints, parts_of(old)
    found = [
        joint
        for joint in joints
        if joint.name in before and before[joint.name].locked and alike(joint, before[joint.name])
    ]
    if not found:
        return []
    gap = nearest(was, with_points(bodies, old), [was.joints[joint.name] for joint in found])[2]
    there = sizes(gap, extent(old.plan)) <= FITS
    return [(joint, there[:, k]) for k, joint in enumerate(found)]


def _is_new(joint: Joint, before: Mapping[str, Joint], were_in_tree: Set[str]) -> bool:
    """Return whether nothing but poses tells where a joint is, that of the tree of an old plan or locked there being
    known."""
    was = before.get(joint.name)
    return was is None or not alike(joint, was) or not (joint.name in were_in_tree or was.locked)


def _wind(new: System, q: np.ndarray, names: Sequence[str]) -> None:
    """Turn joints of the tree of a system by whole turns, in q (states, nq), to where linear couplings want them."""
    for k, coupling in enumerate(new.plan.couplings):
        loose = [
            (term, term.sign * term.profile.coefficient)
            for term in coupling.terms
            if term.node >= 0 and term.turns and term.joint in names and isinstance(term.profile, Line)
        ]
        for term, slope in sorted(loose, key=lambda x: -abs(x[1])) if coupling.constraints else ():
            missed = constraint_states(new.mechanics.evaluator, q)[len(new.plan.loop_joints) + k].position
            q[:, new.slice_q(term.joint)] -= TURN * np.round(missed / (TURN * slope))


def _held_modes(bodies: Bodies, new: System) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the names of modes that a system holds, and as linear parts of twists (states, names, 6) how far points of
    their bodies are from where it holds them, and how fast they move there [m, m/s]."""
    names = [name for name in bodies.modes if new.mechanism.bodies[name].locked_at is not None]
    apart, rate = (np.zeros((len(bodies.twist), len(names), 6)) for _ in range(2))
    for k, name in enumerate(names):
        body, own = new.mechanism.bodies[name], bodies.modes[name]
        assert body.flexible is not None and body.locked_at is not None
        apart[:, k, 3] = body.flexible.reach() * body.flexible.deflection(own.eta - body.locked_at)
        rate[:, k, 3] = body.flexible.reach() * body.flexible.deflection(own.rate)
    return [name + MODES for name in names], apart, rate


def nearest(
    mechanism: Mechanism | Parts, bodies: Bodies, joints: Sequence[Joint]
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray, np.ndarray]:
    """Return positions (states, nq of the joint) and velocities (states, nv of the joint) of joints whose bodies are
    like this, and the errors (states, joints, 6) of both, which no position and velocity of the joint explains."""
    states, count = len(bodies.twist), len(joints)
    gap, slip = np.zeros((states, count, 6)), np.zeros((states, count, 6))
    q: list[np.ndarray] = [np.zeros((states, 0))] * count
    v: list[np.ndarray] = [np.zeros((states, 0))] * count
    if not count:
        return q, v, gap, slip
    X, v_rel = relative(mechanism, bodies, joints)
    held = np.empty((states, count, 6, 6))
    free = np.zeros(count, dtype=bool)
    for kind, members in _by_kind(joints):
        if joints[members[0]].dof:
            near = nearest_coordinates(kind, X[:, members])
            values = kind_values(kind, near, np.zeros(kind.nv))
            rates = stacks.apply(stacks.pseudo_inverse(values.S), v_rel[:, members])
            slip[:, members] = v_rel[:, members] - stacks.apply(values.S, rates)
            held[:, members] = values.X
            free[members] = kind.nv == 6
            for k, member in enumerate(members):
                q[member], v[member] = near[:, k], rates[:, k]
        else:
            rows = [joints[k].locked_at if joints[k].locked else np.zeros(0) for k in members]
            held[:, members] = kind_values(kind, np.array(rows), np.zeros(kind.nv)).X
            slip[:, members] = v_rel[:, members]
    gap = stacks.logarithm(X @ stacks.inverse(held))
    # Six freedoms explain everything.
    gap[:, free] = slip[:, free] = 0.0
    return q, v, gap, slip


def relative(
    mechanism: Mechanism | Parts, bodies: Bodies, joints: Sequence[Joint]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the motion matrices (states, joints, 6, 6) from the parent-side to the child-side frames of joints, and
    the twists (states, joints, 6) of the latter relative to the former, in their own axes."""
    number = {name: k for k, name in enumerate(mechanism.bodies)}
    sides = []
    for ends, poses in (
        ([j.parent for j in joints], [j.in_parent for j in joints]),
        ([j.child for j in joints], [j.in_child for j in joints]),
    ):
        at = np.array([number[body] for body in ends], dtype=np.int64)
        R, p = np.array([pose.R for pose in poses]), np.array([pose.p for pose in poses])
        to_frame = stacks.motion_matrices(stacks.transposed(R), p)
        sides.append((to_frame @ bodies.X[:, at], stacks.apply(to_frame, bodies.twist[:, at])))
    (X_P, v_P), (X_C, v_C) = sides
    X = X_C @ stacks.inverse(X_P)
    return X, v_C - stacks.apply(X, v_P)


def _by_kind(joints: Sequence[Joint]) -> list[tuple[JointKind, list[int]]]:
    """Return the joints, by number, whose kinds are equal and that can move, or cannot. A user's kind that cannot be
    hashed stays alone."""
    groups: dict[Any, list[int]] = {}
    for k, joint in enumerate(joints):
        try:
            key: Any = (type(joint.kind), joint.kind, joint.dof > 0)
            groups.setdefault(key, []).append(k)
        except TypeError:
            groups[k] = [k]
    return [(joints[members[0]].kind, members) for members in groups.values()]


def _pin(bodies: Bodies, new: System, q: np.ndarray, v: np.ndarray) -> None:
    """Set the coordinates of the joint that pins a root, if there is one."""
    name = f"root:{new.plan.root}"
    if name not in new.joints:
        return
    node = new.plan.joint.index(name)
    kind = new.plan.kind[node]
    assert kind is not None
    # Of a flexible body it is a place that is pinned; the node has the frame of what is.
    body = list(parts_of(new).bodies).index(new.plan.bodies[node][0])
    placed = new.plan.body_pose
    to_node = stacks.inverse(stacks.motion_matrices(placed.R[body].T, placed.p[body]))
    q[:, new.slice_q(name)] = nearest_coordinates(kind, to_node @ bodies.X[:, body])
    v[:, new.slice_v(name)] = stacks.apply(to_node, bodies.twist[:, body])


def alike(one: Joint, other: Joint) -> bool:
    """Return whether two joints of one name move the same bodies in the same way."""
    if one is other:
        return True
    return (
        (one.parent, one.child, one.kind) == (other.parent, other.child, other.kind)
        and one.in_parent == other.in_parent
        and one.in_child == other.in_child
    )


def require_same_bodies(old: Mechanism, new: Mechanism) -> None:
    """Raise an error unless two mechanisms have the same bodies in the same order."""
    if list(old.bodies) == list(new.bodies):
        require_same_modes(old, new)
        return
    missing = [n for n in old.bodies if n not in new.bodies] + [n for n in new.bodies if n not in old.bodies]
    if not missing:
        raise StateError(
            f"{old.name!r} and {new.name!r} have the same bodies in different orders; make one from the other by edits."
        )
    some = ", ".join(repr(name) for name in missing[:6])
    raise StateError(
        f"{old.name!r} and {new.name!r} do not have the same bodies: only one of them has {some}. A state goes over "
        "where bodies stay and joints change: add the bodies to both, with a Free joint from ground where one is not "
        "held."
    )
