"""Where things are and how they move: poses, twists, Jacobians, steps on the manifold of q."""

from catena.kinematics.coordinates import difference, integrate, rate
from catena.kinematics.jacobian import jacobian, jacobian_rate
from catena.kinematics.poses import body_poses, frame_pose
from catena.kinematics.velocities import body_twists, frame_bias_acceleration, frame_twist

__all__ = [
    "body_poses",
    "body_twists",
    "difference",
    "frame_bias_acceleration",
    "frame_pose",
    "frame_twist",
    "integrate",
    "jacobian",
    "jacobian_rate",
    "rate",
]
