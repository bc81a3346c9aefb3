"""Spoiled URDF, SDF, TOML, USD, companions and meshes: a mechanism or a CatenaError, never anything else, never slow,
never large.

Only reading is tried, with all checks, so that a million texts are a matter of minutes. Each begins as a good text that
uses as much of its format as there is room for.
"""

from __future__ import annotations

import re
import resource
import time
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.formats import extended_urdf, toml
from catena.formats.checks import check_mechanism
from catena.formats.sdf import reading as sdf
from catena.formats.source import Source
from catena.formats.urdf import reading as urdf
from catena.formats.usd import reading as usd
from catena.mechanism.shapes import Mesh
from tests.formats.sdf.test_sdf import FOUR_BAR as SDF
from tests.formats.test_faults import GOOD
from tests.formats.test_loops import ENDS, robot
from tests.formats.test_meshes import CUBE, FORMATS as MESHES, THREES
from tests.formats.test_page import EXAMPLE, INCLUDED
from tests.formats.urdf.test_urdf import ARM, FOUR_BAR, LOOPS
from tests.formats.usd.usd_texts import USD


def read_companion(text, source):
    """The tree that the companion of the tests belongs to, with what a spoiled companion says."""
    tree = urdf.read(TREE, Source("tree.urdf"))
    return extended_urdf.read_into(tree, text, source)


def read_a_mesh(text, source):
    """A body with a spoiled mesh, filled; its file is written, because readers of meshes take files."""
    file = source.folder / source.name
    file.write_bytes(text.encode("latin-1", "replace"))
    m = ct.Mechanism("m")
    try:
        m.add_body("b", density=1000.0, visuals=Mesh(source.name, file=file))
    except ct.ModelError as error:
        raise ct.FormatError(f"{source.name}: {error}") from None
    m.add_joint("j", "ground", "b", ct.Free())
    return m


READERS = {"urdf": urdf.read, "sdf": sdf.read, "toml": toml.read, "usda": usd.read, "yaml": read_companion}
READERS |= dict.fromkeys(("stl", "obj", "ply", "dae", "gltf", "glb"), read_a_mesh)
NEEDS = {"usda": "pxr.Usd", "yaml": "yaml", **dict.fromkeys(("obj", "ply", "dae", "gltf", "glb"), "trimesh")}
"""Packages without which a format cannot be read."""
TREE = robot(ENDS)
COMPANION = (
    "closed_loop: [[end_c, end_a], [c, a]]\ntype: [3d, 6D]\nname_mot: [A, B]\njoint_name: [C]\n"
    "joint_type: [UJOINT_XY]\n"
)
SLOWEST = 5.0
"""Seconds that no text of some kilobytes may take, on a machine that does other things as well."""
WORDS = [
    "nan", "inf", "-1", "0", "1e308", "1e-320", "1e999", "0x1", "", " ", "1 2", "1 2 3 4", "x", "ground",
    "world", "base", "../a.stl", "package://a/b", "file:///etc/passwd", "\u00e9", "&amp;", "revolute", "fixed",
    "floating", "planar", "ball", "screw", "gearbox", "universal", "30 deg", "2 ** 2 ** 9", "((((", "{k}", "{k",
    "1/0", "sqrt(-1)", "a" * 300,
]  # fmt: skip
LOOP_ELEMENTS = [
    '<loop name="l" type="continuous"><predecessor link="c"><origin xyz="1 0 0" rpy="0.1 0 0"/></predecessor>'
    '<successor link="a"><origin xyz="0 0 1"/></successor><axis xyz="0 1 0"/></loop>',
    '<constraint name="l" type="universal"><parent link="c"/><child link="a"/><parent_origin xyz="1 0 0"/>'
    '<child_origin xyz="0 0 1"/><parent_axis xyz="1 0 0"/><child_axis xyz="0 1 0"/></constraint>',
    '<coupling name="k"><predecessor link="a"/><successor link="c"/><ratio value="2"/></coupling>',
    '<drake:ball_constraint name="l"><drake:ball_constraint_body_A name="c"/>'
    '<drake:ball_constraint_p_AP value="1 0 0"/><drake:ball_constraint_body_B name="a"/>'
    '<drake:ball_constraint_p_BQ value="0 0 1"/></drake:ball_constraint>',
]
LOOP = "<gazebo><joint name='g' type='ball'><parent>a</parent><child>b</child></joint></gazebo>"
PIECES = [
    "<!DOCTYPE a [<!ENTITY e 'x'>]>", "&e;", "&#0;", "<![CDATA[", "]]>", "<!--", "-->", "<?xml version='1.0'?>",
    "<a", "/>", "</robot>", "</link>", "</joint>", "<mimic joint='shoulder'/>", "<axis/>", "<limit/>",
    "<inertial/>", "<geometry/>", "<loop_joint name='q'/>", LOOP, "<pose>1</pose>",
    "<frame name='f' attached_to='f'/>", "<model/>", "\x00", "\ud7ff", "\U0001f600", "[", "]", "{", "}", '"', "'",
    "=", "\n", "[[repeat]]\ncount = 3\n", "[[include]]\nfile = 'x'\n", "[[body]]\nname = 'n'\n", "[parameters]\n",
]  # fmt: skip


