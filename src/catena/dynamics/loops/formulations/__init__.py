"""Closed chains: one file for each formulation, all with the same signature and the same answer."""

from catena.dynamics.loops.formulations.absolute import absolute
from catena.dynamics.loops.formulations.joint_multipliers import joint_multipliers
from catena.dynamics.loops.formulations.kkt import kkt
from catena.dynamics.loops.formulations.minimal import minimal
from catena.dynamics.loops.formulations.reference_member import reference_member
from catena.dynamics.loops.problem import Formulation, LoopProblem, LoopSolution

__all__ = [
    "Formulation",
    "LoopProblem",
    "LoopSolution",
    "absolute",
    "joint_multipliers",
    "kkt",
    "minimal",
    "reference_member",
]
