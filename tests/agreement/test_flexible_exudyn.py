"""A spatial slider-crank with a flexible rod against Exudyn's reduced-order flexible bodies in the floating frame."""

import numpy as np
import pytest

pytest.importorskip("exudyn")

from benchmarks.flexible import catena_run, driven_crank
from benchmarks.peers.exudyn_flexible import FlexibleSliderCrank
from benchmarks.peers.exudyn_runs import exudyn_run


@pytest.mark.slow
def test_a_spatial_loop_with_a_flexible_rod_moves_as_in_exudyn():
    problem = driven_crank(0.02, 4)
    tight = catena_run(problem, {"integrator": "dop853", "rtol": 1e-10, "atol": 1e-12})
    tight.go()
    exact = tight.positions()
    assert np.abs(exact[:, problem.system.slice_q("rod.modes")]).max() > 3e-4
    model = FlexibleSliderCrank(problem.system, problem.q, problem.v)
    errors, found = [], []
    for count in (400, 800, 1600):
        run = exudyn_run(problem, model, "trapezoidal, index 2", count)
        run.go()
        found.append(run.positions())
        errors.append(problem.error(found[-1], exact))
    # Its steps are of second order, and so is the difference, until it is extrapolated.
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.1)
    extrapolated = found[2] + (found[2] - found[1]) / 3.0
    turned = problem.system.slice_q("B")
    extrapolated[:, turned] /= np.linalg.norm(extrapolated[:, turned], axis=1, keepdims=True)
    assert problem.error(extrapolated, exact) < 1e-8
