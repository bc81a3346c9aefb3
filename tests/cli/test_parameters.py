"""Parameters of model files: the same mechanism in Python, from its file, from `load(parameters=)`, from `--set` and
from `with_parameters`, bit for bit; and what is refused."""

import math
import pickle

import numpy as np
import pytest

import catena as ct
from catena.formats.toml import blocks

TEXT = """# A slider-crank whose lengths stand in several places.
[mechanism]
name = "slider-crank"

[parameters]
rod = "3 * crank"
crank = "120 mm"            # the radius of the crank
"bore size" = 0.05
tilt = "10 deg"
mass = "density * crank"
density = 2.5

[[body]]
name = "crank"
mass = "mass"
com = ["crank / 2", 0, 0]
inertia = [1e-6, "mass * crank^2 / 12", "mass * crank^2 / 12"]

[[body]]
name = "rod"
mass = "density * rod"
com = ["rod / 2", 0, 0]
inertia = [1e-6, "density * rod^3 / 12", "density * rod^3 / 12"]
visual = [{ shape = "cylinder", radius = '"bore size" / 2', length = "rod" }]

[[body]]
name = "piston"
mass = 0.8

[[joint]]
name = "A"
kind = "revolute"
axis = "y"
parent = "ground"
child = "crank"
in_parent = { rpy = [0, "tilt", 0] }
damping = 'if("bore size" > 40 mm, 0.02, 0.01)'

[[joint]]
name = "B"
kind = "revolute"
axis = "y"
parent = "crank"
child = "rod"
in_parent = { p = ["crank", 0, 0] }

[[joint]]
name = "C"
kind = "revolute"
axis = "y"
parent = "rod"
child = "piston"
in_parent = { p = ["rod", 0, 0] }

[[joint]]
name = "D"
kind = "prismatic"
axis = "x"
parent = "ground"
child = "piston"
in_parent = { p = ["crank + rod", 0, 0] }
"""


def by_hand(crank=0.12, bore=0.05, tilt=10 * (math.pi / 180)):
    """The same mechanism in Python."""
    rod, density = 3 * crank, 2.5
    mass = density * crank
    m = ct.Mechanism("slider-crank")
    I = mass * crank**2 / 12  # noqa: E741
    m.add_body("crank", mass, (crank / 2, 0, 0), (1e-6, I, I))
    # math.pow, because ** of a whole number is another algorithm in Python.
    J = density * math.pow(rod, 3) / 12
    shape = ct.shapes.Cylinder(bore / 2, rod)
    m.add_body("rod", density * rod, (rod / 2, 0, 0), (1e-6, J, J), visuals=shape)
    m.add_body("piston", 0.8)
    y = ct.Revolute("y")
    m.add_joint("A", "ground", "crank", y, ct.Pose(rpy=(0, tilt, 0)), damping=0.02 if bore > 0.04 else 0.01)
    m.add_joint("B", "crank", "rod", y, ct.Pose(p=(crank, 0, 0)))
    m.add_joint("C", "rod", "piston", y, ct.Pose(p=(rod, 0, 0)))
    m.add_joint("D", "ground", "piston", ct.Prismatic("x"), ct.Pose(p=(crank + rod, 0, 0)))
    return m


def same(a, b):
    return blocks(a, "m.toml") == blocks(b, "m.toml")


def test_python_file_set_and_copies_agree_bit_for_bit(tmp_path, catena):
    file = tmp_path / "m.toml"
    file.write_text(TEXT)
    assert same(ct.load(file), by_hand())
    random = np.random.default_rng(25)
    for k in range(25):
        crank, bore, tilt = random.uniform(0.01, 2.0), random.uniform(0.01, 0.1), random.uniform(-90, 90)
        wanted = by_hand(crank, bore, tilt * (math.pi / 180))
        given = {
            "crank": crank,
            "bore size": f"{bore * 1000!r} mm" if k % 2 else bore,
            "tilt": f"{tilt!r} deg",
        }
        if k % 2:
            wanted = by_hand(crank, bore * 1000 / 1000, tilt * (math.pi / 180))
        assert same(ct.load(file, parameters=given), wanted)
        assert same(ct.load(file).with_parameters(given), wanted)
        # What is saved has the new values and all formulas, and says the same without being told anything.
        ct.load(file, parameters=given).save(tmp_path / "saved.toml")
        text = (tmp_path / "saved.toml").read_text()
        assert same(ct.load(tmp_path / "saved.toml"), wanted) and 'rod = "3 * crank"' in text
        assert "# the radius of the crank" in text and "density * rod^3 / 12" in text
        # Another file than the one it came from, which is written over by its own words.
        ct.load(file).save(tmp_path / "saved.toml")
        assert same(ct.load(tmp_path / "saved.toml"), by_hand())
        if k < 2:
            options = [f"--set={name}={value}" for name, value in given.items()]
            assert catena("convert", file, tmp_path / f"set{k}.toml", *options).code == 0
            assert same(ct.load(tmp_path / f"set{k}.toml"), wanted)


