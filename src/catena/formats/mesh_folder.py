"""Files that a mesh names beside itself: materials of OBJ and buffers of glTF, below its own folder only."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from catena.errors import FormatError
from catena.formats.complete import reason
from catena.formats.regular import read_regular

ENDINGS = (".mtl", ".bin")
"""What may be read: no images, which nobody draws here and whose readers are large."""
MOST_BYTES = 256 * 2**20
"""How many bytes the files beside a mesh may have together."""


class MeshFolder:
    """What trimesh asks for files by the names that a mesh has for them.

    A file lies below the folder of the mesh, links followed, is a regular one, and ends as materials or buffers do; all
    others are as if they were not there. `fault` says what was last refused.
    """

    def __init__(self, mesh: Path) -> None:
        self.folder, self.fault, self._left = mesh.parent, "", MOST_BYTES

    def get(self, name: str) -> bytes:
        """Return the content of a file, or raise a `KeyError`, which trimesh takes for a file that is not there."""
        try:
            return self._read(str(name))
        except (FormatError, OSError, ValueError) as error:
            self.fault = f"the file {str(name)[:200]!r} beside it cannot be read: {reason(error)}"
            raise KeyError(self.fault) from None

    def __getitem__(self, name: str) -> bytes:
        return self.get(name)

    def keys(self) -> Iterable[str]:
        """No name is offered: what the mesh does not name is not looked for."""
        return ()

    def _read(self, name: str) -> bytes:
        if not name.lower().endswith(ENDINGS) or "\0" in name:
            raise ValueError(f"only files that end in {' or '.join(ENDINGS)} are")
        file = self.folder / unquote(name.replace("\\", "/"))
        root = os.path.realpath(self.folder)
        if os.path.commonpath([os.path.realpath(file), root]) != root:
            raise ValueError("it lies outside of the folder of the mesh")
        content = read_regular(file, self._left, "what a mesh names")
        self._left -= len(content)
        return content
