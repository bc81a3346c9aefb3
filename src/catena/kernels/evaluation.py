"""Evaluating an algorithm on a plan: programs are built when first needed, inputs are checked, errors get
names."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from math import hypot, prod
from operator import itemgetter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from catena.errors import SingularDynamicsError, StaleSystemError, StateError
from catena.forces import PlacedForce
from catena.joints import JointKind, described
from catena.kernels import (
    CONSTANTS,
    FORCE_INPUTS,
    NEAR,
    POSITION,
    VELOCITY,
    Algorithm,
    Constants,
    Program,
    arrays,
    build_tape,
    building,
    plain,
    play_shared,
)
from catena.kernels.constants import WORD, constant_parts
from catena.kernels.driver import NOT_FINITE_INPUT
from catena.kernels.machine_code.cpu import target
from catena.kernels.sharing import is_summed, summed
from catena.kernels.stations import folded, point_inputs, portions, results_by_coordinates, suits
from catena.kernels.teams.blas import by_one_blas_thread
from catena.mechanism import Mechanism
from catena.spatial import Pose
from catena.spatial.pose import ROTATION_TOLERANCE
from catena.structure import Plan, branches
from catena.structure.plan import Parts
from catena.structure.stations import StationPlan, has_many_modes, stationed

Made = TypeVar("Made")

# One state of a large mechanism is computed in so many lanes.
LANES_OF_LARGE = 2
# So many states are quicker one by one than together.
FEW = 4
# The names that users know the inputs by.
_PUBLIC = {"qd": "v", "qdd": "vdot", "q_next": "q1", "a_base": "base_acceleration", CONSTANTS: "parameters"}


class ConstantsByState(ABC):
    """The numbers of a mechanism where these differ from state to state, for states of batch dimensions `batch`."""

    batch: tuple[int, ...] = ()

    @abstractmethod
    def rows(self, has_loops: bool, forces: tuple[PlacedForce, ...], frame: str | None) -> np.ndarray:
        """Return the constants (*batch, n) of the tape of an algorithm, with or without loops, with these forces and
        this frame."""

    @abstractmethod
    def place(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return rotation (3, 3) and place (*batch, 3) of a body or frame in its node."""

    @abstractmethod
    def gravity(self) -> np.ndarray:
        """Return the acceleration of gravity (*batch, 3) in ground axes."""

    @abstractmethod
    def rotors(self) -> np.ndarray:
        """Return the inertias (*batch, nv) of the rotors of the tree's joints."""

    @property
    @abstractmethod
    def is_stacked(self) -> bool:
        """Return whether all that differs from state to state are `numbers` of the plan."""

    @abstractmethod
    def numbers(self) -> Plan:
        """Return the plan with numbers (states, ...) where they differ, for a batch of one dimension. The kinds of its
        joints and its couplings are those of all states."""

    @abstractmethod
    def parts(self) -> Parts:
        """Return the bodies, joints and frames of the mechanism with numbers (states, ...) where they differ."""

    @abstractmethod
    def chosen(self, states: np.ndarray) -> "ConstantsByState":
        """Return the numbers of some states (n,) of a batch of one dimension."""

    @abstractmethod
    def alone(self, state: int) -> "Evaluator":
        """Return what runs algorithms for one state, counted from 0 through the batch."""

    def which(self, batch: tuple[int, ...]) -> np.ndarray:
        """Return the number of the mechanism (states,) of each state of a batch."""
        return np.broadcast_to(np.arange(prod(self.batch)).reshape(self.batch), batch).reshape(-1)


class NamedProgram:
    """A program whose inputs are those that a call names, where the first of them has quaternions from these columns
    on."""

    def __init__(self, program: Program, quaternions: list[int]) -> None:
        self.program, self.quaternions = program, quaternions

    @cached_property
    def alone(self) -> Any:
        """Return a function of the inputs for one state (`Program.single`)."""
        return self.program.single(self.quaternions)


