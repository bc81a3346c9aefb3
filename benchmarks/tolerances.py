"""What a tolerance buys and what it costs: errors, energy and time of ordinary motions over tolerances and methods.

The default tolerance of `ct.simulate` is judged by this table (docs/decisions/018).
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import catena as ct
from catena.mechanism.generators import arm7, driven_andrews, four_bar, n_four_bars, stewart

TOLERANCES = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11)
METHODS = ("dopri5", "dop853")


def report() -> str:
    """The tables of this benchmark as Markdown."""
    ct.set_threads(1)
    lines = [
        "### What a tolerance buys", "",
        "Error: largest difference of a coordinate at the end from a run at 1e-13 with dop853 [rad or m]. Energy: the "
        "largest change that nothing explains, as a part of the largest kinetic energy. Time without audit.", "",
        "| motion | method | tolerance | error | energy | steps | time [ms] |", "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name, system, q, v, duration, motion in _motions():
        exact = ct.simulate(system, q, v, duration, integrator="dop853", rtol=1e-13, atol=1e-15, **motion)
        for method in METHODS:
            for rtol in TOLERANCES:
                settings = {"integrator": method, "rtol": rtol, "atol": rtol / 100, "check": False, **motion}
                ct.simulate(system, q, v, duration / 50, **settings)
                begun = time.perf_counter()
                run = ct.simulate(system, q, v, duration, **settings)
                seconds = time.perf_counter() - begun
                error = np.abs(system.difference(exact.q[-1], run.q[-1])).max()
                kinetic = np.max(run.kinetic_energy)
                drift = np.abs(run.energy - run.energy[0]).max() / kinetic if not motion else np.nan
                lines.append(
                    f"| {name} | {method} | {rtol:.0e} | {error:.1e} | {drift:.1e} | {run.steps} "
                    f"| {1e3 * seconds:.1f} |"
                )
    return "\n".join([*lines, ""])


def _motions() -> Iterator[tuple[str, ct.System, Any, Any, float, dict[str, Any]]]:
    """Mechanism, start, duration and what else acts."""
    arm = arm7().system()
    yield "arm7 falls and swings, 5 s", arm, np.full(7, 0.3), np.zeros(7), 5.0, {}
    bar = four_bar().system()
    q = bar.assemble({"A": 0.3})
    yield "four-bar turns, 10 s", bar, q, bar.velocity(q, {"A": 3.0}), 10.0, {}
    platform = stewart().system()
    yield "Stewart platform falls, 0.3 s", platform, platform.neutral(), np.zeros(platform.nv), 0.3, {}
    row = n_four_bars(40).system()
    q = row.neutral()
    yield "40 four-bars through flat passages, 10 s", row, q, row.velocity(q, {"pin0": 1.0}), 10.0, {}
    squeezer = driven_andrews().system()
    yield "Andrews' squeezer, 0.03 s", squeezer, squeezer.neutral(), np.zeros(squeezer.nv), 0.03, {}
    plate = ct.Mechanism("plate")
    plate.add_body("plate", mass=2.0, inertia=(0.1, 0.2, 0.25))
    plate.add_joint("free", "ground", "plate", ct.Free())
    tumbling = plate.system()
    v = np.array([0.1, 6.0, 0.05, 1.0, 0.0, 3.0])
    yield "a plate thrown and tumbling, 10 s", tumbling, tumbling.neutral(), v, 10.0, {}
