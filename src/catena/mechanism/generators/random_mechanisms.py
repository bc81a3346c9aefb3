"""Random mechanisms over all joint kinds, for tests: the same seed gives the same mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from catena.errors import ModelError
from catena.joints import (
    KINDS,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Sdof,
    Spherical,
    Universal,
)
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose
from catena.validation import entries, shown

Random = np.random.Generator


@checks_arguments
def random_mechanism(
    seed: int,
    bodies: int = 8,
    kinds: Sequence[str | JointKind] | None = None,
    loops: int = 0,
    floating: bool = False,
    reversed_joints: bool = True,
    friction: bool = False,
) -> Mechanism:
    """A random mechanism of `bodies` moving bodies; with `loops` more joints than a tree has.

    Bodies body1..bodyn hang on random earlier ones (body1 on ground, by a `Free` joint if `floating`) by
    joint1..jointn of kinds drawn from `kinds`: names such as "Revolute", which get random axes and
    parameters, or instances, which are taken as they are; default all registered kinds. About half of the
    joints have the newer body as their parent unless `reversed_joints` is False. Joints loop1.. connect
    random pairs of bodies, by kinds other than Fixed and Free where the choice allows; every loop is closed
    at the neutral configuration. Each body has a frame "tool{i}". With `friction` joints get random viscous
    and Coulomb coefficients.
    """
    if bodies < 1 or loops < 0:
        raise ModelError(f"random_mechanism: {bodies} bodies and {loops} loops: give at least 1 and 0")
    if seed < 0:
        raise ModelError(f"random_mechanism: the seed is {seed}: give zero or more")
    random = np.random.default_rng(seed)
    choice: list[str | JointKind] = _every_kind() if kinds is None else _named(kinds)
    if not choice:
        raise ModelError("random_mechanism: no joint kind to draw from: name at least one in `kinds`")
    mechanism = Mechanism(f"random{seed}")
    placed = {"ground": Pose()}  # poses at the neutral configuration

    def connect(name: str, a: str, b: str, kind: JointKind, at_a: Pose, at_b: Pose) -> None:
        if reversed_joints and random.random() < 0.5:
            a, b, at_a, at_b = b, a, at_b, at_a
        damping, coulomb = random.uniform(0.0, 1.0, (2, kind.nv)) if friction else (0.0, 0.0)
        mechanism.add_joint(
            name, a, b, kind, in_parent=at_a, in_child=at_b, damping=damping, friction=coulomb
        )

    for i in range(1, bodies + 1):
        name = f"body{i}"
        mass, com, inertia = _random_inertia(random)
        mechanism.add_body(name, mass, com, inertia)
        mechanism.add_frame(f"tool{i}", name, _random_pose(random))
        near = "ground" if i == 1 else f"body{random.integers(max(1, i - 4), i)}"
        kind = Free() if floating and i == 1 else _draw(random, choice)
        at_near, at_new = _random_pose(random), _random_pose(random)
        connect(f"joint{i}", near, name, kind, at_near, at_new)
        placed[name] = placed[near] * at_near * at_new.inverse()

    closing = [
        c for c in choice if c not in ("Fixed", "Free") and (isinstance(c, str) or 0 < c.nv < 6)
    ] or choice
    for k in range(1, loops + 1):
        a, b = random.choice(list(placed), size=2, replace=False)
        at_a = _random_pose(random)
        at_b = placed[b].inverse() * placed[a] * at_a
        connect(f"loop{k}", str(a), str(b), _draw(random, closing), at_a, at_b)
    return mechanism


def random_kind(random: Random, name: str) -> JointKind:
    """A joint kind of the given name with random axes and parameters."""
    try:
        make = _MAKERS[name]
    except KeyError:
        raise ModelError(
            f"random_mechanism: no kind is named {name!r}: choose from {', '.join(_MAKERS)}"
        ) from None
    return make(random)


def _named(kinds: Sequence[str | JointKind]) -> list[str | JointKind]:
    """Return what joint kinds are drawn from, checked."""
    try:
        found = list(entries(kinds))
    except ValueError:
        found = [None]
    if not all(isinstance(kind, str | JointKind) for kind in found):
        raise ModelError(f"random_mechanism: kinds are {shown(kinds)}: give names or joint kinds")
    return found


def _draw(random: Random, choice: Sequence[str | JointKind]) -> JointKind:
    drawn = choice[int(random.integers(len(choice)))]
    return random_kind(random, drawn) if isinstance(drawn, str) else drawn


def _random_axis(random: Random) -> str | tuple[float, float, float]:
    """A coordinate axis in one case of three, else a random direction."""
    if random.random() < 1 / 3:
        return str(random.choice(["x", "y", "z", "-x", "-y", "-z"]))
    x, y, z = random.normal(size=3)
    return float(x), float(y), float(z)


def _random_universal(random: Random) -> Universal:
    first = random.normal(size=3)
    across = np.cross(first, random.normal(size=3))
    second = across / np.linalg.norm(across) + random.uniform(-0.3, 0.3) * first / np.linalg.norm(first)
    return Universal(tuple(first.tolist()), tuple(second.tolist()))


def _random_sdof(random: Random) -> Sdof:
    motions = random.permutation(["rx", "ry", "rz", "dx", "dy", "dz"])[: random.integers(1, 5)]
    return Sdof(*(str(motion) for motion in motions))


_MAKERS: dict[str, Callable[[Random], JointKind]] = {
    "Fixed": lambda random: Fixed(),
    "Revolute": lambda random: Revolute(_random_axis(random)),
    "Prismatic": lambda random: Prismatic(_random_axis(random)),
    "Helical": lambda random: Helical(_random_axis(random), float(random.uniform(-0.3, 0.3))),
    "Cylindrical": lambda random: Cylindrical(_random_axis(random)),
    "Universal": _random_universal,
    "Spherical": lambda random: Spherical(),
    "Planar": lambda random: Planar(_random_axis(random)),
    "Free": lambda random: Free(),
    "Sdof": _random_sdof,
}
KIND_NAMES = tuple(_MAKERS)


def _every_kind() -> list[str | JointKind]:
    """All names above, and the example instance of every registered kind that has none."""
    return [*KIND_NAMES, *(kind for kind in KINDS if type(kind).__name__ not in _MAKERS)]


def _random_pose(random: Random) -> Pose:
    quaternion = random.normal(size=4)
    return Pose(p=random.uniform(-0.5, 0.5, 3), quat=quaternion / np.linalg.norm(quaternion))


def _random_inertia(random: Random) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, com and an inertia that a cloud of points could have: tr(J) 1 - J with J positive definite."""
    mass = float(random.uniform(0.5, 3.0))
    spread = random.uniform(-0.2, 0.2, (3, 3))
    second_moment = mass * (spread @ spread.T + 1e-3 * np.eye(3))
    return mass, random.uniform(-0.2, 0.2, 3), np.trace(second_moment) * np.eye(3) - second_moment
