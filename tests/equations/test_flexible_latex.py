"""Coordinates of flexible bodies in LaTeX."""

import re

import catena as ct


def test_modes_are_named_in_a_way_that_latex_sets():
    """Nothing that TeX takes for a command or a parameter, and braces that match."""
    beam = ct.Beam(length=1.0, area=1e-4, inertia=1e-9, density=2700.0, young=7e10, modes={"y": 1})
    mechanism = ct.Mechanism("arm")
    mechanism.add_body("boom#1", flexible=beam)
    mechanism.add_joint("hub", "ground", "boom#1", ct.Revolute("z"))
    text = mechanism.system().equations("mass_matrix").latex()
    assert "mode1" in text
    assert not re.search(r"(?<!\\)[#%$]", text)
    level = 0
    for character in re.sub(r"\\[{}]", "", text):
        level += {"{": 1, "}": -1}.get(character, 0)
        assert level >= 0
    assert level == 0
