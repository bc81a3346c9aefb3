"""An algorithm whose workspace is kept between calls: states that come one after the other cost little more than the
compiled code."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from catena.forces import PlacedForce
from catena.kernels import Algorithm, Session, is_plain
from catena.system import System


class Kept:
    """An algorithm on a system for so many states at a time, without the inputs `absent`. What it is given must be
    good, and what it returns are buffers that the next call overwrites; numbers that are not finite give None, and
    whoever asks goes the general way, which knows how to complain."""

    def __init__(
        self,
        system: System,
        algorithm: Algorithm,
        states: int,
        absent: Collection[str] = (),
        forces: tuple[PlacedForce, ...] = (),
    ) -> None:
        self.session = Session(system.mechanics.program(algorithm, frozenset(absent), forces=forces), states)
        tape = self.session.program.tape
        self.play = self.session.piece(0, None, tuple(tape.inputs), tuple(tape.outputs))

    def __call__(self, **inputs: np.ndarray) -> dict[str, np.ndarray] | None:
        buffers = self.session.buffers
        for name, x in inputs.items():
            buffers[name][:] = x
        return None if self.play() else buffers


def can_keep(system: System) -> bool:
    """Return whether algorithms on a system can be kept: compiled, without coordinates that nodes share."""
    return system.plan.owner is None and system.variants.origin is system and not is_plain()
