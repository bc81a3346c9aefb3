"""How long whoever cancels a run waits for what there is of it, over the ways in which runs take steps: the processor
time that the thread of the run takes from the call of `set()` to its return, so that a busy machine does not count."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import catena as ct
from benchmarks.contacts import walkers
from benchmarks.table import Figure, figure_table

TURNS, AIM = 5, "<= 50"
# A run goes on for so long before it is cancelled [s of processor time], at least and at most.
SOONEST, LATEST = 0.1, 0.8
# It would take so long [s]; where a solver takes small steps, and would refuse a million of them, less.
ENDLESS, SHORTER = 1e3, 100.0

Case = tuple[ct.System, np.ndarray, np.ndarray, dict[str, Any]]


def report() -> str:
    """The table of this benchmark as Markdown."""
    rng, rows = np.random.default_rng(0), []
    for name, make in KINDS.items():
        late = [1e3 * waited(make(), rng.uniform(SOONEST, LATEST)) for _ in range(TURNS)]
        rows.append(Figure(f"{name}: median", statistics.median(late), "ms", AIM))
        rows.append(Figure(f"{name}: worst", max(late), "ms", AIM))
    return figure_table(
        f"Runs that are cancelled by another thread, {TURNS} each, after {SOONEST:g} to {LATEST:g} s of computing",
        rows,
        "code that is compiled for the first time, which nobody can cancel; runs without `cancel=`.",
    )


def waited(case: Case, after: float) -> float:
    """The processor time [s] that a run takes from when it is cancelled, after so many seconds of it."""
    system, q, v, given = case
    options = {"check": False, "progress": False, **given}
    duration = options.pop("duration", ENDLESS)
    # What there is to compile is compiled before.
    ct.simulate(
        system, q, v, given.get("step", 1e-3) * 20.0, **{k: x for k, x in options.items() if k != "samples"}
    )
    cancel, me = threading.Event(), threading.get_ident()
    clock, told, over = time.pthread_getcpuclockid(me), list[float](), list[bool]()
    begun = time.clock_gettime(clock)

    def stop() -> None:
        while time.clock_gettime(clock) - begun < after and not over:
            time.sleep(0.005)
        told.append(time.clock_gettime(clock))
        cancel.set()

    other = threading.Thread(target=stop)
    other.start()
    try:
        run = ct.simulate(system, q, v, duration, cancel=cancel, **options)
        late = time.clock_gettime(clock)
    finally:
        over.append(True)
        other.join()
    assert run.ended.startswith("cancelled"), run.ended
    return late - told[0]


def _of(mechanism: ct.Mechanism, turned: float = 0.3, states: int = 0, **given: Any) -> Case:
    """A case of a mechanism that begins a little off where it stands, of one state or of many."""
    s = mechanism.system()
    q = s.assemble() if s.loops else s.integrate(s.neutral(), np.full(s.nv, turned))
    v = np.zeros(s.nv)
    if states:
        q = np.broadcast_to(q, (states, s.nq))
        v = (
            0.1 * np.random.default_rng(1).standard_normal((states, s.nv))
            if not s.loops
            else np.zeros((states, s.nv))
        )
    return s, q, v, given


def _zeros(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.zeros_like(v)


def _walker(**given: Any) -> Case:
    one = walkers(1)[0]
    return one.system, one.q, np.zeros(one.system.nv), {"contacts": one.contacts, **given}


def _walkers(states: int, **given: Any) -> Case:
    some = walkers(states)
    q = np.stack([one.q for one in some])
    return some[0].system, q, np.zeros((states, some[0].system.nv)), {"contacts": some[0].contacts, **given}


def _springy() -> ct.Mechanism:
    """A Stewart platform on springs: without them it falls for ever, by ever longer steps."""
    m = _G.stewart()
    for k in range(1, 7):
        m.add_spring(f"spring{k}", f"leg{k}", stiffness=500.0 + 20.0 * k)
    return m


def _beam() -> ct.Mechanism:
    m = ct.Mechanism("beam")
    beam = ct.Beam(
        length=1.0, area=4e-4, inertia=1.3e-8, density=2700.0, young=7e10, modes={"z": 6}, damping=0.01
    )
    m.add_body("beam", flexible=beam)
    m.add_joint("hinge", "ground", "beam", ct.Revolute("y"))
    return m


def _rubbing() -> ct.Mechanism:
    m = ct.Mechanism("dry")
    for k in range(3):
        m.add_body(f"b{k}", mass=1.0, com=(0.0, 0.0, -0.3), inertia=0.02)
        place = ct.Pose(p=(0.0, 0.0, -0.6 if k else 0.0))
        m.add_joint(
            f"j{k}", f"b{k - 1}" if k else "ground", f"b{k}", ct.Revolute("y"), in_parent=place, friction=0.2
        )
    return m


def _locking(**given: Any) -> Case:
    changes = [ct.Change(at=0.01 * k, **{"lock" if k % 2 else "unlock": "joint4"}) for k in range(1, 400)]
    return _of(ct.generators.chain(4), changes=changes, **given)


_G = ct.generators
RK4: Mapping[str, Any] = {"integrator": "rk4", "step": 1e-3}
KINDS: Mapping[str, Callable[[], Case]] = {
    "arm, rk4": lambda: _of(_G.arm7(), samples=1001, **RK4),
    "arm, rk4, all steps kept": lambda: _of(_G.arm7(), **RK4),
    "arm, dopri5": lambda: _of(_G.arm7()),
    "arm, abm4": lambda: _of(_G.arm7(), integrator="abm4", step=1e-3),
    "arm, radau": lambda: _of(_G.arm7(), duration=SHORTER, integrator="radau", rtol=1e-8, atol=1e-10),
    "arm, lsoda": lambda: _of(_G.arm7(), duration=SHORTER, integrator="lsoda", rtol=1e-5, atol=1e-7),
    "arm, bdf": lambda: _of(_G.arm7(), duration=SHORTER, integrator="bdf", rtol=1e-8, atol=1e-10),
    "arm, a controller in Python": lambda: _of(_G.arm7(), control=_zeros, rtol=1e-6, atol=1e-8),
    "arm, a controller at 1 kHz": lambda: _of(_G.arm7(), control=ct.sampled(_zeros, 1000.0)),
    "arm, an event that never comes": lambda: _of(_G.arm7(), events=[ct.Event("joint2 + 1000", terminal=True)]),
    "arm, the largest of a signal": lambda: _of(_G.arm7(), keep={"most": "max(joint2)"}, **RK4),
    "4096 arms, rk4": lambda: _of(_G.arm7(), states=4096, samples=101, **RK4),
    "4096 arms, dopri5": lambda: _of(_G.arm7(), states=4096, samples=101),
    "a chain of 300": lambda: _of(_G.chain(300), 0.01),
    "Stewart platform, dopri5": lambda: _of(_springy(), events=["leg1 + 1000"]),
    "Stewart platform, rk4": lambda: _of(_G.stewart(), **RK4),
    "512 Stewart platforms, dopri5": lambda: _of(_G.stewart(), states=512, samples=101),
    "four-bar, minimal coordinates": lambda: _of(_G.four_bar(), coordinates="minimal"),
    "four-bar, absolute coordinates": lambda: _of(_G.four_bar(), coordinates="absolute"),
    "beam, dopri5": lambda: _of(_beam()),
    "beam, radau": lambda: _of(_beam(), integrator="radau", rtol=1e-8, atol=1e-10),
    "dry friction": lambda: _of(_rubbing(), motion={"j0": "0.5 * sin(3 * t)"}),
    "a joint that is locked and unlocked": _locking,
    "walker on springs": _walker,
    "walker on springs, a controller in Python": lambda: _walker(control=_zeros),
    "walker on springs, radau": lambda: _walker(integrator="radau", rtol=1e-8, atol=1e-10),
    "16 walkers one by one": lambda: _walkers(16),
    "walker, time stepping": lambda: _walker(integrator="time_stepping", step=1e-3),
    "256 walkers, time stepping": lambda: _walkers(256, integrator="time_stepping", step=1e-3, samples=101),
}  # fmt: skip


if __name__ == "__main__":
    print(report())
