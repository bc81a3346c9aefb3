"""The papers' families of mechanisms, with general numbers: no right angles, full inertia tensors.

Which numbers they are does not matter; the same seed gives the same ones.
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


OBLIQUE = (1.0, 2.0, -9.0)
"""Gravity in a general direction."""


def general_chain(
    joints: Sequence[str], seed: int = 0, gravity: tuple[float, float, float] = OBLIQUE
) -> Mechanism:
    """Return a serial chain with joints "R" (revolute), "P" (prismatic) or "S" (spherical) from base to tip: body1,
    body2, ... on joint1, joint2, ..."""
    return _general("chain", joints, [k - 1 for k in range(1, len(joints) + 1)], seed, gravity)


def general_star(joints: Sequence[str], seed: int = 0) -> Mechanism:
    """Return the first body on ground, and all others on the first: as parallel as a tree can be."""
    return _general("star", joints, [0, *[1] * (len(joints) - 1)][: len(joints)], seed)


def general_loop(joints: Sequence[str], seed: int = 0) -> Mechanism:
    """Return the tree of a closed loop that is cut in its middle: two chains from ground, of half the joints each."""
    half = (len(joints) + 1) // 2
    return _general("loop", joints, [0 if k == half else k for k in range(len(joints))], seed)


def denavit_hartenberg_chain(joints: int, seed: int = 0) -> Mechanism:
    """Return a chain of revolute joints whose links have Denavit and Hartenberg's length, offset and twist, and full
    inertia tensors: link1, link2, ... on joint1, joint2, ..."""
    random = np.random.default_rng(seed)
    mechanism = Mechanism(f"DH chain of {joints}", gravity=OBLIQUE)
    _add_links(mechanism, joints, "", random)
    return mechanism


def closed_chains(chains: int, joints: int, seed: int = 0) -> Mechanism:
    """Lilly and Orin's simple closed-chain mechanism: chains of revolute joints with Denavit and Hartenberg's links
    from ground to one reference member, which each of them holds by a ball joint (n_c = 3)."""
    random = np.random.default_rng(seed)
    mechanism = Mechanism(f"{chains} chains of {joints}", gravity=OBLIQUE)
    mechanism.add_body("member", *_inertia(random))
    for c in range(1, chains + 1):
        last = _add_links(mechanism, joints, f"{c}.", random)
        mechanism.add_joint(
            f"grip{c}", last, "member", LETTERS["S"], in_parent=_pose(random), in_child=_pose(random)
        )
    return mechanism


def _add_links(mechanism: Mechanism, joints: int, prefix: str, random: np.random.Generator) -> str:
    """Add a chain from ground, and return its last link. Links begin with a screw along x, then comes one along z,
    which the joint completes; the first joint stands at the ground's origin."""
    above = "ground"
    for k in range(1, joints + 1):
        name = f"link{prefix}{k}"
        mechanism.add_body(name, *_inertia(random))
        length, offset, twist = random.uniform(0.2, 0.9, 3)
        place = np.array([length, -offset * np.sin(twist), offset * np.cos(twist)])
        pose = Pose(p=place, rpy=(twist, 0.0, 0.0)) if k > 1 else Pose()
        mechanism.add_joint(f"joint{prefix}{k}", above, name, LETTERS["R"], in_parent=pose)
        above = name
    return above


def _general(
    what: str, joints: Sequence[str], parents: Sequence[int], seed: int,
    gravity: tuple[float, float, float] = OBLIQUE,
) -> Mechanism:  # fmt: skip
    random = np.random.default_rng(seed)
    mechanism = Mechanism(f"{what} {''.join(joints)}", gravity=gravity)
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
