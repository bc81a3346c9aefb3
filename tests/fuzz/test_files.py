"""Spoiled model files: a mechanism or a FormatError, never anything else, and never slow.

Files of many mechanisms are changed by letter, by line and by value, so that some are no TOML, some no model, and some
models of mechanisms that nobody would build. What is read is planned as well, and written again.
"""

from __future__ import annotations

import os
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.formats.source import Source
from catena.formats.toml import blocks, read, write
from tests.fuzz.builder import built
from tests.fuzz.watching import ROOT, faults

MODELS = sorted((ROOT / "examples" / "models").glob("*.toml"))
VALUES = [
    "nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "0", "-1", "1" + "0" * 400, "0x1F", "true", '""',
    '"abc"', "[]", "[[]]", "[1, [2, 3]]", "[[1, 0, 0], [0, 1]]", "{}", "{ p = 1 }",
    "{ p = [1, 2, 3], quat = [1, 0, 0, 0], rpy = [0, 0, 0] }", "{ rpy = [1e308, 1e308, 1e308] }",
    "{ R = [[1, 0, 0], [0, 1, 0], [0, 0, -1]] }", "{ quat = [0, 0, 0, 0] }", '"ground"', '["rx", "rx"]',
    '["rx", "q"]', "[0.0, 0.0, 0.0]", "[1e-300, 0, 0]", "[1e300, 1e300, 1e300]", "1979-05-27", "07:32:00",
    "[[1e308, 1e308, 0], [1e308, 1e308, 0], [0, 0, 1e308]]", "[1, 1, 5]", "[-1, 2, 2]", "[nan, 0, 0]",
    "'literal'", '"\\u0000"', '"""many\nlines"""', "[1,2,3,4,5,6,7]", "[1, 2]", '"module:Class"', '"os:path"',
    '"catena.joints:Revolute"', '"a.b.c:D.e"', '"\\ud800"', "1_000", "+5", "1e999", "-0.0", "[true]",
    "[ {} ]", '"2 * crank"', '"30 deg"', '"1 / 0"', '"q.A"', '"t"', '"sin("', '"crank ^ 99"', '"if(crank > 1, 2, 3)"',
    "'\"odd name\" * 2'", '"rod"', '"3 kN/m"', '"1 kg + 1 m"', '"__import__(1)"', '["crank", "-crank", 0]',
    "{ O-A = 1 }", "{ A = [0, 1] }", '{ C = { along = ["crank", 1], mass = "rod" } }',
]  # fmt: skip
KEYS = [
    "name", "mass", "com", "inertia", "kind", "axis", "pitch", "parent", "child", "in_parent", "in_child",
    "damping", "friction", "limits", "limit_stiffness", "limit_damping", "actuated", "locked_at", "body",
    "pose", "joint", "components", "gear", "stiffness", "rest", "between", "rest_length", "frame", "moment",
    "force", "axes", "gravity", "format", "q", "v", "motions", "normal", "axis1", "axis2", "arguments", "density",
    "physical", "visual", "collision", "armature", "velocity_limit", "static_friction", "stribeck_velocity",
    "load_friction", "mu", "radius", "span", "static_mu", "length", "width",
    "include", "repeat", "chain", "coupling", "ground",
    "unknown", '""', '"a.b"', "a.b.c", "crank", "rod", "parameters", "parameters.rod", "linkage", "linkage.bars",
    "fixed", "bars", "sketch", "slides", "at", "O-A", "A-B", "t", "pi",
]  # fmt: skip
DEEP = [
    lambda n: "a" + ".a" * n + " = 1\n", lambda n: "[" + "a." * n + "a]\n",
    lambda n: "[[" + "a." * n + "a]]\n", lambda n: "x = " + "[" * n + "]" * n + "\n",
    lambda n: "x = " + "[" * n + "\n", lambda n: "x = " + "{a = " * n + "1" + "}" * n + "\n",
    lambda n: "".join(f"[a{k}]\n" for k in range(n)), lambda n: "[[body]]\n" * n,
    lambda n: "mass = " + "1" * n + "\n", lambda n: 'name = "' + "x" * n + '"\n', lambda n: "\n" * n,
    lambda n: "# " + "x" * n + "\n", lambda n: "x = [" + "1, " * n + "]\n",
    lambda n: "".join(f"k{k} = {k}\n" for k in range(n)), lambda n: '"' * n + "\n",
    lambda n: "[mechanism." + '"x".' * n + "y]\n", lambda n: "in_parent" + ".p" * n + " = [0, 0, 0]\n",
    lambda n: "\n".join("[mechanism" + ".b" * k + "]" for k in range(1, int(n**0.5))) + "\n",
]  # fmt: skip


