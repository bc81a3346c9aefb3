"""The public face of a planned mechanism."""

from catena.system.checking import check
from catena.system.system import System

__all__ = [
    "System",
    "check",
]
