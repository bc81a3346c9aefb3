"""Laws as formulas, for comparison with the numbers of the same law."""

import casadi
import numpy as np

from catena.simulation.control.one_call import compiled_call


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


class FromPython:
    """The same controller, but not known to be a formula."""

    def __init__(self, law):
        self.law, self.rate = law, law.rate
        self.start = law.start

    def __call__(self, t, q, v):
        return self.law(t, q, v)


class ByNumbers:
    """The same law as numbers give it, by inverse dynamics and decompositions, not known to be a formula."""

    def __init__(self, law):
        self.law, self.rate, self.start = law, law.rate, law.start

    def __call__(self, t, q, v):
        return self.law.evaluate(t, q, v, np.zeros(0), self.law.inputs(t))[0]


def agrees(s, law, name, states):
    """The formula gives what inverse dynamics and decompositions give in states (q, v)."""
    assert law.compiles, name
    assert law.memory(s) == 0
    call = compiled_call(law, s)
    for q, v in states:
        plain = law.evaluate(0.3, q, v, np.zeros(0), law.inputs(0.3))[0]
        found = call(q, v, np.array([0.3]), law.inputs(0.3))
        np.testing.assert_allclose(
            found, plain, rtol=1e-7, atol=1e-8 * max(1.0, np.abs(plain).max()), err_msg=name
        )
