"""Machine code goes with whoever used it: many control laws leave nothing behind, and neither does compiling."""

import gc
import os
import sys

import numpy as np
import pytest

import catena as ct
from catena.kernels import code
from catena.kernels.machine_code import engine
from catena.mechanism.generators import arm7

LAWS = """
import gc, json
import numpy as np
import catena as ct
from catena.mechanism.generators import arm7
s = arm7().system()

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return 4096 * int(file.read().split()[1])

def simulate(gain):
    def law(t, q, v):
        return [-gain * ct.symbols.sin(x) - 0.1 * y for x, y in zip(q, v)]
    control = ct.SymbolicControl(law, rate=1000.0)
    ct.simulate(s, s.neutral(), np.zeros(7), duration=0.01, control=control, integrator="rk4", step=1e-3)

for k in range(4):
    simulate(100.0 + k)
before, compiled = resident(), ct.compilations()
for k in range(24):
    simulate(1.0 + k)
print(json.dumps([ct.compilations() - compiled, (resident() - before) / 1e6]))
"""


@pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="there is nothing that tells the memory in use"
)
def test_control_laws_leave_nothing_behind(fresh_process, tmp_path):
    """They are compiled anew here; each one took half a megabyte for good."""
    compiled, megabytes = fresh_process(LAWS, CATENA_CACHE=str(tmp_path / "cache"))
    assert compiled == 24
    assert megabytes < 4.0


def whole_codes():
    gc.collect()
    return sum(isinstance(x, engine.Code) and "whole" in x for x in gc.get_objects())


def test_the_code_of_a_law_stays_as_long_as_somebody_can_use_it():
    system = arm7().system()
    before = whole_codes()

    def law(t, q, v):
        return [-3.125 * x - y for x, y in zip(q, v)]

    def run(control):
        start = system.integrate(system.neutral(), np.full(7, 0.1))
        return ct.simulate(
            system, start, np.zeros(7), duration=0.01, control=control, integrator="rk4", step=1e-3
        )

    control = ct.SymbolicControl(law, rate=1000.0)
    first = run(control)
    assert whole_codes() == before + 1
    assert np.array_equal(run(control).q, first.q)
    assert whole_codes() == before + 1
    del control
    assert whole_codes() == before
    assert np.array_equal(run(ct.SymbolicControl(law, rate=1000.0)).q, first.q)


def test_units_are_bounded_and_those_in_use_stay(monkeypatch):
    """Evicted units are loaded again, and tapes that were built with them go on."""
    monkeypatch.setattr(code, "units", {})
    monkeypatch.setattr(code, "MOST_UNITS", 3)
    x = np.linspace(0.1, 0.7, 7)

    def compute(system):
        return [system.forward_dynamics(x, x, x), system.mass_matrix(x), system.momentum(x, x)]

    old = arm7().system()
    first = compute(old)
    for _ in range(2):
        again = compute(arm7().system())
        gc.collect()
        assert all(np.array_equal(a, b) for a, b in zip(first, again))
        assert all(np.array_equal(a, b) for a, b in zip(first, compute(old)))
    assert len(code.units) <= 3


def test_code_that_is_dropped_is_removed_when_the_next_is_loaded():
    text = "define double @f(double %x) {\n  ret double %x\n}\n"
    machine_code = engine.compile_object(text)
    loaded = engine.load_object("dropped", machine_code, ["f"])
    assert loaded["f"] > 0
    engine.load_object("other", machine_code, ["f"])
    gc.collect()
    waiting = len(engine.discarded)
    del loaded
    assert len(engine.discarded) == waiting + 1
    kept = engine.load_object("next", machine_code, ["f"])
    assert not engine.discarded and sys.getrefcount(kept) > 0
