"""Everyday work: parameters in lanes against one run after the other, assembly, a suspension against its clock."""

from typing import Any

import numpy as np

import catena as ct
from benchmarks.examples import example
from benchmarks.timing import best_of

STATES, ALONE, DURATION = 1000, 20, 10.0
METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("rk4, 10 ms", {"integrator": "rk4", "step": 0.01}),
    ("dopri5, rtol 1e-11", {}),
)
FASTER, QUICK, REAL_TIME = 20.0, 1.0, 50.0
# What a run may cost beside its steps [ms].
AROUND = 0.3
NOT_SHOWN = (
    "mechanisms with more bodies, for which a run by itself spends less of its time outside the compiled loop; the "
    "first run, which compiles. Each of the runs one after the other plans its mechanism and audits itself as a "
    f"user's would; of these {ALONE} were measured. With two threads the lanes take about half of the time."
)


def report() -> str:
    """The tables of this benchmark as Markdown."""
    ct.set_threads(1)
    lines = [
        f"### Everyday work: {STATES} cart-poles with as many masses and lengths, {DURATION:g} s, one thread",
        "",
        "| method | in lanes [s] | one after the other [s] | ratio | aim | largest relative difference |",
        "|---|--:|--:|--:|--:|--:|",
        *(study(name, options) for name, options in METHODS),
        "",
        "| assembly of a four-bar | time [ms] | aim |",
        "|---|--:|--:|",
        *assembly(),
        "",
        "| suspension over a bump, 2 s | step [ms] | time [ms] | times real time | aim | error [rad or m] |",
        "|---|--:|--:|--:|--:|--:|",
        *(suspension(step) for step in (1e-3, 2e-3, 4e-3)),
        "",
        "| a run of 1 ms | around its steps [ms] | without the audit [ms] | a step of rk4 [ms] | aim |",
        "|---|--:|--:|--:|--:|",
        *(around(name, mechanism) for name, mechanism in short_runs().items()),
    ]
    return "\n".join([*lines, "", f"Not shown: {NOT_SHOWN}", ""])


def cart_pole() -> ct.Mechanism:
    """A pole on a cart."""
    m = ct.Mechanism("cart-pole")
    m.add_body("cart", mass=1.0)
    m.add_body("pole", mass=0.2, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001))
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"))
    return m


def study(name: str, options: dict[str, Any]) -> str:
    """One row: all states in one run, and some of them by themselves."""
    m, rng = cart_pole(), np.random.default_rng(0)
    s = m.system()
    masses, lengths = rng.uniform(0.1, 1.0, STATES), rng.uniform(0.2, 1.0, STATES)
    start = [0.0, 0.3], [0.0, 0.0], DURATION
    more = {"samples": 101, "progress": False, **options}
    kept: dict[str, Any] = {}

    def lanes() -> None:
        kept["run"] = ct.simulate(s, *start, parameters={"pole.mass": masses, "pole.com.z": lengths}, **more)

    def alone() -> None:
        kept["alone"] = [
            ct.simulate(m.with_body("pole", mass=masses[k], com=(0, 0, lengths[k])).system(), *start, **more)
            for k in range(ALONE)
        ]

    best = best_of({"lanes": lanes, "alone": alone}, rounds=3)
    one_by_one = best["alone"] / ALONE * STATES
    pairs = [(run.q, kept["run"].q[k]) for k, run in enumerate(kept["alone"])]
    off = max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)
    return (
        f"| {name} | {best['lanes']:.3g} | {one_by_one:.3g} | {one_by_one / best['lanes']:.3g} | >= {FASTER:g} "
        f"| {off:.1e} |"
    )


def assembly() -> list[str]:
    """Rows: one configuration from the neutral one and from a closed one, and a whole turn."""
    s = ct.generators.four_bar().system()
    closed = s.assemble({"A": 0.3})
    angles = np.radians(np.arange(361))[:, None]
    best = best_of(
        {
            "from the neutral configuration": lambda: s.assemble({"A": 0.4}),
            "from a closed one nearby": lambda: s.assemble({"A": 0.4}, guess=closed),
            "361 configurations": lambda: s.assemble({"A": angles}),
        },
        rounds=5,
    )
    aims = (f"<= {QUICK:g}", f"<= {QUICK:g}", "")
    return [f"| {name} | {1e3 * t:.3g} | {aim} |" for (name, t), aim in zip(best.items(), aims, strict=True)]


def short_runs() -> dict[str, ct.Mechanism]:
    """Mechanisms whose runs are short: trees, loops and a floating base."""
    g = ct.generators
    return {"cart-pole": cart_pole(), "arm7": g.arm7(), "four-bar": g.four_bar(), "stewart": g.stewart(),
            "walker": g.walker(0)}  # fmt: skip


def around(name: str, mechanism: ct.Mechanism) -> str:
    """One row: what a run costs beside its steps, from one step and from eleven."""
    s = mechanism.system()
    q, v = s.neutral() if not s.loops else s.assemble(), np.zeros(s.nv)

    def run(steps: int, check: bool) -> Any:
        return lambda: ct.simulate(
            s, q, v, 1e-3, integrator="rk4", step=1e-3 / steps, check=check, progress=False
        )

    best = best_of({"one": run(1, True), "bare": run(1, False), "eleven": run(11, False)}, rounds=15)
    step = max(0.0, best["eleven"] - best["bare"]) / 10
    times = (best["one"] - step, best["bare"] - step, step)
    return f"| {name} | {' | '.join(f'{1e3 * x:.3g}' for x in times)} | <= {AROUND:g} |"


def suspension(step: float) -> str:
    """One row: a wheel on wishbones over a bump with fixed steps, against steps chosen by an error."""
    s, rest, bump = example("28_wishbone").settled()
    options = {"motion": {"ride": bump}, "samples": 201, "progress": False, "check": False}
    kept: dict[str, Any] = {}

    def run() -> None:
        kept["run"] = ct.simulate(s, rest, np.zeros(s.nv), 2.0, integrator="rk4", step=step, **options)

    took = best_of({"run": run}, rounds=5)["run"]
    exact = ct.simulate(s, rest, np.zeros(s.nv), 2.0, **options)
    off = float(np.abs(kept["run"].q - exact.q).max())
    return f"| rk4 | {1e3 * step:g} | {1e3 * took:.3g} | {2.0 / took:.3g} | >= {REAL_TIME:g} | {off:.1e} |"
