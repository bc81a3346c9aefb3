"""Run files of strangers: what lies elsewhere, and what has no room, is refused before it is read."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import catena as ct

h5py = pytest.importorskip("h5py")
pytest.importorskip("h5netcdf")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A run of a few samples in a file."""
    s = ct.generators.four_bar().system()
    run = ct.simulate(s, s.assemble({"A": 0.3}), None, 0.05, integrator="rk4", step=1e-2)
    path = tmp_path_factory.mktemp("runs") / "run.nc"
    run.save(path)
    return path


@pytest.fixture
def strange(written, tmp_path):
    """A copy of it to be changed, in a folder beside a file with numbers that nobody is to read."""
    np.full(10_000, 7.0).tofile(tmp_path / "secret.bin")
    with h5py.File(tmp_path / "secret.h5", "w") as other:
        other["numbers"] = np.full(10_000, 7.0)
    (tmp_path / "models").mkdir()
    return shutil.copy(written, tmp_path / "models" / "run.nc")


def refused(path, words):
    with pytest.raises(ct.FormatError, match=words):
        ct.load_run(path)


def test_a_run_that_nobody_changed_is_read(strange):
    assert np.isfinite(ct.load_run(strange).q).all()


@pytest.mark.parametrize("name", ["q", "extra"])
def test_numbers_in_another_file_are_refused(strange, name):
    with h5py.File(strange, "r+") as file:
        shape = file["q"].shape
        if name in file:
            del file[name]
        size = int(np.prod(shape)) * 8
        file.create_dataset(name, shape, "f8", external=[("../secret.bin", 0, size)])
    refused(strange, f"'{name}' is kept in another file")


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (lambda: h5py.ExternalLink("../secret.h5", "/numbers"), "a link to somewhere else"),
        (lambda: h5py.SoftLink("/v"), "a link to somewhere else"),
        (lambda: h5py.SoftLink("/nowhere"), "a link to somewhere else"),
    ],
)
def test_links_are_refused(strange, link, words):
    with h5py.File(strange, "r+") as file:
        file["extra"] = link()
    refused(strange, words)
    with h5py.File(strange, "r+") as file:
        del file["extra"]
        file.create_group("inner")["deeper"] = link()
    refused(strange, words)


def test_a_dataset_that_is_put_together_from_others_is_refused(strange):
    layout = h5py.VirtualLayout((10_000,), "f8")
    layout[:] = h5py.VirtualSource("../secret.h5", "numbers", (10_000,))
    with h5py.File(strange, "r+") as file:
        file.create_virtual_dataset("extra", layout)
    refused(strange, "put together from other files")


def test_sizes_that_no_file_has_are_refused(strange):
    for shape, chunks in (((10**6, 10**6), (1000, 1000)), ((10**9,), (10**5,))):
        with h5py.File(strange, "r+") as file:
            file.create_dataset("extra", shape, "f8", chunks=chunks, fillvalue=1.0)
        refused(strange, "larger than a file of")
        with h5py.File(strange, "r+") as file:
            del file["extra"]
    with h5py.File(strange, "r+") as file:
        # A million zeros become a thousand bytes, many times.
        for k in range(40):
            file.create_dataset(f"extra{k}", data=np.zeros(10**6), compression="gzip", compression_opts=9)
    refused(strange, "larger than a file of")


def test_one_text_that_is_named_many_times_is_refused(strange):
    with h5py.File(strange, "r+") as file:
        source = file.create_dataset("extra", (100_000,), h5py.string_dtype())
        source[0] = "x" * 200_000
    # All entries are made the first one, which takes no more room in the file.
    content = bytearray(Path(strange).read_bytes())
    with h5py.File(strange, "r") as file:
        at = file["extra"].id.get_offset()
    content[at : at + 16 * 100_000] = content[at : at + 16] * 100_000
    Path(strange).write_bytes(content)
    refused(strange, "larger than a file of")


def test_groups_that_hold_themselves_are_walked_once(strange):
    with h5py.File(strange, "r+") as file:
        inner = file.create_group("inner")
        inner["self"] = inner
        inner["root"] = file["/"]
    try:
        ct.load_run(strange)
    except ct.FormatError as error:
        assert "run.nc" in str(error)


def test_packed_runs_are_read(strange, tmp_path):
    """Somebody else's program has written the file again, packed."""
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(strange, engine="h5netcdf") as dataset:
        packed = {name: {"zlib": True} for name in ("q", "v", "tau")}
        dataset.to_netcdf(tmp_path / "packed.nc", engine="h5netcdf", encoding=packed)
    np.testing.assert_array_equal(ct.load_run(tmp_path / "packed.nc").q, ct.load_run(strange).q)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_folder_is_no_run(tmp_path):
    (tmp_path / "run.h5").mkdir()
    refused(tmp_path / "run.h5", "this is no file but")
