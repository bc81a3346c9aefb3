"""Files of strangers: entities, paths that lead elsewhere, sizes, depths, code. All of it ends in a FormatError."""

import sys
import time

import pytest

import catena as ct
from catena.formats.kinds import Kinds
from catena.formats.markup import DEEPEST
from catena.formats.source import LARGEST, Source
from catena.formats.toml import read

ROBOT = '<robot name="r"><link name="a"/></robot>'
LAUGHS = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10 if k else "lol"}">' for k in range(10))
ATTACKS = {
    "billion laughs": f"<!DOCTYPE robot [{LAUGHS}]><robot name='&l9;'><link name='a'/></robot>",
    "one entity": "<!DOCTYPE robot [<!ENTITY e 'x'>]>" + ROBOT,
    "external entity": '<!DOCTYPE robot [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + ROBOT,
    "external subset": '<!DOCTYPE robot SYSTEM "file:///etc/passwd">' + ROBOT.replace('"a"', '"&e;"'),
    "parameter entity": '<!DOCTYPE robot [<!ENTITY % e SYSTEM "http://127.0.0.1/x.dtd"> %e;]>' + ROBOT,
    "deep": "<robot>" * (DEEPEST + 1) + "</robot>" * (DEEPEST + 1),
    "very deep": "<robot>" * 200_000,
}


