"""Coordinates that a solver integrates: those of the joints, independent ones, or those of all bodies."""

from catena.simulation.stepping.charts.absolute import AbsoluteChart
from catena.simulation.stepping.charts.chart import COORDINATES, Chart
from catena.simulation.stepping.charts.joint import JointChart
from catena.simulation.stepping.charts.minimal import MinimalChart

__all__ = ["COORDINATES", "AbsoluteChart", "Chart", "JointChart", "MinimalChart"]
