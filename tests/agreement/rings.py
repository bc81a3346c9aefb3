"""Closed chains of any joints that are closed at a known configuration, for the matrix of what runs tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import catena as ct

SLANTED = (0.6, 0.0, 0.8)
KINDS = {
    "R": ct.Revolute(SLANTED),
    "P": ct.Prismatic("y"),
    "H": ct.Helical("z", 0.2),
    "C": ct.Cylindrical("x"),
    "U": ct.Universal("x", "y"),
    "S": ct.Spherical(),
    "F": ct.Planar("z"),
    "D": ct.Sdof("rz", "dx"),
}


@dataclass(frozen=True)
class Ring:
    """A mechanism, joints to cut so that a tree is left, and the positions of all joints where its loops are closed."""

    mechanism: ct.Mechanism
    cut: tuple[str, ...]
    q: dict[str, np.ndarray]
    poses: dict[str, ct.Pose]
    seed: int

    def state(self, system: ct.System) -> tuple[np.ndarray, np.ndarray]:
        """The same motion of the same bodies in the coordinates of any plan."""
        first = self.mechanism.system(cut=list(self.cut))
        q = first.neutral()
        for name in first.joints:
            q[first.slice_q(name)] = self.q[name]
        q, v = first.project(q, np.random.default_rng(self.seed).normal(size=first.nv))
        found = ct.transfer(first, q, v, system)
        return found.q, found.v


def ring(letters: str, seed: int = 0, gravity=(1.0, -2.0, -9.0)) -> Ring:
    """Bodies between ground and ground by joints of these kinds, each at a random place and position; every second one
    is declared from its far side."""
    m = ct.Mechanism(f"ring {letters}", gravity=gravity)
    return joined(Ring(m, (), {}, {"ground": ct.Pose()}, seed), letters, "ground", "ground", "b")


def joined(made: Ring, letters: str, start: str, end: str, bodies: str) -> Ring:
    """A chain of joints of these kinds between two bodies that are there, with new `bodies` in between."""
    random = np.random.default_rng([made.seed, len(made.q)])
    m, poses, positions = made.mechanism.copy(), dict(made.poses), dict(made.q)
    before = start
    for k, letter in enumerate(letters):
        last = k == len(letters) - 1
        kind, name = KINDS[letter], f"{letter}{len(made.q) + k}"
        q = np.asarray(kind.integrate(kind.neutral(), random.uniform(-0.7, 0.7, kind.nv)), dtype=float)
        motion = kind.transform(q).pose()
        here, there = _pose(random), _pose(random)
        body = end if last else f"{bodies}{k}"
        flipped = bool(k % 2)
        move = motion.inverse() if flipped else motion
        if last:
            there = poses[end].inverse() * poses[before] * here * move
        else:
            spread = random.normal(size=(3, 3)) * 0.2
            second = spread @ spread.T + 0.01 * np.eye(3)
            mass = float(random.uniform(0.5, 3.0))
            inertia = mass * (np.trace(second) * np.eye(3) - second)
            m.add_body(body, mass, random.uniform(-0.3, 0.3, 3), inertia)
            poses[body] = poses[before] * here * move * there.inverse()
        if flipped:
            m.add_joint(name, body, before, kind, there, here)
        else:
            m.add_joint(name, before, body, kind, here, there)
        positions[name] = q
        before = body
    return Ring(m, (*made.cut, name), positions, poses, made.seed)


def _pose(random: np.random.Generator) -> ct.Pose:
    quat = random.normal(size=4)
    return ct.Pose(p=random.uniform(-0.6, 0.6, 3), quat=quat / np.linalg.norm(quat))
