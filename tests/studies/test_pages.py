"""The parts of docs/studies.md about other packages run as they stand, where these are installed."""

import re
import textwrap
from pathlib import Path

import pytest

import catena as ct

from .test_study import OUTCOMES, VARY, scenario

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")


def part(word):
    """The block of the page whose first line imports a package."""
    blocks = re.findall(r"\n\n((?:    .*\n|\n)+)", PAGE)
    return textwrap.dedent(next(x for x in blocks if re.match(rf"\s+(from|import) {word}", x)))


@pytest.mark.slow
@pytest.mark.parametrize("package", ["SALib", "optuna", "cma"])
def test_pages_of_other_packages_run(package):
    pytest.importorskip(package)
    far = ct.study(
        scenario(), vary={"pole.mass": [0.1], "initial.hinge": [0.5]}, outcomes={"end": "last(slide)"}
    )
    names = {"f": far.function(["pole.mass", "initial.hinge"])}
    exec(part(package), names)
    if package == "SALib":
        assert names["indices"]["S1"].sum() == pytest.approx(1.0, abs=0.2)
    if package == "optuna":
        assert names["search"].best_value < names["f"]([[0.2, 0.5]])[0]
    if package == "cma":
        assert names["evolution"].result.fbest < names["f"]([[0.2, 0.5]])[0]


@pytest.mark.slow
def test_a_cluster_of_dask_that_loses_a_worker_gives_the_same_digest():
    distributed = pytest.importorskip("distributed")
    asked = {"vary": VARY, "samples": 200, "seed": 1, "outcomes": OUTCOMES, "chunk": 10}
    alone = ct.study(scenario(), **asked)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        lost = []

        def kill(told):
            if told["done"] >= 50 and not lost:
                lost.append(next(iter(cluster.workers.values())))
                lost[0].process.process.kill()

        assert ct.study(scenario(), **asked, executor=client, progress=kill).digest == alone.digest
        assert lost


@pytest.mark.slow
@pytest.mark.parametrize("package", ["submitit", "ray"])
def test_starts_of_other_executors_on_the_page_run_and_give_the_same_digest(package, tmp_path, monkeypatch):
    pytest.importorskip(package, reason=f"pip install {package}")
    monkeypatch.chdir(tmp_path)
    names = {"ct": ct, "swing": scenario(), "vary": VARY}
    try:
        exec(part(package), names)
        assert names["study"].digest == ct.study(scenario(), VARY, samples=40).digest
    finally:
        if package == "ray" and "ray" in names:
            names["ray"].shutdown()


def test_a_job_of_slurm_begins_a_worker_of_one_thread(monkeypatch):
    pytest.importorskip("dask_jobqueue", reason="pip install dask-jobqueue")
    from dask_jobqueue import SLURMCluster

    said = re.search(r"SLURMCluster\((.*)\)", part("dask_jobqueue"))[1]
    script = eval(f"SLURMCluster({said}, n_workers=0).job_script()", {"SLURMCluster": SLURMCluster})
    assert "#SBATCH -p short" in script and "#SBATCH -t 01:00:00" in script
    assert "distributed.cli.dask_worker" in script and "--nthreads 1" in script
