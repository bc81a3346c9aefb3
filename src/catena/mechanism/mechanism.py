"""A mechanism as a graph: bodies are nodes, joints are edges, and `ground` is a body like the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from catena.bodies.contract import FlexibleBody
from catena.errors import ModelError
from catena.forces import ForceKind, Servo
from catena.forces.load_friction import LoadFriction
from catena.hooks import hook
from catena.joints import JointKind
from catena.mechanism import bases, changes, edits, locking, naming, validation
from catena.mechanism.couplings import (
    CamCoupling,
    Coupling,
    LinearCoupling,
    PolynomialCoupling,
    make_cam,
    make_linear,
    make_polynomial,
)
from catena.mechanism.elements import (
    Actuator,
    ForceElement,
    InitialState,
    JointSpringElement,
    KindElement,
    PointSpringElement,
    Spring,
    WrenchElement,
)
from catena.mechanism.merging import include
from catena.mechanism.mounted_sensors import MountedSensor, make_sensor
from catena.mechanism.new_forces import (
    make_bushing,
    make_force,
    make_spring,
    make_spring_between,
    make_wrench,
)
from catena.mechanism.new_parts import (
    inertia_of_euler_tensor,
    initial_values,
    make_actuator,
    make_body,
    make_frame,
    make_joint,
    signal_values,
)
from catena.mechanism.parts import GROUND, Body, Frame, Joint, Origin
from catena.mechanism.placed_mechanism import PlacedMechanism
from catena.mechanism.profiles import Profile, as_profile
from catena.mechanism.shapes import Shape, as_shapes
from catena.spatial import Pose, is_one_pose
from catena.spatial.scalars import Scalar
from catena.validation import shown

if TYPE_CHECKING:
    from catena.mechanism.linkage import Drawing
    from catena.system import System
    from catena.view.live.view import View

HOME = "home"
"""The state that motions begin in where there is one of that name."""
NOWHERE = InitialState()
_IDENTITY = Pose()
_NONE: Mapping[str, Any] = MappingProxyType({})


class Mechanism:
    """A builder for the description of a mechanism.

    Nobody says which joint closes a loop: joints are added in any order and between any two bodies, and planning finds
    the tree. Names of bodies and frames share one namespace, because every body name is also the name of a frame;
    joints and actuators each have their own, and so have forces: springs, wrenches and all others together. Every edit
    increases `revision`, by which a system notices that it was planned from an older description. `origin` is the text
    of the model file that it was read from, and `drawing` the linkage that it was made from, as it was then; None if
    there is none.
    """

    def __init__(self, name: str = "mechanism", gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self.name = validation.name_of("mechanism", name)
        self._gravity = validation.vector(f"mechanism {name!r}", "gravity", gravity)
        ground = Body(GROUND, 0.0, _read_only(np.zeros(3)), _read_only(np.zeros((3, 3))))
        self._bodies: dict[str, Body] = {GROUND: ground}
        self._joints: dict[str, Joint] = {}
        self._frames: dict[str, Frame] = {}
        self._actuators: dict[str, Actuator] = {}
        self._springs: dict[str, Spring] = {}
        self._wrenches: dict[str, WrenchElement] = {}
        self._forces: dict[str, KindElement] = {}
        self._couplings: dict[str, Coupling] = {}
        self._sensors: dict[str, MountedSensor] = {}
        self._initial: InitialState | None = None
        self._states: dict[str, InitialState] = {}
        self._revision = 0
        self.origin: Origin | None = None
        self.drawing: Drawing | None = None

    def __copy__(self) -> Mechanism:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Mechanism:
        return self.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what a pickle holds; arrays, which come back writable, are parts of parts that do not change."""
        self.__dict__.update(state)
        self.__dict__.setdefault("_couplings", {})
        self.__dict__.setdefault("_sensors", {})
        self.__dict__.setdefault("origin", None)
        self.__dict__.setdefault("drawing", None)
        self.__dict__.setdefault("_states", {})
        self._gravity.setflags(write=False)
        for parts in (self._bodies, self._joints, self._actuators, self._springs, self._wrenches):
            for part in parts.values():
                for value in vars(part).values():
                    if isinstance(value, np.ndarray):
                        value.setflags(write=False)

    def __repr__(self) -> str:
        return f"Mechanism({self.name!r}, {len(self._bodies) - 1} bodies, {len(self._joints)} joints)"

    @property
    def revision(self) -> int:
        """A number that grows with every edit."""
        return self._revision

    @property
    def gravity(self) -> NDArray[np.float64]:
        """The acceleration of gravity (3,) in ground axes [m/s^2]; assigning it counts as an edit."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        self._gravity = validation.vector(f"mechanism {self.name!r}", "gravity", value)
        self._revision += 1

    @property
    def parameters(self) -> Mapping[str, float]:
        """The named numbers of the model file that the mechanism was read from, by name; empty if there are none. What
        was edited since may have other values. Read-only."""
        return MappingProxyType(dict(self.origin.parameters) if self.origin is not None else {})

    @property
    def bodies(self) -> Mapping[str, Body]:
        """The bodies by name in the order they were added, `ground` first; read-only."""
        return MappingProxyType(self._bodies)

    @property
    def joints(self) -> Mapping[str, Joint]:
        """The joints by name in the order they were added, which is the order of coordinates; read-only."""
        return MappingProxyType(self._joints)

    @property
    def frames(self) -> Mapping[str, Frame]:
        """The added frames by name (every body name is a frame besides these); read-only."""
        return MappingProxyType(self._frames)

    @property
    def actuators(self) -> Mapping[str, Actuator]:
        """The actuators by name in the order they were added; read-only."""
        return MappingProxyType(self._actuators)

    @property
    def springs(self) -> Mapping[str, Spring]:
        """The springs at joints and between frames by name in the order they were added; read-only."""
        return MappingProxyType(self._springs)

    @property
    def wrenches(self) -> Mapping[str, WrenchElement]:
        """The constant wrenches by name in the order they were added; read-only."""
        return MappingProxyType(self._wrenches)

    @property
    def forces(self) -> Mapping[str, KindElement]:
        """The forces that `add_force` and `add_bushing` added, by name in their order; read-only."""
        return MappingProxyType(self._forces)

    @property
    def servos(self) -> Mapping[str, Servo]:
        """The kinds of those `forces` that are servos, by name; read-only."""
        servos = {name: force.kind.as_servo for name, force in self._forces.items()}
        return MappingProxyType({name: servo for name, servo in servos.items() if servo is not None})

    @property
    def couplings(self) -> Mapping[str, Coupling]:
        """The couplings between joints by name in the order they were added; read-only."""
        return MappingProxyType(self._couplings)

    @property
    def sensors(self) -> Mapping[str, MountedSensor]:
        """The sensors by name in the order they were added; read-only. `ct.sensors_of` makes instruments of them."""
        return MappingProxyType(self._sensors)

    @property
    def force_elements(self) -> Mapping[str, ForceElement]:
        """All forces by name: springs, wrenches, then the others; read-only."""
        return MappingProxyType({**self._springs, **self._wrenches, **self._forces})

    @property
    def initial(self) -> InitialState:
        """Where a motion starts: what `set_initial` says, else the state "home", else the first of the `states`."""
        if self._initial is not None:
            return self._initial
        return self._states.get(HOME) or next(iter(self._states.values()), NOWHERE)

    @property
    def states(self) -> Mapping[str, InitialState]:
        """States with a name, in the order they were added, such as the keyframes of an MJCF file; read-only."""
        return MappingProxyType(self._states)

    def add_body(
        self,
        name: str,
        mass: float | None = None,
        com: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        *,
        density: float | None = None,
        visuals: Shape | Iterable[Shape] = (),
        collisions: Shape | Iterable[Shape] = (),
        physical: bool = True,
        flexible: FlexibleBody | None = None,
        euler_tensor: ArrayLike | None = None,
    ) -> Body:
        """Add and return a body with its mass [kg], mass centre (3,) [m] in the body frame and inertia [kg m^2] about
        that centre.

        The inertia is in body axes: three moments, a symmetric 3x3 matrix, or one number for all three axes. What is
        left out is zero. Instead of the three a `density` [kg/m^3] may be given: it fills the visual shapes, or the
        collision shapes of a body without visual ones. `visuals` and `collisions` are shapes of `catena.shapes`.

        In place of the inertia the `euler_tensor` (3, 3) about that centre may be given, the integral of r r^T.

        An inertia that no distribution of mass can have is refused, unless `physical` is False: model files often have
        such inertias, and where they sum up with others they may do no harm.

        A `flexible` body is described by a beam or another kind of `catena.bodies`, which has its mass and inertia
        too. Joints and frames attach to its points: their poses in the body are those in the undeformed body. Its
        modes are coordinates called "<name>.modes"; the body frame is the floating frame that its deformation is seen
        from.
        """
        naming.require_new_frame(self, "body", name)
        if euler_tensor is not None:
            inertia = inertia_of_euler_tensor(name, inertia, euler_tensor)
        body = make_body(name, mass, com, inertia, density, visuals, collisions, physical, flexible)
        self._bodies[name] = body
        self._revision += 1
        return body

    def replace_body(self, body: Body) -> None:
        """Put a body in the place of the one that has its name, as it is: nothing is checked but the name."""
        if not isinstance(body, Body):
            raise ModelError(
                f"replace_body: {shown(body)} is no body: give one, such as that of m.bodies, changed"
            )
        self._bodies[validation.known("body", body.name, self._bodies)] = body
        self._revision += 1

    def add_visual(self, body: str, *shapes: Shape) -> Body:
        """Add shapes that a body, or ground, is drawn with, and return the body as it is then."""
        return self._with_shapes(body, as_shapes(f"body {shown(body)}", "visuals", shapes), ())

    def add_collision(self, body: str, *shapes: Shape) -> Body:
        """Add shapes that a body, or ground, may touch others with, and return the body as it is then."""
        return self._with_shapes(body, (), as_shapes(f"body {shown(body)}", "collisions", shapes))

    def add_joint(
        self,
        name: str,
        parent: str,
        child: str,
        kind: JointKind,
        in_parent: Pose = _IDENTITY,
        in_child: Pose = _IDENTITY,
        damping: ArrayLike = 0.0,
        friction: ArrayLike = 0.0,
        limits: ArrayLike | None = None,
        actuated: bool | Iterable[bool] = True,
        limit_stiffness: ArrayLike | None = None,
        limit_damping: ArrayLike = 0.0,
        armature: ArrayLike | None = None,
        velocity_limit: ArrayLike | None = None,
        static_friction: ArrayLike | None = None,
        stribeck_velocity: ArrayLike | None = None,
        load_friction: LoadFriction | Iterable[LoadFriction | None] | None = None,
    ) -> Joint:
        """Add and return a joint between two bodies; pose(child) = pose(parent) * in_parent * motion(q) *
        inverse(in_child). `parent` and `child` may be frames, from which the poses then count.

        `damping` and `friction` are one number or one for each velocity coordinate; `limits` is (low, high)
        for each coordinate. The stops at the limits are rigid unless `limit_stiffness`, with `limit_damping`,
        makes them elastic; each is one number or one for each coordinate. `actuated` is whether something can drive
        the joint, or that for each velocity coordinate: (False, True). `armature` is the inertia of rotors as
        the joint feels it; `velocity_limit` is kept for files and plans of motions, and dynamics does not know it.
        Friction that sticks holds with up to `static_friction` in runs, `friction` if None, and what is more than
        `friction` falls with the slip v as 1 / (1 + (v / stribeck_velocity)^2), or at once. `load_friction` is friction
        in proportion to the load besides, `BearingFriction` or `SlideFriction`, or that or None for each coordinate.
        """
        naming.require_new_joint(self, name)
        joint = make_joint(
            self, name, parent, child, kind, in_parent, in_child, damping, friction, limits, actuated,
            limit_stiffness, limit_damping, armature, velocity_limit, static_friction, stribeck_velocity,
            load_friction,
        )  # fmt: skip
        self._joints[name] = joint
        self._revision += 1
        return joint

    def add_frame(self, name: str, body: str, pose: Pose = _IDENTITY) -> Frame:
        """Add and return a named frame that moves with a body, placed by its pose in the body frame."""
        naming.require_new_frame(self, "frame", name)
        frame = make_frame(self, name, body, pose)
        self._frames[name] = frame
        self._revision += 1
        return frame

    def add_actuator(
        self,
        name: str,
        joint: str,
        components: int | Iterable[int] | None = None,
        gear: ArrayLike = 1.0,
        limits: ArrayLike | None = None,
        no_load_speed: ArrayLike | None = None,
    ) -> Actuator:
        """Add and return a motor that drives a joint: all of its actuated velocity components, or those given by number
        from 0. Of a joint with motors only the components that these drive are powered.

        `gear` is how often the motor turns for one turn of the joint, so its effort acts multiplied by that.
        `limits` bound the motor's effort: one number for both directions, (low, high), or a pair for each
        component. An actuated joint without an actuator is driven without limits. The limits shrink with the motor's
        speed in their direction and vanish at `no_load_speed` [rad/s or m/s of the motor].
        """
        naming.require_new("actuator", name, self._actuators)
        actuator = make_actuator(self, name, joint, components, gear, limits, no_load_speed)
        self._actuators[name] = actuator
        self._revision += 1
        return actuator

    def add_sensor(
        self, name: str, kind: str, at: str, frame: str = "", component: int | None = None
    ) -> MountedSensor:
        """Add and return a sensor: an "imu" in a frame, an "encoder" at a joint or at one `component` of it, a "force"
        sensor in a joint, which may tell its wrench in a `frame` of the joint's child, or a "gauge" of a force."""
        naming.require_new("sensor", name, self._sensors)
        self._sensors[name] = make_sensor(self, name, kind, at, frame, component)
        self._revision += 1
        return self._sensors[name]

    def add_spring(
        self,
        name: str,
        joint: str,
        stiffness: ArrayLike = 0.0,
        rest: ArrayLike | None = None,
        damping: ArrayLike = 0.0,
    ) -> JointSpringElement:
        """Add and return a spring with a damper at a joint, relaxed at the position `rest` (the neutral one by
        default).

        `stiffness` and `damping` are one number or one for each velocity coordinate. The damping of a spring
        adds to the joint's own.
        """
        naming.require_new_force(self, "spring", name)
        spring = make_spring(self, name, joint, stiffness, rest, damping)
        self._springs[name] = spring
        self._revision += 1
        return spring

    def add_spring_between(
        self,
        name: str,
        frame_a: str,
        frame_b: str,
        stiffness: float = 0.0,
        rest_length: float = 0.0,
        damping: float = 0.0,
    ) -> PointSpringElement:
        """Add and return a spring with a damper along the line between the origins of two frames (or bodies).

        It is relaxed when they are `rest_length` [m] apart.
        """
        naming.require_new_force(self, "spring", name)
        spring = make_spring_between(self, name, frame_a, frame_b, stiffness, rest_length, damping)
        self._springs[name] = spring
        self._revision += 1
        return spring

    def add_wrench(
        self,
        name: str,
        frame: str,
        moment: ArrayLike = (0.0, 0.0, 0.0),
        force: ArrayLike = (0.0, 0.0, 0.0),
        axes: str = GROUND,
    ) -> WrenchElement:
        """Add and return a wrench: a constant moment (3,) [N m] and force (3,) [N] on the body of a frame, at the
        frame's origin.

        Their coordinates are those of the frame `axes`: ground's by default, so that the direction stays;
        name the frame itself for a wrench that turns with it.
        """
        naming.require_new_force(self, "wrench", name)
        wrench = make_wrench(self, name, frame, moment, force, axes)
        self._wrenches[name] = wrench
        self._revision += 1
        return wrench

    def add_force(
        self, name: str, kind: ForceKind, joint: str | None = None, between: Iterable[str] | None = None
    ) -> KindElement:
        """Add and return a force of any kind, of `catena.forces` or of one's own: at a joint, or between two frames (or
        bodies) a and b.

        A force between frames acts on b, and its opposite on a unless the kind says that it comes from outside; then a
        only lends its axes, or the place that b is seen from.
        """
        naming.require_new_force(self, "force", name)
        force = make_force(self, name, kind, joint, between)
        self._forces[name] = force
        self._revision += 1
        return force

    def add_bushing(
        self, name: str, frame_a: str, frame_b: str, stiffness: ArrayLike = (), damping: ArrayLike = ()
    ) -> KindElement:
        """Add and return a bushing between two frames (or bodies) that coincide where it is relaxed.

        `stiffness` and `damping` are symmetric matrices (6, 6) over [rad, m], or their diagonals (6,).
        """
        return self.add_force(name, make_bushing(name, stiffness, damping), between=(frame_a, frame_b))

    def add_coupling(
        self, name: str, coefficients: Mapping[str, float], offset: float = 0.0
    ) -> LinearCoupling:
        """Add and return an exact equation among positions of joints with one degree of freedom: sum(coefficient *
        position) = offset.

        `coefficients` maps joints to numbers: {"motor": 1, "arm": -50} is a gear that turns the motor 50 times for one
        turn of the arm, {"rack": 1, "pinion": -0.02} a pinion of 20 mm, {"left": 1, "right": 1, "shaft": -2} a
        differential. Joints may be in the tree or close loops.
        """
        naming.require_new("coupling", name, self._couplings)
        coupling = make_linear(name, coefficients, offset)
        self._couple(coupling)
        return coupling

    def add_polynomial_coupling(
        self, name: str, joint: str, of: str, polynomial: Iterable[float]
    ) -> PolynomialCoupling:
        """Add and return an exact equation between two joints with one degree of freedom each: position(joint) = c0 +
        c1 x + c2 x^2 + ... where x = position(of)."""
        naming.require_new("coupling", name, self._couplings)
        for one in (joint, of):
            naming.moving_joint(self, f"coupling {name!r}", one)
        coupling = make_polynomial(name, joint, of, polynomial)
        self._couple(coupling)
        return coupling

    def add_cam(
        self,
        name: str,
        joint: str,
        of: str,
        profile: Profile | str | Callable[[Scalar], Scalar] | Sequence[ArrayLike],
    ) -> CamCoupling:
        """Add and return a cam: position(joint) = profile(position(of)), exactly, for two joints with one degree of
        freedom each.

        `profile` is a `catena.profiles.Spline`, a pair (x, y) of points for one, a `Polynomial`, a formula of x as
        text such as "0.02 * (1 - cos(x))", or a function of one symbol. It must have a value wherever the joint `of`
        goes.
        """
        naming.require_new("coupling", name, self._couplings)
        who = f"coupling {name!r}"
        naming.moving_joint(self, who, joint)
        driving = naming.moving_joint(self, who, of)
        try:
            shape = as_profile(who, profile)
            S = driving.kind.motion_space(driving.kind.neutral()).array
            coupling = make_cam(name, joint, of, shape, driving.limits, bool(np.any(S[:3])))
        except ModelError as error:
            raise ModelError(str(error) if who in str(error) else f"{who}: {error}") from None
        self._couple(coupling)
        return coupling

    def add_mechanism(
        self, other: Mechanism, at: str = GROUND, prefix: str = "", pose: Pose = _IDENTITY
    ) -> None:
        """Add all parts of another mechanism, with `prefix` before their names, as `[[include]]` does in a file.

        What stands on the other's ground stands on the body or frame `at`, at the place `pose` of it. Gravity stays
        that of this mechanism, and the initial state of the other's joints is added to its own. Where something is
        refused, such as a name that is taken, nothing is added.
        """
        if not isinstance(other, Mechanism):
            raise ModelError(
                f"add_mechanism: {shown(other)} is no mechanism: give one, such as ct.load(path)"
            )
        if not isinstance(prefix, str):
            raise ModelError(f"add_mechanism: prefix is {shown(prefix)}: give a text, such as 'left/'")
        if not is_one_pose(pose):
            raise ModelError(f"add_mechanism: pose is {shown(pose)}: give a ct.Pose")
        body, place = naming.end_of_joint(self, f"included mechanism {other.name!r}", at)
        twin = self.copy()
        include(twin, other, prefix, body, place * pose)
        self.__dict__.update(twin.__dict__)

    def set_initial(
        self, q: Mapping[str, ArrayLike] | None = None, v: Mapping[str, ArrayLike] | None = None
    ) -> InitialState:
        """Set and return where a motion starts, by positions and velocities of some joints; replaces what was set
        before.

        `system.assemble` and `system.velocity` find the rest, so give what determines the state and no more.
        """
        initial = InitialState(initial_values(self, "q", q), initial_values(self, "v", v))
        self._initial = initial
        self._revision += 1
        return initial

    def add_state(
        self,
        name: str,
        q: Mapping[str, ArrayLike] | None = None,
        v: Mapping[str, ArrayLike] | None = None,
        signals: Mapping[str, float] | None = None,
    ) -> InitialState:
        """Add and return a state with a name: positions `q` and velocities `v` of some joints, and `signals` of servos.

        `system.start(name)` and `simulate(system, q=name)` begin there. Where positions of all joints are given and
        the loops do not close there exactly, it is the closed state nearest to them. The state "home", or else the
        first, is where motions begin unless `set_initial` says something else.
        """
        naming.require_new("state", name, self._states)
        values = initial_values(self, "q", q), initial_values(self, "v", v)
        state = InitialState(*values, signal_values(self, signals))
        self._states[name] = state
        self._revision += 1
        return state

    def copy(self, name: str | None = None) -> Mechanism:
        """Return a mechanism that can be edited without touching this one."""
        twin = Mechanism(self.name if name is None else name, self._gravity)
        twin._bodies = dict(self._bodies)
        twin._joints = dict(self._joints)
        twin._frames = dict(self._frames)
        twin._actuators = dict(self._actuators)
        twin._springs = dict(self._springs)
        twin._wrenches = dict(self._wrenches)
        twin._forces = dict(self._forces)
        twin._couplings = dict(self._couplings)
        twin._sensors = dict(self._sensors)
        twin._initial = self._initial
        twin._states = dict(self._states)
        twin._revision = self._revision
        twin.origin, twin.drawing = self.origin, self.drawing
        return twin

    def lock(self, name: edits.Names, at: edits.Position = None) -> Mechanism:
        """Return the mechanism with joints held at positions (their neutral ones by default): joints of 0 dof.

        `name` is a joint, a pattern such as "arm2/*" for all joints that look so and can move, or a list of these;
        "<body>.modes" locks the modes of a flexible body. `at` is a position, a mapping from joints to positions, or
        `s.configuration(q)` for where they are now. Planning merges the two bodies of a locked joint, and its
        coordinates disappear until it is unlocked; so does what the initial state says about it.
        """
        return locking.lock(self, name, at)

    def unlock(self, name: edits.Names) -> Mechanism:
        """Return the mechanism with locked joints, or the modes of a body, free to move again; `name` is that of
        `lock`."""
        return locking.unlock(self, name)

    def attach(
        self,
        name: str,
        parent: str,
        child: str,
        kind: JointKind,
        in_parent: Pose | None = None,
        in_child: Pose | None = None,
        *,
        at: PlacedMechanism | None = None,
        **options: Any,
    ) -> Mechanism:
        """Return the mechanism with one more joint; the arguments are those of `add_joint`, and `parent` and `child`
        may be frames, which then place the joint.

        With `at`, as in `s.configuration(q)`, a pose that is not given follows from where the bodies are now, so that
        the joint is in its neutral position (with neither, its frame is that of the parent). If both are given, they
        must fit; a LoopError tells by how much they do not, and offers the assembled state if there is one near.
        """
        return edits.attach(self, name, parent, child, kind, in_parent, in_child, at, options)

    def with_body(self, name: str, **numbers: Any) -> Mechanism:
        """Return the mechanism with other numbers of a body: mass, com, inertia, density, visuals, collisions; or with
        another `flexible` description.

        What is not named stays: a body of another mass keeps its inertia about the mass centre, and a flexible body
        its modes. A `density` gives mass, com and inertia anew from the shapes; `flexible=None` makes a body rigid.
        """
        return changes.with_body(self, name, numbers)

    def with_joint(self, name: str, **numbers: Any) -> Mechanism:
        """Return the mechanism with other numbers of a joint, such as damping, friction, limits, in_parent, in_child,
        or with another kind; all that `add_joint` takes but its bodies.

        What is not named stays. With a kind that has another number of coordinates the joint loses what was said for
        each of them: friction and limits, and, as with `detach`, its actuators, forces, couplings and initial values.
        """
        return changes.with_joint(self, name, numbers)

    def with_spring(self, name: str, **numbers: Any) -> Mechanism:
        """Return the mechanism with other numbers of a spring: stiffness, damping, and rest (at a joint) or
        rest_length (between frames). What is not named stays."""
        return changes.with_spring(self, name, numbers)

    def with_force(self, name: str, **numbers: Any) -> Mechanism:
        """Return the mechanism with other values of the fields of a force that `add_force` or `add_bushing` added."""
        return changes.with_force(self, name, numbers)

    def with_signals(self, signals: Mapping[str, float]) -> Mechanism:
        """Return the mechanism whose servos are told other signals, by name: m.with_signals(m.states["home"].signals).
        Those of servos that are not named stay."""
        return changes.with_signals(self, signals)

    def with_frame(self, name: str, pose: Pose) -> Mechanism:
        """Return the mechanism with a frame at another pose on its body."""
        return changes.with_frame(self, name, pose)

    def without_forces(self) -> Mechanism:
        """Return the mechanism without anything that acts of its own: springs, wrenches, other forces, and the
        damping, friction and limits of joints. Weight, actuators and the stiffness of flexible bodies stay."""
        return changes.without_forces(self)

    def with_parameters(self, values: Mapping[str, float | str] = _NONE, /, **more: float | str) -> Mechanism:
        """Return the mechanism of the same model file with other values of its parameters, numbers or text such as
        "400 mm"; those that are not named stay. It must not have been edited since it was loaded."""
        return hook("with_parameters")(self, {**values, **more})

    def with_parts(
        self, gravity: ArrayLike, bodies: Mapping[str, Body], joints: Mapping[str, Joint],
        frames: Mapping[str, Frame], kinds: Mapping[str, ForceKind],
    ) -> Mechanism:  # fmt: skip
        """Return the mechanism with parts of the same names in the places of its own, and with these kinds for some of
        its forces. Nothing is checked."""
        return changes.with_parts(self, gravity, bodies, joints, frames, kinds)

    def detach(self, name: edits.Names) -> Mechanism:
        """Return the mechanism without a joint, or without those of a pattern or list; bodies stay, and something else
        has to connect them.

        Actuators, forces and couplings at the joints go with them, and so does what the initial state says about them.
        """
        return edits.detach(self, name)

    def without_coupling(self, name: edits.Names) -> Mechanism:
        """Return the mechanism without a coupling, or without those of a pattern such as "*" or of a list; the joints
        that it tied move by themselves."""
        return edits.without_couplings(self, name)

    def without_force(self, name: edits.Names) -> Mechanism:
        """Return the mechanism without a spring, wrench or other force, or without those of a pattern or list, such as
        m.without_force([*m.servos])."""
        return edits.without_forces_named(self, name)

    def without_actuator(self, name: edits.Names) -> Mechanism:
        """Return the mechanism without an actuator, or without those of a pattern or list. A joint that is to be
        driven by nothing is then made so, m.with_joint(name, actuated=False)."""
        return edits.without_actuators(self, name)

    def reduce_to(self, name: edits.Names, at: edits.Position = None) -> Mechanism:
        """Return the mechanism in which only the named joints move and all others are locked, modes of flexible bodies
        too; `name` and `at` are those of `lock`. A floating base moves only if its joint is named."""
        return locking.reduce_to(self, name, at)

    def reroot(self, body: str, base: str | None = None) -> Mechanism:
        """Return the mechanism whose moving `Free` joint to ground leads to another body, under the same name: the
        motion is the same, and its coordinates are those of the body. Of several bases it is the one that the body
        floats by; a `Planar` one will do where joints in between stay in its plane. To pin a root for one plan use
        `system(root=)`."""
        return bases.reroot(self, body, base)

    def changed(
        self,
        *,
        detach: edits.Names = (),
        unlock: edits.Names = (),
        lock: edits.Names | Mapping[str, ArrayLike] = (),
        attach: Mapping[str, Sequence[object]] = _NONE,
        at: PlacedMechanism | None = None,
    ) -> Mechanism:
        """Return the mechanism after several edits at once, in the order of the arguments.

        `lock` may map names or patterns to positions; `attach` maps new joints to (parent, child, kind) or (parent,
        child, kind, options of `attach`). `at` is where the bodies are now, for positions and poses that are not
        given. A PlanError tells when a body is left that nothing connects to ground.
        """
        return edits.changed(self, detach, unlock, lock, attach, at)

    def fix_base(self, at: edits.Position = None, base: edits.Names | None = None) -> Mechanism:
        """Return the mechanism with the one moving `Free` joint to ground locked, at position and quaternion (7,), or
        where it is now, as in at=s.configuration(q). Without a `Free` joint it is the one `Planar` joint; of several,
        `base` names those that are meant."""
        return bases.fix_base(self, at, base)

    def free_base(self, base: edits.Names | None = None) -> Mechanism:
        """Return the mechanism with its base floating: the one locked `Free` joint to ground unlocked, or the `Planar`
        one, or, where there is none, the one `Fixed` joint to ground replaced by a `Free` joint of the same name and
        frames; of several, `base` names those that are meant."""
        return bases.free_base(self, base)

    def system(
        self,
        root: str | None = None,
        cut: Iterable[str] = (),
        accuracy: float | None = None,
        keep: Iterable[str] = (),
    ) -> System:
        """Plan the mechanism and return a `System`; compiles nothing.

        `root` pins the body the tree grows from, `cut` names joints that must stay out of the tree
        and `keep` those that must carry coordinates. `accuracy` is the
        error [rad, or part of the mechanism's size] that dimensions may have: constraints that are redundant but for
        less count as redundant (2.5e-7 unless given).
        """
        options = {} if accuracy is None else {"accuracy": accuracy}
        return hook("system")(self, root=root, cut=cut, keep=keep, **options)

    def view(self, q: ArrayLike | None = None, **options: Any) -> View:
        """Show the mechanism in a browser or a notebook, where joints and bodies can be moved, and return the view."""
        return hook("view")(self, q, **options)

    def save(self, path: str | os.PathLike[str], *, loops: str = "beside") -> None:
        """Write the mechanism to a file, in the format that the ending of its name says: .toml, .urdf or .xml (MJCF).

        From a .toml file `catena.load` reads it back to the last digit; the other formats cannot say everything. A
        file that exists is replaced, or left alone if anything goes wrong. URDF has loops in a file beside it, or,
        with `loops="elements"`, "constraints", "drake" or "frames", in the file where one of these ways of saying
        loops can say them, or with "companion" in the .yaml file of Extended URDF.
        """
        hook("save")(self, path, loops=loops)

    def _forget(self, joints: Iterable[str], forces: Iterable[str] = ()) -> None:
        """Let the initial state and all others say nothing about some joints and forces."""
        gone, still = frozenset(joints), frozenset(forces)
        self._states = {name: state.without(gone, still) for name, state in self._states.items()}
        if self._initial is not None:
            self._initial = self._initial.without(gone, still)

    def _couple(self, coupling: Coupling) -> None:
        """Add and return a coupling whose joints exist and have one degree of freedom each."""
        for joint in coupling.joints:
            kind = naming.moving_joint(self, f"coupling {coupling.name!r}", joint).kind
            if kind.nv != 1:
                raise ModelError(
                    f"coupling {coupling.name!r}: joint {joint!r} has {kind.nv} degrees of freedom: "
                    "couple joints that have one"
                )
        self._couplings[coupling.name] = coupling
        self._revision += 1

    def _with_shapes(self, name: str, visuals: tuple[Shape, ...], collisions: tuple[Shape, ...]) -> Body:
        """Put a body with more shapes in the place of the one of its name. Dynamics knows no shapes, so this is no
        edit that makes systems stale."""
        body = self._bodies[validation.known("body", name, self._bodies)]
        body = replace(body, visuals=body.visuals + visuals, collisions=body.collisions + collisions)
        self._bodies[name] = body
        return body


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.setflags(write=False)
    return array
