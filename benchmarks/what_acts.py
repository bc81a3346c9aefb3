"""What acts, and what it costs: runs with an ordinary thing added, beside the plain run of the same mechanism."""

import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import mujoco
import numpy as np

import catena as ct
from benchmarks.peers.mujoco_model import to_mujoco
from benchmarks.table import Comparison, Figure, comparison_table, figure_table
from benchmarks.timing import best_of
from catena.kernels.program import Program
from catena.mechanism.generators import arm7, driven_andrews, four_bar, n_four_bars

SETTINGS: dict[str, Any] = {"integrator": "rk4", "step": 1e-3, "progress": False, "check": False}
DURATION = 1.0
ROUNDS = 15


def report() -> str:
    """The tables of this benchmark as Markdown."""
    ct.set_threads(1)
    return "\n".join([_beside_the_plain_run(), _steps_from_python(), _whole_runs()])


def _run(system: ct.System, q: Any, v: Any, **more: Any) -> Callable[[], Any]:
    return lambda: ct.simulate(system, q, v, DURATION, **SETTINGS, **more)


def _beside_the_plain_run() -> str:
    """The same rk4 steps with something added, as a multiple of the plain run."""
    q, v = np.full(7, 0.3), np.zeros(7)
    plain = arm7()
    tip, joint = list(plain.bodies)[-1], plain.system().joints[0]
    sprung, pushed = arm7(), arm7()
    sprung.add_spring_between("spring", "ground", tip, stiffness=10.0, rest_length=0.5)
    pushed.add_wrench("push", tip, force=(1.0, 0.0, 0.0))
    still = ct.quintic([0.0, 2.0], [0.3, 0.5])
    wind = ct.ExternalWrench(lambda t, q, v: [0, 0, 0, ct.symbols.sin(t), 0, 0], axes="ground", symbolic=True)
    loop = four_bar().system()
    q_loop = loop.assemble({"A": 0.3})
    v_loop = loop.velocity(q_loop, {"A": 3.0})
    arm = plain.system()
    cases: dict[str, tuple[Callable[[], Any], str]] = {
        "a spring between points": (_run(sprung.system(), q, v), "arm7"),
        "a constant wrench": (_run(pushed.system(), q, v), "arm7"),
        "prescribed motion by a polynomial": (_run(arm, q, v, motion={joint: still}), "arm7"),
        "a wrench written with symbols": (_run(arm, q, v, forces={tip: wind}), "arm7"),
        "Baumgarte instead of projection": (_run(loop, q_loop, v_loop, drift=ct.Baumgarte(0.05)), "four-bar"),
        "a plain function as controller": (_run(arm, q, v, control=lambda t, q, v: 0.0 * v), "arm7"),
    }
    bare = {"arm7": _run(arm, q, v), "four-bar": _run(loop, q_loop, v_loop)}
    for call in [*bare.values(), *(call for call, _ in cases.values())]:
        call()
    rows = []
    for words, (call, name) in cases.items():
        seconds = best_of({"with": call, "plain": bare[name]}, rounds=ROUNDS)
        aim = "" if "plain function" in words else "<= 1.5"
        rows.append(Figure(f"{words}, {name}", seconds["with"] / seconds["plain"], "x the plain run", aim))
    return figure_table(
        "What acts, and what it costs: one second in 1000 steps of rk4",
        rows,
        "the first run, which compiles.",
    )


def _steps_from_python() -> str:
    """Single steps asked for from Python, against MuJoCo's."""
    mechanism = arm7()
    system = mechanism.system()
    model, _ = to_mujoco(mechanism)
    model.opt.timestep = 1e-3
    data = mujoco.MjData(model)
    start, tau = np.full(7, 0.3), np.zeros(7)
    rows = []
    for integrator, peer in (
        ("semi_implicit", mujoco.mjtIntegrator.mjINT_EULER),
        ("rk4", mujoco.mjtIntegrator.mjINT_RK4),
    ):
        model.opt.integrator = peer
        stepper = ct.Stepper(system, start, tau, step=1e-3, integrator=integrator)

        def ours(stepper: ct.Stepper = stepper) -> None:
            stepper.reset(start, tau)
            for _ in range(200):
                stepper.step(tau)

        def theirs() -> None:
            mujoco.mj_resetData(model, data)
            data.qpos[:] = start
            for _ in range(200):
                data.ctrl[:] = 0.0
                mujoco.mj_step(model, data)

        seconds = best_of({"ours": ours, "theirs": theirs}, rounds=ROUNDS)
        rows.append(
            Comparison(
                f"Stepper.step of arm7, {integrator}",
                "MuJoCo `mj_step`",
                seconds["ours"] / 200,
                seconds["theirs"] / 200,
                0.5,
            )
        )
    return comparison_table("One step from Python", rows, "batches, and reading anything but q and v.")


