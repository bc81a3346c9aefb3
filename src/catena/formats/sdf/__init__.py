"""SDF: models as graphs of links and joints, with loops."""

from catena.formats.sdf.reading import read

__all__ = ["read"]
