"""Planning motions: direct transcription of a mechanism's own dynamics, solved by IPOPT."""

from catena.planning.motion_plan import MotionPlan
from catena.planning.transcription import plan_motion

__all__ = ["MotionPlan", "plan_motion"]
