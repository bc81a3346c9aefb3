"""Tapes that are played over and over: what lasts, what is made now and then, steps on the whole state, and lanes."""

import numpy as np
import pytest

from catena.kernels import (
    POSITION,
    VELOCITY,
    Algorithm,
    at_ground,
    play,
    target,
    whole_state,
    with_ground,
)
from catena.mechanism.generators import chain, humanoid
from catena.simulation.stepping.methods.variant import GroundField


def ground(ground):
    """Nothing flows."""


@at_ground
def begin(ground):
    ground.count = ground.count + 1.0
    ground.total = 0.0


@with_ground
def collect(body, ground):
    """Bodies add to what the ground holds, and read it."""
    for x in body.qd:
        ground.total = ground.total + x
    body.q = body.q + 0.1 * body.qd if body.joint.nq == body.joint.nv else body.q


@at_ground
def rarely(ground):
    ground.rare = ground.rare + 1.0


@whole_state
def mix(whole):
    """Every velocity component becomes the next one, and the first the sum of all plays."""
    whole.qd = np.array([*whole.qd[1:], whole.count + 0.0 * whole.total])


def counting(occasional=(0, 0)):
    return Algorithm(
        "counting", ground, (begin, collect, rarely, mix), inputs={"q": POSITION, "qd": VELOCITY},
        outputs={"q": POSITION, "qd": VELOCITY},
        ground_inputs={"count": GroundField(1), "rare": GroundField(1)}, ground_outputs=("count", "total", "rare"),
        rewritten=frozenset({"q", "qd"}), replayed=True, occasional=occasional,
    )  # fmt: skip


def run(system, algorithm, steps, lanes=None, states=3, **more):
    v = np.arange(states * system.nv, dtype=float).reshape(states, system.nv)
    q = np.tile(system.neutral(), (states, 1))
    zero = np.zeros((states, 1))
    program = system.mechanics.program(algorithm, lanes=lanes)
    return program.run({"q": q, "qd": v, "count": zero, "rare": zero}, states, steps=steps, every=1, **more)[
        1
    ]


def expected(v, steps):
    for k in range(1, steps + 1):
        v = np.append(v[1:], k)
    return v


@pytest.mark.parametrize("mechanism", [chain(4), humanoid()], ids=["chain", "humanoid"])
@pytest.mark.parametrize("lanes", [None, 2, 1])
def test_states_and_ground_last_from_play_to_play(mechanism, lanes):
    system = mechanism.system()
    out = run(system, counting(), 5, lanes)
    start = np.arange(3.0 * system.nv).reshape(3, system.nv)
    for k in range(5):
        np.testing.assert_array_equal(out["qd"][:, k], [expected(v, k + 1) for v in start])
        # The total was taken before the mixing.
        np.testing.assert_allclose(out["total"][:, k, 0], [expected(v, k).sum() for v in start])
        assert np.all(out["count"][:, k] == k + 1)


def test_plain_numbers_do_the_same():
    system = chain(4).system()
    out = run(system, counting(), 1)
    given = {"q": system.neutral(), "qd": np.arange(4.0), "count": [0.0], "rare": [0.0]}
    plain = play(counting(), system.plan, system.plan.gravity, given)
    for name in ("q", "qd", "count", "total"):
        np.testing.assert_allclose(np.asarray(plain[name], dtype=float), out[name][0, 0])


def test_occasional_sweeps_are_made_now_and_then():
    system = chain(2).system()
    algorithm = counting(occasional=(2, 3))
    done = run(system, algorithm, 10, rare=(3, 0))["rare"][0, :, 0]
    np.testing.assert_array_equal(done, [0, 0, 1, 1, 1, 2, 2, 2, 3, 3])
    # Two steps have passed since the last time.
    done = run(system, algorithm, 4, rare=(3, 2))["rare"][0, :, 0]
    np.testing.assert_array_equal(done, [1, 1, 1, 2])
    assert run(system, algorithm, 4)["rare"][0, -1, 0] == 4


def test_the_number_of_lanes_changes_no_bit_of_a_batch():
    system = humanoid().system()
    wide, narrow, single = (run(system, counting(), 4, lanes, states=11) for lanes in (None, 2, 1))
    assert target().lanes >= 2
    for name in wide:
        np.testing.assert_array_equal(wide[name], narrow[name])
        np.testing.assert_array_equal(wide[name], single[name])
