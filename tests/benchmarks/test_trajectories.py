"""The engines in the work-precision benchmark move the same mechanisms: each comes nearer to an independent solution
with its order as its steps shrink."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import rollouts, work_precision
from benchmarks.peers.mujoco_runs import mujoco_run
from benchmarks.peers.pinocchio_loops import pinocchio_loops
from benchmarks.peers.pinocchio_runs import METHODS, pinocchio_dynamics, pinocchio_run
from benchmarks.problems import driven_four_bar, pushed_stewart, row_of_four_bars
from benchmarks.work_precision import Timed, precision_table, quickest_not_worse

# Short motions with large changes: a Stewart platform takes longer to get going.
PROBLEMS = {
    "four-bar": replace(driven_four_bar(), duration=0.2, samples=2),
    "row": replace(row_of_four_bars(3), duration=0.4, samples=2),
    "stewart": replace(pushed_stewart(), duration=0.4, samples=2),
}


@pytest.fixture(scope="module")
def exact():
    """The independent solution of each problem."""
    return {name: problem.independent(problem) for name, problem in PROBLEMS.items()}


def errors(problem, exact, make, counts):
    """The errors of runs with so many steps, the steps halved from one to the next."""
    result = []
    for count in counts:
        run = make(count)
        run.go()
        positions = run.positions()
        np.testing.assert_allclose(problem.system.difference(problem.q, positions[0]), 0.0, atol=1e-12)
        result.append(problem.error(positions, exact))
    return result


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_pinocchio_with_rk4_is_of_fourth_order(name, method, exact):
    problem = PROBLEMS[name]
    found = errors(problem, exact[name], lambda n: pinocchio_run(problem, method, n), (4, 8))
    assert 4.0 - 0.5 < np.log2(found[0] / found[1]) < 5.5
    assert found[1] < 1e-5


@pytest.mark.parametrize("name", PROBLEMS)
def test_mujoco_comes_nearer_with_the_square_of_its_time_constant(name, exact):
    problem = PROBLEMS[name]
    found = errors(problem, exact[name], lambda n: mujoco_run(problem, "RK4", n, 2.0), (20, 40))
    assert found[0] > 2.0 * found[1]
    assert found[1] < 1e-4


@pytest.mark.parametrize("method", ["generalized alpha, index 3", "trapezoidal, index 2"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_exudyn_is_of_second_order(name, method, exact):
    pytest.importorskip("exudyn")
    from benchmarks.peers.exudyn_planar import Planar
    from benchmarks.peers.exudyn_runs import exudyn_run
    from benchmarks.peers.exudyn_star import Star

    problem = PROBLEMS[name]
    start = problem.q, problem.v, problem.tau
    model = Star(problem.system, "platform", *start) if name == "stewart" else Planar(problem.system, *start)
    found = errors(problem, exact[name], lambda n: exudyn_run(problem, model, method, n), (20, 40))
    assert np.log2(found[0] / found[1]) == pytest.approx(2.0, abs=0.2)
    assert found[1] < 1e-3


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_exact_run_of_catena_is_the_independent_solution(name, exact):
    problem = PROBLEMS[name]
    assert problem.error(work_precision.checked_exact(problem), exact[name]) < 1e-10


def test_baumgarte_feeds_errors_of_the_loops_back():
    """From an open state at rest: what the gains add to the accelerations closes the loop."""
    problem = replace(PROBLEMS["four-bar"], v=np.zeros(3), tau=np.zeros(3))
    system, rate = problem.system, 10.0
    q = problem.q + 1e-3 * np.arange(1, system.nv + 1)
    added = {}
    for method in ("constraintDynamics", "lcaba"):
        found = []
        for gain in (0.0, rate):
            loops = pinocchio_loops(system, True, gain)
            accelerate = pinocchio_dynamics(loops, METHODS[method], problem)
            found.append(accelerate(loops.to.configuration(q), loops.to.velocity(q, problem.v)))
        added[method] = loops.to.catena_velocity(q, found[1] - found[0])
    # d'' = -rate^2 d: after a time of 1 / rate the accelerations have closed half of d.
    before, after = (system.closure(x)[0] for x in (q, q + 0.5 / rate**2 * added["constraintDynamics"]))
    in_plane = np.abs(before) > 1e-6
    np.testing.assert_allclose(
        after[in_plane], 0.5 * before[in_plane], rtol=0.0, atol=0.01 * np.max(np.abs(before))
    )
    # The other algorithm knows nothing of the gains, and is not asked to.
    assert not added["lcaba"].any()
    with pytest.raises(ValueError, match="lcaba takes no notice"):
        pinocchio_run(problem, "lcaba", 4, 0.5)


@pytest.mark.parametrize(("ours", "theirs"), rollouts.METHODS)
def test_rollouts_of_catena_and_mujoco_are_the_same_method(ours, theirs):
    (catena, catena_end), (mujoco, mujoco_end), exact = rollouts.rivals(ours, theirs, 1, 20, 30)
    catena()
    mujoco()
    np.testing.assert_allclose(catena_end(), mujoco_end(), rtol=0.0, atol=1e-10)
    assert np.max(np.abs(catena_end()[: rollouts.LOOKED_AT] - exact)) < (1e-2 if ours != "rk4" else 1e-9)


def test_ratios_are_taken_at_equal_or_better_error():
    ours = [Timed("Catena", "loose", 1e-3, 1.0), Timed("Catena", "tight", 1e-9, 5.0)]
    assert quickest_not_worse(ours, 1e-2).settings == "loose"
    assert quickest_not_worse(ours, 1e-6).settings == "tight"
    assert quickest_not_worse(ours, 1e-12) is None
    peers = [
        Timed("Peer", "good", 1e-6, 10.0),
        Timed("Peer", "best", 1e-12, 100.0),
        Timed("Peer", "none", float("inf"), float("nan")),
    ]
    table = precision_table(PROBLEMS["row"], [*ours, *peers])
    assert "| Peer | good | 1.0e-06 | 1e+04 | 5e+03 | 2 | > 1 |" in table
    assert "| Peer | best | 1.0e-12 | 1e+05 | none |  | > 1 |" in table
    assert "| Peer | none | lost |  |  |  |  |" in table


def test_a_missing_exudyn_is_left_out(monkeypatch):
    monkeypatch.setattr(work_precision, "has_exudyn", lambda: False)
    problem = PROBLEMS["row"]

    def never(problem):
        raise AssertionError("Exudyn was asked for although it is not there")

    engines = {run.engine for run in work_precision.peer_runs(problem, never)}
    assert engines == {"MuJoCo", "Pinocchio + RK4"}
