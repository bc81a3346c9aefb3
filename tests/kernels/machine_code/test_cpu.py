"""The number of lanes is a matter of speed only."""

import os
import subprocess
import sys

import numpy as np
import pytest

COMPUTE = """
import json
import numpy as np
from catena.kernels import target
from catena.mechanism.generators import random_mechanism
s = random_mechanism(8, 6, ["Revolute", "Helical", "Universal", "Free"], floating=True, friction=True).system()
random = np.random.default_rng(8)
step, v, tau = random.normal(size=(3, 11, s.nv))
q = s.integrate(np.broadcast_to(s.neutral(), (11, s.nq)), step)
results = s.forward_dynamics(q, v, tau), s.inverse_dynamics(q, v, tau), s.mass_matrix(q)
print(json.dumps([target().lanes, *(r.tolist() for r in results)]))
"""


def test_two_four_and_eight_lanes_give_the_same_results(fresh_process, agree):
    ours = {n: fresh_process(COMPUTE, CATENA_LANES=str(n)) for n in (2, 4, 8)}
    for n, (lanes, *results) in ours.items():
        assert lanes == n
        for result, expected in zip(results, ours[2][1:]):
            agree(result, np.array(expected), 1e-12)


@pytest.mark.parametrize("lanes", ["3", "16", "four", ""])
def test_another_number_of_lanes_is_refused(lanes):
    done = subprocess.run(
        [sys.executable, "-c", "from catena.kernels import target; target()"],
        env=os.environ | {"CATENA_LANES": lanes}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0
    assert f"CATENA_LANES is '{lanes}'; set it to 2, 4 or 8, or leave it unset." in done.stderr
