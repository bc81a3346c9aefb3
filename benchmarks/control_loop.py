"""A controlled machine: one second of the HSLM mechanism under PID controllers at 1 kHz, as in example 05."""

from typing import Any

import numpy as np

import catena as ct
from benchmarks.examples import example
from benchmarks.table import Figure, figure_table
from benchmarks.timing import best_of
from catena.simulation.control import PID

DURATION = 1.0

NOT_SHOWN = (
    "planning, the first run (which compiles the law into the loop) and what is asked of the trajectory afterwards, "
    "the audit included."
)


def report() -> str:
    """The table of this benchmark as Markdown."""
    ct.set_threads(1)
    rows = []
    cases = [
        ("slides alone, midpoint, loops closed every 20 steps", False, "midpoint", 20, "<= 10"),
        ("slides alone, rk4, loops closed every 20 steps", False, "rk4", 20, ""),
        ("slides alone, rk4", False, "rk4", 1, ""),
        ("slides and tips, rk4", True, "rk4", 1, ""),
    ]
    for words, tips, integrator, every, aim in cases:
        call, error = held(tips, integrator, every), error_of(tips, integrator, every)
        seconds = best_of({"run": call}, rounds=15)["run"]
        what = f"one second with PID on {words}; off by {error:.0e} rad or m"
        rows.append(Figure(what, 1e3 * seconds, "ms", aim))
    return figure_table("A control loop: the HSLM mechanism of example 05", rows, NOT_SHOWN)


def error_of(tips: bool, integrator: str, every: int) -> float:
    """The largest error of a coordinate at any sample, against steps ten times shorter."""
    runs = [held(tips, integrator, every)(), held(tips, "rk4", 1, 10)()]
    return float(np.abs(runs[0].q - runs[1].q[::10]).max())


def held(tips: bool, integrator: str, every: int, parts: int = 1) -> Any:
    """A call that simulates the fall of the mechanism while slides and tips are held, or its way up with the slides
    alone, with so many steps for each sample of the controller."""
    hslm = example("05_hslm_pid")
    # As the example plans them: with driven tips all joints must be in the tree.
    system = (
        ct.generators.hslm(driven_tips=True).system(cut=("hold2", "hold3"))
        if tips
        else ct.generators.hslm().system()
    )
    # The fall of the first simulation, and the way up of the third.
    up = hslm.joints_at(hslm.UP)
    targets: dict[str, Any] = {joint: up[joint] for joint in hslm.SLIDES}
    if tips:
        targets = dict.fromkeys(hslm.SLIDES, 0.0)
        targets |= dict.fromkeys(hslm.TIPS, (0.0, 0.0))
    kp, ki, kd = (
        {joint: (0.0, gain) if joint in hslm.TIPS else gain for joint in targets}
        for gain in (hslm.KP, hslm.KI, hslm.KD)
    )
    q, v = system.neutral(), np.zeros(system.nv)
    carried = np.zeros(system.nv) if tips else system.inverse_dynamics(q, v, v)
    pid = PID(system, targets, kp, ki, kd, bias=carried, rate=hslm.RATE)
    step = 1.0 / (parts * hslm.RATE)
    return lambda: ct.simulate(
        system, q, v, DURATION, control=pid, integrator=integrator, step=step, drift=ct.Projection(every),
        progress=False, check=False,
    )  # fmt: skip
