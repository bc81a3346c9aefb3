"""The worked examples of van der Merwe's thesis: the four-link closed chain, the Stanford arm, two links that hold a
load."""

from __future__ import annotations

from math import pi

from numpy.typing import ArrayLike

from catena.joints import Revolute, Sdof
from catena.mechanism.generators.argument_checks import checks_arguments
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose


@checks_arguments
def four_link_chain(damping: float = 0.25) -> Mechanism:
    """Four links in the x-z plane whose tip is pinned to ground: 2 dof, one loop with 3 redundant constraints; the
    worked example of van der Merwe's thesis (tables 5.1 and 5.2), with its gravity of 10 m/s^2.

    Bodies "link1".."link4" hang together by joints "joint1".."joint4" about y, each with the given viscous `damping`
    [N m s]; "joint1" is at the ground's origin. At q = 0, where the chain is released at rest, link 1 (2 m) and link
    3 (1 m) stand upright, links 2 and 4 (1 m each) are level. The frame "tip" is the end of link 4, and the joint
    "tip" pins it to ground at (2, 0, 3). Its reaction is the force of the pin on link 4, in the axes of link 4.

    A plan with `cut=["tip"]` has the four angles as coordinates; left to itself, planning cuts in the middle.
    """
    mechanism = Mechanism("four-link chain", gravity=(0.0, 0.0, -10.0))
    upright, level = (0.2, 0.2, 0.02), (0.02, 0.2, 0.2)
    links = [
        (2.0, (0.0, 0.0, 2.0), (1.0, 1.0, 0.1)),
        (1.0, (1.0, 0.0, 0.0), level),
        (1.0, (0.0, 0.0, 1.0), upright),
        (1.0, (1.0, 0.0, 0.0), level),
    ]
    last, end = "ground", Pose()
    for i, (mass, (x, y, z), inertia) in enumerate(links, 1):
        mechanism.add_body(f"link{i}", mass, (x / 2.0, y / 2.0, z / 2.0), inertia)
        mechanism.add_joint(f"joint{i}", last, f"link{i}", Revolute("y"), end, damping=damping)
        last, end = f"link{i}", Pose(p=(x, y, z))
    mechanism.add_frame("tip", last, end)
    mechanism.add_joint("tip", "ground", last, Revolute("y"), Pose(p=(2.0, 0.0, 3.0)), end, actuated=False)
    return mechanism


# How far the boom reaches from the shoulder in the configuration of the tables [m].
REACH = 0.8


def stanford_arm() -> Mechanism:
    """A small Stanford arm with 5 dof, y up: the worked example of van der Merwe's thesis (tables 4.1 and 4.2).

    Joint "waist" turns the post "post" about the vertical. Joint "shoulder" has two coordinates: it tilts the beam
    "boom" about z and slides it along its own x axis; the second coordinate is the reach [m] from the shoulder, 0.5 m
    up the post and 0.15 m beside it, to the wrist. Joint "wrist" bends "hand" about z, joint "turn" turns "gripper"
    about x, and the frame "tip" is 0.25 m from the wrist, where the gripper takes hold.

    The initial state is the configuration of the tables: reach 0.8 m, all angles zero, at rest. Body frames sit at
    the joints there; that of the boom slides with the boom.
    """
    mechanism = Mechanism("Stanford arm", gravity=(0.0, -9.81, 0.0))
    mechanism.add_body("post", 2.0, (0.0, 0.3, -0.07), (0.1, 0.02, 0.1))
    mechanism.add_body("boom", 2.0, (0.3, 0.0, 0.0), (0.002, 0.25, 0.25))
    mechanism.add_body("hand", 0.8, (0.12, 0.0, 0.0), (0.002, 0.008, 0.008))
    mechanism.add_body("gripper", 0.5, (0.05, 0.0, 0.0), (0.001, 0.004, 0.004))
    wrist = Pose(p=(REACH, 0.0, 0.0))
    mechanism.add_joint("waist", "ground", "post", Revolute("y"))
    mechanism.add_joint(
        "shoulder", "post", "boom", Sdof("rz", "dx"), Pose(p=(0.0, 0.5, -0.15)), in_child=wrist
    )
    mechanism.add_joint("wrist", "boom", "hand", Revolute("z"), wrist)
    mechanism.add_joint("turn", "hand", "gripper", Revolute("x"), Pose(p=(0.2, 0.0, 0.0)))
    mechanism.add_frame("tip", "gripper", Pose(p=(0.05, 0.0, 0.0)))
    mechanism.set_initial({"shoulder": (0.0, REACH)})
    return mechanism


@checks_arguments
def two_links_and_load(com: ArrayLike = (0.0, 0.0, 0.0)) -> Mechanism:
    """A 5 kg load on two parallel links of 1.5 m and 1 kg each: 1 dof, one loop with 3 redundant constraints; the
    illustrative example of van der Merwe's thesis (section 6.5), with its gravity of 10 m/s^2.

    Link k = 1, 2 turns about y at joint "base{k}" on ground, the second 0.8 m beside the first along x, and holds the
    body "load" at joint "tip{k}", which is 0.4 m to the side of the load's frame. Angles of the bases count
    downwards from the level. `com` is the mass centre of the load in its frame: the load stays level, so the motion
    does not depend on it, while the forces at the tips do.

    The initial state is rest with both links 45 degrees below the level. At q = 0 the linkage is flat and singular.
    """
    mechanism = Mechanism("two links and a load", gravity=(0.0, 0.0, -10.0))
    mechanism.add_body("load", 5.0, com, 0.5)
    for k, x in enumerate((0.0, 0.8), 1):
        mechanism.add_body(f"link{k}", 1.0, (0.75, 0.0, 0.0), (0.025, 0.25, 0.25))
        mechanism.add_joint(f"base{k}", "ground", f"link{k}", Revolute("y"), Pose(p=(x, 0.0, 0.0)))
        mechanism.add_joint(
            f"tip{k}", f"link{k}", "load", Revolute("y"),
            Pose(p=(1.5, 0.0, 0.0)), Pose(p=(x - 0.4, 0.0, 0.0)), actuated=False,
        )  # fmt: skip
    # The second angle says which of the two ways to assemble a four-bar is meant.
    mechanism.set_initial({"base1": pi / 4.0, "base2": pi / 4.0})
    return mechanism
