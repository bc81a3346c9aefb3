"""One derivation: algorithms played one after the other on the same symbols, and small systems solved in between."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from catena.dynamics.elements.element_force import element_force
from catena.equations.parameters import SymbolicPlan
from catena.equations.unrolling import Played, Unrolled, UnrolledCall, new_symbols, unroll
from catena.errors import EquationsError, ModelError
from catena.forces import PlacedForce
from catena.kernels import Algorithm
from catena.spatial import is_symbolic
from catena.spatial.on_symbols import on_symbols
from catena.spatial.scalars import array
from catena.structure import Plan

# What the algorithms call the quantities that users know as v, vdot and base_acceleration.
INSIDE = {"v": "qd", "vdot": "qdd", "base_acceleration": "a_base"}


# What is done between algorithms, by the names under which it is noted.
OUTSIDE = frozenset({"solve", "reduce", "constraints"})


class Derivation:
    """Symbols for the state of a mechanism, and what has been derived from them so far."""

    def __init__(
        self, name: str, plan: SymbolicPlan, arguments: Sequence[str], wrenches: Sequence[str] = (),
        forces: tuple[PlacedForce, ...] = (),
    ) -> None:  # fmt: skip
        self.name, self.symbolic, self._forces = name, plan, forces
        sizes = {"q": plan.plan.nq, "base_acceleration": 6}
        self.arguments = {a: new_symbols(a, sizes.get(a, plan.plan.nv)) for a in arguments}
        self.wrenches = {f: new_symbols(f"f_ext_{f}", 6) for f in wrenches}
        self.calls: list[UnrolledCall] = []
        self.made: list[list[Any]] = []
        self.played: list[Played] = []

    @property
    def plan(self) -> Plan:
        """The plan, with symbols where asked for."""
        return self.symbolic.plan

    def play(
        self, algorithm: Algorithm, names: Iterable[str], frame: str | None = None,
        forces: tuple[PlacedForce, ...] = (),
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Return the outputs of an algorithm for the arguments `names`; those that this derivation does not have are
        zero, and forces of the mechanism are among those at the joints."""
        inputs = {INSIDE.get(n, n): self.arguments[n] for n in names if n in self.arguments}
        if "tau" in inputs:
            inputs["tau"] = self.joint_forces
        if forces:
            inputs.setdefault("qd", np.zeros(self.plan.nv))
        if self.wrenches and "f_ext" in algorithm.inputs:
            inputs["f_ext"] = self._f_ext
        try:
            with on_symbols(f"{algorithm.name} of {self.plan.name!r}"):
                played = unroll(algorithm, self.symbolic, inputs, frame, calls=True, forces=forces)
        except ModelError as error:
            raise EquationsError(str(error)) from error
        self.calls += played.calls
        self.made += played.made
        self.played += played.played
        return dict(played.outputs)

    @cached_property
    def own_forces(self) -> np.ndarray | None:
        """The forces (nv,) of the tree's joints that move the mechanism as its own forces do, None without these."""
        return self.play(element_force, ("q", "v"), forces=self._forces)["load"] if self._forces else None

    @cached_property
    def joint_forces(self) -> np.ndarray:
        """The forces (nv,) at the joints: the argument tau, zero where there is none, and those of the mechanism."""
        tau, own = self.arguments.get("tau", np.zeros(self.plan.nv)), self.own_forces
        return tau if own is None else array([a + b for a, b in zip(tau, own, strict=True)])

    def besides_forces(self, taken: np.ndarray) -> np.ndarray:
        """Return what is left of joint forces (nv,) that a motion takes, besides those of the mechanism."""
        own = self.own_forces
        return taken if own is None else array([a - b for a, b in zip(taken, own, strict=True)])

    @cached_property
    def _f_ext(self) -> np.ndarray:
        """The wrenches on all nodes in their own frames, (6 n,)."""
        from catena.spatial import Force, Transform

        total = [Force.zero() for _ in range(self.plan.n)]
        for frame, wrench in self.wrenches.items():
            node, pose = self.plan.body_pose[frame]
            total[node] = total[node] + Transform.from_pose(pose).pull(Force(wrench))
        return np.concatenate([f.array for f in total])

    def note(self, step: str, who: str, values: Iterable[Any]) -> None:
        """Keep expressions that were made outside the steps of an algorithm, under the name of a step."""
        self.calls.append(UnrolledCall(step, -1, who))
        self.made.append([x for x in values if is_symbolic(x) and not x.is_constant()])

    def unrolled(self, outputs: dict[str, np.ndarray]) -> Unrolled:
        """Return what was derived, with these outputs."""
        inputs = {**self.arguments, **{f"f_ext.{f}": w for f, w in self.wrenches.items()}}
        return Unrolled(
            self.name,
            inputs,
            self.symbolic.symbols,
            outputs,
            tuple(self.calls),
            tuple(self.made),
            tuple(self.played),
        )
