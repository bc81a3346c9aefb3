"""MJCF, read with MuJoCo's own reader."""

from catena.formats.mjcf.reading import read
from catena.formats.mjcf.writing import write

__all__ = ["read", "write"]
