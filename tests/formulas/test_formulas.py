"""Formulas against what Python, NumPy and CasADi make of the same expressions, and against what must not be read."""

import math
import pickle
import random
import time

import casadi
import numpy as np
import pytest

from catena import CatenaError, FormulaError
from catena.formulas import FUNCTIONS, UNITS, ParsedFormula, Place, parse

VALUES = {
    "a": 0.7,
    "b": -1.3,
    "odd name": 2.5,
    "t": 0.25,
    ("q", "A"): 0.4,
    ("v", "arm-2", 1): -0.6,
    ("A", "position"): 1.1,
}
WRITTEN = {
    "a": "a", "b": "b", "odd name": '"odd name"', "t": "t", ("q", "A"): "q.A", ("v", "arm-2", 1): "v['arm-2'][1]",
    ("A", "position"): "A.position",
}  # fmt: skip
ONES = ("sin", "cos", "tan", "atan", "tanh", "exp", "abs", "sign", "sqrt", "floor", "ceil", "asin", "log")
PYTHON = {
    **{name: getattr(math, name) for name in ONES if hasattr(math, name)},
    "abs": abs, "min": min, "max": max, "atan2": math.atan2, "hypot": math.hypot, "pi": math.pi,
    "sign": lambda x: (x > 0) - (x < 0), "step": lambda x, edge=0.0: 1.0 if x >= edge else 0.0,
    "clamp": lambda x, low, high: min(max(x, low), high), "mod": lambda x, y: x - y * math.floor(x / y),
    "choose": lambda c, a, b: a if c else b,
}  # fmt: skip


def tree(r: random.Random, depth: int) -> tuple[str, str]:
    """A random expression: as a formula, and as Python in which names are entries of `x`."""
    if depth == 0 or r.random() < 0.1:
        pick = r.random()
        if pick < 0.45:
            name = r.choice(list(VALUES))
            return WRITTEN[name], f"x[{name!r}]"
        if pick < 0.5:
            return "pi", "pi"
        value = r.choice([1, 2, 0.5, 3.25, 1e-3, 12.0, r.uniform(0, 5)])
        if pick < 0.65:
            unit = r.choice(["deg", "mm", "rpm", "kN", "g"])
            scale = {"deg": "*(pi/180)", "mm": "/1000", "rpm": "*(pi/30)", "kN": "*1000", "g": "/1000"}[unit]
            # A factor of one over the unit leaves a plain number, so that anything may be added to it.
            return f"({value!r}{r.choice(['', ' '])}{unit} / (1 {unit}))", f"(({value!r}{scale})/(1{scale}))"
        return repr(value), f"{float(value)!r}"
    sub = lambda: tree(r, depth - 1)  # noqa: E731
    pick = r.random()
    if pick < 0.5:
        sign = r.choice("+-*/")
        (a, pa), (b, pb) = sub(), sub()
        blank = r.choice(["", " "])
        return f"({a}){blank}{sign}{blank}({b})", f"({pa}){sign}({pb})"
    if pick < 0.56:
        (a, pa), n = sub(), r.choice([2, 3, -1])
        return f"({a}){r.choice(['^', '**'])}{n}", f"math.pow({pa}, {n})"
    if pick < 0.62:
        a, pa = sub()
        return f"-({a})", f"-({pa})"
    if pick < 0.75:
        (a, pa), (b, pb), (c, pc), (d, pd) = sub(), sub(), sub(), sub()
        sign = r.choice(["<", "<=", ">", ">=", "!="])
        joint = r.choice(["and", "or"])
        negated = r.choice(["", "not "])
        condition = f"{negated}({{}}) {sign} ({{}}) {joint} ({{}}) < 0.5"
        return (
            f"if({condition.format(a, b, c)}, {c}, {d})",
            f"choose({condition.format(pa, pb, pc)}, {pc}, {pd})",
        )
    if pick < 0.9:
        name = r.choice(ONES)
        a, pa = sub()
        return f"{name}({a})", f"{name}({pa})"
    name, count = r.choice(
        [("min", 3), ("max", 2), ("atan2", 2), ("hypot", 2), ("clamp", 3), ("step", 2), ("mod", 2)]
    )
    parts = [sub() for _ in range(count)]
    return f"{name}({', '.join(a for a, _ in parts)})", f"{name}({', '.join(p for _, p in parts)})"


