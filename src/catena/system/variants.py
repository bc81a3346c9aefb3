"""A system for other states: with numbers of its mechanism for a batch of them, for one of them, and without forces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from catena.errors import StateError
from catena.system.own_forces import without_forces
from catena.validation import shown

if TYPE_CHECKING:
    from catena.equations.specialising import Specialiser
    from catena.system.system import System


class Variants:
    """What else a system may be: `system.variants`. All but `bare` are the system itself unless `vary` made it."""

    def __init__(self, system: System) -> None:
        self._system = system

    @property
    def bare(self) -> System:
        """Return the system without anything of the mechanism that acts (`Mechanism.without_forces`), in the same
        coordinates; itself where nothing acts."""
        system = self._system
        system.mechanics.evaluator.check_current()
        if system._without_forces is None:
            states = system._states
            system._without_forces = without_forces(system) if states is None else states.bare() or system
        return system._without_forces

    @property
    def base(self) -> System:
        """Return the system with the plan that serves all states of this one, and with the described numbers; itself
        where `vary` did not make it."""
        return self._system if self._system._states is None else self._system._states.base

    @property
    def unloaded(self) -> System:
        """Return the system whose joints have no friction by load, in the same coordinates; itself where none have."""
        if not self._system._bears:
            return self._system
        # Copies of a system are planned anew.
        found = object.__new__(type(self._system))
        found.__dict__.update(self._system.__dict__ | {"_bears": False})
        return found

    @property
    def laid_out(self) -> System:
        """Return the system whose tapes this one uses, with loops elsewhere (`with_loops_at`); itself if it has its
        own."""
        return self._system if self._system._laid_out is None else self._system._laid_out

    @property
    def origin(self) -> System:
        """Return the system that this one was made from by `vary`; itself where it was not."""
        return self._system if self._system._states is None else self._system._states.origin

    @property
    def parameters(self) -> Mapping[str, np.ndarray]:
        """Return the parameters that differ from state to state, {name: (..., n)}; nothing where none do."""
        return {} if self._system._states is None else dict(self._system._states.variation.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the batch dimensions of parameters that differ from state to state, () where none do."""
        return () if self._system._states is None else self._system._states.batch

    def over(self, batch: tuple[int, ...]) -> System:
        """Return the system for all states of a batch, one behind the other."""
        states = self._system._states
        return self._system if states is None else self._system._of_variation(states.variation.over(batch))

    def reshaped(self, batch: tuple[int, ...]) -> System:
        """Return the system with other batch dimensions of its parameters."""
        states = self._system._states
        return (
            self._system if states is None else self._system._of_variation(states.variation.reshaped(batch))
        )

    def chosen(self, which: np.ndarray, batch: tuple[int, ...]) -> System:
        """Return the system of some states (n,) of a batch, in batch dimensions."""
        states = self._system._states
        if states is None:
            return self._system
        return self._system._of_variation(states.variation.chosen(which, batch))

    def state(self, k: int) -> System:
        """Return the system of one state, counted from 0 through the batch of the parameters."""
        if self._system._states is not None:
            return self._system._states.alone(k)
        if not (isinstance(k, int | np.integer) and k >= 0):
            raise StateError(f"There is no state {shown(k)}; states are counted from 0.")
        return self._system

    @property
    def specialiser(self) -> Specialiser:
        """Return what compiles calculations for this very mechanism, where `specialise` made the system: whether it
        `is_ready`, how many `seconds` each took, and `wait`."""
        found = self._system._specialiser
        if found is None:
            raise StateError(f"{self._system.mechanism.name!r} is not specialised; ask s.specialise().")
        return found
