"""What `check` finds, where, and what `fix` repairs."""

import numpy as np
import pytest

import catena as ct
from catena import generators as g
from catena.formats.findings import Severity

HEAD = '[mechanism]\nname = "m"\n'


def urdf(links="", joints=""):
    return f'<robot name="r">\n<link name="base"/>\n{links}\n{joints}\n</robot>\n'


def link(mass=1.0, xx=0.1, yy=0.1, zz=0.1, com="0 0 0", name="a"):
    inertia = f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/>'
    return f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>{inertia}</inertial></link>'


def joint(kind="continuous", child="a", name="j", more=""):
    return f'<joint name="{name}" type="{kind}"><parent link="base"/><child link="{child}"/>{more}</joint>'


def found(text, tmp_path, name="m.urdf", **options):
    (tmp_path / name).write_text(text)
    return ct.check(tmp_path / name, **options)


CASES = {
    "triangle": (urdf(link(xx=1.0), joint()), "inertia", "break the triangle inequality", 3),
    "negative moment": (urdf(link(xx=-1.0), joint()), "inertia", "negative principal moment", 3),
    "massless with inertia": (
        urdf(link(mass=0), joint("fixed")),
        "inertia",
        "mass is zero but inertia is not",
        3,
    ),
    "millimetres": (urdf(link(com="300 0 0"), joint()), "units", "if these are millimetres", 3),
    "grams": (
        urdf(link(mass=1500, com="0.1 0 0", xx=2, yy=2, zz=2), joint()),
        "units",
        "if these are grams",
        3,
    ),
    "g mm^2": (urdf(link(com="0.05 0 0", xx=5e3, yy=5e3, zz=5e3), joint()), "units", "kg m^2 are meant", 3),
    "massless leaf": (urdf('<link name="a"/>', joint()), "massless", "its acceleration is not determined", 3),
    "mesh": (
        urdf(
            '<link name="a"><visual><geometry><mesh filename="x.stl"/></geometry></visual></link>',
            joint("fixed"),
        ),
        "mesh",
        "the mesh 'x.stl' is not there",
        3,
    ),
    "left-handed": (
        urdf(
            '<link name="a"><visual><geometry><mesh filename="x.stl" scale="1 -1 1"/></geometry></visual></link>',
            joint("fixed"),
        ),
        "left-handed",
        "mirrors it",
        3,
    ),
    "stuck": (
        urdf(link(), joint("revolute", more='<limit lower="1" upper="1" effort="1" velocity="1"/>')),
        "limits",
        "it cannot move",
        4,
    ),
    "alike": (
        urdf(link(name="a") + "\n" + link(name="A"), joint() + joint(child="A", name="k")),
        "name",
        "only in case or blanks",
        4,
    ),
    "unread": (urdf(link(), joint() + "<transmission/>"), "unread", "<transmission> stands there once", None),
}


@pytest.mark.parametrize("case", CASES)
def test_findings_have_a_sort_and_a_place(case, tmp_path):
    text, what, message, line = CASES[case]
    (finding,) = [one for one in found(text, tmp_path) if one.what == what]
    assert message in finding.message and finding.severity in (Severity.WARNING, Severity.NOTE)
    place = str(tmp_path / "m.urdf")
    assert finding.place == (place if line is None else f"{place}:{line}")
    assert str(finding).startswith(f"{finding.place}: {finding.severity}: ")


def test_a_good_file_has_no_findings_and_a_good_mechanism_neither(tmp_path):
    assert found(urdf(link(), joint()), tmp_path) == []
    for name in ("four_bar", "stewart", "humanoid", "hand"):
        getattr(g, name)().save(tmp_path / "m.toml")
        assert ct.check(tmp_path / "m.toml") == [], name


def test_a_body_that_hangs_on_nothing_and_a_file_that_is_none_are_errors(tmp_path):
    loose = found(HEAD + '[[body]]\nname = "b"\n', tmp_path, "m.toml")
    assert [one.severity for one in loose] == [Severity.ERROR, Severity.WARNING]
    assert loose[1].what == "unused" and loose[1].place.endswith("m.toml:3")
    (broken,) = found(HEAD + "[[body]]\nnam = 3\n", tmp_path, "m.toml")
    assert (
        broken.severity is Severity.ERROR and broken.place.endswith("m.toml:4") and "'nam'" in broken.message
    )
    (missing,) = ct.check(tmp_path / "none.toml")
    assert missing.severity is Severity.ERROR and "there is no such file" in missing.message