class Evaluator:
    """Runs algorithms on one plan of one mechanism.

    Constants that differ from state to state are one more input of every algorithm. `laid_out` is an evaluator of a
    plan that differs from this one in numbers only: what was laid out there is used again, with other constants.
    `special` finds programs that were compiled for this very mechanism, None where there is none by now.
    """

    def __init__(
        self, mechanism: Mechanism, plan: Plan, by_state: ConstantsByState | None = None,
        laid_out: "Evaluator | None" = None,
        special: Callable[[Algorithm, frozenset[str]], Program | None] | None = None,
    ) -> None:  # fmt: skip
        self.mechanism, self.plan, self.by_state = mechanism, plan, by_state
        self._laid_out, self._special = laid_out, special
        self.constants = Constants.of(plan, plan.gravity)
        self._named: WeakKeyDictionary[Algorithm, dict[tuple[str, ...], NamedProgram]] = WeakKeyDictionary()
        # An algorithm with somebody's control law in it goes with the law, and so does what was made for it.
        self._made: dict[Callable[[Evaluator], Any], Any] = {}
        self._programs: WeakKeyDictionary[Algorithm, dict[tuple[Any, ...], Program]] = WeakKeyDictionary()
        # Positions of a user's kind are checked by the kind itself, where it has something to say.
        self._checked = [
            (plan.joint[i], slice(int(plan.q_start[i]), int(plan.q_start[i] + plan.q_size[i])), kind)
            for i in range(1, plan.n) for kind in (described(plan.kind[i]),)
            if kind is not None and kind.quaternion_start is None and type(kind).check is not JointKind.check
        ]  # fmt: skip

    def with_constants(self, by_state: ConstantsByState) -> "Evaluator":
        """Return an evaluator for other states, which shares its programs with this one."""
        other = Evaluator(self.mechanism, self.plan, by_state)
        other._programs = self._programs
        return other

    @cached_property
    def numbers(self) -> Plan:
        """Return the plan with the numbers of each state, (states, ...), where they differ from state to state."""
        return self.plan if self.by_state is None else self.by_state.numbers()

    def chosen(self, states: np.ndarray) -> "Evaluator":
        """Return an evaluator for some states (n,) of those that the mechanism differs between; itself where it does
        not."""
        if self.by_state is None or np.array_equal(states, np.arange(prod(self.by_state.batch))):
            return self
        return self.with_constants(self.by_state.chosen(states))

    def once(self, make: "Callable[[Evaluator], Made]") -> "Made":
        """Return what `make` makes of this evaluator, such as tables that belong to its plan; made once."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]

    def check_current(self) -> None:
        """Raise an error if the mechanism has been edited since it was planned."""
        if self.mechanism.revision != self.plan.revision:
            raise StaleSystemError(
                f"The mechanism {self.mechanism.name!r} was edited after this system was planned "
                f"(revision {self.plan.revision}, now {self.mechanism.revision}). Plan it again with m.system(); "
                f"coordinates may have changed, so states of the old system may not fit."
            )

    def program(
        self,
        algorithm: Algorithm,
        absent: frozenset[str],
        frame: str | None = None,
        lanes: int | None = None,
        forces: tuple[PlacedForce, ...] = (),
    ) -> Program:
        """Return the algorithm on this plan, ready to run. Built once. `lanes` and `forces` as for `build_tape`."""
        if self._special is not None and frame is None and lanes is None:
            found = self._special(algorithm, absent)
            if found is not None:
                return found
        programs = self._programs.get(algorithm)
        if programs is None:
            programs = self._programs.setdefault(algorithm, {})
        key = (absent, frame, lanes, forces)
        if key not in programs:
            with building:
                if key not in programs:
                    programs[key] = self._built(algorithm, absent, frame, lanes, forces)
        return programs[key]

    def _built(
        self, algorithm: Algorithm, absent: frozenset[str], frame: str | None, lanes: int | None,
        forces: tuple[PlacedForce, ...],
    ) -> Program:  # fmt: skip
        asked = self._frame(frame)
        if self._laid_out is not None:
            parts = constant_parts(self.plan, self.constants.values, algorithm.is_scheduled, forces, asked)
            found = self._laid_out.program(algorithm, absent, frame, lanes, forces)
            return found.with_constants(np.concatenate(parts.rows))
        if self._stations is not None and not algorithm.use_constants and not forces:
            at, wide = self._stations
            tape = build_tape(algorithm, at.plan, wide.constants, absent, lanes=lanes)
            return Program(folded(tape, algorithm, at, self.plan))
        varying = self.by_state is not None and algorithm.use_constants
        return Program(
            build_tape(algorithm, self.plan, self.constants, absent, asked, lanes, forces, varying)
        )

    def evaluate(
        self,
        algorithm: Algorithm,
        inputs: Mapping[str, Any],
        frame: str | None = None,
        finite: bool = True,
        forces: tuple[PlacedForce, ...] = (),
        into: Mapping[str, np.ndarray] | None = None,
    ) -> dict[str, np.ndarray]:
        """Return outputs by name, each of shape (*batch, *shape). Inputs that are None are absent; the others are
        checked. With `finite`, a result that is not is an error. `forces` are what steps of forces are done for, `into`
        arrays that compiled code writes outputs to."""
        self.check_current()
        is_plain = bool(plain.blocks) and plain.is_plain()
        directly = not (
            frame or forces or into or is_plain or self.by_state is not None or self.plan.owner is not None
        )
        if directly and not self._checked and (found := self._directly(algorithm, inputs)) is not None:
            return found
        checked: dict[str, np.ndarray] = {}
        for name, value in inputs.items():
            if value is not None:
                checked[name] = self._as_rows(algorithm, name, value, forces)
            elif name not in algorithm.optional:
                raise StateError(f"{_PUBLIC.get(name, name)} is None; give {self._meaning(algorithm, name)}.")
        width = self._width(algorithm, FORCE_INPUTS, forces)
        if width and FORCE_INPUTS not in checked:
            checked[FORCE_INPUTS] = np.zeros(width)
        absent = frozenset({*algorithm.inputs, *algorithm.ground_inputs} - checked.keys())
        if NEAR not in checked and self._width(algorithm, NEAR, forces):
            # Nobody has counted turns, so that angles lie within one.
            absent |= {NEAR}
        varying = self.varying_inputs(algorithm, frame, forces)
        batch = arrays.batch_shape({_PUBLIC.get(n, n): x for n, x in (checked | varying).items()})
        for name in ("q", "q_next"):
            if name in checked:
                self.check_positions(_PUBLIC.get(name, name), checked[name])
        states = prod(batch)
        rows = {n: arrays.flat(x, batch) for n, x in (checked | varying).items()}
        if is_plain or not all(force.is_compiled for force in forces):
            return self._play(algorithm, checked, rows, states, batch, frame, finite, forces)
        stations = self._stations if self.plan.owner is not None and suits(algorithm) else None
        if stations is not None:
            program = stations[1].program(algorithm, absent, frame, forces=forces)
            status, outputs = self._at_stations(stations[0], program, algorithm, rows, states)
            for name, y in (into or {}).items():
                y[...] = outputs[name].reshape(y.shape)
        else:
            # Where numbers need not be finite, the shortest way was declined above because some are not.
            if (
                directly
                and (finite or self._checked)
                and (found := self._directly(algorithm, checked)) is not None
            ):
                return found
            program = self.program(algorithm, absent, frame, forces=forces)
            status, outputs = program.run(rows, states, into=self._rows_of(program, into, batch))
        if status & NOT_FINITE_INPUT or (status and finite):
            self.complain(algorithm, status, checked, outputs)
        if self.plan.owner is not None and stations is None:
            outputs = summed(algorithm, self.plan, outputs)
        return {n: y.reshape(*batch, *y.shape[1:]) for n, y in outputs.items()}

    def _directly(self, algorithm: Algorithm, inputs: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
        """Return the outputs of ordinary inputs: arrays of doubles with the same batch dimensions, where few states are
        computed one by one, each the shortest way. None where something is out of the ordinary."""
        given: dict[str, np.ndarray] = {}
        batch: tuple[int, ...] | None = None
        for name, x in inputs.items():
            if x is None:
                continue
            if type(x) is not np.ndarray or not x.ndim or x.dtype != np.float64:
                return None
            given[name], batch = x, x.shape[:-1] if batch is None else batch
            if x.shape[:-1] != batch:
                return None
        if batch is None or (made := self._of_names(algorithm, tuple(given))) is None:
            return None
        program, states = made.program, prod(batch)
        if len(batch) < 2 and 0 < states <= FEW:
            return self._one_by_one(made, given, batch)
        rows = {}
        for name, (width, _) in program.tape.inputs.items():
            x = given[name]
            if x.shape[-1] != width or not states:
                return None
            if name in ("q", "q_next"):
                self.check_positions(_PUBLIC.get(name, name), x)
            rows[name] = np.ascontiguousarray(x).reshape(states, width)
        status, outputs = program.run(rows, states)
        return None if status else {n: y.reshape(*batch, *y.shape[1:]) for n, y in outputs.items()}

    def _one_by_one(
        self, made: NamedProgram, given: Mapping[str, np.ndarray], batch: tuple[int, ...]
    ) -> dict[str, np.ndarray] | None:
        """Return the outputs of ordinary inputs for one state or few; None where something is out of the ordinary."""
        program, alone, found = made.program, made.alone, list[Any]()
        rows = [given[n] for n in program.input_names]
        for k in range(prod(batch)):
            one = alone(*([x[k] for x in rows] if batch else rows))
            if one is None:
                return None
            found.append(one)
        if "q_next" in given:
            self.check_positions("q1", given["q_next"])
        (first, (shape, _)), *others = program.tape.outputs.items()
        if not others:
            return {first: np.array(found).reshape(*batch, *shape)}
        outputs = {first: np.array([x for x, _ in found]).reshape(*batch, *shape)}
        behind, start = np.array([y for _, y in found]), 0
        for name, (shape, _) in others:
            end = start + prod(shape)
            outputs[name], start = behind[:, start:end].reshape(*batch, *shape), end
        return outputs

    def _of_names(self, algorithm: Algorithm, names: tuple[str, ...]) -> NamedProgram | None:
        """Return the program for inputs of these names; None where others are needed."""
        known = self._named.get(algorithm)
        if known is None:
            known = self._named.setdefault(algorithm, {})
        made = known.get(names)
        if made is not None and self._special is None:
            return made
        absent = frozenset({*algorithm.inputs, *algorithm.ground_inputs}.difference(names))
        if absent - algorithm.optional:
            return None
        program = self.program(algorithm, absent)
        looked_at = [start for _, start in self.plan.quaternions] if "q" in names else []
        if {*program.input_names} != {*names} or (looked_at and program.input_names[0] != "q"):
            return None
        if made is None or made.program is not program:
            made = known[names] = NamedProgram(program, looked_at)
        return made

    @cached_property
    def _stations(self) -> "tuple[StationPlan, Evaluator] | None":
        """Return the plan whose flexible bodies are points, and what runs algorithms on it; None where no body has many
        modes, or where numbers differ from state to state."""
        if self.by_state is not None or self._special is not None or not has_many_modes(self.plan):
            return None
        at = stationed(self.plan)
        return at, Evaluator(self.mechanism, at.plan)

    @by_one_blas_thread
    def _at_stations(
        self,
        at: StationPlan,
        program: Program,
        algorithm: Algorithm,
        rows: Mapping[str, np.ndarray],
        states: int,
    ) -> tuple[int, dict[str, np.ndarray]]:
        """Return the status and the outputs of so many states, whose flexible bodies are points."""
        status, found = 0, []
        for some in portions(at, states):
            own, count = {n: x if x.ndim == 1 else x[some] for n, x in rows.items()}, some.stop - some.start
            inputs, points = point_inputs(algorithm, at, self.plan, own, count)
            seen, outputs = program.run(inputs, count)
            status |= seen
            found.append(results_by_coordinates(algorithm, points, outputs))
        return status, {n: np.concatenate([each[n] for each in found]) for n in found[0]}

    def varying_inputs(
        self, algorithm: Algorithm, frame: str | None, forces: tuple[PlacedForce, ...]
    ) -> dict[str, np.ndarray]:
        """Return further inputs (*batch, n) that tell how the mechanism differs from state to state."""
        if self.by_state is None or not algorithm.use_constants:
            return {}
        return {CONSTANTS: self.by_state.rows(algorithm.is_scheduled, forces, frame)}

    def _rows_of(
        self, program: Program, into: Mapping[str, np.ndarray] | None, batch: tuple[int, ...]
    ) -> dict[str, np.ndarray]:
        """Return arrays to write to, checked, with one leading dimension."""
        rows = {}
        for name, y in (into or {}).items():
            shape = (*batch, *program.tape.outputs[name][0])
            if y.shape != shape or y.dtype != np.float64 or not (y.flags.c_contiguous and y.flags.writeable):
                raise StateError(
                    f"out holds an array of shape {y.shape} and type {y.dtype}; give C-contiguous arrays of float64 of "
                    f"shape {shape} that can be written."
                )
            rows[name] = y.reshape(prod(batch), *shape[len(batch) :])
        return rows

    def _play(
        self, algorithm: Algorithm, inputs: Mapping[str, np.ndarray], rows: Mapping[str, np.ndarray],
        states: int, batch: tuple[int, ...], frame: str | None, finite: bool, forces: tuple[PlacedForce, ...],
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Return outputs as plain numbers, state after state."""
        if CONSTANTS in rows and states:
            return self._play_alone(algorithm, rows, batch, frame, finite, forces)
        if not all(np.isfinite(x).all() for x in rows.values()):
            self.complain(algorithm, NOT_FINITE_INPUT, inputs, {})
        results = [
            play_shared(
                algorithm,
                self.plan,
                self.plan.gravity,
                {n: x if x.ndim == 1 else x[k] for n, x in rows.items()},
                self._frame(frame),
                forces,
            )
            for k in range(states)
        ]
        if not results:
            nothing = {n: np.zeros(x.shape[-1]) for n, x in rows.items()}
            shapes = play_shared(algorithm, self.plan, self.plan.gravity, nothing, self._frame(frame), forces)
            return {n: np.zeros((*batch, *y.shape)) for n, y in shapes.items()}
        outputs = {n: np.array([r[n] for r in results], dtype=np.float64) for n in results[0]}
        if finite and not all(np.isfinite(y).all() for y in outputs.values()):
            self.complain(algorithm, 0, inputs, outputs)
        return {n: y.reshape(*batch, *y.shape[1:]) for n, y in outputs.items()}

    def _play_alone(
        self, algorithm: Algorithm, rows: Mapping[str, np.ndarray], batch: tuple[int, ...], frame: str | None,
        finite: bool, forces: tuple[PlacedForce, ...],
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Return outputs as plain numbers, each state on a plan of its own and with forces that have its numbers."""
        assert self.by_state is not None
        starts = constant_parts(
            self.plan, self.constants.values, algorithm.is_scheduled, forces, self._frame(frame)
        ).starts[2]  # fmt: skip
        found = []
        for k, who in enumerate(self.by_state.which(batch).tolist()):
            here = {n: (x if x.ndim == 1 else x[k]) for n, x in rows.items()}
            numbers = here.pop(CONSTANTS).tolist()
            own = tuple(
                f.with_constants(numbers[at // WORD :][: len(f.constants())]) for f, at in zip(forces, starts)
            )
            found.append(self.by_state.alone(who).evaluate(algorithm, here, frame, finite, own))
        return {n: np.stack([f[n] for f in found]).reshape(*batch, *found[0][n].shape) for n in found[0]}

    def _frame(self, name: str | None) -> tuple[int, Pose] | None:
        return None if name is None else self.plan.body_pose[name]

    def _width(self, algorithm: Algorithm, name: str, forces: tuple[PlacedForce, ...] = ()) -> int:
        """Return how many numbers an input has for each state."""
        if name == FORCE_INPUTS:
            return sum(force.kind.inputs for force in forces)
        if name == NEAR:
            return sum(force.joint.nq for force in forces if force.counts and force.joint is not None)
        if name in algorithm.ground_inputs:
            return int(algorithm.ground_inputs[name].size)
        if name in algorithm.multiplier_inputs:
            each = prod(algorithm.view("multiplier")[name].shape)
            return each * (len(self.plan.loop_joints) + len(self.plan.couplings))
        extent = algorithm.inputs[name]
        if extent is POSITION:
            return self.plan.nq
        return self.plan.nv if extent is VELOCITY else self.plan.n * int(extent.size)

    def _meaning(self, algorithm: Algorithm, name: str) -> str:
        """Return what the numbers of an input are."""
        if name == FORCE_INPUTS:
            return "what forces are given from outside"
        if name == NEAR:
            return "positions that loop joints are near"
        if name in algorithm.multiplier_inputs:
            return "what loops are told"
        if name in algorithm.ground_inputs:
            return "a spatial acceleration [angular; linear] of the ground"
        extent = algorithm.inputs[name]
        if extent is POSITION:
            return f"the coordinates of the joints {_listed(self.plan.joints)}"
        if extent is VELOCITY:
            return f"one for each velocity component of the joints {_listed(self.plan.joints)}"
        return "a wrench for every body"

    def _as_rows(
        self, algorithm: Algorithm, name: str, value: Any, forces: tuple[PlacedForce, ...] = ()
    ) -> np.ndarray:
        width = self._width(algorithm, name, forces)
        return arrays.as_rows(_PUBLIC.get(name, name), value, width, partial(self._meaning, algorithm, name))

    def checked(self, algorithm: Algorithm, name: str, value: Any) -> np.ndarray:
        """Return an input that is used outside the compiled code: an array of the right width whose entries are
        finite."""
        x = self._as_rows(algorithm, name, value)
        if not np.isfinite(x).all():
            self.complain(algorithm, NOT_FINITE_INPUT, {name: x}, {})
        return x

    def check_positions(self, name: str, q: np.ndarray) -> None:
        """Refuse quaternions that are not of unit length, and what a user's kind refuses."""
        for joint, where, kind in self._checked:
            kind.check(q[..., where], joint)
        for joint, first in self.plan.quaternions:
            x = q[..., first : first + 4]
            if x.size <= 4 * FEW and all(abs(hypot(*row) - 1.0) <= 1e-6 for row in x.reshape(-1, 4).tolist()):
                continue
            norm = np.sqrt(np.einsum("...i,...i->...", x, x))
            # Written so that NaN passes here and is named as such later.
            if np.any(np.abs(norm - 1.0) > ROTATION_TOLERANCE):
                worst = float(np.ravel(norm)[np.argmax(np.abs(np.ravel(norm) - 1.0))])
                raise StateError(
                    f"{name}: the quaternion of joint {joint!r} has length {worst:.9g}; it must be 1. "
                    f"Divide it by its length, or step with s.integrate, which keeps it there."
                )

    def shortest(
        self,
        algorithm: Algorithm,
        absent: frozenset[str],
        certificate: tuple[str, ...] = (),
        is_trusted: Callable[..., Any] = bool,
        forces: tuple[PlacedForce, ...] = (),
    ) -> Any:
        """Return a function of arrays for one state that returns the first output, or None for anything out of the
        ordinary. Where there is a `certificate`, the names of outputs that are single numbers, a result is ordinary if
        `is_trusted` says so of these numbers. `forces` are those of `evaluate`."""
        if (
            self._checked
            or self.by_state is not None
            or (self.plan.owner is not None and any(is_summed(algorithm, n) for n in algorithm.outputs))
        ):
            return lambda *rows: None
        program = self.program(algorithm, absent, None, self._lanes_of_one, forces)
        function = program.single([first for _, first in self.plan.quaternions])
        if not certificate:
            return function
        certified = itemgetter(*(program.output_names[1:].index(name) for name in certificate))

        def trusted(*rows: Any) -> np.ndarray | None:
            found = function(*rows)
            if found is None:
                return None
            result, others = found
            return result if is_trusted(*certified(others.tolist())) else None

        return trusted

    @property
    def _lanes_of_one(self) -> int | None:
        """Return in how many lanes one state is computed the shortest way: a large mechanism in few, because all of
        them hold the same numbers, which must come from memory."""
        return (
            LANES_OF_LARGE if branches(self.plan.spread).count and target().lanes > LANES_OF_LARGE else None
        )

    def complain(
        self,
        algorithm: Algorithm,
        status: int,
        inputs: Mapping[str, np.ndarray],
        outputs: Mapping[str, np.ndarray],
    ) -> None:
        """Raise an error that names the number that is not finite."""
        named = {_PUBLIC.get(n, n): x for n, x in inputs.items()}
        if status & NOT_FINITE_INPUT:
            owners = {_PUBLIC.get(n, n): self._owners(algorithm, n) for n in inputs}
            raise StateError(arrays.name_not_finite(named, owners))
        for y in outputs.values():
            bad = np.argwhere(~np.isfinite(y.reshape(len(y), -1)))
            if len(bad):
                raise SingularDynamicsError(
                    f"{algorithm.name.replace('_', ' ')} gives a result that is not finite in state {int(bad[0][0])}. "
                    f"Either some joint moves no inertia in this configuration, or numbers are too large for float64."
                )

    def _owners(self, algorithm: Algorithm, name: str) -> list[str]:
        """Return the joint or body that each column of an input belongs to."""
        plan, width = self.plan, self._width(algorithm, name)
        if name in algorithm.ground_inputs or name in (FORCE_INPUTS, NEAR, *algorithm.multiplier_inputs):
            return [f"component {k}" for k in range(width)]
        extent = algorithm.inputs[name]
        if extent not in (POSITION, VELOCITY):
            return [f"body {'/'.join(plan.bodies[k // extent.size])!r}" for k in range(width)]
        starts, sizes = (plan.q_start, plan.q_size) if extent is POSITION else (plan.v_start, plan.v_size)
        owners = [""] * width
        for i in range(1, plan.n):
            for k in range(sizes[i]):
                owners[starts[i] + k] = f"joint {plan.joint[i]!r}"
        return owners


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown}, ... ({len(names)} in all)"
