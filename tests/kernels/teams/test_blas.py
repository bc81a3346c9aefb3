"""Linear algebra of mechanisms is done by one thread of OpenBLAS, and everything is as it was afterwards."""

import pytest

# How many threads NumPy's OpenBLAS has, asked of the library itself.
BEGIN = """
import ctypes, json, threading
from pathlib import Path
import numpy as np
folder = Path(np.__file__).parent
files = [*(folder.parent / "numpy.libs").glob("*openblas*"), *(folder / ".dylibs").glob("*openblas*")]
if not files:
    print(json.dumps(None))
    raise SystemExit
library = ctypes.CDLL(str(files[0]))
names = [f"{p}openblas_{{}}_num_threads{e}" for p in ("scipy_", "") for e in ("64_", "")]
name = next(n for n in names if hasattr(library, n.format("get")))
count = getattr(library, name.format("get"))
getattr(library, name.format("set"))(3)
seen = [count()]
"""


@pytest.fixture
def counted(fresh_process):
    """A function that runs a program with three threads of OpenBLAS and returns the numbers in `seen`."""

    def run(program):
        found = fresh_process(BEGIN + program + "\nprint(json.dumps(seen))")
        if found is None:
            pytest.skip("this NumPy did not bring its OpenBLAS along")
        return found

    return run


def test_blocks_within_each_other_and_in_two_threads(counted):
    program = """
from catena.kernels.teams.blas import by_one_blas_thread, one_blas_thread
with one_blas_thread():
    seen.append(count())
    with one_blas_thread():
        seen.append(count())
    seen.append(count())
seen.append(count())
inside, leave = threading.Event(), threading.Event()
def other():
    with one_blas_thread():
        inside.set()
        leave.wait()
thread = threading.Thread(target=other)
with one_blas_thread():
    thread.start()
    inside.wait()
seen.append(count())
leave.set()
thread.join()
seen.append(count())

@by_one_blas_thread
def fail():
    seen.append(count())
    raise ValueError("words")
try:
    fail()
except ValueError:
    seen.append(count())
"""
    assert counted(program) == [3, 1, 1, 1, 3, 1, 3, 1, 3]


def test_runs_and_searches_have_one(counted):
    """A control law sees what a run has, and an event what a search in it has."""
    program = """
import catena as ct
s = ct.generators.four_bar().system()
q = s.assemble({"A": 0.3})
seen.append(count())
def control(t, q, v):
    seen.append(count())
    return np.zeros(s.nv)
ct.simulate(s, q, np.zeros(s.nv), 1e-4, control=control, check=False)
seen[2:] = sorted(set(seen[2:]))
seen.append(count())
"""
    assert counted(program) == [3, 3, 1, 3]
