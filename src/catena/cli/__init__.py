"""The command line: `catena run`, `info`, `demo`, `models` and `completion`."""

from catena.cli.entry import main

__all__ = ["main"]
