"""Numbers of a mechanism that differ from state to state: the constants of a tape as functions of parameters by name.

The plan is made once with symbols for the parameters, the constants of the tape are read off it, and all states are
evaluated at once. So everything that planning does to a mass or a length (welding, moving to the frame of a node,
turning to canonical axes) is done by planning itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from catena.dynamics.elements.placed_forces import FRICTION, at_joint, between
from catena.dynamics.tree.rotors import rotor_inertias
from catena.equations.parameters import Parameter, SymbolicPlan, find_parameters, symbolic_plan, with_values
from catena.errors import ModelError, StateError, raise_for_states
from catena.forces import PlacedForce
from catena.kernels import Constants, arrays, constant_parts
from catena.kernels.evaluation import ConstantsByState, Evaluator
from catena.kinematics.kind_values import formula_rows
from catena.mechanism import LIMITS, Mechanism
from catena.mechanism.validation import inertia_fault
from catena.spatial import Pose, Transform, is_symbolic
from catena.structure import Plan
from catena.structure.plan import Parts
from catena.validation import real_array, shown

# What no such number may be less than zero of, by the word that its name has.
NOT_NEGATIVE = ("mass", "damping", "friction", "armature", "stiffness", "length", "rest_length")

# Words of numbers whose size changes no plan, only whether they are zero.
SCALES = ("mass", "damping", "friction", "armature", "stiffness")
# Tapes whose constants are kept as formulas.
MOST_TAPES = 64


class Variation:
    """The values (*batch, n) of parameters of one mechanism, by name. `mechanism` is the one they are asked of;
    `formulas` are shared with other values of the same parameters."""

    def __init__(
        self, mechanism: Mechanism, values: Mapping[str, np.ndarray], parameters: Sequence[Parameter],
        formulas: dict[int, ConstantFormulas] | None = None,
    ) -> None:  # fmt: skip
        self.formulas: dict[int, ConstantFormulas] = {} if formulas is None else formulas
        self.mechanism, self.parameters = mechanism, tuple(parameters)
        self.batch = arrays.batch_shape(values) if values else ()
        self.values = {name: np.broadcast_to(x, (*self.batch, x.shape[-1])) for name, x in values.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy or a pickle is made of; formulas are found again."""
        return Variation, (self.mechanism, self.values, self.parameters)

    @staticmethod
    def of(mechanism: Mechanism, parameters_by_name: Mapping[str, Any]) -> Variation:
        """Return the variation with given values: (...) for a parameter that is one number, (..., n) for others."""
        if not isinstance(parameters_by_name, Mapping):
            raise StateError(
                f"parameters is {shown(parameters_by_name)}; give a mapping from names, such as 'pole.mass', to arrays."
            )
        for name in parameters_by_name:
            if not isinstance(name, str):
                raise StateError(f"parameters has the key {shown(name)}; give names, such as 'pole.mass'.")
        parameters = find_parameters(mechanism, parameters_by_name)
        values = {p.name: _checked(p, parameters_by_name[p.name]) for p in parameters}
        found = Variation(mechanism, values, parameters)
        faults = _impossible_numbers(found) or _impossible_bodies(mechanism, found)
        raise_for_states({state: StateError(words) for state, words in sorted(faults.items())})
        return found

    def over(self, batch: tuple[int, ...]) -> Variation:
        """Return the same values for all states of a batch, one behind the other: batch (states,)."""
        states = prod(batch)
        values = {
            n: np.ascontiguousarray(np.broadcast_to(x, (*batch, x.shape[-1])).reshape(states, x.shape[-1]))
            for n, x in self.values.items()
        }
        return Variation(self.mechanism, values, self.parameters, self.formulas)

    def reshaped(self, batch: tuple[int, ...]) -> Variation:
        """Return the same values with other batch dimensions."""
        values = {n: x.reshape(*batch, x.shape[-1]) for n, x in self.values.items()}
        return Variation(self.mechanism, values, self.parameters, self.formulas)

    def chosen(self, states: np.ndarray, batch: tuple[int, ...]) -> Variation:
        """Return the values of some states (n,), counted through the batch, in other batch dimensions."""
        values = {
            n: x.reshape(-1, x.shape[-1])[states].reshape(*batch, x.shape[-1]) for n, x in self.values.items()
        }
        return Variation(self.mechanism, values, self.parameters, self.formulas)

    def at(self, state: tuple[int, ...]) -> Mechanism:
        """Return the mechanism of one state."""
        return with_values(self.mechanism, {name: x[state] for name, x in self.values.items()})

    @cached_property
    def representative(self) -> Mechanism:
        """Return a mechanism that says which numbers there are: the described one, but with the largest value of the
        batch in place of zeros, because what is zero computes nothing."""
        changed = {}
        for p in self.parameters:
            largest = np.abs(self.values[p.name]).reshape(-1, len(p.value)).max(axis=0, initial=0.0)
            changed[p.name] = np.where(p.value == 0.0, largest, p.value)
        return with_values(self.mechanism, changed)

    @cached_property
    def signature(self) -> tuple[Any, ...]:
        """Return what variations have in common that have the same formulas: names of parameters, and what stands in
        the place of zeros of the mechanism. How large a mass or a damping is there makes no difference."""
        found: list[Any] = []
        for p in self.parameters:
            largest = np.abs(self.values[p.name]).reshape(-1, len(p.value)).max(axis=0, initial=0.0)
            there = np.where(p.value == 0.0, largest, 0.0)
            if set(p.name.split(".")) & set(SCALES):
                there = np.sign(there)
            found.append((p.name, there.tobytes()))
        return tuple(found)

    def like(self, other: Variation) -> Variation:
        """Return these values with the formulas of another variation of the same sort."""
        return Variation(self.mechanism, self.values, self.parameters, other.formulas)

    def formulas_on(self, plan: Plan) -> ConstantFormulas:
        """Return the constants of tapes on a plan as formulas of the parameters."""
        found = self.formulas.get(id(plan))
        if found is None or found.plan is not plan:
            found = self.formulas[id(plan)] = ConstantFormulas(self, plan)
        return found

    def symbolic(self, plan: Plan) -> SymbolicPlan:
        """Return a plan of the representative mechanism with symbols for the parameters."""
        return symbolic_plan(self.representative, plan, self.values, exact=False)


