"""Closed chains: one file for each formulation, all with the same signature and the same answer."""

from catena.dynamics.closed.kkt import kkt
from catena.dynamics.closed.problem import Formulation, LoopProblem, LoopSolution

__all__ = ["Formulation", "LoopProblem", "LoopSolution", "kkt"]