def test_a_mechanism_remembers_its_parameters(tmp_path):
    file = tmp_path / "m.toml"
    file.write_text(TEXT)
    m = ct.load(file)
    assert list(m.parameters) == ["rod", "crank", "bore size", "tilt", "mass", "density"]
    assert m.parameters["rod"] == 3 * 0.12 and m.copy().parameters == m.parameters
    assert by_hand().parameters == {}
    again = pickle.loads(pickle.dumps(m))
    assert same(again.with_parameters(crank="150 mm"), by_hand(0.15))
    with pytest.raises(TypeError):
        m.parameters["rod"] = 1.0
    edited = m.with_body("piston", mass=1.0)
    with pytest.raises(ct.ModelError, match="was edited after it was loaded"):
        edited.with_parameters(crank=0.2)
    with pytest.raises(ct.ModelError, match="comes from no .toml file"):
        by_hand().with_parameters(crank=0.2)
    # A number that was changed in Python stands in the place of its formula, and nothing else changes.
    edited = m.with_body("rod", mass=1.25).with_joint("B", damping=0.3)
    edited.save(tmp_path / "edited.toml")
    wanted = TEXT.replace('mass = "density * rod"', "mass = 1.25")
    wanted = wanted.replace(
        'in_parent = { p = ["crank", 0, 0] }\n', 'in_parent = { p = ["crank", 0, 0] }\ndamping = 0.3\n'
    )
    assert (tmp_path / "edited.toml").read_text() == wanted


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"cranck": 0.1}, ct.UnknownNameError, "no parameter is named 'cranck': did you mean 'crank'"),
        ({"crank": "2 * rod"}, ct.FormatError, "computed from each other: rod from crank, crank from rod"),
        ({"crank": "2 foo"}, ct.FormulaError, "parameter 'crank': 'foo' behind a value is no unit"),
        ({"crank": "1 / (rod - rod)"}, ct.FormatError, "computed from each other"),
        ({"crank": "1 / 0"}, ct.FormulaError, "divides by zero"),
        ({"crank": math.nan}, ct.FormulaError, "parameter 'crank' is nan"),
        ({"crank": [1.0]}, ct.FormulaError, "give a number"),
        ({"crank": -1.0}, ct.FormatError, "m.toml"),
        ([("crank", 1.0)], ct.FormatError, "give a mapping"),
    ],
)
def test_what_is_no_value_is_refused_in_words(tmp_path, given, error, words):
    file = tmp_path / "m.toml"
    file.write_text(TEXT)
    with pytest.raises(error, match=words):
        ct.load(file, parameters=given)


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ('"120 mm"', '"120 mn"', "7:14", "'mn' behind a value is no unit"),
        ('"120 mm"', '"rod / 3"', "6", "rod from crank, crank from rod: give one of them as a number"),
        ('"120 mm"', '"120 mm + 1 kg"', "7:17", "between a length and a mass"),
        ('crank = "120', 't = 1\ncrank = "120', "7", "no parameter can be called 't', which is the time"),
        ('"120 mm"', "[1, 2]", "7", "a parameter is one number"),
        (
            'mass = "mass"',
            'mass = "2 * maas"',
            "15:13",
            "body 'crank': mass is '2 [*] maas'.*did you mean 'mass'",
        ),
        ('["crank / 2", 0, 0]', '[0, "crank // 2", 0]', "16:19", "'/' is not expected"),
        ("0, 0]\ninertia", "0, 0]\n'inertia'", None, ""),
    ],
)
def test_faults_have_line_and_column(tmp_path, catena, old, new, place, words):
    file = tmp_path / "m.toml"
    file.write_text(TEXT.replace(old, new, 1))
    if place is None:
        ct.load(file)
        return
    with pytest.raises(ct.FormatError, match=words) as caught:
        ct.load(file)
    assert str(caught.value).startswith(f"{file}:{place}: ")
    (finding,) = ct.check(file)
    assert finding.place == f"{file}:{place}" and "\n" not in finding.message
    result = catena("info", file)
    assert result.code and f"m.toml:{place}: " in result.err


def test_other_formats_and_models_have_no_parameters(tmp_path, catena):
    by_hand().detach("D").save(tmp_path / "m.urdf")
    with pytest.raises(ct.FormatError, match="URDF files have no parameters"):
        ct.load(tmp_path / "m.urdf", parameters={"crank": 0.1})
    assert "for parameters of model files" in catena("info", "four_bar", "--set", "a=1").err
    for wrong in ("crank", "=3", "crank="):
        assert "is not NAME=VALUE" in catena("info", "four_bar", "--set", wrong).err