def by_python(text):
    """The value by Python's own arithmetic, None where it has none."""
    try:
        value = eval(text, {"math": math, "x": VALUES, **PYTHON})
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return float(value) if math.isfinite(value) else None


def test_random_trees_are_what_python_numpy_and_casadi_compute():
    r = random.Random(25)
    names = list(VALUES)
    x = casadi.SX.sym("x", len(names))
    symbols = {name: x[k] for k, name in enumerate(names)}
    numbers, outcomes, defined = [], [], 0
    for _ in range(3000):
        text, python = tree(r, r.choice([1, 2, 2, 3]))
        if len(text) > 2000:
            continue
        formula = parse(text)
        assert parse(formula.canonical) == formula and parse(formula.canonical).canonical == formula.canonical
        assert parse(str(formula)) == formula and hash(parse(str(formula))) == hash(formula)
        expected = by_python(python)
        if expected is None:
            continue
        defined += 1
        # Bit for bit: the same operations in the same order.
        assert formula.number(VALUES) == expected, text
        wide = {name: np.full((2, 1), value) for name, value in VALUES.items()}
        numbers.append(expected)
        outcomes.append(formula.symbolic(symbols))
        if defined % 10 == 0 and formula.names:
            found = formula.number(wide)
            np.testing.assert_allclose(found, np.full(found.shape, expected), rtol=1e-9, atol=1e-12)
    assert defined > 1800
    compiled = casadi.Function("f", [x], [casadi.vertcat(*outcomes)])
    found = np.array(compiled([VALUES[name] for name in names])).ravel()
    close = np.isclose(found, numbers, rtol=1e-9, atol=1e-9)
    # Symbols are reordered a little, and where a comparison or a floor stands on an edge that shows.
    assert (~close).sum() <= len(numbers) // 200


def test_functions_for_floats_arrays_and_symbols_agree():
    r = np.random.default_rng(3)
    for name, function in FUNCTIONS.items():
        count = function.most or 3
        letters = "abcd"[:count]
        formula = parse(f"{name}({', '.join(letters)})")
        values = np.sort(r.uniform(0.05, 0.95, (count, 50)), axis=0)
        given = {letter: values[k] for k, letter in enumerate(letters)}
        floats = [formula.number({n: float(v[k]) for n, v in given.items()}) for k in range(50)]
        np.testing.assert_allclose(formula.number(given), floats, rtol=1e-14, atol=1e-15)
        x = casadi.SX.sym("x", count)
        compiled = casadi.Function("f", [x], [formula.symbolic({n: x[k] for k, n in enumerate(letters)})])
        np.testing.assert_allclose(np.array(compiled(values)).ravel(), floats, rtol=1e-14, atol=1e-15)


def test_conditions_can_be_differentiated_and_what_is_not_chosen_need_not_be_defined():
    x = casadi.SX.sym("x")
    formula = parse("if(x == 0, 1, sin(x) / x)")
    slope = casadi.Function("f", [x], [casadi.jacobian(parse("if(x > 1, x^2, 3 * x)").symbolic({"x": x}), x)])
    assert [float(slope(k)) for k in (0.5, 2.0)] == [3.0, 4.0]
    assert formula.number({"x": 0.0}) == 1.0
    np.testing.assert_allclose(formula.number({"x": np.array([0.0, 2.0])}), [1.0, math.sin(2.0) / 2.0])
    value = casadi.Function("f", [x], [formula.symbolic({"x": x})])
    assert float(value(0.0)) == 1.0


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("30 deg", math.radians(30), (0, 0, 0)),
        ("700 mm", 0.7, (1, 0, 0)),
        ("120 rpm", 120 * (math.pi / 30), (0, 0, -1)),
        ("3 kN", 3000.0, (1, 1, -2)),
        ("3 kN/mm", 3e6, (0, 1, -2)),
        ("9.81 m/s^2", 9.81, (1, 0, -2)),
        ("2 [kN / m]", 2000.0, (0, 1, -2)),
        ("5 cm^2", 5e-4, (2, 0, 0)),
        ("(5 cm)^2", 25e-4, (2, 0, 0)),
        ("5 N m", 5.0, (2, 1, -2)),
        ("sqrt(9 m^2) + 1 mm", 3.001, (1, 0, 0)),
        ("0.2 + 30 mm", 0.23, (1, 0, 0)),
        ("2 * 30 mm", 0.06, None),
        ("30deg", math.radians(30), (0, 0, 0)),
        ("-2^2", -4.0, None),
        ("2^3^2", 512.0, None),
        ("2**-1", 0.5, None),
        ("7 - 2 - 1", 4.0, None),
        ("8 / 2 / 2", 2.0, None),
        ("1.5e-3", 1.5e-3, None),
        ("smoothstep(0.5, 0, 1)", 0.5, (0, 0, 0)),
        ("ramp(3, 2, 6)", 0.25, (0, 0, 0)),
    ],
)
def test_units_signs_and_dimensions(text, value, dimension):
    formula = parse(text)
    assert formula.number() == pytest.approx(value, rel=1e-15)
    assert formula.dimension == dimension


