"""A controlled machine: one second of the HSLM mechanism under PID controllers at 1 kHz, as in example 05."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

import catena as ct
from benchmarks.table import Figure, figure_table
from benchmarks.timing import best_of
from catena.simulation.control import PID

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "05_hslm_pid.py"
DURATION = 1.0

NOT_SHOWN = (
    "planning, the first run (which compiles the law into the loop) and what is asked of the trajectory afterwards; "
    "other steps than one of RK4 for each sample of the controller."
)


def report() -> str:
    """The table of this benchmark as Markdown."""
    ct.set_threads(1)
    rows = []
    for words, tips in (("slides and tips", True), ("slides alone", False)):
        seconds = best_of({"run": held(tips)}, rounds=7)["run"]
        rows.append(Figure(f"one second with PID on {words} at 1 kHz", 1e3 * seconds, "ms", "<= 10"))
    return figure_table("A control loop: the HSLM mechanism of example 05", rows, NOT_SHOWN)


def held(tips: bool) -> Any:
    """A call that simulates the fall of the mechanism while its slides, and its tips if they are driven, are held."""
    example = _example()
    # As the example plans them: with driven tips all joints must be in the tree.
    system = (
        ct.generators.hslm(driven_tips=True).system(cut=("hold2", "hold3"))
        if tips
        else ct.generators.hslm().system()
    )
    targets: dict[str, Any] = dict.fromkeys(example.SLIDES, 0.0)
    if tips:
        targets |= dict.fromkeys(example.TIPS, (0.0, 0.0))
    kp, ki, kd = (
        {joint: (0.0, gain) if joint in example.TIPS else gain for joint in targets}
        for gain in (example.KP, example.KI, example.KD)
    )
    q, v = system.neutral(), np.zeros(system.nv)
    carried = np.zeros(system.nv) if tips else system.inverse_dynamics(q, v, v)
    pid = PID(system, targets, kp, ki, kd, bias=carried, rate=example.RATE)
    step = 1.0 / example.RATE
    return lambda: ct.simulate(
        system, q, v, DURATION, control=pid, integrator="rk4", step=step, progress=False, check=False
    )


def _example() -> Any:
    """The example as a module; its name is no identifier."""
    spec = spec_from_file_location("example_05", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
