"""Pictures and reports of models whose names have dollars, controls and other signs in them: drawn as they stand."""

import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.text import Text

import catena as ct
from catena.view.drawing import draw
from catena.view.gantt import gantt
from catena.view.plots import plot
from catena.view.structure_diagram import structure_diagram

HOSTILE = [
    "$\\frac{",
    "$x^2$",
    "a$b",
    "\\$",
    "$$",
    "_x",
    "%",
    "{}",
    "\x1b[31m",
    "two\nlines",
    "\u202eback",
    "\x01",
    "<",
]


def made(names):
    m = ct.Mechanism("$\\frac{1")
    before = "ground"
    for name in names:
        m.add_body(f"body {name}", mass=1.0, com=(0, 0, -0.1), inertia=0.1)
        m.add_joint(name, before, f"body {name}", ct.Revolute("y"), in_parent=ct.Pose(p=(0, 0, -0.2)))
        before = f"body {name}"
    m.add_frame("tool $_$", before, ct.Pose(p=(0, 0, -0.2)))
    return m.system()


@pytest.fixture(scope="module")
def system():
    return made(HOSTILE)


@pytest.fixture(scope="module")
def run(system):
    return ct.simulate(system, system.neutral() + 0.1, None, 0.05, samples=3, integrator="rk4", step=1e-2)


def drawn(figure):
    """The texts of a figure as they are drawn, as far as they are no formulas, after it has been written as a picture
    and as a file that other programs can read."""
    figure.savefig(io.BytesIO(), format="png")
    stream = io.BytesIO()
    figure.savefig(stream, format="svg")
    ET.fromstring(stream.getvalue())
    return {text.get_text().replace(r"\$", "$") for text in figure.findobj(Text)}


@pytest.mark.filterwarnings("ignore:Glyph")
def test_every_picture_shows_names_as_they_stand(system, run, tmp_path):
    figure = pyplot.figure()
    draw(system, ax=figure.add_subplot(projection="3d"), labels="all")
    shown = drawn(figure)
    assert {
        "$x^2$",
        "a$b",
        "\\$",
        "body $\\frac{",
        "\\x1b[31m",
        "two\\nlines",
        "\\u202eback",
        "\\x01",
    } <= shown
    figure = pyplot.figure()
    structure_diagram(system, figure.add_subplot(), joint_names=True)
    shown = drawn(figure)
    assert "body $x^2$" in shown and "a$b\nR" in shown
    assert any(text.startswith("$\\frac{1: ") for text in shown)
    names = {text for figure in (plot(run), plot(run, "a$b", "$x^2$", "tool $_$")) for text in drawn(figure)}
    assert {"$\\frac{1", "a$b", "$x^2$"} <= names and any("tool $_$" in name for name in names)
    ct.save_drawing(system, tmp_path / "lines.svg", labels="all")
    ET.parse(tmp_path / "lines.svg")
    schedule = made(HOSTILE[:4]).equations("bias_force").dataflow("steps").schedule(2)
    assert "body a$b" in drawn(gantt(schedule).figure)
    pyplot.close("all")


@pytest.mark.filterwarnings("ignore:Glyph")
def test_a_report_of_hostile_names_is_written(run, tmp_path):
    run.report(tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "a$b" in text and "\x1b" not in text and "\u202e" not in text and "\x01" not in text
    assert np.isfinite(run.q).all()
