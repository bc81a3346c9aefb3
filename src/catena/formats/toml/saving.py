"""The text of a model file that is saved: that of the file which is there, or which the mechanism comes from, changed
where the mechanism differs.

Whatever is made of such a text is read again before it is taken: it has to stand for the very same mechanism, to the
last digit and in the same order, with the same parameters. Where no text does, the file is written anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from catena.errors import CatenaError
from catena.formats.toml.blocks import Block
from catena.formats.toml.merging import CannotMergeError, merged, with_settings


class Meaning(NamedTuple):
    """What a text stands for: its tables in canonical form, and the values of its parameters."""

    blocks: Sequence[Block]
    parameters: Mapping[str, float]


def text_like(
    wanted: Meaning,
    settings: Mapping[str, Any],
    bases: Iterable[str],
    meaning_of: Callable[[str], Meaning],
) -> str | None:
    """Return a text that stands for what is wanted, made from the first of some texts from which that can be, None if
    there is none. `settings` are values that were given for parameters, `meaning_of` reads a text."""
    for base in bases:
        for expand in (False, True):
            try:
                text = with_settings(base, settings) if settings else base
                found = meaning_of(text)
                if found.parameters != wanted.parameters:
                    break
                text = merged(text, found.blocks, wanted.blocks, expand)
                again = meaning_of(text)
            except (CatenaError, CannotMergeError, ValueError):
                # A text that cannot be read, changed or read again is none to build on.
                continue
            if list(again.blocks) == list(wanted.blocks) and again.parameters == wanted.parameters:
                return text
    return None
