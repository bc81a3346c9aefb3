"""Families of mechanisms whose every number is general: no zeros, no ones, no right angles, full inertia tensors.

The papers count for such links. Which numbers they are does not matter; the same seed gives the same ones.
"""

from collections.abc import Sequence

import numpy as np

from catena.errors import ModelError
from catena.joints import JointKind, Prismatic, Revolute, Spherical
from catena.mechanism import Mechanism
from catena.spatial import Pose

LETTERS: dict[str, JointKind] = {"R": Revolute("z"), "P": Prismatic("z"), "S": Spherical()}
STANFORD = "RRPRRR"
"""The joints of the Stanford arm from base to tip."""


def general_chain(joints: Sequence[str], seed: int = 0) -> Mechanism:
    """A serial chain with joints "R" (revolute), "P" (prismatic) or "S" (spherical) from base to tip: body1, body2, ...
    on joint1, joint2, ..."""
    return _general("chain", joints, [k - 1 for k in range(1, len(joints) + 1)], seed)


def general_star(joints: Sequence[str], seed: int = 0) -> Mechanism:
    """The first body on ground, and all others on the first: as parallel as a tree can be."""
    return _general("star", joints, [0, *[1] * (len(joints) - 1)][: len(joints)], seed)


def general_closed_chains(chains: int, joints: int, seed: int = 0) -> Mechanism:
    """Chains of revolute joints from ground to one reference member, which each of them holds by a ball joint: Lilly and
    Orin's simple closed-chain mechanism with n_c = 3."""
    random = np.random.default_rng(seed)
    mechanism = Mechanism(f"{chains} chains of {joints}", gravity=(1.0, 2.0, -9.0))
    mechanism.add_body("member", *_inertia(random))
    for c in range(1, chains + 1):
        above = "ground"
        for k in range(1, joints + 1):
            name = f"link{c}.{k}"
            mechanism.add_body(name, *_inertia(random))
            mechanism.add_joint(f"joint{c}.{k}", above, name, LETTERS["R"], in_parent=_pose(random))
            above = name
        mechanism.add_joint(
            f"grip{c}", above, "member", LETTERS["S"], in_parent=_pose(random), in_child=_pose(random)
        )
    return mechanism


def _general(what: str, joints: Sequence[str], parents: Sequence[int], seed: int) -> Mechanism:
    random = np.random.default_rng(seed)
    mechanism = Mechanism(f"{what} {''.join(joints)}", gravity=(1.0, 2.0, -9.0))
    for k, (letter, parent) in enumerate(zip(joints, parents, strict=True), 1):
        if letter not in LETTERS:
            raise ModelError(f"general {what}: no joint is called {letter!r}: choose R, P or S.")
        mechanism.add_body(f"body{k}", *_inertia(random))
        above = f"body{parent}" if parent else "ground"
        mechanism.add_joint(f"joint{k}", above, f"body{k}", LETTERS[letter], in_parent=_pose(random))
    return mechanism


def _pose(random: np.random.Generator) -> Pose:
    quaternion = random.normal(size=4)
    return Pose(p=random.uniform(0.1, 0.5, 3), quat=quaternion / np.linalg.norm(quaternion))


def _inertia(random: np.random.Generator) -> tuple[float, np.ndarray, np.ndarray]:
    mass = float(random.uniform(0.5, 3.0))
    spread = random.uniform(-0.3, 0.3, (3, 3))
    second_moment = mass * (spread @ spread.T + 1e-3 * np.eye(3))
    return mass, random.uniform(0.1, 0.4, 3), np.trace(second_moment) * np.eye(3) - second_moment
