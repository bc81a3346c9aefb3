"""Controllers with a rate that take all states of a batch at once, beside contacts: they are asked once at each sample,
for all states that have come there, as in runs without contacts. States have steps of their own, so each waits at its
samples for the others (`simulation.lanes`); those of which nobody has to look at what contacts do go on in lockstep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.errors import SimulationError
from catena.simulation.acting.commands import forces_given
from catena.simulation.control.protocol import Controller
from catena.simulation.lanes import Asked
from catena.simulation.lockstep import Along, Lockstep
from catena.system import System


class ForAllStates:
    """Asks a controller for all states q (..., nq), v (..., nv) of a batch of a system; those that have come to an end
    stay as they were seen last."""

    def __init__(self, control: Any, system: System, q: np.ndarray, v: np.ndarray) -> None:
        self.control, self.system, self.batch = control, system, q.shape[:-1]
        self.q, self.v = (x.reshape(-1, x.shape[-1]).copy() for x in (q, v))
        self.tau = np.zeros_like(self.v)
        self.locksteps = dict[int, Lockstep]()
        """States that go in lockstep, by the tape of their steps."""
        start = getattr(control, "start", None)
        if start is not None:
            start(system, self.batch)

    @property
    def holds(self) -> bool:
        """Return whether states go in lockstep."""
        return any(one.members for one in self.locksteps.values())

    def answer(self, standing: Sequence[tuple[int, Asked]]) -> list[tuple[int, BaseException | None]]:
        """Ask for the forces of all states, of which some have come to be `standing` at a sample and those in lockstep
        are there too, and go on in lockstep. Returns the numbers of those that go on by themselves, with what went
        wrong if something did."""
        going = [one for one in self.locksteps.values() if one.members]
        try:
            self._ask(standing[0][1].t if standing else going[0].now)
            for lockstep in going:
                lockstep.tick()
        except BaseException as error:
            everyone = [k for k, _ in standing]
            for lockstep in going:
                everyone += lockstep.leave(lockstep.members)
            return [(k, error) for k in everyone]
        alone = list[int]()
        for k, wanted in standing:
            if wanted.along is None:
                alone.append(k)
                continue
            wide = wanted.along.quick.wide
            if id(wide) not in self.locksteps:
                self.locksteps[id(wide)] = Lockstep(wanted.along.quick, len(self.q))
            self.locksteps[id(wide)].join(k, wanted.along, wanted.t)
        for lockstep in self.locksteps.values():
            alone += lockstep.go(self.tau, self.q, self.v)
        return [(k, None) for k in alone]

    def _ask(self, t: float) -> None:
        rows = (x.reshape(*self.batch, x.shape[-1]).copy() for x in (self.q, self.v))
        given = self.control(t, *rows)
        if isinstance(given, Mapping):
            raise SimulationError(
                f"The controller gave forces by name at t = {t:.9g} s for all states of a batch with contacts; "
                f"let it give an array (..., {self.v.shape[-1]}), or leave batches=True out: each state asks by itself."
            )
        # Forces that are not finite are told by the state that gets them.
        self.tau = forces_given(self.system, self.control, t, given, self.batch)[0]


class OneOfAll(Controller):
    """What the state with a `number` gets of a controller that is asked for `everyone`."""

    def __init__(self, everyone: ForAllStates, number: int) -> None:
        self.everyone, self.number = everyone, number
        self.rate = everyone.control.rate
        self.__name__ = getattr(everyone.control, "__name__", type(everyone.control).__name__)

    def wait(self, t: float, q: np.ndarray, v: np.ndarray, along: Along | None = None) -> Asked:
        """Return what this state waits for that has come to a sample with q (nq,) and v (nv,); it may be taken
        `along`."""
        self.everyone.q[self.number], self.everyone.v[self.number] = q, v
        return Asked(self.everyone, t, along)

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        """Do nothing: the controller began with its whole batch."""

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.asarray(self.everyone.tau[self.number])


def takes_batches(control: Any) -> bool:
    """Return whether a controller with a rate says that it takes all states of a batch at once."""
    is_asked_here = not getattr(control, "compiles", False) and not hasattr(control, "feel")
    return (
        getattr(control, "rate", None) is not None
        and is_asked_here
        and bool(getattr(control, "batches", False))
    )
