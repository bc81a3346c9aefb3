"""A walker with feet, with springs at its joints, and askew over the floor."""

import numpy as np

import catena as ct
from catena.mechanism.generators import walker

LEGS = ("front_left", "hind_right", "front_right", "hind_left")


def standing_walker():
    """A walker whose feet are frames."""
    m = walker(0)
    for leg in LEGS:
        m.add_frame(f"{leg}/foot", f"{leg}/shank", ct.Pose(p=(0, 0, -0.3)))
    return m


def walker_on_springs():
    """The same with springs and dampers at all joints of its legs."""
    m = standing_walker()
    for name, joint in list(m.joints.items()):
        if joint.kind.nv == 1:
            m.add_spring(f"{name} spring", name, stiffness=600.0, damping=15.0)
    return m


def askew(s, height):
    """The configuration (nq,) of a walker that is turned a little, its lowest foot at a height [m]."""
    turn = np.zeros(s.nv)
    turn[s.slice_v("base")][:3] = (0.08, 0.05, 0.0)
    q = s.integrate(s.neutral(), turn)
    q[s.slice_q("base")][2] += height - min(s.pose(q, f"{leg}/foot").p[2] for leg in LEGS)
    return q
