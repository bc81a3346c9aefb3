"""An FMU as one file: a ZIP archive with the same bytes for the same content."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

# The earliest time that an archive can tell: when it was written is no part of a model.
EPOCH = (1980, 1, 1, 0, 0, 0)
_READABLE, _RUNNABLE = 0o100644 << 16, 0o100755 << 16


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return the archive of files by their paths in it."""
    archive = BytesIO()
    with ZipFile(archive, "w") as zipped:
        for path in sorted(files):
            entry = ZipInfo(path, EPOCH)
            entry.compress_type, entry.create_system = ZIP_DEFLATED, 3
            entry.external_attr = _RUNNABLE if path.startswith("binaries/") else _READABLE
            zipped.writestr(entry, files[path])
    return archive.getvalue()
