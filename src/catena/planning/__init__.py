"""Planning motions: direct transcription of a mechanism's own dynamics, solved by IPOPT."""

from catena.planning.excitation import Excitation, plan_excitation
from catena.planning.motion_plan import MotionPlan, PhasedPlan
from catena.planning.phase import MotionPhase
from catena.planning.phases import plan_motions
from catena.planning.structures import RankedStructure, StructureRanking, rank_structures
from catena.planning.transcription import plan_motion

__all__ = [
    "Excitation", "MotionPhase", "MotionPlan", "PhasedPlan", "RankedStructure", "StructureRanking",
    "plan_excitation", "plan_motion", "plan_motions", "rank_structures",
]  # fmt: skip
