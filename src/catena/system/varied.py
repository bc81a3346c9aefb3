"""A system whose mechanism differs from state to state: masses, lengths and stiffnesses are numbers for each lane.

What one plan serves is computed in lanes. What is not (the rank of loops, reactions, loops that do not close at once)
is computed for each state by a system of its own, which gives the same answers and takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena import dynamics
from catena.dynamics.elements.elements import ElementForces, Elements
from catena.dynamics.loops.closing import loop_closure
from catena.dynamics.loops.closing.quick_assembly import QuickAssembly
from catena.dynamics.loops.elimination import loop_elimination, sort_for
from catena.dynamics.loops.formulations.certified_elimination import is_for, is_trusted
from catena.dynamics.tree.rotors import has_rotors
from catena.errors import CatenaError, StateError
from catena.given import is_one_of, shown
from catena.kernels import Algorithm, arrays, is_plain
from catena.kernels.evaluation import Evaluator
from catena.mechanism import InitialState
from catena.system import closed_states, wrenches
from catena.system.by_name import State, as_arrays
from catena.system.each_state import ask_each
from catena.system.joint_limits import JointLimits
from catena.system.own_forces import is_left_out
from catena.system.system import System
from catena.system.variation import ConstantRows, Variation
from catena.system.varied_closing import VariedClosing
from catena.system.varied_elements import VariedElements
from catena.system.varied_evaluation import VariedEvaluator

# Systems of single states that are kept.
KEPT = 64


def _by_state(name: str) -> Callable[..., Any]:
    """Return a method that asks the system of each state."""

    def method(self: Any, *given: Any, **named: Any) -> Any:
        return self._each(name, *given, **named)

    method.__name__, method.__doc__ = name, getattr(System, name).__doc__
    return method


def _refused(name: str) -> Callable[..., Any]:
    def method(self: Any, *given: Any, **named: Any) -> Any:
        raise StateError(
            f"{name} belongs to one mechanism, and the parameters {', '.join(self.variation.values)} differ from state "
            f"to state; ask the system of one state, s.vary(parameters).state(k).{name}(...)."
        )

    method.__name__, method.__doc__ = name, f"Refuse: {name} belongs to one mechanism."
    return method


class VariedSystem(System):
    """A system with numbers of its mechanism for each state of a batch, made by `System.vary`.

    Its names and coordinates are those of the system it was made from, and every call takes states that go with the
    batch of its parameters. `state(k)` is the system of one of them.
    """

    def __init__(self, base: System, variation: Variation, origin: System) -> None:
        self.base, self.variation, self._origin = base, variation, origin
        self._alone: dict[int, System] = {}
        self._begin(base.mechanism, base.plan, base._settling.accuracy)
        settled = base._settling
        described = ConstantRows(variation, base.plan)
        effective = (
            described if base.effective_plan is base.plan else ConstantRows(variation, base.effective_plan)
        )
        self._take_over(
            VariedEvaluator(base.mechanism, base.plan, described, self._evaluator_of),
            VariedEvaluator(base.mechanism, base.effective_plan, effective, self._evaluator_of),
        )
        self._settling.found, self._settling.looks, self._settling.tries = settled.found, 0, 0

    def _take_over(self, described: VariedEvaluator, effective: VariedEvaluator) -> None:
        self._settling.described = described
        self._settling.effective = described if effective.plan is described.plan else effective

    @property
    def origin(self) -> System:
        """Return the system that this one was made from."""
        return self._origin

    @property
    def evaluators(self) -> tuple[VariedEvaluator, ...]:
        """Return what runs algorithms: as described, and with the constraints that count."""
        found = (self._settling.described, self._settling.effective)
        return tuple(e for e in dict.fromkeys(found) if isinstance(e, VariedEvaluator))

    @property
    def parameters(self) -> Mapping[str, np.ndarray]:
        """Return the parameters, {name: (*batch, n)}."""
        return dict(self.variation.values)

    @property
    def parameter_batch(self) -> tuple[int, ...]:
        """Return the batch dimensions of the parameters."""
        return self.variation.batch

    @property
    def gravity(self) -> np.ndarray:
        """Return the acceleration of gravity (*batch, 3) in ground axes."""
        return self.evaluators[0].rows.gravity()

    @property
    def count(self) -> int:
        """Return how many states the parameters have numbers for."""
        return prod(self.variation.batch)

    def state(self, k: int) -> System:
        """Return the system of one state, counted from 0 through the batch of the parameters."""
        if not (isinstance(k, int | np.integer) and 0 <= k < self.count):
            raise StateError(f"There is no state {shown(k)}; the parameters have numbers for {self.count}.")
        if k not in self._alone:
            if len(self._alone) >= KEPT:
                del self._alone[next(iter(self._alone))]
            index = (
                tuple(int(i) for i in np.unravel_index(int(k), self.variation.batch))
                if self.variation.batch
                else ()
            )
            mechanism, plan = self.variation.at(index), self.base.plan
            own = System(mechanism, plan.root, plan.cut, self.base._settling.accuracy, plan.keep)
            self._alone[k] = own
        return self._alone[k]

    def alone(self, state: int) -> System:
        """Return the system of one state."""
        return self.state(state)

    def _evaluator_of(self, k: int) -> Evaluator:
        return self.state(k).evaluator

    def over(self, batch: tuple[int, ...]) -> VariedSystem:
        """Return the same system with numbers for all states of a batch, one behind the other."""
        return self._with(self.variation.over(batch))

    def reshaped(self, batch: tuple[int, ...]) -> VariedSystem:
        """Return the same system with other batch dimensions of its parameters."""
        return self._with(self.variation.reshaped(batch))

    def chosen(self, states: np.ndarray, batch: tuple[int, ...]) -> VariedSystem:
        """Return the system of some states (n,), counted through the batch of the parameters, in batch dimensions."""
        return self._with(self.variation.chosen(states, batch))

    def like(self, variation: Variation) -> VariedSystem:
        """Return the system of other values of the same parameters, with the programs and formulas of this one."""
        return self._with(variation)

    def _with(self, variation: Variation) -> VariedSystem:
        other = VariedSystem(self.base, variation, self._origin)
        mine = self._settling.described, self._settling.effective
        assert isinstance(mine[0], VariedEvaluator) and isinstance(mine[1], VariedEvaluator)
        described = mine[0].with_rows(
            ConstantRows(variation, mine[0].plan, mine[0].rows), other._evaluator_of
        )
        effective = described
        if mine[1] is not mine[0]:
            effective = mine[1].with_rows(
                ConstantRows(variation, mine[1].plan, mine[1].rows), other._evaluator_of
            )
        other._take_over(described, effective)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return VariedSystem, (self.base, self.variation, self._origin)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {', '.join(self.variation.values)} for {self.variation.batch} states)"

    def vary(self, parameters: Mapping[str, ArrayLike]) -> VariedSystem:
        """Refuse: all parameters are varied at once."""
        self._require_no_more(parameters)
        return self

    # In lanes.

    def forward_dynamics(
        self, q: State, v: State, tau: Any = None, method: str = "auto",
        f_ext: Mapping[str, ArrayLike] | None = None, base_acceleration: ArrayLike | None = None,
        member: str | None = None, parameters: Mapping[str, ArrayLike] | None = None, elements: bool = True,
        near: Mapping[str, ArrayLike] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Return the accelerations vdot, shape (..., nv), each with the numbers of its state."""
        self._require_no_more(parameters)
        if member is not None and not (isinstance(member, str) and is_one_of(method, ("reference_member",))):
            raise StateError(f"member is {shown(member)}, but only the method reference_member has one.")
        if not arrays.as_switch("elements", elements):
            return self.bare.forward_dynamics(q, v, tau, method, f_ext, base_acceleration, member)
        given: dict[str, Any] = {"f_ext": f_ext, "base_acceleration": base_acceleration, "near": near}
        closed = self._closed and is_one_of(method, ("auto", "elimination")) and is_for(self.effective_plan)
        tree = not self._closed and is_one_of(method, ("auto", "articulated_body", "composite_body"))
        q, v, at_tree, at_loops = as_arrays(self, q, v, tau)
        if at_loops is not None or not (closed or tree) or self._inertia.lacking is not None:
            return self._each("forward_dynamics", q, v, tau, method=method, member=member, **given)
        if tree:
            return super().forward_dynamics(q, v, at_tree, method, f_ext, base_acceleration, near=near)
        own = self._with_own(q, v, at_tree, near)
        inputs = {"q": q, "qd": v, "tau": own, **self._outside(f_ext, base_acceleration)}
        algorithm = loop_elimination(sort_for(self.effective_plan))
        found = self.evaluator.evaluate(algorithm, inputs, finite=False)
        vdot = found["qdd"]
        doubtful = ~is_trusted(*(found[name][..., 0] for name in ("defect", "change", "before", "size")))
        if np.any(doubtful):
            careful = self._each("forward_dynamics", q, v, at_tree, only=doubtful, **given)
            vdot = np.where(doubtful[..., None], careful, vdot)
        return vdot

    def body_poses(self, q: ArrayLike) -> dict[str, np.ndarray]:
        """Return the poses of all bodies and frames in ground, {name: (..., 4, 4)}."""
        rows = np.asarray(q, dtype=np.float64)[..., None, :]
        wide = self.reshaped((*self.variation.batch, 1))
        found = {name: np.asarray(wide.pose(rows, name)) for name in self._plan.body_pose}
        return {name: x.reshape(*x.shape[:-3], 4, 4) for name, x in found.items()}

    @property
    def elements(self) -> Elements:
        """Return the springs, stops, wrenches and other forces of the mechanism on this plan."""
        if self._elements is None:
            self._elements = VariedElements(self)
        return self._elements

    @property
    def bare(self) -> System:
        """Return this system without anything of the mechanism that acts, with the same batch of parameters."""
        if self._bare is None:
            shape, mechanism = self.variation.batch, self._origin.mechanism
            if self._origin.bare is self._origin and not any(
                is_left_out(mechanism, n) for n in self.variation.values
            ):
                self._bare = self
                return self
            kept = {n: x for n, x in self.variation.values.items() if not is_left_out(mechanism, n)}
            numbers = {name: x[..., 0] if x.shape[-1] == 1 else x for name, x in kept.items()}
            if not any(name.partition(".")[0] == "gravity" for name in kept):
                # It keeps the batch where all that differs is left out.
                numbers["gravity"] = np.broadcast_to(mechanism.gravity, (*shape, 3))
            self._bare = self._origin.bare.vary(numbers)
        return self._bare

    def _own_at_joints(self, q: Any, v: Any, near: Mapping[str, Any] | None = None) -> np.ndarray:
        """Return what the forces of the mechanism do at the joints of the tree, as of a system that is not varied."""
        if near is None:
            return super()._own_at_joints(q, v)
        batch, flat, rows = self._flattened(q, v)
        found = flat.elements.at_joints(*rows, near=self._near_rows(near, batch))
        return found.reshape(*batch, self.nv)

    def element_forces(
        self, q: ArrayLike, v: ArrayLike, near: Mapping[str, ArrayLike] | None = None
    ) -> ElementForces:
        """Return what springs, stops, wrenches and other forces do, as of a system that is not varied."""
        batch, flat, rows = self._flattened(q, v)
        return flat.elements.told(*rows, self._near_rows(near, batch)).reshaped(batch)

    def element_energy(self, q: ArrayLike, near: Mapping[str, ArrayLike] | None = None) -> np.ndarray:
        """Return the energy stored in springs, stops and other forces, shape (...)."""
        batch, flat, rows = self._flattened(q, np.zeros(self.nv))
        return flat.elements.energy(rows[0], self._near_rows(near, batch)).reshape(batch)

    def force_outputs(
        self, q: ArrayLike, v: ArrayLike, near: Mapping[str, ArrayLike] | None = None
    ) -> dict[str, dict[str, np.ndarray]]:
        """Return what is worth recording of every force, as of a system that is not varied."""
        batch, flat, rows = self._flattened(q, v)
        found = System.force_outputs(flat, *rows, self._near_rows(near, batch))
        return {force: {name: x.reshape(batch) for name, x in own.items()} for force, own in found.items()}

    def force_powers(
        self, q: ArrayLike, v: ArrayLike, near: Mapping[str, ArrayLike] | None = None
    ) -> dict[str, np.ndarray]:
        """Return the power (...) of the forces of the mechanism by source."""
        batch, flat, rows = self._flattened(q, v)
        found = flat.elements.powers(*rows, self._near_rows(near, batch))
        return {source: x.reshape(batch) for source, x in found.items()}

    def _flattened(
        self, q: Any, v: Any
    ) -> tuple[tuple[int, ...], VariedSystem, tuple[np.ndarray, np.ndarray]]:
        """Return the batch, this system over all of its states, and rows (states, ...) of q and v."""
        batch, _, _ = self.states(q, v)
        batch = np.broadcast_shapes(batch, self.variation.batch)
        rows = tuple(arrays.rows(np.asarray(x, dtype=np.float64), batch) for x in (q, v))
        if self.variation.batch == (prod(batch),):
            return batch, self, (rows[0], rows[1])
        return batch, self.over(batch), (rows[0], rows[1])

    def _outside(self, f_ext: Mapping[str, Any] | None, base_acceleration: Any) -> dict[str, Any]:
        """Return wrenches on the nodes, whose bodies may be elsewhere in every state."""
        if f_ext is None:
            return {"f_ext": None, "a_base": base_acceleration}
        # What is wrong with wrenches is said as for a system that is not varied.
        wrenches.in_node_frames(self._plan, f_ext, self._frame)
        plan = self._plan
        total: Any = 0.0
        rows = self.evaluators[0].rows
        for name, wrench in f_ext.items():
            x = arrays.as_rows(f"f_ext[{name!r}]", wrench, 6, lambda: "a wrench [moment; force]")
            R, p = rows.place(self._frame(name))
            force = x[..., 3:] @ R.T
            moment = x[..., :3] @ R.T + np.cross(p, force)
            moved = np.concatenate([moment, np.broadcast_to(force, moment.shape)], axis=-1)
            here = np.zeros((*moved.shape[:-1], plan.n, 6))
            here[..., plan.body_pose[name][0], :] = moved
            total = total + here
        return {"f_ext": np.reshape(total, (*total.shape[:-2], 6 * plan.n)), "a_base": base_acceleration}

    def _shortest_forward(self) -> Callable[..., np.ndarray | None]:
        return lambda *rows: None

    def _shortest(self, algorithm: Algorithm, what: str) -> Callable[..., np.ndarray | None]:
        self._require_tree(what)
        return lambda *rows: None

    # State after state.

    correction = _by_state("correction")
    pulled = _by_state("pulled")
    closure_jacobian = _by_state("closure_jacobian")
    reactions = _by_state("reactions")
    resultants = _refused("resultants")
    coupling_forces = _by_state("coupling_forces")
    tree_forces = _by_state("tree_forces")
    regressor = _by_state("regressor")
    joint_position = _by_state("joint_position")
    joint_velocity = _by_state("joint_velocity")
    parameter_derivatives = _by_state("parameter_derivatives")
    diagnose = _refused("diagnose")
    linearise = _refused("linearise")
    equilibrium = _refused("equilibrium")
    modes = _refused("modes")
    equations = _refused("equations")
    specialise = _refused("specialise")
    inertial_parameters = _refused("inertial_parameters")
    contact_dynamics = _refused("contact_dynamics")
    drive = _refused("drive")
    branches = _refused("branches")
    inverse_kinematics = _refused("inverse_kinematics")
    reach = _refused("reach")

    def start(self, state: str | InitialState | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates (..., nq) and velocities (..., nv) that motions of each state's own mechanism start
        from, in a state of the mechanism; loops are closed."""
        if state is None and not closed_states.is_named(self, self.mechanism.initial):
            initial = self.mechanism.initial
            q = self.assemble(closed_states.planned(self, initial.q))
            return q, self.velocity(q, closed_states.planned(self, initial.v))
        found = [self.state(k).start(state) for k in range(self.count)]
        q, v = (np.stack(rows).reshape(*self.variation.batch, -1) for rows in zip(*found, strict=True))
        return q, v

    def assemble(self, given: Any = None, guess: Any = None, slack: float = 1e-5) -> np.ndarray:
        """Return the coordinates, shape (..., nq), that close all loops of each state's own mechanism."""
        start = closed_states.guessed(self.base, guess)
        held = loop_closure.held(self.base.evaluator, {} if given is None else given)
        loop_closure.check_slack(slack)
        batch = loop_closure.common_batch(held, start.shape[:-1], self.variation.batch)
        if not self._plan.total_constraints and all(h.node >= 0 for h in held):
            # Nothing ties joints together, so that all mechanisms stand where they are told to.
            found = self.base.assemble({} if given is None else given, guess, slack)
            return np.broadcast_to(found, (*batch, self.nq)).copy()
        q = np.broadcast_to(start, (*batch, self.nq)).copy()
        done = np.zeros(batch, dtype=bool)
        limits = JointLimits(self.base)
        is_quick = (
            QuickAssembly.fits(self._plan) and self._settling.found is None and self._plan.owner is None
        )
        if is_quick and q.size and not limits.loops and not is_plain():
            which = np.broadcast_to(np.arange(self.count).reshape(self.variation.batch), batch).reshape(-1)
            closing = VariedClosing(self.evaluators[0], which)
            rows = [replace(h, value=arrays.rows(h.value, batch)) for h in held]
            found, closed = closing.assemble(rows, q.reshape(-1, self.nq), slack)
            # What is beyond a limit is looked at by itself, as what does not close.
            done = (closed & limits.keeps(found)).reshape(batch)
            q = np.where(done[..., None], found.reshape(q.shape), q)
        if done.all():
            return q
        try:
            careful = self._each("assemble", {} if given is None else given, start, slack, only=~done)
        except CatenaError as error:
            if error.failed:
                rest = np.full(q.shape, np.nan) if error.found is None else error.found
                error.found = np.where(done[..., None], q, rest)
            raise
        return np.where(done[..., None], q, careful)

    def velocity(self, q: ArrayLike, given: Any, slack: float = 1e-5) -> np.ndarray:
        """Return the velocity (..., nv) of each state's own closed mechanism in which joints move as given. Where no
        loop ties joints together, or all that move stand still, it is the same for all mechanisms."""
        still = isinstance(given, Mapping) and not any(np.any(np.asarray(x) != 0.0) for x in given.values())
        if not self._plan.total_constraints or still:
            batch = np.broadcast_shapes(np.shape(q)[:-1], self.variation.batch)
            if still:
                # What is wrong with names and shapes is said for one state.
                own = np.asarray(q, dtype=np.float64).reshape(-1, np.shape(q)[-1])
                rows = {name: np.reshape(x, (-1, *np.shape(x)[-1:]))[:1] for name, x in given.items()}
                self.state(0).velocity(own[:1], rows, slack)
                shapes = [np.shape(x)[:-1] for x in given.values()]
                return np.zeros((*np.broadcast_shapes(batch, *shapes), self.nv))
            found = self.base.velocity(q, given, slack)
            return np.broadcast_to(found, (*np.broadcast_shapes(batch, found.shape[:-1]), self.nv)).copy()
        return self._each("velocity", q, given, slack)

    def closure(self, q: ArrayLike, v: ArrayLike | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the position and velocity errors of the loops, each of shape (..., constraints)."""
        if self._settling.found is None:
            return super().closure(q, v)
        return self._each("closure", q, v)

    def project(self, q: ArrayLike, v: ArrayLike | None = None, held: Any = None) -> Any:
        """Return the closed state nearest to q (..., nq) and v (..., nv) of each state's own mechanism."""
        return self._each("project", q, v, held=held)

    def inverse_dynamics(self, q: State, v: State, vdot: ArrayLike, *rest: Any, **named: Any) -> Any:
        """Return the joint forces tau, shape (..., nv), each with the numbers of its state."""
        if self._closed:
            return self._each("inverse_dynamics", q, v, vdot, *rest, **named)
        return super().inverse_dynamics(q, v, vdot, *rest, **named)

    def hybrid_dynamics(
        self, q: State, v: State, tau: Any, prescribed: Any, *rest: Any, **named: Any
    ) -> tuple[np.ndarray, Any]:
        """Return the accelerations vdot and the joint forces, each (..., nv), with some accelerations prescribed."""
        if self._closed or self._inertia.lacking is not None:
            return self._each("hybrid_dynamics", q, v, tau, prescribed, *rest, **named)
        return super().hybrid_dynamics(q, v, tau, prescribed, *rest, **named)

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the kinetic energy of bodies and rotors, shape (...), each with the numbers of its state."""
        if any(loop.armature.any() for loop in self._plan.loop_joints):
            return self._each("kinetic_energy", q, v)
        return super().kinetic_energy(q, v)

    def operational_space(self, q: ArrayLike, frame: str) -> tuple[np.ndarray, np.ndarray]:
        """Return Lambda^-1 (..., 6, 6) and Omega (..., nv, 6) of a frame, each with the numbers of its state."""
        if self._closed or self._inertia.lacking is not None:
            return self._each("operational_space", q, frame)
        return super().operational_space(q, frame)

    def forward_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, *rest: Any, **named: Any) -> Any:
        """Return vdot by q, by v and by tau, each of shape (..., nv, nv), each with the numbers of its state."""
        return self._each("forward_dynamics_derivatives", q, v, *rest, **named)

    def inverse_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, *rest: Any, **named: Any) -> Any:
        """Return tau by q, by v and by vdot, each of shape (..., nv, nv), each with the numbers of its state."""
        if self._acts:
            return self._each("inverse_dynamics_derivatives", q, v, *rest, **named)
        return super().inverse_dynamics_derivatives(q, v, *rest, **named)

    def mass_matrix(
        self,
        q: ArrayLike,
        method: str = "composite_body",
        parameters: Mapping[str, ArrayLike] | None = None,
    ) -> np.ndarray:
        """Return the joint-space inertia H of the tree, shape (..., nv, nv), each with the numbers of its state."""
        self._require_no_more(parameters)
        if is_one_of(method, ("composite_body",)):
            H = self._run(dynamics.composite_body, q=q)["H"]
            if not has_rotors(self._plan):
                return H
            return np.asarray(H + self.evaluators[0].rows.rotors()[..., None] * np.eye(self.nv))
        return self._each("mass_matrix", q, method)

    @staticmethod
    def _require_no_more(parameters: Any) -> None:
        if parameters is not None:
            raise StateError("This system is varied already; name all parameters in one call of vary.")

    def _each(self, name: str, *given: Any, only: np.ndarray | None = None, **named: Any) -> Any:
        """Return what the systems of the states say, put together; with `only` (...) the other states are left out and
        get zeros."""
        return ask_each(self, name, given, named, only)
