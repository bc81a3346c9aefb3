"""Compiled code on disk is taken only from files that nobody but this user can have written, and does not pile up."""

import errno
import os
import stat
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

import catena as ct
from catena.kernels import cache, private_folder
from catena.kernels.private_folder import PrivateFolder

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this platform knows no owners of files")
as_root = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() != 0, reason="only root can give files away"
)
ENTRY, CODE, ABOUT = "0123456789" * 4, b"machine code" * 100, {"size": 3}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder that is the cache, with an entry in it, and no warnings given before."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CATENA_CACHE", str(folder))
    monkeypatch.setattr(private_folder, "warned", set())
    cache.write(ENTRY, CODE, ABOUT)
    assert [file.name for file in folder.iterdir()] == [f"{ENTRY}.bin"]
    return folder


@pytest.fixture
def entry(place):
    return place / f"{ENTRY}.bin"


def read():
    """What the entry holds, and what was said about it."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = [cache.read(ENTRY) for _ in range(3)]
    assert found[0] == found[1] == found[2]
    return found[0], [str(w.message) for w in seen if issubclass(w.category, ct.CatenaWarning)]


def test_a_private_folder_is_read(place):
    assert read() == ((CODE, ABOUT), [])


@pytest.mark.parametrize("mode", [0o755, 0o711, 0o500])
def test_others_may_look(place, mode):
    place.chmod(mode)
    assert read() == ((CODE, ABOUT), [])


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o720, 0o702])
def test_a_folder_that_others_can_write_is_refused_with_one_warning(place, entry, mode):
    place.chmod(mode)
    found, said = read()
    assert found is None
    assert len(said) == 1 and str(place) in said[0] and "can be written by others" in said[0]
    entry.unlink()
    cache.write(ENTRY, CODE, ABOUT)
    assert not list(place.iterdir())


@as_root
def test_a_folder_of_somebody_else_is_refused(place):
    os.chown(place, 54321, -1)
    found, said = read()
    assert found is None
    assert len(said) == 1 and "belongs to user 54321" in said[0]


@as_root
def test_what_an_image_ships_is_read_by_its_users_and_what_they_cannot_write_is_said_once(place, monkeypatch):
    """A folder of the superuser's that nobody else can write, as seen by another user."""
    place.chmod(0o755)
    (place / f"{ENTRY}.bin").chmod(0o644)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert read() == ((CODE, ABOUT), [])
    real = os.open

    def refused(path, flags, *others, **named):
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "not yours")
        return real(path, flags, *others, **named)

    monkeypatch.setattr(os, "open", refused)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            with cache.only_once(ENTRY):
                cache.write(ENTRY, CODE, ABOUT)
    assert len(seen) == 1 and "cannot be written" in str(seen[0].message)


def test_of_several_that_need_an_entry_one_makes_it_and_the_others_wait(place, entry):
    entry.unlink()
    made = []

    def make(number):
        with cache.only_once(ENTRY):
            if cache.read(ENTRY) is None:
                made.append(number)
                time.sleep(0.05)
                cache.write(ENTRY, CODE, ABOUT)
        assert cache.read(ENTRY) == (CODE, ABOUT)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(8)))
    assert len(made) == 1


COLD = """
import json
import catena as ct
from catena.kernels import compilations
s = ct.generators.arm7().system()
ct.simulate(s, s.neutral(), [0.1] * s.nv, 0.01, integrator="rk4", step=1e-3, check=False)
print(json.dumps(compilations()))
"""


@pytest.mark.slow
def test_eight_cold_processes_compile_together_what_one_does(tmp_path, fresh_process):
    alone = fresh_process(COLD, CATENA_CACHE=str(tmp_path / "alone"))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: fresh_process(COLD, CATENA_CACHE=str(tmp_path / "all")), range(8)))
    assert sum(found) == alone > 0


def put_in_place_of(entry, how):
    """Put something foreign where an entry was; its contents would do."""
    outside = entry.parent.parent / "outside"
    if how == "writable by others":
        entry.chmod(0o602)
    elif how == "given away":
        os.chown(entry, 54321, -1)
    else:
        entry.rename(outside)
        if how == "link":
            entry.symlink_to(outside)
        elif how == "pipe":
            os.mkfifo(entry)
        else:
            entry.mkdir()


@pytest.mark.parametrize(
    "how", ["writable by others", pytest.param("given away", marks=as_root), "link", "pipe", "folder"]
)
def test_what_is_no_plain_file_of_this_user_alone_is_no_entry(entry, how):
    put_in_place_of(entry, how)
    found, said = read()
    assert found is None
    assert len(said) == 1 and entry.name in said[0]
    cache.write(ENTRY, CODE, ABOUT)
    assert [file.name for file in entry.parent.iterdir()] == [entry.name]
    # A folder stays where it is, and costs time; all else is replaced.
    assert read()[0] == (None if how == "folder" else (CODE, ABOUT))


def test_where_files_cannot_be_opened_relative_to_a_folder_paths_do(place, monkeypatch):
    monkeypatch.setattr(private_folder, "BY_DESCRIPTOR", False)
    assert read() == ((CODE, ABOUT), [])
    other = ENTRY[::-1]
    make(place, f"{other}.bin", 2.0 * cache.OLDEST)
    assert left(place) == {f"{ENTRY}.bin"}
    cache.write(other, CODE, {})
    assert cache.read(other) == (CODE, {})
    place.chmod(0o777)
    assert read()[0] is None