def test_names_are_told_apart():
    formula = parse("""crank * sin(t) + q.A + v["arm-2"][1] + "odd name" - A.position * q["A"] + 'x'""")
    assert formula.names == {"crank", "t", ("q", "A"), ("v", "arm-2", 1), "odd name", ("A", "position"), "x"}
    # What a word is follows from where it stands: a unit, a function and a name may share it.
    assert parse("3 m * m + min(m, g) * min").number({"m": 2.0, "g": 1.0, "min": 5.0}) == 11.0
    assert parse("3 N / m").number({"m": 2.0}) == 1.5
    assert parse("3 N/m").number() == 3.0
    with pytest.raises(FormulaError, match="'m' is a unit here, and there is a value"):
        parse("3 N/m").number({"m": 2.0})
    assert parse("3 [N/m]").number({"m": 2.0}) == 3.0


def test_names_are_bound_to_numbers():
    formula = parse("a / 2 mm * b^2 - c m + q.A")
    bound = formula.bound({"a": 3.0, "b": -0.1, "c": -7.0})
    assert bound.names == {("q", "A")} and parse(str(bound)) == bound
    values = {"a": 3.0, "b": -0.1, "c": -7.0, ("q", "A"): 0.3}
    assert bound.number({("q", "A"): 0.3}) == formula.number(values)
    assert parse("1 / (2 mm)").canonical == "1 / (2 mm)"


def test_formulas_are_values():
    formula = parse(" 2*( a+1 )", Place("x.toml", 3, 9))
    assert str(formula) == " 2*( a+1 )" and formula.canonical == "2 * (a + 1)"
    assert formula == parse("2 * (a + 1)") and formula != parse("2 * a + 1")
    assert len({formula, parse("2*(a+1)"), parse("a")}) == 2
    again = pickle.loads(pickle.dumps(formula))
    assert again == formula and again.where == formula.where and str(again) == str(formula)
    with pytest.raises(AttributeError):
        formula.text = "b"


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("", "ends too early", 0),
        ("1 +", "ends too early", 3),
        ("2 * (3 + 1", "this bracket is not closed", 4),
        ("2 lenght", "'lenght' behind a value is no unit", 2),
        ("sine(2)", "no function is called 'sine': did you mean 'sin'", 0),
        ("atan2(1)", "takes 2", 0),
        ("if(1, 2, 3)", "first argument of if is a condition", 0),
        ("1 + (2 < 3)", "is given a condition", 2),
        ("2 < 3", "this is a condition", 0),
        ("0 < a < 1", "two comparisons", 6),
        ("1 kg + 3 mm", "between a mass and a length", 5),
        ("sin(3 mm)", "is given a length", 0),
        ("2^(3 mm)", "the exponent is a length", 1),
        ("1/2 mm", "read in two ways", 1),
        ("2 mm^x", "exponent of a unit is a whole number", 4),
        ("1e999", "too large", 0),
        ("a = 2", "has no meaning", 2),
        ("'a", "quotation mark is not closed", 0),
        ("q.2", "", 1),
        ("q[1.5]", "whole number", 2),
        ("a b", "no unit", 2),
        ("1 1", "not expected", 2),
        (")", "not expected", 0),
        ("\u0661 + 1", "has no meaning", 0),
        ("2 \u00d7 3", "has no meaning", 2),
        ("1\u200b0", "has no meaning", 1),
        ("inf", "nothing is called 'inf'", 0),
        ("1 / 0", "divides by zero", 2),
        ("2 + sqrt(-1)", "sqrt is not defined", 4),
        ("exp(1000)", "too large", 0),
        ("1e300 * 1e300", "too large", 6),
        ("(-1)^0.5", "not defined", 4),
        ("mod(1, 0)", "divides by zero", 0),
    ],
)
def test_faults_name_place_and_reason(text, reason, column):
    with pytest.raises(FormulaError) as caught:
        parse(text, Place("model.toml", 7, 10)).number()
    message = str(caught.value)
    assert message.startswith(f"model.toml:7:{10 + column}: ") and reason in message
    assert caught.value.column == column
    shown, mark = message.split("\n")[1:]
    assert len(mark) == 4 + column + 1 and mark.endswith("^") and len(shown) - 4 == len(text)


