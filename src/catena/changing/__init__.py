"""Structure that changes while it moves: a state goes over from one plan to another, with the velocity jump, impulses
and energy of what closes."""

from catena.changing.configuration import Configuration
from catena.changing.transfer import Transfer, transfer

__all__ = ["Configuration", "Transfer", "transfer"]
