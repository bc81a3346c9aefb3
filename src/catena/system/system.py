"""The public face of a planned mechanism: names in, arrays out.

A `System` holds one plan of one mechanism. It never compiles anything for a structure; programs are tables
that are written when first needed. Arrays carry leading batch dimensions everywhere; a single state has shape
(nq,).
"""

# Names of types stay as they are written, so that `help` shows "State" and not all that an array may be given as.
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np
from numpy.typing import ArrayLike

from catena import dynamics, kinematics
from catena.dynamics.loops import closed_chains
from catena.dynamics.loops.closing import loop_closure
from catena.dynamics.loops.closing.counted_constraints import CountedConstraints
from catena.dynamics.loops.closing.open_loops import OpenLoops
from catena.dynamics.mechanics import Mechanics
from catena.dynamics.tree import INERTIA_METHODS
from catena.dynamics.tree.joint_space import state_by_state
from catena.dynamics.tree.rotors import with_rotors
from catena.dynamics.tree.structurally_recursive import structurally_recursive
from catena.errors import PlanError, RenamedError, SingularDynamicsError, StateError, UnknownNameError
from catena.hooks import hook
from catena.kernels import Algorithm, arrays, plain
from catena.kernels.evaluation import ConstantsByState, Evaluator
from catena.kernels.teams.blas import by_one_blas_thread
from catena.kinematics import stacks
from catena.kinematics.joint_motions import joint_motions
from catena.kinematics.kind_values import nearest_coordinates
from catena.kinematics.loops.closure import loop_state
from catena.kinematics.loops.near_redundancy import ACCURACY
from catena.mechanism import InitialState, Mechanism
from catena.mechanism.validation import known
from catena.questions import derivatives
from catena.questions.diagnosis import Diagnosis, diagnose
from catena.questions.inertial_parameters import by_bodies
from catena.questions.linearisation import Linearisation, linearise
from catena.questions.reactions import Reactions
from catena.questions.response import Responder
from catena.questions.statics import Equilibrium, equilibrium
from catena.spatial import Pose
from catena.structure import Plan, plan
from catena.structure.stations import has_many_modes
from catena.system import closed_states, energies, load_friction, reaction_forces, wrenches
from catena.system.articulated import ArticulatedInertias, articulated_inertias
from catena.system.by_name import Given, State, as_arrays
from catena.system.by_state import States, ask_each, ask_together, by_state, in_lanes, one_by_one
from catena.system.driving import Drive, drive
from catena.system.dry_friction import bears
from catena.system.dynamics_calls import forward_dynamics, hybrid_dynamics, inverse_with_loops, posed
from catena.system.force_intervals import force_interval
from catena.system.forces import ForcesOfSystem
from catena.system.frame_axes import in_axes, require_axes
from catena.system.load_friction import with_load_friction
from catena.system.modes import Modes, modes
from catena.system.own_forces import (
    Near,
    less_own_load,
    near_position,
    of_bare,
    require_near,
    with_own_load,
)
from catena.system.reaching import inverse_kinematics
from catena.system.reaction_forces import beam_resultants
from catena.system.sticking import Sticking, sticking
from catena.system.variants import Variants
from catena.validation import is_one_of, shown

if TYPE_CHECKING:
    from catena.changing import Configuration
    from catena.equations import Equations
    from catena.equations.specialising import Specialiser
    from catena.questions.variation import Variation
    from catena.view.live.view import View

_NO_WRENCH = frozenset({"f_ext", "a_base"})
RENAMED = {
    **dict.fromkeys(("evaluator", "effective_plan", "settle", "program", "gravity", "constrained", "accuracy",
                     "states", "strain_energy", "elements"), "s.mechanics.{0}"),
    **dict.fromkeys(("bare", "laid_out", "origin", "over", "reshaped", "chosen", "state", "parameters",
                     "specialiser"), "s.variants.{0}"),
    **dict.fromkeys(("branches", "reach", "contact_dynamics", "connectivity", "energy_derivatives",
                     "inertial_parameters", "save_drawing"), "ct.{0}(s, ...)"),
    **dict.fromkeys(("correction", "tree_forces", "with_loops_at"), "catena.system.{0}(s, ...)"),
    "couples": "s.mechanics.is_closed",
    "parameter_batch": "s.variants.shape",
    "fates": "ct.compare_plans(before, s)",
    "pulled": "catena.system.restoring_acceleration(s, ...)",
    "element_forces": "s.forces.loads",
    "element_energy": "s.forces.energy",
    "force_outputs": "s.forces.outputs",
    "force_powers": "s.forces.powers",
}  # fmt: skip
"""What is asked instead of a name that was an attribute of systems; {0} is the name itself."""
# Sets of parameters that a system remembers to have varied.
MOST_VARIED = 8


