"""An oracle in absolute coordinates that shares no code with what it judges.

Every body has its own Newton-Euler equations, every joint passes an unknown wrench w to its child and the opposite to
its parent, and the relative acceleration of its two sides is S qdd + Sdot qd:

    I a + t x* (I t) = gravity + wrenches + sum of the joints' wrenches     (6 rows a body)
    S^T w + J qdd = what acts along the joint's freedoms, J of its rotors    (nv rows a joint)
    a_child - a_parent, in the child-side joint frame, = S qdd + Sdot qd      (6 rows a joint)

The rows are written from the description of the mechanism, the poses and the twists of its bodies, and nothing else. S
is that of a row of screws, which every kind of joint but those with quaternions is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import catena as ct


def skew(x: np.ndarray) -> np.ndarray:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def to_frame(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The matrix (6, 6) that takes twists seen from a frame to those seen from another one placed in it by R and p."""
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R.T
    X[3:, :3] = -R.T @ skew(p)
    return X


def cross_motion(t: np.ndarray) -> np.ndarray:
    """The matrix (6, 6) of t x on twists; minus its transpose is that on wrenches."""
    found = np.zeros((6, 6))
    found[:3, :3] = found[3:, 3:] = skew(t[:3])
    found[3:, :3] = skew(t[3:])
    return found


def rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' formula."""
    K = skew(axis)
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def spatial_inertia(body: ct.Body) -> np.ndarray:
    c = skew(np.asarray(body.com))
    found = np.zeros((6, 6))
    found[:3, :3] = body.inertia + body.mass * c @ c.T
    found[:3, 3:], found[3:, :3], found[3:, 3:] = body.mass * c, body.mass * c.T, body.mass * np.eye(3)
    return found


def unit(axis) -> np.ndarray:
    if isinstance(axis, str):
        sign = -1.0 if axis.startswith("-") else 1.0
        return sign * np.eye(3)["xyz".index(axis[-1])]
    return np.asarray(axis, dtype=float) / np.linalg.norm(axis)


def screws(kind: ct.JointKind) -> list[np.ndarray]:
    """The screws [angular; linear] that a joint moves along one after the other, each carried by those before it."""
    o = np.zeros(3)
    name = type(kind).__name__
    if name == "Revolute":
        return [np.r_[unit(kind.axis), o]]
    if name == "Prismatic":
        return [np.r_[o, unit(kind.axis)]]
    if name == "Helical":
        return [np.r_[unit(kind.axis), kind.pitch * unit(kind.axis)]]
    if name == "Cylindrical":
        return [np.r_[unit(kind.axis), o], np.r_[o, unit(kind.axis)]]
    if name == "Universal":
        return [np.r_[unit(kind.axis1), o], np.r_[unit(kind.axis2), o]]
    if name == "Planar":
        assert unit(kind.normal)[2] == 1.0, "the other normals have directions of their own"
        return [np.r_[o, 1, 0, 0], np.r_[o, 0, 1, 0], np.r_[0, 0, 1, o]]
    if name == "Sdof":
        along = {"r": lambda a: np.r_[unit(a), o], "d": lambda a: np.r_[o, unit(a)]}
        return [along[motion[0]](motion[1]) for motion in kind.motions]
    raise AssertionError(f"no screws for {kind!r}")


