"""Which components of the velocity are independent: those that were named, as long as they determine the others, and
where they hardly do, those that determine them best. Nikravesh, Gim, Arabyan and Rein, eq. 16 to 22."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from catena.dynamics.loops.independent import component_names, independent_components
from catena.errors import LoopError
from catena.kinematics.loops.scales import scales_of
from catena.system import System
from catena.system.published_quantities import velocity_transformation
from catena.thresholds import RANK_SEARCHED

# Others become independent where a dependent coordinate moves so many times as far as the independent ones, in units
# of their inertias; where even the best ones let them move far, where they do so this much farther.
GROWTH, FARTHER = 50.0, 4.0

OnChange = Callable[[float, list[str], list[str]], None]
"""Who is told at which time which coordinates were independent, and which are from then on."""


class IndependentComponents:
    """The choice of one state. `names` are joints, or their components, whose coordinates are independent as long as
    they can be; those that are `driven` (nv,) are known."""

    def __init__(
        self, system: System, driven: np.ndarray, names: Sequence[str] | None, on_change: OnChange
    ) -> None:
        self.system, self.driven, self.names, self.on_change = system, driven, names, on_change
        self.free = np.flatnonzero(~driven)
        self.independent: np.ndarray | None = None
        self.dependent = np.zeros(0, dtype=np.int64)
        self.unit = np.ones(system.nv)
        """How far components move in unit time with the kinetic energy of one half, each alone."""

    @property
    def chosen(self) -> np.ndarray:
        """Return the independent components (d,)."""
        assert self.independent is not None
        return self.independent

    def closure(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far loops are open at q (rows, nq), (rows, m), and their constraints (rows, m, nv): the speeds at
        which each component alone opens them, in lanes."""
        e, C = self.system.closure(q[:, None], np.eye(self.system.nv))
        return e[:, 0], np.ascontiguousarray(np.swapaxes(C, -1, -2))

    def choose(self, t: float, q: np.ndarray) -> np.ndarray:
        """Choose at a time and a closed position q (nq,), tell it where that is another choice than before, and return
        the constraints (m, nv) there."""
        before, C = self.independent, self.closure(q[None])[1][0]
        inertia = np.diagonal(self.system.mass_matrix(q))
        self.unit = 1.0 / np.sqrt(np.maximum(inertia, 1e-12 * max(inertia.max(initial=0.0), 1e-300)))
        if before is None and self.names is not None:
            self._take(self._named(q, C))
        elif before is None or self.growth(C) > GROWTH:
            self._take(self._best(C))
        if before is not None and not np.array_equal(before, self.chosen):
            plan = self.system.plan
            self.on_change(t, component_names(plan, before), component_names(plan, self.chosen))
        return C

    def slopes(self, C: np.ndarray) -> np.ndarray:
        """Return how dependent coordinates follow the independent ones, (rows, r, d), for constraints (rows, m, nv)."""
        if not len(self.dependent):
            return np.zeros((len(C), 0, len(self.chosen)))
        return -np.linalg.pinv(C[:, :, self.dependent], rcond=RANK_SEARCHED) @ C[:, :, self.chosen]

    def growth(self, C: np.ndarray) -> float:
        """Return how far dependent coordinates go beside the independent ones, in units of their inertias; infinite
        where those do not determine them."""
        if not len(self.dependent):
            return 0.0
        A = scales_of(self.system.plan).jacobian(C)[:, self.dependent]
        s = np.linalg.svd(A, compute_uv=False)
        if len(A) < len(self.dependent) or s[-1] <= RANK_SEARCHED * s[0]:
            return np.inf
        slope = self.slopes(C[None])[0] * self.unit[self.chosen] / self.unit[self.dependent, None]
        return float(np.max(np.abs(slope), initial=0.0))

    def inputs_of_steps(self, C: np.ndarray) -> dict[str, np.ndarray]:
        """Return what compiled steps are told for constraints C (m, nv) where they begin (`methods.minimal`): 1 for
        components that are `held`, and for those that count, a probe in which all independent ones move by their
        units, what others count in it, and how far these may move at `most`."""
        nv, own = self.system.nv, self.chosen
        counts, probe, weight = np.zeros(nv), np.zeros(nv), np.zeros(nv)
        counts[own] = 1.0
        # One after the other is a little slower, so that opposite motions of two do not cancel.
        probe[own] = self.unit[own] / (1.0 + np.arange(len(own)) / max(1, 4 * len(own)))
        weight[self.dependent] = 1.0 / self.unit[self.dependent]
        moved = weight[self.dependent] * np.abs(self.slopes(C[None])[0] @ probe[own])
        most = max(GROWTH, FARTHER * float(np.max(moved, initial=0.0)))
        return {
            "held": np.maximum(counts, self.driven), "counts": counts, "probe": probe, "weight": weight,
            "most": np.array([most]),
        }  # fmt: skip

    def _take(self, independent: np.ndarray) -> None:
        self.independent = independent
        self.dependent = np.setdiff1d(self.free, independent)

    def _best(self, C: np.ndarray) -> np.ndarray:
        """Return the components that constraints C (m, nv) determine worst, which determine all others best."""
        from scipy.linalg import qr

        scales = scales_of(self.system.plan)
        A = scales.jacobian(C)[:, self.free]
        if not A.size:
            return self.free
        s = np.linalg.svd(A, compute_uv=False)
        rank = int(np.count_nonzero(s > RANK_SEARCHED * max(s[0], 1.0)))
        weighed = A / scales.units[self.free] * self.unit[self.free]
        order = qr(weighed, mode="r", pivoting=True)[1]
        return np.sort(self.free[order[rank:]])

    def _named(self, q: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Return the components of the joints that were named, which determine others with those that are driven."""
        assert self.names is not None
        plan = self.system.plan
        asked = independent_components(plan, self.names)
        clash = asked[self.driven[asked]]
        if len(clash):
            raise LoopError(
                f"independent: the motion of {component_names(plan, clash)} is prescribed; name others."
            )
        if not self.driven.any():
            # What does not determine the others is refused there in words.
            velocity_transformation(self.system, q, independent=component_names(plan, asked))
        self._take(asked)
        if len(asked) != len(self._best(C)) or self.growth(C) == np.inf:
            raise LoopError(
                f"independent = {component_names(plan, asked)} do not determine how {plan.name!r} moves beside the "
                f"joints whose motion is prescribed: name as many components as there are free motions, "
                f"{len(self._best(C))}."
            )
        return asked


class ChoicesOfStates:
    """The choices of all states of a run, and what compiled steps are told of them."""

    def __init__(self, system: System, driven: np.ndarray, names: Sequence[str] | None) -> None:
        self.system, self.driven, self.names = system, driven, names
        self.changes: list[tuple[int, float, list[str], list[str]]] = []
        """States of the batch, times, what was independent, and what is since."""
        self._of: dict[int, IndependentComponents] = {}
        self.step_inputs: dict[str, np.ndarray] = {}
        """What steps are told, (states of the batch, n)."""

    def choose(self, state: int, t: float, q: np.ndarray) -> None:
        """Choose for one state of the batch, at a time and a closed position q (nq,)."""
        if state not in self._of:

            def tell(t: float, before: list[str], after: list[str]) -> None:
                self.changes.append((state, t, before, after))

            own = self.system.variants.state(state)
            self._of[state] = IndependentComponents(own, self.driven, self.names, tell)
        choice = self._of[state]
        for name, x in choice.inputs_of_steps(choice.choose(t, q)).items():
            if len(self.step_inputs.get(name, ())) <= state:
                known = self.step_inputs.get(name, np.zeros((0, len(x))))
                self.step_inputs[name] = np.concatenate([known, np.zeros((state + 1 - len(known), len(x)))])
            self.step_inputs[name][state] = x

    def begin(self, states: np.ndarray, t: np.ndarray, q: np.ndarray) -> None:
        """Choose for the states of the batch (states,) that have not been chosen for, at times t and q (states, nq)."""
        for k, state in enumerate(states.tolist()):
            if state not in self._of:
                self.choose(state, float(t[k]), q[k])

    def inputs(self, states: np.ndarray) -> dict[str, np.ndarray]:
        """Return what steps of these states of the batch are told."""
        return {name: x[states] for name, x in self.step_inputs.items()}
