"""Plots of runs over time."""

from catena.view.plots.figure import plot

__all__ = ["plot"]