def _whole_runs() -> str:
    """Runs that once took seconds, and what a call costs before its first step."""
    arm = arm7().system()
    q, v, tau = np.full(7, 0.3), np.zeros(7), np.zeros(7)
    run = ct.simulate(arm, q, v, DURATION, control=lambda t, q, v: tau, check=False, progress=False)
    asked = best_of(
        {"run": lambda: ct.simulate(arm, q, v, DURATION, control=lambda t, q, v: tau, check=False, progress=False)},
        rounds=7,
    )["run"]  # fmt: skip
    warm = best_of({"run": lambda: ct.simulate(arm, q, v, 1e-3, **SETTINGS)}, rounds=50)["run"]
    before = min(_before_the_first_step(arm, q, v) for _ in range(200))
    plain = min(_before_the_first_call(arm, q, v) for _ in range(200))
    squeezer = driven_andrews().system()
    start = squeezer.neutral()
    rows = [
        Figure("a plain controller in dopri5, for each call", 1e6 * asked / (7 * run.steps), "us", "<= 25"),
        Figure("ct.simulate before the first step, on a warm system", 1e3 * plain, "ms", "<= 0.3"),
        Figure("the same with a plain function as controller", 1e3 * before, "ms", ""),
        Figure("ct.simulate of one step, with its trajectory, on a warm system", 1e3 * warm, "ms", ""),
        Figure(
            "Andrews' mechanism, 0.03 s at the default tolerance",
            1e3 * _seconds(squeezer, start, None, 0.03),
            "ms",
            "<= 100",
        ),
    ]
    row = n_four_bars(40).system()
    upright = row.neutral()
    rows.append(
        Figure(
            "40 four-bars, 10 s through ten flat passages, default tolerance",
            _seconds(row, upright, row.velocity(upright, {"pin0": 1.0}), 10.0, rounds=2), "s", "<= 1",
        )
    )  # fmt: skip
    return figure_table("Whole runs of one state", rows, "the audit, and the first run, which compiles.")


def _before_the_first_step(system: ct.System, q: Any, v: Any) -> float:
    """The time from the call until the controller is asked inside the first step; it is asked once before."""
    asked = []

    def control(t: float, q: Any, v: Any) -> Any:
        asked.append(time.perf_counter())
        return 0.0 * v

    begun = time.perf_counter()
    ct.simulate(system, q, v, 1e-3, control=control, **SETTINGS)
    return asked[1] - begun


def _before_the_first_call(system: ct.System, q: Any, v: Any) -> float:
    """The time from the call of a run without a controller until compiled code is called for the first time, which
    takes the step."""
    called: list[float] = []
    run = Program.run

    def noted(program: Program, *arguments: Any, **more: Any) -> Any:
        called.append(time.perf_counter())
        return run(program, *arguments, **more)

    with patch.object(Program, "run", noted):
        begun = time.perf_counter()
        ct.simulate(system, q, v, 1e-3, **SETTINGS)
    return called[0] - begun


def _seconds(system: ct.System, q: Any, v: Any, duration: float, rounds: int = 3) -> float:
    """The least time of a run at the default tolerance."""
    v = np.zeros(system.nv) if v is None else v
    ct.simulate(system, q, v, min(duration, 0.01), check=False, progress=False)
    found = []
    for _ in range(rounds):
        begun = time.perf_counter()
        ct.simulate(system, q, v, duration, check=False, progress=False)
        found.append(time.perf_counter() - begun)
    return min(found)
