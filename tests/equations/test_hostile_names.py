"""Names of a stranger's model in generated sources: they are compiled, run and typeset, and do nothing there."""

import random
import re
import shutil
import subprocess
import sys

import pytest

import catena as ct

BREAKING = [
    "*/ int planted = 1; /*",
    "end ??/\n*/ int planted = 1; /*",
    "star *\\\n/ int planted = 1; /*",
    "star *??/\n/ int planted = 1; /*",
    "lone \r*/ int planted = 1; /*",
    "line\u2028*/ int planted = 1; /*",
    'quotes """\nimport os; PLANTED = 1\n"""',
    "quotes '''\nPLANTED = 1\n'''",
    "back \\",
    'back \\"""\nPLANTED = 1\n"""',
    "\\N{no such name} \\x \\u12",
    "nul \x00 escape \x1b[2J bidi \u202e override \u2066",
    "half a pair \ud800",
    "$\\input{/etc/passwd}$ {a}{ & # ^_ %~",
    "#include </etc/passwd>",
    "left leg",
    "left_leg",
    "Ж",
    "Я",
    "3 legs",
    "arm.mass\\end{document}",
    "gravity.$x",
]


def made(names):
    """A chain of bodies, and frames on them, that all have hostile names; the mechanism has one too."""
    m = ct.Mechanism(names[0])
    before = "ground"
    for k, name in enumerate(names):
        m.add_body(f"body {name}", mass=1.0 + k, com=(0.1, 0.0, 0.0), inertia=0.1)
        m.add_joint(name, before, f"body {name}", ct.Revolute("z"), in_parent=ct.Pose(p=(0.3, 0, 0)))
        before = f"body {name}"
    return m


def chance_name(chance):
    """Pieces that mean something to C, Python or LaTeX, and characters of all planes, one after the other."""
    pieces = [
        "*",
        "/",
        "\\",
        "\n",
        "\r",
        "??/",
        '"',
        "'",
        "#",
        "$",
        "{",
        "}",
        "^",
        "_",
        "%",
        "~",
        "&",
        " ",
        "\x0b",
        "\x85",
    ]
    return "".join(
        chance.choice(pieces) if chance.random() < 0.7 else chr(chance.randrange(1, 0x11000)) for _ in range(12)
    )  # fmt: skip


NAMES = {"breaking": BREAKING}
NAMES |= {
    f"chance {seed}": sorted({chance_name(random.Random(100 * seed + k)) for k in range(6)})
    for seed in range(4)
}


def exported(names, what="inverse_dynamics"):
    m = made(names)
    bodies = [f"body {name}" for name in names]
    return m.system().equations(what, symbols=[f"{body}.mass" for body in bodies], f_ext=bodies[-6:])


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("standard", ["-std=c99", "-std=gnu17"])
def test_c_with_hostile_names_is_compiled_and_defines_nothing_else(names, standard, tmp_path):
    source = exported(NAMES[names]).c("dynamics")
    source.save(tmp_path)
    files = [str(tmp_path / "dynamics.c"), str(tmp_path / "dynamics_test.c")]
    strict = [standard, "-trigraphs", "-Wall", "-Wextra", "-Wcomment", "-Werror", "-O0"]
    built = subprocess.run(
        ["gcc", *strict, *files, "-o", str(tmp_path / "program"), "-lm"], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    assert subprocess.run([str(tmp_path / "program")], capture_output=True).returncode == 0
    for text in (source.source, source.header, source.test):
        assert set(text) <= set(map(chr, range(32, 127))) | {"\n"}
    left = subprocess.run(
        ["gcc", "-trigraphs", "-E", "-P", str(tmp_path / "dynamics.h")], capture_output=True, text=True, check=True
    )  # fmt: skip
    # Of the header the preprocessor leaves the type and the prototype.
    assert re.fullmatch(r"\s*typedef double dynamics_real;\s*void dynamics\([\w\s,*]*\);\s*", left.stdout)


@pytest.mark.parametrize("names", NAMES)
def test_python_with_hostile_names_is_run_and_defines_nothing_else(names, tmp_path):
    e = exported(NAMES[names])
    (path,) = e.save(tmp_path / "dynamics.py")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import dynamics; import numpy as np; "
        "assert {n for n in vars(dynamics) if n[0] != '_'} == {'np', 'PARAMETERS', 'dynamics'}; "
        "assert len(dynamics.PARAMETERS) == int(sys.argv[2]); "
        "assert dynamics.__doc__.count('\\n') == 3"
    )
    count = str(len(NAMES[names]))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path), count], capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert path.read_text(encoding="utf-8").isprintable() is False  # lines, and nothing else that is not
    assert all(c.isprintable() or c == "\n" for c in path.read_text(encoding="utf-8"))


