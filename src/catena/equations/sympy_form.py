"""Equations as SymPy expressions, in a form to read, and as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.equations.graph import CONSTANT, INPUT, ExpressionGraph
from catena.equations.labels import entry_names, owner_of, rates_are_derivatives
from catena.equations.trigonometric import Quotient, TooManyTerms, TrigonometricPolynomial
from catena.errors import EquationsError
from catena.spatial.scalars import TINY

if TYPE_CHECKING:
    from catena.equations.equations import Equations

MOST_OPERATIONS = {"sympy": 2000, "latex": 600}
"""The most operations that are written as SymPy expressions, and as LaTeX."""
MOST_READABLE = 600
"""The most operations that are brought into the form to read."""
LONGEST_LATEX = 20000


def sympy_module() -> Any:
    """SymPy, or an error that says how to get it."""
    try:
        import sympy
    except ImportError:
        raise EquationsError(
            'SymPy is not installed, and it is needed for sympy() and latex(): pip install "catena-dynamics[symbolic]".'
        ) from None
    return sympy


def require_size(equations: Equations, what: str) -> None:
    """Raise for equations that nobody can read."""
    count = len(equations.graph.operations)
    if count > MOST_OPERATIONS[what]:
        raise EquationsError(
            f"{equations.name} of {equations.plan.name!r} has {count} operations, too many for {what}() "
            f"(at most {MOST_OPERATIONS[what]}). Take c(), python() or casadi(), which have no limit."
        )


def sympy_results(equations: Equations, simplify: bool, numbered: bool) -> dict[str, Any]:
    """Return the results by name: a SymPy Matrix each, or an expression for a single number."""
    sympy = sympy_module()
    require_size(equations, "sympy")
    _require_exact(equations)
    symbols = sympy_symbols(equations, numbered)
    graph = equations.graph
    nodes: Callable[[int], Any]
    if simplify and len(graph.operations) <= MOST_READABLE:
        try:
            nodes = _Readable(graph, symbols).expression
            return {n: _shaped(sympy, where, nodes) for n, where in graph.outputs.items()}
        except TooManyTerms:
            pass
    plain = _plain(graph, symbols)
    return {n: _shaped(sympy, where, plain.__getitem__) for n, where in graph.outputs.items()}


def _require_exact(equations: Equations) -> None:
    """Raise for equations with numbers in them that only keep them from dividing by zero, as logarithms of rotations
    have: they choose among branches of which some are divided by an exact zero, and an expression has all of them."""
    graph = equations.graph
    if any(
        op == CONSTANT and 0.0 < abs(float(x)) <= TINY for op, x in zip(graph.op, graph.value, strict=True)
    ):
        other = " Its velocity errors are closure_jacobian times v." if equations.name == "closure" else ""
        raise EquationsError(
            f"{equations.name} of {equations.plan.name!r} has logarithms of rotations in it, which choose among "
            f"branches for small and large angles, so there is no expression to read.{other} Take c(), python() or "
            f"casadi()."
        )


def sympy_symbols(equations: Equations, numbered: bool) -> dict[str, list[Any]]:
    """Return the symbols of all arguments and parameters, entry by entry: q_A, v_A, tau_A, and parameters as they are
    called with underscores for points. With `numbered`, coordinates are q_1, q_2, ... in their order."""
    sympy = sympy_module()
    graph, plan = equations.graph, equations.plan
    symbols = {}
    for name, size in graph.inputs.items():
        if name in equations.parameters:
            symbols[name] = [
                sympy.Symbol(e.replace(".", "_"), real=True) for e in equations.parameters[name].entries
            ]
            continue
        entries = [str(k + 1) for k in range(size)] if numbered else entry_names(plan, name, size)
        symbols[name] = [sympy.Symbol(f"{name}_{e}".replace(".", "_"), real=True) for e in entries]
    return symbols


def _shaped(sympy: Any, where: np.ndarray, expression: Callable[[int], Any]) -> Any:
    entries = [expression(int(k)) for k in where.ravel()]
    if where.ndim == 0:
        return entries[0]
    rows, columns = where.shape if where.ndim == 2 else (where.size, 1)
    return sympy.Matrix(rows, columns, entries)


def _plain(graph: ExpressionGraph, symbols: dict[str, list[Any]]) -> list[Any]:
    """Return every node as an expression, as it was computed."""
    sympy = sympy_module()
    entries = list(symbols.values())
    nodes: list[Any] = []
    for k, op in enumerate(graph.op):
        if op == CONSTANT:
            nodes.append(_nice(sympy, Fraction(repr(float(graph.value[k])))))
        elif op == INPUT:
            nodes.append(entries[graph.left[k]][graph.right[k]])
        else:
            nodes.append(_applied(sympy, op, [nodes[o] for o in graph.operands(k)]))
    return nodes


def _applied(sympy: Any, op: str, x: list[Any]) -> Any:
    """Return a SymPy expression for an operation."""
    simple: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
        "neg": lambda a: -a, "inv": lambda a: 1 / a, "fabs": sympy.Abs, "fmin": sympy.Min, "fmax": sympy.Max,
        "pow": lambda a, b: a**b, "ceil": sympy.ceiling, "fmod": sympy.Mod, "sign": sympy.sign,
        "lt": lambda a, b: sympy.Piecewise((1, a < b), (0, True)),
        "le": lambda a, b: sympy.Piecewise((1, a <= b), (0, True)),
        "eq": lambda a, b: sympy.Piecewise((1, sympy.Eq(a, b)), (0, True)),
        "ne": lambda a, b: sympy.Piecewise((1, sympy.Ne(a, b)), (0, True)),
        "not": lambda a: sympy.Piecewise((1, sympy.Eq(a, 0)), (0, True)),
        "and": lambda a, b: a * b, "or": sympy.Max,
        "if_else_zero": lambda a, b: sympy.Piecewise((b, sympy.Ne(a, 0)), (0, True)),
    }  # fmt: skip
    return simple[op](*x) if op in simple else getattr(sympy, op)(*x)


def _nice(sympy: Any, x: Fraction) -> Any:
    """Return a whole number or a simple fraction as such, everything else as a decimal number."""
    if x.denominator in (1, 2, 3, 4, 6, 8):
        return sympy.Rational(x.numerator, x.denominator)
    return sympy.Float(f"{float(x):.15g}", 15)


class _Readable:
    """Nodes of a graph in the form to read."""

    def __init__(self, graph: ExpressionGraph, symbols: dict[str, list[Any]]) -> None:
        self.sympy = sympy_module()
        self.graph = graph
        self.symbols = [s for entries in symbols.values() for s in entries]
        starts = np.cumsum([0, *(len(entries) for entries in symbols.values())])
        self.input = {
            k: int(starts[graph.left[k]] + graph.right[k]) for k, op in enumerate(graph.op) if op == INPUT
        }
        self.angles = len(self.symbols)
        # What is no sum, product or quotient gets a symbol of its own.
        others = [k for k, op in enumerate(graph.op) if op not in _ALGEBRA]
        self.other = {k: self.angles + i for i, k in enumerate(others)}
        self.size = 2 * self.angles + len(others)
        self.atoms: list[Any] = [*self.symbols, *[None] * len(others)]
        self.nodes: list[Quotient] = []
        for k in range(len(graph)):
            self.nodes.append(self._node(k))

    def _term(
        self, *exponents: tuple[int, int], coefficient: tuple[Fraction, Fraction]
    ) -> TrigonometricPolynomial:
        key = [0] * self.size
        for position, power in exponents:
            key[position] += power
        return TrigonometricPolynomial({tuple(key): coefficient}, self.angles)

    def _number(self, x: float) -> Quotient:
        exact = Fraction(f"{x:.15g}")
        if not exact:
            return Quotient(TrigonometricPolynomial({}, self.angles))
        return Quotient(self._term(coefficient=(exact, Fraction(0))))

    def _node(self, k: int) -> Quotient:
        op = self.graph.op[k]
        if op == CONSTANT:
            return self._number(float(self.graph.value[k]))
        if op == INPUT:
            return self._atom(self.input[k])
        operands = self.graph.operands(k)
        x = [self.nodes[o] for o in operands]
        if op in ("sin", "cos") and self.graph.op[operands[0]] == INPUT:
            return self._circular(op, self.input[operands[0]])
        if op in _QUOTIENTS:
            return _QUOTIENTS[op](*x)
        position = self.other[k]
        self.atoms[position] = _applied(self.sympy, op, [self.expression(o) for o in operands])
        return self._atom(position)

    def _atom(self, position: int) -> Quotient:
        return Quotient(self._term((self.angles + position, 1), coefficient=(Fraction(1), Fraction(0))))

    def _circular(self, op: str, angle: int) -> Quotient:
        half, no = Fraction(1, 2), Fraction(0)
        forth, back = ((half, no), (half, no)) if op == "cos" else ((no, -half), (no, half))
        return Quotient(self._term((angle, 1), coefficient=forth) + self._term((angle, -1), coefficient=back))

    def expression(self, k: int) -> Any:
        """Return the node as a SymPy expression."""
        value = self.nodes[k]
        top = self._sum(value.top)
        below = self.sympy.Integer(1)
        for polynomial, power in value.factors.values():
            if power > 0:
                top = top * self._sum(polynomial) ** power
            else:
                below = below * self._sum(polynomial) ** -power
        return top / below

    def _sum(self, polynomial: TrigonometricPolynomial) -> Any:
        sympy = self.sympy
        waves: dict[tuple[int, ...], dict[tuple[int, ...], tuple[Fraction, Fraction]]] = {}
        for key, (x, y) in polynomial.terms.items():
            angles, powers = key[: self.angles], key[self.angles :]
            # Terms come in conjugate pairs, of which one is enough.
            first = next((n for n in angles if n), 0)
            if first < 0:
                continue
            double = 2 if first else 1
            waves.setdefault(angles, {})[powers] = double * x, -double * y
        parts: list[Any] = []
        _squares(waves)
        for (angles, *square), monomials in ((_split(w), m) for w, m in waves.items()):
            theta = sum((n * s for n, s in zip(angles, self.symbols) if n), sympy.Integer(0))
            for powers, (c, s) in monomials.items():
                factor = sympy.Mul(*(a**p for a, p in zip(self.atoms, powers) if p))
                if square:
                    parts.append(_nice(sympy, c) * factor * getattr(sympy, square[0])(theta) ** 2)
                    continue
                if c:
                    parts.append(_nice(sympy, c) * factor * (sympy.cos(theta) if any(angles) else 1))
                if s:
                    parts.append(_nice(sympy, s) * factor * sympy.sin(theta))
        return _collected(sympy, sympy.Add(*parts), self.atoms)


_QUOTIENTS: dict[str, Callable[..., Quotient]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a * b.inverse(), "inv": lambda a: a.inverse(), "neg": lambda a: -a,
}  # fmt: skip
_ALGEBRA = frozenset({*_QUOTIENTS, CONSTANT, INPUT})


def _squares(waves: dict[Any, dict[tuple[int, ...], tuple[Fraction, Fraction]]]) -> None:
    """Put a - a cos 2x back together to 2 a sin^2 x, and a + a cos 2x to 2 a cos^2 x."""
    constant = next((w for w in waves if not any(w)), None)
    if constant is None:
        return
    for wave in [w for w in waves if any(w) and all(n % 2 == 0 for n in w)]:
        for powers, (c, s) in list(waves[wave].items()):
            c0 = waves[constant].get(powers, (Fraction(0), Fraction(0)))[0]
            if s or abs(c0) != abs(c) or not c:
                continue
            half = tuple(n // 2 for n in wave)
            name = "cos" if c0 == c else "sin"
            waves.setdefault((half, name), {})[powers] = 2 * c0, Fraction(0)
            del waves[wave][powers]
            del waves[constant][powers]


def _split(wave: Any) -> tuple[Any, ...]:
    """Return the angles of a wave, and after them the name of its square if it is one."""
    return wave if len(wave) == 2 and isinstance(wave[1], str) else (wave,)


def _collected(sympy: Any, expression: Any, atoms: Iterable[Any]) -> Any:
    """Return the sum with masses, or else what most terms share, taken out, where that is shorter."""
    if not expression.is_Add:
        return expression
    masses = [a for a in atoms if a is not None and str(a).endswith("_mass") and expression.has(a)]
    gravity = [a for a in atoms if a is not None and str(a).startswith("gravity") and expression.has(a)]
    best = expression
    for chosen in ([*gravity, *masses], masses):
        if chosen:
            found = sympy.collect(expression, chosen, func=lambda part: sympy.factor_terms(part))
            found = sympy.factor_terms(found)
            if sympy.count_ops(found) < sympy.count_ops(best):
                best = found
    shorter = sympy.factor_terms(expression)
    return shorter if sympy.count_ops(shorter) < sympy.count_ops(best) else best


# What a reader calls the results, by the name of the equations.
_LEFT = {
    "mass_matrix": {"H": "H(q)"},
    "bias_force": {"tau": r"h(q, \dot q)"},
    "inverse_dynamics": {"tau": r"\tau"},
    "forward_dynamics": {"vdot": r"\ddot q", "multipliers": r"\lambda"},
    "closure": {"position": r"\Phi(q)", "velocity": r"\dot\Phi"},
    "closure_jacobian": {"J": "J(q)"},
    "joint_coordinates": {"H": "H", "force": "f", "J": "J", "gamma": r"\gamma"},
    "minimal_coordinates": {"mass_matrix": "M", "force": "f", "E": "E", "drift": r"\dot E v_i"},
    "pose": {"pose": "T"},
    "kinetic_energy": {"T": "T"},
    "potential_energy": {"V": "V"},
    "momentum": {"h": "h"},
}


def latex_text(equations: Equations, numbered: bool) -> str:
    """Return the results as LaTeX equations, one after the other."""
    sympy = sympy_module()
    require_size(equations, "latex")
    names = _latex_names(equations, numbered)
    # SymPy sorts by names, so symbols are called after where a reader looks for them.
    sorted_names = sorted(names, key=lambda symbol: _rank(names[symbol]))
    called = {symbol: sympy.Symbol(f"s{k:04d}") for k, symbol in enumerate(sorted_names)}
    written = {called[symbol]: name for symbol, name in names.items()}
    lines = []
    for name, value in sympy_results(equations, True, numbered).items():
        left = _LEFT.get(equations.name, {}).get(name, name)
        style = {"symbol_names": written, "mat_delim": "[", "full_prec": False, "fold_func_brackets": True}
        lines.append(f"{left} = {sympy.latex(value.xreplace(called), **style)}")
    text = "\n\n".join(lines)
    if len(text) > LONGEST_LATEX:
        raise EquationsError(
            f"{equations.name} of {equations.plan.name!r} is {len(text)} characters long in LaTeX, too long to read "
            f"(at most {LONGEST_LATEX}). Take c(), python() or casadi(), which have no limit, or leave fewer symbols."
        )
    return text


def _rank(name: str) -> int:
    """Return where a symbol stands in a product or a sum: inertias, masses, gravity, lengths, then angles and their
    rates."""
    letter = name.split("_")[0]
    return _ORDER.index(letter) if letter in _ORDER else len(_ORDER)


_ORDER = ("I", "m", "g", "l", "p", "r", "c")


def _latex_names(equations: Equations, numbered: bool) -> dict[Any, str]:
    """Return how each symbol is written."""
    plan, names = equations.plan, {}
    for name, entries in sympy_symbols(equations, numbered).items():
        if name in equations.parameters:
            for symbol, entry in zip(entries, equations.parameters[name].entries, strict=True):
                names[symbol] = _parameter_name(entry)
            continue
        labels = entry_names(plan, name, len(entries))
        for k, (symbol, label) in enumerate(zip(entries, labels, strict=True)):
            joint, _ = owner_of(plan, label)
            subscript = str(k + 1) if numbered else _words(label)
            derivative = joint in plan.joint and rates_are_derivatives(plan, joint)
            head = {
                "q": "q", "v": r"\dot q" if derivative else "v", "vdot": r"\ddot q" if derivative else r"\dot v",
                "tau": r"\tau",
            }.get(name, rf"\mathrm{{{_words(name)}}}")  # fmt: skip
            names[symbol] = f"{head}_{{{subscript}}}"
    return names


def _words(text: str) -> str:
    """Return a name as a subscript: upright if it is longer than a letter or a number."""
    plain = "".join(map(_letter, text))
    return plain if len(text) == 1 or text.isdigit() else rf"\mathrm{{{plain}}}"


def _letter(letter: str) -> str:
    """Return a character as it is written inside of a formula. What LaTeX gives a meaning to is escaped, because a
    stranger's model may call a joint anything, and what it does not know is told by its number."""
    if letter in _ESCAPED:
        return _ESCAPED[letter]
    return (
        letter if letter.isalnum() or letter in _AS_THEY_ARE else rf"\langle U+{ord(letter):04X}\rangle{{}}"
    )


