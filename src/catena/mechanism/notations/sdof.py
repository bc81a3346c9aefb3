"""Mechanisms from tables in the six-degree-of-freedom (SDOF) notation of van der Merwe, chapter 2.

Joint and link i together are a gimbal that carries a three-axis slide. gamma_i = (Rot x, Rot y, Rot z, Disp
x, Disp y, Disp z): the rotations, taken in the order x, y, z, turn frame i against frame i-1 (eq. 2.26: A =
Rot(z) Rot(y) Rot(x) as coordinate transforms), and the displacements lead from gimbal i to gimbal i+1 along
the axes of frame i (eq. 2.29). phi_i names the entries of gamma_i that move. A displacement that moves
slides link i through its own gimbal, so that link i and everything after it move with it (§2.5.2). The
notation puts frame i back on the gimbal at every instant; here a body frame stays on its body, and is on
the gimbal when the displacements have the values of the table.

phi_i may list its motions in any order: they then take each other's places among the six, and what stands still keeps
its own. Entries that stand still between two that move belong to the joint (`Sdof("rx", ("rz", 0.5), "dx")`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from catena.errors import ModelError
from catena.joints import Fixed, JointKind, Sdof
from catena.mechanism import validation
from catena.mechanism.mechanism import Mechanism
from catena.mechanism.notations.denavit_hartenberg import by_column
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
    dampings: Sequence[ArrayLike] | None = None,
    frictions: Sequence[ArrayLike] | None = None,
) -> Mechanism:
    """Return a serial chain described by SDOF tables.

    `gammas` holds six numbers per link. `phis` holds the joint spaces: 6 x n matrices of unit columns, or
    the names of the motions such as ("rz", "dx"), in the order in which they follow each other. Masses, mass centres
    and inertias (about the mass centre) are given in link frames at the configuration of the table, one
    each per link, `dampings` and `frictions` one number or one per motion for each joint; zero when left out. `base`
    places frame 0 in ground. `tip` is one more gamma: its
    rotations turn the frame "tip" at the end of the last link. Bodies are link1.., joints joint1...

    Joint coordinates are the moving entries of gamma themselves, so the table's configuration is not q = 0
    but the one that `sdof_coordinates(gammas, phis)` returns. It is the initial state of the mechanism.
    """
    mechanism = Mechanism(name, gravity)
    add_sdof_chain(
        mechanism,
        gammas,
        phis,
        masses,
        coms,
        inertias,
        base=base,
        tip=tip,
        dampings=dampings,
        frictions=frictions,
    )
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
    dampings: Sequence[ArrayLike] | None = None,
    frictions: Sequence[ArrayLike] | None = None,
) -> str:
    """Add a chain in SDOF notation to a mechanism and return the name of its last link.

    Frame 0 sits at pose `base` of the body `on`; bodies are "{prefix}link{i}", joints "{prefix}joint{i}",
    the tip frame "{prefix}tip". Runs of the mechanism start at the configuration of the table.
    """
    table = _table(gammas, phis)
    links = by_column("SDOF table", len(table), mass=masses, com=coms, inertia=inertias)
    joints = by_column("SDOF table", len(table), damping=dampings, friction=frictions)
    parent, gimbal = on, Pose() if base is None else base
    for i, ((gamma, moving), link, resistance) in enumerate(zip(table, links, joints, strict=True), 1):
        kind, before, after, reach = _joint(gamma, moving)
        mechanism.add_body(f"{prefix}link{i}", **link)
        mechanism.add_joint(
            f"{prefix}joint{i}",
            parent,
            f"{prefix}link{i}",
            kind,
            in_parent=gimbal * before,
            in_child=after.inverse(),
            **(resistance if moving else {}),
        )
        parent, gimbal = f"{prefix}link{i}", Pose(p=reach)
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


def sdof_gammas(
    gammas: Sequence[ArrayLike], phis: Sequence[Phi], positions: Mapping[str, ArrayLike], prefix: str = ""
) -> list[NDArray[np.float64]]:
    """Return the table (6,) of each link at a configuration: its moving entries are the joint's coordinates.

    `positions` holds those by joint name, as `sdof_coordinates` gives them and `run[joint]` at an instant; joints that
    it does not name stay as the table has them.
    """
    table = _table(gammas, phis)
    names = [f"{prefix}joint{i}" for i in range(1, len(table) + 1)]
    for name in positions:
        if name not in names:
            raise ModelError(f"SDOF table: positions name the joint {name!r}: there are {', '.join(names)}")
    found = []
    for name, (gamma, moving) in zip(names, table, strict=True):
        row = np.array(gamma)
        if name in positions:
            row[list(moving)] = validation.vector(f"SDOF {name}", "position", positions[name], len(moving))
        found.append(row)
    return found


def _table(
    gammas: Sequence[ArrayLike], phis: Sequence[Phi]
) -> list[tuple[NDArray[np.float64], tuple[int, ...]]]:
    """Return the checked gammas, each with the indices of its moving entries."""
    if len(gammas) == 0 or len(gammas) != len(phis):
        raise ModelError(
            f"SDOF table: {len(gammas)} gammas and {len(phis)} phis: give one of each for every link"
        )
    return [
        (validation.vector(f"SDOF link {i}", "gamma", gamma, 6), _moving(f"SDOF link {i}", phi))
        for i, (gamma, phi) in enumerate(zip(gammas, phis, strict=True), 1)
    ]


def _moving(who: str, phi: Phi) -> tuple[int, ...]:
    """Return the indices of the motions in phi, in the order in which it lists them."""
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
    if len(indices) != len(set(indices)):
        names = ", ".join(MOTIONS[k] for k in indices)
        raise ModelError(
            f"{who}: phi lists {names}: list each motion once, as a gamma has one number for each; what comes again is "
            f"a link of its own, or a joint of the kind Sdof({', '.join(repr(MOTIONS[k]) for k in indices)})"
        )
    return indices


def _unit_columns(matrix: NDArray[np.float64]) -> bool:
    return bool(((matrix == 0.0) | (matrix == 1.0)).all() and (matrix.sum(axis=0) == 1.0).all())


def _joint(
    gamma: NDArray[np.float64], moving: tuple[int, ...]
) -> tuple[JointKind, Pose, Pose, NDArray[np.float64]]:
    """Return the kind of a joint, what stands still before and after it, and the way (3,) from the link's frame to the
    next gimbal.

    Body frame i is reached from gimbal i by before * motion(q) * after. `after` takes back all displacements of the
    table, so that the body frame is on the gimbal at the table's configuration.
    """
    places = dict(zip(sorted(moving), moving, strict=True))
    order = [places.get(k, k) for k in range(6)]
    first = min(places, default=6)
    last = max(places, default=-1)
    reach, turned = np.zeros(3), Pose()
    for k in reversed(order):
        if k < 3:
            turned = _elementary(k, gamma[k]) * turned
        else:
            reach = reach + turned.inverse().R @ _elementary(k, gamma[k]).p
    before, held, behind = Pose(), Pose(), Pose()
    steps: list[str | tuple[str, float]] = []
    for place, k in enumerate(order):
        if place in places:
            steps.append(MOTIONS[k])
        elif gamma[k] == 0.0:
            continue
        elif place < first:
            before = before * _elementary(k, gamma[k])
        elif place > last:
            behind = behind * _elementary(k, gamma[k])
        else:
            steps.append((MOTIONS[k], float(gamma[k])))
            held = held * _elementary(k, gamma[k])
    kind = Sdof(*steps) if moving else Fixed()
    return kind, before, held * behind * Pose(p=-reach), reach


def _elementary(k: int, x: float) -> Pose:
    """Return the pose that one entry of gamma makes."""
    along = tuple(np.where(np.arange(3) == k % 3, x, 0.0).tolist())
    return Pose(rpy=along) if k < 3 else Pose(p=along)


def _rotation(angles: NDArray[np.float64]) -> Pose:
    """Return a frame turned about x, then about its own y, then about its own z (eq. 2.26)."""
    x, y, z = (Pose(rpy=tuple(row)) for row in np.diag(angles))
    return x * y * z
