"""The native model file: a mechanism as TOML."""

from catena.formats.toml.reading import read, read_into
from catena.formats.toml.writing import write, write_file

__all__ = ["read", "read_into", "write", "write_file"]