_ESCAPED = {
    "\\": r"\backslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "^": r"\wedge{}", "_": r"\_",
    "%": r"\%", "~": r"\sim{}", " ": r"\ ", ".": ",",
}  # fmt: skip
_AS_THEY_ARE = frozenset("!()*+,-/:;<=>?@[]|")


def _parameter_name(entry: str) -> str:
    """Return the usual letter for a parameter, with its owner as a subscript."""
    gravity = _GRAVITY.fullmatch(entry)
    if gravity is not None:
        return "g" if gravity[1] == "length" else f"g_{{{gravity[1]}}}"
    found = _OWNED.fullmatch(entry)
    if found is None:
        return rf"\mathrm{{{_words(entry)}}}"
    owner, what, component = found.groups()
    if component == "length":
        return f"{_LENGTHS.get(what, 'l')}_{{{_words(owner)}}}"
    return f"{_LETTERS[what]}_{{{','.join([_words(owner), *([component] if component else [])])}}}"


_LETTERS = {
    "mass": "m", "com": "c", "inertia": "I", "in_parent.p": "p", "in_child.p": "r", "damping": "d", "friction": "f",
    "pitch": "h", "p": "p",
}  # fmt: skip
_LENGTHS = {"com": "c", "in_parent.p": "l", "in_child.p": "r", "p": "l"}
_GRAVITY = re.compile(r"gravity\.([xyz]|length)")
_OWNED = re.compile(
    rf"(.+?)\.({'|'.join(map(re.escape, _LETTERS))})(?:\.([xyz]{{1,2}}|\d+|length))?", re.DOTALL
)