@pytest.mark.parametrize("ending", ["urdf", "sdf", "xml"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_with_xml_are_refused_at_once(attack, ending, tmp_path):
    words = {"urdf": "robot", "sdf": "sdf", "xml": "mujoco"}
    (tmp_path / f"m.{ending}").write_text(ATTACKS[attack].replace("robot", words[ending]))
    # Processor time, because the clock of a busy machine says nothing.
    start = time.process_time()
    with pytest.raises(ct.FormatError, match=rf"m\.{ending}"):
        ct.load(tmp_path / f"m.{ending}")
    assert time.process_time() - start < 5.0


TRAVERSALS = [
    "../secret.stl",
    "meshes/../../secret.stl",
    "/etc/passwd",
    "file:///etc/passwd",
    "package://../../secret.stl",
    "package://robots/../../../secret.stl",
    "package://robots/%2e%2e/%2e%2e/%2e%2e/secret.stl",
    "model://m/../../secret.stl",
    "..\\secret.stl",
    "link/secret.stl",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_paths_that_lead_out_of_the_folder_are_refused(path, tmp_path):
    (tmp_path / "secret.stl").write_text("secret")
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    geometry = f'<geometry><mesh filename="{path}"/></geometry>'
    (folder / "m.urdf").write_text(
        f'<robot name="r"><link name="a"><visual>{geometry}</visual></link></robot>'
    )
    uri = f"<geometry><mesh><uri>{path}</uri></mesh></geometry>"
    (folder / "m.sdf").write_text(
        f'<sdf><model name="m"><link name="a"><visual name="v">{uri}</visual></link></model></sdf>'
    )
    escaped = path.replace("\\", "\\\\")
    (folder / "m.toml").write_text(
        f'[mechanism]\nname = "m"\n[[body]]\nname = "a"\nvisual = [{{ shape = "mesh", path = "{escaped}" }}]\n'
    )
    (folder / "n.toml").write_text(f'[mechanism]\nname = "m"\n[[include]]\nfile = "{escaped}"\n')
    (folder / "m.xml").write_text(f'<mujoco><asset><mesh name="a" file="{path}"/></asset></mujoco>')
    for name in ("m.toml", "n.toml", "m.xml"):
        with pytest.raises(ct.FormatError, match="leads out of the folder of the model"):
            ct.load(folder / name)
    for name in ("m.urdf", "m.sdf"):
        with pytest.warns(ct.CatenaWarning, match="leads out of the folder of the model"):
            m = ct.load(folder / name)
        assert m.bodies["a"].visuals[0].file is None, "nobody can open what was not found"


def test_a_folder_that_is_named_may_be_reached(tmp_path):
    (tmp_path / "a.stl").write_text("solid")
    (tmp_path / "models").mkdir()
    file = tmp_path / "models" / "m.toml"
    file.write_text('[mechanism]\nname = "m"\n[ground]\nvisual = [{ shape = "mesh", path = "../a.stl" }]\n')
    (mesh,) = ct.load(file, search=[tmp_path]).bodies["ground"].visuals
    assert mesh.file.resolve() == tmp_path / "a.stl"
    with pytest.raises(ct.FormatError, match="search is 3"):
        ct.load(file, search=3)


def test_files_that_include_each_other_are_refused(tmp_path):
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.toml").write_text(
            f'[mechanism]\nname = "m"\n[[include]]\nfile = "{other}.toml"\n'
        )
    with pytest.raises(ct.FormatError, match="break the circle"):
        ct.load(tmp_path / "a.toml")


def test_a_text_that_lies_in_no_folder_reaches_no_file():
    text = '[mechanism]\nname = "m"\n[ground]\nvisual = [{ shape = "mesh", path = "/etc/passwd" }]\n'
    (mesh,) = read(text, Source("run")).bodies["ground"].visuals
    assert mesh.file is None
    with pytest.raises(ct.FormatError, match="is not known here"):
        read('[mechanism]\nname = "m"\n[[include]]\nfile = "x.toml"\n', Source("run"))


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with open(tmp_path / "m.urdf", "wb") as stream:
        stream.truncate(LARGEST + 1)
    with pytest.raises(ct.FormatError, match="bytes: a model has at most"):
        ct.load(tmp_path / "m.urdf")


EVIL = """
from pathlib import Path
Path(__file__).with_name("ran").write_text("yes")
from catena import Revolute as Kind
"""


@pytest.fixture
def evil(tmp_path, monkeypatch):
    (tmp_path / "evil_module.py").write_text(EVIL)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "ran"
    sys.modules.pop("evil_module", None)


@pytest.mark.parametrize("part", ["joint", "force"])
def test_a_file_imports_nothing(part, evil, tmp_path):
    places = {"joint": 'parent = "ground"\nchild = "b"', "force": 'between = ["ground", "b"]'}
    text = (
        f'[mechanism]\nname = "m"\n[[body]]\nname = "b"\n[[{part}]]\nname = "x"\nkind = "evil_module:Kind"\n'
    )
    (tmp_path / "m.toml").write_text(text + places[part])
    with pytest.raises(ct.FormatError, match="nothing is imported because a file says so"):
        ct.load(tmp_path / "m.toml")
    assert not evil.exists() and "evil_module" not in sys.modules


def test_the_command_line_imports_nothing_either(evil, tmp_path, capsys):
    from catena.cli import main

    (tmp_path / "m.toml").write_text(
        '[mechanism]\nname = "m"\n[[body]]\nname = "b"\n[[joint]]\nname = "x"\nkind = "evil_module:Kind"\n'
        'parent = "ground"\nchild = "b"\n'
    )
    before = list(sys.path)
    assert main(["info", str(tmp_path / "m.toml")]) == 2
    assert main(["check", str(tmp_path / "m.toml")]) == 2
    assert not evil.exists() and sys.path == before
    assert "nothing is imported" in capsys.readouterr().err


def test_kinds_are_classes_or_their_names():
    assert Kinds(ct.Revolute).find("catena.joints.revolute:Revolute", ct.JointKind) is ct.Revolute
    for wrong in (3, [3], ["os"], [str], ["os:system('x')"], None):
        with pytest.raises(ct.FormatError, match="kinds hold"):
            Kinds(wrong)


@pytest.mark.parametrize(
    "name", ["a" * 400 + ".stl", "package://" + "a" * 400 + "/b.stl", "a/" * 3000 + "b.stl"]
)
def test_names_that_are_too_long_for_the_disk_are_files_that_are_not_there(name, tmp_path):
    (tmp_path / "m.toml").write_text(
        f'[mechanism]\nname = "m"\n[ground]\nvisual = [{{ shape = "mesh", path = "{name}" }}]\n'
    )
    with pytest.warns(ct.CatenaWarning, match="is not there"):
        ct.load(tmp_path / "m.toml")
    (tmp_path / "n.toml").write_text(f'[mechanism]\nname = "m"\n[[include]]\nfile = "{name}"\n')
    with pytest.raises(ct.FormatError):
        ct.load(tmp_path / "n.toml")
    (tmp_path / "m.xml").write_text(f'<mujoco><include file="{name}"/></mujoco>')
    with pytest.raises(ct.FormatError, match="is not there"):
        ct.load(tmp_path / "m.xml")
