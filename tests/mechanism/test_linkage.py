"""Linkages from lengths and a sketch, against the geometry of circles."""

import numpy as np
import pytest

import catena as ct

LENGTHS = {
    "O-A": 0.15, "A-B": 0.5, "Z-B": 0.415, "Z-D": 0.401, "B-D": 0.558, "A-C": 0.619, "Z-C": 0.393, "D-E": 0.394,
    "C-E": 0.367, "E-F": 0.657, "C-F": 0.49,
}  # fmt: skip
SKETCH = {
    "A": (0.15, 0),
    "B": (-0.3, 0.4),
    "C": (-0.3, -0.4),
    "D": (-0.8, 0),
    "E": (-0.7, -0.4),
    "F": (-0.5, -0.9),
}


def jansen():
    leg = ct.Linkage("Jansen leg", fixed={"O": (0, 0), "Z": (-0.38, -0.078)})
    return leg.bars(LENGTHS).sketch(SKETCH)


def meet(a, r, b, s, side):
    """Return where circles about a and b with radii r and s meet, left (1) or right (-1) of the way from a to b."""
    d = np.linalg.norm(b - a)
    along = (r * r - s * s + d * d) / (2.0 * d)
    e = (b - a) / d
    return a + along * e + side * np.sqrt(r * r - along * along) * np.array([-e[1], e[0]])


def test_the_foot_of_a_jansen_leg_goes_where_circles_meet():
    s = jansen().mechanism(at={"O-A": 0.0}).system()
    cycle = s.drive("O", samples=73)
    assert cycle.turns
    Z, L, feet = np.array([-0.38, -0.078]), LENGTHS, []
    for angle in cycle.values:
        A = L["O-A"] * np.array([np.cos(angle), np.sin(angle)])
        B, C = meet(A, L["A-B"], Z, L["Z-B"], -1), meet(A, L["A-C"], Z, L["Z-C"], 1)
        D = meet(Z, L["Z-D"], B, L["B-D"], 1)
        E = meet(D, L["D-E"], C, L["C-E"], -1)
        feet.append(meet(E, L["E-F"], C, L["C-F"], -1))
    np.testing.assert_allclose(cycle.position("F")[:, [0, 2]], feet, atol=1e-10)
    assert len(ct.branches(s, {"O": 0.3})) == 8


def test_triangles_are_plates_and_points_are_frames():
    m = jansen().mechanism()
    assert list(m.bodies) == ["ground", "O-A", "A-B", "Z-B-D", "A-C", "Z-C", "D-E", "C-E-F"]
    assert set(m.frames) == set("OZABCDEF")
    s = m.system()
    assert s.diagnose(s.neutral()).mobility == 1
    assert np.abs(s.closure(s.neutral())[0]).max() < 1e-13
    total = sum(body.mass for body in m.bodies.values())
    assert total == pytest.approx(sum(LENGTHS.values()))
    plate = m.bodies["Z-B-D"]
    rods = {("Z", "B"), ("Z", "D"), ("B", "D")}
    place = jansen().points()
    middles = (
        sum(LENGTHS[f"{a}-{b}"] * 0.5 * (place[a] + place[b]) for a, b in rods) / plate.mass - place["Z"]
    )
    np.testing.assert_allclose(plate.com[[0, 2]], middles, atol=1e-12)


def test_a_slider_crank_slides_as_a_triangle_says():
    engine = ct.Linkage("engine", fixed={"O": (0, 0)}).bars({"O-A": 0.1, "A-P": 0.3}).slide("P", mass=0.5)
    m = engine.sketch({"A": (0.1, 0.02), "P": (0.4, 0)}).mechanism(at={"O-A": 0.0})
    cycle = m.system().drive("O", samples=25)
    expected = 0.1 * np.cos(cycle.values) + np.sqrt(0.09 - 0.01 * np.sin(cycle.values) ** 2)
    np.testing.assert_allclose(cycle.position("P")[:, 0], expected, atol=1e-12)


def test_the_sketch_chooses_the_branch():
    base = ct.Linkage("four-bar", fixed={"O": (0, 0), "P": (1, 0)}).bars({"O-A": 0.3, "A-B": 0.8, "P-B": 0.7})
    up = base.sketch({"A": (0.3, 0.1), "B": (0.8, 0.6)}).points()["B"]
    down = base.sketch({"A": (0.3, -0.1), "B": (0.8, -0.6)}).points()["B"]
    assert up[1] > 0.0 > down[1]


@pytest.mark.parametrize("make, words", [
    (lambda: ct.Linkage("x").bars({"A-B": 1.0}).mechanism(), "no point is fixed"),
    (lambda: jansen().bars({"A-B": 1.0}), "a bar between these points already"),
    (lambda: jansen().bars({"AB": 1.0}), "name the two points"),
    (lambda: jansen().bars({"F-G": -1.0}), "positive number of metres"),
    (lambda: jansen().bars({"F-G": 1.0}).mechanism(), "no place for 'G'"),
    (lambda: jansen().sketch({"Q": (0, 0)}).mechanism(), "no point is named 'Q'"),
    (lambda: jansen().sketch({"A": (0, 0, 0)}), "two finite numbers"),
    (lambda: jansen().bars({"O-Z": 1.0}), "both of its points are fixed"),
    (lambda: jansen().mechanism(at={"O-Q": 0.0}), "no bar is named"),
    (lambda: ct.Linkage("x", fixed={"O": (0, 0), "P": (1, 0)}).bars({"O-A": 1.0, "P-A": 1.0}).sketch({"A": (0.5, 1)})
     .mechanism(), "cannot move"),
    (lambda: ct.Linkage("x", fixed={"O": (0, 0), "P": (9, 0)}).bars({"O-A": 1.0, "A-B": 1.0, "P-B": 1.0})
     .sketch({"A": (1, 0), "B": (8, 0)}).mechanism(), "do not fit together"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_said(make, words):
    with pytest.raises(ct.CatenaError, match=words):
        make()
