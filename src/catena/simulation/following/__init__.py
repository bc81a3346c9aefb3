"""Whoever follows a run while it lasts: sees what is new of it, how far it is and whether it gets on, or cancels it."""

from catena.simulation.following.following import (
    EVERY,
    Cancellation,
    Cancelled,
    Following,
    Headway,
    check_followers,
    nobody_follows,
    raise_in_loop,
    stopped,
)

__all__ = [
    "EVERY",
    "Cancellation",
    "Cancelled",
    "Following",
    "Headway",
    "check_followers",
    "nobody_follows",
    "raise_in_loop",
    "stopped",
]
