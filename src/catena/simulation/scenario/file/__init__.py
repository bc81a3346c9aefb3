"""Scenarios in the native file: the tables of a run beside those of its mechanism."""

from catena.simulation.scenario.file.loading import examine_scenario, load_scenario
from catena.simulation.scenario.file.saving import save_scenario

__all__ = ["examine_scenario", "load_scenario", "save_scenario"]
