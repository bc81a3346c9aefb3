"""Studies: every variant is the run of its own scenario, whoever computes it, wherever it is kept."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import catena as ct


def cart_pole():
    m = ct.Mechanism("cart-pole")
    m.add_body("cart", 1.0, inertia=0.1)
    m.add_body("pole", 0.2, com=(0, 0, 0.5), inertia=(0.02, 0.02, 0.001))
    m.add_joint("slide", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"))
    return m


def scenario(**more):
    asked = {"duration": 0.3, "integrator": "rk4", "step": 1e-2, **more}
    return ct.Scenario(cart_pole(), {"hinge": 0.5}, **asked)


VARY = {
    "pole.mass": ct.sobol(0.1, 0.3),
    "initial.hinge": ct.normal(0.5, 0.1),
    "velocity.slide": ct.latin(-1.0, 1.0),
}
OUTCOMES = {"peak": "max(slide)", "end": "last(hinge)"}


def last_slide(run):
    return run["slide"][-1, 0]


def all_slides(run):
    return run["slide"][:, -1, 0]


def test_every_variant_is_the_run_of_its_scenario():
    outcomes = {**OUTCOMES, "slow": last_slide, "quick": ct.batched(all_slides)}
    study = ct.study(scenario(), vary=VARY, samples=10, seed=3, outcomes=outcomes, chunk=4)
    assert len(study) == 10 and study.is_done and not study.failed
    for k in (0, 7):
        run = study.run(k)
        np.testing.assert_allclose(study["q"][k], run.q[-1], atol=1e-14)
        assert study["slow"][k] == study["quick"][k] == pytest.approx(run["slide"][-1, 0], abs=1e-14)
        assert study["end"][k] == pytest.approx(run["hinge"][-1, 0], abs=1e-14)
        assert run.system.mechanism.bodies["pole"].mass == study["pole.mass"][k]
    again = ct.study(scenario(), vary=VARY, samples=10, seed=3, outcomes=outcomes, chunk=10)
    assert again.digest == study.digest
    other = ct.study(scenario(), vary=VARY, samples=10, seed=4, outcomes=outcomes, chunk=10)
    assert other.digest != study.digest
    data = study.dataset
    assert data["peak"].dims == ("variant",) and "pole.mass" in data.coords and data["q"].shape == (10, 2)
    best = study.best("peak", 3, largest=True)
    assert study["peak"][best[0]] == study["peak"].max() and len(best) == 3


def test_grids_are_combined_tables_are_rows_and_samples_fill_their_distributions(tmp_path):
    from scipy import stats

    grid = ct.study(scenario(), vary={"pole.mass": ct.grid(0.1, 0.3, 3), "initial.hinge": [0.2, 0.4]})
    np.testing.assert_allclose(
        np.stack([grid["pole.mass"], grid["initial.hinge"]], 1),
        [[m, a] for m in (0.1, 0.2, 0.3) for a in (0.2, 0.4)],
    )
    (tmp_path / "runs.csv").write_text("pole.mass,initial.hinge\n0.1,0.2\n0.3,0.4\n")
    table = ct.study(scenario(), vary=tmp_path / "runs.csv")
    np.testing.assert_array_equal(table["q"], grid["q"][[0, 5]])
    with pytest.raises(ct.StateError, match="give one or the other"):
        ct.study([scenario(), scenario(duration=0.1)], vary=tmp_path / "runs.csv")
    coms = np.array([[0.0, 0.0, 0.4], [0.1, 0.0, 0.5]])
    rows = ct.study(scenario(), vary={"pole.com": coms})
    assert rows.dataset.coords["pole.com"].shape == (2, 3)
    drawn = ct.study(
        scenario(step=0.1), samples=512, seed=1, keep=None, outcomes={"e": "last(t)"}, chunk=512,
        vary={
            "pole.mass": stats.expon(0.1, 0.05), "initial.hinge": ct.distributed(stats.norm(0.0, 1.0), "sobol"),
            "both": ct.correlated({"velocity.hinge": 1.0, "velocity.slide": 2.0}, [[1.0, 0.8], [0.8, 1.0]]),
        },
    )  # fmt: skip
    assert stats.kstest(drawn["pole.mass"], stats.expon(0.1, 0.05).cdf).pvalue > 1e-3
    assert stats.kstest(drawn["initial.hinge"], "norm").pvalue > 0.9
    assert np.corrcoef(drawn["velocity.hinge"], drawn["velocity.slide"])[0, 1] == pytest.approx(0.8, abs=0.08)


def test_variants_that_fail_are_told_and_the_others_are_there(tmp_path):
    masses = np.array([0.1, -1.0, 0.2, 0.3])
    speeds = np.array([0.0, 0.0, 1e9, 0.0])
    vary = {"pole.mass": masses, "velocity.hinge": speeds}
    study = ct.study(scenario(), vary=vary, outcomes=OUTCOMES, store=tmp_path / "s.zarr")
    assert set(study.failed) == {1, 2} and "pole.mass" in study.failed[1]
    assert np.isnan(study["peak"][[1, 2]]).all()
    good = ct.study(scenario(), vary={n: x[[0, 3]] for n, x in vary.items()}, outcomes=OUTCOMES)
    np.testing.assert_allclose(study["q"][[0, 3]], good["q"], atol=1e-14)
    assert study.retry().failed == study.failed
    study.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "2 variants failed" in page and "study.run(1)" in page
    with pytest.raises(ct.SimulationError, match="Variant 1"):
        ct.study(scenario(), vary=vary, on_error="raise")


def test_one_variant_that_is_no_number_or_does_not_close_is_the_only_one_that_fails():
    speeds = np.array([0.0, np.nan, 0.1, np.inf, 0.2])
    study = ct.study(scenario(), vary={"velocity.hinge": speeds}, outcomes=OUTCOMES)
    assert set(study.failed) == {1, 3} and "velocity.hinge is nan" in study.failed[1]
    assert np.isfinite(study["peak"][[0, 2, 4]]).all()
    # A ball joint whose start is no rotation: the scenario of all variants cannot be.
    m = ct.Mechanism("bob")
    m.add_body("bob", 1.0, com=(0, 0, -1), inertia=0.1)
    m.add_joint("ball", "ground", "bob", ct.Spherical())
    turns = np.array([[1.0, 0, 0, 0], [0.0, 0, 0, 0], [0.0, 1, 0, 0], [1.0, 0, 0, 0]])
    bob = ct.Scenario(m, {"ball": [1.0, 0, 0, 0]}, duration=0.1, integrator="rk4", step=1e-2)
    study = ct.study(bob, vary={"initial.ball": turns}, outcomes={"end": "last(ball[0])"})
    assert list(study.failed) == [1] and np.isfinite(study["end"][[0, 2, 3]]).all()
    loop = ct.Scenario(
        ct.generators.four_bar(), {"A": 0.3}, {"A": 1.0}, duration=0.05, integrator="rk4", step=1e-2
    )
    study = ct.study(loop, vary={"D.in_parent.p.x": np.array([50.0, 60.0])})
    assert set(study.failed) == {0, 1} and "cannot be closed" in study.failed[1]


def test_files_hold_what_the_dataset_holds(tmp_path):
    import pandas
    import xarray

    study = ct.study(scenario(), VARY, samples=6, seed=2, outcomes=OUTCOMES)
    names = [*VARY, *OUTCOMES]
    for end in (".nc", ".parquet", ".csv"):
        study.save(tmp_path / f"runs{end}")
    with xarray.open_dataset(tmp_path / "runs.nc", engine="h5netcdf") as opened:
        for name in names:
            np.testing.assert_array_equal(opened[name], study.dataset[name])
    whole, text = pandas.read_parquet(tmp_path / "runs.parquet"), pandas.read_csv(tmp_path / "runs.csv")
    for name in names:
        np.testing.assert_array_equal(whole[name], study.dataset[name])
        np.testing.assert_allclose(text[name], study.dataset[name], rtol=1e-14)
    with pytest.raises(ct.StateError, match=r"runs\.xlsx: a study is written to"):
        study.save(tmp_path / "runs.xlsx")


def test_a_store_goes_on_where_it_was_ended_and_refuses_other_studies(tmp_path):
    import xarray

    class StopError(Exception):
        pass

    def stop(told):
        if told["done"] >= 8:
            raise StopError

    asked = {"vary": VARY, "samples": 20, "seed": 1, "outcomes": OUTCOMES, "chunk": 4}
    whole = ct.study(scenario(), **asked)
    with pytest.raises(StopError):
        ct.study(scenario(), **asked, store=tmp_path / "a.zarr", progress=stop)
    told = []
    study = ct.study(scenario(), **asked, store=tmp_path / "a.zarr", progress=told.append)
    assert [x["done"] for x in told] == [12, 16, 20] and study.digest == whole.digest
    with xarray.open_zarr(tmp_path / "a.zarr", consolidated=False) as opened:
        np.testing.assert_array_equal(opened["peak"], whole["peak"])
    # A chunk whose end was not written is computed again.
    (tmp_path / "a.zarr" / "done" / "c" / "2").write_bytes(b"")
    assert ct.study(scenario(), **asked, store=tmp_path / "a.zarr").digest == whole.digest
    with pytest.raises(ct.StateError, match="another study"):
        ct.study(scenario(start=1.0), **asked, store=tmp_path / "a.zarr")
    lock = threading.Lock()
    with pytest.raises(ct.StateError, match="key="):
        ct.study(
            scenario(),
            vary=VARY,
            samples=4,
            outcomes={"x": last_slide, "y": lambda run: lock.locked()},
            store=tmp_path / "b",
        )


def test_executors_of_other_makers_are_asked_by_submit():
    asked = {"vary": VARY, "samples": 20, "seed": 1, "outcomes": OUTCOMES, "chunk": 4}
    with ThreadPoolExecutor(2) as pool:
        assert ct.study(scenario(), **asked, executor=pool).digest == ct.study(scenario(), **asked).digest
    for wrong in ("four", 0, 1.5):
        with pytest.raises(ct.StateError, match="executor"):
            ct.study(scenario(), **asked, executor=wrong)


def test_functions_for_optimisers_and_named_numbers_and_contacts():
    from scipy.optimize import differential_evolution

    swing = scenario(control={"slide": "-k * slide"}, parameters={"k": 2.0})
    study = ct.study(swing, vary={"k": [1.0, 3.0], "pole.mass": [0.1, 0.2]}, outcomes={"peak": "max(slide)"})
    for n, run in ((1, study.run(1)), (2, study.run(2))):
        np.testing.assert_allclose(study["q"][n], run.q[-1], atol=1e-13)
    light = ct.study(
        scenario(), vary={"pole.mass": ct.uniform(0.1, 0.4)}, samples=2, outcomes={"end": "last(slide)"}
    )
    function = light.function(["pole.mass"])
    found = differential_evolution(
        lambda x: function(x.T), [(0.1, 0.4)], vectorized=True, updating="deferred", maxiter=3, seed=1
    )
    assert found.fun == pytest.approx(function(np.linspace(0.1, 0.4, 301)[:, None]).min(), rel=1e-3)
    ball = ct.Mechanism("ball")
    ball.add_body("ball", 1.0, inertia=0.1)
    ball.add_joint("drop", "ground", "ball", ct.Prismatic("z"))
    falls = ct.Scenario(ball, {"drop": 0.2}, contacts=[ct.Contact("ball", restitution=0.5)], duration=0.4)
    study = ct.study(
        falls, vary={"initial.drop": [0.1, 0.2, -9.0]}, outcomes={"bounces": lambda run: len(run.transitions)}
    )
    assert list(study.failed) == [2] and study["bounces"][0] > 0
    gathered = ct.study(
        falls,
        vary={"initial.drop": [0.1, 0.2]},
        outcomes={
            "fast": "min(v.drop)",
            "at": "time_of_min(v.drop)",
            "bounces": lambda run: len(run.transitions),
        },
    )
    heights = np.array([0.1, 0.2])
    np.testing.assert_allclose(gathered["fast"], -np.sqrt(2 * 9.81 * heights), rtol=1e-7)
    np.testing.assert_allclose(gathered["at"], np.sqrt(2 * heights / 9.81), rtol=1e-7)
    np.testing.assert_array_equal(gathered["bounces"], study["bounces"][:2])
    back = ct.study(falls, vary={"contact.ball.restitution": [0.3, 0.6]}, outcomes={"up": "max(v.drop)"})
    np.testing.assert_allclose(back["up"], np.array([0.3, 0.6]) * np.sqrt(2 * 9.81 * 0.2), rtol=1e-7)
    with pytest.raises(ct.UnknownNameError, match="restitution"):
        ct.study(falls, vary={"contact.ball.restitutions": [0.3]})
    lists = ct.study([scenario(), scenario(start=0.1)], outcomes={"end": lambda run: run.t[-1]})
    np.testing.assert_allclose(lists["end"], [0.3, 0.4])
    peaks = ct.study([scenario(), scenario(duration=0.2)], outcomes=OUTCOMES)
    assert peaks["end"][1] == pytest.approx(scenario(duration=0.2).run()["hinge"][-1, 0], abs=1e-14)


def test_variants_with_contacts_go_together_and_are_what_each_is_alone():
    ball = ct.Mechanism("ball")
    ball.add_body("ball", 1.0, inertia=0.1)
    ball.add_joint("fly", "ground", "ball", ct.Sdof("dx", "dz"))
    falls = ct.Scenario(
        ball, {"fly": [0.0, 0.2]}, {"fly": [1.0, 0.0]}, duration=0.5,
        contacts=[ct.Contact("ball", friction=0.3, restitution=0.5)],
    )  # fmt: skip
    starts = np.array([[0.0, 0.1], [0.0, 0.25], [0.0, -9.0], [0.0, 0.0]])
    masses = np.array([1.0, 2.0, 1.0, 3.0])
    vary = {"initial.fly": starts, "ball.mass": masses}
    outcomes = {
        "fast": "min(v.fly[1])",
        "bounces": lambda run: len(run.transitions),
        "end": ct.batched(lambda run: run["fly"][..., -1, 0]),
    }
    study = ct.study(falls, vary=vary, outcomes=outcomes, chunk=4)
    assert list(study.failed) == [2]
    for k in (0, 1, 3):
        heavy = falls.with_(initial={"fly": starts[k]}, parameters={"ball.mass": masses[k]}, keep=None)
        run = heavy.run(check=False)
        assert study["bounces"][k] == len(run.transitions)
        assert study["end"][k] == pytest.approx(run["fly"][-1, 0], abs=1e-12)
        assert study["fast"][k] == pytest.approx(-np.sqrt(2.0 * 9.81 * starts[k, 1]), rel=1e-7, abs=1e-12)
        np.testing.assert_allclose(study["q"][k], run.q[-1], atol=1e-12)
    one = ct.study(falls, vary=vary, outcomes=outcomes, chunk=1)
    for name in ("fast", "bounces", "end", "q", "v"):
        np.testing.assert_array_equal(one[name], study[name])


def test_words_for_studies_that_cannot_be():
    for asked, words in (
        ({"vary": {"poll.mass": [1.0]}}, "poll"),
        ({"vary": {"initial.hing": [1.0]}}, "hing"),
        ({"vary": {"k": [1.0]}}, "named number"),
        ({"vary": {"pole.mass": 3.0}}, "ct.grid"),
        ({"vary": {"pole.mass": ct.sobol(0, 1)}}, "samples is missing"),
        ({"vary": {"pole.mass": [1.0]}, "samples": 4}, "combinations"),
        ({"vary": {"pole.mass": [1.0]}, "outcomes": {"x": 3}}, "formula"),
        ({"vary": {}}, "vary"),
        ({"vary": {"pole.mass": np.ones(2), "cart.mass": np.ones(3)}}, "different numbers of rows"),
    ):
        with pytest.raises(ct.CatenaError, match=words):
            ct.study(scenario(), **asked)


def test_a_vector_of_environments_moves_as_single_runs_do():
    s = cart_pole().system()
    env = ct.VectorEnv(
        s, 4, lambda random, n: (random.normal(0.0, 0.1, (n, 2)), np.zeros((n, 2))),
        lambda q, v, action: -(q**2).sum(axis=-1), ["slide"], over=lambda q, v: np.abs(q[:, 1]) > 0.5,
        step=1e-2, substeps=5, horizon=30, seed=2,
        parameters=lambda random, n: {"pole.mass": random.uniform(0.1, 0.3, n)},
    )  # fmt: skip
    start, _ = env.reset()
    first = env.q.copy()
    seen, reward, over, cut, _ = env.step(np.full((4, 1), 2.0))
    assert start.shape == seen.shape == (4, 4) and reward.shape == over.shape == cut.shape == (4,)
    again = ct.VectorEnv(
        s, 4, lambda random, n: (random.normal(0.0, 0.1, (n, 2)), np.zeros((n, 2))), lambda q, v, a: q[:, 0], ["slide"],
        seed=2, parameters=lambda random, n: {"pole.mass": random.uniform(0.1, 0.3, n)},
    )  # fmt: skip
    again.reset()
    np.testing.assert_array_equal(again.q, first)
    random = np.random.default_rng(2)
    random.normal(0.0, 0.1, (4, 2))
    masses = random.uniform(0.1, 0.3, 4)
    run = ct.simulate(
        s, first, np.zeros(2), 0.05, control=lambda t, q, v: np.array([2.0, 0.0]) + 0.0 * v, integrator="rk4",
        step=1e-2, samples=2, parameters={"pole.mass": masses}, check=False,
    )  # fmt: skip
    np.testing.assert_allclose(seen[:, :2], run.q[:, -1], atol=1e-12)
    for _ in range(60):
        seen, reward, over, cut, _ = env.step(np.zeros((4, 1)))
    assert (env.elapsed < 31).all() and np.isfinite(seen).all()


KILLED = """
import sys
import catena as ct
from tests.studies.test_study import OUTCOMES, VARY, scenario

