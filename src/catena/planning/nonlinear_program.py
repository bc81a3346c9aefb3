"""A nonlinear program whose conditions are repeated along a motion, solved by IPOPT with exact derivatives.

A formula is written once, on CasADi's scalar symbols and for the few variables that it looks at, and differentiated
twice there: that takes milliseconds and gives short code. Copies of it look at other variables. Derivatives of the
whole program are the entries of all copies at their places. What is to be least is a quadratic form of the rows of one
formula and of the variables, and a sum of rows of other formulas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

# A condition that is missed by less is met.
MET = 1e-8
# What IPOPT says when Ctrl-C was met outside of Python, or on the way into it and back; nothing else asks it to stop.
INTERRUPTED = ("NonIpopt_Exception_Thrown", "User_Requested_Stop")
# What it calls success.
SUCCESS = ("Solve_Succeeded", "Solved_To_Acceptable_Level")


@dataclass(frozen=True, eq=False)
class ProgramRows:
    """Rows r(w, p) of variables w and data p: CasADi functions of the value, of the Jacobian by w, and of the Hessian
    by w of the sum of rows, each times its weight."""

    value: Any
    jacobian: Any
    hessian: Any

    @classmethod
    def of(cls, rows: Any, variables: Any, data: Any) -> ProgramRows:
        """Return the formula of rows (m, 1), expressions of symbols (n, 1) and (k, 1)."""
        import casadi

        weights = casadi.SX.sym("weights", rows.shape[0])
        curved, _ = casadi.hessian(casadi.dot(weights, rows), variables)
        return cls(
            casadi.Function("value", [variables, data], [casadi.densify(rows)]),
            casadi.Function("jacobian", [variables, data], [casadi.jacobian(rows, variables)]),
            casadi.Function("hessian", [variables, data, weights], [curved]),
        )


@dataclass(frozen=True, eq=False)
class Copies:
    """Copies of a formula: `where` (n, copies) are the places of its variables, `data` (k, copies) what it is told."""

    formula: ProgramRows
    where: np.ndarray
    data: np.ndarray

    @classmethod
    def of(cls, formula: ProgramRows, where: np.ndarray, data: Any) -> Copies:
        """Return copies; data may be what can be repeated for all of them."""
        size = (formula.value.size1_in(1), where.shape[1])
        return cls(formula, where, np.broadcast_to(np.asarray(data, dtype=float), size))

    def moved(self, by: int) -> Copies:
        """Return the same copies, whose variables are so many places further on."""
        return replace(self, where=self.where + by)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of copies."""
        return self.formula.value.size1_out(0), self.where.shape[1]

    def _called(self, function: Any, x: Any, *more: Any) -> Any:
        import casadi

        own = casadi.reshape(x[self.where.ravel(order="F").tolist()], *self.where.shape)
        return function.map(self.where.shape[1])(own, casadi.DM(self.data), *more)

    def values(self, x: Any) -> Any:
        """Return all rows, copy after copy, (m copies, 1)."""
        import casadi

        return casadi.densify(casadi.vec(self._called(self.formula.value, x)))

    def jacobian(self, x: Any) -> Entries:
        """Return the entries of the Jacobian of all rows."""
        m, copies = self.shape
        rows, columns = _triplets(self.formula.jacobian.sparsity_out(0))
        places = (rows[:, None] + m * np.arange(copies)).ravel(order="F")
        found = _column(self._called(self.formula.jacobian, x))
        return Entries(places, self.where[columns].ravel(order="F"), found)

    def hessian(self, x: Any, weights: Any) -> Entries:
        """Return the entries of the Hessian of the sum of all rows, each times its weight, in the upper half."""
        import casadi

        rows, columns = _triplets(self.formula.hessian.sparsity_out(0))
        i, j = (self.where[at].ravel(order="F") for at in (rows, columns))
        found = _column(self._called(self.formula.hessian, x, casadi.reshape(weights, *self.shape)))
        # Of the two places of each pair, the one in the upper half.
        upper = np.flatnonzero(i <= j)
        return Entries(i[upper], j[upper], found[upper.tolist()])


