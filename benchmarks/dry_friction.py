"""Dry friction that sticks, and what it costs: runs of a family beside the run without friction."""

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import catena as ct
from benchmarks.table import Figure, figure_table
from benchmarks.timing import best_of
from catena.mechanism.generators import arm7, four_bar, humanoid, random_mechanism, stewart

FRICTIONS = (0.01, 0.1, 1.0, 10.0)
WAYS: dict[str, dict[str, Any]] = {"adaptive": {}, "rk4": {"integrator": "rk4", "step": 2e-3}}
BATCH = 32
BEARING, SLIDE = ct.BearingFriction(0.1, 0.02), ct.SlideFriction(0.1)
ROUNDS = 5


def report() -> str:
    """The table of this benchmark as Markdown."""
    ct.set_threads(1)
    rows = []
    for name, mechanism, rubbing in _family():
        for states in (1, BATCH):
            for way, settings in WAYS.items():
                found = [_ratio(mechanism, rubbing, friction, states, settings) for friction in FRICTIONS]
                words = f"{name}, {'one state' if states == 1 else f'{states} states'}, {way}"
                rows.append(Figure(f"{words}: median", statistics.median(found), "x the run without", "<= 3"))
                rows.append(Figure(f"{words}: worst", max(found), "x the run without", "<= 3"))
                loaded = _ratio(mechanism, rubbing, None, states, settings)
                rows.append(Figure(f"{words}: by load", loaded, "x the run without", ""))
    return figure_table(
        f"Friction of {', '.join(map(str, FRICTIONS))} N or N m in joints, half a second from a random velocity",
        rows,
        "the first run, which compiles.",
    )


def _family() -> Iterator[tuple[str, ct.Mechanism, list[str]]]:
    """The mechanisms, and the joints that rub."""
    for name, mechanism in (("arm7", arm7()), ("humanoid", humanoid())):
        yield name, mechanism, [j.name for j in mechanism.joints.values() if 0 < j.dof < 6]
    for seed in range(3):
        mechanism = random_mechanism(seed, 8)
        yield f"random tree {seed}", mechanism, [j.name for j in mechanism.joints.values() if 0 < j.dof < 6]
    for seed in range(3):
        mechanism = random_mechanism(
            seed, 7, ["Revolute", "Universal", "Cylindrical", "Spherical"], loops=1 + seed % 2
        )
        yield f"random loops {seed}", mechanism, [j.name for j in mechanism.joints.values() if 0 < j.dof < 6]
    yield "four-bar", four_bar(), list("ABCD")
    platform = stewart()
    yield "Stewart platform", platform, [j.name for j in platform.joints.values() if 0 < j.dof < 6]


def _ratio(
    mechanism: ct.Mechanism, rubbing: list[str], friction: float | None, states: int, settings: Any
) -> float:
    plain, dry = mechanism, mechanism
    for joint in rubbing:
        given: dict[str, Any] = {"friction": friction}
        if friction is None:
            S = mechanism.joints[joint].kind.motion_space(mechanism.joints[joint].kind.neutral()).array
            turns = [any(x != 0.0 for x in column[:3]) for column in S.T]
            given = {"load_friction": [BEARING if turn else SLIDE for turn in turns]}
        dry = dry.with_joint(joint, **given)
    seconds = best_of(
        {"plain": _run(plain, states, settings), "dry": _run(dry, states, settings)},
        rounds=ROUNDS,
        seconds_per_turn=0.0,
    )
    return seconds["dry"] / seconds["plain"]


def _run(mechanism: ct.Mechanism, states: int, settings: Any) -> Callable[[], Any]:
    system, rng = mechanism.system(), np.random.default_rng(1)
    q = system.assemble() if system.loops else system.neutral()
    v = 0.5 * rng.standard_normal(system.nv) + 0.1 * rng.standard_normal((states, system.nv))
    q = np.broadcast_to(q, (states, system.nq))
    if system.loops:
        q, v = system.project(q, v)
    if states == 1:
        q, v = q[0], v[0]
    # The others go on where a state ends in words: of friction by load there may be none that fits.
    own = dict(settings, on_error="record") if states > 1 else settings
    return lambda: ct.simulate(system, q, v, 0.5, samples=2, progress=False, check=False, **own)