if __name__ == "__main__":
    study = ct.study(
        scenario(), vary=VARY, samples=400, seed=1, outcomes=OUTCOMES, chunk=8, store=sys.argv[1],
        executor=int(sys.argv[2]) or None,
    )
    print(study.digest)
"""


@pytest.mark.slow
def test_kill_of_the_driver_at_random_moments_then_resume_gives_the_same_digest(tmp_path):
    whole = ct.study(scenario(), vary=VARY, samples=400, seed=1, outcomes=OUTCOMES, chunk=8)
    random = np.random.default_rng(0)
    for number in range(10):
        store = str(tmp_path / f"{number}.zarr")
        process = subprocess.Popen([sys.executable, "-c", KILLED, store, "0"], stdout=subprocess.DEVNULL)
        time.sleep(random.uniform(0.5, 4.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
        again = ct.study(scenario(), vary=VARY, samples=400, seed=1, outcomes=OUTCOMES, chunk=8, store=store)
        assert again.digest == whole.digest


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_processes_however_they_are_started_give_the_same_digest(method):
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    asked = {"vary": VARY, "samples": 40, "seed": 1, "outcomes": OUTCOMES, "chunk": 8}
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        assert ct.study(scenario(), **asked, executor=pool).digest == ct.study(scenario(), **asked).digest


def test_outcomes_are_there_if_all_variants_fail(tmp_path):
    study = ct.study(
        scenario(), vary={"pole.mass": [-1.0, -2.0]}, outcomes={"peak": "max(slide)", "f": lambda run: 1.0},
        progress=False,
    )  # fmt: skip
    assert len(study.failed) == 2 and len(study.best("peak")) == 0
    assert np.isnan(study.dataset["peak"]).all() and np.isnan(study["f"]).all()
    study.report(tmp_path / "page.html")


SCRIPT = """
import catena as ct