@dataclass(frozen=True, eq=False)
class Entries:
    """Entries of a sparse matrix: numbers, or a column of expressions."""

    rows: np.ndarray
    columns: np.ndarray
    values: Any

    def below(self, rows: int, columns: int = 0) -> Entries:
        """Return the same entries so many rows further down, and so many columns further on."""
        return Entries(self.rows + rows, self.columns + columns, self.values)


@dataclass(frozen=True, eq=False)
class Condition:
    """Rows of copies that stay between low and high (m copies,), what they ask for, `names` (m,), and how much heavier
    than others a search that cannot meet all of them takes these."""

    copies: Copies
    low: np.ndarray
    high: np.ndarray
    names: Sequence[str]
    weight: float


@dataclass(frozen=True, eq=False)
class Found:
    """What the solver had in the end: variables x (n,), whether it was satisfied, what it called its end, how much
    each condition is missed by, and the iterations that it took."""

    x: np.ndarray
    success: bool
    status: str
    missed: dict[str, float]
    iterations: int


class NonlinearProgram:
    """Least 1/2 r^T W r + 1/2 x^T Q x + c^T x + w^T s of variables x (n,) between low and high (n,), with conditions;
    r are all rows of copies of some formulas, s rows of others."""

    def __init__(self, size: int, *spent: Copies) -> None:
        self.low, self.high = np.full(size, -np.inf), np.full(size, np.inf)
        self._spent = list(spent)
        self._conditions: list[Condition] = []
        self._W: list[Entries] = []
        self._Q: list[Entries] = []
        self._sums: list[tuple[Copies, np.ndarray]] = []
        self._slope = np.zeros(size)

    @classmethod
    def joined(cls, parts: Mapping[str, NonlinearProgram]) -> NonlinearProgram:
        """Return programs as one: their variables one after the other, what is least the sum. Conditions tell the names
        of their parts."""
        found = cls(sum(len(one.low) for one in parts.values()))
        found.low, found.high, found._slope = (
            np.concatenate([getattr(one, what) for one in parts.values()])
            for what in ("low", "high", "_slope")
        )
        at = row = 0
        for who, one in parts.items():
            found._W += [entries.below(row, row) for entries in one._W]
            found._Q += [entries.below(at, at) for entries in one._Q]
            found._spent += [copies.moved(at) for copies in one._spent]
            found._sums += [(copies.moved(at), weights) for copies, weights in one._sums]
            for c in one._conditions:
                names = [f"{who}: {name}" for name in c.names]
                found._conditions.append(replace(c, copies=c.copies.moved(at), names=names))
            at += len(one.low)
            row += sum(int(np.prod(copies.shape)) for copies in one._spent)
        return found

    def within(self, places: np.ndarray) -> list[Condition]:
        """Return the conditions on nothing but these variables."""
        found = []
        for c in self._conditions:
            m, copies = c.copies.shape
            own = np.isin(c.copies.where, places).all(axis=0)
            if own.any():
                some = replace(c.copies, where=c.copies.where[:, own], data=c.copies.data[:, own])
                low, high = (
                    x.reshape(m, copies, order="F")[:, own].ravel(order="F") for x in (c.low, c.high)
                )
                found.append(replace(c, copies=some, low=low, high=high))
        return found

    def ask(
        self, formula: ProgramRows, where: np.ndarray, data: Any, low: Any, high: Any, names: Sequence[str],
        weight: float = 1.0,
    ) -> None:  # fmt: skip
        """Add conditions: `where` (n, copies); data (k, copies), low and high (m, copies), or what can be repeated to
        be so; names and weight as `Condition` has them."""
        copies = Copies.of(formula, where, data)
        lowest, highest = (
            np.broadcast_to(np.asarray(x, dtype=float), copies.shape).ravel(order="F") for x in (low, high)
        )
        self._conditions.append(Condition(copies, lowest, highest, names, weight))

    def weigh_rows(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        """Add entries of W in its upper half."""
        self._W.append(Entries(rows, columns, values))

    def weigh(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        """Add entries of Q in its upper half."""
        self._Q.append(Entries(rows, columns, values))

    def weigh_linear(self, variable: int, value: float) -> None:
        """Add that many times a variable to what is to be least."""
        self._slope[variable] += value

    def add(self, formula: ProgramRows, where: np.ndarray, data: Any, weights: Any) -> None:
        """Add rows of copies of a formula to what is to be least, each times its weight (m, copies)."""
        copies = Copies.of(formula, where, data)
        spread = np.broadcast_to(np.asarray(weights, dtype=float), copies.shape)
        self._sums.append((copies, spread.ravel(order="F")))

    def solve(self, x0: np.ndarray, iterations: int) -> Found:
        """Return the solution that IPOPT finds from x0 (n,), or of all it had the one that misses conditions least."""
        import casadi

        n = len(self.low)
        x, none, weight = (casadi.MX.sym(name, k) for name, k in (("x", n), ("none", 0), ("weight", 1)))
        begins = np.cumsum([0, *(int(np.prod(copies.shape)) for copies in self._spent)])
        W, Q = _symmetric(int(begins[-1]), self._W), _symmetric(n, self._Q)
        r = casadi.vertcat(*(copies.values(x) for copies in self._spent))
        slope = casadi.DM(self._slope)
        f = 0.5 * (casadi.bilin(W, r, r) + casadi.bilin(Q, x, x)) + casadi.dot(slope, x)
        spent = list(zip(self._spent, begins, strict=False))
        R = _matrix(W.shape[0], n, [copies.jacobian(x).below(int(k)) for copies, k in spent])
        weighed = casadi.mtimes(W, r)
        gradient = casadi.mtimes(R.T, weighed) + casadi.mtimes(Q, x) + slope
        for copies, w in self._sums:
            f += casadi.dot(casadi.DM(w), copies.values(x))
            gradient += casadi.mtimes(_matrix(len(w), n, [copies.jacobian(x)]).T, casadi.DM(w))
        scale = np.concatenate([np.full(len(c.low), c.weight) for c in self._conditions])
        low, high = (
            scale * np.concatenate([getattr(c, side) for c in self._conditions]) for side in ("low", "high")
        )
        g = scale * casadi.vertcat(*(c.copies.values(x) for c in self._conditions))
        first = np.cumsum([0, *(len(c.low) for c in self._conditions)])
        J = casadi.mtimes(casadi.diag(casadi.DM(scale)), _matrix(len(low), n, [
            c.copies.jacobian(x).below(k) for c, k in zip(self._conditions, first, strict=False)
        ]))  # fmt: skip
        lam = casadi.MX.sym("lam", len(low))
        curved = [
            copies.hessian(x, weight * weighed[int(k) : int(k) + int(np.prod(copies.shape))])
            for copies, k in spent
        ]
        curved += [copies.hessian(x, weight * casadi.DM(w)) for copies, w in self._sums]
        curved += [
            c.copies.hessian(x, c.weight * lam[int(k) : int(k) + len(c.low)])
            for c, k in zip(self._conditions, first, strict=False)
        ]
        quadratic = casadi.triu(casadi.mtimes(casadi.mtimes(R.T, W), R) + Q)
        hessian = _matrix(n, n, curved) + weight * quadratic
        watch = _watch(n, low, high)
        solver = casadi.nlpsol("plan", "ipopt", {"x": x, "f": f, "g": g}, {
            "print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.max_iter": int(iterations),
            "ipopt.tol": 1e-8, "error_on_fail": False, "iteration_callback": watch,
            "grad_f": casadi.Function("grad_f", [x, none], [f, casadi.densify(gradient)]),
            "jac_g": casadi.Function("jac_g", [x, none], [g, J]),
            "hess_lag": casadi.Function("hess_lag", [x, none, weight, lam], [hessian]),
        })  # fmt: skip
        begin = np.clip(x0, self.low, self.high)
        result = solver(x0=begin, lbx=self.low, ubx=self.high, lbg=low, ubg=high)
        stats = solver.stats()
        status = str(stats.get("return_status"))
        if watch.stopped or status in INTERRUPTED:
            raise KeyboardInterrupt
        success = status in SUCCESS
        at = np.asarray(result["x"]).ravel() if success or watch.best is None else watch.best
        met = np.asarray(casadi.Function("g", [x], [g])(at)).ravel()
        beyond = np.maximum(np.maximum(low - met, met - high), 0.0) / scale
        missed: dict[str, float] = {}
        for c, k in zip(self._conditions, first, strict=False):
            most = beyond[k : k + len(c.low)].reshape(-1, len(c.names)).max(axis=0, initial=0.0)
            for name, by in zip(c.names, most, strict=True):
                missed[name] = max(missed.get(name, 0.0), float(by))
        return Found(at, success, status, missed, int(stats.get("iter_count", 0)))


def _triplets(sparsity: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the entries of a sparse matrix."""
    rows, columns = sparsity.get_triplet()
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _column(matrix: Any) -> Any:
    """Return the entries of a sparse matrix as a column."""
    import casadi

    return casadi.vec(casadi.densify(matrix.nz[:]))


def _symmetric(n: int, entries: Sequence[Entries]) -> Any:
    """Return the symmetric matrix (n, n) of numbers in its upper half."""
    import casadi

    if not entries:
        return casadi.DM(n, n)
    rows, columns, values = (
        np.concatenate([getattr(e, part) for e in entries]) for part in ("rows", "columns", "values")
    )
    upper = casadi.DM.triplet(rows.tolist(), columns.tolist(), casadi.DM(values), n, n)
    return upper + casadi.triu(upper, False).T


def _matrix(height: int, width: int, entries: Sequence[Entries]) -> Any:
    """Return the matrix of expressions that has these entries, those at the same place summed up."""
    import casadi

    rows, columns = (np.concatenate([getattr(e, part) for e in entries]) for part in ("rows", "columns"))
    places, at = np.unique(columns * height + rows, return_inverse=True)
    sparsity = casadi.Sparsity.triplet(height, width, (places % height).tolist(), (places // height).tolist())
    summed = casadi.DM.triplet(at.tolist(), range(len(at)), casadi.DM.ones(len(at)), len(places), len(at))
    return casadi.MX(sparsity, casadi.mtimes(summed, casadi.vertcat(*(e.values for e in entries))))


def _watch(n: int, low: np.ndarray, high: np.ndarray) -> Any:
    """Return what looks at every iterate, and keeps the one that misses conditions least, of those that meet them the
    one of least effort."""
    import casadi

    class SolverWatch(casadi.Callback):
        """Called by CasADi with all results of a solver."""

        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self.best: np.ndarray | None = None
            self.stopped = False
            self._least = (np.inf, np.inf)
            self.construct("watch", {})

        def get_n_in(self) -> int:
            return int(casadi.nlpsol_n_out())

        def get_n_out(self) -> int:
            return 1

        def get_name_in(self, i: int) -> str:
            return str(casadi.nlpsol_out(i))

        def get_name_out(self, i: int) -> str:
            return "ret"

        def get_sparsity_in(self, i: int) -> Any:
            sizes = {"x": n, "lam_x": n, "f": 1, "g": len(low), "lam_g": len(low)}
            return casadi.Sparsity.dense(sizes.get(casadi.nlpsol_out(i), 0), 1)

        def eval(self, arguments: Any) -> list[int]:
            try:
                self._look(
                    dict(zip((casadi.nlpsol_out(i) for i in range(len(arguments))), arguments, strict=True))
                )
            except KeyboardInterrupt:
                # CasADi would go on without a word.
                self.stopped = True
            return [int(self.stopped)]

        def _look(self, found: Mapping[str, Any]) -> None:
            values = np.asarray(found["g"]).ravel()
            missed = float(np.max(np.maximum(low - values, values - high), initial=0.0))
            score = (max(missed, MET), float(found["f"]))
            if np.isfinite(score).all() and score < self._least:
                self._least, self.best = score, np.asarray(found["x"]).ravel().copy()

    return SolverWatch()