@cache
def texts() -> list[tuple[str, str]]:
    """Good texts with their format."""
    found = [("urdf", ARM), ("sdf", SDF), ("toml", GOOD), ("toml", INCLUDED)]
    found += [("urdf", FOUR_BAR.replace("LOOP", loop)) for loop in LOOPS.values()]
    found += [("yaml", COMPANION)] + [("urdf", robot(loop)) for loop in LOOP_ELEMENTS]
    found += [
        (name.rpartition(".")[2], made(CUBE, THREES).decode("latin-1")) for name, made in MESHES.items()
    ]
    found += [("usda", USD)] * 4
    found.append(("toml", re.sub(r"\[\[(repeat\.)?include\]\].*?\n\n", "", EXAMPLE, flags=re.DOTALL)))
    return [(word, text) for word, text in found if word not in NEEDS or is_there(NEEDS[word])]


def is_there(package: str) -> bool:
    """Whether a package is installed; it is imported now, so that no text is blamed for the time."""
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def spoiled(random: np.random.Generator, text: str) -> str:
    """A text with one change, or a few."""
    for _ in range(int(random.choice([1, 1, 2, 4]))):
        way, at = random.random(), int(random.integers(len(text) + 1))
        if way < 0.3:
            # Another word in the place of one.
            values = list(re.finditer(r'"[^"\n]*"|(?<=>)[^<>\n]+(?=<)|(?<== )\S+', text))
            if values:
                place = values[int(random.integers(len(values)))]
                word = WORDS[int(random.integers(len(WORDS)))]
                quoted = f'"{word}"' if place.group().startswith('"') else word
                text = text[: place.start()] + quoted + text[place.end() :]
        elif way < 0.45:
            text = text[:at] + PIECES[int(random.integers(len(PIECES)))] + text[at:]
        elif way < 0.6:
            text = text[:at] + text[at + int(random.integers(1, 30)) :]
        elif way < 0.75:
            # A piece from elsewhere, so that elements come twice or in the wrong place.
            start = int(random.integers(len(text) + 1))
            text = text[:at] + text[start : start + int(random.integers(1, 200))] + text[at:]
        elif way < 0.85:
            # Two names or numbers exchanged.
            words = list(re.finditer(r"\w+", text))
            if len(words) > 1:
                a, b = sorted(
                    (words[int(i)] for i in random.integers(len(words), size=2)), key=lambda m: m.start()
                )
                if a.end() <= b.start():
                    text = (
                        text[: a.start()]
                        + b.group()
                        + text[a.end() : b.start()]
                        + a.group()
                        + text[b.end() :]
                    )
        elif way < 0.97:
            letter = chr(int(random.choice([*range(128), 0xE9, 0x2028, 0xFFFD])))
            text = text[:at] + letter + text[at + int(random.integers(0, 2)) :]
        else:
            text = text[:at]
    return text


def fault(seed: int, folder: Path) -> str | None:
    """What is wrong with the way the text of a seed is read."""
    random = np.random.default_rng([seed, 14])
    word, text = texts()[int(random.integers(len(texts())))]
    text = spoiled(random, text)
    name = f"m.{word}"
    source = Source(name, folder, fix=bool(seed % 2))
    start = time.perf_counter()
    try:
        check_mechanism(READERS[word](text, source), source)
    except ct.FormatError as error:
        if not str(error).startswith(name):
            return f"seed {seed}: a fault does not begin with the file: {error}"
    except Exception as error:
        return f"seed {seed}: {word} ends in a {type(error).__name__}: {error}"
    taken = time.perf_counter() - start
    return f"seed {seed}: {word} took {taken:.1f} s" if taken > SLOWEST else None


def run(seeds: range, folder: Path) -> None:
    """Try texts, and look at the memory that they leave behind."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [one for one in (fault(seed, folder) for seed in seeds) if one is not None]
    assert not found, "\n".join(found[:10])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 500_000, f"{grown / 1e3:.0f} MB more than before"


def test_some_texts(tmp_path):
    run(range(2_000), tmp_path)


@pytest.mark.slow
def test_many_texts(tmp_path):
    run(range(3_000, 53_000), tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, 1_000_000, 100_000))
def test_a_million_texts(first, tmp_path):
    run(range(53_000 + first, 53_000 + first + 100_000), tmp_path)