HOSTILE = [
    "__import__('os').system('true')", "().__class__.__bases__[0].__subclasses__()", "a.__class__.__init__",
    "[x for x in (1,)]", "lambda: 1", "open('/etc/passwd')", "exec('1')", "f'{a}'", "a if a else b", "a; b", "a\nb",
    "{a}", "a := 2", "a.__dict__['x']", "getattr(a, 'real')", "\\x41", "a@b", "a//b", "a % b", "~a", "0x1F", "1_000",
    "1j", "True", "None", "a" * 3000, "(" * 500 + "1" + ")" * 500, "-" * 1999 + "1", "2^" * 600 + "2",
    "not " * 400 + "1", "1" * 1_000_000, "(" * 1_000_000, "+".join(["1"] * 1000), "sin(" * 200 + "1" + ")" * 200,
    "1e" * 500, "\x00", "\u202e1", "\ufe0f", "\uff41", "q" + "[0]" * 500, "q" + ".a" * 900, "'" * 1999,
    '"\\' * 900, "1 " + "m*" * 900 + "m", "1 m^99", "1 m^999999999999", "1 [m", "1 [", "if(" * 300,
    "min(" + "1," * 900 + "1)", "9" * 400, "1 " + "km " * 600,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=[repr(one[:20]) for one in HOSTILE])
def test_nothing_is_reached_and_nothing_hangs(text):
    began = time.process_time()
    try:
        formula = parse(text)
        assert isinstance(formula.number({"a": 1.0, "b": 2.0}), float)
    except CatenaError as error:
        assert len(str(error)) < 2000
    assert time.process_time() - began < 0.5


def test_texts_made_by_chance_are_read_or_refused_in_words():
    r = random.Random(4)
    pieces = [
        "1", "2.5", "a", "q.A", "(", ")", "+", "-", "*", "/", "^", "**", "if(", ",", " ", "deg", "mm", "[", "]", "'x'",
        ".", "<", "==", "and", "not", "sin(", "min(", "m", "/", "\t", "é", "²", "1e5", '"', "pi", "\\",
    ]  # fmt: skip
    for _ in range(20_000):
        text = "".join(r.choice(pieces) for _ in range(r.randrange(1, 12)))
        try:
            formula = parse(text)
            assert parse(formula.canonical) == formula
            formula.number({"a": 1.0, "x": 0.0, ("q", "A"): 2.0})
        except FormulaError:
            pass


def test_every_unit_is_what_it_is_in_si():
    known = {
        "in": 0.0254,
        "ft": 0.3048,
        "lb": 0.45359237,
        "lbf": 0.45359237 * 9.80665,
        "bar": 1e5,
        "h": 3600.0,
        "rev": 2 * math.pi,
    }
    prefixes = {"k": 1e3, "m": 1e-3, "u": 1e-6, "c": 1e-2, "M": 1e6, "G": 1e9}
    for word in UNITS:
        value = parse(f"1 {word}").number()
        if word in known:
            assert value == pytest.approx(known[word], rel=1e-15)
        elif word[0] in prefixes and word[1:] in UNITS and word != "min":
            assert value == pytest.approx(prefixes[word[0]] * parse(f"1 {word[1:]}").number(), rel=1e-15)


def test_only_text_is_a_formula():
    assert isinstance(parse("1"), ParsedFormula)
    with pytest.raises(FormulaError, match="give text"):
        parse(3.0)
