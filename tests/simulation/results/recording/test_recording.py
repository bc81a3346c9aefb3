"""Runs in files and datasets: exact round trips, tables, and what happens when a file cannot be written."""

import csv
import os
import resource
import signal

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, humanoid, n_four_bars, stewart
from catena.simulation import EventHit, Trajectory
from catena.simulation.results.recording import dataset, load_run, netcdf

xarray = pytest.importorskip("xarray")
pytest.importorskip("h5netcdf")
pytest.importorskip("h5py")


@pytest.fixture(scope="module")
def run():
    system = stewart().system()
    q = np.repeat(system.neutral()[None], 3, axis=0)
    _, v = system.project(q, 0.2 * np.random.default_rng(0).normal(size=(3, system.nv)))
    run = ct.simulate(system, q, v, 0.1, integrator="rk4", step=2e-3, samples=5)
    return run.with_(
        work={"actuators": np.random.default_rng(1).normal(size=(3, 5))},
        wrenches={"platform": np.random.default_rng(2).normal(size=(3, 5, 6))},
        driven={
            "leg1": np.random.default_rng(3).normal(
                size=(3, 5, len(range(system.nv)[system.slice_v("leg1")]))
            )
        },
        events=(EventHit("touch", 0.03, run.q[2, 1], run.v[2, 1], (2,)),),
        ended="stopped for a test",
        held=True,
    )


