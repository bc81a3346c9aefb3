"""References as controllers take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import CatenaError, StateError
from catena.simulation.references import JointPath, ReferenceMotion, TaskPath
from catena.simulation.references.as_polynomial import InputPath, held
from catena.simulation.references.in_step import ReferenceInStep
from catena.simulation.references.protocol import Prescribed
from catena.system import System
from catena.validation import shown

# References at the samples of a controller are computed for so many samples together.
BLOCK = 64
# A block of more than one sample reaches no further ahead than this [s]: references of loops are followed step by step,
# and what a slow controller would ask for may lie long after the end of the run.
SPAN = 1.0
# So many blocks are kept.
KEPT = 1024


@runtime_checkable
class StatePath(Protocol):
    """A reference of a whole system, such as `JointPath` and `TaskPath`."""

    system: System
    lasting: bool
    """Whether it is the same in every run, so that what it gives may be kept."""

    @property
    def followed(self) -> np.ndarray:
        """Return which velocity components (nv,) have a reference."""

    def at(self, t: Any) -> ReferenceMotion:
        """Return the motion of the whole system."""

    def given(self, t: Any) -> ReferenceMotion:
        """Return it without what follows from the loops."""


FollowedMotion = StatePath | Mapping[str, Prescribed | ArrayLike]
"""What controllers of joints follow: a reference of the whole system, or references or positions by joint."""


def as_path(system: System, who: str, reference: Any) -> StatePath:
    """Return a reference of the system: itself, or a `JointPath` of a mapping {joint: reference or position}."""
    if isinstance(reference, Mapping):
        return JointPath(system, reference)
    if isinstance(reference, StatePath):
        if reference.system is not system:
            raise StateError(
                f"{who}: the reference was made for another plan, of {reference.system.mechanism.name!r}; make it with "
                f"the same system."
            )
        return reference
    raise StateError(
        f"{who}: the reference is {shown(reference)}; give {{joint: position or reference}}, a JointPath or a TaskPath."
    )


def known_in_step(path: StatePath) -> ReferenceInStep | None:
    """Return a reference of a system for the compiled step; None where only Python knows what it is."""
    return path.in_step if isinstance(path, JointPath | TaskPath) else None


def paths_of(known: ReferenceInStep | None, constants: np.ndarray) -> tuple[InputPath, ...] | None:
    """Return what a law is told as polynomials: a reference that is made of such, and its constants (n,); None where
    one of them is not."""
    return None if known is None or constants.ndim != 1 else (*known.paths, (held(constants), 0))


class Ahead:
    """Arrays that are known at every time, computed ahead for the samples k / rate of a controller, a block at a time.

    `compute` takes times (T,) and gives arrays (T, ...), or one time and gives them without that dimension. Blocks are
    kept for the next run if the path is one that does not change.
    """

    def __init__(
        self, path: StatePath, compute: Callable[[Any], Sequence[np.ndarray]], rate: float | None
    ) -> None:
        self.path, self.compute, self.rate = path, compute, rate
        # How many samples a block has.
        self._size = BLOCK if rate is None else min(BLOCK, max(1, int(SPAN * float(rate))))
        self._blocks: dict[int, Sequence[np.ndarray]] = {}

    def forget(self) -> None:
        """Forget, at the start of a run, the arrays that may have changed."""
        if not self.path.lasting:
            self._blocks.clear()

    def at(self, t: Any) -> Sequence[np.ndarray]:
        """Return the arrays at the time t, or at times."""
        # Many times at once need no blocks, unless those are kept.
        if self.rate is None or (np.size(t) >= self._size and not self.path.lasting):
            return self.compute(t)
        samples = np.asarray(t) * self.rate
        k = np.rint(samples).astype(int)
        if not k.size or k.min() < 0 or np.abs(samples - k).max() > 1e-6:
            return self.compute(t)
        try:
            needed = {i: self._block(i) for i in np.unique(k // self._size).tolist()}
        except CatenaError:
            # What is out of reach may lie behind the end of the run.
            return self.compute(t)
        if k.ndim == 0:
            return [x[int(k) % self._size] for x in needed[int(k) // self._size]]
        first = min(needed) * self._size
        if len(needed) * self._size + first <= k.max():
            return self.compute(t)
        return [np.concatenate(parts)[k - first] for parts in zip(*needed.values())]

    def _block(self, i: int) -> Sequence[np.ndarray]:
        """Return the arrays of the i-th block of samples."""
        if i not in self._blocks:
            if len(self._blocks) >= KEPT:
                self._blocks.pop(next(iter(self._blocks)))
            self._blocks[i] = self.compute((i * self._size + np.arange(self._size)) / float(self.rate or 1.0))
        return self._blocks[i]
