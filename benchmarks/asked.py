"""What a controller in Python costs beside contacts: families of walkers, boxes, bricks and arms on stops, each run
with a function that gives no forces, in times of the run without it and in processor time."""

import gc
import statistics
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

import catena as ct
from benchmarks.contacts import walkers
from benchmarks.table import Figure, figure_table

COUNT, ROUNDS = 5, 2
RATES = {"always asked": None, "1 kHz": 1000.0, "100 Hz": 100.0}
CORNERS = [(x, y, z) for x in (-0.15, 0.15) for y in (-0.1, 0.1) for z in (-0.05, 0.05)]
FEET = [(0.1, 0.0, -0.05), (-0.1, 0.1, -0.05), (-0.1, -0.1, -0.05)]

Case = tuple[ct.System, np.ndarray, np.ndarray, float, list[Any]]
"""A system, where it begins, how long it moves, and what it touches."""


def report() -> str:
    """The table of this benchmark as Markdown."""
    ct.set_threads(1)
    rows = []
    for name, cases in {
        "walkers": _walkers, "boxes of eight corners": lambda: _thrown(CORNERS, 0.3),
        "bricks on three feet": lambda: _thrown(FEET, 0.0), "arms on stops": _arms,
    }.items():  # fmt: skip
        for tolerance in ({}, {"rtol": 1e-6, "atol": 1e-8}):
            found = np.array([_ratios(case, tolerance) for case in cases()])
            for asked, ratios in zip(RATES, found.T, strict=True):
                told = f"{name}, {asked}{', rtol 1e-6' if tolerance else ''}"
                rows.append(Figure(f"{told}: median", statistics.median(ratios), "times", "<= 3"))
                rows.append(Figure(f"{told}: worst", float(ratios.max()), "times", "<= 3"))
    return figure_table(
        f"A controller in Python that gives zeros, {COUNT} runs each",
        rows,
        "what the controller itself takes.",
    )


def _ratios(case: Case, tolerance: dict[str, float]) -> list[float]:
    """How many times as long as without a controller a run takes, by how it is asked."""
    s, q, v, duration, contacts = case
    nothing = np.zeros(s.nv)

    def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return nothing

    controls = [None, *(law if rate is None else ct.sampled(law, rate) for rate in RATES.values())]
    best = [np.inf] * len(controls)
    # What the cases before have left is not looked through again in this one.
    gc.collect()
    gc.freeze()
    # The first of the rounds, which compiles, does not count.
    for turn in range(ROUNDS + 1):
        for k, control in enumerate(controls):
            start = process_time()
            ct.simulate(
                s,
                q,
                v,
                duration,
                contacts=contacts,
                control=control,
                check=False,
                progress=False,
                **tolerance,
            )
            best[k] = min(best[k], process_time() - start) if turn else np.inf
    return [x / best[0] for x in best[1:]]


def _walkers() -> Iterator[Case]:
    for one in walkers(COUNT):
        yield one.system, one.q, np.zeros(one.system.nv), 0.6, one.contacts


def _thrown(points: list[tuple[float, float, float]], tilt: float) -> Iterator[Case]:
    """A body with some points that is thrown along the floor, tilted at random."""
    m = ct.Mechanism("thrown")
    m.add_body("body", 2.0, inertia=(0.02, 0.03, 0.04))
    m.add_joint("free", "ground", "body", ct.Free())
    for k, p in enumerate(points):
        m.add_frame(f"point {k}", "body", ct.Pose(p=p))
    s = m.system()
    for seed in range(COUNT):
        rng, turn, v = np.random.default_rng(seed), np.zeros(s.nv), np.zeros(s.nv)
        turn[:3], v[2:5] = tilt * rng.standard_normal(3), rng.uniform(-1.5, 1.5, 3)
        q = s.integrate(s.neutral(), turn)
        q[2] += rng.uniform(0.0, 0.05) - min(s.pose(q, f"point {k}").p[2] for k in range(len(points)))
        friction, restitution = rng.uniform(0.2, 0.9), float(rng.choice([0.0, 0.3]))
        yield (
            s,
            q,
            v,
            0.5,
            [
                ct.Contact(f"point {k}", friction=friction, restitution=restitution)
                for k in range(len(points))
            ],
        )


def _arms() -> Iterator[Case]:
    """Chains that swing between rigid stops."""
    for seed in range(COUNT):
        rng = np.random.default_rng(seed)
        s = ct.generators.chain(int(rng.integers(2, 6))).system()
        q, v = rng.uniform(-0.5, 0.5, s.nq), rng.uniform(-2.0, 2.0, s.nv)
        bounce = float(rng.choice([0.0, 0.3, 0.6]))
        yield s, q, v, 1.0, [ct.Stop(joint, lower=-0.8, upper=0.8, restitution=bounce) for joint in s.joints]
