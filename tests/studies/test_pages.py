"""The parts of docs/studies.md about other packages run as they stand, where these are installed."""

import re
import textwrap
from pathlib import Path

import pytest

import catena as ct

from .test_study import scenario

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
    from .test_study import OUTCOMES, VARY

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
def test_tasks_of_ray_give_the_same_digest():
    ray = pytest.importorskip("ray", reason="pip install ray")
    from .test_study import OUTCOMES, VARY

    asked = {"vary": VARY, "samples": 40, "seed": 1, "outcomes": OUTCOMES, "chunk": 8}
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    try:
        assert ct.study(scenario(), **asked, executor=ray).digest == ct.study(scenario(), **asked).digest
    finally:
        ray.shutdown()
