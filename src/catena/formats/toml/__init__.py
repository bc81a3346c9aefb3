"""The native model file: a mechanism as TOML."""

from catena.formats.toml.reading import read
from catena.formats.toml.writing import write

__all__ = ["read", "write"]
