"""What forces cost: accelerations and whole runs with springs, wrenches and bushings beside the same without them."""

from collections.abc import Callable

import numpy as np

import catena as ct
from benchmarks.states import closed_states, random_states
from benchmarks.table import Figure, figure_table
from benchmarks.timing import best_of
from catena.dynamics import articulated_body
from catena.dynamics.elements.force_sweeps import with_forces
from catena.dynamics.loops.elimination import loop_elimination, shape_for
from catena.mechanism import Mechanism
from catena.mechanism.generators import arm7, stewart

BATCH = 1024
STEPS = 2000
AIM = "<= 1.5"

NOT_SHOWN = (
    "the first use of a kind of force, which compiles for about 0.1 s; forces that only Python knows. A force between "
    "frames needs to know where its two bodies stand, so the price is highest where it acts at the end of a long chain "
    "and everything else is cheap: the arm below is such a case."
)


def report() -> str:
    """The tables of this benchmark as Markdown."""
    ct.set_threads(1)
    rows: list[Figure] = []
    runs: list[Figure] = []
    for name, build in (("arm7", arm7), ("Stewart platform", stewart)):
        plain = build()
        pressed = {word: _with(build(), add) for word, add in _forces(plain).items()}
        rows += [Figure(f"{name}, {word}", x, "", AIM) for word, x in evaluations(plain, pressed).items()]
        runs += [Figure(f"{name}, {word}", x, "", AIM) for word, x in rollouts(plain, pressed).items()]
    return "\n".join(
        [
            figure_table(f"Forces: accelerations of {BATCH} states, times without forces", rows, NOT_SHOWN),
            figure_table(
                f"Forces: {STEPS} steps of rk4 for one state, times without forces", runs, NOT_SHOWN
            ),
        ]
    )


def _forces(mechanism: Mechanism) -> dict[str, Callable[[Mechanism], object]]:
    """What is added, by words: at the last body, and at joints of the tree and of loops."""
    system = mechanism.system()
    tip = list(mechanism.bodies)[-1]
    tree = [j for j in system.joints if mechanism.joints[j].kind.nv]
    added: dict[str, Callable[[Mechanism], object]] = {
        "a spring between points": lambda m: m.add_spring_between("s", "ground", tip, 10.0, 0.3, 0.5),
        "a constant wrench": lambda m: m.add_wrench("w", tip, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)),
        "a bushing": lambda m: m.add_bushing("b", "ground", tip, (1, 1, 1, 5, 5, 5), (0.1,) * 6),
        "springs at all joints of the tree": lambda m: [m.add_spring(j, j, 1.0, None, 0.1) for j in tree],
    }
    if system.loops:
        added["springs at all loops"] = lambda m: [m.add_spring(j, j, 1.0, None, 0.1) for j in system.loops]
    return added


def _with(mechanism: Mechanism, add: Callable[[Mechanism], object]) -> Mechanism:
    add(mechanism)
    return mechanism


def evaluations(plain: Mechanism, pressed: dict[str, Mechanism]) -> dict[str, float]:
    """The time of accelerations with forces, as a multiple of that without."""
    rivals: dict[str, Callable[[], object]] = {}
    for word, mechanism in {"": plain, **pressed}.items():
        system = mechanism.system()
        states = closed_states if system.loops else random_states
        q, v, tau, _ = (np.ascontiguousarray(np.tile(x, (BATCH // 64, 1))) for x in states(system, 64, 0))
        dynamics = loop_elimination(shape_for(system.plan)) if system.loops else articulated_body
        if word:
            program = system.mechanics.program(
                with_forces(dynamics),
                frozenset({"f_given", "a_base"}),
                forces=system.mechanics.elements.placed,
            )
            inputs = {"q": q, "qd": v, "given": tau}
        else:
            program = system.mechanics.program(dynamics, frozenset({"f_ext", "a_base"}))
            inputs = {"q": q, "qd": v, "tau": tau}
        rivals[word] = lambda p=program, x=inputs: p.run(x, BATCH, 1)  # type: ignore[misc]
    times = best_of(rivals)
    return {word: times[word] / times[""] for word in pressed}


def rollouts(plain: Mechanism, pressed: dict[str, Mechanism]) -> dict[str, float]:
    """The time of a run with forces, as a multiple of that without."""
    step = 1e-4
    rivals: dict[str, Callable[[], object]] = {}
    for word, mechanism in {"": plain, **pressed}.items():
        system = mechanism.system()
        q = system.assemble() if system.loops else 0.3 * np.ones(system.nq)
        rivals[word] = lambda s=system, q=q: ct.simulate(  # type: ignore[misc]
            s, q, np.zeros(s.nv), STEPS * step, integrator="rk4", step=step, samples=2, check=False
        )
    times = best_of(rivals, rounds=7)
    return {word: times[word] / times[""] for word in pressed}
