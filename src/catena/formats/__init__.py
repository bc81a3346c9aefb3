"""Model files: reading and writing mechanisms, one folder for each format."""

from catena.formats.files import convert, load, save

__all__ = ["convert", "load", "save"]
