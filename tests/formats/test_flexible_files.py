"""Flexible bodies in formats that know rigid ones only."""

import pytest

import catena as ct


@pytest.mark.parametrize("ending", ["urdf", "xml"])
def test_modes_that_a_format_cannot_say_are_told(ending, tmp_path):
    m = ct.Mechanism("boom")
    m.add_body("boom", flexible=ct.Beam(2.0, 1e-4, 1e-9, 2700.0, 7e10, modes={"y": 1}))
    m.add_joint("hub", "ground", "boom", ct.Revolute("z"))
    with pytest.warns(ct.CatenaWarning, match="modes of flexible bodies, which are written as rigid ones"):
        m.save(tmp_path / f"boom.{ending}")
    again = ct.load(tmp_path / f"boom.{ending}")
    assert again.bodies["boom"].mass == pytest.approx(m.bodies["boom"].mass)
