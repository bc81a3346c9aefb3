"""Files of strangers: entities, paths that lead elsewhere, sizes, depths, code. All of it ends in a FormatError."""

import os
import signal
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


def mjcf(inside, before=""):
    return f'<mujoco>{before}<worldbody><body name="b"><joint/><geom size="1"/>{inside}</body></worldbody></mujoco>'


@pytest.mark.parametrize(
    "text",
    [
        mjcf('<flexcomp name="f" type="gmsh" file="{secret}" dim="2"/>'),
        mjcf('<flexcomp name="f" type="mesh" file="{secret}" dim="2"/>'),
        mjcf('<replicate count="2"><flexcomp name="f" type="mesh" file="{secret}"/></replicate>'),
        mjcf('<frame><flexcomp name="f" type="mesh" file="{secret}"/></frame>'),
        mjcf('<geom type="mesh" file="{secret}"/>'),
        mjcf("", '<asset><model name="m" file="{secret}"/></asset>'),
        mjcf("", '<asset><mesh name="a" fileright="{secret}" vertex="0 0 0"/></asset>'),
        mjcf("", '<default><mesh file="{secret}"/></default>'),
        mjcf("", '<include file="{secret}"/>'),
    ],
)
def test_no_attribute_of_mjcf_opens_a_file_outside(text, tmp_path):
    """What is said is the same whether the file outside is there or not, so nobody has looked at it."""
    secret = tmp_path / "secret.obj"
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.xml").write_text(text.replace("{secret}", str(secret)))
    said = []
    for _ in range(2):
        with pytest.raises(ct.FormatError) as caught:
            ct.load(tmp_path / "models" / "m.xml")
        said.append(str(caught.value))
        secret.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n")
    assert said[0] == said[1]


def test_plugins_of_mjcf_are_left_out_before_they_open_anything(tmp_path):
    secret = tmp_path / "secret.obj"
    (tmp_path / "models").mkdir()
    text = mjcf('<plugin plugin="mujoco.sdf"><config key="file" value="{secret}"/></plugin>')
    (tmp_path / "models" / "m.xml").write_text(text.replace("{secret}", str(secret)))
    said = []
    for _ in range(2):
        with pytest.warns(ct.CatenaWarning, match="plugin") as told:
            ct.load(tmp_path / "models" / "m.xml")
        said.append([str(warning.message) for warning in told])
        secret.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n")
    assert said[0] == said[1]


HUGE = {
    "replicate": mjcf('<replicate count="100000000"><body><geom size="1"/></body></replicate>'),
    "replicate in replicate": mjcf(
        '<replicate count="300"><replicate count="300"><body><geom size="1"/></body></replicate></replicate>'
    ),
    "replicate with an endless number": mjcf(f'<replicate count="{"9" * 5000}"><geom size="1"/></replicate>'),
    "composite": mjcf('<composite type="cable" count="1000000 1 1" size="1"><geom size="0.1"/></composite>'),
    "flex grid": mjcf('<flexcomp name="f" type="grid" count="900 900 900" spacing="1 1 1" dim="3"/>'),
    "heights": mjcf("", '<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'),
    "fine mesh": mjcf("", '<asset><mesh name="a" builtin="supersphere" params="100000 1 1"/></asset>'),
    "many bodies": f"<mujoco><worldbody>{'<body><geom/></body>' * 15_000}</worldbody></mujoco>",
}


@pytest.mark.parametrize("case", HUGE)
def test_few_words_of_mjcf_do_not_ask_for_many_bodies(case, tmp_path):
    (tmp_path / "m.xml").write_text(HUGE[case])
    start = time.process_time()
    with pytest.raises(ct.FormatError, match=r"m\.xml:1: "):
        ct.load(tmp_path / "m.xml")
    assert time.process_time() - start < 5.0


def test_sizes_of_mjcf_are_not_handed_over(tmp_path):
    """MuJoCo makes room for what `size` says: ten million key frames, and a million numbers beside each body."""
    sizes = '<size nkey="10000000" nuser_body="1000000" memory="100G"/>'
    (tmp_path / "m.xml").write_text(mjcf("", sizes))
    start = time.process_time()
    assert list(ct.load(tmp_path / "m.xml").joints)
    assert time.process_time() - start < 5.0