def test_a_cycle_that_cannot_close_is_an_error(tmp_path):
    m = g.four_bar()
    m.save(tmp_path / "m.toml")
    text = (tmp_path / "m.toml").read_text()
    last = text.rindex("in_parent")
    text = text[:last] + "in_parent = { p = [100.0, 0.0, 0.0] }\n" + text[text.index("\n", last) + 1 :]
    errors = [one for one in found(text, tmp_path, "m.toml") if one.severity is Severity.ERROR]
    assert len(errors) == 1 and errors[0].what == "loop"


def test_what_has_one_obvious_repair_is_repaired_and_told(tmp_path):
    close = urdf(link(xx=0.2002), joint())
    (finding,) = found(close, tmp_path, fix=True)
    assert finding.repaired == "the moments were moved as little as possible"
    with pytest.warns(ct.CatenaWarning, match="repaired"):
        m = ct.load(tmp_path / "m.urdf", fix=True)
    moments = np.linalg.eigvalsh(m.bodies["a"].inertia)
    assert moments[2] <= moments[0] + moments[1] + 1e-15
    np.testing.assert_allclose(moments, [0.1, 0.1, 0.2], atol=2e-4)
    with pytest.warns(ct.CatenaWarning, match="triangle"):
        assert ct.load(tmp_path / "m.urdf").bodies["a"].inertia[0, 0] == 0.2002
    (far,) = found(urdf(link(xx=5.0), joint()), tmp_path, fix=True)
    assert far.repaired == ""
    (frame,) = found(urdf(link(mass=0.0), joint("fixed")), tmp_path, fix=True)
    assert frame.repaired == "the inertia was dropped"
    swapped = urdf(link(), joint("revolute", more='<limit lower="1" upper="-1" effort="1" velocity="1"/>'))
    assert found(swapped, tmp_path)[0].severity is Severity.WARNING
    assert [one.repaired for one in found(swapped, tmp_path, fix=True)] == ["swapped"]


def test_unphysical_bodies_survive_in_native_files(tmp_path, same):
    (tmp_path / "m.urdf").write_text(urdf(link(xx=1.0), joint()))
    with pytest.warns(ct.CatenaWarning):
        m = ct.load(tmp_path / "m.urdf")
    m.save(tmp_path / "m.toml")
    assert "physical = false" in (tmp_path / "m.toml").read_text()
    with pytest.warns(ct.CatenaWarning, match="triangle"):
        same(ct.load(tmp_path / "m.toml"), m)


def test_a_native_file_is_repaired_where_that_is_obvious(tmp_path):
    text = HEAD + '[[body]]\nname = "a"\nmass = 1\ninertia = [0.1, 0.1, 0.2002]\n[[joint]]\nname = "j"\n'
    text += 'kind = "revolute"\nparent = "ground"\nchild = "a"\n'
    (error,) = found(text, tmp_path, "m.toml")
    assert error.severity is Severity.ERROR and error.place.endswith("m.toml:6")
    (mended,) = found(text, tmp_path, "m.toml", fix=True)
    assert mended.repaired == "the moments were moved as little as possible"
    (far,) = found(text.replace("0.2002", "2.0"), tmp_path, "m.toml", fix=True)
    assert far.repaired == "" and far.severity is Severity.WARNING


def test_a_parameter_that_nothing_uses_is_noted(tmp_path):
    text = HEAD + "[parameters]\nlength = 1\nwidth = 2\nhalf = 'length / 2'\n"
    text += "[ground]\nvisual = [{ shape = 'sphere', radius = 'half' }]\n"
    (note,) = found(text, tmp_path, "m.toml")
    assert (note.severity, note.what, note.who) == (Severity.NOTE, "unused", "parameter 'width'")
    assert note.place.endswith("m.toml:5")
