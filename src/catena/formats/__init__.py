"""Model files: reading and writing mechanisms, one folder for each format."""

from catena.formats.files import load, save

__all__ = ["load", "save"]
