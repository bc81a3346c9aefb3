"""The state a run starts from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from catena.errors import LoopError
from catena.system import System


def initial_state(
    system: System, q_given: Mapping[str, Any], v_given: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The mechanism's own start, or the closed state nearest to it in which joints have the given positions and
    velocities.

    Given velocities replace those of the mechanism, because the two together would often over-determine the loops.
    """
    own = system.mechanism.initial
    try:
        q = system.assemble(own.q)
    except LoopError:
        # The file's own start is of no use, but values that were given may still lead to a closed state.
        if not q_given:
            raise
        q = system.neutral()
    if q_given:
        q = system.assemble(q_given, guess=q)
    return q, system.velocity(q, v_given or own.v)
