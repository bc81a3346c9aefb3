"""A run that checks itself: what must hold for any motion, how far it is off, and what to do about it, in words."""

from catena.simulation.results.audit.energy_balance import Balance, energy_balance, works
from catena.simulation.results.audit.lines import Audit, Line
from catena.simulation.results.audit.momentum import is_free_flying
from catena.simulation.results.audit.segmented import SegmentedAudit
from catena.simulation.results.audit.whole import audit

__all__ = ["Audit", "Balance", "Line", "SegmentedAudit", "audit", "energy_balance", "is_free_flying", "works"]