m = ct.Mechanism("pendulum")
m.add_body("pole", 0.2, com=(0, 0, 0.5), inertia=(0.02, 0.02, 0.001))
m.add_joint("hinge", "ground", "pole", ct.Revolute("y"))
swing = ct.Scenario(m, {"hinge": 0.1}, duration=0.1, integrator="rk4", step=1e-2)

def peak(run):
    return run.max("hinge")

asked = {"vary": {"pole.mass": [0.1, 0.2]}, "outcomes": {"peak": peak}, "chunk": 1, "progress": False}
print(ct.study(swing, **asked, executor=1).digest == ct.study(swing, **asked).digest)
"""


def test_a_script_of_a_few_lines_starts_processes_without_a_guard(tmp_path):
    """Spawned processes would run it again, and it would start them again."""
    pytest.importorskip("cloudpickle")
    (tmp_path / "script.py").write_text(SCRIPT)
    told = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert told.stdout == "True\n" and not told.stderr


def test_a_script_whose_functions_cannot_be_sent_is_told_what_to_do(tmp_path):
    (tmp_path / "cloudpickle.py").write_text("raise ImportError")
    (tmp_path / "script.py").write_text(SCRIPT)
    told = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    assert "if __name__ == '__main__'" in told.stderr.splitlines()[-1]
