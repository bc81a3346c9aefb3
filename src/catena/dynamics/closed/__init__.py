"""Closed chains: one file for each formulation, all with the same signature and the same answer."""

from catena.dynamics.closed.absolute import absolute
from catena.dynamics.closed.certified_elimination import elimination
from catena.dynamics.closed.joint_multipliers import joint_multipliers
from catena.dynamics.closed.kkt import kkt
from catena.dynamics.closed.minimal import minimal
from catena.dynamics.closed.problem import Formulation, LoopProblem, LoopSolution
from catena.dynamics.closed.reference_member import reference_member

__all__ = [
    "Formulation",
    "LoopProblem",
    "LoopSolution",
    "absolute",
    "elimination",
    "joint_multipliers",
    "kkt",
    "minimal",
    "reference_member",
]
