"""What is kept of a run: the end, signals by name, and numbers that follow from all steps on the way."""

from catena.simulation.keeping.choice import Choice, Keep, Signal
from catena.simulation.keeping.room import require_room
from catena.simulation.keeping.tally import Tally

__all__ = ["Choice", "Keep", "Signal", "Tally", "require_room"]