class ConstantFormulas:
    """One plan with symbols for the parameters of a variation, and the constants of tapes as functions of these."""

    def __init__(self, variation: Variation, plan: Plan) -> None:
        self.plan = plan
        self.symbolic = variation.symbolic(plan)
        self.of_tapes: dict[tuple[Any, ...], tuple[Formulas, np.ndarray]] = {}
        """The constants of a tape, and where those of forces begin."""

    def formulas(self, entries: Sequence[Any]) -> Formulas:
        """Return numbers and expressions of the parameters as formulas of all of them."""
        import casadi

        symbols = casadi.vertcat(*[x for s in self.symbolic.symbols.values() for x in s])
        varies = np.array([isinstance(x, casadi.SX) and not x.is_constant() for x in entries], dtype=bool)
        same = np.array([0.0 if own else float(x) for x, own in zip(entries, varies)])
        own = casadi.vertcat(*[x for x, own in zip(entries, varies) if own])
        return Formulas(
            same, np.flatnonzero(varies), casadi.Function("constants", [symbols], [casadi.densify(own)])
        )


@dataclass(frozen=True, eq=False)
class Formulas:
    """Numbers (n,) of which some, those at the places `varies`, are a CasADi `function` of parameters."""

    same: np.ndarray
    varies: np.ndarray
    function: Any

    def rows(self, parameters: np.ndarray) -> np.ndarray:
        """Return the numbers (states, n) for parameters (states, k)."""
        found = np.repeat(self.same[None], len(parameters), axis=0)
        if len(self.varies):
            found[:, self.varies] = formula_rows(self.function, parameters)
        return found