def fan_out(folder, ending, include, wrap):
    """Twelve files that each include the next one ten times."""
    for k in range(12):
        inside = include(f"f{k + 1}.{ending}", k) * 10 if k < 11 else ""
        (folder / f"f{k}.{ending}").write_text(wrap(inside, k))


def test_includes_that_fan_out_are_refused_at_once(tmp_path):
    fan_out(
        tmp_path,
        "xml",
        lambda f, k: f'<include file="{f}"/>',
        lambda x, k: f"<mujoco>{x}<worldbody/></mujoco>",
    )
    counted = iter(range(10**6))

    def included(file, k):
        return f'[[include]]\nfile = "{file}"\nprefix = "{next(counted)} "\n'

    for k in range(12):
        inside = "".join(included(f"f{k + 1}.toml", k) for _ in range(10)) if k < 11 else ""
        (tmp_path / f"f{k}.toml").write_text(f'[mechanism]\nname = "m"\n{inside}')
    for name in ("f0.xml", "f0.toml"):
        start = time.process_time()
        with pytest.raises(ct.FormatError, match="files include each other"):
            ct.load(tmp_path / name)
        assert time.process_time() - start < 20.0


INCLUDED = '<include file="part.xml"/>'


def test_elements_are_counted_over_a_whole_load(tmp_path):
    (tmp_path / "part.xml").write_text(f"<mujoco>{'<option/>' * 40_000}</mujoco>")
    (tmp_path / "m.xml").write_text(f"<mujoco>{INCLUDED * 100}<worldbody/></mujoco>")
    with pytest.raises(ct.FormatError, match="more than 500000 elements"):
        ct.load(tmp_path / "m.xml")


def test_what_is_repeated_is_counted_over_a_whole_load(tmp_path):
    repeat = '[[repeat]]\ncount = 1000\n[[repeat.body]]\nname = "{x}{{k}}"\n'
    text = '[mechanism]\nname = "m"\n' + "".join(repeat.replace("{x}", f"b{n} ") for n in range(30))
    (tmp_path / "m.toml").write_text(text.replace("{{", "{").replace("}}", "}"))
    with pytest.raises(ct.FormatError, match="repetition makes more than 20000 parts"):
        ct.load(tmp_path / "m.toml")
    long = '[mechanism]\nname = "m"\n[[repeat]]\ncount = 1000\n[[repeat.body]]\nname = "b{k}"\n'
    path = "x" * 100_000
    (tmp_path / "n.toml").write_text(f'{long}visual = [{{ shape = "mesh", path = "{path}" }}]\n')
    with pytest.raises(ct.FormatError, match="characters: split the file"):
        ct.load(tmp_path / "n.toml")