def assert_same(ours, theirs):
    for name in ("t", "q", "v", "tau"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    for name in ("work", "wrenches", "driven"):
        a, b = getattr(ours, name), getattr(theirs, name)
        assert list(a) == list(b)
        for key in a:
            np.testing.assert_array_equal(a[key], b[key])
    for name in ("steps", "ended", "held"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert dict(ours.settings) == dict(theirs.settings)
    for a, b in zip(ours.events, theirs.events, strict=True):
        assert (a.name, a.t, tuple(a.state)) == (b.name, b.t, tuple(b.state))
        np.testing.assert_array_equal(a.q, b.q)
        np.testing.assert_array_equal(a.v, b.v)


@pytest.mark.parametrize("ending", ["nc", "h5", "NC"])
def test_a_run_and_its_mechanism_come_back_to_the_last_bit(run, tmp_path, ending):
    file = tmp_path / f"run.{ending}"
    run.save(file)
    again = load_run(file)
    assert_same(run, again)
    assert again.system is not run.system
    np.testing.assert_array_equal(again.energy, run.energy)
    assert_same(run, Trajectory.load(file, run.system))
    assert os.listdir(tmp_path) == [file.name]


def test_single_runs_and_pinned_plans_come_back(tmp_path):
    m = humanoid()
    system = m.system(root="torso") if "torso" in m.bodies else m.system()
    run = ct.simulate(system, system.neutral(), np.zeros(system.nv), 0.1, samples=3)
    run.save(tmp_path / "run.nc")
    again = load_run(tmp_path / "run.nc")
    assert_same(run, again)
    assert again.system.joints == system.joints


def test_a_large_model_fits_in_the_file(tmp_path):
    system = n_four_bars(150).system()
    nothing = np.zeros((1, system.nv))
    Trajectory.of(system, np.zeros(1), system.neutral()[None], nothing, nothing, 0).save(tmp_path / "run.nc")
    assert load_run(tmp_path / "run.nc").system.nv == system.nv


def test_the_dataset_has_names_and_units(run):
    ds = run.to_xarray()
    assert ds.q.dims == ("state", "time", "coordinate")
    np.testing.assert_array_equal(ds.q.sel(coordinate="leg1"), run["leg1"][..., 0])
    assert str(ds.coordinate_unit.sel(coordinate="leg1").values) == "m"
    assert str(ds.component_unit.sel(component="ball1.wx").values) == "rad/s"
    ds.q[:] = 0.0
    assert run.q.any()
    two = run.with_(
        **{name: getattr(run, name)[None] for name in ("q", "v", "tau")},
        work={},
        wrenches={},
        driven={},
        events=(),
    )
    assert two.to_xarray().q.dims[:2] == ("state_0", "state_1")


def test_the_table_reads_back_to_the_same_numbers(run, tmp_path):
    run.save(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="") as stream:
        names, *rows = list(csv.reader(stream))
    table = np.array(rows, dtype=float)
    assert names[:3] == ["state", "t", "q.base1.angle1"]
    column = {name: table[:, k] for k, name in enumerate(names)}
    np.testing.assert_array_equal(column["state"], np.repeat([0, 1, 2], 5))
    np.testing.assert_array_equal(column["t"], np.tile(run.t, 3))
    np.testing.assert_array_equal(column["q.leg3"], run["leg3"].ravel())
    np.testing.assert_array_equal(column["v.ball1.wy"], run.velocity("ball1")[..., 1].ravel())
    np.testing.assert_array_equal(column["kinetic_energy"], run.kinetic_energy.ravel())
    single = ct.simulate(arm7().system(), np.zeros(7), np.zeros(7), 0.1, samples=3)
    single.save(tmp_path / "one.csv")
    assert (tmp_path / "one.csv").read_text().startswith("t,q.joint1,")


@pytest.mark.parametrize("ending", ["csv", "nc"])
def test_a_full_disk_loses_nothing(run, tmp_path, ending):
    """A limit on the size of files stands for the full disk: the write fails half-way."""
    file = tmp_path / f"run.{ending}"
    file.write_text("the old file")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(
            ct.FormatError, match=rf"run\.{ending}: the file cannot be written.*still in memory"
        ):
            run.save(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert os.listdir(tmp_path) == [file.name]
    assert file.read_text() == "the old file"
    run.save(file)
    assert os.path.getsize(file) > 2000


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("ending", [".csv", ".nc"])
def test_a_device_that_is_full_is_named_and_stays_a_device(run, tmp_path, ending):
    link = tmp_path / f"full{ending}"
    link.symlink_to("/dev/full")
    with pytest.raises(ct.FormatError, match=f"full{ending}: the file cannot be written: no space left"):
        run.save(link)
    assert not os.path.isfile("/dev/full")
    assert os.listdir(tmp_path) == [link.name]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere/run.nc", "there is no folder"),
        ("run.ods", "the ending '.ods' is no format for runs"),
        ("run", "a name without an ending"),
        (".", "this is a folder|without an ending"),
    ],
)
def test_places_where_no_run_can_go_are_refused(run, tmp_path, name, message):
    with pytest.raises(ct.FormatError, match=message):
        run.save(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_files_that_hold_no_run_are_refused(run, tmp_path):
    (tmp_path / "text.nc").write_text("no run")
    with pytest.raises(ct.FormatError, match="no NetCDF 4 or HDF5 file, or is damaged"):
        load_run(tmp_path / "text.nc")
    xarray.Dataset({"x": ("n", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ct.FormatError, match="does not hold a run"):
        load_run(tmp_path / "other.nc")
    with pytest.raises(ct.FormatError, match="no format for runs"):
        run.save("a" * 10_000)
    with pytest.raises(ct.FormatError, match="there is no such file"):
        ct.load_run(f"{'a' * 10_000}.nc")
    with pytest.raises(ct.FormatError, match="there is no such file"):
        load_run(tmp_path / "missing.nc")
    with pytest.raises(ct.FormatError, match="read a .nc or .h5 file"):
        load_run(tmp_path / "run.csv")
    run.save(tmp_path / "run.nc")
    with pytest.raises(ct.FormatError, match="the coordinates base1.angle1, .* but the system has joint1, "):
        load_run(tmp_path / "run.nc", arm7().system())


def test_a_mechanism_with_kinds_of_its_own_takes_its_system_along(tmp_path, monkeypatch):
    class Own(ct.Revolute):
        pass

    m = ct.Mechanism("own")
    m.add_body("body", mass=1.0, inertia=0.1)
    m.add_joint("turn", "ground", "body", Own("y"))
    system = m.system()
    run = Trajectory.of(system, np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), 0)
    run.save(tmp_path / "run.nc")
    with pytest.raises(ct.FormatError, match="give its system"):
        load_run(tmp_path / "run.nc")
    assert load_run(tmp_path / "run.nc", system).system is system


def test_a_missing_package_is_named_with_the_way_to_install_it(run, tmp_path, monkeypatch):
    monkeypatch.setattr(netcdf, "find_spec", lambda name: None)
    with pytest.raises(ct.CatenaError, match=r'need h5netcdf.*pip install "catena-dynamics\[record\]"'):
        run.save(tmp_path / "run.nc")
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    with pytest.raises(ct.CatenaError, match=r'needs xarray.*pip install "catena-dynamics\[record\]"'):
        dataset.to_dataset(run)
    assert os.listdir(tmp_path) == []


def test_a_damaged_run_ends_in_a_catena_error_whatever_is_damaged(tmp_path):
    """Attributes and variables removed, of the wrong type or shape, and bytes changed."""
    run = ct.simulate(ct.generators.four_bar().system(), duration=0.02)
    good = dataset.to_dataset(run)
    spoiled = [good.drop_vars(name) for name in ("q", "time", "coordinate", "mechanism", "closure")]
    spoiled += [
        good.isel(time=0),
        good.isel(component=slice(0, 0)),
        good.transpose(),
        good.assign(mechanism="no TOML ["),
    ]
    spoiled += [good.assign(q=good.q.astype(str)), good.rename(coordinate="c"), good.assign(mechanism=3.0)]
    for key in good.attrs:
        for value in (None, "{", "[]", -1, "x", 2.5):
            changed = good.copy()
            changed.attrs = (
                {**good.attrs, key: value}
                if value is not None
                else {k: v for k, v in good.attrs.items() if k != key}
            )
            spoiled.append(changed)
    for k, one in enumerate(spoiled):
        try:
            dataset.segment_from(one, "run.nc")
        except ct.CatenaError as error:
            assert "run.nc" in str(error), k
    run.save(tmp_path / "run.nc")
    content = bytearray((tmp_path / "run.nc").read_bytes())
    random = np.random.default_rng(0)
    for _ in range(40):
        damaged = bytearray(content)
        for at in random.integers(len(content), size=20):
            damaged[at] = int(random.integers(256))
        (tmp_path / "bad.nc").write_bytes(
            damaged[: int(random.integers(1, len(content)))] if random.random() < 0.3 else damaged
        )
        try:
            load_run(tmp_path / "bad.nc")
        except ct.CatenaError:
            continue


def test_kinds_in_a_run_are_handed_over_and_never_imported(tmp_path, monkeypatch):
    import sys

    (tmp_path / "rails_in_a_run.py").write_text(
        "from dataclasses import dataclass\nfrom catena import Revolute\n\n\n"
        "@dataclass(frozen=True)\nclass Own(Revolute):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    from rails_in_a_run import Own

    m = ct.Mechanism("own")
    m.add_body("body", mass=1.0, inertia=0.1)
    m.add_joint("turn", "ground", "body", Own("y"))
    run = Trajectory.of(m.system(), np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), 0)
    run.save(tmp_path / "run.nc")
    sys.modules.pop("rails_in_a_run")
    with pytest.raises(ct.FormatError, match="nothing is imported because a file says so"):
        load_run(tmp_path / "run.nc")
    assert "rails_in_a_run" not in sys.modules
    again = load_run(tmp_path / "run.nc", kinds=[Own])
    assert type(again.system.mechanism.joints["turn"].kind) is Own
    assert load_run(tmp_path / "run.nc", kinds=["rails_in_a_run:Own"]).system.nv == 1
