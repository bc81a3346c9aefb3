"""The timing harness: interleaving, the best turn, and the fitted exponent."""

import pytest

from benchmarks.table import Comparison, comparison_table
from benchmarks.timing import best_of, exponent


def test_the_best_turn_counts_whatever_else_the_machine_does():
    """With a clock that stands for a machine on which every third turn takes ten times as long."""
    now, calls = 0.0, 0

    def waits(seconds):
        def call():
            nonlocal now, calls
            calls += 1
            now += seconds * (10.0 if calls % 3 == 0 else 1.0)

        return call

    rivals = {"short": waits(2e-4), "long": waits(8e-4)}
    seconds = best_of(rivals, rounds=5, seconds_per_turn=1e-4, clock=lambda: now)
    assert seconds == {"short": pytest.approx(2e-4), "long": pytest.approx(8e-4)}


def test_rivals_take_turns():
    turns = []
    best_of({"a": lambda: turns.append("a"), "b": lambda: turns.append("b")}, rounds=3, seconds_per_turn=0.0)
    # Two calls each to warm up and calibrate, then alternating.
    assert turns == ["a", "a", "b", "b", *["a", "b"] * 3]


def test_exponent_of_a_power_law():
    sizes = [10, 100, 1000]
    assert exponent(sizes, [3e-6 * size**1.5 for size in sizes]) == pytest.approx(1.5, abs=1e-12)


def test_ratio_says_how_many_times_quicker_catena_is():
    row = Comparison("forward dynamics", "peer", catena_seconds=1e-6, peer_seconds=8e-6, aim=8.0)
    assert row.ratio == pytest.approx(8.0)
    table = comparison_table("title", [row], "the rest.")
    assert "| forward dynamics | peer | 1 | 8 | 8 | >= 8 |" in table
    assert "Not shown: the rest." in table
