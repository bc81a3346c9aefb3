"""The reference member of a closed mechanism, found or named."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arms_on_object


def test_the_reference_member_may_be_named(closed_state, agree):
    system = arms_on_object(2).system()
    q, v = closed_state(system, 3)
    exact = system.forward_dynamics(q, v, np.ones(system.nv))
    for member in ("object", next(iter(set(system.mechanism.bodies) - {"ground", "object"}))):
        agree(
            system.forward_dynamics(q, v, np.ones(system.nv), method="reference_member", member=member),
            exact,
            1e-9,
        )
    with pytest.raises(ct.StateError, match="only the method reference_member has one"):
        system.forward_dynamics(q, v, member="object")
