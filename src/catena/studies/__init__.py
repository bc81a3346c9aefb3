"""Studies: one scenario many times with other numbers, on this machine or on others, and what follows from it."""

from catena.studies.job import batched
from catena.studies.study import Study, study
from catena.studies.ways import correlated, distributed, grid, halton, latin, normal, sobol, uniform

__all__ = [
    "Study",
    "batched",
    "correlated",
    "distributed",
    "grid",
    "halton",
    "latin",
    "normal",
    "sobol",
    "study",
    "uniform",
]
