"""The forces of what drives prescribed joints beside contacts, found for many stretches of a motion at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from catena.simulation.acting import loads
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.results.segment import Segment


@dataclass(frozen=True, eq=False)
class Drives:
    """What acts in a stretch, and the forces `pushes` (samples, contacts, 3) of all contacts in their axes."""

    free_motion: FreeMotion
    pushes: np.ndarray


def with_drives(runs: Sequence[Segment], drives: Sequence[Drives | None]) -> list[Segment]:
    """Return runs whose control forces have those of their drives; runs for which there are None stay as they are."""
    found = list(runs)
    each = [(k, one) for k, one in enumerate(drives) if one is not None]
    for free_motion in {id(one.free_motion): one.free_motion for _, one in each}.values():
        some = [(k, one) for k, one in each if one.free_motion is free_motion]
        t, q, v, tau = (
            np.concatenate([getattr(runs[k], name) for k, _ in some]) for name in ("t", "q", "v", "tau")
        )
        given, driven = free_motion.outside(t, q, v)
        wrenches = free_motion.with_contacts(given, q, v, np.concatenate([one.pushes for _, one in some]))
        tau = loads.with_drives(free_motion.system, q, v, tau, wrenches, driven, free_motion.besides(t, q, v))
        ends = np.cumsum([len(runs[k].t) for k, _ in some])[:-1]
        for (k, _), own in zip(some, np.split(tau, ends), strict=True):
            found[k] = replace(runs[k], tau=own)
    return found
