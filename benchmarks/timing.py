"""Timing that is fair to both sides: rivals take turns in one run, and the best turn of each counts."""

import gc
import math
from collections.abc import Callable, Mapping
from time import perf_counter


def best_of(
    rivals: Mapping[str, Callable[[], object]], rounds: int = 15, seconds_per_turn: float = 0.02,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, float]:  # fmt: skip
    """The least seconds per call of each rival over `rounds` interleaved turns, by a `clock`: `time.process_time` tells
    those of the processor, of which others take none away.

    A turn repeats the call often enough to last about `seconds_per_turn`. Interleaving lets a busy machine
    hurt all rivals alike; the minimum is what the code costs when nothing else interferes.
    """
    repeats = {name: _calibrate(call, seconds_per_turn, clock) for name, call in rivals.items()}
    best = dict.fromkeys(rivals, math.inf)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in rivals.items():
                best[name] = min(best[name], _turn(call, repeats[name], clock))
    finally:
        if collecting:
            gc.enable()
    return best


def _calibrate(call: Callable[[], object], seconds: float, clock: Callable[[], float]) -> int:
    """How many calls fill a turn; the first call, which may compile or allocate, does not count."""
    call()
    return max(1, round(seconds / max(_turn(call, 1, clock), 1e-9)))


def _turn(call: Callable[[], object], repeats: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def exponent(sizes: list[int], costs: list[float]) -> float:
    """The slope of log(cost) over log(size): 1 for a cost that is linear in size."""
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
    return above / sum((a - mean_x) ** 2 for a in x)
