"""xacro files, through the tool `xacro` where it is installed.

xacro is a macro language that reads other files and evaluates Python expressions, so it is a program rather than a
description: run it only on files of people you trust.
"""

from __future__ import annotations

from catena.errors import FormatError
from catena.formats.source import Source
from catena.formats.urdf.reading import read
from catena.mechanism import Mechanism


def read_xacro(text: str, source: Source) -> Mechanism:
    """Return the mechanism of a xacro file, which must lie in a folder; needs the package xacro."""
    if not source.macros:
        raise FormatError(
            f"{source.name}: expanding macros evaluates expressions and reads files that the file names: if you trust "
            "it, load(path, macros=True)"
        )
    try:
        import xacro
    except ImportError:
        raise FormatError(
            f"{source.name}: xacro files need the package xacro, which is not installed: pip install xacro, "
            "or expand the file to URDF elsewhere"
        ) from None
    try:
        expanded = xacro.process_file(source.name).toxml()
    except Exception as error:
        raise FormatError(f"{source.name}: xacro cannot expand it: {error}") from error
    return read(expanded, source)
