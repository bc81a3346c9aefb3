"""The native model file: a mechanism as TOML."""

from catena.formats.toml.reading import read, read_into
from catena.formats.toml.writing import blocks, write, write_drawn

__all__ = ["blocks", "read", "read_into", "write", "write_drawn"]
