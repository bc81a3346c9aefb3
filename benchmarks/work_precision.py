"""Trajectories of mechanisms with loops: wall time against error, for Catena, MuJoCo, Pinocchio and Exudyn."""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Any

import catena as ct
from benchmarks.peers.mujoco_runs import mujoco_run
from benchmarks.peers.pinocchio_runs import METHODS, pinocchio_run
from benchmarks.peers.runs import Run
from benchmarks.problems import Array, Problem, driven_four_bar, pushed_stewart, row_of_four_bars
from benchmarks.timing import best_of

TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
EXACT = {"rtol": 1e-12, "atol": 1e-13}
# How far the exact run of Catena may be from what is known independently.
AGREEMENT = 1e-8

NOT_SHOWN = (
    "building models, compiling, and translating coordinates, which none of the times contain; more than one "
    "thread. Errors are the largest of any coordinate [rad or m] at any of the samples, against a run of Catena at "
    "1e-12 that was itself checked against an independent solution in this run, and over 10 s against the closed "
    "equation of the row. MuJoCo steps in C, Exudyn in C++. Pinocchio has no integrators and "
    "is stepped from Python, as its users do; what it takes in C++ alone is not shown. A ratio is the time of the "
    "peer over the least time in which Catena has no larger error."
)


@dataclass(frozen=True)
class Timed:
    """What a run came to: its largest error [rad or m] and its seconds."""

    engine: str
    settings: str
    error: float
    seconds: float


def report() -> str:
    """The tables of this benchmark as Markdown."""
    ct.set_threads(1)
    problems = (
        (driven_four_bar(), planar_exudyn),
        (row_of_four_bars(40), planar_exudyn),
        (pushed_stewart(), star_exudyn),
    )
    tables = []
    for problem, exudyn in problems:
        runs = [*catena_runs(problem), *peer_runs(problem, exudyn)]
        tables.append(precision_table(problem, compare(problem, runs, checked_exact(problem))))
    long = row_of_four_bars(40, duration=10.0, samples=100)
    # Its closed equation is known, so no run of an engine has to stand for it.
    tables.append(precision_table(long, compare(long, long_runs(long), long.independent(long), rounds=1)))
    missing = "" if has_exudyn() else "Exudyn is not installed here: its rows are missing.\n"
    return "\n".join([*tables, missing, f"Not shown: {NOT_SHOWN}", ""])


def long_runs(problem: Problem) -> list[Run]:
    """Ten seconds of a row of four-bars pass flat configurations many times. Of each peer the settings that come
    through: in Pinocchio the exact algorithm with errors fed back, in Exudyn steps of positions."""
    runs = [*catena_runs(problem, (1e-4, 1e-6, 1e-8, 1e-9), ()), *mujoco_runs(problem, problem.steps)]
    runs += [pinocchio_run(problem, "constraintDynamics", count, 0.5) for count in problem.steps[:2]]
    return [*runs, *planar_exudyn(problem)[: len(problem.steps) - 1]] if has_exudyn() else runs


def compare(problem: Problem, runs: Sequence[Run], exact: Array, rounds: int = 3) -> list[Timed]:
    """Error and time of every run; runs take turns, and the best turn of each counts."""
    errors = [_error(problem, run, exact) for run in runs]
    calls = {str(k): run.go for k, (run, error) in enumerate(zip(runs, errors)) if isfinite(error)}
    seconds = best_of(calls, rounds=rounds)
    return [
        Timed(run.engine, run.settings, error, seconds.get(str(k), nan))
        for k, (run, error) in enumerate(zip(runs, errors))
    ]


def _error(problem: Problem, run: Run, exact: Array) -> float:
    """The error of a run, infinite if it does not reach the end."""
    try:
        run.go()
    except ArithmeticError:
        return inf
    return problem.error(run.positions(), exact)


def checked_exact(problem: Problem) -> Array:
    """A tight run of Catena, after it has been compared with the problem's independent solution."""
    run = catena_run(problem, EXACT, constant_forces(problem))
    run.go()
    exact = run.positions()
    error = problem.error(problem.independent(problem), exact)
    if not error < AGREEMENT * max(1.0, problem.duration):
        raise AssertionError(
            f"{problem.name}: Catena and the independent solution differ by {error:.1e}; errors mean nothing."
        )
    return exact


def catena_run(problem: Problem, settings: dict[str, Any], control: Any = None) -> Run:
    """A motion by Catena with settings of `ct.simulate`."""
    result: list[Any] = [None]

    def go() -> None:
        result[0] = ct.simulate(
            problem.system, problem.q, problem.v, problem.duration, control=control,
            samples=problem.samples + 1, check=False, **settings,
        )  # fmt: skip

    words = ", ".join(
        f"{key} {value:.3g}" if isinstance(value, float) else str(value) for key, value in settings.items()
    )
    return Run("Catena", words, go, lambda: result[0].q)


