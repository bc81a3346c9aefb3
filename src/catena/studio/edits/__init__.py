"""What somebody can do to a scenario in the studio: each act is a named edit of the document that its text is.

An edit takes a document of tomlkit, which keeps comments and order, and the arguments that a page sends; it changes the
document or raises an error that says what to give instead. Whether the changed text is a scenario is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from catena.errors import StateError
from catena.studio.edits import acting, chains, linkages, space, studies, tables
from catena.studio.edits.registry import EDITS
from catena.validation import shown

__all__ = ["EDITS", "acting", "apply", "chains", "linkages", "space", "studies", "tables"]


def apply(text: str, name: str, arguments: Mapping[str, Any]) -> str:
    """Return the text after an edit."""
    if name not in EDITS:
        raise StateError(f"no edit is called {shown(name)}.")
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise StateError(f"the text cannot be edited: {error}.") from error
    try:
        EDITS[name](document, **arguments)
    except TypeError as error:
        raise StateError(f"{name}: {error}.") from error
    return tomlkit.dumps(document)