class VariedConstants(ConstantsByState):
    """The constants (*batch, n) of tapes on one plan for the states of a variation. Made once for each tape.

    `alone` finds what runs algorithms for one state, and `stops` the parameters (*batch, n) of the rigid stops of a
    joint, which depend on the inertia that it feels in each state.
    """

    def __init__(
        self, variation: Variation, plan: Plan, alone: Callable[[int], Evaluator],
        stops: Callable[[str], np.ndarray],
    ) -> None:  # fmt: skip
        self.variation, self.plan, self.batch = variation, plan, variation.batch
        self._alone, self._stops = alone, stops
        self._rows: dict[tuple[Any, ...], np.ndarray] = {}

    @cached_property
    def _formulas(self) -> ConstantFormulas:
        return self.variation.formulas_on(self.plan)

    @property
    def _symbolic(self) -> SymbolicPlan:
        return self._formulas.symbolic

    def alone(self, state: int) -> Evaluator:
        """Return what runs algorithms for one state."""
        return self._alone(state)

    def rows(self, has_loops: bool, forces: tuple[PlacedForce, ...], frame: str | None) -> np.ndarray:
        """Return the constants of the tape of an algorithm, with or without loops, with these forces and this frame."""
        key = (has_loops, forces, frame)
        if key not in self._rows:
            known = self._formulas.of_tapes
            if key not in known:
                if len(known) >= MOST_TAPES:
                    known.clear()
                known[key] = self._of_tape(has_loops, forces, frame)
            formulas, starts = known[key]
            rows = self._values(formulas)
            for force, start in zip(forces, starts, strict=True):
                if self._is_rigid_stop(force):
                    own = self._stops(force.at)
                    at = int(start) + 24
                    rows[..., at : at + own.shape[-1]] = own
            self._rows[key] = rows
        return self._rows[key]

    def _of_tape(
        self, has_loops: bool, forces: tuple[PlacedForce, ...], frame: str | None
    ) -> tuple[Formulas, np.ndarray]:
        """Return the constants of a tape as formulas of the parameters, and where those of forces begin."""
        plan = self._symbolic.plan
        nodes = Constants.of(plan, plan.gravity).values
        twins = [self._twin(force) for force in forces]
        asked = None if frame is None else plan.body_pose[frame]
        parts = constant_parts(plan, nodes, has_loops, twins, asked)
        entries = [x for row in parts.rows for x in row]
        return self._formulas.formulas(entries), parts.starts[2] // 8

    def place(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return rotation (3, 3) and place (*batch, 3) of a body or frame in its node."""
        pose: Pose = self._symbolic.plan.body_pose[name][1]
        return np.asarray(pose.R, dtype=float), self.evaluate(list(pose.p))

    @property
    def is_stacked(self) -> bool:
        """Return whether all that differs are `numbers` of the plan: not pitches, rotors at loops, flexible bodies."""
        plan = self._symbolic.plan
        numbers = [*(x for row in plan.params for x in row)]
        numbers += [x for loop in plan.loop_joints for x in (*loop.params, *loop.armature)]
        return self.plan.owner is None and plan.bearing is None and not any(is_symbolic(x) for x in numbers)

    def numbers(self) -> Plan:
        """Return the plan with numbers (states, ...) where they differ."""
        twin, stack = self._symbolic.plan, self.stacked
        loops = [
            replace(
                loop, parent_p=stack(other.parent_p), child_p=stack(other.child_p), damping=stack(other.damping),
                friction=stack(other.friction),
            )
            for loop, other in zip(self.plan.loop_joints, twin.loop_joints, strict=True)
        ]  # fmt: skip
        return replace(
            self.plan, gravity=stack(twin.gravity), placement_p=stack(twin.placement_p), inertia=stack(twin.inertia),
            damping=stack(twin.damping), friction=stack(twin.friction), loop_joints=loops,
            body_pose=replace(self.plan.body_pose, p=stack(twin.body_pose.p)),
        )  # fmt: skip

    def parts(self) -> Parts:
        """Return the bodies, joints and frames with numbers (states, ...) where they differ."""
        found, stack = self._symbolic.parts, self.stacked
        assert found is not None
        bodies = {
            name: replace(body, mass=stack(body.mass), com=stack(body.com), inertia=stack(body.inertia))
            for name, body in found.bodies.items()
        }
        joints = {
            name: replace(
                joint, in_parent=self._placed(joint.in_parent), in_child=self._placed(joint.in_child)
            )
            for name, joint in found.joints.items()
        }
        return Parts(bodies, joints, found.frames, found.described)

    def _placed(self, pose: Pose) -> Pose:
        return Pose.unchecked(self.stacked(pose.p), np.asarray(pose.R, dtype=float).copy())

    def stacked(self, entries: Any) -> Any:
        """Return numbers that may have symbols in them, (...) where they have none and (states, ...) where they do."""
        rows = np.asarray(entries)
        if not any(is_symbolic(x) for x in rows.flat):
            return rows.astype(float)
        return self.evaluate(list(rows.flat)).reshape(*self.batch, *rows.shape)

    def chosen(self, states: np.ndarray) -> VariedConstants:
        """Return the numbers of some states (n,)."""
        found = VariedConstants(
            self.variation.chosen(states, (len(states),)), self.plan, lambda k: self._alone(int(states[k])),
            lambda joint: self._stops(joint)[states],
        )  # fmt: skip
        found._rows = {key: rows[states] for key, rows in self._rows.items()}
        return found

    def gravity(self) -> np.ndarray:
        """Return the acceleration of gravity (*batch, 3)."""
        return self.evaluate(list(self._symbolic.plan.gravity))

    def rotors(self) -> np.ndarray:
        """Return the inertias (*batch, nv) of the rotors of the tree's joints."""
        return self.evaluate(list(rotor_inertias(self._symbolic.plan)))

    def _is_rigid_stop(self, force: PlacedForce) -> bool:
        """Return whether a force is the stop of a joint that takes its stiffness from the inertia that it feels."""
        if not force.name.endswith(LIMITS):
            return False
        return self.variation.mechanism.joints[force.name.removesuffix(LIMITS)].limit_stiffness is None

    def evaluate(self, entries: Sequence[Any]) -> np.ndarray:
        """Return expressions of the parameters for all states, (*batch, entries)."""
        return self._values(self._formulas.formulas(entries))

    def _values(self, formulas: Formulas) -> np.ndarray:
        """Return the values (*batch, n) of formulas of the parameters for all states."""
        batch = self.variation.batch
        columns = [self.variation.values[name].reshape(prod(batch), -1) for name in self._symbolic.symbols]
        rows = np.concatenate([np.zeros((prod(batch), 0)), *columns], axis=1)
        return formulas.rows(rows).reshape(*batch, len(formulas.same))

    def _twin(self, force: PlacedForce) -> PlacedForce:
        """Return a force with symbols in it."""
        plan, kinds = self._symbolic.plan, self._symbolic.kinds
        kind = force.kind.described
        if force.whole in kinds:
            kind = copy(kind)
            for name in kind.named_params():
                object.__setattr__(kind, name, getattr(kinds[force.whole], name))
        elements = self.variation.mechanism.force_elements
        if force.owner:
            frames = elements[force.owner].frames
            assert frames is not None
            return next(one for one in between(plan, force.owner, kind, frames) if one.name == force.name)
        if force.frames is not None:
            on_a, on_b = (Transform.from_pose(plan.body_pose[name][1]) for name in force.frames)
            return replace(force, kind=kind.under(plan.gravity), on_a=on_a, on_b=on_b)
        if force.name.endswith(FRICTION) and force.name not in elements:
            damping, friction = _resistances(plan, force.at)
            kind = copy(kind)
            for name, row in (("damping", damping), ("friction", friction)):
                if getattr(kind, name):
                    object.__setattr__(kind, name, tuple(row))
        return replace(at_joint(plan, force.name, kind, force.at)[0], acts=force.acts)


def _resistances(plan: Plan, joint: str) -> tuple[np.ndarray, np.ndarray]:
    if joint in plan.joint:
        i = plan.joint.index(joint)
        own = plan.v_of(i)
        return plan.damping[own], plan.friction[own]
    loop = next(loop for loop in plan.loop_joints if loop.name == joint)
    return loop.damping, loop.friction


def _checked(parameter: Parameter, value: Any) -> np.ndarray:
    """Return values (..., n) of a parameter, as far as they are numbers."""
    name, n = parameter.name, len(parameter.value)
    try:
        x = real_array(value)
    except ValueError as error:
        raise StateError(f"parameters[{name!r}] is not an array of numbers: {error}.") from error
    if n == 1:
        x = x[..., None]
    else:
        try:
            x = parameter.rows(x)
        except ModelError as error:
            raise StateError(f"parameters: {error}.") from None
    return x


def _impossible_numbers(variation: Variation) -> dict[tuple[int, ...], str]:
    """Return the states with parameters that are not finite, or negative where that has no meaning, with words."""
    found: dict[tuple[int, ...], str] = {}
    for name, x in variation.values.items():
        what = name.rpartition(".")[2]
        what = name.split(".")[-2] if what.isdecimal() else what
        flaws = [(~np.isfinite(x), "finite numbers")]
        flaws += [(x < 0.0, "zero or more")] if what in NOT_NEGATIVE else []
        for wrong, wanted in flaws:
            for index in np.argwhere(wrong):
                state = tuple(int(k) for k in index[:-1])
                number = x[tuple(index)]
                found.setdefault(
                    state, f"parameters[{name!r}] is {number:g} in state {state}; give {wanted}."
                )
    return found


def _impossible_bodies(mechanism: Mechanism, variation: Variation) -> dict[tuple[int, ...], str]:
    """Return the states with an inertia that no distribution of mass can have, where inertias are among the parameters,
    and with rotors that a joint cannot have, with words."""
    found: dict[tuple[int, ...], str] = {}
    bodies = {name.partition(".inertia")[0] for name in variation.values if ".inertia" in name}
    for body in bodies & set(mechanism.bodies):
        for state in np.ndindex(variation.batch):
            own = variation.at(state).bodies[body]
            moments = np.linalg.eigvalsh(np.asarray(own.inertia, dtype=float)).tolist()
            fault = inertia_fault(moments, float(own.mass))
            if fault is not None:
                found.setdefault(state, f"parameters of body {body!r} in state {state}: {fault}")
    for name, values in variation.values.items():
        owner, _, what = name.rpartition(".")
        if what != "armature" or owner not in mechanism.joints:
            continue
        for state in np.ndindex(variation.batch):
            rotors = values[state]
            fault = mechanism.joints[owner].kind.rotor_fault(rotors) if rotors.any() else None
            if fault is not None:
                words = f"parameters[{name!r}] is {shown(rotors.tolist())} in state {state}, but {fault}."
                found.setdefault(state, words)
    return found
