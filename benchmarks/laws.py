"""Laws and references that the library knows: what a call from Python takes, and how much quicker than real time runs
at 1 kHz are. Over random references and states of an arm, alone and with forces, over arms with other joints, and over
mechanisms with loops."""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import catena as ct
from benchmarks.table import Figure, figure_table
from catena.mechanism.generators import arm7, four_bar, hslm, random_mechanism, spatial_four_bar, stewart
from catena.simulation.references import function

RATE, DURATION, CALLS, MEMBERS = 1000.0, 1.0, 100, 3
# Of so many random configurations the most agile is taken; arms count whose least singular value is more than this part
# of the largest there.
DRAWS, AGILE = 50, 0.02
Laws = Callable[[ct.System, int], tuple[np.ndarray, dict[str, Callable[[], Any]]]]
WAYS: dict[str, dict[str, Any]] = {"rk4": {"integrator": "rk4", "step": 1.0 / RATE}, "adaptive": {}}


def report() -> str:
    """The table of this benchmark as Markdown."""
    rows = [row for family in _families() for row in figures_of(family)]
    return figure_table(
        "Laws and references, processor time", rows,
        "the first call and the first run of a kind of law, which compile, unless it says so; arms that cannot move "
        "their tip in all directions.",
    )  # fmt: skip


def figures_of(family: str) -> Iterator[Figure]:
    """The figures of one family."""
    ct.set_threads(1)
    systems, laws, names = _families()[family]()
    made = [laws(s, seed) for seed, s in enumerate(systems)]
    for name in names or made[0][1]:
        yield from _figures(f"{family}, {name}", systems, [(start, law[name]) for start, law in made])


def _families() -> dict[str, Callable[[], tuple[list[ct.System], Laws, tuple[str, ...]]]]:
    """What makes the systems of each family, and their laws, of which some are measured or all."""
    few = ("PID + gravity", "computed torque", "pose")
    return {
        "arm7": lambda: ([arm7().system()] * MEMBERS, _laws, ()),
        "arm7 with forces": lambda: ([m.system() for m in _with_forces()], _laws, few),
        "random arms": lambda: (list(_random_arms()), _laws, ()),
        "four-bars": lambda: ([m.system() for m in _four_bars()], _laws_through_loops, ()),
        "hslm, Stewart": lambda: ([hslm().system(), stewart().system()], _laws_through_loops, ()),
    }


def _figures(
    words: str, systems: list[ct.System], members: list[tuple[np.ndarray, Callable[[], Any]]]
) -> Iterator[Figure]:
    """What a call takes, how quick runs are, and what the first run of another controller takes."""
    calls, anew, speeds = [], [], {way: list[float]() for way in WAYS}
    for s, (start, make) in zip(systems, members, strict=True):
        calls.append(_call(make(), s, start))
        for way, chosen in WAYS.items():
            speed, first = _speed(s, start, make, chosen)
            speeds[way].append(speed)
            anew.append(first)
    yield Figure(f"{words}: a call, median", statistics.median(calls), "us", "<= 20")
    yield Figure(f"{words}: a call, worst", max(calls), "us", "<= 20")
    for way, found in speeds.items():
        yield Figure(f"{words}: 1 kHz, {way}, median", statistics.median(found), "x real time", ">= 50")
        yield Figure(f"{words}: 1 kHz, {way}, worst", min(found), "x real time", ">= 50")
    yield Figure(f"{words}: first run of another controller, median", 1e3 * statistics.median(anew), "ms")


def _random_arms() -> Iterator[ct.System]:
    """Random arms whose tips move in all directions, from where they do so most easily."""
    seed = found = 0
    while found < MEMBERS:
        s = random_mechanism(seed, 6, ["Revolute", "Prismatic", "Universal"]).system()
        frame = list(s.plan.body_pose)[-1]
        sizes = np.linalg.svd(
            s.jacobian(_agile(s, frame, np.random.default_rng(found)), frame), compute_uv=False
        )
        seed += 1
        if sizes[5] > AGILE * sizes[0]:
            found += 1
            yield s


def _with_forces() -> Iterator[ct.Mechanism]:
    """The arm with a spring, with dampers and with friction that sticks in all joints, and with a wrist without
    motor."""
    m = arm7()
    m.add_force("spring", ct.forces.JointSpring(20.0, 0.1), joint="joint2")
    yield m
    for acting in ({"damping": 0.1}, {"friction": 0.3}):
        m = arm7()
        for joint in list(m.joints):
            m = m.with_joint(joint, **acting)
        yield m
    yield arm7().with_joint("joint7", actuated=False)


def _four_bars() -> Iterator[ct.Mechanism]:
    """Four-bars with one motor, with motors everywhere, and one in space."""
    m = four_bar()
    yield m
    for joint in m.joints:
        m = m.with_joint(joint, actuated=joint == "A")
    yield m
    m = spatial_four_bar()
    first = next(iter(m.joints))
    for joint in m.joints:
        m = m.with_joint(joint, actuated=joint == first)
    yield m


