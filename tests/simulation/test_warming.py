"""Compiling ahead of time: afterwards nothing is compiled, in this process or in another one."""

import subprocess
import sys

import numpy as np
import pytest

import catena as ct
from catena.kernels import compilations
from catena.mechanism.generators import arm7, four_bar

USED = """
import numpy as np, catena as ct
from catena.kernels import compilations
from catena.mechanism.generators import four_bar, spatial_four_bar, arm7
made = [m() for m in (four_bar, {more})]
for m in made:
    s = m.system()
    q = s.assemble()
    ct.simulate(s, q, np.zeros(s.nv), 0.01, check=False)
m = made[0]
s = m.system()
q = s.assemble({{"A": 0.3}})
held = m.lock("A", at=0.3).system()
state = ct.transfer(s, q, np.zeros(s.nv), held)
print(compilations())
"""


def compiled_elsewhere(more):
    """How much a process of its own compiles, which has the same cache."""
    done = subprocess.run(
        [sys.executable, "-c", USED.format(more=more)], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1])


def test_what_a_mechanism_needs_is_compiled_ahead(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("CATENA_CACHE", str(cache))
    done = subprocess.run(
        [sys.executable, "-m", "catena", "warm", "four_bar"], capture_output=True, text=True, check=True
    )
    assert "pieces of code compiled" in done.stdout and not done.stdout.startswith("0 ")
    assert compiled_elsewhere("") == 0


@pytest.mark.slow
def test_all_kinds_in_two_processes(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("CATENA_CACHE", str(cache))
    done = subprocess.run(
        [sys.executable, "-m", "catena", "warm", "--processes", "2"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout.split()[0]) > 200
    assert compiled_elsewhere("spatial_four_bar, arm7") == 0


def test_here_and_again():
    told = []
    ct.warm(arm7(), four_bar(), progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 2), (2, 2)]
    before = compilations()
    assert ct.warm(four_bar()).compiled == 0 and compilations() == before
    s = four_bar().system()
    ct.simulate(s, s.assemble(), np.zeros(s.nv), 0.01, check=False)
    assert compilations() == before


@pytest.mark.slow
def test_what_a_mechanism_will_become_is_compiled_behind(tmp_path, monkeypatch):
    """Another process fills the cache; who meets it afterwards compiles nothing."""
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("CATENA_CACHE", str(cache))
    warming = ct.warm(four_bar(), background=True)
    done = warming.wait()
    assert warming.done and done.compiled > 0 and warming.wait() is done
    assert compiled_elsewhere("") == 0


def test_bad_requests_are_refused():
    with pytest.raises(ct.ModelError, match="nothing is given to be compiled in the background"):
        ct.warm(background=True)
    with pytest.raises(ct.ModelError, match="warm: 'four_bar' is no mechanism"):
        ct.warm("four_bar")
    with pytest.raises(ct.ModelError, match="processes is 0"):
        ct.warm(processes=0)
