"""Contacts over a family: walkers on springs that fall askew on their feet, and what acts beside them.

One walker says little: its feet may all stick, or one of them may slip so slowly that friction is stiff. So tilts,
heights and friction are drawn at random, and the median and the worst are told, in processor time; those of a batch,
which threads may share, on the clock.
"""

import statistics
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np

import catena as ct
from benchmarks.table import Figure, figure_table
from benchmarks.timing import best_of
from benchmarks.walkers import LEGS, walker_on_springs

COUNT = 64
DURATION = 0.6
ROUNDS = 3
TILT = np.array([0.08, 0.05, 0.0])


def report() -> str:
    """The table of this benchmark as Markdown."""
    ct.set_threads(1)
    alone = walkers(COUNT)
    some = alone[: COUNT // 4]
    rows = [
        *_told("feet on the floor", [factor(run) for run in alone], ">= 40", ">= 10"),
        *_told("the same, `samples=2`", [factor(run, samples=2) for run in alone]),
        *_told("a Python controller at 1 kHz", [factor(run, control=_zeros(run, 1e3)) for run in some]),
        *_told(
            "a Python controller that is always asked", [factor(run, control=_zeros(run)) for run in some]
        ),
        *_told("on a driven plate", [factor(run) for run in walkers(COUNT // 4, plate=True)]),
    ]
    rows += _together(alone)
    one, twelve = (_bouncing(n) for n in (1, 12))
    rows.append(Figure("twelve bouncing balls beside one", twelve / one, "times as long", "~ 12"))
    return figure_table(
        f"Walkers on springs dropped askew, {COUNT} of them (16 where something acts), simulated seconds in a second",
        rows,
        "the first run, which compiles; other mechanisms.",
    )


class Walker:
    """A walker that falls: its system, configuration (nq,), contacts, and what is prescribed."""

    def __init__(self, system: ct.System, seed: int, plate: bool) -> None:
        rng = np.random.default_rng(seed)
        self.system, turn = system, np.zeros(system.nv)
        turn[system.slice_v("base")][:3] = TILT + 0.05 * rng.standard_normal(3)
        height, friction = rng.choice([0.02, 0.05]), rng.uniform(0.3, 1.0)
        q = system.integrate(system.neutral(), turn)
        q[system.slice_q("base")][2] += height - min(system.pose(q, f"{leg}/foot").p[2] for leg in LEGS)
        self.q, on = q, "plate" if plate else "ground"
        self.contacts = [ct.Contact(f"{leg}/foot", on, friction=friction) for leg in LEGS]
        self.motion = (
            {"support": ct.references.function(lambda t: 0.01 * ct.symbols.sin(12.0 * t))} if plate else None
        )


def walkers(count: int, plate: bool = False) -> list[Walker]:
    """So many walkers that fall on the floor, or on a plate that is driven to and fro."""
    mechanism = walker_on_springs()
    if plate:
        mechanism.add_body("plate", mass=5.0, inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint("support", "ground", "plate", ct.Prismatic("x"))
    system = mechanism.system()
    return [Walker(system, seed, plate) for seed in range(count)]


def factor(run: Walker, **settings: Any) -> float:
    """Simulated seconds in a second of processor time."""
    settings = {"motion": run.motion} | settings if run.motion else settings

    def play() -> ct.Trajectory:
        return ct.simulate(
            run.system, run.q, np.zeros(run.system.nv), DURATION, contacts=run.contacts, rtol=1e-4, atol=1e-6,
            check=False, **settings,
        )  # fmt: skip

    play()
    return DURATION / best_of({"run": play}, rounds=ROUNDS, seconds_per_turn=0.0, clock=process_time)["run"]


def _together(some: list[Walker]) -> list[Figure]:
    """All walkers as one batch with feet alike, on the clock, in turns with the same walkers one by one."""
    system, feet = some[0].system, [ct.Contact(f"{leg}/foot", friction=0.6) for leg in LEGS]
    q = np.array([run.q for run in some])

    def play(q: np.ndarray, threads: int = 1) -> ct.Trajectory:
        ct.set_threads(threads)
        v = np.zeros((*q.shape[:-1], system.nv))
        return ct.simulate(system, q, v, DURATION, contacts=feet, rtol=1e-4, atol=1e-6, check=False)

    rivals = {
        "one by one": lambda: [play(x) for x in q],
        "one thread": lambda: play(q),
        "two threads": lambda: play(q, 2),
    }
    best = best_of(rivals, rounds=ROUNDS, seconds_per_turn=0.0, clock=perf_counter)
    ct.set_threads(1)
    return [
        Figure(f"{len(some)} in a batch, {name}", len(some) * DURATION / best[name], "x real time each", "")
        for name in rivals
    ]


def _told(what: str, factors: list[float], *aims: str) -> list[Figure]:
    median, worst = aims or ("", "")
    return [
        Figure(f"{what}: median", statistics.median(factors), "x real time", median),
        Figure(f"{what}: worst", min(factors), "x real time", worst),
    ]


def _zeros(run: Walker, rate: float | None = None) -> Callable[..., Any]:
    nothing = np.zeros(run.system.nv)

    def law(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return nothing

    return law if rate is None else ct.sampled(law, rate)


def _bouncing(count: int) -> float:
    """Seconds for a second of so many balls that bounce beside each other from different heights."""
    m, contacts = ct.Mechanism(), []
    for k in range(count):
        m.add_body(f"ball {k}", mass=1.0, inertia=(0.004, 0.004, 0.004))
        m.add_joint(f"free {k}", "ground", f"ball {k}", ct.Free())
        contacts.append(ct.Contact(f"ball {k}", radius=0.1, restitution=0.8, friction=0.3))
    s = m.system()
    q = s.neutral()
    for k in range(count):
        q[s.slice_q(f"free {k}")][:3] = k, 0.0, 0.6 + 0.03 * k
    return best_of(
        {"run": lambda: ct.simulate(s, q, np.zeros(s.nv), 2.0, contacts=contacts, check=False)},
        rounds=ROUNDS,
        seconds_per_turn=0.0,
        clock=process_time,
    )["run"]