FORMULAS = """# A crank, a linkage and a body with formulas.
[mechanism]
name = "crank"

[parameters]
crank = "300 mm"       # one length in many places
rod = "2 * crank + gap"
gap = 0.2
"odd name" = "if(rod > 2 * crank, 1 kg, 2 kg)"

[linkage]
density = '2 * "odd name"'
fixed = { O = [0, 0], P = ["crank + 0.7", 0] }
sketch = { A = [0.3, 0.1], B = [0.8, 0.6], C = [1.4, 0] }
slides = { C = { through = [0, 0], mass = "2 kg" } }
at = { O-A = "30 deg" }

[linkage.bars]
O-A = "crank"          # the driven one
A-B = "rod"
P-B = 0.7
B-C = "3 * crank"

[[body]]
name = "arm"
mass = '"odd name" * 3'
com = ["crank / 2", 0, "-rod"]
inertia = "max(crank, rod)^2"
visual = [{ shape = "box", size = ["crank", 0.1, "rod"] }]   # seen

# where it hangs
[[joint]]
name = "hook"
kind = "revolute"
axis = ["sin(30 deg)", 0, "cos(30 deg)"]
parent = "B-C"
child = "arm"
in_parent = { p = ["rod", 0, 0], rpy = [0, "-90 deg", 0] }
damping = "0.1 Nm / 1 [rad/s]"

[[spring]]
name = "return"
joint = "P"
stiffness = "5 Nm"

[initial.q]
hook = "10 deg"
"""
LOOSE = """[mechanism]
name = "legs"
[parameters]
n = 3
step = "360 deg / n"
[[body]]
name = "hub"
density = "700 * n"
visual = [{ shape = "sphere", radius = "0.1 m" }]
[[joint]]
name = "base"
kind = "free"
parent = "ground"
child = "hub"
[[repeat]]
count = 3
[[repeat.body]]
name = "leg {k}"
mass = "{k} + 1"
[[repeat.joint]]
name = "hip {k}"
kind = "revolute"
parent = "hub"
child = "leg {k}"
in_parent = { rpy = [0, 0, "{k} * step"] }
"""


@cache
def texts() -> list[str]:
    """Good files to spoil: those of the examples, and written ones."""
    found = [path.read_text() for path in MODELS]
    found += [write(built(seed).mechanism, "built.toml") for seed in range(12)]
    arm = ct.generators.arm7()
    arm.set_initial(q={next(iter(arm.joints)): 0.3}, v={next(iter(arm.joints)): 1.0})
    found += [write(arm, "arm.toml"), *[FORMULAS] * 8, *[LOOSE] * 3]
    return [text for text in found if len(text) < 20_000]


def spoiled(random: np.random.Generator, text: str) -> str:
    """A text with one change, or a few."""
    for _ in range(int(random.choice([1, 1, 1, 2, 3, 8]))):
        lines = text.split("\n")
        k = int(random.integers(len(lines)))
        way = random.random()
        if way < 0.4:
            # Another value behind a key.
            pairs = [i for i, line in enumerate(lines) if "=" in line]
            if pairs:
                i = int(random.choice(pairs))
                lines[i] = lines[i].partition("=")[0] + "= " + VALUES[int(random.integers(len(VALUES)))]
            text = "\n".join(lines)
        elif way < 0.5:
            lines.insert(
                k, f"{KEYS[int(random.integers(len(KEYS)))]} = {VALUES[int(random.integers(len(VALUES)))]}"
            )
            text = "\n".join(lines)
        elif way < 0.58:
            del lines[k : k + int(random.integers(1, 4))]
            text = "\n".join(lines)
        elif way < 0.64:
            lines[k:k] = lines[int(random.integers(len(lines))) :][: int(random.integers(1, 12))]
            text = "\n".join(lines)
        elif way < 0.7:
            j = int(random.integers(len(lines)))
            lines[k], lines[j] = lines[j], lines[k]
            text = "\n".join(lines)
        elif way < 0.78:
            # Another number in the place of one.
            numbers = list(re.finditer(r"-?\d+\.?\d*(e-?\d+)?", text))
            if numbers:
                place = numbers[int(random.integers(len(numbers)))]
                other = str(
                    random.choice(["0", "nan", "1e300", "-1", "1e-300", "1e16", "inf", "3", "1e-9", "0.1"])
                )
                text = text[: place.start()] + other + text[place.end() :]
        elif way < 0.84:
            # Another name in the place of one.
            names = list(re.finditer(r'"[^"\n]*"', text))
            if len(names) > 1:
                place, other = (names[int(i)] for i in random.integers(len(names), size=2))
                text = text[: place.start()] + other.group() + text[place.end() :]
        elif way < 0.97:
            at = int(random.integers(len(text) + 1))
            letters = "[]{}=\"'\\.,#\n\t -+0159aexyz_\x00\x7f\u00e9\u2028\ud7ff\U0001f600"
            new = "".join(
                letters[int(i)] for i in random.integers(len(letters), size=int(random.integers(0, 4)))
            )
            text = text[:at] + new + text[at + int(random.integers(0, 4)) :]
        else:
            text = text[: int(random.integers(len(text) + 1))]
    return text


