"""What every formulation of closed-chain dynamics starts from, and what it returns.

    H vdot + bias = tau + J^T lambda,      J vdot + gamma = 0

H, bias and tau belong to the coordinates of the tree, J and gamma to its loops. Nothing is computed before it
is asked for. All arrays have one leading dimension, the states.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from catena.dynamics.loops.inertia_root import Rows, rooted, tree_rows
from catena.dynamics.loops.square_root import divide_lower, effective
from catena.dynamics.tree.composite_body import composite_body
from catena.dynamics.tree.friction import friction_at, rubs, tree_friction
from catena.dynamics.tree.newton_euler import newton_euler
from catena.dynamics.tree.rotors import has_rotors, rotor_inertias, with_rotors
from catena.kernels.evaluation import Evaluator
from catena.kinematics import stacks
from catena.kinematics.body_jacobians import summed_up
from catena.kinematics.extent import extent, extents
from catena.kinematics.loops.closure import LoopState, Motions, coordinate_rows, loop_kinematics, tree_motions
from catena.kinematics.loops.coupling_states import CouplingState, coupling_states
from catena.kinematics.loops.scales import row_sizes
from catena.structure import Plan
from catena.thresholds import RANK_EXACT

# A loop that is open by e cannot show a rank below e: its redundant constraints contradict each other by that
# much.
CLOSURE_FACTOR = 10.0


@dataclass(frozen=True, eq=False)
class LoopSolution:
    """Accelerations vdot (states, nv), multipliers (states, m) of all constraints in the order of the loops, the
    rank (states,) of the constraints, a sentence about how it was found, and the indices (k,) of states that were
    handed over to another formulation.

    Where constraints are redundant, multipliers are one choice among many; vdot is unique.
    """

    vdot: np.ndarray
    multipliers: np.ndarray
    rank: np.ndarray
    note: str = ""
    handed_over: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(eq=False)
class LoopProblem:
    """The equations of motion of a plan with loops at a batch of states.

    `q`, `v`, `tau`, `f_ext` (states, 6 n) and `a_base` (states, 6) are given, the last three may be None.
    `lent` (6,) is the square root of an inertia that every node is lent besides its own; `loop_tau` (states, k) are
    forces at the loop joints, one after the other."""

    evaluator: Evaluator
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray | None = None
    f_ext: np.ndarray | None = None
    a_base: np.ndarray | None = None
    lent: np.ndarray | None = None
    loop_tau: np.ndarray | None = None
    batch: tuple[int, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        arrays = {
            name: np.asarray(x, dtype=np.float64) for name, x in self.arguments.items() if x is not None
        }
        self.batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays.values()))
        for name, x in arrays.items():
            wide = np.broadcast_to(x, (*self.batch, x.shape[-1]))
            setattr(self, name, np.ascontiguousarray(wide.reshape(prod(self.batch), x.shape[-1])))

    @property
    def arguments(self) -> dict[str, Any]:
        """What was given, by name; what is absent is None."""
        return {
            "q": self.q, "v": self.v, "tau": self.tau, "f_ext": self.f_ext, "a_base": self.a_base,
            "loop_tau": self.loop_tau,
        }  # fmt: skip

    @property
    def inputs(self) -> dict[str, Any]:
        """What algorithms on the tree are given: forces at loop joints act as those at joints of the tree that do the
        same."""
        tau = self.tau
        if self.loop_tau is not None:
            pushed = [w for w in self._effort_wrenches if w is not None]
            states = [s for s, w in zip(self.loops, self._effort_wrenches, strict=True) if w is not None]
            tau = np.zeros_like(self.v) if tau is None else tau
            for state, wrench in zip(states, pushed, strict=True):
                tau = tau + stacks.apply(stacks.transposed(state.J_rel), wrench)
        return {"q": self.q, "qd": self.v, "tau": tau, "f_ext": self.f_ext, "a_base": self.a_base}

    def some(self, states: np.ndarray) -> "LoopProblem":
        """This problem with only some of its states (n,)."""
        if len(states) == self.states:
            return self
        arguments: Any = {name: None if x is None else x[states] for name, x in self.arguments.items()}
        return LoopProblem(self.evaluator.chosen(states), **arguments, lent=self.lent)

    def with_forces_between_bodies(self) -> tuple["LoopProblem", dict[str, np.ndarray]]:
        """This problem with the forces at loop joints as pairs of wrenches on the two bodies that they act between, and
        these wrenches (states, 6) on the children, by joint, in the frames of their nodes."""
        if self.loop_tau is None:
            return self, {}
        n = self.plan.n
        f_ext = np.zeros((self.states, n, 6)) if self.f_ext is None else self.f_ext.reshape(-1, n, 6).copy()
        passed = {}
        for state, wrench in zip(self.loops, self._effort_wrenches, strict=True):
            if wrench is None:
                continue
            loop = state.loop
            to_C, to_P = stacks.to_frame(loop.child_pose), state.X @ stacks.to_frame(loop.parent_pose)
            passed[state.name] = stacks.apply(stacks.transposed(to_C), wrench)
            back = stacks.apply(stacks.transposed(to_P), wrench)
            f_ext[:, loop.child_node] += passed[state.name]
            f_ext[:, loop.parent_node] -= back
        arguments = {**self.arguments, "f_ext": f_ext.reshape(self.states, 6 * n), "loop_tau": None}
        other = LoopProblem(self.evaluator, **arguments, lent=self.lent)
        other.batch = self.batch
        return other, passed

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.evaluator.plan

    @property
    def numbers(self) -> Plan:
        """The plan with the numbers of each state where they differ from state to state."""
        return self.evaluator.numbers

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.q)

    @cached_property
    def motions(self) -> Motions:
        """How the tree joints stand and move."""
        return tree_motions(self.evaluator, self.q, self.v)

    @cached_property
    def loops(self) -> list[LoopState]:
        """The loop joints."""
        return loop_kinematics(self.evaluator, self.q, self.v, self.motions)

    @cached_property
    def couplings(self) -> list[CouplingState]:
        """The couplings."""
        return coupling_states(self.plan, self.q, self.v, self.loops) if self.plan.couplings else []

    @cached_property
    def rows(self) -> list[LoopState | CouplingState]:
        """Everything that has rows among the constraints, in their order: loops, then couplings."""
        return [*self.loops, *self.couplings]

    @cached_property
    def H(self) -> np.ndarray:
        """The joint-space inertia of the tree, (states, nv, nv)."""
        by_state = self.evaluator.by_state
        H = self.evaluator.evaluate(composite_body, {"q": self.q})["H"]
        H = with_rotors(self.plan, H, None if by_state is None else by_state.rotors)
        for row, inertia, _ in self.loop_rotors:
            H = H + inertia * row[..., :, None] * row[..., None, :]
        return H

    @cached_property
    def bias(self) -> np.ndarray:
        """The forces of the tree joints at which nothing accelerates, (states, nv); their friction is in it."""
        inputs = {"q": self.q, "qd": self.v, "qdd": None, "f_ext": self.f_ext, "a_base": self.a_base}
        bias = self.evaluator.evaluate(newton_euler, inputs)["tau"]
        for row, inertia, drift in self.loop_rotors:
            bias = bias + inertia * drift[:, None] * row
        return bias

    @cached_property
    def force(self) -> np.ndarray:
        """tau - bias and the friction of the loop joints, (states, nv)."""
        force = -self.bias if self.tau is None else self.tau - self.bias
        return force + self.loop_friction

    @cached_property
    def friction_wrenches(self) -> list[np.ndarray | None]:
        """The wrench (states, 6) that each loop joint's friction and actuator pass to its child at C, None without
        these."""
        rubbed = [_friction_wrench(state) for state in self.loops]
        pairs = zip(rubbed, self._effort_wrenches, strict=True)
        return [a if b is None else b if a is None else a + b for a, b in pairs]

    @cached_property
    def _effort_wrenches(self) -> list[np.ndarray | None]:
        """The wrench (states, 6) that each loop joint's actuator passes to its child at C, None without a force."""
        found: list[np.ndarray | None] = []
        at = 0
        for state in self.loops:
            nv = state.loop.kind.nv
            effort = None if self.loop_tau is None else self.loop_tau[:, at : at + nv]
            at += nv
            if effort is None or not effort.any():
                found.append(None)
            else:
                across = stacks.transposed(state.S_inv)
                found.append(stacks.apply(across, effort))
        return found

    @cached_property
    def J(self) -> np.ndarray:
        """The Jacobian of all constraints, (states, m, nv)."""
        nothing = np.zeros((self.states, 0, self.plan.nv))
        return np.concatenate([nothing, *(s.J for s in self.rows)], axis=-2)

    def joint_rows(self, node: int, loop: int) -> np.ndarray:
        """Return the rows (states, nv of the joint, nv) that give the velocities of a joint: that of a node of the
        tree, or where `node` is negative the one that closes a loop."""
        if node < 0:
            return self.loops[loop].S_inv @ self.loops[loop].J_rel
        own, nv = int(self.plan.v_size[node]), self.plan.nv
        start = int(self.plan.v_start[node])
        return np.broadcast_to(np.eye(nv)[start : start + own], (self.states, own, nv))

    @cached_property
    def gamma(self) -> np.ndarray:
        """The accelerations of all constraints when vdot is zero, (states, m)."""
        return np.concatenate([np.zeros((self.states, 0)), *(s.gamma for s in self.rows)], axis=-1)

    @cached_property
    def velocity_products(self) -> np.ndarray:
        """The size (states,) of the products of velocities that accelerations are made of, in radians and sizes of the
        mechanism: it does not vanish where those products cancel."""
        rates = np.abs(self.v) * np.linalg.norm(
            coordinate_rows(self.plan, self.motions.S_rows)[..., :3], axis=-1
        )
        turning = np.linalg.norm(self.motions.v[..., :3], axis=-1).max(axis=-1, initial=0.0)
        turning = np.maximum(turning, rates.max(axis=-1, initial=0.0))
        moving = np.linalg.norm(self.motions.v[..., 3:], axis=-1).max(axis=-1, initial=0.0)
        return np.asarray(turning * (turning + moving / self.length))

    @cached_property
    def gamma_terms(self) -> np.ndarray:
        """The size (states, m) of what gamma is a difference of."""
        sizes = [row_sizes(state.Phi, self.length) for state in self.rows]
        rows = np.concatenate(sizes, axis=-1) if sizes else np.zeros((self.states, 0))
        return rows * self.velocity_products[:, None]

    @cached_property
    def length(self) -> float:
        """The size of the mechanism [m]."""
        return extent(self.plan)

    @cached_property
    def lengths(self) -> np.ndarray:
        """The sizes (states,) [m] of mechanisms that differ from state to state."""
        found = self.length if self.evaluator.by_state is None else extents(self.numbers)
        return np.broadcast_to(found, (self.states,))

    @cached_property
    def closure_error(self) -> np.ndarray:
        """The largest error of any loop or coupling, (states,), as an angle or a part of the mechanism's size."""
        worst = np.zeros(self.states)
        for tied in self.couplings:
            worst = np.maximum(worst, np.abs(tied.error[:, 0]))
        for state in self.loops:
            if not state.loop.constraints:
                continue
            # Along S a nearest configuration has no error worth the name, but what the loop leaves to others has one.
            error = state.error
            if state.loop.constraints < 6 - state.loop.kind.nv:
                error = stacks.apply(state.Phi, stacks.apply(np.linalg.pinv(state.Phi), state.error))
            angular = np.linalg.norm(error[:, :3], axis=-1)
            linear = np.linalg.norm(error[:, 3:], axis=-1) / self.length
            worst = np.maximum(worst, np.maximum(angular, linear))
        return worst

    @cached_property
    def tolerance(self) -> np.ndarray:
        """What counts as zero among the singular values of the scaled constraints, relative to the largest,
        (states,)."""
        return np.maximum(RANK_EXACT, CLOSURE_FACTOR * self.closure_error)

    @cached_property
    def equations(self) -> tuple[np.ndarray, np.ndarray]:
        """(L, y): a triangular L (states, nv, nv) with H = L L^T, and y = L^T vdot (states, nv) of the motion without
        the forces of the constraints.

        Where some motion of the tree moves hardly any inertia, the constraints take part in H (`rooted`).
        """
        L, y = np.zeros((self.states, self.plan.nv, self.plan.nv)), np.zeros((self.states, self.plan.nv))
        for some, rows, constraints in self.portions():
            L[some], y[some] = rooted(rows, constraints, self.joint_force[some], self.plan.name)
        return L, y

    def portions(self) -> Iterator[tuple[slice, Rows, Rows]]:
        """Portions of the states with the rows of the tree, and with those of the constraints, as if each were a
        typical inertia that must not move."""
        empty = np.zeros((self.states, 0))
        weight = [np.sqrt(row_weight(state.Phi, self.mass, self.length)) for state in self.rows]
        root = np.concatenate([empty, *weight], axis=-1)[..., None]
        summed = [np.abs(stacks.transposed(s.Phi)) @ self._felt(s.J_rel) for s in self.rows]
        held = Rows(
            root * self.J,
            root[..., 0] * self.gamma,
            np.zeros_like(self.v),
            root * np.concatenate([np.zeros((self.states, 0, self.plan.nv)), *summed], axis=-2),
        )
        for some, rows in tree_rows(
            self.plan, self.motions, self.ground_acceleration, self.f_ext, self.lent, self.numbers.inertia
        ):
            yield some, self._with_rotors(some, rows), held.of(some)

    def _felt(self, J_rel: np.ndarray) -> np.ndarray:
        """Return what components of J_rel (states, 6, nv) are compared with: the terms that they are sums of, and the
        whole turn or shift, because turned axes leave rounding across themselves."""
        turning = np.linalg.norm(J_rel[..., :3, :], axis=-2, keepdims=True)
        moving = np.linalg.norm(J_rel[..., 3:, :], axis=-2, keepdims=True)
        whole = np.concatenate([np.repeat(turning, 3, axis=-2), np.repeat(moving, 3, axis=-2)], axis=-2)
        return np.maximum(summed_up(self.plan, J_rel), whole)

    @cached_property
    def loop_rotors(self) -> list[tuple[np.ndarray, float, np.ndarray]]:
        """Of each rotor at a loop joint the row (states, nv) that takes velocities of the tree to its own, its inertia,
        and its acceleration (states,) when vdot is zero."""
        found: list[tuple[np.ndarray, float, np.ndarray]] = []
        if not any(np.any(loop.armature) for loop in self.plan.loop_joints):
            return found
        for state in self.loops:
            for k, inertia in enumerate(state.loop.armature):
                if inertia:
                    across = state.S_inv[:, k]
                    row = np.einsum("si,sij->sj", across, state.J_rel)
                    found.append((row, float(inertia), np.einsum("si,si->s", across, state.drift)))
        return found

    def _with_rotors(self, some: slice, rows: Rows) -> Rows:
        """Return the rows of the tree with those of rotors, which only joint accelerations move."""
        by_state = self.evaluator.by_state
        if by_state is None and not has_rotors(self.plan):
            return rows
        rotors = rotor_inertias(self.plan) if by_state is None else by_state.rotors()[some]
        geared = np.flatnonzero(np.atleast_2d(rotors).any(axis=0))
        if not len(geared) and not self.loop_rotors:
            return rows
        states = len(rows.W)
        own = np.zeros((states, len(geared), self.plan.nv))
        own[:, np.arange(len(geared)), geared] = np.sqrt(rotors[..., geared])
        W, r = [rows.W, own], [rows.r, np.zeros((states, len(geared)))]
        for row, inertia, drift in self.loop_rotors:
            W.append(np.sqrt(inertia) * row[some][:, None])
            r.append(np.sqrt(inertia) * drift[some][:, None])
        summed = [rows.summed, *(np.abs(x) for x in W[1:])]
        return Rows(
            np.concatenate(W, axis=1), np.concatenate(r, axis=1), rows.f, np.concatenate(summed, axis=1)
        )

    @cached_property
    def joint_force(self) -> np.ndarray:
        """What acts at the joints of the tree, (states, nv): actuators, their friction, and that of loop joints."""
        others = self.evaluator.by_state is not None or self.loop_tau is not None
        if not (others or self.plan.owner is not None or rubs(self.plan)):
            return np.zeros_like(self.v) if self.tau is None else self.tau
        force = -tree_friction(self.numbers, self.q, self.v)
        if self.tau is not None:
            force = force + self.tau
        return force + self.loop_friction

    @cached_property
    def loop_friction(self) -> np.ndarray:
        """What the friction of the loop joints does at the joints of the tree, (states, nv)."""
        force = np.zeros((self.states, self.plan.nv))
        for state, wrench in zip(self.loops, self.friction_wrenches, strict=True):
            if wrench is not None:
                force += stacks.apply(stacks.transposed(state.J_rel), wrench)
        return force

    @cached_property
    def ground_acceleration(self) -> np.ndarray:
        """The acceleration of ground against gravity, (states, 6)."""
        gravity = np.asarray(self.numbers.gravity, dtype=np.float64)
        a = np.concatenate([np.zeros_like(gravity), -gravity], axis=-1)
        return np.broadcast_to(a, (self.states, 6)) if self.a_base is None else self.a_base + a

    @cached_property
    def mass(self) -> float:
        """The moving mass [kg], as a measure; 1 if there is none."""
        return float(self.plan.inertia[1:, 0].sum()) or 1.0

    @cached_property
    def scale(self) -> np.ndarray:
        """The size (states, m) of each constraint's row of J L^-T, taken from the mobility of the two bodies
        in all directions of its kind, so that it is the same for rotated copies and in all units, and does
        not vanish for a row that is zero but for rounding."""
        return row_scales(self.rows, self.equations[0], self.length)

    @cached_property
    def scaled(self) -> np.ndarray:
        """The constraints in square-root form, J L^-T with scaled rows, (states, m, nv)."""
        L = self.equations[0]
        return stacks.transposed(divide_lower(L, stacks.transposed(self.J))) / self.scale[..., None]

    @cached_property
    def rank(self) -> np.ndarray:
        """The number (states,) of constraints that are independent."""
        sigma = np.linalg.svd(self.scaled, compute_uv=False)
        return np.count_nonzero(effective(sigma, self.tolerance), axis=-1)


