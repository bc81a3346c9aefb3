"""Tabular notations for serial chains: modified Denavit-Hartenberg and SDOF."""

from catena.mechanism.notations.denavit_hartenberg import (
    DenavitHartenberg,
    add_denavit_hartenberg_chain,
    from_denavit_hartenberg,
)
from catena.mechanism.notations.sdof import add_sdof_chain, from_sdof, sdof_coordinates, sdof_gammas

__all__ = [
    "DenavitHartenberg",
    "add_denavit_hartenberg_chain",
    "add_sdof_chain",
    "from_denavit_hartenberg",
    "from_sdof",
    "sdof_coordinates",
    "sdof_gammas",
]
