"""Several controllers whose forces add up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.simulation.acting.symbols import join
from catena.simulation.control.protocol import Controller
from catena.simulation.control.sampled import SampledController
from catena.simulation.references.as_polynomial import InputPath
from catena.spatial.scalars import Scalar, Scalars
from catena.system import System


class Sum(Controller):
    """The sum of controllers and functions of (t, q, v).

    Parts without a rate are asked at the rate of the others, which must be one and the same.
    """

    def __init__(self, *parts: Any) -> None:
        flat: list[Controller] = []
        for part in parts:
            if isinstance(part, Sum):
                flat += part.parts
            else:
                flat.append(
                    part
                    if isinstance(part, Controller)
                    else SampledController(part, getattr(part, "rate", None))
                )
        self.parts: tuple[Controller, ...] = tuple(flat)
        rates = sorted({part.rate for part in flat if part.rate is not None})
        if len(rates) > 1:
            raise StateError(
                f"The controllers to be added are sampled at {', '.join(f'{rate:g}' for rate in rates)} Hz; give "
                f"them one rate."
            )
        self.rate = rates[0] if rates else None
        self.batches = all(part.batches for part in flat)
        self._sizes: list[tuple[int, int]] = []

    @property
    def compiles(self) -> bool:
        return all(part.compiles for part in self.parts)

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        for part in self.parts:
            part.start(system, batch)

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        answers = [part(t, q, v) for part in self.parts]
        if any(isinstance(x, Mapping) for x in answers):
            raise StateError(
                "Controllers that give forces by name cannot be added; let each give an array (nv,)."
            )
        return np.asarray(sum(answers), dtype=np.float64)

    # As a law: memories and inputs one behind the other.

    def memory(self, system: System) -> int:
        self._sizes = [(part.memory(system), part.inputs(0.0).shape[-1]) for part in self._laws]
        return sum(size for size, _ in self._sizes)

    def inputs(self, t: Any) -> np.ndarray:
        return join([law.inputs(t) for law in self._laws])

    def input_paths(self) -> tuple[InputPath, ...] | None:
        paths = [law.input_paths() for law in self._laws]
        return None if None in paths else tuple(path for part in paths for path in part or ())

    def evaluate(
        self, t: Scalar, q: Scalars, v: Scalars, memory: Scalars, inputs: Scalars
    ) -> tuple[Scalars, Scalars]:
        """Ask `memory` first, which counts what belongs to each part."""
        tau, kept, m, k = 0.0, [], 0, 0
        for law, (size, width) in zip(self._laws, self._sizes, strict=True):
            force, rest = law.evaluate(t, q, v, memory[..., m : m + size], inputs[..., k : k + width])
            tau, m, k = tau + force, m + size, k + width
            kept.append(rest)
        return tau, join(kept)

    @property
    def _laws(self) -> list[Any]:
        plain = [type(part).__name__ for part in self.parts if not part.compiles]
        if plain:
            raise StateError(f"The sum does not compile, because {', '.join(plain)} does not.")
        return list(self.parts)
