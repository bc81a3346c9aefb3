"""Planning motions: direct transcription of a mechanism's own dynamics, solved by IPOPT."""

from catena.planning.excitation import Excitation, plan_excitation
from catena.planning.motion_plan import MotionPlan
from catena.planning.structures import RankedStructure, StructureRanking, rank_structures
from catena.planning.transcription import plan_motion

__all__ = [
    "Excitation", "MotionPlan", "RankedStructure", "StructureRanking", "plan_excitation", "plan_motion",
    "rank_structures",
]  # fmt: skip
