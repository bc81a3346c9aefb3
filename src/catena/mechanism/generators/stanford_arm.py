"""The Stanford arm of van der Merwe's thesis."""

from __future__ import annotations

from catena.joints import Revolute, Sdof
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose

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
