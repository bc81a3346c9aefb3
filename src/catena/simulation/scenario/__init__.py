"""A run as data: scenarios, what they hold, and their files."""

from catena.simulation.scenario.changes import Change
from catena.simulation.scenario.described import Described
from catena.simulation.scenario.formulas import formula_control
from catena.simulation.scenario.plots import Plot
from catena.simulation.scenario.scenario import Scenario

__all__ = ["Change", "Described", "Plot", "Scenario", "formula_control"]