def test_the_folder_that_was_looked_at_is_the_one_that_is_read(place):
    """Somebody who can write the folder around it puts another one in its place."""
    with PrivateFolder.open(place) as opened:
        place.rename(place.parent / "moved")
        place.mkdir(mode=0o777)
        (place / f"{ENTRY}.bin").write_bytes(b"evil")
        assert CODE in opened.read(f"{ENTRY}.bin")


def test_folders_and_entries_are_made_for_this_user_alone(tmp_path, monkeypatch):
    folder = tmp_path / "one" / "two"
    monkeypatch.setenv("CATENA_CACHE", str(folder))
    before = os.umask(0)
    try:
        cache.write(ENTRY, CODE, ABOUT)
    finally:
        os.umask(before)
    assert cache.read(ENTRY) == (CODE, ABOUT)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder.parent, folder, *folder.iterdir())]
    assert modes == [0o700, 0o700, 0o600]


def test_an_empty_cache_home_is_none(tmp_path, monkeypatch):
    monkeypatch.delenv("CATENA_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    without = cache.folder()
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache.folder() == without and tmp_path in without.parents


def test_a_user_without_a_home_has_no_cache(monkeypatch):
    import pwd

    def unknown(user):
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME", "CATENA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    cache.write(ENTRY, CODE, ABOUT)
    assert cache.folder() is None and cache.read(ENTRY) is None


FULL = """
import json, os, resource, signal
from catena.kernels import cache
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
cache.write("0" * 40, b"code" * 1000, {})
print(json.dumps([os.path.isdir(cache.folder()), os.listdir(cache.folder())]))
"""


def test_a_full_disk_is_no_error_and_is_left_without_rubbish(tmp_path, fresh_process):
    """Files may have a hundred bytes, after which writing fails as it does on a full disk."""
    assert fresh_process(FULL, CATENA_CACHE=str(tmp_path / "cache")) == [True, []]


def test_an_interrupted_write_leaves_nothing(place, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    (place / f"{ENTRY}.bin").unlink()
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache.write(ENTRY, CODE, ABOUT)
    assert not list(place.iterdir())


COMPUTE = """
import json, warnings
import catena as ct
warnings.simplefilter("ignore")
m = ct.Mechanism("pendulum")
m.add_body("bob", mass=1.0, com=(0.0, 0.0, -1.0), inertia=0.1)
m.add_joint("pin", "ground", "bob", ct.Revolute("y"))
print(json.dumps([m.system().potential_energy([0.3]).item().hex(), ct.compilations()]))
"""


def test_results_do_not_depend_on_a_refused_folder(tmp_path, fresh_process):
    folder = tmp_path / "cache"
    first, compiled = fresh_process(COMPUTE, CATENA_CACHE=str(folder))
    assert compiled > 0
    assert fresh_process(COMPUTE, CATENA_CACHE=str(folder)) == [first, 0]
    folder.chmod(0o777)
    assert fresh_process(COMPUTE, CATENA_CACHE=str(folder)) == [first, compiled]


def names(count):
    return [f"{k:040x}.bin" for k in range(count)]


def make(folder, name, age):
    (folder / name).write_bytes(b"x")
    os.utime(folder / name, (time.time() - age,) * 2)


def left(folder):
    with PrivateFolder.open(folder) as opened:
        cache.evict(opened)
    return {file.name for file in folder.iterdir()}


@pytest.fixture
def private(tmp_path):
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    return folder


def test_entries_that_nobody_used_for_long_go(private):
    new, old = names(2)
    make(private, new, cache.OLDEST - 3600.0)
    make(private, old, cache.OLDEST + 3600.0)
    assert left(private) == {new}


def test_of_too_many_entries_the_oldest_go(private, monkeypatch):
    monkeypatch.setattr(cache, "MOST", 40)
    for k, name in enumerate(names(cache.MOST + 10)):
        make(private, name, 10.0 + k)
    kept = left(private)
    assert kept == set(names(len(kept))) and cache.MOST // 2 < len(kept) <= cache.MOST


def test_an_entry_from_the_future_ages_from_now_on(private):
    (name,) = names(1)
    make(private, name, -1e9)
    assert left(private) == {name}
    assert abs((private / name).stat().st_mtime - time.time()) < 3600.0


def test_what_was_never_finished_goes_and_other_files_stay(private):
    old, new = (f"{'0' * 40}.{k:016x}.part" for k in range(2))
    make(private, old, 7200.0)
    make(private, new, 10.0)
    others = ["thesis.tex", "0123.bin", f"{'0' * 40}.bin.bak"]
    for name in others:
        make(private, name, 10.0 * cache.OLDEST)
    assert left(private) == {new, *others}


def test_reading_renews_and_writing_evicts(place, entry):
    old = names(1)[0]
    make(place, old, 2.0 * cache.OLDEST)
    os.utime(entry, (time.time() - 0.9 * cache.OLDEST,) * 2)
    assert read()[0] == (CODE, ABOUT)
    assert abs(entry.stat().st_mtime - time.time()) < 3600.0
    for k in range(cache.EVICT_EVERY + 1):
        cache.write(f"{k + 1:040x}", CODE, ABOUT)
    assert not (place / old).exists()
