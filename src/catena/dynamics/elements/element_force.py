"""The forces of a mechanism as forces of its tree's joints: what springs, stops, wrenches and all other kinds press on
bodies is passed towards the base, and the part of it along each joint does there what they do. Cost O(N).

    load = tau of forces at the joint + S^T f,      f = sum of the wrenches on all bodies beyond the joint

A mechanism accelerates under `tau` and its own forces as it does under tau + load alone, loops or none, and inverse
dynamics takes `load` off what the motion takes. Only what passes through single joints depends on where forces act.
"""

from typing import Any

from catena.dynamics.elements.force_sweeps import GIVEN, SHARED, force_sweeps
from catena.kernels import POSITION, VELOCITY, Algorithm, tip_to_base
from catena.spatial import Force


def ground(ground: Any) -> None:
    """Nothing has been passed on yet."""
    ground.f = Force.zero()


@tip_to_base
def gather(body: Any, parent: Any) -> None:
    """What acts on a body and beyond it, the part along its joint, and what the parent feels of it."""
    body.f += body.f_ext
    body.load = body.tau + body.joint.motion_space(body.q).T * body.f
    parent.f += (body.joint.transform(body.q) * body.placement).pull(body.f)


element_force = Algorithm(
    "element_force", ground, (*force_sweeps(), gather), inputs={"q": POSITION, "qd": VELOCITY, **GIVEN},
    outputs={"load": VELOCITY}, contributed=frozenset({"load"}), shared=SHARED, optional=frozenset(GIVEN),
)  # fmt: skip