def test_names_that_are_alike_but_for_a_blank_are_told_apart(agree):
    e = exported(["left leg", "left_leg", "left-leg"])
    f = e.casadi()
    words = [f.name_in(k) for k in range(f.n_in())]
    assert len(set(words)) == len(words) and "f_ext_body_left_leg_3" in words
    state = e.example()
    values = [p.value for p in e.parameters.values()]
    agree(f(*state.values(), *values).full().ravel(), e(*state.values()), 1e-12)


def is_balanced(text):
    """Whether groups of a formula are closed, nothing starts a comment, and no character is a command by itself, as a
    reader of TeX goes through it."""
    depth, k = 0, 0
    while k < len(text):
        if text[k] == "\\":
            k += 2
            continue
        depth += {"{": 1, "}": -1}.get(text[k], 0)
        if depth < 0 or text[k] in "$#%~":
            return False
        k += 1
    return depth == 0


KNOWN_COMMANDS = {
    "backslash", "wedge", "sim", "langle", "rangle", "mathrm", "dot", "ddot", "cos", "sin", "tau", "left", "right",
    "begin", "end", "cdot", "operatorname", "frac", "phi", "sqrt",
}  # fmt: skip


@pytest.mark.parametrize("names", NAMES)
def test_latex_with_hostile_names_is_a_formula_and_nothing_else(names):
    for pair in zip(NAMES[names], NAMES[names][1:]):
        e = (
            made(pair)
            .system()
            .equations("kinetic_energy", symbols=[f"body {pair[0]}.mass", f"body {pair[1]}.com.x"])
        )
        text = e.latex()
        assert is_balanced(text)
        assert all(c.isprintable() for c in text)
        assert set(re.findall(r"\\([a-zA-Z]+)", text)) <= KNOWN_COMMANDS
        # matplotlib typesets formulas by a reader of its own, which does not know these two.
        text = text.replace(r"\&", "+").replace(r"\#", "+")
        mathtext = pytest.importorskip("matplotlib.mathtext")
        assert mathtext.MathTextParser("path").parse(f"${text}$").width > 0.0


def test_coordinates_of_flexible_bodies_are_called_as_in_tables():
    """A mode is called `boom.mode1` in CSV files too; inside, the points of a body have names of their own."""
    m = ct.Mechanism("arm", gravity=(0, 0, 0))
    boom = ct.Beam(length=1.0, area=1e-4, inertia=1e-9, density=2700, young=7e10, modes={"y": 2})
    m.add_body("boom", flexible=boom)
    m.add_joint("hub", "ground", "boom", ct.Revolute("z"))
    m.add_body("tip", mass=0.1, inertia=1e-4)
    m.add_joint("wrist", "boom", "tip", ct.Spherical(), in_parent=ct.Pose(p=(1.0, 0, 0)))
    e = m.system().equations("potential_energy")
    text = e.latex()
    assert is_balanced(text) and "#" not in text and r"q_{\mathrm{boom,mode1}}" in text
    assert {"q_boom_mode1", "q_boom_mode2"} <= set(map(str, e.sympy().free_symbols))
    header = m.system().equations("forward_dynamics").c().header
    assert "position of mode2 of body boom" in header and "#0" not in header
    assert "position of joint wrist, component 3 of its kind's order" in header
    one = ct.Mechanism("one")
    one.add_body(
        "boom",
        flexible=ct.Beam(length=1.0, area=1e-4, inertia=1e-9, density=2700, young=7e10, modes={"y": 1}),
    )
    one.add_joint("hub", "ground", "boom", ct.Revolute("z"))
    assert r"\dot q_{\mathrm{boom,mode1}}" in one.system().equations("kinetic_energy").latex()
