"""Files: which are read by which ending, what is said of those that cannot be, and that none is left half-written."""

import os
import stat

import pytest

import catena as ct
from catena.mechanism.generators import chain


def load_fault(path):
    with pytest.raises(ct.FormatError) as caught:
        ct.load(path)
    return str(caught.value)


def save_fault(path, mechanism=None):
    with pytest.raises(ct.FormatError) as caught:
        (mechanism or chain(1)).save(path)
    return str(caught.value)


def test_the_ending_says_the_format_in_either_case(tmp_path):
    chain(1).save(tmp_path / "m.TOML")
    assert ct.load(str(tmp_path / "m.TOML")).name == "chain1"


def test_a_format_that_is_only_read_says_so(tmp_path):
    path = tmp_path / "robot.usda"
    assert save_fault(path) == f"{path}: USD files are only read: name a .toml, .urdf, .sdf or .xml file"
    assert not path.exists()


ENDINGS = "name a .toml file, or one of .urdf, .xacro, .xml, .mjcf, .sdf, .usda"


def test_other_endings_are_no_model():
    assert load_fault("robot.json") == "robot.json: the ending '.json' is no model format: " + ENDINGS
    assert load_fault("robot") == "robot: a name without an ending is no model format: " + ENDINGS
    assert load_fault(3) == "3 is not a path: give the name of a file"


def test_a_missing_file_is_named_with_those_that_are_close(tmp_path):
    chain(1).save(tmp_path / "robot.toml")
    assert (
        load_fault(tmp_path / "robt.toml")
        == f"{tmp_path}/robt.toml: there is no such file: did you mean 'robot.toml'?"
    )
    assert (
        load_fault(tmp_path / "zzzz.toml") == f"{tmp_path}/zzzz.toml: there is no such file: check the path"
    )
    away = tmp_path / "away" / "robot.toml"
    assert (
        load_fault(away)
        == f"{away}: there is no such file, and no folder {str(away.parent)!r}: check the path"
    )


def test_a_folder_is_no_file(tmp_path):
    folder = tmp_path / "m.toml"
    folder.mkdir()
    assert load_fault(folder) == f"{folder}: this is a folder: give the name of a file in it"
    assert save_fault(folder) == f"{folder}: this is a folder: give the name of a file in it"
    assert save_fault(tmp_path / "away" / "m.toml").startswith(f"{tmp_path}/away/m.toml: there is no folder")
    assert list(tmp_path.iterdir()) == [folder]


def test_a_path_that_no_system_has_is_a_fault_like_others():
    assert "cannot be read" in load_fault("a\0b.toml")
    assert "cannot be written" in save_fault("x" * 300 + ".toml")


def test_bytes_that_are_no_text_are_found_on_their_line(tmp_path):
    file = tmp_path / "m.toml"
    file.write_bytes(b'[mechanism]\nname = "gr\xfc\xdfe"\n')
    assert load_fault(file) == f"{file}:2: byte 0xfc is not UTF-8 text: save the file as UTF-8"


def test_files_of_other_systems_are_read(tmp_path):
    file = tmp_path / "m.toml"
    file.write_bytes(
        b'\xef\xbb\xbf[mechanism]\r\nname = "dos"\r\n\r\n[[body]]\r\nname = "b"\r\nmass = -1\r\n'
    )
    assert load_fault(file).startswith(f"{file}:6: body 'b': mass is -1.0")


def test_a_name_that_is_no_text_leaves_the_old_file(tmp_path):
    file = tmp_path / "m.toml"
    chain(1).save(file)
    before = file.read_bytes()
    m = ct.Mechanism("broken \ud800")
    assert save_fault(file, m) == f"{file}: '\\ud800' in a name is not valid text: rename the part"
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "m.toml"
    chain(1).save(file)
    before = file.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert save_fault(file, chain(3)) == f"{file}: the file cannot be written: no space left on device"
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "m.toml"
    chain(1).save(file)
    before = file.read_bytes()

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        chain(3).save(file)
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]


def test_a_protected_file_is_not_replaced(tmp_path, monkeypatch):
    file = tmp_path / "m.toml"
    chain(1).save(file)
    before = file.read_bytes()
    # Root may write everywhere, so the answer of the system is what is put in place here.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert save_fault(file, chain(3)) == f"{file}: the file is protected against writing: choose another name"
    assert file.read_bytes() == before


def test_a_replaced_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path):
    file, link = tmp_path / "m.toml", tmp_path / "link.toml"
    chain(1).save(file)
    file.chmod(0o640)
    link.symlink_to(file)
    chain(2).save(link)
    assert link.is_symlink() and ct.load(file).name == "chain2"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sorted(tmp_path.iterdir()) == [link, file]


def test_a_joint_of_a_file_may_end_on_frames(tmp_path):
    text = """
    [mechanism]
    name = "m"
    [[joint]]
    name = "pin"
    kind = "revolute"
    parent = "hook"
    child = "eye"
    in_parent = { p = [0, 0, 1] }
    [[body]]
    name = "rod"
    mass = 1
    [[frame]]
    name = "hook"
    body = "ground"
    pose = { p = [1, 0, 0] }
    [[frame]]
    name = "eye"
    body = "rod"
    pose = { p = [0, 2, 0] }
    """
    (tmp_path / "m.toml").write_text(text)
    pin = ct.load(tmp_path / "m.toml").joints["pin"]
    assert (pin.parent, pin.child) == ("ground", "rod")
    assert pin.in_parent.p.tolist() == [1, 0, 1] and pin.in_child.p.tolist() == [0, 2, 0]