def check(seed: int) -> list[str]:
    """What is wrong with the file of a seed."""
    warnings.simplefilter("ignore")
    check.doing = "reading"  # type: ignore[attr-defined]
    random = np.random.default_rng([seed, 3])
    text = texts()[int(random.integers(len(texts())))]
    if random.random() < 0.02:
        many = int(10 ** random.uniform(2.0, 5.0))
        text = str(random.choice([text, ""])) + DEEP[int(random.integers(len(DEEP)))](many)
    else:
        text = spoiled(random, text)
    try:
        mechanism = read(text, Source("model.toml"))
    except ct.FormatError as error:
        return (
            [] if str(error).startswith("model.toml") else [f"a fault does not begin with the file: {error}"]
        )
    except Exception as error:
        return [f"reading ends in a {type(error).__name__}: {error}"]
    return used(mechanism, check) or saved(random, mechanism, text)


def saved(random: np.random.Generator, mechanism: ct.Mechanism, text: str) -> list[str]:
    """What goes wrong when the text, as a file, is written over by what it says, and by something else."""
    check.doing = "saving"  # type: ignore[attr-defined]
    file = Path("saved.toml")
    bodies = [name for name in mechanism.bodies if name != "ground"]
    name = str(random.choice(bodies)) if bodies else ""
    others = [mechanism]
    if name and mechanism.bodies[name].flexible is None:
        others.append(mechanism.with_body(name, com=(1.0, 2.0, 3.0)))
    for one in others:
        try:
            file.write_text(text, encoding="utf-8", newline="")
            one.save(file)
            again = read(file.read_text(encoding="utf-8"), Source("saved.toml", Path.cwd()))
        except ct.CatenaError as error:
            return [f"it cannot be saved: {error}"]
        except Exception as error:
            return [f"saving ends in a bare {type(error).__name__}: {error}"]
        if blocks(again, "") != blocks(one, ""):
            return ["what was saved is not what was to be saved"]
    return []


def used(mechanism: ct.Mechanism, check) -> list[str]:
    """What goes wrong with a mechanism that was read: it can be written, and planned and computed or refused."""
    check.doing = "writing"
    again = read(write(mechanism, "again.toml"), Source("again.toml"))
    if list(again.joints) != list(mechanism.joints):
        return ["what was written is not what was read"]
    try:
        check.doing = "planning"
        system = mechanism.system()
        q = system.neutral()
        check.doing = "computing"
        system.forward_dynamics(q, np.zeros(system.nv))
        system.forces.loads(q, np.zeros(system.nv))
        check.doing = "assembling"
        if system.loops:
            system.closure(q)
            system.diagnose(q)
    except ct.CatenaError:
        return []
    except Exception as error:
        return [f"{check.doing} what was read ends in a bare {type(error).__name__}: {error}"]
    return []


def test_some_files():
    assert not faults("test_files", range(400))


@pytest.mark.slow
def test_files():
    assert not faults("test_files", range(4_000), os.cpu_count() or 1)


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(4_000, 24_000, 4_000))
def test_many_files(first):
    assert not faults("test_files", range(first, first + 4_000), os.cpu_count() or 1)
