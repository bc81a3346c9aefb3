"""A very flexible beam as rigid segments with elastic joints between them, which holds for large deflections."""

from __future__ import annotations

import numpy as np

from catena.bodies.beam import Beam
from catena.errors import ModelError
from catena.joints import JointKind, Revolute, Sdof, Universal
from catena.mechanism.mechanism import Mechanism
from catena.mechanism.merging import include
from catena.mechanism.parts import GROUND
from catena.spatial import Pose, is_one_pose
from catena.validation import is_one_of, shown


def segmented(
    beam: Beam, segments: int, plane: str | None = None, *, into: Mechanism | None = None, on: str = GROUND,
    at: Pose | None = None, name: str = "beam", extension: bool = False,
) -> Mechanism:  # fmt: skip
    """Return a mechanism of rigid segments of a beam along x, clamped to the body `on` at the pose `at`: a new one in
    which that is the ground, or `into`, the one that they are added to.

    Its bodies are "<name>.1" to "<name>.<segments>", each with its frame at its end towards the clamp, and the frame
    "<name>.tip" is at the free end. The joints "<name>.bend1" ... have the bending stiffness of half a segment on
    either side: EI / h between segments, 2 EI / h at the clamp; a beam that is pinned is clamped to a body without mass
    that a joint holds. Where `plane` is "y" or "z" the beam bends in that direction only, otherwise in both. Segments
    keep their length and there is no shear; with `extension` joints slide along the axis too, with the axial stiffness
    EA / h. That matters to few and costs short steps, because the beam is stiff in this direction. The error falls with
    the square of the number of segments.
    """
    if not isinstance(beam, Beam):
        raise ModelError(f"segmented: {shown(beam)} is no Beam: only beams are split into segments.")
    if isinstance(segments, bool) or not isinstance(segments, (int, np.integer)) or segments < 1:
        raise ModelError(f"segmented: segments = {shown(segments)}; give a whole number of one or more.")
    if plane is not None and not is_one_of(plane, ("y", "z")):
        raise ModelError(f"segmented: plane = {shown(plane)}; give 'y', 'z', or None for both.")
    check_place("segmented", into, at, name)
    if not isinstance(extension, bool | np.bool_):
        raise ModelError(f"segmented: extension = {shown(extension)}; give True or False.")
    edges = np.linspace(0.0, beam.length, segments + 1)
    h = beam.length / segments
    made = Mechanism(name)
    for k in range(1, segments + 1):
        here = beam.section(0.5 * (edges[k - 1] + edges[k]))
        mass = here["density"] * here["area"] * h
        turning = here["density"] * h * np.array([here["I_y"] + here["I_z"], here["I_y"], here["I_z"]])
        turning[1:] *= float(bool(beam.rotary))
        turning[1:] += mass * h**2 / 12.0
        made.add_body(f"{name}.{k}", mass=mass, com=(0.5 * h, 0.0, 0.0), inertia=turning, physical=False)
        ends = (
            beam.section(edges[k - 1] + (1e-9 * h if k == 1 else -1e-9 * h)),
            beam.section(edges[k - 1] + 1e-9 * h),
        )
        about_y, about_z, along = (
            (2.0 if k == 1 else 1.0) / h / np.mean([1.0 / (end["young"] * end[I]) for end in ends])
            for I in ("I_y", "I_z", "area")  # noqa: E741
        )
        place = Pose(p=(0.0 if k == 1 else h, 0.0, 0.0))
        joint, below = f"{name}.bend{k}", GROUND if k == 1 else f"{name}.{k - 1}"
        turns = {None: ("rz", "ry"), "y": ("rz",), "z": ("ry",)}[plane]
        stiffness = [about_z if turn == "rz" else about_y for turn in turns]
        kind: JointKind
        if extension:
            kind, stiffness = Sdof("dx", *turns), [along, *stiffness]
        elif plane is None:
            kind = Universal("z", "y")
        else:
            kind = Revolute("z") if plane == "y" else Revolute("-y")
        made.add_joint(joint, below, f"{name}.{k}", kind, place, actuated=False)
        made.add_spring(joint, joint=joint, stiffness=tuple(stiffness))
    made.add_frame(f"{name}.tip", f"{name}.{segments}", Pose(p=(h, 0.0, 0.0)))
    return placed(made, into, on, at)


def check_place(who: str, into: Mechanism | None, at: Pose | None, name: str) -> None:
    """Raise a ModelError that begins with `who` unless parts can be put there under this name."""
    if into is not None and not isinstance(into, Mechanism):
        raise ModelError(f"{who}: into is {shown(into)}; give the mechanism that parts are added to.")
    if at is not None and not is_one_pose(at):
        raise ModelError(f"{who}: at is {shown(at)}; give a Pose.")
    if not isinstance(name, str):
        raise ModelError(f"{who}: name is {shown(name)}; give a word.")


def placed(made: Mechanism, into: Mechanism | None, on: str, at: Pose | None) -> Mechanism:
    """Return the mechanism itself, or the one `into` which its parts were put, on the pose `at` of the body `on`."""
    if into is None:
        return made
    include(into, made, on=on, at=at)
    return into
