"""Linkages in files as one draws them: the same mechanism as that of the builder in Python, saved as it was drawn."""

import math
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import catena as ct

TEXT = """[mechanism]
name = "rig"
gravity = [0, 0, -1.62]

[parameters]
crank = 0.3
reach = "crank + 0.5"

[linkage]
density = 2.0                        # of all bars
fixed = { O = [0, 0], P = [1.0, 0] }
sketch = { A = [0.3, 0.1], B = [0.8, 0.6], C = [1.4, 0] }
slides = { C = { through = [0, "crank - 0.3"], mass = "2 kg" } }
at = { O-A = "30 deg" }

[linkage.bars]
O-A = "crank"                        # the driven one
A-B = "reach"
P-B = 0.7
"B-C" = 0.9

[[spring]]
name = "return"
joint = "P"
stiffness = 5.0

[[actuator]]
name = "motor"
joint = "O"
"""


def by_builder(crank=0.3):
    linkage = ct.Linkage("rig", {"O": (0, 0), "P": (1.0, 0)}, 2.0, 1.62)
    linkage.bars({"O-A": crank, "A-B": crank + 0.5, "P-B": 0.7, "B-C": 0.9})
    linkage.sketch({"A": (0.3, 0.1), "B": (0.8, 0.6), "C": (1.4, 0)}).slide(
        "C", through=(0, crank - 0.3), mass=2.0
    )
    m = linkage.mechanism({"O-A": 30 * (math.pi / 180)})
    m.add_spring("return", "P", stiffness=5.0)
    m.add_actuator("motor", "O")
    return m


def test_file_and_builder_agree_bit_for_bit(tmp_path, same):
    file = tmp_path / "rig.toml"
    file.write_text(TEXT)
    same(ct.load(file), by_builder())
    for crank in np.random.default_rng(3).uniform(0.2, 0.35, 10):
        m = ct.load(file, parameters={"crank": crank})
        same(m, by_builder(crank))
        m.save(tmp_path / "saved.toml")
        text = (tmp_path / "saved.toml").read_text()
        assert text == TEXT.replace("crank = 0.3\n", f"crank = {float(crank)!r}\n")
        by_builder(crank).save(tmp_path / "built.toml")
        assert "[[body]]" not in (tmp_path / "built.toml").read_text()
        same(ct.load(tmp_path / "built.toml"), m)
        (tmp_path / "built.toml").unlink()


def test_a_drawing_is_kept_until_what_it_draws_is_edited(tmp_path, same):
    m = by_builder()
    m.add_body("load", mass=3.0)
    m.add_joint("hook", "B-C", "load", ct.Revolute("y"))
    m.save(tmp_path / "a.toml")
    text = (tmp_path / "a.toml").read_text()
    assert text.count("[[body]]") == 1 and text.count("[[joint]]") == 1 and "[linkage]" in text
    same(ct.load(tmp_path / "a.toml"), m)
    for k, edit in enumerate(
        (lambda: m.with_body("O-A", mass=9.0), lambda: m.detach("P"), lambda: m.lock("A"))
    ):
        edit().save(tmp_path / f"{k}.toml")
        text = (tmp_path / f"{k}.toml").read_text()
        assert "[linkage]" not in text and text.count("[[body]]") == len(m.bodies) - 1
        same(ct.load(tmp_path / f"{k}.toml"), edit())
    file = tmp_path / "rig.toml"
    file.write_text(TEXT)
    # The drawing goes, and what else the file says stays.
    ct.load(file).with_body("O-A", mass=9.0).save(file)
    text = file.read_text()
    assert "linkage" not in text and 'reach = "crank + 0.5"' in text
    same(ct.load(file), by_builder().with_body("O-A", mass=9.0))


def test_the_leg_of_the_example_is_the_same_from_its_file():
    example = import_module("26_jansen_leg")
    m, file = example.leg().mechanism(at={"O-A": 0.0}), Path(example.__file__).with_suffix(".toml")
    leg = ct.load(file)
    assert list(leg.joints) == list(m.joints) and list(leg.bodies) == list(m.bodies)
    for name, joint in m.joints.items():
        assert leg.joints[name].in_parent.allclose(joint.in_parent, 1e-12)
    for name, body in m.bodies.items():
        np.testing.assert_allclose(leg.bodies[name].inertia, body.inertia, atol=1e-12)
    # Twice the size: lengths double, and what inertias count in lengths is eightfold.
    large = ct.load(file, parameters={"size": "20 mm"})
    for name, body in leg.bodies.items():
        np.testing.assert_allclose(large.bodies[name].inertia, 8 * body.inertia, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("P-B = 0.7", "P-B = -0.7", 19, "bar 'P-B': its length is -0.7"),
        ("P-B = 0.7", 'P-B = "crnk"', "19:8", "did you mean 'crank'"),
        ("P-B = 0.7", "P-Q = 0.7", 12, "the sketch has no place for 'Q'"),
        ("P-B = 0.7", "P-B = 0.02", 12, "the lengths do not fit together near the sketch"),
        ("P-B = 0.7", "PB = 0.7", 19, "name the two points"),
        ("P = [1.0, 0]", "P = [1.0]", 11, "fixed point 'P' is \\[1.0\\]"),
        ('mass = "2 kg"', "mas = 2", 13, "unknown key 'mas': did you mean 'mass'"),
        ('O-A = "30 deg"', 'O-Q = "30 deg"', 9, "no bar is named"),
        ("density = 2.0 ", "densty = 2.0 ", 10, "unknown key 'densty'"),
        ("fixed = { O = [0, 0], P = [1.0, 0] }", "", 9, "the key 'fixed' is missing"),
        (
            "[linkage.bars]",
            "[linkage.bars]\n" + "\n".join(f"O-N{k} = 1" for k in range(200)),
            16,
            "at most 120",
        ),
        ('name = "motor"', 'name = "motor"\n[[body]]\nname = "O-A"', None, "O-A"),
    ],
)
def test_faults_are_told_with_their_line(tmp_path, old, new, place, words):
    file = tmp_path / "rig.toml"
    assert old in TEXT
    file.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(ct.FormatError, match=words) as caught:
        ct.load(file)
    assert place is None or str(caught.value).startswith(f"{file}:{place}:")
