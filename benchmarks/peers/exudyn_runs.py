"""Motions by Exudyn: its implicit integrators, stepped in C++ from start to end.

Its explicit integrators do not take loop constraints, so there are two candidates: the generalized-alpha method on
positions (index 3) and the trapezoidal rule on velocities (index 2), both of second order. Found quickest by trying:
one Jacobian for each step and a modified Newton method, with Eigen's dense factorisation for small systems and its
sparse one for large.
"""

from typing import Any

from benchmarks.peers.exudyn_package import exudyn
from benchmarks.peers.runs import Run

METHODS = {
    "generalized alpha, index 3": exudyn.DynamicSolverType.GeneralizedAlpha,
    "trapezoidal, index 2": exudyn.DynamicSolverType.TrapezoidalIndex2,
}
# Above so many unknowns the sparse factorisation is quicker.
DENSE = 60
# Numerical damping that steps of the positions need; less loses convergence.
SPECTRAL_RADIUS = 0.9
# Of Newton's method; ten times larger or smaller changes neither errors nor much of the times.
TOLERANCE = 1e-8


def exudyn_run(problem: Any, model: Any, method: str, steps: int) -> Run:
    """A motion of `steps` steps between each two sample times by one of METHODS. `model` has the assembled system `mbs`
    and `positions()`."""
    count = problem.samples * steps
    settings = exudyn.SimulationSettings()
    time = settings.timeIntegration
    time.numberOfSteps, time.endTime, time.verboseMode = count, problem.duration, 0
    # Where Newton fails at a step, the run has failed: smaller steps are another setting.
    time.adaptiveStep = False
    time.generalizedAlpha.spectralRadius = SPECTRAL_RADIUS
    time.generalizedAlpha.computeInitialAccelerations = True
    time.newton.useModifiedNewton = time.newton.modifiedNewtonJacUpdatePerStep = True
    time.newton.relativeTolerance = time.newton.absoluteTolerance = TOLERANCE
    unknowns = model.mbs.systemData.ODE2Size() + model.mbs.systemData.AEsize()
    kinds = exudyn.LinearSolverType
    settings.linearSolver.solverType = kinds.EigenDense if unknowns < DENSE else kinds.EigenSparse
    settings.parallel.numberOfThreads = 1
    settings.solution.file.write = False
    # A little less than a sample apart, since a sum of steps may come out a little short.
    settings.solution.sensors.writePeriod = problem.duration / problem.samples * (1.0 - 1e-6)
    kind = METHODS[method]

    def go() -> None:
        try:
            model.mbs.SolveDynamic(settings, solverType=kind, showHints=False)
        except exudyn.SolverError as error:
            raise ArithmeticError(f"Exudyn did not reach the end with {method} and {steps} steps.") from error

    return Run("Exudyn", f"{method}, step {problem.duration / count:.3g} s", go, model.positions)
