"""Laws evaluated with symbols, for comparison with the numbers of the same law."""

import casadi
import numpy as np


def symbols_of(name, count):
    """A vector of symbols, and the same as an array of single symbols."""
    vector = casadi.SX.sym(name, count)
    array = np.empty(count, dtype=object)
    for k in range(count):
        array[k] = vector[k]
    return vector, array


def traced(law, system):
    """A function of numbers (t, q, v, memory, inputs) to (tau, memory) made from `evaluate` on symbols."""
    sizes = system.nq, system.nv, law.memory(system), law.inputs(0.0).shape[-1]
    t = casadi.SX.sym("t")
    vectors, arrays = zip(*(symbols_of(name, n) for name, n in zip(("q", "v", "m", "i"), sizes, strict=True)))
    tau, memory = law.evaluate(t, *arrays)
    assert len(tau) == system.nv and len(memory) == sizes[2]
    outputs = [casadi.vertcat(*x) if len(x) else casadi.SX(0, 1) for x in (tau, memory)]
    compute = casadi.Function("law", [t, *vectors], outputs)
    return lambda *numbers: tuple(np.array(x).ravel() for x in compute(*numbers))
