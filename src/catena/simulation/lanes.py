"""Motions that ask for compiled steps and wait for them: one alone, or several at a time, whose steps are taken in
lanes and on threads.

A motion is a generator. It yields what it wants to be played next, and gets what that tells. So what is said about one
state is said once; who plays decides whether it goes alone or beside others. Of several motions those that want the
fewest steps go first, until all of them wait for as many, which are dear, and fill all lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from catena.kernels import Program
from catena.simulation.following.interrupting import raise_in_loop
from catena.simulation.snapshot import Snapshot, memory_of

T = TypeVar("T")
# So many motions go on at a time, at most.
MOST = 256

Played = tuple[dict[str, np.ndarray], bool]
"""What plays have told, {name: (plays, ...)}, and whether something in it was not finite."""


class Wanting(Protocol):
    """Who wants a step to be played: its inputs are in buffers `b`, {name: (1, n)}."""

    b: dict[str, np.ndarray]

    @property
    def wide(self) -> Program:
        """Return the step for many states."""

    @property
    def outputs(self) -> Sequence[str]:
        """Return what is to be told."""

    @property
    def rare(self) -> tuple[int, int]:
        """Return when occasional sweeps are made, as `Program.run` takes it."""

    def alone(self, count: int) -> Played:
        """Return what so many plays tell, alone."""


class Play(NamedTuple):
    """What a motion waits for: so many plays of a step."""

    who: Wanting
    steps: int


Going = Generator[Play, Played, T]
"""A motion that goes on, and what it returns in the end."""


def alone(motion: Going[T]) -> T:
    """Let a motion go on to its end by itself, and return what it returns."""
    step: Any = motion.send
    given: Any = None
    try:
        while True:
            who, count = step(given)
            try:
                step, given = motion.send, who.alone(count)
            except BaseException as error:
                # The motion knows what there is of it.
                step, given = motion.throw, error
    except StopIteration as end:
        found: T = end.value
        return found


def remembering(motion: Going[T], control: Any, memory: Snapshot) -> Going[T]:
    """Let a motion go on with a memory of its own in a controller that others ask too, which is put there when it
    does."""
    step: Any = motion.send
    given: Any = None
    while True:
        memory.restore()
        try:
            wanted = step(given)
        except StopIteration as end:
            found: T = end.value
            return found
        memory = Snapshot(memory_of(control))
        step, given = motion.send, (yield wanted)


def nobody_looks(times: Sequence[float], ended: int) -> None:
    """Do nothing: nobody wants to know how far motions are."""


def together(
    motions: Sequence[Going[T]], tick: Callable[[Sequence[float], int], None] = nobody_looks
) -> list[T]:
    """Let motions go on to their ends side by side, and return what they return. What one of them raises ends all.
    `tick` is told the times that those have come to that go on, and how many have come to an end."""
    found, waiting, fresh = dict[int, T](), dict[int, Play](), iter(range(len(motions)))

    def go_on(k: int, given: Any) -> None:
        try:
            waiting[k] = motions[k].send(given)
        except StopIteration as end:
            found[k] = end.value

    try:
        while len(found) < len(motions):
            # Ctrl-C in one of the motions is meant for all of them.
            raise_in_loop()
            for k in islice(fresh, MOST - len(waiting)):
                go_on(k, None)
            if waiting:
                some = _next(waiting)
                for k, told in zip(some, _played([waiting.pop(k) for k in some]), strict=True):
                    go_on(k, told)
                tick([who.b["t"].item() for who, _ in waiting.values()], len(found))
    finally:
        for motion in motions:
            motion.close()
    return [found[k] for k in range(len(motions))]


def _next(waiting: dict[int, Play]) -> list[int]:
    """Return those that are played next, in an order in which neighbours want about as many steps."""
    groups = dict[tuple[int, int], list[int]]()
    for k, (who, count) in waiting.items():
        groups.setdefault((count, id(who.wide)), []).append(k)
    some = groups[min(groups, key=lambda key: (key[0], -len(groups[key])))]

    def ahead(k: int) -> float:
        b = waiting[k].who.b
        return (b["end"].item() - b["t"].item()) / b["h"].item()

    return sorted(some, key=ahead)


def _played(plays: Sequence[Play]) -> list[Played]:
    """Return what equally many plays of the same step tell, of each who wants them."""
    (first, count), everyone = plays[0], [who for who, _ in plays]
    if len(plays) == 1:
        return [first.alone(count)]
    program = first.wide
    inputs = {name: np.concatenate([who.b[name] for who in everyone]) for name in program.input_names}
    status, found = program.run(
        inputs, len(plays), steps=count, every=1, rare=first.rare, wanted=first.outputs
    )
    each = [{name: x[k] for name, x in found.items()} for k in range(len(plays))]
    return [(told, bool(status) and not all(np.isfinite(x).all() for x in told.values())) for told in each]
