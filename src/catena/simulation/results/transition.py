"""What happens between two segments of a run: the structure changes, or contacts do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from catena.changing.transfer import energy_text
from catena.simulation.results.on_demand import NumberOnDemand

if TYPE_CHECKING:
    from catena.changing import Transfer


@dataclass(frozen=True, eq=False)
class Transition:
    """A change of structure during a run: when it happened and why, the kinetic energy that was lost [J], the impulse
    of each joint (6,) on its child or of each contact (3,) in the axes of its plane, by how much the momentum of what
    touches nothing changed (as a part of what is summed up in it; NaN where nobody looked), and what became of joints
    or contacts in words. Print it to read that. `transfer` is how the state went over, where it did so by
    `catena.transfer`. `state` is the index of the state of a batch that it happened to."""

    t: float
    name: str
    energy_loss: float
    impulse: Mapping[str, np.ndarray]
    momentum_error: NumberOnDemand = NumberOnDemand()
    told: tuple[str, ...] = ()
    transfer: Transfer | None = field(default=None, repr=False)
    state: tuple[int, ...] = ()

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_momentum_error": self.momentum_error}

    def __str__(self) -> str:
        head = f"t = {self.t:.6g} s, {self.name}: {energy_text(self.energy_loss, 6)}"
        return "\n".join([head, *(f"  {x}" for x in self.told)])


def change_of_coordinates(
    batch: tuple[int, ...], state: int, t: float, before: list[str], after: list[str]
) -> Transition:
    """Return that a state of a batch has other independent coordinates from a time on."""
    words = f"{', '.join(before)} do not determine the others here; {', '.join(after)} do"
    index = tuple(int(k) for k in np.unravel_index(state, batch)) if batch else ()
    return Transition(t, "independent coordinates", 0.0, {}, float("nan"), told=(words,), state=index)
