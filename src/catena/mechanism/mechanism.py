"""A mechanism as a graph: bodies are nodes, joints are edges, and `ground` is a body like the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from catena.errors import ModelError
from catena.joints import Fixed, Free, JointKind
from catena.mechanism import validation
from catena.mechanism.parts import GROUND, Body, Frame, Joint
from catena.mechanism.planner import make_system
from catena.spatial import Pose

VIRTUAL_ROOT = "root:"
_IDENTITY = Pose()


class Mechanism:
    """A builder for the description of a mechanism.

    Nobody says which joint closes a loop: joints are added in any order and between any two bodies, and
    planning finds the tree. Names of bodies and frames share one namespace, because every body name is also
    the name of a frame; joints have their own. Every edit increases `revision`, by which a system notices
    that it was planned from an older description.
    """

    def __init__(self, name: str = "mechanism", gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self.name = validation.name_of("mechanism", name)
        self._gravity = validation.vector(f"mechanism {name!r}", "gravity", gravity)
        ground = Body(GROUND, 0.0, _read_only(np.zeros(3)), _read_only(np.zeros((3, 3))))
        self._bodies: dict[str, Body] = {GROUND: ground}
        self._joints: dict[str, Joint] = {}
        self._frames: dict[str, Frame] = {}
        self._revision = 0

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

    def add_body(
        self, name: str, mass: float = 0.0, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike = 0.0
    ) -> Body:
        """Add a body with its mass [kg], mass centre (3,) [m] in the body frame and inertia [kg m^2] about
        that centre.

        The inertia is in body axes: three moments, a symmetric 3x3 matrix, or one number for all three axes.
        """
        self._check_new_frame_name("body", name)
        who = f"body {name!r}"
        body_mass = validation.mass(who, mass)
        centre = validation.vector(who, "com", com)
        body = Body(name, body_mass, centre, validation.inertia(who, inertia, body_mass))
        self._bodies[name] = body
        self._revision += 1
        return body

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
    ) -> Joint:
        """Add a joint between two bodies; pose(child) = pose(parent) * in_parent * motion(q) *
        inverse(in_child).

        `damping` and `friction` are one number or one for each velocity coordinate; `limits` is (low, high)
        for each coordinate.
        """
        validation.name_of("joint", name)
        who = f"joint {name!r}"
        if name in self._joints:
            raise ModelError(f"{who}: the name is taken by another joint: choose a different name")
        if name.startswith(VIRTUAL_ROOT):
            raise ModelError(
                f"{who}: names starting with {VIRTUAL_ROOT!r} are kept for pinned roots: choose another"
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
                f"{who}: kind is {kind!r}, which is not a joint kind: give an instance such as {called}"
            )
        for side, pose in (("in_parent", in_parent), ("in_child", in_child)):
            if not isinstance(pose, Pose):
                raise ModelError(
                    f"{who}: {side} is {pose!r}, which is not a pose: give Pose(p=(x, y, z), rpy=...)"
                )
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
            bool(actuated),
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
            raise ModelError(f"{who}: pose is {pose!r}, which is not a pose: give Pose(p=(x, y, z), rpy=...)")
        frame = Frame(name, body, pose)
        self._frames[name] = frame
        self._revision += 1
        return frame

    def copy(self, name: str | None = None) -> Mechanism:
        """Return a mechanism that can be edited without touching this one."""
        twin = Mechanism(self.name if name is None else name, self._gravity)
        twin._bodies = dict(self._bodies)
        twin._joints = dict(self._joints)
        twin._frames = dict(self._frames)
        twin._revision = self._revision
        return twin

    def lock(self, name: str, at: ArrayLike | None = None) -> Mechanism:
        """Return the mechanism with a joint held at a position (its neutral one by default): a joint of 0
        dof.

        Planning merges its two bodies, and its coordinates disappear until it is unlocked.
        """
        joint = self._joint(name)
        who = f"joint {name!r}"
        if joint.kind.nv == 0:
            raise ModelError(f"{who}: a joint without degrees of freedom cannot be locked: it already holds")
        if at is None:
            at = joint.kind.neutral()
        position = validation.numbers(who, "the locked position", at)
        if position.shape == () and joint.kind.nq == 1:
            position = position.reshape(1)
        if position.shape != (joint.kind.nq,):
            raise ModelError(
                f"{who}: the locked position has shape {position.shape}: "
                f"give {joint.kind.nq} number{'s' if joint.kind.nq > 1 else ''}"
            )
        joint.kind.check(position, name)
        return self._with_joint(replace(joint, locked_at=_read_only(position)))

    def unlock(self, name: str) -> Mechanism:
        """Return the mechanism with a locked joint free to move again."""
        joint = self._joint(name)
        if joint.locked_at is None:
            raise ModelError(f"joint {name!r}: it is not locked: only a joint locked before can be unlocked")
        return self._with_joint(replace(joint, locked_at=None))

    def attach(
        self, name: str, parent: str, child: str, kind: JointKind, *arguments: Any, **options: Any
    ) -> Mechanism:
        """Return the mechanism with one more joint; the arguments are those of `add_joint`."""
        changed = self.copy()
        changed.add_joint(name, parent, child, kind, *arguments, **options)
        return changed

    def detach(self, name: str) -> Mechanism:
        """Return the mechanism without a joint; its bodies stay, and something else has to connect them."""
        self._joint(name)
        changed = self.copy()
        del changed._joints[name]
        changed._revision += 1
        return changed

    def fix_base(self, at: ArrayLike | None = None) -> Mechanism:
        """Return the mechanism with the one moving `Free` joint to ground locked, at position and
        quaternion (7,)."""
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
            return self._with_joint(
                replace(fixed[0], kind=kind, damping=none, friction=none, limits=None, actuated=False)
            )
        found = ", ".join(repr(j.name) for j in locked + fixed) or "none"
        raise ModelError(
            f"mechanism {self.name!r}: free_base needs one locked Free joint or one Fixed joint to ground, "
            f"found {found}: detach the joints that hold the base and attach a Free joint"
        )

    def system(self, root: str | None = None, cut: Iterable[str] = ()) -> Any:
        """Plan the mechanism and return a `System`; compiles nothing.

        `root` pins the body the tree grows from, `cut` names joints that must stay out of the tree.
        """
        return make_system(self, root, cut)

    def _joint(self, name: str) -> Joint:
        return self._joints[validation.known("joint", name, self._joints)]

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
