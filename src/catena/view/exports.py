"""A run as one self-contained page, in a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from catena.errors import FormatError
from catena.formats.complete import file_path, write_complete
from catena.view.movie import Motion, checked_options, movie
from catena.view.player import page

PAGES = (".html", ".htm")


def save_html(run: Motion, path: str | os.PathLike[str], **options: Any) -> None:
    """Write the page of a run: the motion in space and plots beside it. The file appears complete or not at all."""
    file = page_path(path)
    write_complete(file, page(movie(run, **checked_options(options))).encode("utf-8"))


def page_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a page, which has to end as pages do."""
    file = file_path(path)
    if file.suffix.lower() not in PAGES:
        raise FormatError(f"{file}: a page ends in .html: name it so")
    return file