class RenamedMember:
    """An attribute of systems that has another name now, which is told. A `__getattr__` of the class would do the same,
    and make every other attribute slower to find."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, system: object, owner: type) -> NoReturn:
        new = RENAMED[self.name].format(self.name)
        raise RenamedError(f"s.{self.name} is now {new}.", name=self.name, obj=system)


class System:
    """A mechanism planned as a tree with loops, ready to compute with. Made by `Mechanism.system()`."""

    def __init__(
        self,
        mechanism: Mechanism,
        root: str | None = None,
        cut: Iterable[str] = (),
        accuracy: float = ACCURACY,
        keep: Iterable[str] = (),
    ) -> None:
        if not isinstance(mechanism, Mechanism):
            raise PlanError(f"there is no mechanism to plan, but {shown(mechanism)}: give a Mechanism")
        self._begin(mechanism, plan(mechanism, root=root, cut=cut, keep=keep), accuracy)

    @staticmethod
    def _planned(
        mechanism: Mechanism, made: Plan, accuracy: float, counted: CountedConstraints | None = None,
        states: States | None = None,
    ) -> System:  # fmt: skip
        """Return a system of a plan that was made already."""
        system = System.__new__(System)
        system._begin(mechanism, made, accuracy, counted, states)
        return system

    def _begin(
        self, mechanism: Mechanism, made: Plan, accuracy: float, counted: CountedConstraints | None = None,
        states: States | None = None,
    ) -> None:  # fmt: skip
        self._mechanism = mechanism
        self._plan = made
        self._counted = counted or CountedConstraints(Evaluator(mechanism, made), made.neutral(), accuracy)
        self._states = states
        self._specialiser: Specialiser | None = None
        self._laid_out: System | None = None
        self._nodes = {name: i for i, name in enumerate(self._plan.joint) if name}
        self._revision = self._plan.revision
        self._inverse: Callable[..., np.ndarray | None] | None = None
        self.mechanics: Mechanics = Mechanics(
            self._counted, None if states is None else states.base.mechanics
        )
        self._closed = self.mechanics.is_closed
        self._without_forces: System | None = None
        self._varied: dict[tuple[Any, ...], System] = {}
        self._acts = self.mechanics.acts
        self._bears = bears(self)
        self._driven_in_part = bool(made.partly_driven.any())
        self._open_loops = OpenLoops(self._counted.described)
        self._responder = Responder(self.mechanics)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy or a pickle is made of: the mechanism, and the plan where it cannot be made again
        because the mechanism was edited since. Programs are built when the copy first needs them."""
        if self._states is not None:
            return _of_states, (self._states.base, self._states.variation, self._states.origin)
        made = None if self._mechanism.revision == self._revision else self._plan
        accuracy = self._counted.accuracy
        return _restored, (self._mechanism, self._plan.root, self._plan.cut, accuracy, made, self._plan.keep)

    def __repr__(self) -> str:
        loops = f", loops {list(self.loops)}" if self.loops else ""
        states = (
            f", {', '.join(self.variants.parameters)} for {self.variants.shape} states"
            if self._states
            else ""
        )
        tree = f"nq={self.nq}, nv={self.nv}, joints {list(self.joints)}"
        return f"System({self._mechanism.name!r}, {tree}{loops}{states})"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in RENAMED]

    # What was planned.

    @property
    def mechanism(self) -> Mechanism:
        """Return the mechanism that was planned."""
        return self._mechanism

    @property
    def plan(self) -> Plan:
        """Return the plan: nodes, tree, loops and constants as flat arrays."""
        return self._plan

    @property
    def nq(self) -> int:
        """Return the number of coordinates."""
        return self._plan.nq

    @property
    def nv(self) -> int:
        """Return the number of velocity components."""
        return self._plan.nv

    @property
    def joints(self) -> tuple[str, ...]:
        """Return the joints of the tree, in the order of the coordinates."""
        return self._plan.joints

    @property
    def loops(self) -> tuple[str, ...]:
        """Return the joints that the tree leaves out."""
        return self._plan.loops

    def slice_q(self, joint: str) -> slice:
        """Return where a tree joint's coordinates are in q."""
        i = self._node(joint)
        return slice(int(self._plan.q_start[i]), int(self._plan.q_start[i] + self._plan.q_size[i]))

    def slice_v(self, joint: str) -> slice:
        """Return where a tree joint's components are in v, tau and accelerations."""
        i = self._node(joint)
        return slice(int(self._plan.v_start[i]), int(self._plan.v_start[i] + self._plan.v_size[i]))

    def neutral(self) -> np.ndarray:
        """Return the coordinates at which every joint's motion is the identity, shape (nq,)."""
        return self._plan.neutral()

    def configuration(self, q: ArrayLike) -> Configuration:
        """Return this system at one configuration q (nq,), for edits at where it is now: `m.lock("elbow",
        at=s.configuration(q))`, `m.attach(..., at=s.configuration(q))`."""
        self.mechanics.evaluator.check_current()
        found, _ = self._one_state(q, None)
        return hook("configuration")(self, found)

    @property
    def variants(self) -> Variants:
        """Return this system for other states: of other numbers of the mechanism (`vary`), without its forces."""
        return Variants(self)

    @property
    def forces(self) -> ForcesOfSystem:
        """Return what springs, stops, wrenches and other forces of the mechanism do: loads, energy, outputs, powers."""
        return ForcesOfSystem(self)

    # Coordinates.

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: ArrayLike = 1.0) -> np.ndarray:
        """Return q (+) v dt, shape (..., nq): the configuration reached with constant joint velocities v after dt [s],
        which may have the batch shape."""
        v = self.mechanics.evaluator.checked(kinematics.integrate, "qd", v)
        dt = arrays.as_column("dt", dt, "a step must take a finite time")
        arrays.batch_shape({"v": v, "dt": dt})
        return self._run(kinematics.integrate, q=q, qd=v * dt)["q_next"]

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
        """Return the v with integrate(q0, v, 1) = q1, shape (..., nv)."""
        return self._run(kinematics.difference, q=q0, q_next=q1)["step"]

    def rate(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return dq/dt, shape (..., nq)."""
        return self._run(kinematics.rate, q=q, qd=v)["rate"]

    # Kinematics.

    def pose(self, q: ArrayLike, frame: str) -> Pose:
        """Return the `Pose` of a frame or body in ground, its arrays with the batch dimensions of q in front."""
        matrices = _homogeneous(self._run(kinematics.frame_pose, self._frame(frame), q=q)["pose_of_frame"])
        return Pose.unchecked(matrices[..., :3, 3], matrices[..., :3, :3])

    def body_poses(self, q: ArrayLike) -> dict[str, np.ndarray]:
        """Return the poses of all bodies and frames in ground, {name: (..., 4, 4)}."""
        if self._states is not None:
            rows = np.asarray(q, dtype=np.float64)[..., None, :]
            wide = self.variants.reshaped((*self._states.batch, 1))
            found = {name: np.asarray(wide.pose(rows, name)) for name in self._plan.body_pose}
            return {name: x.reshape(*x.shape[:-3], 4, 4) for name, x in found.items()}
        nodes = _homogeneous(self._run(kinematics.body_poses, q=q)["pose"])
        nodes[..., 0, :, :] = np.eye(4)
        return {name: nodes[..., i, :, :] @ pose.matrix() for name, (i, pose) in self._plan.body_pose.items()}

    def twist(self, q: ArrayLike, v: ArrayLike, frame: str, axes: str = "frame") -> np.ndarray:
        """Return the twist [angular; linear] of a frame, shape (..., 6), in its own axes at its origin.

        With axes="aligned" it is in ground's axes at the frame's origin, with axes="ground" at the ground's origin.
        """
        twist = self._run(kinematics.frame_twist, self._frame(frame), q=q, qd=v)["twist"]
        return self._in_axes(twist[..., None], q, frame, axes)[..., 0]

    def acceleration(
        self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, frame: str, axes: str = "frame"
    ) -> np.ndarray:
        """Return the acceleration of a frame, shape (..., 6): its angular acceleration and the acceleration of its
        origin, in its own axes, or in ground's with axes="aligned".

        This is what can be measured there, gravity apart. The derivative of the twist is jacobian @ vdot +
        bias_acceleration, whose linear part is less by the cross product of angular and linear velocity.
        """
        if not is_one_of(axes, ("frame", "aligned")):
            raise StateError(f"axes is {shown(axes)}; choose 'frame' or 'aligned' for an acceleration.")
        name = self._frame(frame)
        vdot = self.mechanics.evaluator.checked(dynamics.newton_euler, "qdd", vdot)
        found = stacks.apply(self._run(kinematics.jacobian, name, q=q)["J"], vdot)
        found = found + self.bias_acceleration(q, v, name)
        twist = self.twist(q, v, name)
        found[..., 3:] += np.cross(twist[..., :3], twist[..., 3:])
        return self._in_axes(found[..., None], q, name, axes)[..., 0]

    def jacobian(self, q: ArrayLike, frame: str, axes: str = "frame") -> np.ndarray:
        """Return the Jacobian J of a frame, shape (..., 6, nv): twist = J v, in the frame's own axes at its
        origin; `axes` are those of `twist`."""
        return self._in_axes(self._run(kinematics.jacobian, self._frame(frame), q=q)["J"], q, frame, axes)

    def _in_axes(self, motions: np.ndarray, q: ArrayLike, frame: str, axes: str) -> np.ndarray:
        """Return motions (..., 6, n) of a frame in other axes than its own."""
        if require_axes(axes) == "frame":
            return motions
        return in_axes(motions, self.pose(q, frame).matrix(), axes)

    def joint_position(self, q: ArrayLike, joint: str, near: ArrayLike | None = None) -> np.ndarray:
        """Return the coordinates of any joint, shape (..., nq of the joint): a slice of q for a joint of the tree,
        and for a loop joint those of the configuration nearest to where its two sides are. These tell angles up to
        whole turns: they are those next to the position `near` (..., nq of the joint), or within half a turn of zero.
        """
        q = self.mechanics.evaluator.checked(kinematics.rate, "q", q)
        beside = None if near is None else near_position("near", near)
        if not is_one_of(joint, self.loops):
            return q[..., self.slice_q(joint)].copy()
        return self._at_loop(q, None, joint, beside)[0]

    def joint_velocity(self, q: ArrayLike, v: ArrayLike, joint: str) -> np.ndarray:
        """Return the velocities of any joint, shape (..., nv of the joint), of the tree or of a loop."""
        q, v = (
            self.mechanics.evaluator.checked(kinematics.rate, name, x) for name, x in (("q", q), ("qd", v))
        )
        if not is_one_of(joint, self.loops):
            return v[..., self.slice_v(joint)].copy()
        return self._at_loop(q, v, joint)[1]

    @in_lanes
    def _at_loop(
        self, q: np.ndarray, v: np.ndarray | None, joint: str, near: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates and velocities of a loop joint, those coordinates that are next to `near` if it is
        given."""
        self.mechanics.evaluator.check_current()
        found = loop_state(self._counted.described, joint, q, v)
        own = found.q if near is None else nearest_coordinates(found.loop.kind, found.X, near)
        return own, found.v

    def bias_acceleration(self, q: ArrayLike, v: ArrayLike, frame: str) -> np.ndarray:
        """Return Jdot v, shape (..., 6): the derivative of the frame's twist when vdot is zero."""
        return self._run(kinematics.frame_bias_acceleration, self._frame(frame), q=q, qd=v)["acceleration"]

    # Loops.

    @by_one_blas_thread
    def assemble(
        self,
        given: Given | str | InitialState | None = None,
        guess: ArrayLike | Given | None = None,
        slack: float = 1e-5,
    ) -> np.ndarray:
        """Return the coordinates, shape (..., nq), that close all loops and hold what is given; without arguments those
        that motions of the mechanism start from.

        `given` may be a state of the mechanism, or the name of one in `m.states`: where its positions leave loops open,
        the closed configuration nearest to them. Else it maps joints, of the tree or of loops, to coordinates (..., nq
        of the joint), or to a number where there is one; None leaves a coordinate free. The branch is that of `guess`
        (the neutral configuration unless given): coordinates (..., nq), or positions of some joints by name.
        If the given values over-determine the loops by no more than `slack` [rad or m, of mechanisms smaller than a
        metre that part of their size] they move by the least amount that closes them; otherwise a LoopError tells what
        is left of each loop. Configurations with joints within their limits come first; where none is found, a
        warning names a joint, its position and its limit.
        """
        return closed_states.assemble(self, given, guess, slack)

    @by_one_blas_thread
    def start(self, state: str | InitialState | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates (nq,) and velocities (nv,) of a state, one of `m.states` by its name, or of where
        motions of the mechanism start: what `m.initial` says. Loops are closed."""
        return closed_states.start(self, state, 1e-5)

    @one_by_one
    @by_one_blas_thread
    def drive(
        self, joint: str, to: Sequence[float] | None = None, samples: int = 181, rate: float = 1.0,
        guess: ArrayLike | Given | None = None, hold: Given | None = None,
    ) -> Drive:  # fmt: skip
        """Return the mechanism driven at one joint of the tree through its range: configurations, velocities and
        accelerations at evenly spaced values, and where and why the way ends on both sides.

        The way begins at the closed configuration near `guess` and goes both ways to a dead point, to a limit of a
        joint, once round, or to `to` = (low, high). `rate` is the velocity of the driver, which does not change. `hold`
        gives positions of joints that stay where they are, for mechanisms with more than one freedom.
        """
        return drive(self, joint, to, samples, rate, guess, hold)

    @one_by_one
    @by_one_blas_thread
    def inverse_kinematics(
        self, goals: Mapping[str, Pose | ArrayLike], guess: ArrayLike | Given | None = None, hold: Given | None = None
    ) -> np.ndarray:  # fmt: skip
        """Return coordinates, shape (..., nq), in which frames or bodies are at their goals, loops closed and joints
        within their limits.

        `goals` maps frames to a Pose, to matrices (..., 4, 4), or to points (..., 3) for their origins alone. Of
        several solutions it is the one that the search meets first from `guess`, coordinates (..., nq) or positions by
        name (the neutral configuration unless given). `hold` gives positions of joints that stay. Where a goal is not
        reached a LoopError tells what is left, and its `reach` has what was found for all states: that of `reach`.
        """
        return inverse_kinematics(self, goals, guess, hold)

    @by_one_blas_thread
    def velocity(self, q: ArrayLike, given: Given, slack: float = 1e-5) -> np.ndarray:
        """Return the velocity, shape (..., nv), of the closed mechanism in which joints move as given.

        Joints on no loop that are not named stand still. Of the others the loops tell some; where they leave a choice,
        it is the velocity of least kinetic energy. A simulation and the command line complete an initial velocity so.

        `given` maps joints, of the tree or of loops, to velocities (..., nv of the joint), or to a number where there
        is one; None is a component that is not given. `slack` is that of `assemble`, for opening velocities.
        """
        return closed_states.velocity(self, q, given, slack)

    def closure(self, q: ArrayLike, v: ArrayLike | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the position errors [rad or m] and velocity errors of the loops, each of shape (..., constraints),
        loop after loop in the order of `loops`; zero when closed, and at rest when v is None.

        What is redundant up to the accuracy of the model counts for nothing here; `diagnose` tells by how much it is
        open.
        """
        self.mechanics.settle()
        if self._counted.found is None:
            return loop_closure.closure(self.mechanics.evaluator, q, v)
        if self._states is not None:
            return ask_each(self, "closure", q, v)
        q = self.mechanics.evaluator.checked(kinematics.integrate, "q", q)
        rates = None if v is None else self.mechanics.evaluator.checked(kinematics.integrate, "qd", v)
        return self._counted.kept_errors(q, rates)

    @overload
    def project(self, q: ArrayLike, v: None = None, held: Sequence[str] | None = None) -> np.ndarray: ...

    @overload
    def project(
        self, q: ArrayLike, v: ArrayLike, held: Sequence[str] | None = None
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @in_lanes
    @by_one_blas_thread
    def project(
        self, q: ArrayLike, v: ArrayLike | None = None, held: Sequence[str] | None = None
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the closed state nearest to q (..., nq) and v (..., nv), computed in lanes: q alone when v is None,
        else (q, v). For states that drifted off their loops; a LoopError tells when they are too far open.

        The joints of the tree in `held` stay as they are. With `held`, be it empty, loops of any rank are closed,
        next to singular configurations too; that takes longer.
        """
        near, rates = closed_states.project(self, q, v, held)
        return near if rates is None else (near, rates)

    @in_lanes
    def closure_jacobian(self, q: ArrayLike) -> np.ndarray:
        """Return the Jacobian J (..., constraints, nv) of the loops: J v is the velocity error of `closure`."""
        self.mechanics.settle()
        if self._counted.found is not None:
            rows = np.asarray(q, dtype=np.float64)[..., None, :]
            return np.swapaxes(self.closure(rows, np.eye(self.nv))[1], -1, -2)
        problem = posed(self, q, np.zeros(self.nv), None, None, None)
        return problem.J.reshape(*problem.batch, self._plan.total_constraints, self.nv)

    @one_by_one
    @by_one_blas_thread
    def diagnose(self, q: ArrayLike, tolerance: float | None = None) -> Diagnosis:
        """Return mobility, rank, redundant constraints and singularity at one configuration q (nq,), as data; print
        it for a report.

        What counts is what is computed with: constraints that are redundant up to the accuracy of the model do not.
        With a `tolerance` all do whose singular values are above that part of the largest.
        """
        q = self.mechanics.evaluator.checked(kinematics.integrate, "q", q)
        if q.ndim != 1:
            raise StateError(
                f"diagnose looks at one configuration, but q has shape {q.shape}: give shape ({self.nq},)."
            )
        self.mechanics.evaluator.check_current()
        self.mechanics.evaluator.check_positions("q", q)
        if tolerance is not None:
            tolerance = arrays.as_number("tolerance", tolerance, "a part of the largest singular value")
            return diagnose(self._counted.described, self._mechanism, q, tolerance)
        self.mechanics.settle(q)
        return diagnose(self._counted.described, self._mechanism, q, effective=self.mechanics.evaluator)

    # Dynamics.

    def vary(self, parameters: Mapping[str, ArrayLike]) -> System:
        """Return this system with other numbers of the mechanism for each state: {"pole.mass": (...)}, one number for
        each state of a batch, or (..., n) for a parameter that is a vector.

        Names are those of `equations`: "pole.mass", "pole.com.z", "elbow.in_parent.p", "elbow.damping",
        "strut.stiffness", "gravity". All calls of the new system take states that go with this batch, and most are
        computed in lanes as those of one mechanism are. The structure stays: what is welded, which joints close loops.
        """
        if self._states is not None:
            raise StateError("This system is varied already; name all parameters in one call of vary.")
        from catena.questions.variation import Variation

        self.mechanics.evaluator.check_current()
        variation = Variation.of(self._mechanism, parameters)
        known = self._varied.get(variation.signature)
        if known is not None and known._states is not None:
            return known._of_variation(variation.like(known._states.variation))
        made = plan(variation.representative, root=self._plan.root, cut=self._plan.cut, keep=self._plan.keep)
        base = self._planned(variation.representative, made, self._counted.accuracy)
        base.mechanics.settle()
        found = _of_states(base, variation, self)
        if 0 not in variation.batch:
            # One state is enough to remember what all values of these parameters have in common.
            if len(self._varied) >= MOST_VARIED:
                del self._varied[next(iter(self._varied))]
            self._varied[variation.signature] = found.variants.chosen(np.zeros(1, dtype=int), ())
        return found

    def _of_variation(self, variation: Variation) -> System:
        """Return this system for other states, with the programs that it has."""
        assert self._states is not None
        return _of_states(self._states.base, variation, self._states.origin, self._counted)

    @property
    def _constants(self) -> ConstantsByState | None:
        """Return the numbers that differ from state to state, on the plan as described."""
        return self._counted.described.by_state

    def forward_dynamics(
        self, q: State, v: State, tau: State | None = None, method: str = "auto",
        f_ext: Mapping[str, ArrayLike] | None = None, base_acceleration: ArrayLike | None = None,
        member: str | None = None, parameters: Mapping[str, ArrayLike] | None = None, elements: bool = True,
        near: Mapping[str, ArrayLike] | None = None, independent: str | Iterable[str] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Return the accelerations vdot, shape (..., nv).

        `tau` are generalised forces (none if None): what the actuators give, and at joints without one whatever is
        given. `f_ext` maps bodies or frames to wrenches [moment; force] in their own axes at their origin,
        `base_acceleration` is a prescribed acceleration [angular; linear] of the ground, which may have a velocity by
        `ct.moving_base_wrenches`. Friction is taken off.
        `method` for trees: "articulated_body" (O(N), what "auto" takes) or "composite_body" (H^-1 (tau - bias)). With
        loops, which are respected: "elimination" (compiled, what "auto" takes, with "kkt" for states that it cannot
        certify), "kkt", "absolute", "joint_multipliers", "minimal" (the coordinates of the joints `independent`, or the
        best ones) or "reference_member" (the body called `member`, or the best one); they agree, whatever the rank of
        the constraints. Trees may be computed by these as well, and
        are by "kkt" where massless bodies leave articulated bodies without inertia. `parameters` are numbers of the
        mechanism that differ from state to state, as `vary` takes them. All that belongs to the mechanism acts, as in a
        simulation: springs, stops, wrenches, other forces, damping and friction of joints; `elements=False` leaves
        that out. The angles of loop joints that they look at lie between -pi and pi, unless `near` tells a position
        {joint: (..., nq of the joint)} that a joint is next to: whole turns are counted on from there. Loops should be
        closed; where those of the first calls are not, a warning tells so.
        """
        if near is not None:
            require_near(near)
        if parameters is not None:
            varied = self.vary(parameters)
            return varied.forward_dynamics(
                q, v, tau, method, f_ext, base_acceleration, member, elements=elements, near=near,
                independent=independent,
            )  # fmt: skip
        if elements is not True and not arrays.as_switch("elements", elements):
            return self.variants.bare.forward_dynamics(
                q, v, tau, method, f_ext, base_acceleration, member, independent=independent
            )
        if type(method) is not str:
            raise StateError(f"method is {shown(method)}; give a word, such as 'auto'.")
        if self._bears:
            if self._states is not None:
                outside: dict[str, Any] = {
                    "f_ext": f_ext,
                    "base_acceleration": base_acceleration,
                    "near": near,
                }
                chosen: dict[str, Any] = {"method": method, "member": member, "independent": independent}
                return ask_each(self, "forward_dynamics", q, v, tau, **chosen, **outside)
            tau = with_load_friction(self, q, v, tau, f_ext, base_acceleration, None, near)
            return forward_dynamics(
                self.variants.unloaded, q, v, tau, method, f_ext, base_acceleration, member, near, independent
            )
        if (
            f_ext is None
            and base_acceleration is None
            and method == "auto"
            and near is None
            and independent is None
        ):
            if self._mechanism.revision == self._revision and not plain.blocks:
                forward = self.mechanics.forward
                if forward is None:
                    forward = self.mechanics.forward = self._shortest_forward()
                result = forward(q, v, tau)
                if result is not None:
                    return result
        return forward_dynamics(self, q, v, tau, method, f_ext, base_acceleration, member, near, independent)

    @overload
    def inverse_dynamics(
        self, q: State, v: State, vdot: ArrayLike, f_ext: Mapping[str, ArrayLike] | None = None,
        base_acceleration: ArrayLike | None = None, actuated: None = None,
        parameters: Mapping[str, ArrayLike] | None = None, elements: bool = True,
    ) -> np.ndarray: ...  # fmt: skip

    @overload
    def inverse_dynamics(
        self, q: State, v: State, vdot: ArrayLike, f_ext: Mapping[str, ArrayLike] | None = None,
        base_acceleration: ArrayLike | None = None, *, actuated: Sequence[str],
        parameters: Mapping[str, ArrayLike] | None = None, elements: bool = True,
    ) -> dict[str, np.ndarray]: ...  # fmt: skip

    def inverse_dynamics(
        self,
        q: State,
        v: State,
        vdot: ArrayLike,
        f_ext: Mapping[str, ArrayLike] | None = None,
        base_acceleration: ArrayLike | None = None,
        actuated: Sequence[str] | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        elements: bool = True,
    ) -> np.ndarray | dict[str, np.ndarray]:
        """Return the joint forces tau, shape (..., nv), that produce the accelerations `vdot` besides the forces of the
        mechanism, friction among them; `elements=False` leaves these out.

        With loops or couplings they are the forces of the actuated joints of the tree, the smallest where there are
        many; a LoopError tells when vdot would open a loop or the actuators cannot produce it. With names of `actuated`
        joints, of the tree or of loops, it is these that give the forces, which are returned by name: {joint: (..., nv
        of the joint)}. In a tree all joints are told what they have to give, but of a joint that motors drive in part
        the other components give nothing; a LoopError tells when that does not do. `parameters` are those of
        `forward_dynamics`.
        """
        if parameters is not None:
            varied: Any = self.vary(parameters)
            return varied.inverse_dynamics(q, v, vdot, f_ext, base_acceleration, actuated, elements=elements)
        if elements is not True and not arrays.as_switch("elements", elements):
            bare: Any = self.variants.bare
            return bare.inverse_dynamics(q, v, vdot, f_ext, base_acceleration, actuated)
        if isinstance(q, Mapping) or isinstance(v, Mapping):
            q, v, _, _ = as_arrays(self, q, v)
        if self._bears and self._states is None:
            return load_friction.inverse_dynamics(self, q, v, vdot, f_ext, base_acceleration, actuated)
        if actuated is not None or self._bears or self._closed or self._driven_in_part:
            if self._states is not None:
                options: dict[str, Any] = {
                    "f_ext": f_ext,
                    "base_acceleration": base_acceleration,
                    "actuated": actuated,
                }
                together = None if self._bears else inverse_with_loops
                return ask_together(self, together, "inverse_dynamics", q, v, vdot, **options)
            return inverse_with_loops(self, q, v, vdot, f_ext, base_acceleration, actuated)
        if f_ext is None and base_acceleration is None:
            if self._mechanism.revision == self._revision and not plain.blocks:
                if self._inverse is None:
                    self._inverse = self._shortest_inverse()
                result = self._inverse(q, v, vdot)
                if result is not None:
                    return result
        self._require_tree("inverse dynamics")
        outside = self._outside(f_ext, base_acceleration)
        taken = self._run(dynamics.newton_euler, q=q, qd=v, qdd=vdot, **outside)["tau"]
        return self._without_own(q, v, taken)

    @by_state
    def sticking(
        self, q: State, v: State, tau: State | None = None, f_ext: Mapping[str, ArrayLike] | None = None,
        prescribed: Given | None = None, near: Mapping[str, ArrayLike] | None = None,
    ) -> Sticking:  # fmt: skip
        """Return how the mechanism goes on with dry friction in joints of the tree as it is in runs: `vdot`, the
        `force` of friction, its `sense` and its `limit`, each (..., nv), and whether it `holds`.

        A component that moves, if ever so slowly, rubs with all of its friction; one whose velocity is zero sticks,
        with whatever force that takes, or begins to slip. The other arguments are those of `hybrid_dynamics`, and
        `forward_dynamics` is the same with friction that goes smoothly through rest.
        """
        require_near(near)
        return sticking(self, q, v, tau, f_ext, prescribed, near)

    @overload
    def inverse_dynamics_interval(
        self, q: State, v: State, vdot: ArrayLike, f_ext: Mapping[str, ArrayLike] | None = None,
        actuated: None = None,
    ) -> np.ndarray: ...  # fmt: skip

    @overload
    def inverse_dynamics_interval(
        self, q: State, v: State, vdot: ArrayLike, f_ext: Mapping[str, ArrayLike] | None = None, *,
        actuated: Sequence[str],
    ) -> dict[str, np.ndarray]: ...  # fmt: skip

    @by_state
    def inverse_dynamics_interval(
        self, q: State, v: State, vdot: ArrayLike, f_ext: Mapping[str, ArrayLike] | None = None,
        actuated: Sequence[str] | None = None,
    ) -> np.ndarray | dict[str, np.ndarray]:  # fmt: skip
        """Return the least and the largest joint forces, (..., nv, 2), that produce the accelerations `vdot` with dry
        friction as it is in runs; the arguments are those of `inverse_dynamics`, and with names of `actuated` joints
        the bounds are {joint: (..., nv of the joint, 2)}.

        A component that stays at rest holds with anything up to its limit; one that moves, or begins to, rubs with one
        value. In a tree each force lies in its interval whatever the others are, as far apart as twice what friction
        holds. With loops or couplings it is those of actuated joints that are told, and friction in all joints holds
        together: the interval is of one force while the others give whatever keeps the motion the same. Where too many
        are actuated they may hold against each other, and bounds are infinite; a LoopError tells when actuators and
        friction together cannot do it. Friction by load is known in trees.
        """
        return force_interval(self, q, v, vdot, f_ext, actuated)

    def hybrid_dynamics(
        self, q: State, v: State, tau: State | None, prescribed: Given,
        f_ext: Mapping[str, ArrayLike] | None = None, base_acceleration: ArrayLike | None = None,
        elements: bool = True, near: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[np.ndarray, Any]:  # fmt: skip
        """Return the accelerations vdot and the joint forces, each (..., nv), with some joint accelerations
        prescribed.

        `prescribed` maps joints to accelerations (..., nv of the joint), or to a number where there is one; None leaves
        a component free. `tau` (none if None) acts at free joints; at prescribed ones the result has the force that the
        drive must give besides those of the mechanism, which `elements=False` leaves out. A prescribed joint may carry
        a body without mass. Loops are respected: a LoopError tells when what is prescribed contradicts them. Where a
        prescribed joint closes a loop, the forces are those of the prescribed joints by name, {joint: (..., nv of the
        joint)}. `near` is that of `forward_dynamics`.
        """
        require_near(near)
        if not arrays.as_switch("elements", elements):
            return self.variants.bare.hybrid_dynamics(q, v, tau, prescribed, f_ext, base_acceleration)
        if self._states is not None and (self._closed or self.mechanics.inertia.lacking is not None):
            options: dict[str, Any] = {"f_ext": f_ext, "base_acceleration": base_acceleration, "near": near}
            together = None if self._bears else hybrid_dynamics
            return ask_together(self, together, "hybrid_dynamics", q, v, tau, prescribed, **options)
        if self._bears:
            return load_friction.hybrid_dynamics(self, q, v, tau, prescribed, f_ext, base_acceleration, near)
        return hybrid_dynamics(self, q, v, tau, prescribed, f_ext, base_acceleration, near)

    def bias_force(
        self,
        q: ArrayLike,
        v: ArrayLike,
        f_ext: Mapping[str, ArrayLike] | None = None,
        base_acceleration: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        elements: bool = True,
    ) -> np.ndarray:
        """Return the joint forces, shape (..., nv), at which nothing accelerates: against Coriolis, centrifugal and
        gravity forces and those of the mechanism. `parameters` and `elements` are those of `forward_dynamics`."""
        if parameters is not None:
            return self.vary(parameters).bias_force(q, v, f_ext, base_acceleration, elements=elements)
        if elements is not True and not arrays.as_switch("elements", elements):
            return self.variants.bare.bias_force(q, v, f_ext, base_acceleration)
        outside = self._outside(f_ext, base_acceleration)
        taken = self._run(dynamics.newton_euler, q=q, qd=v, qdd=None, **outside)["tau"]
        return self._without_own(q, v, taken)

    def mass_matrix(
        self,
        q: ArrayLike,
        method: str = "composite_body",
        parameters: Mapping[str, ArrayLike] | None = None,
    ) -> np.ndarray:
        """Return the joint-space inertia H of the tree, shape (..., nv, nv). `method`: "composite_body",
        or to compare with it "structurally_recursive", "inertia_projection" or "modified_composite_body", without
        flexible bodies. `parameters` are those of `forward_dynamics`."""
        if parameters is not None:
            return self.vary(parameters).mass_matrix(q, method)
        if is_one_of(method, ("composite_body",)):
            H = self._run(dynamics.composite_body, q=q)["H"]
            return with_rotors(self._plan, H, None if self._constants is None else self._constants.rotors)
        if self._states is not None:
            return ask_each(self, "mass_matrix", q, method)
        if is_one_of(method, ("structurally_recursive",)):
            q = self.mechanics.evaluator.checked(kinematics.rate, "q", q)
            self.mechanics.evaluator.check_current()
            H = structurally_recursive(self._plan, lambda frame: self.jacobian(q, frame), q.shape[:-1])
            return with_rotors(self._plan, H)
        if is_one_of(method, INERTIA_METHODS):
            if self._plan.owner is not None:
                raise StateError(f"mass_matrix by {method!r} is for rigid bodies; choose composite_body.")
            found = self._run(joint_motions, q=q)
            H = state_by_state(INERTIA_METHODS[method], self._plan, found, found["X"].shape[:-2])
            return with_rotors(self._plan, H)
        raise StateError(
            f"There is no mass matrix method {shown(method)}; choose composite_body, structurally_recursive, "
            f"{' or '.join(INERTIA_METHODS)}."
        )

    def articulated_inertias(
        self, q: State, v: State | None = None, tau: State | None = None,
        f_ext: Mapping[str, ArrayLike] | None = None, base_acceleration: ArrayLike | None = None,
        elements: bool = True,
    ) -> ArticulatedInertias:  # fmt: skip
        """Return the articulated inertia IA of every body of a tree, {body: (..., 6, 6)}: what it shows to its joint
        with all that hangs on it free to yield. Its `bias` has the forces {body: (..., 6)} that keep the bodies from
        accelerating at velocities `v` (zero if None) while `tau` and the forces of the mechanism act.
        """
        if not arrays.as_switch("elements", elements):
            return self.variants.bare.articulated_inertias(q, v, tau, f_ext, base_acceleration)
        return articulated_inertias(self, q, v, tau, f_ext, base_acceleration)

    def operational_space(self, q: ArrayLike, frame: str) -> tuple[np.ndarray, np.ndarray]:
        """Return Lambda^-1 (..., 6, 6) and Omega = H^-1 J^T (..., nv, 6) of a frame, in its own axes at its
        origin. With loops Omega is what a unit wrench accelerates the closed mechanism by."""
        if self._closed or self.mechanics.inertia.lacking is not None or self._plan.owner is not None:
            return self._felt_through_loops(q, frame)
        self.mechanics.evaluator.check_current()
        result = self._run(dynamics.operational_space, self._frame(frame), q=q)
        columns = result["Lambda_inv"]
        return np.swapaxes(columns.reshape(*columns.shape[:-1], 6, 6), -1, -2), result["Omega"]

    @in_lanes
    def _felt_through_loops(self, q: ArrayLike, frame: str) -> tuple[np.ndarray, np.ndarray]:
        """Return Lambda^-1 (..., 6, 6) and Omega (..., nv, 6) of a frame with loops respected, and inertia lacking."""
        problem = posed(self, q, np.zeros(self.nv), None, None, None)
        J = self._run(kinematics.jacobian, self._frame(frame), q=problem.q)["J"]
        with self.mechanics.inertia.named():
            return closed_chains.operational_space(problem, J)

    @in_lanes
    @by_one_blas_thread
    def reactions(
        self,
        q: State,
        v: State,
        tau: State | None = None,
        f_ext: Mapping[str, ArrayLike] | None = None,
        base_acceleration: ArrayLike | None = None,
        vdot: ArrayLike | None = None,
        elements: bool = True,
        at_loops: Mapping[str, ArrayLike] | None = None,
        near: Mapping[str, ArrayLike] | None = None,
    ) -> dict[str, np.ndarray]:
        """Return the whole wrench [moment; force] that each joint passes to its child, {joint: (..., 6)}, at the
        child-side joint frame's origin in its axes; the child is the one `add_joint` named.

        All joints are there, of the tree, of loops and between welded bodies. Where redundant constraints leave the
        wrenches open, they are the smallest; `diagnose` tells. Accelerations `vdot` (..., nv) that are known already
        are used in trees, where massless bodies may move as prescribed. What sits in a joint (a motor, a spring) passes
        its force through it; `at_loops` are such forces {joint: (..., nv of the joint)} at joints that close loops,
        besides those in tau. `near` is that of `forward_dynamics`; `elements=False` leaves the forces of the mechanism
        out.
        """
        require_near(near)
        if not arrays.as_switch("elements", elements):
            return self.variants.bare.reactions(q, v, tau, f_ext, base_acceleration, vdot, at_loops=at_loops)
        if self._bears:
            return load_friction.reactions(self, q, v, tau, f_ext, base_acceleration, vdot, at_loops, near)
        return reaction_forces.reactions(self, q, v, tau, f_ext, base_acceleration, vdot, at_loops, near)

    @one_by_one
    def resultants(
        self,
        body: str,
        x: ArrayLike,
        q: State,
        v: State,
        tau: State | None = None,
        f_ext: Mapping[str, ArrayLike] | None = None,
        elements: bool = True,
    ) -> dict[str, np.ndarray]:
        """Return the stress resultants of a beam at places x (n,) [m] along it, each (..., n): axial force "N", shear
        forces "Qy" and "Qz" [N], torque "T" and bending moments "My" and "Mz" [N m], in the axes of the section.

        They follow from equilibrium: they hold what is beyond the section against weight, inertia, joints and wrenches,
        so that the axial force is there although a beam does not stretch. `Beam.resultants(eta, x)` are those of its
        curvature, which become the same as modes are added. `elements` is that of `forward_dynamics`.
        """
        if not arrays.as_switch("elements", elements):
            return self.variants.bare.resultants(body, x, q, v, tau, f_ext)
        q, v, tau, _ = as_arrays(self, q, v, tau)
        reactions = self.reactions(q, v, tau, f_ext=f_ext)
        vdot = self.forward_dynamics(q, v, tau, f_ext=f_ext)
        at, rate = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        return beam_resultants(self, body, x, at, rate, vdot, reactions, f_ext)

    @in_lanes
    @by_one_blas_thread
    def coupling_forces(
        self,
        q: State,
        v: State,
        tau: State | None = None,
        f_ext: Mapping[str, ArrayLike] | None = None,
        base_acceleration: ArrayLike | None = None,
        elements: bool = True,
        at_loops: Mapping[str, ArrayLike] | None = None,
        near: Mapping[str, ArrayLike] | None = None,
    ) -> dict[str, np.ndarray]:
        """Return the force that each coupling carries, {coupling: (...)}: its joints feel it times the derivative of
        the coupling's equation by their position.

        For a gear {"motor": 1, "arm": -50} it is the torque on the motor, and the arm feels -50 times as much. Where
        redundant constraints leave it open, it is what `reactions` contain, the same on every plan; `diagnose` tells.
        `elements`, `at_loops` and `near` are those of `reactions`.
        """
        require_near(near)
        if not arrays.as_switch("elements", elements):
            return self.variants.bare.coupling_forces(q, v, tau, f_ext, base_acceleration, at_loops=at_loops)
        return reaction_forces.coupling_forces(self, q, v, tau, f_ext, base_acceleration, at_loops, near)

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the kinetic energy of bodies and rotors [J], shape (...)."""
        T = self._run(dynamics.kinetic_energy, q=q, qd=v)["T"][..., 0]
        return energies.with_loop_rotors(self, T, q, v)

    def potential_energy(
        self, q: ArrayLike, elements: bool = True, near: Mapping[str, ArrayLike] | None = None
    ) -> np.ndarray:
        """Return the potential energy [J], shape (...): of gravity, zero with the centre of mass at the ground's
        origin, of the strain in flexible bodies, and what springs, stops and other forces store; `elements=False`
        leaves the last out. `near` is that of `forward_dynamics`."""
        require_near(near)
        energy = self.mechanics.potential_energy(q)
        return (
            energies.with_stored(self, energy, q, near) if arrays.as_switch("elements", elements) else energy
        )

    def momentum(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the total momentum [angular; linear] [N m s; N s], shape (..., 6), about the ground's origin in ground
        axes."""
        return self._run(dynamics.momentum, q=q, qd=v)["h"]

    def center_of_mass(self, q: ArrayLike) -> np.ndarray:
        """Return the centre of mass in ground [m], shape (..., 3)."""
        inertia = self._run(dynamics.total_inertia, q=q)["Ic"]
        if self._plan.inertia[1:, 0].sum() == 0.0:
            raise SingularDynamicsError(
                f"{self._mechanism.name!r} has no moving mass and so no centre of mass: give a body mass."
            )
        return inertia[..., 1:4] / inertia[..., :1]

    # Derivatives.

    @by_state
    @by_one_blas_thread
    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, f_ext: Mapping[str, ArrayLike] | None = None,
        base_acceleration: ArrayLike | None = None, out: Sequence[np.ndarray] | None = None, elements: bool = True,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Return vdot of `forward_dynamics` by q, by v and by tau, each of shape (..., nv, nv): entry (i, k) is the
        derivative of vdot[i] by a step q (+) e_k, by v[k], by tau[k].

        With loops they are those of the closed mechanism, for changes of q and v together that keep the loops closed in
        position and velocity. Where constraints are not redundant they are also those of each argument by itself.
        Wrenches `f_ext` stay as they are in the axes of their bodies. `out` may be three arrays to write to, such as an
        earlier call returned: for large batches, making new ones takes longer than computing. `elements` is that of
        `forward_dynamics`.
        """
        if elements:
            load_friction.require_none(self, "forward_dynamics_derivatives")
        if not arrays.as_switch("elements", elements):
            return self.variants.bare.forward_dynamics_derivatives(q, v, tau, f_ext, base_acceleration, out)
        inputs = {"q": q, "qd": v, "tau": tau, **self._outside(f_ext, base_acceleration)}
        if self._closed:
            inputs["tau"] = self._with_own(q, v, tau)
            found = derivatives.of_closed_dynamics(self._responder, inputs, out)
        else:
            vdot = self.forward_dynamics(q, v, tau, f_ext=f_ext, base_acceleration=base_acceleration)
            inputs.pop("tau")
            found = derivatives.of_forward_dynamics(self.mechanics.evaluator, {**inputs, "qdd": vdot}, out)
        return derivatives.with_own_forces(self._responder, q, v, found) if self._acts else found

    @by_one_blas_thread
    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, f_ext: Mapping[str, ArrayLike] | None = None,
        base_acceleration: ArrayLike | None = None, out: Sequence[np.ndarray] | None = None, elements: bool = True,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Return the joint forces tau = H vdot + bias of the tree by q, by v and by vdot (which is H), each of shape
        (..., nv, nv): entry (i, k) is the derivative of tau[i] by a step q (+) e_k, by v[k], by vdot[k]. Loops take
        no part. `out` and `elements` are those of `forward_dynamics_derivatives`."""
        if elements:
            load_friction.require_none(self, "inverse_dynamics_derivatives")
        if not arrays.as_switch("elements", elements):
            return self.variants.bare.inverse_dynamics_derivatives(q, v, vdot, f_ext, base_acceleration, out)
        if self._states is not None and self._acts:
            inputs: dict[str, Any] = {"f_ext": f_ext, "base_acceleration": base_acceleration, "out": out}
            return ask_each(self, "inverse_dynamics_derivatives", q, v, vdot, **inputs)
        inputs = {"q": q, "qd": v, "qdd": vdot, **self._outside(f_ext, base_acceleration)}
        found = derivatives.of_inverse_dynamics(self.mechanics.evaluator, inputs, out)
        return derivatives.less_own_forces(self._responder, q, v, found) if self._acts else found

    @by_state
    def regressor(
        self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, base_acceleration: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the inertial regressor Y, shape (..., nv, 10 b), of the b moving rigid bodies: inverse dynamics of the
        tree with `elements=False`, and without rotors, is Y @ inertial_parameters(). Flexible bodies, whose modes are
        not linear in ten numbers, add forces to it that do not depend on the rigid ones."""
        inputs = {"q": q, "qd": v, "qdd": vdot, "a_base": base_acceleration}
        Y = self._run(dynamics.inertial_regressor, None, **inputs)["Y"]
        return by_bodies(self._mechanism, self._plan, Y)

    @by_state
    @by_one_blas_thread
    def parameter_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        given: ArrayLike,
        names: Iterable[str],
        of: str = "forward_dynamics",
        elements: bool = True,
    ) -> dict[str, np.ndarray]:
        """Return the derivatives {name: (..., nv, entries)} of vdot, with `given` for tau, by parameters of the
        mechanism; with of="inverse_dynamics" those of the tree's joint forces, with `given` for vdot.

        Names are those of `equations`: "load.mass", "crank.com.x", "elbow.damping", "gravity". Loops are respected.
        `elements` is that of `forward_dynamics`; the numbers of what is left out change nothing.
        """
        if elements:
            load_friction.require_none(self, "parameter_derivatives")
        wanted = arrays.as_list("names", names, str, "names of parameters")
        if not arrays.as_switch("elements", elements):
            return of_bare(self, wanted, lambda s, kept: s.parameter_derivatives(q, v, given, kept, of))
        if is_one_of(of, ("forward_dynamics",)):
            found, batch = self._responder.respond(q, v, given, wanted)
            changes = found.by_parameter
        elif is_one_of(of, ("inverse_dynamics",)):
            changes, batch = self._responder.forces_by_parameters(q, v, given, wanted)
        else:
            raise StateError(f"of is {shown(of)}; choose forward_dynamics or inverse_dynamics.")
        for name, x in changes.items():
            if not np.isfinite(x).all():
                raise StateError(
                    f"The derivatives by {name!r} are beyond what numbers can hold; is what was given too large?"
                )
        return {name: x.reshape(*batch, *x.shape[1:]) for name, x in changes.items()}

    @one_by_one
    @by_one_blas_thread
    def linearise(
        self, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, elements: bool = True
    ) -> Linearisation:
        """Return the motion near one state q (nq,), v (nv,) (at rest if None) as x' = A x + B u in the independent
        components, loops respected. The mechanism's own forces act unless `elements` is False, and besides them what
        the actuators give when asked for tau (nv,): where a limit holds them, B is zero."""
        if elements:
            load_friction.require_none(self, "linearise")
        if not arrays.as_switch("elements", elements):
            return self.variants.bare.linearise(q, v, tau)
        q, v = self._one_state(q, v)
        return linearise(self._responder, q, v, tau)

    @one_by_one
    @by_one_blas_thread
    def equilibrium(
        self, guess: ArrayLike | None = None, tau: ArrayLike | None = None, seek: str = "any", elements: bool = True
    ) -> Equilibrium:  # fmt: skip
        """Return where the mechanism stays at rest under gravity, its own forces and constant joint forces tau (nv,),
        as far as its actuators can give them, loops closed; and whether it is stable.

        Dry friction has nothing to hold there; whether it holds some configuration `sticking` at rest tells.
        `guess` (nq,) is where to begin, the neutral configuration if None. `seek` is "any" for the equilibrium that
        Newton's method comes to, or "stable" to go downhill. A SimulationError tells when none is found. With
        `elements=False` the forces of the mechanism are left out.
        """
        if not arrays.as_switch("elements", elements):
            return self.variants.bare.equilibrium(guess, tau, seek)
        if guess is None:
            guess = self.assemble() if self.mechanics.constrained else self.neutral()
        q, _ = self._one_state(guess, None)
        effort = (
            np.zeros(self.nv)
            if tau is None
            else self.mechanics.evaluator.checked(dynamics.articulated_body, "tau", tau)
        )
        if effort.ndim != 1:
            raise StateError(f"tau has shape {effort.shape}; give constant forces of shape ({self.nv},).")
        return equilibrium(self._responder, q, effort, seek)

    @one_by_one
    @by_one_blas_thread
    def modes(self, q: ArrayLike, tau: ArrayLike | None = None, elements: bool = True) -> Modes:
        """Return the small vibrations about an equilibrium q (nq,): frequencies, damping ratios and shapes, loops
        respected. The mechanism's own forces act unless `elements` is False, and constant joint forces tau (nv,)."""
        if not arrays.as_switch("elements", elements):
            return self.variants.bare.modes(q, tau)
        q, v = self._one_state(q, None)
        return modes(self, q, linearise(self._responder, q, v, tau))

    # Equations.

    @one_by_one
    def equations(
        self, name: str, symbols: Iterable[str] = (), frame: str | None = None, method: str = "auto",
        at: ArrayLike | None = None, f_ext: Sequence[str] = (), base_acceleration: bool = False,
        elements: bool = True, independent: str | Iterable[str] | None = None,
    ) -> Equations:  # fmt: skip
        """Return the equations called `name` over the whole mechanism, unrolled from the code that runs: to call,
        read, count and export.

        `name` is one of forward_dynamics, inverse_dynamics, mass_matrix, bias_force, joint_coordinates,
        minimal_coordinates, closure, closure_jacobian, kinetic_energy, potential_energy, momentum, and of a `frame`
        pose, twist, jacobian, kinematics. `symbols` names parameters that stay symbols ("load.mass", "crank.com",
        "elbow.in_parent.p.x", "gravity"); all others are numbers. `method` is that of `forward_dynamics`; with loops,
        joint_multipliers and minimal keep the choice of constraints and coordinates at a closed configuration `at`
        (nq,); the joints `independent` have the minimal ones, if they are named. Wrenches on the bodies or frames
        `f_ext`, and an acceleration of the ground, become arguments. Springs, stops, wrenches and all other forces of
        the mechanism are in them; `elements=False` leaves them out.
        """
        load_friction.require_none(self, "equations")
        if not arrays.as_switch("elements", elements):
            return self.variants.bare.equations(
                name, symbols, frame, method, at, f_ext, base_acceleration, independent=independent
            )
        from catena.equations import Equations, derive

        self.mechanics.evaluator.check_current()
        if at is not None:
            at, _ = self._one_state(at, None)
        self.mechanics.settle(at)
        unrolled, derivation = derive(
            name, self._mechanism, self.mechanics.evaluator, symbols, frame, method, at, f_ext, base_acceleration,
            self.mechanics.placing(), independent,
        )  # fmt: skip
        return Equations(name, self._plan, unrolled, derivation.symbolic.parameters)

    @one_by_one
    def specialise(self, *names: str) -> System:
        """Return a system of the same plan whose calculations `names` (forward_dynamics unless given;
        inverse_dynamics, bias_force, mass_matrix) are compiled for this very mechanism: for millions of evaluations.

        Compiling goes on in the background, and the general code serves until it is done; what was compiled is kept on
        disk. `variants.specialiser.wait()` waits for it.
        """
        load_friction.require_none(self, "specialise")
        from catena.system.specialising import specialised

        self.mechanics.evaluator.check_current()
        return specialised(self, names or ("forward_dynamics",))

    # Springs, stops, wrenches and other forces of the mechanism.

    # Looking at it.

    def view(self, q: ArrayLike | None = None, **options: Any) -> View:
        """Show the mechanism at q (nq,), closed by default, in a browser or a notebook, where joints and bodies can be
        moved while the loops follow. Returns the view; `show` opens it at once, `host` and `port` say where it is."""
        return hook("view")(self, q, **options)

    # The edge.

    def _run(self, algorithm: Algorithm, frame: str | None = None, **inputs: Any) -> dict[str, np.ndarray]:
        return self.mechanics.evaluator.evaluate(algorithm, inputs, frame)

    def _shortest_forward(self) -> Callable[..., np.ndarray | None]:
        """Return the shortest way to the accelerations of one ordinary state."""
        shortest = self._shortest_without_own()
        if self._acts and not self.mechanics.elements.is_empty:
            shortest = with_own_load(shortest, self.mechanics.elements.shortest, self.nv)
        return self._looking_first(shortest) if self._closed else shortest

    def _shortest_inverse(self) -> Callable[..., np.ndarray | None]:
        """Return the shortest way to the joint forces of one ordinary state."""
        taken = self._shortest(dynamics.newton_euler, "inverse dynamics")
        if self._acts and not self.mechanics.elements.is_empty:
            return less_own_load(taken, self.mechanics.elements.shortest)
        return taken

    def _with_own(self, q: Any, v: Any, tau: Any, near: Near | None = None) -> Any:
        """Return joint forces (..., nv) with those of the mechanism; as they are where nothing acts."""
        require_near(near)
        if not near or not self._acts or self.mechanics.elements.is_empty:
            return self.mechanics.with_own(q, v, tau)
        return self.mechanics.added(self._own_at_joints(q, v, near), tau)

    def _without_own(self, q: Any, v: Any, taken: np.ndarray, near: Near | None = None) -> np.ndarray:
        """Return what is left of joint forces (..., nv) that a motion takes, besides those of the mechanism."""
        if not self._acts or self.mechanics.elements.is_empty:
            return taken
        return taken - self._own_at_joints(q, v, near)

    def _own_at_joints(self, q: Any, v: Any, near: Near | None = None) -> np.ndarray:
        """Return the forces (..., nv) of the tree's joints that do what all forces of the mechanism do, where loop
        joints are next to positions `near`."""
        if near is None:
            return self.mechanics.elements.at_joints(q, v)
        batch, flat, q, v = self._flattened(q, v)
        return flat.mechanics.elements.at_joints(q, v, near=self._near_rows(near, batch)).reshape(
            *batch, self.nv
        )

    def _shortest_without_own(self) -> Callable[..., np.ndarray | None]:
        if self._closed:
            return closed_chains.shortest(self.mechanics.evaluator, _NO_WRENCH)
        if self.mechanics.inertia.lacking is not None or has_many_modes(self._plan):
            return lambda *rows: None
        return self._shortest(dynamics.tree_dynamics(self._plan), "forward dynamics")

    def _looking_first(self, shortest: Callable[..., np.ndarray | None]) -> Callable[..., np.ndarray | None]:
        """Return the function `shortest` for one state that looks whether loops are closed when it is first called, and
        makes way for `shortest` itself."""

        def first(q: Any, v: Any, tau: Any) -> np.ndarray | None:
            found = shortest(q, v, tau)
            if found is not None:
                self.mechanics.forward = shortest
                self._open_loops.look(q)
            return found

        return first

    def _shortest(self, algorithm: Algorithm, what: str) -> Callable[..., np.ndarray | None]:
        """Return the function that computes one ordinary state the shortest way, and declines (None) everything
        else."""
        self._require_tree(what)
        return self.mechanics.evaluator.shortest(algorithm, _NO_WRENCH)

    def _outside(self, f_ext: Mapping[str, Any] | None, base_acceleration: Any) -> dict[str, Any]:
        forces = None
        if f_ext is not None:
            place = None if self._constants is None else self._constants.place
            forces = wrenches.on_nodes(self._plan, f_ext, self._frame, place)
        return {"f_ext": forces, "a_base": base_acceleration}

    def _near_rows(
        self, near: Mapping[str, ArrayLike] | None, batch: tuple[int, ...]
    ) -> dict[str, np.ndarray] | None:
        """Return positions (states, nq of the joint) that loop joints are near, checked; None for nothing."""
        require_near(near)
        if not near:
            return None
        found = {}
        for joint, x in near.items():
            loop = known("loop joint", joint, self.loops, repr(self.mechanism.name))
            size = self.mechanism.joints[loop].kind.nq
            rows = arrays.as_rows(f"near[{joint!r}]", x, size, lambda: "a position of the joint")
            found[joint] = arrays.rows(rows, batch)
        return found

    def _flattened(self, q: Any, v: Any) -> tuple[tuple[int, ...], System, np.ndarray, np.ndarray]:
        """Return the batch shape, this system over all of its states, and checked rows q (states, nq) and v (states,
        nv)."""
        batch, rows_q, rows_v = self.mechanics.states(q, v)
        if self._states is None:
            return batch, self, rows_q, rows_v
        whole = np.broadcast_shapes(batch, self._states.batch)
        rows = [arrays.rows(x.reshape(*batch, x.shape[-1]), whole) for x in (rows_q, rows_v)]
        flat = self if self._states.batch == (len(rows[0]),) else self.variants.over(whole)
        return whole, flat, rows[0], rows[1]

    def _one_state(self, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return one state, checked: q (nq,), and v (nv,), zero if None."""
        velocity = np.zeros(self.nv) if v is None else v
        batch, _, _ = self.mechanics.states(q, velocity)
        if batch:
            raise StateError(
                f"One state is asked for, but q and v have batch dimensions {batch}: give shapes ({self.nq},) and "
                f"({self.nv},)."
            )
        return np.asarray(q, dtype=float), np.asarray(velocity, dtype=float)

    def _node(self, joint: str) -> int:
        if is_one_of(joint, self._nodes):
            return self._nodes[joint]
        if is_one_of(joint, self.loops):
            raise UnknownNameError(
                f"Joint {joint!r} closes a loop in this plan and has no coordinates of its own in q: ask "
                f"joint_position and joint_velocity, give forces by name, or keep it in the tree, "
                f"m.system(keep=[{joint!r}])."
            )
        return self._nodes[known("joint", joint, self._nodes, repr(self._mechanism.name))]

    def _frame(self, name: str) -> str:
        return known("body or frame", name, self._plan.body_pose, repr(self._mechanism.name))

    def _require_tree(self, what: str) -> None:
        self.mechanics.evaluator.check_current()
        # Inverse dynamics asks for forces, which massless bodies have too.
        if what != "inverse dynamics":
            self.mechanics.inertia.require()

    @cached_property
    def _passing(self) -> Reactions:
        """Return how forces pass through the joints of this plan."""
        described = self._counted.described
        if described.by_state is not None:
            return Reactions(described.by_state.parts(), described.numbers)
        return Reactions(self._plan.parts or self._mechanism, self._plan)


def _homogeneous(X: np.ndarray) -> np.ndarray:
    """Return poses (..., 4, 4) from the entries of transforms (..., 12)."""
    pose = np.zeros((*X.shape[:-1], 4, 4))
    pose[..., :3, :3] = np.swapaxes(X[..., :9].reshape(*X.shape[:-1], 3, 3), -1, -2)
    pose[..., :3, 3] = X[..., 9:]
    pose[..., 3, 3] = 1.0
    return pose


def _of_states(
    base: System, variation: Variation, origin: System, laid_out: CountedConstraints | None = None
) -> System:
    """Return a system with numbers of its mechanism for each state of a variation. Its names and coordinates are those
    of `base`; `laid_out` are evaluators of other states, whose programs serve these as well."""
    states = States(base, variation, origin)

    def varied(evaluator: Evaluator) -> Evaluator:
        constants = states.constants(evaluator)
        if evaluator.by_state is not None:
            return evaluator.with_constants(constants)
        return Evaluator(evaluator.mechanism, evaluator.plan, constants)

    counted = (laid_out or base._counted).with_evaluators(varied)
    system = System._planned(base.mechanism, base.plan, base.mechanics.accuracy, counted, states)
    system._open_loops.calls = 0
    return system


def _restored(
    mechanism: Mechanism,
    root: str | None,
    cut: tuple[str, ...],
    accuracy: float,
    made: Plan | None,
    keep: tuple[str, ...] = (),
) -> System:
    """Return a system made from a pickle, or a copy of one."""
    if made is None:
        made = plan(mechanism, root=root, cut=cut, keep=keep)
    return System._planned(mechanism, made, accuracy)


for _name in RENAMED:
    setattr(System, _name, RenamedMember(_name))