@pytest.fixture
def patience():
    """Ends a test that waits for somebody to write into a pipe."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_pipes_and_devices_are_not_read(tmp_path, patience):
    for name in ("model.toml", "part.toml", "part.xml", "mesh.stl", "run.nc", "n.loops.toml"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "zero.xml").symlink_to("/dev/zero")
    with pytest.raises(ct.FormatError, match="pipe"):
        ct.load(tmp_path / "model.toml")
    with pytest.raises(ct.FormatError, match="pipe"):
        ct.load_run(tmp_path / "run.nc")
    (tmp_path / "m.toml").write_text('[mechanism]\nname = "m"\n[[include]]\nfile = "part.toml"\n')
    with pytest.raises(ct.FormatError, match="pipe"):
        ct.load(tmp_path / "m.toml")
    (tmp_path / "m.xml").write_text(mjcf("", '<include file="part.xml"/>'))
    with pytest.raises(ct.FormatError, match="is not there"):
        ct.load(tmp_path / "m.xml")
    (tmp_path / "n.toml").write_text(
        '[mechanism]\nname = "m"\n[[body]]\nname = "b"\ndensity = 1.0\n'
        'visual = [{ shape = "mesh", path = "mesh.stl" }]\n'
    )
    with pytest.raises(ct.FormatError, match="pipe"):
        ct.load(tmp_path / "n.toml")
    with pytest.raises(ct.FormatError, match="pipe"):
        ct.load(tmp_path / "m.xml", loops=tmp_path / "n.loops.toml", search="/dev")


def test_a_sparse_file_of_20_gib_is_refused_at_once(tmp_path):
    for name in ("part.xml", "part.toml", "mesh.obj"):
        with open(tmp_path / name, "wb") as stream:
            stream.truncate(20 * 2**30)
    (tmp_path / "a.xml").write_text(mjcf("", '<include file="part.xml"/>'))
    (tmp_path / "b.xml").write_text(mjcf("", '<asset><mesh name="a" file="mesh.obj"/></asset>'))
    (tmp_path / "c.toml").write_text('[mechanism]\nname = "m"\n[[include]]\nfile = "part.toml"\n')
    (tmp_path / "d.toml").write_text(
        '[mechanism]\nname = "m"\n[[body]]\nname = "b"\ndensity = 1.0\n'
        'visual = [{ shape = "mesh", path = "mesh.obj" }]\n'
    )
    for name in ("a.xml", "b.xml", "c.toml", "d.toml"):
        with pytest.raises(ct.FormatError, match="it has 21474836480 bytes"):
            ct.load(tmp_path / name)


@pytest.mark.parametrize("key", ["mass", "com", "count", "damping", "name", "curvature"])
def test_whole_numbers_of_thousands_of_digits_are_refused_in_words(key, tmp_path):
    huge = f"0x{'f' * 4000}"
    texts = {
        "mass": f'[[body]]\nname = "b"\nmass = {huge}\n',
        "com": f'[[body]]\nname = "b"\nmass = 1.0\ncom = [0, {huge}, 0]\n',
        "count": f'[[repeat]]\ncount = {huge}\n[[repeat.body]]\nname = "b{{k}}"\n',
        "damping": '[[body]]\nname = "b"\nmass = 1.0\n[[joint]]\nname = "j"\nkind = "revolute"\nparent = "ground"\n'
        f'child = "b"\ndamping = {huge}\n',
        "name": f"[[body]]\nname = {huge}\n",
        "curvature": f"[parameters]\nx = {huge}\n",
    }
    (tmp_path / "m.toml").write_text(f'[mechanism]\nname = "m"\n{texts[key]}')
    with pytest.raises(ct.FormatError, match=r"m\.toml:\d+: ") as caught:
        ct.load(tmp_path / "m.toml")
    assert len(str(caught.value)) < 1000


def test_names_that_catena_chooses_are_never_links(tmp_path, monkeypatch):
    from catena.cli import main

    monkeypatch.chdir(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("keep this")
    bars = ct.generators.four_bar()
    bars.save("bars.toml")
    for planted in ("bars.fixed.toml", "out.loops.toml", "run.html", "H.h", "H_test.c"):
        (tmp_path / planted).symlink_to(secret)
    assert main(["check", "bars.toml", "--fix"]) == 2
    with pytest.raises(ct.FormatError, match="this is a link"):
        bars.save("out.urdf")
    s = bars.system()
    with pytest.raises(ct.FormatError, match="this is a link"):
        ct.simulate(s, s.assemble({"A": 0.3}), None, 0.02, integrator="rk4", step=1e-2).report()
    with pytest.raises(ct.FormatError, match="this is a link"):
        s.equations("kinetic_energy").save("H.c")
    assert secret.read_text() == "keep this"
    # A name that somebody gave may be a link of theirs.
    (tmp_path / "mine.toml").symlink_to(tmp_path / "elsewhere.toml")
    bars.save("mine.toml")
    assert (tmp_path / "elsewhere.toml").exists() and (tmp_path / "mine.toml").is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="modes are for other systems")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_what_replaces_a_private_file_is_private_while_it_is_written(mode, tmp_path, monkeypatch):
    """The file beside it is looked at when all its content is there and it is not yet in its place."""
    file = tmp_path / "m.toml"
    file.write_text("private")
    file.chmod(mode)
    seen = []
    monkeypatch.setattr(
        os, "fsync", lambda number: seen.append(os.fstat(number).st_mode & 0o777)
    )  # a disk that is slow
    before = os.umask(0o002)
    try:
        ct.generators.four_bar().save(file)
        ct.generators.four_bar().save(tmp_path / "new.toml")
    finally:
        os.umask(before)
    assert seen[0] == 0o600 and seen[1] == 0o664
    assert file.stat().st_mode & 0o777 == mode
    assert (tmp_path / "new.toml").stat().st_mode & 0o777 == 0o664
