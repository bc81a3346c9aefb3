"""A run that checks itself: what must hold for any motion, how far it is off, and what to do about it, in words."""

from catena.simulation.results.audit.changes import audit_of_changes
from catena.simulation.results.audit.energy import Balance, energy_balance, works
from catena.simulation.results.audit.lines import Audit, AuditLine
from catena.simulation.results.audit.momentum import is_free_flying
from catena.simulation.results.audit.whole import audit, warn_of

__all__ = [
    "Audit",
    "Balance",
    "AuditLine",
    "audit",
    "audit_of_changes",
    "energy_balance",
    "is_free_flying",
    "warn_of",
    "works",
]
