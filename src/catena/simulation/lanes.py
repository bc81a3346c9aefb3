"""Motions that ask for compiled steps and wait for them: one alone, or several at a time, whose steps are taken in
lanes and on threads.

A motion is a generator. It yields what it wants to be played next, and gets what that tells. So what is said about one
state is said once; who plays decides whether it goes alone or beside others. Of several motions, some of which want few
steps to find where something happens and others many, the larger group goes first, so that lanes are full.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from catena.kernels import Program
from catena.simulation.following import raise_in_loop
from catena.simulation.snapshot import Snapshot, memory_of

T = TypeVar("T")
# So many motions go on at a time, at most, and so many steps are few.
MOST, FEW = 256, 16
# Wide registers are slower than narrow ones, and fewer motions than these are quicker one by one.
WORTH_LANES = 4

Played = tuple[dict[str, np.ndarray], bool]
"""What at least as many plays as were wanted have told, {name: (plays, ...)}, and whether something in it was not
finite."""


class Wanting(Protocol):
    """Who wants a step to be played: its inputs are in buffers `b`, {name: (1, n)}."""

    b: dict[str, np.ndarray]

    @property
    def wide(self) -> Program:
        """Return the step for many states."""

    @property
    def own(self) -> Sequence[str]:
        """Return the inputs that are not the same for all who want this step."""

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


class AsksForAll(Protocol):
    """Who asks a controller for all states of a batch."""

    @property
    def holds(self) -> bool:
        """Return whether some states that have been answered go on with it, and wait for the next answer."""

    def answer(self, standing: Sequence[tuple[int, Asked]]) -> list[tuple[int, BaseException | None]]:
        """Ask for all states, and return the numbers of those that go on by themselves, with what went wrong."""


class Asked(NamedTuple):
    """What a motion waits for at a sample: a controller is asked once for all states that have come there. Whoever asks
    may take it `along` to later samples."""

    who: AsksForAll
    t: float
    along: Any = None


Going = Generator[Play | Asked, Any, T]
"""A motion that goes on, and what it returns in the end. It gets what its plays tell, and nothing where it asked."""


def alone(motion: Going[T]) -> T:
    """Let a motion go on to its end by itself, and return what it returns."""
    step: Any = motion.send
    answer: Any = None
    try:
        while True:
            who, count = step(answer)
            try:
                step, answer = motion.send, who.alone(count)
            except BaseException as error:
                # The motion knows what there is of it.
                step, answer = motion.throw, error
    except StopIteration as end:
        found: T = end.value
        return found


def remembering(motion: Going[T], control: Any, memory: Snapshot) -> Going[T]:
    """Let a motion go on with a memory of its own in a controller that others ask too, which is put there when it
    does."""
    step: Any = motion.send
    answer: Any = None
    while True:
        memory.restore()
        try:
            wanted = step(answer)
        except StopIteration as end:
            found: T = end.value
            return found
        memory = Snapshot(memory_of(control))
        step, answer = motion.send, (yield wanted)


def together(
    motions: Sequence[Going[T]], tick: Callable[[Sequence[float], int], None] | None = None
) -> list[T]:
    """Let motions go on to their ends side by side, and return what they return. What one of them raises ends all.
    `tick` is told the times that those have come to that go on, and how many have come to an end."""
    found, fresh, started, going = dict[int, T](), iter(range(len(motions))), 0, 0
    groups = dict[tuple[bool, int], list[tuple[int, Play]]]()
    asked, asks = list[tuple[int, Asked]](), list[AsksForAll]()

    def go_on(k: int, answer: Any) -> int:
        """Let a motion go on to where it waits, and return 1 where it does, 0 at its end."""
        try:
            wanted = (
                motions[k].throw(answer) if isinstance(answer, BaseException) else motions[k].send(answer)
            )
        except StopIteration as end:
            found[k] = end.value
            return 0
        if isinstance(wanted, Asked):
            asked.append((k, wanted))
            return 1
        groups.setdefault((wanted.steps > FEW, id(wanted.who.wide)), []).append((k, wanted))
        return 1

    try:
        while len(found) < len(motions):
            # Ctrl-C in one of the motions is meant for all of them.
            raise_in_loop()
            # Those that stand at a sample wait for all others, however many these are.
            new = list(islice(fresh, max(0, MOST + len(asked) - going)))
            started += len(new)
            going += sum(go_on(k, None) for k in new)
            if groups:
                some = groups.pop(min(groups, key=lambda key: (-len(groups[key]), key[0])))
                some.sort(key=_steps_ahead)
                told = _played([wanted for _, wanted in some])
                going += sum(go_on(k, one) for (k, _), one in zip(some, told, strict=True)) - len(some)
            elif started == len(motions) and (asked or any(who.holds for who in asks)):
                asks, standing, asked = asks or [asked[0][1].who], asked, []
                answers = asks[0].answer(standing)
                going += sum(go_on(k, given) for k, given in answers) - len(answers)
            if tick is not None:
                times = [wanted.who.b["t"].item() for group in groups.values() for _, wanted in group]
                tick([*times, *(wanted.t for _, wanted in asked)], len(found))
    finally:
        for motion in motions:
            motion.close()
    return [found[k] for k in range(len(motions))]


def _steps_ahead(one: tuple[int, Play]) -> float:
    """Return about how many steps one waits for: neighbours wait for each other in their lanes."""
    _, (who, steps) = one
    b = who.b
    return float((b["end"].item() - b["t"].item()) / b["h"].item()) if steps > FEW else float(steps)


def _played(plays: Sequence[Play]) -> list[Played]:
    """Return what plays of the same step tell, of each who wants them."""
    if len(plays) < WORTH_LANES:
        return [who.alone(steps) for who, steps in plays]
    first, count = plays[0].who, max(wanted.steps for wanted in plays)
    program = first.wide
    inputs = {name: first.b[name][0] for name in program.input_names}
    inputs |= {name: np.concatenate([who.b[name] for who, _ in plays]) for name in first.own}
    status, found = program.run(
        inputs, len(plays), steps=count, every=1, rare=first.rare, wanted=first.outputs
    )

    def is_bad(k: int, steps: int) -> bool:
        return not all(np.isfinite(x[k, :steps]).all() for x in found.values())

    return [(_Own(found, k), bool(status) and is_bad(k, steps)) for k, (_, steps) in enumerate(plays)]


class _Own(dict[str, np.ndarray]):
    """What plays of several states have `found`, (states, plays, ...), of the one with the number k: what is looked at
    of it."""

    def __init__(self, found: Mapping[str, np.ndarray], k: int) -> None:
        self.found, self.k = found, k

    def __missing__(self, name: str) -> np.ndarray:
        own = self[name] = self.found[name][self.k]
        return own
