"""Tables of runs: what their columns say against the calls that compute it, and the same numbers from every format."""

import builtins
import csv
import io

import numpy as np
import pytest

import catena as ct
from catena.simulation.results.recording import excel, matlab

CHOICES = {"reactions": True, "frames": ["coupler"], "power": True, "acceleration": True}


@pytest.fixture(scope="module")
def run():
    s = ct.generators.four_bar().system()
    q = s.neutral()
    torque = {"A": 0.4}
    return ct.simulate(s, q, s.velocity(q, {"A": 2.0}), 0.3, control=lambda t, q, v: torque, samples=7)


@pytest.fixture(scope="module")
def batch():
    s = ct.generators.four_bar().system()
    q = np.stack([s.neutral()] * 2)
    v = np.stack([s.velocity(q[0], {"A": rate}) for rate in (1.0, 2.0)])
    return ct.simulate(s, q, v, 0.2, samples=4)


@pytest.fixture(scope="module")
def changing():
    m = ct.generators.chain(2, axes="y")
    s = m.system()
    let_go = ct.at_time(0.1, lambda m, q, v: m.lock("joint2", at=q[1]))
    return ct.simulate(s, np.array([0.3, 0.2]), np.zeros(2), 0.2, samples=5, events=[let_go])


def test_columns_are_what_the_run_computes(run):
    table = run.table(**CHOICES)
    s = run.system
    np.testing.assert_array_equal(table["q.A"], run["A"][:, 0])
    np.testing.assert_array_equal(table["vdot.A"], run.acceleration[:, s.slice_v("A")][:, 0])
    for joint in s.mechanism.joints:
        names = [f"reaction.{joint}.{x}" for x in ("mx", "my", "mz", "fx", "fy", "fz")]
        np.testing.assert_array_equal(np.stack([table[x] for x in names], -1), run.reaction(joint))
    for name, power in run.power.items():
        np.testing.assert_array_equal(table[f"power.{name}"], power)
    np.testing.assert_allclose(table["power.joint.A"], run.joint_power("A"), atol=1e-14)
    twist = s.twist(run.q, run.v, "coupler", axes="aligned")
    rates = np.stack([table[f"frame.coupler.{x}"] for x in ("wx", "wy", "wz", "vx", "vy", "vz")], -1)
    np.testing.assert_allclose(rates, twist, atol=1e-13)
    changes = [f"frame.coupler.{x}" for x in ("alphax", "alphay", "alphaz", "ax", "ay", "az")]
    expected = run.frame_acceleration("coupler", axes="aligned")
    np.testing.assert_array_equal(np.stack([table[x] for x in changes], -1), expected)
    # The pose is that of the frame.
    quat = np.stack([table[f"frame.coupler.q{x}"] for x in "wxyz"], -1)
    for one, pose in zip(quat, run.pose("coupler")):
        np.testing.assert_allclose(ct.Pose(quat=one).R, pose[:3, :3], atol=1e-14)
    assert table.units["reaction.A.mx"] == "N m" and table.units["vdot.A"] == "rad/s^2"
    assert table.units["power.total"] == "W" and table.units["frame.coupler.x"] == "m"


def test_quaternions_do_not_jump_while_a_body_turns_many_times():
    m = ct.Mechanism("top", gravity=(0, 0, 0))
    m.add_body("top", mass=1.0, inertia=(1.0, 2.0, 3.0))
    m.add_joint("free", "ground", "top", ct.Free(), actuated=False)
    s = m.system()
    v = np.array([0.3, 5.0, 0.2, 0, 0, 0])
    run = ct.simulate(s, s.neutral(), v, 6.0, samples=400)
    table = run.table(frames=["top"])
    quat = np.stack([table[f"frame.top.q{x}"] for x in "wxyz"], -1)
    assert np.abs(np.diff(quat, axis=0)).max() < 0.1
    assert (quat[:, 0] < 0.0).any()


def read_csv(file):
    with open(file, newline="") as stream:
        names, *rows = csv.reader(stream)
    cells = np.array([[float(x) if x else np.nan for x in row] for row in rows])
    return {name: cells[:, k] for k, name in enumerate(names)}


def read_xlsx(file):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(file)
    found = {}
    for sheet in book.worksheets:
        if sheet.title in ("index", "events"):
            continue
        names, _, *rows = sheet.iter_rows(values_only=True)
        cells = np.array([[np.nan if x is None else x for x in row] for row in rows], dtype=float)
        found |= {name: cells[:, k] for k, name in enumerate(names)}
    return found


def read_parquet(file):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(file)
    return {name: table[name].to_numpy() for name in table.column_names}


def read_mat(file):
    from scipy.io import loadmat

    content = loadmat(file, squeeze_me=True, struct_as_record=False)
    own = content["run"]
    return {name: np.asarray(getattr(own, field)) for name, field in zip(content["names"], content["fields"])}


READERS = {".csv": read_csv, ".xlsx": read_xlsx, ".parquet": read_parquet, ".mat": read_mat}


