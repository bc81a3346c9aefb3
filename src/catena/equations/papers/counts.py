"""Operations of Catena's algorithms for the papers' families of chains, as polynomials, beside those that are printed:
Lilly and Orin, tables 2 and 3; Shao and Yuan, table 1.

The papers count for links with Denavit and Hartenberg's parameters, whose transforms are two screws of 10
multiplications and 6 additions each, and with full inertia tensors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np

from catena import dynamics
from catena.dynamics.loops.elimination import loop_elimination, shape_for
from catena.dynamics.tree.open_chains import open_chains
from catena.equations.building import unrolled_graph
from catena.equations.counting import OperationCount, count_graph
from catena.equations.dataflow import DataFlow
from catena.equations.graph import ExpressionGraph
from catena.equations.papers.chains import closed_chains, denavit_hartenberg_chain
from catena.equations.papers.two_screws import two_screws
from catena.equations.parameters import SymbolicPlan, plan_in_numbers
from catena.equations.unrolling import unroll
from catena.errors import EquationsError
from catena.mechanism import Mechanism
from catena.structure import plan

Exponents = tuple[int, ...]


@dataclass(frozen=True)
class Fit:
    """A polynomial in named numbers: {exponents: coefficient}."""

    variables: tuple[str, ...]
    terms: Mapping[Exponents, Fraction]

    def __call__(self, *values: int) -> Fraction:
        """Return the value for numbers in the order of the variables."""
        total = Fraction(0)
        for exponents, coefficient in self.terms.items():
            term = coefficient
            for x, power in zip(values, exponents, strict=True):
                term *= Fraction(x) ** power
            total += term
        return total

    def degree(self, variable: str) -> int:
        """Return the highest power of a variable."""
        k = self.variables.index(variable)
        return max((e[k] for e in self.terms), default=0)

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        for exponents, c in sorted(self.terms.items(), key=lambda t: (-sum(t[0]), [-k for k in t[0]])):
            names = [v if p == 1 else f"{v}^{p}" for v, p in zip(self.variables, exponents, strict=True) if p]
            size = abs(c)
            number = str(size) if size.denominator == 1 else f"{size.numerator}/{size.denominator}"
            factors = [*([number] if size != 1 or not names else []), *names]
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            text += sign + " ".join(factors)
        return text


def fit(
    counts: Mapping[tuple[int, ...], int], variables: Sequence[str], most: int = 3, slack: int = 0
) -> Fit:
    """Return the polynomial through counts {values of the variables: count}, of as low a degree in each variable as
    possible.

    There must be more counts than coefficients, so that a count which does not follow the polynomial is noticed.
    Numbers of a mechanism that cancel but for rounding may leave an operation behind: with `slack`, whole
    coefficients that miss no count by more than so many operations do.
    """
    bases = [list(product(range(degree + 1), repeat=len(variables))) for degree in range(most + 1)]
    bases = [monomials for monomials in bases if len(monomials) < len(counts)]
    for solve in (_solve, *((_nearest,) if slack else ())):
        for monomials in bases:
            solved = solve(monomials, counts)
            if solved is None:
                continue
            found = Fit(tuple(variables), {e: c for e, c in zip(monomials, solved, strict=True) if c})
            if all(abs(found(*values) - count) <= slack for values, count in counts.items()):
                return found
    raise EquationsError(
        f"{len(counts)} counts follow no polynomial of degree {most} in {', '.join(variables)}; give more counts, or "
        f"leave out the first ones, where chains are too short to have all terms."
    )


def _nearest(monomials: list[Exponents], counts: Mapping[tuple[int, ...], int]) -> list[Fraction]:
    """Whole coefficients next to those of the least squares of the deviations."""
    rows = np.array([[np.prod(np.power(values, e)) for e in monomials] for values in counts], dtype=float)
    solution = np.linalg.lstsq(rows, np.array(list(counts.values()), dtype=float), rcond=None)[0]
    return [Fraction(round(x)) for x in solution]


def _solve(monomials: list[Exponents], counts: Mapping[tuple[int, ...], int]) -> list[Fraction] | None:
    """Exact elimination; None if the counts contradict each other."""
    rows = []
    for values, count in counts.items():
        row = []
        for exponents in monomials:
            term = Fraction(1)
            for x, power in zip(values, exponents, strict=True):
                term *= Fraction(x) ** power
            row.append(term)
        rows.append([*row, Fraction(count)])
    pivots: list[int] = []
    for column in range(len(monomials)):
        found = next((r for r in range(len(pivots), len(rows)) if rows[r][column]), None)
        if found is None:
            return None
        k = len(pivots)
        rows[k], rows[found] = rows[found], rows[k]
        rows[k] = [x / rows[k][column] for x in rows[k]]
        for r in range(len(rows)):
            if r != k and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[k], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    return [rows[k][-1] for k in range(len(pivots))]


@dataclass(frozen=True)
class Printed:
    """What a paper prints for a quantity: multiplications and additions as functions of the family's numbers."""

    source: str
    quantity: str
    multiplications: Callable[..., float]
    additions: Callable[..., float]


