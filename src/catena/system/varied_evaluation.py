"""Algorithms on one plan with constants that differ from state to state, in lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from catena.errors import StateError
from catena.forces import PlacedForce
from catena.kernels import CONSTANTS, Algorithm, build_tape
from catena.kernels.evaluation import Evaluator
from catena.kernels.tape import Tape
from catena.mechanism import Mechanism
from catena.spatial import Pose
from catena.structure import Plan
from catena.system.variation import ConstantRows

# Steps on the manifold of q know of no length and no mass.
WITHOUT_CONSTANTS = frozenset({"integrate", "difference", "rate", "local_rate", "hermite"})


class VariedEvaluator(Evaluator):
    """Runs algorithms on one plan with constants that differ from state to state, `rows` of them."""

    def __init__(
        self, mechanism: Mechanism, plan: Plan, rows: ConstantRows, alone: Callable[[int], Evaluator]
    ) -> None:
        super().__init__(mechanism, plan)
        self.rows, self._alone = rows, alone

    def with_rows(self, rows: ConstantRows, alone: Callable[[int], Evaluator]) -> VariedEvaluator:
        """Return an evaluator of other states, which shares its programs with this one."""
        other = VariedEvaluator(self.mechanism, self.plan, rows, alone)
        other._programs = self._programs
        return other

    def varying_inputs(
        self, algorithm: Algorithm, frame: str | None, forces: tuple[PlacedForce, ...]
    ) -> dict[str, np.ndarray]:
        """Return the constants (*batch, n) of the tape of an algorithm."""
        if algorithm.name in WITHOUT_CONSTANTS:
            return {}
        return {CONSTANTS: self.rows.constants(algorithm.is_scheduled, forces, frame)}

    def _tape(
        self, algorithm: Algorithm, absent: frozenset[str], frame: tuple[int, Pose] | None, lanes: int | None,
        forces: tuple[PlacedForce, ...],
    ) -> Tape:  # fmt: skip
        varying = algorithm.name not in WITHOUT_CONSTANTS
        return build_tape(algorithm, self.plan, self.constants, absent, frame, lanes, forces, varying)

    def _play(
        self, algorithm: Algorithm, given: Mapping[str, np.ndarray], rows: Mapping[str, np.ndarray],
        states: int, batch: tuple[int, ...], frame: str | None, finite: bool, forces: tuple[PlacedForce, ...],
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Play state after state, each on its own plan."""
        if forces:
            raise StateError(
                f"{self.mechanism.name!r}: forces with varied parameters are not played in plain numbers; compute the "
                f"states one by one, with s.vary(parameters).state(k)."
            )
        pbatch = self.rows.variation.batch
        which = np.broadcast_to(np.arange(prod(pbatch)).reshape(pbatch), batch).reshape(-1)
        found = [
            self._alone(int(which[k])).evaluate(
                algorithm,
                {n: (x if x.ndim == 1 else x[k]) for n, x in rows.items() if n != CONSTANTS},
                frame,
                finite,
            )
            for k in range(states)
        ]
        return {n: np.stack([f[n] for f in found]).reshape(*batch, *found[0][n].shape) for n in found[0]}
