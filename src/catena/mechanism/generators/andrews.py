"""Andrews' squeezing mechanism."""

from __future__ import annotations

from math import cos, sin

from catena.joints import Revolute
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

# Where the mechanism starts: beta, Theta, gamma, Phi, delta, Omega, epsilon.
START = (
    -0.06171389001427645, 0.0, 0.45527981916307037, 0.22266839016588588, 0.48736497954384256,
    -0.22266839016588588, 1.2305474445498212,
)  # fmt: skip
SPRING_STIFFNESS, SPRING_LENGTH, DRIVE = 4530.0, 0.07785, 0.033


def andrews() -> Mechanism:
    """Andrews' squeezing mechanism, a benchmark of the multibody community (IFToMM A03) and of solvers of
    differential equations: 7 planar bodies, 1 dof, 3 loops with 3 redundant constraints each, no gravity.

    In the x-y plane with every joint about z. Bodies K1..K7: K1 is driven at O, the ground's origin, by the
    joint "beta"; K2 follows at F by "Theta"; the triangle K3 turns about B by "gamma"; K5 turns about A by
    "delta" and carries K4 at G by "Phi"; K7 turns about A by "epsilon" and carries K6 at H by "Omega"; the
    joints "E2", "E4" and "E6" pin K2, K4 and K6 to K3 at E. The seven joints named after the published angles
    come first and in the published order; their coordinates count from the published start, so all
    loops are closed at q = 0, and the published angles are START + q. Only beta is actuated: the benchmark drives
    it with DRIVE = 0.033 N m.

    A spring of stiffness 4530 N/m and free length 0.07785 m (SPRING_STIFFNESS, SPRING_LENGTH) acts between the
    frames "C" of ground and "D" of K3. `driven_andrews` has it, and the drive.
    """
    mechanism = Mechanism("andrews", gravity=(0.0, 0.0, 0.0))
    beta, theta, gamma, phi, delta, omega, epsilon = START
    # Frames sit at the joint towards ground, x at the published angle of the body; centres of mass as published.
    masses = {
        "K1": (0.04325, (0.00092, 0.0), 2.194e-6),
        "K2": (0.00365, (-0.0115, 0.0), 4.410e-7),
        "K3": (0.02373, (0.01043, -0.01874), 5.255e-6),
        "K4": (0.00706, (0.0, -(0.02 - 0.01421)), 5.667e-7),
        "K5": (0.07050, (0.02308, 0.00916), 1.169e-5),
        "K6": (0.00706, (0.02 - 0.01421, 0.0), 5.667e-7),
        "K7": (0.05498, (-0.00449, -0.01228), 1.912e-5),
    }
    for name, (mass, (x, y), inertia) in masses.items():
        # A planar body: only the moment about z matters; half of it about each other axis is a flat plate's.
        mechanism.add_body(name, mass, (x, y, 0.0), (inertia / 2.0, inertia / 2.0, inertia))
    A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
    pin = Revolute("z")
    mechanism.add_joint("beta", "ground", "K1", pin, _at(0.0, 0.0, beta))
    mechanism.add_joint("Theta", "K1", "K2", pin, _at(0.007, 0.0, theta), actuated=False)
    mechanism.add_joint("gamma", "ground", "K3", pin, _at(*B, gamma), actuated=False)
    mechanism.add_joint("Phi", "K5", "K4", pin, _at(0.04, 0.0, phi), actuated=False)
    mechanism.add_joint("delta", "ground", "K5", pin, _at(*A, delta), actuated=False)
    mechanism.add_joint("Omega", "K7", "K6", pin, _at(0.0, -0.04, omega), actuated=False)
    mechanism.add_joint("epsilon", "ground", "K7", pin, _at(*A, epsilon), actuated=False)
    E = (0.0, -0.035)
    ends = {
        "K2": (-0.028, 0.0, beta + theta),
        "K4": (0.0, -0.02, phi + delta),
        "K6": (0.02, 0.0, omega + epsilon),
    }
    for name, (x, y, angle) in ends.items():
        mechanism.add_joint(
            f"E{name[1]}", "K3", name, pin, _at(*E, angle - gamma), _at(x, y, 0.0), actuated=False
        )
    mechanism.add_frame("C", "ground", _at(*C, 0.0))
    mechanism.add_frame("D", "K3", _at(0.02, -0.018, 0.0))
    return mechanism


def driven_andrews() -> Mechanism:
    """Andrews' squeezing mechanism with its spring "spring" and its drive, the wrench "drive" on K1: the benchmark as
    published, at rest where it starts."""
    mechanism = andrews()
    mechanism.add_spring_between("spring", "C", "D", stiffness=SPRING_STIFFNESS, rest_length=SPRING_LENGTH)
    mechanism.add_wrench("drive", "K1", moment=(0.0, 0.0, DRIVE))
    return mechanism


def _at(x: float, y: float, angle: float) -> Pose:
    """A frame at (x, y) turned by `angle` about z."""
    return Pose(
        p=(x, y, 0.0), R=((cos(angle), -sin(angle), 0.0), (sin(angle), cos(angle), 0.0), (0.0, 0.0, 1.0))
    )