def _laws_through_loops(s: ct.System, seed: int) -> tuple[np.ndarray, dict[str, Callable[[], Any]]]:
    """A closed configuration, and laws that begin there; joints with motors lead, as many as move freely."""
    rng = np.random.default_rng(seed)
    q = s.assemble()
    freedom = s.nv - int(np.linalg.matrix_rank(s.closure_jacobian(q), 1e-9))
    driven = [j for j in s.joints if s.plan.actuated[s.slice_v(j)].all()][:freedom]
    frame = list(s.plan.body_pose)[-1]
    place = np.asarray(s.pose(q, frame).p)
    moves = {j: ct.quintic([0.0, 0.6, 1.0], _points(s, j, q, rng, 0.01)) for j in driven}
    gains = 20.0 * np.diagonal(s.mass_matrix(q))
    shift = _reached(s, q, frame, rng)
    path = ct.quintic([0.0, 1.0], [place, place + shift])
    return q, {
        "PID": lambda: ct.PID(s, moves, gains, gains, 0.2 * gains, rate=RATE),
        "PID + gravity": lambda: (
            ct.PID(s, moves, gains, 0.0, 0.2 * gains, rate=RATE) + ct.GravityCompensation(s)
        ),
        "computed torque": lambda: ct.ComputedTorque(s, moves, 100.0, rate=RATE),
        "feedforward": lambda: ct.Feedforward(s, moves, rate=RATE),
        "place": lambda: ct.TaskSpace(s, frame, path, 100.0, rate=RATE),
    }


def _reached(s: ct.System, q: np.ndarray, frame: str, rng: np.random.Generator) -> np.ndarray:
    """A small way of a frame that the loops allow."""
    v = s.project(q, rng.normal(size=s.nv))[1]
    pace = s.jacobian(q, frame)[3:] @ v
    return 0.02 * np.asarray(pace) / max(float(np.linalg.norm(pace)), 1e-9)


def _laws(s: ct.System, seed: int) -> tuple[np.ndarray, dict[str, Callable[[], Any]]]:
    """A configuration, and laws that begin near it."""
    rng = np.random.default_rng(seed)
    frame = list(s.plan.body_pose)[-1]
    start = _agile(s, frame, rng)
    here = s.pose(start, frame)
    there = ct.Pose(p=np.add(here.p, rng.uniform(-0.05, 0.05, 3)), R=here.R @ ct.Pose(rpy=(0.1, 0.05, 0.2)).R)
    path = ct.PosePath.through([0.0, 1.0], [here, there])
    moves = {j: ct.quintic([0.0, 0.6, 1.0], _points(s, j, start, rng)) for j in s.joints}
    waves = {j: function(_wave(start[s.slice_q(j)], rng.uniform(1.0, 3.0))) for j in s.joints}
    gains = 20.0 * np.diagonal(s.mass_matrix(start))
    weight = {"partial": not s.plan.actuated.all()}
    return start, {
        "PID": lambda: ct.PID(s, moves, gains, gains, 0.2 * gains, rate=RATE),
        "PID + gravity": lambda: (
            ct.PID(s, moves, gains, 0.0, 0.2 * gains, rate=RATE) + ct.GravityCompensation(s, **weight)
        ),
        "computed torque": lambda: ct.ComputedTorque(s, moves, 100.0, rate=RATE),
        "formulas": lambda: ct.ComputedTorque(s, waves, 100.0, rate=RATE),
        "feedforward": lambda: ct.Feedforward(s, moves, rate=RATE),
        "pose": lambda: ct.TaskSpace(s, frame, path, 100.0, rate=RATE),
        "place": lambda: ct.TaskSpace(s, frame, path.position, 100.0, posture=start, rate=RATE),
    }


def _agile(s: ct.System, frame: str, rng: np.random.Generator) -> np.ndarray:
    """Of random configurations the one that is furthest from a singular one."""
    drawn = [s.integrate(s.neutral(), rng.uniform(-1.0, 1.0, s.nv), 1.0) for _ in range(DRAWS)]
    easy = np.linalg.svd(s.jacobian(np.array(drawn), frame), compute_uv=False)
    return drawn[int(np.argmax(easy[:, -1] / easy[:, 0]))]


def _points(
    s: ct.System, joint: str, start: np.ndarray, rng: np.random.Generator, far: float = 0.3
) -> np.ndarray:
    here = start[s.slice_q(joint)]
    return np.stack([here, *(here + rng.uniform(-far, far, here.shape) for _ in range(2))])


def _wave(here: np.ndarray, frequency: float) -> Callable[[Any], list[Any]]:
    return lambda t: [x + 0.1 * ct.symbols.sin(frequency * t) for x in here.tolist()]


def _call(control: Any, s: ct.System, q: np.ndarray) -> float:
    """The median time of a call [us]."""
    v, found = np.zeros(s.nv), []
    control(0.0, q, v)
    for k in range(CALLS):
        before = time.process_time_ns()
        control(k / RATE, q, v)
        found.append(time.process_time_ns() - before)
    return 1e-3 * statistics.median(found)


def _speed(
    s: ct.System, q: np.ndarray, make: Callable[[], Any], chosen: dict[str, Any]
) -> tuple[float, float]:
    """How many times quicker than real time the second run with a controller is, and what the first of one takes [s]
    whose kind has been used before."""
    for _ in range(2):
        control, used = make(), list[float]()
        for _ in range(2):
            before = time.process_time()
            ct.simulate(s, q, np.zeros(s.nv), DURATION, control=control, check=False, **chosen)
            used.append(time.process_time() - before)
    return DURATION / used[1], used[0]
