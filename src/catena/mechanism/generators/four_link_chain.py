"""The four-link closed chain of van der Merwe's thesis."""

from __future__ import annotations

from catena.joints import Revolute
from catena.mechanism.generators.asked import asked
from catena.mechanism.mechanism import Mechanism
from catena.spatial import Pose


@asked
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
