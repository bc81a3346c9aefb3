"""Mechanisms and an oracle that the tests of changing structures share."""

import numpy as np

import catena as ct
from catena.spatial import Transform


def matrix(pose: ct.Pose) -> np.ndarray:
    """The motion matrix from a reference frame to the frame placed in it."""
    X = np.zeros((6, 6))
    R, p = pose.R.T, pose.p
    X[:3, :3] = X[3:, 3:] = R
    X[3:, :3] = -R @ np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
    return X


def inertia(body) -> np.ndarray:
    """The inertia (6, 6) of a body about its own origin."""
    c = np.array(
        [[0, -body.com[2], body.com[1]], [body.com[2], 0, -body.com[0]], [-body.com[1], body.com[0], 0]]
    )
    I = np.zeros((6, 6))  # noqa: E741
    I[:3, :3] = body.inertia + body.mass * c @ c.T
    I[:3, 3:], I[3:, :3], I[3:, 3:] = body.mass * c, body.mass * c.T, body.mass * np.eye(3)
    return I


def absolute_impact(m: ct.Mechanism, poses: dict, twists: dict) -> dict:
    """Twists after all joints of a mechanism hold, from the equations of impulse and momentum of all its bodies in
    absolute coordinates: M (t' - t) = D^T impulses, D t' = 0, in one dense system of least squares."""
    names = [name for name in m.bodies if name != "ground"]
    at = {name: slice(6 * k, 6 * k + 6) for k, name in enumerate(names)}
    M = np.zeros((6 * len(names), 6 * len(names)))
    t = np.zeros(6 * len(names))
    for name in names:
        M[at[name], at[name]] = inertia(m.bodies[name])
        t[at[name]] = twists[name]
    rows = []
    for joint in m.joints.values():
        P = ct.Pose(p=poses[joint.parent][:3, 3], R=poses[joint.parent][:3, :3]) * joint.in_parent
        C = ct.Pose(p=poses[joint.child][:3, 3], R=poses[joint.child][:3, :3]) * joint.in_child
        rel = matrix(C) @ np.linalg.inv(matrix(P))
        if joint.dof:
            pose = P.inverse() * C
            q = joint.kind.coordinates(Transform.from_pose(pose))
            Phi = np.asarray(joint.kind.constraint_space(q).array, dtype=float)
        else:
            Phi = np.eye(6)
        D = np.zeros((6, len(t)))
        if joint.child != "ground":
            D[:, at[joint.child]] += matrix(joint.in_child)
        if joint.parent != "ground":
            D[:, at[joint.parent]] -= rel @ matrix(joint.in_parent)
        rows.append(Phi.T @ D)
    D = np.concatenate(rows) if rows else np.zeros((0, len(t)))
    L = np.linalg.cholesky(M)
    A = np.linalg.solve(L, D.T).T
    y = L.T @ t
    y = y - np.linalg.pinv(A, rcond=1e-10) @ (A @ y)
    after = np.linalg.solve(L.T, y)
    return {**{name: after[at[name]] for name in names}, "ground": np.zeros(6)}


def twists_of(s: ct.System, q: np.ndarray, v: np.ndarray) -> dict:
    return {name: s.twist(q, v, name) for name in s.mechanism.bodies}


def random_state(s: ct.System, seed: int = 0, batch: tuple = ()) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = s.integrate(np.broadcast_to(s.neutral(), (*batch, s.nq)), 0.4 * rng.normal(size=(*batch, s.nv)))
    v = rng.normal(size=(*batch, s.nv))
    if s.loops:
        q = s.assemble(guess=s.neutral())
        q, v = s.project(q, v)
    return q, v


def flyer() -> ct.Mechanism:
    """A bus with two arms of revolute joints that floats, and a box that floats beside it."""
    m = ct.Mechanism("flyer", gravity=(0, 0, 0))
    m.add_body("bus", mass=20.0, inertia=(1.0, 1.5, 1.2))
    m.add_joint("base", "ground", "bus", ct.Free(), actuated=False)
    for arm, side in (("left", 1.0), ("right", -1.0)):
        above, at = "bus", ct.Pose(p=(0.3, 0.2 * side, 0.1))
        for k, axis in enumerate("zyy", 1):
            m.add_body(f"{arm}/link{k}", mass=2.0 - 0.3 * k, com=(0.2, 0, 0), inertia=(0.01, 0.03, 0.03))
            m.add_joint(f"{arm}/joint{k}", above, f"{arm}/link{k}", ct.Revolute(axis), in_parent=at)
            above, at = f"{arm}/link{k}", ct.Pose(p=(0.4, 0, 0))
        m.add_frame(f"{arm}/hand", above, ct.Pose(p=(0.4, 0, 0)))
    m.add_body("box", mass=5.0, com=(0.05, 0, 0), inertia=(0.1, 0.2, 0.25))
    m.add_joint("box floats", "ground", "box", ct.Free(), actuated=False)
    return m