@pytest.mark.parametrize("ending", READERS)
@pytest.mark.parametrize("which", ["run", "batch", "changing"])
def test_every_format_has_the_numbers_of_the_table(ending, which, request, tmp_path):
    if ending == ".xlsx":
        pytest.importorskip("openpyxl")
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    run = request.getfixturevalue(which)
    frames = ["coupler"] if which != "changing" else ["link2"]
    choices = {**CHOICES, "frames": frames} if which != "changing" else {"frames": frames, "power": True}
    file = tmp_path / f"run{ending}"
    run.save(file, **choices)
    table, found = run.table(**choices), READERS[ending](file)
    assert set(found) == set(table.names)
    assert table.rows == int(np.prod(run.batch)) * len(run.t)
    # Cells of Excel have sixteen digits, the others are exact.
    digits = 1e-15 if ending == ".xlsx" else 0.0
    for name in table:
        np.testing.assert_allclose(
            found[name], table[name].astype(float), rtol=digits, atol=0.0, err_msg=name
        )


def test_a_structure_without_a_joint_leaves_its_cells_empty(changing):
    table = changing.table(power=True, acceleration=True)
    behind = table["segment"] == 1
    assert (
        behind.any()
        and np.isnan(table["q.joint2"][behind]).all()
        and np.isnan(table["vdot.joint2"][behind]).all()
    )
    np.testing.assert_array_equal(table["q.joint2"][~behind], changing.segments[0]["joint2"][:, 0])
    assert np.isfinite(table["q.joint1"]).all()


def test_units_stand_where_each_format_has_them(run, tmp_path):
    run.save(tmp_path / "run.csv", units=True)
    assert (tmp_path / "run.csv").read_text().startswith("t [s],q.A [rad],")
    openpyxl, parquet = pytest.importorskip("openpyxl"), pytest.importorskip("pyarrow.parquet")
    run.save(tmp_path / "run.xlsx", reactions=["A"])
    book = openpyxl.load_workbook(tmp_path / "run.xlsx")
    assert book.sheetnames == ["index", "positions", "velocities", "forces", "energy", "reactions"]
    assert [cell.value for cell in book["reactions"][2]] == ["s", "N m", "N m", "N m", "N", "N", "N"]
    index = {(row[0], row[1]): row[2:] for row in book["index"].iter_rows(values_only=True)}
    assert index["positions", "q.A"] == ("rad", "position of joint A")
    run.save(tmp_path / "run.parquet")
    schema = parquet.read_schema(tmp_path / "run.parquet")
    assert schema.field("v.A").metadata[b"unit"] == b"rad/s"
    assert schema.metadata[b"mechanism"] == run.system.mechanism.name.encode()


def test_names_that_excel_and_matlab_do_not_take_become_others(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    m = ct.Mechanism("=1+1")
    for k, name in enumerate(("=cmd()", "a/b", "a_b", "1st", "x" * 80, "x" * 80 + "y")):
        m.add_body(f"body{k}", mass=1.0, inertia=0.1)
        m.add_joint(name, "ground", f"body{k}", ct.Revolute("x"))
        m.add_frame(name.upper() + "?", f"body{k}")
    s = m.system()
    run = ct.simulate(s, s.neutral(), np.zeros(s.nv), 0.1, samples=3)
    run.save(tmp_path / "run.xlsx", frames=True)
    book = openpyxl.load_workbook(tmp_path / "run.xlsx")
    assert all(len(title) <= 31 for title in book.sheetnames)
    assert len({title.lower() for title in book.sheetnames}) == len(book.sheetnames) == 5 + 6
    assert book["positions"]["B1"].value == "q.=cmd()" and book["index"]["B1"].data_type == "s"
    names = matlab.valid_names(run.table().names)
    assert len(set(names)) == len(run.table()) and all(x.isidentifier() and len(x) <= 63 for x in names)


def test_what_does_not_fit_is_refused_with_the_file_and_a_way_out(run, tmp_path, monkeypatch):
    with pytest.raises(ct.FormatError, match=r"run\.nc: reactions chooses columns of a table"):
        run.save(tmp_path / "run.nc", reactions=True)
    with pytest.raises(ct.FormatError, match=r"ends in \.nc, \.h5, \.csv, \.xlsx, \.parquet, \.mat"):
        run.save(tmp_path / "run.ods")
    with pytest.raises(ct.FormatError, match="frames is 'coupler': give True for all, or a list"):
        run.save(tmp_path / "run.csv", frames="coupler")
    with pytest.raises(ct.UnknownNameError, match="coupler"):
        run.table(frames=["copler"])
    with pytest.raises(ct.UnknownNameError, match="joint"):
        run.table(reactions=["Q"])
    with pytest.raises(ct.FormatError, match="power is 1"):
        run.table(power=1)
    with pytest.raises(ct.FormatError, match="a table is for other programs"):
        ct.load_run(tmp_path / "run.xlsx")
    pytest.importorskip("openpyxl")
    monkeypatch.setattr(excel, "MOST_ROWS", 5)
    with pytest.raises(ct.FormatError, match=r"run\.xlsx: the run has 7 rows"):
        run.save(tmp_path / "run.xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package, ending", [("openpyxl", ".xlsx"), ("pyarrow", ".parquet")])
def test_a_missing_library_is_named_with_the_extra_that_has_it(run, tmp_path, monkeypatch, package, ending):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ct.CatenaError, match=rf"{package}.*catena-dynamics\[export\]"):
        run.save(tmp_path / f"run{ending}")


def test_a_table_makes_a_data_frame(run):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(dict(run.table(power=True)))
    stream = io.StringIO()
    frame.to_csv(stream)
    assert list(frame["q.A"]) == list(run["A"][:, 0])
