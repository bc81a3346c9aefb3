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
from catena.forces import Bushing, ForceKind, FrameForce, JointForce
from catena.given import entries, is_not_negative, shown
from catena.hooks import hook
from catena.joints import Fixed, Free, JointKind
from catena.mechanism import edits, validation
from catena.mechanism.changes import changed_body, changed_joint, changed_kind, changed_spring
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
    GeneralForce,
    InitialState,
    JointSpring,
    PointSpring,
    Spring,
    Wrench,
)
from catena.mechanism.flexible_bodies import MODES, flexible_body
from catena.mechanism.parts import GROUND, Body, Frame, Joint
from catena.mechanism.profiles import Profile, as_profile
from catena.mechanism.shapes import Shape, as_shapes, filled
from catena.mechanism.whereabouts import Whereabouts
from catena.spatial import Pose

if TYPE_CHECKING:
    from catena.system import System
    from catena.view.live.view import View

VIRTUAL_ROOT = "root:"
LIMITS = ".limits"
_IDENTITY = Pose()
_NONE: Mapping[str, Any] = MappingProxyType({})


class Mechanism:
    """A builder for the description of a mechanism.

    Nobody says which joint closes a loop: joints are added in any order and between any two bodies, and
    planning finds the tree. Names of bodies and frames share one namespace, because every body name is also
    the name of a frame; joints and actuators each have their own, and so have forces: springs, wrenches and all others
    together. Every edit increases `revision`, by which a system notices that it was planned from an older description.
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
        self._wrenches: dict[str, Wrench] = {}
        self._forces: dict[str, GeneralForce] = {}
        self._couplings: dict[str, Coupling] = {}
        self._initial = InitialState()
        self._revision = 0

    def __copy__(self) -> Mechanism:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Mechanism:
        return self.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what a pickle holds; arrays, which come back writable, are parts of parts that do not change."""
        self.__dict__.update(state)
        self.__dict__.setdefault("_couplings", {})
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
    def wrenches(self) -> Mapping[str, Wrench]:
        """The constant wrenches by name in the order they were added; read-only."""
        return MappingProxyType(self._wrenches)

    @property
    def forces(self) -> Mapping[str, GeneralForce]:
        """The forces that `add_force` and `add_bushing` added, by name in their order; read-only."""
        return MappingProxyType(self._forces)

    @property
    def couplings(self) -> Mapping[str, Coupling]:
        """The couplings between joints by name in the order they were added; read-only."""
        return MappingProxyType(self._couplings)

    @property
    def force_elements(self) -> Mapping[str, ForceElement]:
        """All forces by name: springs, wrenches, then the others; read-only."""
        return MappingProxyType({**self._springs, **self._wrenches, **self._forces})

    @property
    def initial(self) -> InitialState:
        """Where a motion starts; `set_initial` sets it."""
        return self._initial

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
    ) -> Body:
        """Add a body with its mass [kg], mass centre (3,) [m] in the body frame and inertia [kg m^2] about
        that centre.

        The inertia is in body axes: three moments, a symmetric 3x3 matrix, or one number for all three axes. What is
        left out is zero. Instead of the three a `density` [kg/m^3] may be given: it fills the visual shapes, or the
        collision shapes of a body without visual ones. `visuals` and `collisions` are shapes of `catena.shapes`.

        An inertia that no distribution of mass can have is refused, unless `physical` is False: model files often have
        such inertias, and where they sum up with others they may do no harm.

        A `flexible` body is described by a beam or another kind of `catena.bodies`, which has its mass and inertia too.
        Joints and frames attach to its points: their poses in the body are those in the undeformed body. Its modes are
        coordinates called "<name>.modes"; the body frame is the floating frame that its deformation is seen from.
        """
        self._check_new_frame_name("body", name)
        who = f"body {name!r}"
        seen = as_shapes(who, "visuals", visuals)
        touched = as_shapes(who, "collisions", collisions)
        if flexible is not None:
            if any(x is not None for x in (mass, com, inertia, density)):
                raise ModelError(f"{who}: a flexible body has its own mass and inertia: leave them out")
            body = flexible_body(who, name, flexible, seen, touched)
            self._bodies[name] = body
            self._revision += 1
            return body
        if density is not None:
            if mass is not None or com is not None or inertia is not None:
                raise ModelError(
                    f"{who}: it has a density, and mass, com or inertia besides: give the one or the other"
                )
            mass, com, inertia = self._filled(who, density, seen or touched)
        body_mass = validation.mass(who, 0.0 if mass is None else mass)
        centre = validation.vector(who, "com", (0.0, 0.0, 0.0) if com is None else com)
        is_physical = validation.switch(who, "physical", physical)
        moments = validation.inertia(who, 0.0 if inertia is None else inertia, body_mass, is_physical)
        body = Body(name, body_mass, centre, moments, seen, touched)
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
        """Add shapes that a body, or ground, is drawn with."""
        return self._with_shapes(body, as_shapes(f"body {shown(body)}", "visuals", shapes), ())

    def add_collision(self, body: str, *shapes: Shape) -> Body:
        """Add shapes that a body, or ground, may touch others with."""
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
        actuated: bool = True,
        limit_stiffness: ArrayLike | None = None,
        limit_damping: ArrayLike = 0.0,
        armature: ArrayLike | None = None,
        velocity_limit: ArrayLike | None = None,
    ) -> Joint:
        """Add a joint between two bodies; pose(child) = pose(parent) * in_parent * motion(q) *
        inverse(in_child).

        `damping` and `friction` are one number or one for each velocity coordinate; `limits` is (low, high)
        for each coordinate. The stops at the limits are rigid unless `limit_stiffness`, with `limit_damping`,
        makes them elastic; each is one number or one for each coordinate. `armature` (inertia of rotors as the joint
        feels it) and `velocity_limit` are kept, but dynamics does not know them yet.
        """
        validation.name_of("joint", name)
        who = f"joint {name!r}"
        if name in self._joints:
            raise ModelError(f"{who}: the name is taken by another joint: choose a different name")
        if name.startswith(VIRTUAL_ROOT):
            raise ModelError(
                f"{who}: names starting with {VIRTUAL_ROOT!r} are kept for pinned roots: choose another"
            )
        if name.endswith(MODES):
            raise ModelError(
                f"{who}: names ending with {MODES!r} are kept for flexible bodies: choose another"
            )
        validation.known("body", parent, self._bodies, who)
        validation.known("body", child, self._bodies, who)
        if parent == child:
            raise ModelError(
                f"{who}: parent and child are both {parent!r}: a joint connects two different bodies"
            )
        if not isinstance(kind, JointKind):
            called = f"{kind.__name__}(...)" if isinstance(kind, type) else "Revolute('z')"
            raise ModelError(
                f"{who}: kind is {shown(kind)}, which is not a joint kind: give an instance such as {called}"
            )
        for side, pose in (("in_parent", in_parent), ("in_child", in_child)):
            if not isinstance(pose, Pose):
                raise ModelError(
                    f"{who}: {side} is {shown(pose)}, which is not a pose: give Pose(p=(x, y, z), rpy=...)"
                )
        stops = validation.stops(who, limits, limit_stiffness, limit_damping, kind.nv)
        joint = Joint(
            name,
            parent,
            child,
            kind,
            in_parent,
            in_child,
            validation.coefficients(who, "damping", damping, kind.nv),
            validation.coefficients(who, "friction", friction, kind.nv),
            validation.limits(who, limits, kind.nv),
            validation.switch(who, "actuated", actuated),
            None,
            *stops,
            validation.armature(who, armature, kind.nv),
            validation.velocity_limit(who, velocity_limit, kind.nv),
        )
        self._joints[name] = joint
        self._revision += 1
        return joint

    def add_frame(self, name: str, body: str, pose: Pose = _IDENTITY) -> Frame:
        """Add a named frame that moves with a body, placed by its pose in the body frame."""
        self._check_new_frame_name("frame", name)
        who = f"frame {name!r}"
        validation.known("body", body, self._bodies, who)
        if not isinstance(pose, Pose):
            raise ModelError(
                f"{who}: pose is {shown(pose)}, which is not a pose: give Pose(p=(x, y, z), rpy=...)"
            )
        frame = Frame(name, body, pose)
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
        """Add a motor that drives a joint: all of its velocity components, or those given by number from 0.

        `gear` is how often the motor turns for one turn of the joint, so its effort acts multiplied by that.
        `limits` bound the motor's effort: one number for both directions, (low, high), or a pair for each
        component. An actuated joint without an actuator is driven without limits. The limits shrink with the motor's
        speed in their direction and vanish at `no_load_speed` [rad/s or m/s of the motor].
        """
        self._check_new_element_name("actuator", name, self._actuators)
        who = f"actuator {name!r}"
        driven = self._element_joint(who, joint)
        if not driven.actuated:
            raise ModelError(
                f"{who}: joint {joint!r} is not actuated: add the joint with actuated=True to drive it"
            )
        chosen = validation.components(who, joint, components, driven.kind.nv)
        for other in self._actuators.values():
            shared = sorted(set(chosen) & set(other.components)) if other.joint == joint else []
            if shared:
                raise ModelError(
                    f"{who}: actuator {other.name!r} drives component {shared[0]} of joint {joint!r} already: "
                    "give each component one actuator"
                )
        ratio = validation.gears(who, gear, len(chosen))
        efforts = validation.effort_limits(who, limits, len(chosen))
        fastest = validation.no_load_speed(who, no_load_speed, efforts)
        actuator = Actuator(name, joint, chosen, ratio, efforts, fastest)
        self._actuators[name] = actuator
        self._revision += 1
        return actuator

    def add_spring(
        self,
        name: str,
        joint: str,
        stiffness: ArrayLike = 0.0,
        rest: ArrayLike | None = None,
        damping: ArrayLike = 0.0,
    ) -> JointSpring:
        """Add a spring with a damper at a joint, relaxed at the position `rest` (the neutral one by default).

        `stiffness` and `damping` are one number or one for each velocity coordinate. The damping of a spring
        adds to the joint's own.
        """
        self._check_new_force_name("spring", name)
        who = f"spring {name!r}"
        kind = self._element_joint(who, joint).kind
        relaxed = validation.coordinates(who, "rest", kind.neutral() if rest is None else rest, kind.nq)
        kind.check(relaxed, joint)
        spring = JointSpring(
            name,
            joint,
            validation.coefficients(who, "stiffness", stiffness, kind.nv),
            relaxed,
            validation.coefficients(who, "damping", damping, kind.nv),
        )
        validation.acting(who, spring.stiffness, spring.damping)
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
    ) -> PointSpring:
        """Add a spring with a damper along the line between the origins of two frames (or bodies).

        It is relaxed when they are `rest_length` [m] apart.
        """
        self._check_new_force_name("spring", name)
        who = f"spring {name!r}"
        body_a, body_b = self._body_of(who, frame_a), self._body_of(who, frame_b)
        if body_a == body_b:
            raise ModelError(
                f"{who}: both ends move with body {body_a!r}, so its length never changes: "
                "give frames of two different bodies"
            )
        spring = PointSpring(
            name,
            frame_a,
            frame_b,
            validation.coefficient(who, "stiffness", stiffness),
            validation.coefficient(who, "rest_length", rest_length),
            validation.coefficient(who, "damping", damping),
        )
        validation.acting(who, spring.stiffness, spring.damping)
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
    ) -> Wrench:
        """Add a constant moment (3,) [N m] and force (3,) [N] on the body of a frame, at the frame's origin.

        Their coordinates are those of the frame `axes`: ground's by default, so that the direction stays;
        name the frame itself for a wrench that turns with it.
        """
        self._check_new_force_name("wrench", name)
        who = f"wrench {name!r}"
        if self._body_of(who, frame) == GROUND:
            raise ModelError(f"{who}: frame {frame!r} is part of ground, which no wrench moves: give another")
        self._body_of(who, axes)
        moment3 = validation.vector(who, "moment", moment)
        wrench = Wrench(name, frame, moment3, validation.vector(who, "force", force), axes)
        self._wrenches[name] = wrench
        self._revision += 1
        return wrench

    def add_force(
        self, name: str, kind: ForceKind, joint: str | None = None, between: Iterable[str] | None = None
    ) -> GeneralForce:
        """Add a force of any kind, of `catena.forces` or of one's own: at a joint, or between two frames (or bodies)
        a and b.

        A force between frames acts on b, and its opposite on a unless the kind says that it comes from outside; then a
        only lends its axes, or the place that b is seen from.
        """
        self._check_new_force_name("force", name)
        who = f"force {name!r}"
        if not isinstance(kind, FrameForce | JointForce):
            raise ModelError(
                f"{who}: kind is {shown(kind)}, which is no kind of force: give an instance such as "
                "catena.forces.PointSpring(100.0)"
            )
        if isinstance(kind, JointForce):
            if joint is None or between is not None:
                raise ModelError(
                    f"{who}: a {type(kind).__name__} acts at a joint: give joint='...' and nothing else"
                )
            kind.check(self._element_joint(who, joint).kind, who)
            force = GeneralForce(name, kind, joint)
        else:
            try:
                ends = () if between is None or isinstance(between, str) else entries(between)
            except ValueError:
                ends = ()
            if joint is not None or len(ends) != 2:
                raise ModelError(
                    f"{who}: a {type(kind).__name__} acts between two frames: give between=('...', '...') and "
                    "nothing else"
                )
            force = GeneralForce(name, kind, self._ends(who, kind, ends))
        self._forces[name] = force
        self._revision += 1
        return force

    def add_bushing(
        self, name: str, frame_a: str, frame_b: str, stiffness: ArrayLike = (), damping: ArrayLike = ()
    ) -> GeneralForce:
        """Add a bushing between two frames (or bodies) that coincide where it is relaxed.

        `stiffness` and `damping` are symmetric matrices (6, 6) over [rad, m], or their diagonals (6,).
        """
        who = f"force {name!r}"
        try:
            kind = Bushing(stiffness, damping)  # type: ignore[arg-type]
        except ModelError as error:
            raise ModelError(f"{who}: {error}") from None
        return self.add_force(name, kind, between=(frame_a, frame_b))

    def add_coupling(
        self, name: str, coefficients: Mapping[str, float], offset: float = 0.0
    ) -> LinearCoupling:
        """Add an exact equation among positions of joints with one degree of freedom: sum(coefficient * position) =
        offset.

        `coefficients` maps joints to numbers: {"motor": 1, "arm": -50} is a gear that turns the motor 50 times for one
        turn of the arm, {"rack": 1, "pinion": -0.02} a pinion of 20 mm, {"left": 1, "right": 1, "shaft": -2} a
        differential. Joints may be in the tree or close loops.
        """
        self._check_new_element_name("coupling", name, self._couplings)
        coupling = make_linear(name, coefficients, offset)
        self._couple(coupling)
        return coupling

    def add_polynomial_coupling(
        self, name: str, joint: str, of: str, polynomial: Iterable[float]
    ) -> PolynomialCoupling:
        """Add an exact equation between two joints with one degree of freedom each: position(joint) = c0 + c1 x +
        c2 x^2 + ... where x = position(of)."""
        self._check_new_element_name("coupling", name, self._couplings)
        for one in (joint, of):
            self._element_joint(f"coupling {name!r}", one)
        coupling = make_polynomial(name, joint, of, polynomial)
        self._couple(coupling)
        return coupling

    def add_cam(
        self, name: str, joint: str, of: str, profile: Profile | Callable[[Any], Any] | Sequence[ArrayLike]
    ) -> CamCoupling:
        """Add a cam: position(joint) = profile(position(of)), exactly, for two joints with one degree of freedom each.

        `profile` is a `catena.profiles.Spline`, a pair (x, y) of points for one, a `Polynomial`, or a function of one
        symbol. It must have a value wherever the joint `of` goes.
        """
        self._check_new_element_name("coupling", name, self._couplings)
        who = f"coupling {name!r}"
        self._element_joint(who, joint)
        driving = self._element_joint(who, of)
        try:
            shape = as_profile(who, profile)
            S = driving.kind.motion_space(driving.kind.neutral()).array
            coupling = make_cam(name, joint, of, shape, driving.limits, bool(np.any(S[:3])))
        except ModelError as error:
            raise ModelError(str(error) if who in str(error) else f"{who}: {error}") from None
        self._couple(coupling)
        return coupling

    def set_initial(
        self, q: Mapping[str, ArrayLike] | None = None, v: Mapping[str, ArrayLike] | None = None
    ) -> InitialState:
        """Set where a motion starts, by positions and velocities of some joints; replaces what was set before.

        `system.assemble` and `system.velocity` find the rest, so give what determines the state and no more.
        """
        initial = InitialState(self._initial_values("q", q), self._initial_values("v", v))
        self._initial = initial
        self._revision += 1
        return initial

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
        twin._initial = self._initial
        twin._revision = self._revision
        return twin

    def lock(self, name: edits.Names, at: edits.Position = None) -> Mechanism:
        """Return the mechanism with joints held at positions (their neutral ones by default): joints of 0 dof.

        `name` is a joint, a pattern such as "arm2/*" for all joints that look so and can move, or a list of these;
        "<body>.modes" locks the modes of a flexible body. `at` is a position, a mapping from joints to positions, or
        `s.configuration(q)` for where they are now. Planning merges the two bodies of a locked joint, and its
        coordinates disappear until it is unlocked; so does what the initial state says about it.
        """
        return edits.lock(self, name, at)

    def unlock(self, name: edits.Names) -> Mechanism:
        """Return the mechanism with locked joints, or the modes of a body, free to move again; `name` is that of
        `lock`."""
        return edits.unlock(self, name)

    def attach(
        self,
        name: str,
        parent: str,
        child: str,
        kind: JointKind,
        in_parent: Pose | None = None,
        in_child: Pose | None = None,
        *,
        at: Whereabouts | None = None,
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

        What is not named stays: a body of another mass keeps its inertia about the mass centre, and a flexible body its
        modes. A `density` gives mass, com and inertia anew from the shapes; `flexible=None` makes a body rigid.
        """
        body = self._bodies[validation.known("body", name, self._bodies)]
        if name == GROUND:
            raise ModelError(
                "body 'ground': it does not move, so it has no numbers to change: name another body"
            )
        changed = self.copy()
        changed._bodies[name] = changed_body(Mechanism(self.name), body, numbers)
        changed._revision += 1
        return changed

    def with_joint(self, name: str, **numbers: Any) -> Mechanism:
        """Return the mechanism with other numbers of a joint, such as damping, friction, limits, in_parent, in_child,
        or with another kind; all that `add_joint` takes but its bodies.

        What is not named stays. A kind with another number of velocities is refused where actuators, forces, couplings
        or the initial state belong to the joint.
        """
        old = self._joint(name)
        made = changed_joint(Mechanism(self.name), old, numbers)
        if (made.kind.nq, made.kind.nv) != (old.kind.nq, old.kind.nv):
            there = [n for n, a in self._actuators.items() if a.joint == name]
            there += [n for n, f in self.force_elements.items() if f.at_joint == name]
            there += [n for n, c in self._couplings.items() if name in c.joints]
            if there or name in self._initial.q or name in self._initial.v:
                belong = ", ".join(map(repr, there)) or "the initial state"
                raise ModelError(
                    f"joint {name!r}: {belong} needs its {old.kind.nv} velocities, and {type(made.kind).__name__} has "
                    f"{made.kind.nv}: detach the joint and attach another"
                )
        for actuator in self._actuators.values():
            if actuator.joint == name and not made.actuated:
                raise ModelError(f"joint {name!r}: actuator {actuator.name!r} drives it: leave it actuated")
        return self._with_joint(made)

    def with_spring(self, name: str, **numbers: Any) -> Mechanism:
        """Return the mechanism with other numbers of a spring: stiffness, damping, and rest (at a joint) or rest_length
        (between frames). What is not named stays."""
        old = self._springs[validation.known("spring", name, self._springs)]
        changed = self.copy()
        order = list(self._springs)
        del changed._springs[name]
        changed_spring(changed, old, numbers)
        changed._springs = {n: changed._springs[n] for n in order}
        return changed

    def with_force(self, name: str, **numbers: Any) -> Mechanism:
        """Return the mechanism with other values of the fields of a force that `add_force` or `add_bushing` added."""
        old = self._forces[validation.known("force", name, self._forces)]
        changed = self.copy()
        kind = changed_kind(f"force {name!r}", old.kind, numbers)
        changed._forces[name] = replace(old, given_kind=kind)
        changed._revision += 1
        return changed

    def with_frame(self, name: str, pose: Pose) -> Mechanism:
        """Return the mechanism with a frame at another pose on its body."""
        old = self._frames[validation.known("frame", name, self._frames)]
        if not isinstance(pose, Pose):
            raise ModelError(
                f"frame {name!r}: pose is {shown(pose)}, which is not a pose: give Pose(p=(x, y, z), rpy=...)"
            )
        changed = self.copy()
        changed._frames[name] = replace(old, pose=pose)
        changed._revision += 1
        return changed

    def with_parts(
        self, gravity: ArrayLike, bodies: Mapping[str, Body], joints: Mapping[str, Joint],
        frames: Mapping[str, Frame], kinds: Mapping[str, ForceKind],
    ) -> Mechanism:  # fmt: skip
        """Return the mechanism with parts of the same names in the places of its own, and with these kinds for some of
        its forces. Nothing is checked."""
        changed = self.copy()
        changed._gravity = _read_only(np.array(gravity, dtype=np.float64))
        changed._bodies, changed._joints, changed._frames = dict(bodies), dict(joints), dict(frames)
        for name, kind in kinds.items():
            place = changed.force_elements[name]
            for group in (changed._springs, changed._wrenches, changed._forces):
                if name in group:
                    group[name] = place.with_kind(kind)  # type: ignore[assignment]
        changed._revision += 1
        return changed

    def detach(self, name: edits.Names) -> Mechanism:
        """Return the mechanism without a joint, or without those of a pattern or list; bodies stay, and something else
        has to connect them.

        Actuators, forces and couplings at the joints go with them, and so does what the initial state says about them.
        """
        return edits.detach(self, name)

    def reduce_to(self, name: edits.Names, at: edits.Position = None) -> Mechanism:
        """Return the mechanism in which only the named joints move and all others are locked, modes of flexible bodies
        too; `name` and `at` are those of `lock`. A floating base moves only if its joint is named."""
        return edits.reduce_to(self, name, at)

    def reroot(self, body: str) -> Mechanism:
        """Return the mechanism whose one moving `Free` joint to ground leads to another body, under the same name: the
        motion is the same, and its coordinates are those of the body. To pin a root for one plan use `system(root=)`.
        """
        return edits.reroot(self, body)

    def changed(
        self,
        *,
        detach: edits.Names = (),
        unlock: edits.Names = (),
        lock: edits.Names | Mapping[str, ArrayLike] = (),
        attach: Mapping[str, Sequence[object]] = _NONE,
        at: Whereabouts | None = None,
    ) -> Mechanism:
        """Return the mechanism after several edits at once, in the order of the arguments.

        `lock` may map names or patterns to positions; `attach` maps new joints to (parent, child, kind) or (parent,
        child, kind, options of `attach`). `at` is where the bodies are now, for positions and poses that are not given.
        A PlanError tells when a body is left that nothing connects to ground.
        """
        return edits.changed(self, detach, unlock, lock, attach, at)

    def fix_base(self, at: edits.Position = None) -> Mechanism:
        """Return the mechanism with the one moving `Free` joint to ground locked, at position and
        quaternion (7,), or where it is now, as in at=s.configuration(q)."""
        free = [j.name for j in self._ground_joints(Free) if not j.locked]
        if len(free) != 1:
            found = ", ".join(repr(n) for n in free) or "none"
            raise ModelError(
                f"mechanism {self.name!r}: fix_base needs one moving Free joint to ground, found {found}: "
                "lock the joint you mean by name"
            )
        return self.lock(free[0], at)

    def free_base(self) -> Mechanism:
        """Return the mechanism with its base floating: the one locked `Free` joint to ground unlocked, or,
        where there is none, the one `Fixed` joint to ground replaced by a `Free` joint of the same name and
        frames."""
        locked = [j for j in self._ground_joints(Free) if j.locked]
        fixed = self._ground_joints(Fixed)
        if len(locked) == 1:
            return self.unlock(locked[0].name)
        if not locked and len(fixed) == 1:
            kind = Free()
            none = _read_only(np.zeros(kind.nv))
            free = replace(fixed[0], kind=kind, damping=none, friction=none, actuated=False)
            free = replace(free, limits=None, limit_stiffness=None, limit_damping=None)
            return self._with_joint(replace(free, armature=None, velocity_limit=None))
        found = ", ".join(repr(j.name) for j in locked + fixed) or "none"
        raise ModelError(
            f"mechanism {self.name!r}: free_base needs one locked Free joint or one Fixed joint to ground, "
            f"found {found}: detach the joints that hold the base and attach a Free joint"
        )

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism to a file, in the format that the ending of its name says: .toml, .urdf or .xml (MJCF).

        From a .toml file `catena.load` reads it back to the last digit; the other formats cannot say everything. A file
        that exists is replaced, or left alone if anything goes wrong.
        """
        hook("save")(self, path)

    def _couple(self, coupling: Coupling) -> None:
        """Add a coupling whose joints exist and have one degree of freedom each."""
        for joint in coupling.joints:
            kind = self._element_joint(f"coupling {coupling.name!r}", joint).kind
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

    @staticmethod
    def _filled(who: str, density: Any, shapes: tuple[Shape, ...]) -> tuple[float, ArrayLike, ArrayLike]:
        """The mass, mass centre and inertia of shapes that a density fills."""
        if not is_not_negative(density):
            raise ModelError(f"{who}: density is {shown(density)}: give kilograms for each cubic metre")
        if not shapes:
            raise ModelError(
                f"{who}: it has a density but no shape to fill: give visuals, or mass and inertia"
            )
        try:
            found = filled(shapes, float(density))
        except ModelError as error:
            raise ModelError(f"{who}: {error}") from None
        return found.mass, found.com, found.inertia

    def _joint(self, name: str) -> Joint:
        return self._joints[validation.known("joint", name, self._joints)]

    def _element_joint(self, who: str, name: Any) -> Joint:
        """The joint that an actuator or a force acts on."""
        joint = self._joints[validation.known("joint", name, self._joints, who)]
        if joint.kind.nv == 0:
            raise ModelError(f"{who}: joint {name!r} has no degree of freedom: choose one that moves")
        return joint

    def _body_of(self, who: str, frame: Any) -> str:
        """The body that carries a frame; a body carries the frame of its own name."""
        validation.known("body or frame", frame, [*self._bodies, *self._frames], who)
        return self._frames[frame].body if frame in self._frames else frame

    def _ends(self, who: str, kind: FrameForce, ends: tuple[Any, ...]) -> tuple[str, str]:
        """The two frames of a force, between which something can move."""
        body_a, body_b = (self._body_of(who, frame) for frame in ends)
        if kind.reacts and body_a == body_b:
            raise ModelError(
                f"{who}: both ends move with body {body_a!r}, so it moves nothing: give frames of two different bodies"
            )
        if not kind.reacts and body_b == GROUND:
            raise ModelError(
                f"{who}: frame {ends[1]!r} is part of ground, which no force moves: give another"
            )
        return ends[0], ends[1]

    def _initial_values(self, what: str, given: Any) -> Mapping[str, NDArray[np.float64]]:
        """The checked positions ("q") or velocities ("v") of joints by name, in the order of the joints."""
        who = f"mechanism {self.name!r}"
        if given is not None and not isinstance(given, Mapping):
            raise ModelError(
                f"{who}: the initial {what} is {shown(given)}: give a mapping from joints to numbers"
            )
        values = {}
        for name, value in (given or {}).items():
            kind = self._joints[validation.known("joint", name, self._joints, f"initial {what}")].kind
            joint = f"joint {name!r}"
            if self._joints[name].locked:
                raise ModelError(
                    f"{joint}: it has an initial {what} but is locked: unlock it, or leave that out"
                )
            if kind.nv == 0:
                raise ModelError(
                    f"{joint}: it has an initial {what} but no degree of freedom: leave that out"
                )
            size = kind.nq if what == "q" else kind.nv
            values[name] = validation.coordinates(joint, f"the initial {what}", value, size)
            if what == "q":
                kind.check(values[name], name)
        return MappingProxyType({name: values[name] for name in self._joints if name in values})

    def _ground_joints(self, kind: type[JointKind]) -> list[Joint]:
        return [
            j for j in self._joints.values() if GROUND in (j.parent, j.child) and isinstance(j.kind, kind)
        ]

    def _with_joint(self, joint: Joint) -> Mechanism:
        """A copy in which `joint` takes the place of the one with its name, so that the order of
        coordinates stays."""
        changed = self.copy()
        changed._joints[joint.name] = joint
        changed._revision += 1
        return changed

    def _check_new_force_name(self, what: str, name: Any) -> None:
        """Forces of all sorts, the stops of joints among them, share their names, because their outputs are told by
        name."""
        validation.name_of(what, name)
        if name.endswith(LIMITS):
            raise ModelError(
                f"{what} {name!r}: names ending in {LIMITS!r} are kept for stops of joints: choose another"
            )
        for word, taken in (("spring", self._springs), ("wrench", self._wrenches), ("force", self._forces)):
            if name in taken:
                raise ModelError(
                    f"{what} {name!r}: the name is taken by another {word}: choose a different name"
                )

    @staticmethod
    def _check_new_element_name(what: str, name: Any, taken: Mapping[str, Any]) -> None:
        validation.name_of(what, name)
        if name in taken:
            raise ModelError(f"{what} {name!r}: the name is taken by another {what}: choose a different name")

    def _check_new_frame_name(self, what: str, name: Any) -> None:
        validation.name_of(what, name)
        if name == GROUND:
            raise ModelError(
                f"{what} 'ground': every mechanism has its ground already: choose a different name"
            )
        taken = "body" if name in self._bodies else "frame" if name in self._frames else None
        if taken is not None:
            raise ModelError(f"{what} {name!r}: the name is taken by a {taken}: choose a different name")


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.setflags(write=False)
    return array
