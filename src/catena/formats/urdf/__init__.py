"""URDF: trees of links and joints, with the extensions in use that close loops."""

from catena.formats.urdf.reading import read
from catena.formats.urdf.writing import write
from catena.formats.urdf.xacro import read_xacro

__all__ = ["read", "read_xacro", "write"]