def row_scales(
    loops: Sequence[LoopState | CouplingState],
    L: np.ndarray,
    length: float,
    free: np.ndarray | slice = slice(None),
) -> np.ndarray:
    """Return the sizes (states, m) of the rows of J L^-T of all loops over the velocity components `free`, with L L^T =
    H (states, free, free)."""
    if not loops:
        return np.zeros((len(L), 0))
    J_rel = np.stack([state.J_rel[..., free] for state in loops], axis=-3)
    flat = J_rel.reshape(*J_rel.shape[:-3], 6 * len(loops), J_rel.shape[-1])
    mobility = divide_lower(L, stacks.transposed(flat))
    mobility = np.moveaxis(mobility.reshape(*mobility.shape[:-1], len(loops), 6), -2, -3)
    # Loops with as many constraints are weighed together.
    found: list[Any] = [None] * len(loops)
    counts = np.array([state.Phi.shape[-1] for state in loops])
    for count in np.unique(counts):
        some = np.flatnonzero(counts == count)
        scale = row_scale(
            np.stack([loops[k].Phi for k in some.tolist()], axis=-3), mobility[..., some, :, :], length
        )
        for k, row in zip(some.tolist(), np.moveaxis(scale, -2, 0), strict=True):
            found[k] = row
    return np.concatenate(found, axis=-1)


