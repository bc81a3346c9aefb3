"""Planning motions: direct transcription of a mechanism's own dynamics, solved by IPOPT."""

from catena.planning.excitation import Excitation, plan_excitation
from catena.planning.motion_plan import MotionPlan
from catena.planning.transcription import plan_motion

__all__ = ["Excitation", "MotionPlan", "plan_excitation", "plan_motion"]
