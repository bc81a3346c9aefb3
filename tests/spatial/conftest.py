"""Random spatial quantities, and how to evaluate traced ones."""

import casadi
import numpy as np
import pytest

from catena.spatial import ArticulatedInertia, Motion, RigidInertia, Transform, exp


class Random:
    """Seeded random quantities of every type."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def vector(self, n):
        return self.rng.normal(size=n)

    def transform(self) -> Transform:
        return exp(Motion(self.rng.normal(size=6)))

    def spd(self, n):
        A = self.rng.normal(size=(n, n))
        return A @ A.T + np.eye(n)

    def rigid(self) -> RigidInertia:
        return RigidInertia.from_com(self.rng.uniform(0.5, 3.0), self.vector(3), self.spd(3))

    def articulated(self) -> ArticulatedInertia:
        return ArticulatedInertia.from_matrix(self.spd(6))


class Traced:
    """Makes symbolic twins of quantities, and evaluates results that were computed from them."""

    def __init__(self):
        self.symbols, self.values = [], []

    def twin(self, quantity):
        values = quantity.entries()
        symbol = casadi.SX.sym("x", len(values))
        self.symbols.append(symbol)
        self.values.append(values)
        return type(quantity).from_entries([symbol[i] for i in range(len(values))])

    def twin_array(self, values):
        symbol = casadi.SX.sym("x", values.size)
        self.symbols.append(symbol)
        self.values.append(values.ravel())
        result = np.empty(values.size, dtype=object)
        for i in range(values.size):
            result[i] = symbol[i]
        return result.reshape(values.shape)

    def function(self, entries):
        outputs = casadi.vertcat(*[casadi.SX(entry) for entry in np.ravel(entries)])
        return casadi.Function("f", self.symbols, [casadi.densify(casadi.cse(outputs))])

    def evaluate(self, entries):
        """Return the numbers of a list or an array of expressions, in its shape."""
        return np.array(self.function(entries)(*self.values)).reshape(np.shape(entries))

    def operations(self, entries):
        """Return the number of arithmetic operations that the expressions take together."""
        function = self.function(entries)
        moves = (casadi.OP_INPUT, casadi.OP_OUTPUT, casadi.OP_CONST)
        return sum(function.instruction_id(i) not in moves for i in range(function.n_instructions()))


@pytest.fixture(params=range(3))
def random(request):
    return Random(request.param)


@pytest.fixture
def traced():
    return Traced()
