"""Changing structure: what an edit costs, what a reduction gains, how long a plan takes, and contacts in real time."""

from time import perf_counter
from typing import Any

import numpy as np

import catena as ct
from benchmarks.examples import example
from benchmarks.table import Figure, figure_table
from benchmarks.timing import best_of
from benchmarks.walkers import LEGS, askew, standing_walker, walker_on_springs
from catena.mechanism.generators import free_flyer

KEPT = ("base", "arm1/joint1", "arm1/joint2", "arm1/joint4")
BATCH = 1024
NOT_SHOWN = (
    "first calls, which compile or read the cache; edits of mechanisms with loops, whose redundancy is looked at "
    "anew. The walker has springs and dampers at its joints, which are compiled, and so are its contacts; the one "
    "under control has none, and a plain function of Python in their place. With either tolerance feet are where a "
    "run at 1e-9 has them to 1.8e-6 m. Planning includes the equations of the mechanism, which are made once for "
    "each system."
)


def report() -> str:
    """The table of this benchmark as Markdown."""
    ct.set_threads(1)
    m = free_flyer()
    m.gravity = (0, 0, 0)
    full = m.system()
    q, v = full.neutral(), np.random.default_rng(0).normal(size=full.nv)

    def reduce() -> ct.Transfer:
        return ct.transfer(full, q, v, m.reduce_to(KEPT, at=full.configuration(q)).system())

    def grapple() -> ct.Transfer:
        held = m.attach("dock", "ground", "arm1/link7", ct.Revolute("z"), at=full.configuration(q))
        return ct.transfer(full, q, v, held.system())

    small = reduce().system
    grapple()
    before = ct.compilations()
    best = best_of({"reduce": reduce, "grapple": grapple}, rounds=40)
    compiled = ct.compilations() - before
    calls = {}
    for name, s in (("full", full), ("small", small)):
        rng = np.random.default_rng(1)
        states = s.integrate(np.tile(s.neutral(), (BATCH, 1)), 0.3 * rng.normal(size=(BATCH, s.nv)))
        rates, tau = rng.normal(size=(2, BATCH, s.nv))
        calls[name] = lambda s=s, x=(states, rates, tau): s.forward_dynamics(*x)
    speed = best_of(calls, rounds=9)
    seconds, factor = planned(), simulated(*landing(), 1e-5)
    slipping = {rtol: simulated(*tumbling(), rtol) for rtol in (1e-5, 1e-4)}
    held = {"at 1 kHz": simulated(*holding(1000.0), 1e-5), "always": simulated(*holding(None), 1e-5)}
    rows = [
        Figure("37-dof robot: lock 28 joints, plan, take over a motion", 1e3 * best["reduce"], "ms", "<= 5"),
        Figure("37-dof robot: grapple, plan, take over a motion", 1e3 * best["grapple"], "ms", "<= 5"),
        Figure("compilations for both", float(compiled), "", "0"),
        Figure(
            "forward dynamics of the 9-dof reduction, quicker by",
            speed["full"] / speed["small"],
            "times",
            ">= 3.5",
        ),
        Figure("example 12 planned: approach and tracking, 13 degrees of freedom", seconds, "s", "<= 30"),
        Figure(
            "walker on springs lands on four feet that stick, simulated seconds in a second",
            factor,
            "",
            ">= 20",
        ),
        *(
            Figure(
                f"the same, dropped unevenly: feet touch, slip, lift and land again, rtol {rtol:g}",
                x,
                "",
                ">= 20",
            )
            for rtol, x in slipping.items()
        ),
        *(
            Figure(f"dropped unevenly without springs, held by a Python function that is asked {how}", x, "")
            for how, x in held.items()
        ),
    ]
    return figure_table("Changing structure, one thread", rows, NOT_SHOWN)


def planned() -> float:
    """Seconds for both plans of the example with the tumbling target, with a new system."""
    tumbling = example("12_tumbling_target")
    _, s, q = tumbling.waiting()
    drift = tumbling.tumbling(s, q)
    begin = perf_counter()
    for plan in tumbling.planned(s, q, drift):
        if not plan.success:
            raise AssertionError(f"The plan failed ({plan.message}); its time means nothing.")
    return perf_counter() - begin


def landing() -> tuple[ct.System, np.ndarray, float]:
    """A walker that falls on its four feet at once, bounces with its legs and comes to rest."""
    s = walker_on_springs().system()
    q = s.neutral()
    q[s.slice_q("base")][2] = 0.05
    return s, q, 1.5


def tumbling() -> tuple[ct.System, np.ndarray, float]:
    """A walker that falls askew, so that its feet land one after the other, slip, lift and land again."""
    s = walker_on_springs().system()
    return s, askew(s, 0.05), 1.0


def holding(rate: float | None) -> tuple[ct.System, np.ndarray, float, Any]:
    """A walker that falls askew, whose legs are held by a controller with a rate, or without."""
    s = standing_walker().system()
    v, q = (
        np.concatenate([np.arange(n)[part(joint)] for joint in s.joints if joint != "base"])
        for n, part in ((s.nv, s.slice_v), (s.nq, s.slice_q))
    )

    def law(t: float, at: np.ndarray, moves: np.ndarray) -> np.ndarray:
        tau = np.zeros(s.nv)
        tau[v] = -600.0 * at[q] - 15.0 * moves[v]
        return tau

    return s, askew(s, 0.05), 1.0, law if rate is None else ct.sampled(law, rate)


def simulated(s: ct.System, q: np.ndarray, friction: float, *rest: Any) -> float:
    """Simulated seconds in a second of a walker with contacts at its feet, under a controller if there is one, with a
    relative tolerance."""
    *control, rtol = rest
    contacts = [ct.Contact(f"{leg}/foot", friction=friction) for leg in LEGS]

    def run() -> ct.Trajectory:
        return ct.simulate(
            s, q, np.zeros(s.nv), 0.6, contacts=contacts, control=control[0] if control else None, rtol=rtol,
            atol=1e-2 * rtol, check=False,
        )  # fmt: skip

    run()
    return 0.6 / best_of({"run": run}, rounds=25)["run"]
