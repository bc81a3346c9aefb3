"""What the forces of a mechanism do at a state, asked of its system: `s.forces`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from catena.dynamics.elements.elements import ElementForces

if TYPE_CHECKING:
    from catena.system.system import System


class ForcesOfSystem:
    """Springs, stops, wrenches and all other forces of the mechanism of a system.

    All calls of a system apply them by themselves unless `elements=False` says otherwise. A joint that closes a loop
    has its springs and stops among the wrenches, and its angles lie between -pi and pi, unless `near` tells a position
    {joint: (..., nq of the joint)} that it is next to: whole turns are counted on from there.
    """

    def __init__(self, system: System) -> None:
        self._system = system

    def loads(self, q: ArrayLike, v: ArrayLike, near: Mapping[str, ArrayLike] | None = None) -> ElementForces:
        """Return what they do at q (..., nq) and v (..., nv): tau (..., nv) and f_ext {body: (..., 6)}, as
        `forward_dynamics` takes them."""
        batch, flat, q, v = self._system._flattened(q, v)
        return flat.mechanics.elements.element_forces(q, v, self._system._near_rows(near, batch)).reshaped(
            batch
        )

    def energy(self, q: ArrayLike, near: Mapping[str, ArrayLike] | None = None) -> np.ndarray:
        """Return the energy that they store, shape (...)."""
        batch, flat, q, _ = self._system._flattened(q, np.zeros(self._system.nv))
        return flat.mechanics.elements.energy(q, self._system._near_rows(near, batch)).reshape(batch)

    def outputs(
        self, q: ArrayLike, v: ArrayLike, near: Mapping[str, ArrayLike] | None = None
    ) -> dict[str, dict[str, np.ndarray]]:
        """Return what is worth recording of each of them at q (..., nq) and v (..., nv): {force: {output: (...)}}.

        Every force has its `power` [W] and, if it stores some, its `energy` [J]; the rest depends on its kind, such as
        length, rate and tension of a spring between points. The stops of a joint are called after it, "elbow.limits".
        """
        batch, flat, q, v = self._system._flattened(q, v)
        report = flat.mechanics.elements.report(q, v, near=self._system._near_rows(near, batch))
        found = {}
        for force in self._system.mechanics.elements.placed:
            if force.name != force.whole:
                continue
            own = dict(report.outputs[force.name])
            if force.kind.stores:
                own["energy"] = report.energy[force.name]
            own["power"] = report.power[force.name]
            found[force.name] = {name: x.reshape(batch) for name, x in own.items()}
        return found

    def powers(
        self, q: ArrayLike, v: ArrayLike, near: Mapping[str, ArrayLike] | None = None
    ) -> dict[str, np.ndarray]:
        """Return their power (...) by source, "friction" (of joints and dampers) and "wrenches", without what comes
        out of the energy that they store."""
        batch, flat, q, v = self._system._flattened(q, v)
        found = flat.mechanics.elements.powers(q, v, self._system._near_rows(near, batch))
        return {source: x.reshape(batch) for source, x in found.items()}
