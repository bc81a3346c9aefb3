"""Laws and references that the library knows: what a call from Python takes, and how much quicker than real time runs
at 1 kHz are. Over random references and states of an arm, and over arms with other joints."""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import catena as ct
from benchmarks.table import Figure, figure_table
from catena.mechanism.generators import arm7, random_mechanism
from catena.simulation.references import function

RATE, DURATION, CALLS, MEMBERS = 1000.0, 1.0, 100, 3
DRAWS = 50
WAYS: dict[str, dict[str, Any]] = {"rk4": {"integrator": "rk4", "step": 1.0 / RATE}, "adaptive": {}}


def report() -> str:
    """The table of this benchmark as Markdown."""
    ct.set_threads(1)
    rows: list[Figure] = []
    for arm, systems in (("arm7", [arm7().system()] * MEMBERS), ("random arms", list(_random_arms()))):
        for name in ("PID", "PID + gravity", "computed torque", "formulas", "feedforward", "pose", "place"):
            calls, speeds = [], {way: list[float]() for way in WAYS}
            for seed, s in enumerate(systems):
                start, law = _laws(s, seed)
                control = law[name]()
                calls.append(_call(control, start))
                for way, chosen in WAYS.items():
                    speeds[way].append(_speed(s, start, law[name], chosen))
            rows.append(Figure(f"{arm}, {name}: a call, median", statistics.median(calls), "us", "<= 20"))
            rows.append(Figure(f"{arm}, {name}: a call, worst", max(calls), "us", "<= 20"))
            for way, found in speeds.items():
                words = f"{arm}, {name}: 1 kHz, {way}"
                rows.append(Figure(f"{words}, median", statistics.median(found), "x real time", ">= 50"))
                rows.append(Figure(f"{words}, worst", min(found), "x real time", ">= 50"))
    return figure_table(
        "Laws and references, processor time", rows, "the first call and the first run, which compile."
    )


def _random_arms() -> Iterator[ct.System]:
    for seed in range(MEMBERS):
        yield random_mechanism(seed, 6, ["Revolute", "Prismatic", "Universal"]).system()


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
    return start, {
        "PID": lambda: ct.PID(s, moves, gains, gains, 0.2 * gains, rate=RATE),
        "PID + gravity": lambda: ct.PID(s, moves, gains, 0.0, 0.2 * gains, rate=RATE) + ct.GravityCompensation(s),
        "computed torque": lambda: ct.ComputedTorque(s, moves, 100.0, rate=RATE),
        "formulas": lambda: ct.ComputedTorque(s, waves, 100.0, rate=RATE),
        "feedforward": lambda: ct.Feedforward(s, moves, rate=RATE),
        "pose": lambda: ct.TaskSpace(s, frame, path, 100.0, rate=RATE),
        "place": lambda: ct.TaskSpace(s, frame, path.position, 100.0, posture=start, rate=RATE),
    }  # fmt: skip


def _agile(s: ct.System, frame: str, rng: np.random.Generator) -> np.ndarray:
    """Of random configurations the one that is furthest from a singular one."""
    drawn = [s.integrate(s.neutral(), rng.uniform(-1.0, 1.0, s.nv), 1.0) for _ in range(DRAWS)]
    easy = np.linalg.svd(s.jacobian(np.array(drawn), frame), compute_uv=False)
    return drawn[int(np.argmax(easy[:, -1] / easy[:, 0]))]


def _points(s: ct.System, joint: str, start: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    here = start[s.slice_q(joint)]
    return np.stack([here, *(here + rng.uniform(-0.3, 0.3, here.shape) for _ in range(2))])


def _wave(here: np.ndarray, frequency: float) -> Callable[[Any], list[Any]]:
    return lambda t: [x + 0.1 * ct.symbols.sin(frequency * t) for x in here.tolist()]


def _call(control: Any, q: np.ndarray) -> float:
    """The median time of a call [us]."""
    v, found = np.zeros(control.parts[0].system.nv if hasattr(control, "parts") else control.system.nv), []
    control(0.0, q, v)
    for k in range(CALLS):
        before = time.process_time_ns()
        control(k / RATE, q, v)
        found.append(time.process_time_ns() - before)
    return 1e-3 * statistics.median(found)


def _speed(s: ct.System, q: np.ndarray, make: Callable[[], Any], chosen: dict[str, Any]) -> float:
    """How many times quicker than real time the second run with a controller is."""
    control = make()
    for _ in range(2):
        before = time.process_time()
        ct.simulate(s, q, np.zeros(s.nv), DURATION, control=control, check=False, **chosen)
        used = time.process_time() - before
    return DURATION / used
