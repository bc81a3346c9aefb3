"""Mechanisms from tables in the six-degree-of-freedom (SDOF) notation of van der Merwe, chapter 2.

Joint and link i together are a gimbal that carries a three-axis slide. gamma_i = (Rot x, Rot y, Rot z, Disp
x, Disp y, Disp z): the rotations, taken in the order x, y, z, turn frame i against frame i-1 (eq. 2.26: A =
Rot(z) Rot(y) Rot(x) as coordinate transforms), and the displacements lead from gimbal i to gimbal i+1 along
the axes of frame i (eq. 2.29). phi_i names the entries of gamma_i that move. A displacement that moves
slides link i through its own gimbal, so that link i and everything after it move with it (§2.5.2). The
notation puts frame i back on the gimbal at every instant; here a body frame stays on its body, and is on
the gimbal when the displacements have the values of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from catena.errors import ModelError
from catena.joints import Fixed, JointKind, Sdof
from catena.mechanism import validation
from catena.mechanism.mechanism import Mechanism
from catena.mechanism.notations.denavit_hartenberg import link_properties
from catena.spatial import Pose

MOTIONS = ("rx", "ry", "rz", "dx", "dy", "dz")
Phi = Any


def from_sdof(
    gammas: Sequence[ArrayLike],
    phis: Sequence[Phi],
    masses: Sequence[float] | None = None,
    coms: Sequence[ArrayLike] | None = None,
    inertias: Sequence[ArrayLike] | None = None,
    base: Pose | None = None,
    tip: ArrayLike | None = None,
    name: str = "sdof chain",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
) -> Mechanism:
    """Return a serial chain described by SDOF tables.

    `gammas` holds six numbers per link. `phis` holds the joint spaces: 6 x n matrices of unit columns, or
    the names of the motions such as ("rz", "dx"), in the order rx, ry, rz, dx, dy, dz. Masses, mass centres
    and inertias (about the mass centre) are given in link frames at the configuration of the table, one
    each per link; zero when left out. `base` places frame 0 in ground. `tip` is one more gamma: its
    rotations turn the frame "tip" at the end of the last link. Bodies are link1.., joints joint1...

    Joint coordinates are the moving entries of gamma themselves, so the table's configuration is not q = 0
    but the one that `sdof_coordinates(gammas, phis)` returns. It is the initial state of the mechanism.
    """
    mechanism = Mechanism(name, gravity)
    add_sdof_chain(mechanism, gammas, phis, masses, coms, inertias, base=base, tip=tip)
    return mechanism


def add_sdof_chain(
    mechanism: Mechanism,
    gammas: Sequence[ArrayLike],
    phis: Sequence[Phi],
    masses: Sequence[float] | None = None,
    coms: Sequence[ArrayLike] | None = None,
    inertias: Sequence[ArrayLike] | None = None,
    on: str = "ground",
    base: Pose | None = None,
    tip: ArrayLike | None = None,
    prefix: str = "",
) -> str:
    """Add a chain in SDOF notation to a mechanism and return the name of its last link.

    Frame 0 sits at pose `base` of the body `on`; bodies are "{prefix}link{i}", joints "{prefix}joint{i}",
    the tip frame "{prefix}tip". Runs of the mechanism start at the configuration of the table.
    """
    table = _table(gammas, phis)
    properties = link_properties("SDOF table", len(table), masses, coms, inertias)
    parent, gimbal = on, Pose() if base is None else base
    for i, ((gamma, moving), link) in enumerate(zip(table, properties, strict=True), 1):
        kind, before, after = _joint(i, gamma, moving)
        mechanism.add_body(f"{prefix}link{i}", **link)
        mechanism.add_joint(
            f"{prefix}joint{i}",
            parent,
            f"{prefix}link{i}",
            kind,
            in_parent=gimbal * before,
            in_child=after.inverse(),
        )
        parent, gimbal = f"{prefix}link{i}", Pose(p=gamma[3:])
    if tip is not None:
        end = validation.vector("SDOF tip", "gamma", tip, 6)
        gimbal = gimbal * _rotation(end[:3]) * Pose(p=end[3:])
    mechanism.add_frame(f"{prefix}tip", parent, gimbal)
    start = {name: value for name, value in sdof_coordinates(gammas, phis, prefix).items() if len(value)}
    mechanism.set_initial({**mechanism.initial.q, **start}, dict(mechanism.initial.v))
    return parent


def sdof_coordinates(
    gammas: Sequence[ArrayLike], phis: Sequence[Phi], prefix: str = ""
) -> dict[str, NDArray[np.float64]]:
    """Return the joint coordinates of the table's configuration, by joint name: the moving entries of each
    gamma."""
    table = _table(gammas, phis)
    return {f"{prefix}joint{i}": gamma[list(moving)] for i, (gamma, moving) in enumerate(table, 1)}


def _table(
    gammas: Sequence[ArrayLike], phis: Sequence[Phi]
) -> list[tuple[NDArray[np.float64], tuple[int, ...]]]:
    """The checked gammas, each with the indices of its moving entries."""
    if len(gammas) == 0 or len(gammas) != len(phis):
        raise ModelError(
            f"SDOF table: {len(gammas)} gammas and {len(phis)} phis: give one of each for every link"
        )
    return [
        (validation.vector(f"SDOF link {i}", "gamma", gamma, 6), _moving(f"SDOF link {i}", phi))
        for i, (gamma, phi) in enumerate(zip(gammas, phis, strict=True), 1)
    ]


def _moving(who: str, phi: Phi) -> tuple[int, ...]:
    """The indices of the motions in phi, which has to list them in the order of the gimbal."""
    if isinstance(phi, str):
        phi = (phi,)
    if isinstance(phi, Sequence) and all(isinstance(motion, str) for motion in phi):
        unknown = [motion for motion in phi if motion not in MOTIONS]
        if unknown:
            raise ModelError(f"{who}: phi names the motion {unknown[0]!r}: choose from {', '.join(MOTIONS)}")
        indices = tuple(MOTIONS.index(str(motion)) for motion in phi)
    else:
        matrix = validation.numbers(who, "phi", phi)
        if matrix.ndim == 1:
            matrix = matrix[:, None]
        if matrix.shape[0] != 6 or matrix.ndim != 2 or not _unit_columns(matrix):
            raise ModelError(
                f"{who}: phi has shape {matrix.shape}: give 6 rows and columns of one 1 and five 0 each"
            )
        indices = tuple(int(row) for row in matrix.argmax(axis=0))
    if list(indices) != sorted(set(indices)):
        names = ", ".join(MOTIONS[k] for k in indices)
        raise ModelError(
            f"{who}: phi lists {names}: list each motion once, in the order {', '.join(MOTIONS)}"
        )
    return indices


def _unit_columns(matrix: NDArray[np.float64]) -> bool:
    return bool(((matrix == 0.0) | (matrix == 1.0)).all() and (matrix.sum(axis=0) == 1.0).all())


def _joint(i: int, gamma: NDArray[np.float64], moving: tuple[int, ...]) -> tuple[JointKind, Pose, Pose]:
    """The kind of joint i, what stands still before its motions, and what stands still after them.

    Body frame i is reached from gimbal i by before * motion(q) * after. `after` takes back the slide of the
    table, so that the body frame is on the gimbal at the table's configuration.
    """
    turning = [k for k in moving if k < 3]
    sliding = [k for k in moving if k >= 3]
    first = turning[0] if turning else 3
    last = 3 if sliding else turning[-1] if turning else 3
    for k in range(first, last):
        if k not in turning and gamma[k] != 0.0:
            raise ModelError(
                f"SDOF link {i}: the rotation {MOTIONS[k]} = {gamma[k]:.6g} stands still between two "
                "motions of the joint: make it zero, or split the joint into two links, the first massless"
            )
    held = np.where([k in turning for k in range(3)], 0.0, gamma[:3])
    before = _rotation(np.where(np.arange(3) < first, held, 0.0))
    after = _rotation(np.where(np.arange(3) > first, held, 0.0))
    slide = np.where([k in sliding for k in range(3, 6)], gamma[3:], 0.0)
    kind = Sdof(*(MOTIONS[k] for k in moving)) if moving else Fixed()
    return kind, before, after * Pose(p=-slide)


def _rotation(angles: NDArray[np.float64]) -> Pose:
    """A frame turned about x, then about its own y, then about its own z (eq. 2.26)."""
    x, y, z = (Pose(rpy=tuple(row)) for row in np.diag(angles))
    return x * y * z
