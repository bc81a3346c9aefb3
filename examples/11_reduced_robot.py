"""A free-flying robot of 37 degrees of freedom, of which a task needs 9 (Lampariello, Abiko, Hirzinger, example 3): the
other joints are locked and cost nothing. A manoeuvre of three joints of one arm then tells the inertia of the base.

Usage: python examples/11_reduced_robot.py [folder for the pictures; default: out/11_reduced_robot]
"""

import sys
from dataclasses import replace
from time import perf_counter

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena.flying import Identification
from pictures import Pictures

KEPT = ("base", "arm1/joint1", "arm1/joint2", "arm1/joint4")
BATCH, NOISE = 1024, 2e-4
NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def main(arguments: list[str]) -> None:
    out = Pictures(__file__, arguments)
    m = ct.generators.free_flyer()
    m.gravity = (0, 0, 0)
    full = m.system()
    ct.transfer(full, full.neutral(), np.zeros(full.nv), m.reduce_to(KEPT).system())
    compiled, begin = ct.compilations(), perf_counter()
    here = full.configuration(full.neutral())
    small = m.reduce_to(KEPT, at=here).system()
    state = ct.transfer(full, full.neutral(), np.zeros(full.nv), small)
    taken = perf_counter() - begin
    print(f"A robot of {full.nv} degrees of freedom, of which {small.nv} are needed.")
    more = ct.compilations() - compiled
    print(f"    locking, planning, taking over the state  {1e3 * taken:.2f} ms, {more} compilations")
    print(f"    forward dynamics is quicker by            {speed(full, small):.2f} times")

    def swing(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau = np.zeros(small.nv)
        for k, joint in enumerate(KEPT[1:]):
            at = small.slice_v(joint)
            tau[at] = 30.0 * np.sin((1.0 + 0.7 * k) * t + k) - 6.0 * v[at]
        return tau

    run = ct.simulate(small, *state, 6.0, control=swing, samples=201, rtol=1e-8, atol=1e-10, check=False)
    rng = np.random.default_rng(0)
    measured = run.acceleration + NOISE * rng.normal(size=run.v.shape)
    bus = m.bodies["bus"]
    guess = m.copy()
    guess.replace_body(replace(bus, mass=1.4 * bus.mass, com=bus.com + 0.06, inertia=0.6 * bus.inertia))
    start = guess.reduce_to(KEPT, at=here).system()
    found = ct.identify_inertia(start, run.q, run.v, measured, ["bus"])
    at = [name for name in m.bodies if small.plan.body_node[name]].index("bus")
    exact, first = (ct.inertial_parameters(s)[10 * at : 10 * at + 10] for s in (small, start))
    error = np.abs(found.parameters["bus"] - exact)
    print(
        f"A manoeuvre of three joints, {run.t[-1]:g} s, tells {found.rank} of {found.unknowns} numbers of the base."
    )
    print(f"    mass, as learnt                           {bus.mass:.3f} kg, {found.mass('bus'):.3f} kg")
    print(
        f"    largest error of all numbers              {(error / np.abs(exact).max()).max():.1e} of the largest"
    )
    out.figure(charts(run, first, exact, found), "identification.png")
    out.film(run)


def speed(full: ct.System, small: ct.System) -> float:
    """How many times quicker the reduced robot is computed, in batches that take turns."""
    rng, best = np.random.default_rng(1), {}
    states = {}
    for name, s in (("full", full), ("small", small)):
        q = s.integrate(np.tile(s.neutral(), (BATCH, 1)), 0.3 * rng.normal(size=(BATCH, s.nv)))
        states[name] = (s, q, rng.normal(size=(BATCH, s.nv)), rng.normal(size=(BATCH, s.nv)))
    for _ in range(15):
        for name, (s, q, v, tau) in states.items():
            begin = perf_counter()
            s.forward_dynamics(q, v, tau)
            best[name] = min(best.get(name, np.inf), perf_counter() - begin)
    return best["full"] / best["small"]


def charts(run: ct.Trajectory, first: np.ndarray, exact: np.ndarray, found: Identification) -> Figure:
    figure = Figure(figsize=(10.0, 3.8), layout="constrained")
    motion, numbers = figure.subplots(1, 2)
    s = run.system
    turned = np.degrees(s.difference(np.tile(run.q[0], (len(run.t), 1)), run.q)[:, s.slice_v("base")][:, :3])
    for k, axis in enumerate("xyz"):
        motion.plot(run.t, turned[:, k], label=axis)
    motion.set(
        title="The arm makes the base tumble", xlabel="t [s]", ylabel="rotation vector of the base [deg]"
    )
    motion.legend()
    place = np.arange(10)
    for k, (values, label) in enumerate(
        ((first, "as begun with"), (exact, "exact"), (found.parameters["bus"], "learnt, with deviation"))
    ):
        spread = found.deviations["bus"] if k == 2 else None
        numbers.bar(
            place + 0.27 * (k - 1), values, 0.27, yerr=spread, label=label, color=("0.8", "C0", "C1")[k]
        )
    numbers.set(
        title="Inertial numbers of the base", yscale="symlog", ylabel="kg, kg m, kg m² (logarithmic above 1)"
    )
    numbers.axhline(0.0, color="k", linewidth=0.6)
    numbers.set_xticks(place, NAMES)
    numbers.legend()
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
