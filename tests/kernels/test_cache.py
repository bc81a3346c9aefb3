"""Compiled code on disk: a second process compiles nothing, and the state of the folder changes no result."""

import json
import shutil
from pathlib import Path

import pytest

import catena as ct

COMPUTE = """
import json, sys
import numpy as np
import catena as ct
from catena.mechanism.generators import random_mechanism
imported = ct.compilations(), [m for m in ("casadi", "llvmlite", "scipy", "matplotlib") if m in sys.modules]
s = random_mechanism(5, 4, ["Revolute", "Spherical"]).system()
planned = ct.compilations()
q = s.integrate(s.neutral(), np.linspace(-1, 1, s.nv))
a = s.forward_dynamics(q, np.linspace(1, 2, s.nv), np.ones(s.nv))
print(json.dumps(dict(
    imported=imported, planned=planned, compiled=ct.compilations(), casadi="casadi" in sys.modules,
    a=[x.hex() for x in a.tolist()],
)))
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory, fresh_process):
    """A folder filled by one process, and what that process computed."""
    folder = tmp_path_factory.mktemp("cache")
    return folder, fresh_process(COMPUTE, CATENA_CACHE=str(folder))


def copy_of(folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def test_importing_and_planning_compile_nothing_and_import_no_compiler(filled):
    _, first = filled
    assert first["imported"] == [0, []]
    assert first["planned"] == 0
    assert first["compiled"] > 0 and first["casadi"]


def test_a_second_process_compiles_nothing_and_needs_no_casadi(filled, fresh_process):
    folder, first = filled
    second = fresh_process(COMPUTE, CATENA_CACHE=str(folder))
    assert second["compiled"] == 0
    assert not second["casadi"]
    assert second["a"] == first["a"]


def test_an_edit_that_changes_no_generated_text_compiles_nothing(filled, tmp_path, fresh_process):
    folder, first = filled
    package = Path(ct.__file__).parent
    shutil.copytree(package, tmp_path / "catena", ignore=shutil.ignore_patterns("__pycache__"))
    # What only calls compiled code may change without a step being traced again.
    with open(tmp_path / "catena" / "kernels" / "evaluation.py", "a") as source:
        source.write("# A comment.\n")
    beside = fresh_process(COMPUTE, CATENA_CACHE=str(folder), PYTHONPATH=str(tmp_path))
    assert (beside["casadi"], beside["a"]) == (False, first["a"])
    with open(tmp_path / "catena" / "spatial" / "linear.py", "a") as source:
        source.write("# A comment.\n")
    edited = fresh_process(COMPUTE, CATENA_CACHE=str(folder), PYTHONPATH=str(tmp_path))
    assert edited["casadi"], "steps are traced again"
    assert (edited["compiled"], edited["a"]) == (0, first["a"])


EDITED_MEANWHILE = """
import json, os, sys
from pathlib import Path
import numpy as np
import catena as ct
from catena.mechanism.generators import arm7
s = arm7().system()
for name, old, new in json.loads(os.environ["EDITS"]):
    file = Path(ct.__file__).parent / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
