"""Closed states of mechanisms with loops, for all tests of equations."""

import numpy as np
import pytest

from benchmarks.states import closed_states


@pytest.fixture(scope="session")
def closed_states_of():
    """q, v and tau (count, ...) of closed states of a system; where it can hardly move it stays where it is."""

    def make(system, seed, count=2):
        for spread in (0.3, 0.1, 0.03, 0.0):
            try:
                q, v, tau, _ = closed_states(system, count, seed, spread, count)
                break
            except ValueError:
                if not spread:
                    raise
        inertia = np.diagonal(system.mass_matrix(q), axis1=-2, axis2=-1)
        return q, v, 3.0 * tau * np.sqrt(inertia)

    return make