def constant_forces(problem: Problem) -> Any:
    """The problem's joint forces as a controller that is asked once; None where there are none."""
    return ct.sampled(lambda t, q, v: problem.tau, 1.0 / problem.duration) if problem.tau.any() else None


def catena_runs(
    problem: Problem, tolerances: Sequence[float] = TOLERANCES, steps: Sequence[int] | None = None
) -> list[Run]:
    """Adaptive steps at several tolerances, and fixed steps."""
    settings: list[dict[str, Any]] = [
        {"integrator": method, "rtol": tolerance, "atol": 1e-2 * tolerance}
        for method in ("dopri5", "dop853")
        for tolerance in tolerances
    ]
    for count in problem.steps if steps is None else steps:
        settings.append({"integrator": "rk4", "step": problem.duration / (problem.samples * count)})
    control = constant_forces(problem)
    return [catena_run(problem, each, control) for each in settings]


def peer_runs(problem: Problem, exudyn: Callable[[Problem], list[Run]]) -> list[Run]:
    """All peers at several settings."""
    runs = [*mujoco_runs(problem, problem.steps), *pinocchio_runs(problem)]
    return [*runs, *exudyn(problem)] if has_exudyn() else runs


def mujoco_runs(problem: Problem, steps: Sequence[int]) -> list[Run]:
    """RK4 with hard loops, Euler's method with hard loops, and MuJoCo as it comes."""
    runs = [mujoco_run(problem, "RK4", count, hard) for count in steps for hard in (2.0, 1.0)]
    runs += [mujoco_run(problem, "Euler", count, 2.0) for count in steps[-2:]]
    # MuJoCo's default time step.
    count = max(1, round(problem.duration / problem.samples / 2e-3))
    return [*runs, mujoco_run(problem, "Euler", count, None)]


def pinocchio_runs(problem: Problem) -> list[Run]:
    """All of Pinocchio's ways to the accelerations, and one also with errors of the loops fed back."""
    runs = [pinocchio_run(problem, method, count) for method in METHODS for count in problem.steps[:-1]]
    return [
        *runs,
        *(pinocchio_run(problem, "constraintDynamics", count, 0.5) for count in problem.steps[1:3]),
    ]


def planar_exudyn(problem: Problem) -> list[Run]:
    """Exudyn with bodies in the plane."""
    from benchmarks.peers.exudyn_planar import Planar

    return exudyn_runs(problem, Planar(problem.system, problem.q, problem.v, problem.tau))


def star_exudyn(problem: Problem) -> list[Run]:
    """Exudyn with the legs of a platform as trees."""
    from benchmarks.peers.exudyn_star import Star

    return exudyn_runs(problem, Star(problem.system, "platform", problem.q, problem.v, problem.tau))


def exudyn_runs(problem: Problem, model: Any) -> list[Run]:
    """Both of Exudyn's methods; of second order, they need more steps than the others."""
    from benchmarks.peers.exudyn_runs import METHODS as methods, exudyn_run

    return [
        exudyn_run(problem, model, method, 4 * count) for method in methods for count in problem.steps[:-1]
    ]


def has_exudyn() -> bool:
    """Whether Exudyn is installed; it is an optional peer."""
    return importlib.util.find_spec("exudyn") is not None


def quickest_not_worse(ours: Sequence[Timed], error: float) -> Timed | None:
    """The quickest of our runs whose error is not larger, if there is one."""
    candidates = [timed for timed in ours if timed.error <= error]
    return min(candidates, key=lambda timed: timed.seconds, default=None)


def precision_table(problem: Problem, runs: Sequence[Timed]) -> str:
    """All runs with error and time; peers with the ratio at equal or better error."""
    ours = [timed for timed in runs if timed.engine == "Catena"]
    lines = [
        f"### Work and precision: {problem.name}",
        "",
        "| engine | settings | error | time, ms | Catena with no larger error, ms | ratio | aim |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for timed in runs:
        cells = [timed.engine, timed.settings, f"{timed.error:.1e}", f"{1e3 * timed.seconds:.3g}"]
        best = quickest_not_worse(ours, timed.error)
        if not isfinite(timed.error):
            cells = [timed.engine, timed.settings, "lost", "", "", "", ""]
        elif timed.engine == "Catena":
            cells += ["", "", ""]
        elif best is None:
            cells += ["none", "", "> 1"]
        else:
            cells += [f"{1e3 * best.seconds:.3g}", f"{timed.seconds / best.seconds:.3g}", "> 1"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
