"""Keeping runs: one file for each format, and the one place where files are written."""

from catena.simulation.results.recording.files import load_run, save_run

__all__ = ["load_run", "save_run"]
