"""A spatial slider-crank with a flexible rod: wall time against error, for Catena and Exudyn."""

import importlib.util

import numpy as np

import catena as ct
from benchmarks.blocks import bar
from benchmarks.peers.runs import Run
from benchmarks.problems import Array, Problem
from benchmarks.work_precision import catena_run, compare, precision_table

INNER = 2
"""Modes besides the six static shapes of the rod's far end, so that it has eight."""
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
FIXED = {"rk4": (80, 100, 200), "implicit_leapfrog": (25, 30, 40, 60, 100, 150)}
"""Fixed steps of Catena between two samples; fewer of rk4 do not hold the fastest mode."""
EVERY = {"rk4": 10, "implicit_leapfrog": 5}
"""After how many steps loops are closed."""
STEPS = (25, 50, 100, 200, 400, 800)
"""Steps of Exudyn between two samples."""
EXACT = {"integrator": "dop853", "rtol": 1e-11, "atol": 1e-13}
CHECKED = 0.02
"""How long a motion is compared with Exudyn's, extrapolated to steps of no length [s]."""
AGREEMENT = 1e-6

NOT_SHOWN = (
    "building models, reducing matrices, compiling, and translating coordinates, which none of the times contain; more "
    "than one thread. Both engines have the same mass and stiffness matrices and the same eight modes of the rod; no "
    "gravity, because Exudyn's weight of such a body acts at its undeformed places. Errors are the largest of any "
    "coordinate [rad, m, or 1 for quaternions] at any of the samples, against a run of Catena at 1e-11 whose "
    "first 20 ms were compared in this run with Exudyn's, extrapolated to steps of no length. A ratio is the time of "
    "Exudyn over the least time in which Catena has no larger error."
)


def report() -> str:
    """The table of this benchmark as Markdown."""
    ct.set_threads(1)
    problem = driven_crank()
    exact = checked_exact(problem)
    runs = catena_runs(problem) + (exudyn_runs(problem) if has_exudyn() else [])
    table = precision_table(problem, compare(problem, runs, exact, rounds=2))
    missing = "" if has_exudyn() else "Exudyn is not installed here: its rows are missing.\n"
    return "\n".join([table, missing, f"Not shown: {NOT_SHOWN}", ""])


def spatial_slider_crank(inner: int = INNER) -> ct.Mechanism:
    """A crank about x, a slider along y beside the crank's plane, and between them a flexible rod on balls: of plastic
    (3 GPa), 0.4 m long, 10 x 10 mm, as ten blocks."""
    m = ct.Mechanism("slider-crank", gravity=(0.0, 0.0, 0.0))
    M, K, nodes, root, tip = bar(10, (0.04, 0.01, 0.01), 3e9, 0.3, 1200.0)
    m.add_body("crank", mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
    m.add_body("rod", flexible=ct.FiniteElements(M, K, nodes, {"near": root, "far": tip}, modes=inner))
    m.add_body("slider", mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    m.add_joint("A", "ground", "crank", ct.Revolute("x"))
    m.add_joint("B", "crank", "rod", ct.Spherical(), in_parent=ct.Pose(p=(0.0, 0.1, 0.0)))
    m.add_joint("C", "slider", "rod", ct.Spherical(), in_child=ct.Pose(p=(0.4, 0.0, 0.0)))
    m.add_joint("D", "ground", "slider", ct.Prismatic("y"), in_parent=ct.Pose(p=(0.15, 0.0, 0.0)))
    return m


def driven_crank(duration: float = 0.2, samples: int = 10) -> Problem:
    """The crank starts at 30 rad/s with an undeformed rod, and carries on by itself."""
    s = spatial_slider_crank().system(cut=["C"])
    across = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
    q = s.assemble({"A": 0.5}, guess={"A": 0.5, "D": 0.45, "B": across})
    v = s.velocity(q, {"A": 30.0})
    name = f"slider-crank with a flexible rod of eight modes, {duration:g} s"
    return Problem(name, s, q, v, np.zeros(s.nv), duration, samples, False, STEPS, extrapolated_exudyn)


def catena_runs(problem: Problem) -> list[Run]:
    """Adaptive steps at several tolerances by two methods, and fixed steps."""
    apart = problem.duration / problem.samples
    return [
        catena_run(problem, {"integrator": method, "rtol": tolerance, "atol": 1e-2 * tolerance})
        for method in ("dopri5", "dop853")
        for tolerance in TOLERANCES
    ] + [
        catena_run(
            problem,
            {"integrator": method, "step": apart / count, "drift": ct.Projection(every=EVERY[method])},
        )
        for method, counts in FIXED.items()
        for count in counts
    ]


def exudyn_runs(problem: Problem) -> list[Run]:
    """Both of Exudyn's methods for constrained motions at several steps."""
    from benchmarks.peers.exudyn_flexible import FlexibleSliderCrank
    from benchmarks.peers.exudyn_runs import METHODS, exudyn_run

    model = FlexibleSliderCrank(problem.system, problem.q, problem.v)
    return [exudyn_run(problem, model, method, count) for method in METHODS for count in problem.steps]


def checked_exact(problem: Problem) -> Array:
    """A tight run of Catena, after it has been compared with the extrapolated one of Exudyn where that is there."""
    run = catena_run(problem, EXACT)
    run.go()
    exact = run.positions()
    if has_exudyn():
        short = driven_crank(CHECKED, 2)
        begin = catena_run(short, EXACT)
        begin.go()
        error = short.error(short.independent(short), begin.positions())
        if not error < AGREEMENT:
            raise AssertionError(
                f"{problem.name}: Catena and Exudyn differ by {error:.1e}; errors mean nothing."
            )
    return exact


def extrapolated_exudyn(problem: Problem) -> Array:
    """Coordinates (samples + 1, nq) by Exudyn's trapezoidal rule at three steps, extrapolated twice."""
    from benchmarks.peers.exudyn_flexible import FlexibleSliderCrank
    from benchmarks.peers.exudyn_runs import exudyn_run

    model = FlexibleSliderCrank(problem.system, problem.q, problem.v)
    found = []
    for count in problem.steps[-3:]:
        run = exudyn_run(problem, model, "trapezoidal, index 2", count)
        run.go()
        found.append(run.positions())
    coarse, middle, fine = found
    once = (4.0 * middle - coarse) / 3.0, (4.0 * fine - middle) / 3.0
    q = (16.0 * once[1] - once[0]) / 15.0
    turned = problem.system.slice_q("B")
    q[:, turned] /= np.linalg.norm(q[:, turned], axis=1, keepdims=True)
    return q


def has_exudyn() -> bool:
    """Whether Exudyn is installed; it is an optional peer."""
    return importlib.util.find_spec("exudyn") is not None
