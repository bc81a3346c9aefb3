"""Shapes that a mechanism gives its bodies, as solids in the frames of the bodies."""

from __future__ import annotations

from catena.mechanism import Mechanism
from catena.view import theme
from catena.view.solids import Solid


def given_solids(mechanism: Mechanism, body: str) -> list[tuple[theme.Colour | None, list[Solid]]]:
    """The solids of the shapes given on a body, each group with its colour; none where no shapes are given."""
    return []
