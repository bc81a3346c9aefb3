"""Six-dimensional algebra of rigid motion: numbers or symbols, no robots.

Motions stack [angular; linear], forces [moment; force]. See `transform` for the direction of a `Transform`.
"""

from catena.spatial import exponential, quaternion, scalars
from catena.spatial.exponential import exp, log
from catena.spatial.inertia import ArticulatedInertia, RigidInertia
from catena.spatial.linear import ldl_factor, ldl_solve, orthogonal_complement, spd_inverse
from catena.spatial.pose import Pose, is_one_pose
from catena.spatial.scalars import array, is_symbolic
from catena.spatial.transform import Transform
from catena.spatial.vectors import Force, ForceSpace, Motion, MotionSpace, cross, cross3, skew

__all__ = [
    "ArticulatedInertia",
    "Force",
    "ForceSpace",
    "Motion",
    "MotionSpace",
    "Pose",
    "RigidInertia",
    "Transform",
    "array",
    "cross",
    "cross3",
    "exp",
    "exponential",
    "is_one_pose",
    "is_symbolic",
    "ldl_factor",
    "ldl_solve",
    "log",
    "orthogonal_complement",
    "quaternion",
    "scalars",
    "skew",
    "spd_inverse",
]