LILLY_ORIN_OPEN = Printed(
    "Lilly and Orin, table 2",
    "accelerations of an open chain",
    lambda N: 250 * N - 182,
    lambda N: 220 * N - 167,
)
LILLY_ORIN_OPERATIONAL = Printed(
    "Lilly and Orin, table 2", "Omega and Lambda^-1", lambda N: 400 * N - 621, lambda N: 320 * N - 528
)


def lilly_orin_chain(N: int, n_c: int) -> tuple[float, float]:
    """Multiplications and additions of one chain of N joints with n_c constraints at its tip, all of table 2."""
    M = 656 * N - 767 + n_c**3 / 6 + 13 / 2 * n_c**2 + 124 / 3 * n_c + 46
    A = 546 * N - 659 + n_c**3 / 6 + 6 * n_c**2 + 221 / 6 * n_c - 14
    return M, A


def lilly_orin_mechanism(m: int, N: int, n_c: int) -> tuple[float, float]:
    """Multiplications and additions of m chains and the reference member, tables 2 and 3 together."""
    M, A = lilly_orin_chain(N, n_c)
    return m * M + 86, m * A + 27 * m + 71


def lilly_orin_flow(m: int, N: int, n_c: int) -> DataFlow:
    """Return the data flow of Lilly and Orin's method with a chain as a task, their section on parallel computation:
    each of m chains is opened by itself, what they add to the reference member is summed up as a tree, its acceleration
    is found, and each chain closes. All costs are those of tables 2 and 3, so that the critical path is O(N) + O(log
    m)."""
    chain, closing, one_sum = sum(lilly_orin_chain(N, n_c)), 2 * 36 + 2 * 6 * N, 27.0
    cost = [chain - closing] * m
    before: list[tuple[int, ...]] = [()] * m
    labels = [f"open chain {k + 1}" for k in range(m)]
    # The member's own inertia and force are there from the beginning, as one more term.
    terms: list[tuple[int, ...]] = [(), *((k,) for k in range(m))]
    while len(terms) > 1:
        paired = []
        for pair in zip(terms[::2], terms[1::2], strict=False):
            paired.append((len(cost),))
            cost.append(one_sum)
            before.append(pair[0] + pair[1])
            labels.append("sum of two")
        terms = paired + terms[2 * len(paired) :]
    solved = len(cost)
    cost += [86.0 + 71.0, *[closing] * m]
    before += [terms[0], *[(solved, k) for k in range(m)]]
    labels += ["acceleration of the reference member", *(f"close chain {k + 1}" for k in range(m))]
    whose = tuple("reference member" if "chain" not in label else label.split(" ", 1)[1] for label in labels)
    nothing = np.zeros(0, dtype=np.int64)
    graph = ExpressionGraph("lilly_orin", (), nothing, nothing, np.zeros(0), {}, {}, nothing)
    steps = tuple(label.split(" ", 1)[0] for label in labels)
    return DataFlow(
        f"{m} chains on a reference member",
        np.array(cost),
        tuple(before),
        tuple(labels),
        whose,
        steps,
        graph,
        nothing,
    )


def count_of(name: str, mechanism: Mechanism) -> OperationCount:
    """Return the folded operations of an algorithm, by its name in `ALGORITHMS`."""
    symbolic = plan_in_numbers(plan(mechanism))
    return count_graph(ALGORITHMS[name](symbolic))[0]


