"""The timing harness: interleaving, the best turn, and the fitted exponent."""

from time import perf_counter

import pytest

from benchmarks.table import Comparison, comparison_table
from benchmarks.timing import best_of, exponent


def busy(seconds):
    def call():
        end = perf_counter() + seconds
        while perf_counter() < end:
            pass

    return call


def test_best_of_measures_busy_waiting():
    seconds = best_of({"short": busy(2e-4), "long": busy(8e-4)}, rounds=10, seconds_per_turn=2e-3)
    # Never less than the wait; how much more depends on what else the machine does.
    assert 2e-4 <= seconds["short"] < seconds["long"]
    assert seconds["long"] >= 8e-4


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
