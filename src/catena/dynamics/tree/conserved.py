"""Kinetic and potential energy, total momentum and total inertia: two sweeps, cost O(N)."""

from typing import Any

from catena.kernels import POSITION, VELOCITY, Algorithm, at_ground, base_to_tip, tip_to_base
from catena.spatial import Force, Motion, RigidInertia


def ground(ground: Any) -> None:
    """The ground rests and gathers what the bodies have: momentum h and kinetic energy T."""
    ground.v = Motion.zero()
    ground.h = Force.zero()
    ground.T = 0.0


@base_to_tip
def move(body: Any, parent: Any) -> None:
    """Twist, momentum and kinetic energy of each body by itself; rotors turn fast and have energy of their own."""
    body.X = body.joint.transform(body.q) * body.placement
    body.v = body.X * parent.v + body.joint.motion_space(body.q) * body.qd
    body.own_h = body.inertia * body.v
    body.own_T = 0.5 * body.v.dot(body.own_h)
    if body.joint.rotor is not None:
        body.own_T = body.own_T + 0.5 * (body.qd @ (body.joint.rotor * body.qd))


@tip_to_base
def gather(body: Any, parent: Any) -> None:
    """Sums over everything beyond a joint, about the parent's origin in the parent's axes."""
    parent.h += body.X.pull(body.h + body.own_h)
    parent.T += body.T + body.own_T


def massless_ground(ground: Any) -> None:
    """`Ic` is the inertia of everything from a body outward."""
    ground.Ic = RigidInertia.zero()


@base_to_tip
def stand(body: Any, parent: Any) -> None:
    """Each body where it stands."""
    body.X = body.joint.transform(body.q) * body.placement


@tip_to_base
def gather_inertia(body: Any, parent: Any) -> None:
    """The inertia of everything beyond a joint."""
    parent.Ic += body.X.pull(body.Ic + body.inertia)


def still_ground(ground: Any) -> None:
    """The ground gathers the kinetic energy T and the inertia Ic of the bodies."""
    ground.v = Motion.zero()
    ground.T = 0.0
    ground.Ic = RigidInertia.zero()


@tip_to_base
def gather_energies(body: Any, parent: Any) -> None:
    """Kinetic energy and inertia of everything beyond a joint."""
    parent.T += body.T + body.own_T
    parent.Ic += body.X.pull(body.Ic + body.inertia)


@at_ground
def fall(ground: Any) -> None:
    """The work it took to lift the first moment m c against gravity."""
    ground.V = -(ground.gravity @ ground.Ic.h)


kinetic_energy = Algorithm(
    "kinetic_energy", ground, (move, gather), inputs={"q": POSITION, "qd": VELOCITY}, ground_outputs=("T",)
)

momentum = Algorithm(
    "momentum", ground, (move, gather), inputs={"q": POSITION, "qd": VELOCITY}, ground_outputs=("h",)
)

potential_energy = Algorithm(
    "potential_energy",
    massless_ground,
    (stand, gather_inertia, fall),
    inputs={"q": POSITION},
    ground_outputs=("V",),
)

energies = Algorithm(
    "energies",
    still_ground,
    (move, gather_energies, fall),
    inputs={"q": POSITION, "qd": VELOCITY},
    ground_outputs=("T", "V"),
)

total_inertia = Algorithm(
    "total_inertia", massless_ground, (stand, gather_inertia), inputs={"q": POSITION}, ground_outputs=("Ic",)
)