def _graph(
    name: str, inputs: tuple[str, ...], outputs: tuple[str, ...]
) -> Callable[[SymbolicPlan], ExpressionGraph]:
    def build(symbolic: SymbolicPlan) -> ExpressionGraph:
        algorithm = getattr(dynamics, name)
        frame = symbolic.plan.bodies[-1][0] if algorithm.frame_outputs else None
        played = unroll(algorithm, symbolic, inputs, frame)
        return unrolled_graph(played.only(outputs))

    return build


def _solved(symbolic: SymbolicPlan) -> ExpressionGraph:
    """Composite bodies, Newton and Euler, and a factorisation: the method of Walker and Orin."""
    from catena.equations.derivation import Derivation
    from catena.spatial.linear import ldl_solve
    from catena.spatial.scalars import array

    d = Derivation("walker_orin", symbolic, ("q", "v", "tau"))
    H = d.play(dynamics.composite_body, ("q",))["H"]
    bias = d.play(dynamics.newton_euler, ("q", "v"))["tau"]
    force = array([t - b for t, b in zip(d.arguments["tau"], bias, strict=True)])
    return unrolled_graph(d.unrolled({"vdot": ldl_solve(H, force)}))


def _eliminated(symbolic: SymbolicPlan) -> ExpressionGraph:
    algorithm = loop_elimination(shape_for(symbolic.plan))
    return unrolled_graph(unroll(algorithm, symbolic, ("q", "qd", "tau")).only(("qdd",)))


def _opened(symbolic: SymbolicPlan) -> ExpressionGraph:
    """Accelerations of the joints and of the tip, and Lambda^-1 of the tip, as `reference_member` opens chains."""
    played = unroll(open_chains, symbolic, ("q", "qd", "tau"))
    outputs = {
        "qdd": played.outputs["qdd"],
        **{n: played.outputs[n].reshape(symbolic.plan.n, -1)[-1] for n in ("a", "mobility")},
    }
    return unrolled_graph(replace(played, outputs=outputs))


ALGORITHMS: dict[str, Callable[[SymbolicPlan], ExpressionGraph]] = {
    "articulated bodies": _graph("articulated_body", ("q", "qd", "tau"), ("qdd",)),
    "articulated bodies by two screws": two_screws,
    "Newton and Euler": _graph("newton_euler", ("q", "qd", "qdd"), ("tau",)),
    "composite bodies": _graph("composite_body", ("q",), ("H",)),
    "composite bodies, solved": _solved,
    "operational space": _graph("operational_space", ("q",), ("Lambda_inv", "Omega")),
    "elimination": _eliminated,
    "open chains": _opened,
}
"""The algorithms that are counted, as functions of a plan."""


@dataclass(frozen=True)
class FittedCount:
    """Multiplications (with divisions), additions and sines as polynomials."""

    M: Fit
    A: Fit
    sines: Fit


def fit_chain(name: str, joints: tuple[int, ...] | None = None) -> FittedCount:
    """Return the operations of an algorithm for Denavit and Hartenberg chains of N joints, as polynomials in N: of 3 to
    6 joints unless given, and of 4 to 8 where the polynomial is cubic."""
    if joints is None:
        joints = (4, 5, 6, 7, 8) if name == "composite bodies, solved" else (3, 4, 5, 6)
    counts: dict[tuple[int, ...], OperationCount] = {
        (N,): count_of(name, denavit_hartenberg_chain(N)) for N in joints
    }
    return _fitted(counts, ("N",))


def fit_closed_chains(
    chains: tuple[int, ...] = (3, 4, 5), joints: tuple[int, ...] = (3, 4, 5)
) -> FittedCount:
    """Return the operations of the elimination for m chains of N joints that hold a reference member by ball joints, as
    polynomials in m and N."""
    counts: dict[tuple[int, ...], OperationCount] = {}
    for m in chains:
        for N in joints:
            # Numbers that cancel but for rounding may leave an addition behind, hardly in both mechanisms.
            found = [count_of("elimination", closed_chains(m, N, seed)) for seed in (0, 2)]
            counts[m, N] = min(found, key=lambda count: count.total)
    return _fitted(counts, ("m", "N"))


def _fitted(counts: Mapping[tuple[int, ...], OperationCount], variables: tuple[str, ...]) -> FittedCount:
    return FittedCount(
        fit({k: c.M for k, c in counts.items()}, variables),
        fit({k: c.A for k, c in counts.items()}, variables),
        fit({k: c.sines for k, c in counts.items()}, variables),
    )
