"""The names of the methods that move a mechanism."""

from catena.simulation.stepping.methods.tableaus import ADAPTIVE, FIXED

# Stiff methods, with the names of SciPy's classes.
SOLVERS = {"radau": "Radau", "bdf": "BDF", "lsoda": "LSODA"}
# What SciPy calls the methods that choose their steps and are compiled otherwise.
EXPLICIT = {"dopri5": "RK45", "dop853": "DOP853"}
FIXED_STEPS = (*FIXED, "semi_implicit", "leapfrog", "implicit_leapfrog", "abm4", "time_stepping")
INTEGRATORS = (*ADAPTIVE, *FIXED_STEPS, *SOLVERS)

__all__ = ["ADAPTIVE", "EXPLICIT", "FIXED_STEPS", "INTEGRATORS", "SOLVERS"]
