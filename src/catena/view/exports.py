"""A run as one self-contained page, in a file."""

from __future__ import annotations

import os
from typing import Any

from catena.errors import FormatError
from catena.formats.complete import file_path, write_complete
from catena.view.movie import Motion, movie
from catena.view.player import page

PAGES = (".html", ".htm")


def save_html(run: Motion, path: str | os.PathLike[str], **options: Any) -> None:
    """Write the page of a run: the motion in space and plots beside it. The file appears complete or not at all."""
    file = file_path(path)
    if file.suffix.lower() not in PAGES:
        raise FormatError(f"{file}: a page ends in .html: name it so")
    write_complete(file, page(movie(run, **options)).encode("utf-8"))