def row_scale(Phi: np.ndarray, mobility: np.ndarray, length: float) -> np.ndarray:
    """Return the size (..., m) of the rows Phi^T J_rel L^-T, given mobility = L^-1 J_rel^T (..., nv, 6).

    Each row is weighed with the size of all three rotations and all three displacements of the joint, but not
    with less than a thousandth of what the others would be worth at the size of the mechanism.
    """
    angular = np.sqrt(np.sum(mobility[..., :3] ** 2, axis=(-1, -2)))
    linear = np.sqrt(np.sum(mobility[..., 3:] ** 2, axis=(-1, -2)))
    a = np.maximum(angular, 1e-3 * linear / length)[..., None]
    b = np.maximum(linear, 1e-3 * angular * length)[..., None]
    size = np.sqrt(
        np.sum(Phi[..., :3, :] ** 2, axis=-2) * a**2 + np.sum(Phi[..., 3:, :] ** 2, axis=-2) * b**2
    )
    return np.where(size > 0.0, size, 1.0)


def row_weight(Phi: np.ndarray, mass: float, length: float) -> np.ndarray:
    """Return a typical inertia (..., m) against the motions that the columns of Phi (..., 6, m) resist."""
    angular, linear = np.sum(Phi[..., :3, :] ** 2, axis=-2), np.sum(Phi[..., 3:, :] ** 2, axis=-2)
    return mass / (angular / length**2 + linear)


def typical_inertia(S_rows: np.ndarray, mass: float, length: float) -> np.ndarray:
    """Return a typical inertia (..., n) of coordinates with motions S_rows (..., n, 6)."""
    angular, linear = np.sum(S_rows[..., :3] ** 2, axis=-1), np.sum(S_rows[..., 3:] ** 2, axis=-1)
    return mass * (angular * length**2 + linear)


def _friction_wrench(state: LoopState) -> np.ndarray | None:
    loop = state.loop
    if not (np.any(loop.damping) or np.any(loop.friction)):
        return None
    t = friction_at(loop.damping, loop.friction, state.v)
    # The wrench with S^T f = -t and nothing along the constraints.
    return -stacks.apply(stacks.transposed(state.S_inv), t)


Formulation = Callable[[LoopProblem], LoopSolution]
