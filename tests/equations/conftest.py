"""Closed states of mechanisms with loops, for all tests of equations."""

import pytest

from benchmarks.states import pushed_states


@pytest.fixture(scope="session")
def closed_states_of():
    """q, v and tau (count, ...) of closed states of a system; where it can hardly move it stays where it is."""

    def make(system, seed, count=2):
        return pushed_states(system, count, seed, (0.3, 0.1, 0.03, 0.0))

    return make