def freedoms(kind: ct.JointKind, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """S (6, nv) and Sdot qd (6,) in the child-side frame of a joint."""
    if type(kind).__name__ == "Spherical":
        return np.vstack([np.eye(3), np.zeros((3, 3))]), np.zeros(6)
    if type(kind).__name__ == "Free":
        return np.eye(6), np.zeros(6)
    along = screws(kind)
    columns: list[np.ndarray] = []
    X = np.eye(6)
    for screw, x in zip(reversed(along), reversed(list(q)), strict=True):
        columns.insert(0, X @ screw)
        R = rotation(screw[:3], x) if screw[:3].any() else np.eye(3)
        X = X @ to_frame(R, screw[3:] * x)
    S = np.array(columns).T.reshape(6, len(along))
    bias = np.zeros(6)
    for i in range(len(along)):
        carried = S[:, i + 1 :] @ qd[i + 1 :]
        bias -= cross_motion(carried) @ S[:, i] * qd[i]
    return S, bias


@dataclass(frozen=True)
class Instant:
    """What all bodies and joints do at one time, and what acts: generalised forces along the freedoms of joints
    (motors, springs, dampers, friction, stops together) and wrenches on bodies in their own axes at their origins."""

    mechanism: ct.Mechanism
    poses: dict[str, np.ndarray]
    twists: dict[str, np.ndarray]
    q: dict[str, np.ndarray]
    qd: dict[str, np.ndarray]
    along: dict[str, np.ndarray]
    wrenches: dict[str, np.ndarray]


@dataclass(frozen=True)
class Balance:
    """Rows A x = b for x = (accelerations of bodies, accelerations of joints, wrenches of joints)."""

    A: np.ndarray
    b: np.ndarray
    bodies: dict[str, slice]
    joints: dict[str, slice]
    wrenches: dict[str, slice]

    def solved(self) -> tuple[dict[str, np.ndarray], bool]:
        """The wrenches by joint, and whether there are no others."""
        x, _, rank, _ = np.linalg.lstsq(self.A, self.b, rcond=1e-11)
        return {name: x[at] for name, at in self.wrenches.items()}, rank == self.A.shape[1]

    def error(self, told: dict[str, np.ndarray]) -> float:
        """By how much wrenches that were told leave the equations unfulfilled, whatever the accelerations are, as a
        part of what is summed up in them."""
        first = min(at.start for at in self.wrenches.values())
        w = np.zeros(self.A.shape[1] - first)
        for name, at in self.wrenches.items():
            w[at.start - first : at.stop - first] = told[name]
        rest = self.b - self.A[:, first:] @ w
        x = np.linalg.lstsq(self.A[:, :first], rest, rcond=None)[0]
        size = np.abs(self.A[:, first:]) @ np.abs(w) + np.abs(self.b)
        return float(np.abs(rest - self.A[:, :first] @ x).max() / size.max())


def balance(now: Instant) -> Balance:
    """The equations of all bodies and joints."""
    m = now.mechanism
    names = [name for name in m.bodies if name != "ground"]
    bodies = {name: slice(6 * k, 6 * k + 6) for k, name in enumerate(names)}
    joints, wrenches, n = {}, {}, 6 * len(names)
    for name, joint in m.joints.items():
        joints[name] = slice(n, n + joint.kind.nv)
        n += joint.kind.nv
    for name in m.joints:
        wrenches[name] = slice(n, n + 6)
        n += 6
    rows, right = [], []
    newton = {name: np.zeros((6, n)) for name in names}
    for name in names:
        body, t = m.bodies[name], now.twists[name]
        inertia = spatial_inertia(body)
        newton[name][:, bodies[name]] = inertia
        down = now.poses[name][:3, :3].T @ np.asarray(m.gravity)
        weight = np.r_[body.mass * np.cross(body.com, down), body.mass * down]
        rows.append(newton[name])
        right.append(weight + now.wrenches.get(name, 0.0) + cross_motion(t).T @ inertia @ t)
    for name, joint in m.joints.items():
        S, bias = freedoms(joint.kind, now.q[name], now.qd[name])
        parent, child = (now.poses[body] @ pose.matrix() for body, pose in joint_sides(joint))
        relative = np.linalg.solve(parent, child)
        up = to_frame(relative[:3, :3], relative[:3, 3]) @ to_frame(joint.in_parent.R, joint.in_parent.p)
        here = to_frame(joint.in_child.R, joint.in_child.p)
        of_parent = up @ now.twists[joint.parent]
        moves = here @ now.twists[joint.child] - of_parent
        kinematic = np.zeros((6, n))
        if joint.child != "ground":
            newton[joint.child][:, wrenches[name]] -= here.T
            kinematic[:, bodies[joint.child]] += here
        if joint.parent != "ground":
            newton[joint.parent][:, wrenches[name]] += up.T
            kinematic[:, bodies[joint.parent]] -= up
        kinematic[:, joints[name]] -= S
        rows.append(kinematic)
        right.append(bias - cross_motion(moves) @ of_parent)
        acting = np.zeros((joint.kind.nv, n))
        acting[:, wrenches[name]] = S.T
        if joint.armature is not None:
            acting[:, joints[name]] = np.diag(np.broadcast_to(joint.armature, joint.kind.nv))
        rows.append(acting)
        right.append(now.along[name])
    return Balance(np.concatenate(rows), np.concatenate(right), bodies, joints, wrenches)


def joint_sides(joint: ct.Joint):
    return (joint.parent, joint.in_parent), (joint.child, joint.in_child)


def mismatch(now: Instant) -> float:
    """By how much the twists of the two sides of all joints differ from S qd: whether what is told of joints and of
    bodies is one motion."""
    worst = 0.0
    for name, joint in now.mechanism.joints.items():
        S, _ = freedoms(joint.kind, now.q[name], now.qd[name])
        parent, child = (now.poses[body] @ pose.matrix() for body, pose in joint_sides(joint))
        relative = np.linalg.solve(parent, child)
        up = to_frame(relative[:3, :3], relative[:3, 3]) @ to_frame(joint.in_parent.R, joint.in_parent.p)
        moves = to_frame(joint.in_child.R, joint.in_child.p) @ now.twists[joint.child]
        moves = moves - up @ now.twists[joint.parent]
        worst = max(worst, float(np.abs(moves - S @ now.qd[name]).max()))
    return worst
