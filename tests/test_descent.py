"""Descents of states together against each by itself, and against solutions that are known."""

import numpy as np
import pytest

from catena.descent import Descent

STEPPED = (lambda q, y, which: q + y), (lambda q, worst: worst < 1e-10)


def circles(q, which):
    """How far points are from a circle and a line, said twice, whose radius and slope depend on the state."""
    r, slope = 1.0 + 0.1 * which, 0.3 * which
    round_, along = q[:, 0] ** 2 + q[:, 1] ** 2 - r**2, q[:, 1] - slope * q[:, 0]
    return np.stack([round_, along, 2.0 * along], axis=-1)


def circles_jacobian(q, which):
    slope, one = 0.3 * which, np.ones(len(q))
    rows = [[2.0 * q[:, 0], 2.0 * q[:, 1]], [-slope, one], [-2.0 * slope, 2.0 * one]]
    return np.moveaxis(np.array(rows), -1, 0)


def test_a_batch_is_found_as_each_of_its_states_is_alone_and_where_algebra_says():
    starts = np.random.default_rng(3).normal(size=(40, 2)) + [3.0, 0.0]
    descend = Descent(circles, circles_jacobian, *STEPPED)
    together, left = descend(starts, 1e-14, 1e-2)
    for k, start in enumerate(starts):
        alone, worst = descend(start[None], 1e-14, 1e-2, np.array([k]))
        assert np.array_equal(alone[0], together[k])
        assert worst[0] == left[k]
    k = np.arange(len(starts))
    x = np.sign(together[:, 0]) * (1.0 + 0.1 * k) / np.sqrt(1.0 + (0.3 * k) ** 2)
    assert left.max() < 1e-13
    assert np.abs(together - np.stack([x, 0.3 * k * x], axis=-1)).max() < 1e-13


def test_what_cannot_vanish_ends_at_the_least_error_of_all_that_was_tried():
    tried = []

    def residual(q, which):
        tried.append(np.abs(q - 2.0).max() + 1.0)
        return np.concatenate([q - 2.0, np.ones((len(q), 1))], axis=-1)

    q, left = Descent(residual, lambda q, which: np.tile([[1.0], [0.0]], (len(q), 1, 1)), *STEPPED)(
        np.zeros((1, 1)), 1e-14, 1e-2
    )
    assert q[0, 0] == pytest.approx(2.0, abs=1e-6)
    assert left[0] == 1.0
    assert len(tried) < 30


def test_steps_are_no_longer_than_allowed_and_none_are_taken_where_nothing_moves():
    seen = []

    def move(q, y, which):
        seen.append(float(np.abs(y).max(initial=0.0)))
        return q + y

    far = Descent(lambda q, which: q - 10.0, lambda q, which: np.ones((1, 1, 1)), move, STEPPED[1],
                  lambda y, size: np.abs(y).max(axis=-1), 0.5)  # fmt: skip
    assert far(np.zeros((1, 1)), 1e-12, 1e-6)[0][0, 0] == pytest.approx(10.0, abs=1e-12)
    assert max(seen) <= 0.5 * (1.0 + 1e-15)
    held = Descent(
        lambda q, which: q - 1.0, lambda q, which: np.zeros((1, 1, 0)), lambda q, y, which: q, STEPPED[1]
    )
    assert held(np.zeros((1, 1)), 1e-12, 1e-2)[1][0] == 1.0


def test_a_step_that_is_known_is_taken_while_it_gains():
    calls = []

    def newton(q, which):
        calls.append(len(q))
        return -(q**2 - (2.0 + which[:, None])) / (2.0 * q)

    known = Descent(lambda q, which: q**2 - (2.0 + which[:, None]), None, STEPPED[0], newton=newton)
    q, _ = known(np.full((5, 1), 1.9), 1e-15)
    assert np.abs(q[:, 0] - np.sqrt(2.0 + np.arange(5))).max() < 1e-15
    assert max(calls) == 5
    assert len(calls) < 10