a = s.forward_dynamics(np.full(7, 0.3), np.ones(7), np.ones(7))
print(json.dumps(dict(compiled=ct.compilations(), a=[x.hex() for x in a.tolist()])))
"""


@pytest.mark.parametrize("restored", [False, True], ids=["edited", "edited and restored"])
def test_code_loaded_before_an_edit_is_not_kept_for_the_sources_after_it(tmp_path, fresh_process, restored):
    """A process edits what it has loaded, and then compiles. Another one that is loaded from the edited sources agrees
    with one that finds no cache at all."""
    package, cache = tmp_path / "catena", tmp_path / "cache"
    shutil.copytree(Path(ct.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    heavier = ["dynamics/tree/articulated_body.py", "*(-ground.gravity)", "*(-2.0 * ground.gravity)"]
    back = [heavier[0], heavier[2], heavier[1]]

    def run(folder, *edits):
        return fresh_process(
            EDITED_MEANWHILE, CATENA_CACHE=str(folder), PYTHONPATH=str(tmp_path), EDITS=json.dumps(edits)
        )

    before = run(tmp_path / "first")
    meanwhile = run(cache, *([heavier, back] if restored else [heavier]))
    after, alone = run(cache), run(tmp_path / "last")
    assert meanwhile["a"] == before["a"], "code that was loaded goes on as it is"
    assert after["a"] == alone["a"]
    assert (after["a"] == before["a"]) == restored
    assert run(cache)["compiled"] == 0, "what is loaded from sources that stay is kept"


@pytest.mark.parametrize("damage", ["emptied", "cut short", "one bit flipped", "not ours"])
def test_a_damaged_entry_is_compiled_again(filled, tmp_path, fresh_process, damage):
    folder, first = filled[0], filled[1]
    folder = copy_of(folder, tmp_path)
    victim = max(folder.glob("*.bin"), key=lambda file: file.stat().st_size)
    raw = bytearray(victim.read_bytes())
    if damage == "emptied":
        raw = b""
    elif damage == "cut short":
        raw = raw[: len(raw) // 2]
    elif damage == "one bit flipped":
        raw[-100] ^= 4
    else:
        raw = b"something else entirely\n" * 100
    victim.write_bytes(raw)
    second = fresh_process(COMPUTE, CATENA_CACHE=str(folder))
    assert (second["compiled"], second["a"]) == (1, first["a"])
    third = fresh_process(COMPUTE, CATENA_CACHE=str(folder))
    assert third["compiled"] == 0


def test_a_folder_that_cannot_be_written_only_costs_time(filled, tmp_path, fresh_process):
    """A file stands where the folder should be made; permissions would not stop a superuser."""
    (tmp_path / "file").write_text("")
    result = fresh_process(COMPUTE, CATENA_CACHE=str(tmp_path / "file" / "cache"))
    assert result["compiled"] >= filled[1]["compiled"], "where nothing is kept equal texts are compiled again"
    assert result["a"] == filled[1]["a"]


def test_entries_appear_whole_and_leave_no_rubbish(filled):
    """Entries, and the empty files by which processes wait for each other."""
    files = list(filled[0].iterdir())
    assert {file.suffix for file in files} <= {".bin", ".lock"}
    assert all(file.stat().st_size == 0 for file in files if file.suffix == ".lock")


def test_without_a_chosen_folder_the_users_cache_folder_is_taken(tmp_path, fresh_process):
    where = fresh_process(
        "import json; from catena.kernels.cache import folder; print(json.dumps(str(folder())))",
        CATENA_CACHE="", XDG_CACHE_HOME=str(tmp_path), HOME=str(tmp_path), LOCALAPPDATA=str(tmp_path),
    )  # fmt: skip
    assert Path(where).is_relative_to(tmp_path) and "catena" in where


def test_sources_are_known_where_folders_are_parted_by_backslashes(fresh_process):
    """Windows puts a backslash between a folder and the names that are found in it."""
    program = """
import json, os
scandir = os.scandir

class Entry:
    def __init__(self, entry):
        self.entry, self.name = entry, entry.name
        self.path = entry.path[: -len(entry.name) - 1] + "\\\\" + entry.name
    def __getattr__(self, name):
        return getattr(self.entry, name)

class Listing:
    def __init__(self, path):
        self.listing = scandir(path)
    def __enter__(self):
        return [Entry(e) for e in self.listing]
    def __exit__(self, *_):
        self.listing.close()

plain = __import__("catena.sources", fromlist=["sources"])
rooms = [plain.digest(room) for room in plain.ROOMS]
os.scandir = Listing
import importlib
windows = importlib.reload(plain)
print(json.dumps([None in rooms, rooms == [windows.digest(room) for room in windows.ROOMS]]))
"""
    assert fresh_process(program) == [False, True]
