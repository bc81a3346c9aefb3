"""A body on several legs in Exudyn: each leg an open kinematic tree in minimal coordinates, the body a rigid body, and
spherical joints between them. Exudyn's documentation recommends such mixtures of trees and constraints; a Stewart
platform has 24 coordinates and 18 constraints in this form, none redundant."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.coordinates import quaternion
from benchmarks.peers.exudyn_package import exudyn, items
from benchmarks.peers.links import Link, Motion, links_and_places
from catena import Free, joints
from catena.spatial import Pose

Array = NDArray[np.float64]


class Star:
    """A mechanism that falls into open legs on ground when the body called `member` is taken away, as an assembled
    Exudyn system. It starts at the closed state q, v and is driven by constant joint forces tau."""

    def __init__(self, system: Any, member: str, q: Array, v: Array, tau: Array) -> None:
        self.system, self.member = system, member
        self.container = exudyn.SystemContainer()
        self.mbs = self.container.AddSystem()
        self._q = q
        mechanism = system.mechanism
        self._held = [joint for joint in mechanism.joints.values() if member in (joint.parent, joint.child)]
        for joint in self._held:
            if not isinstance(joint.kind, joints.Spherical):
                raise ValueError(f"Joint {joint.name!r} does not hold {member!r} by a ball.")
        poses = system.body_poses(q)
        tree, places = links_and_places(_apart(mechanism, self._held, member, poses[member]))
        # Tree objects by link: the Exudyn object, the number of the link in it, and its sensor.
        self._links: dict[int, tuple[Any, int]] = {}
        self._legs: list[tuple[Any, list[str]]] = []
        for root in (
            k for k, link in enumerate(tree) if link.parent == -1 and link.motions[0].kind != "free"
        ):
            self._add_leg(tree, root, q, v, tau)
        self._add_member(poses[member], system.twist(q, v, member))
        for joint in self._held:
            markers = [self._marker(joint, end, places) for end in ("parent", "child")]
            self.mbs.AddObject(items.ObjectJointSpherical(markerNumbers=markers))
        self.mbs.Assemble()

    def positions(self) -> Array:
        """Catena's coordinates (samples, nq) of the last run."""
        turned = self.mbs.GetSensorStoredData(self._turned)[:, 1:].reshape(-1, 3, 3)
        q = np.tile(self._q, (len(turned), 1))
        for sensor, names in self._legs:
            moved = self.mbs.GetSensorStoredData(sensor)[:, 1:]
            at = 0
            for name in names:
                where = self.system.slice_q(name)
                q[:, where] += moved[:, at : at + where.stop - where.start]
                at += where.stop - where.start
        poses = self.system.body_poses(q)
        for joint in self._held:
            if joint.name in self.system.joints:
                if joint.child != self.member:
                    raise ValueError(f"Joint {joint.name!r} must have {self.member!r} as its child.")
                near, far = poses[joint.parent][:, :3, :3] @ joint.in_parent.R, turned @ joint.in_child.R
                rotations = np.swapaxes(near, -1, -2) @ far
                q[:, self.system.slice_q(joint.name)] = [quaternion(R) for R in rotations]
        return q

    def _add_leg(self, tree: list[Link], root: int, q: Array, v: Array, tau: Array) -> None:
        """One open tree: every elementary motion is a link of its own, and the last of a joint has the mass."""
        members = [root]
        for k, link in enumerate(tree):
            if link.parent in members:
                members.append(k)
        last: dict[int, int] = {-1: -1}
        types, parents, frames, masses, coms, inertias = [], [], [], [], [], []
        start, speed, force = [], [], []
        for k in members:
            link = tree[k]
            if link.flipped:
                raise ValueError(f"Joint {link.joint!r} must lead away from ground.")
            for j, motion in enumerate(link.motions):
                final = j + 1 == len(link.motions)
                types.append(_joint_type(link.joint, motion))
                parents.append(last[link.parent] if j == 0 else len(types) - 2)
                frames.append(link.placement if j == 0 else np.eye(4))
                masses.append(link.mass if final else 0.0)
                coms.append(link.com if final else np.zeros(3))
                inertias.append(link.inertia if final else np.zeros((3, 3)))
            last[k] = len(types) - 1
            start += list(q[self.system.slice_q(link.joint)])
            speed += list(v[self.system.slice_v(link.joint)])
            force += list(tau[self.system.slice_v(link.joint)])
        count = len(types)
        node = self.mbs.AddNode(
            items.NodeGenericODE2(
                referenceCoordinates=start,
                initialCoordinates=[0.0] * count,
                initialCoordinates_t=speed,
                numberOfODE2Coordinates=count,
            )
        )
        leg = self.mbs.AddObject(
            items.ObjectKinematicTree(
                nodeNumber=node,
                gravity=list(self.system.mechanism.gravity),
                jointTypes=types,
                linkParents=parents,
                jointTransformations=exudyn.Matrix3DList([frame[:3, :3] for frame in frames]),
                jointOffsets=exudyn.Vector3DList([frame[:3, 3] for frame in frames]),
                linkInertiasCOM=exudyn.Matrix3DList(inertias),
                linkCOMs=exudyn.Vector3DList(coms),
                linkMasses=masses,
                jointForceVector=force,
            )
        )
        for k in members:
            self._links[k] = leg, last[k]
        sensor = self.mbs.AddSensor(
            items.SensorNode(
                nodeNumber=node, storeInternal=True, outputVariableType=exudyn.OutputVariableType.Coordinates
            )
        )
        self._legs.append((sensor, [tree[k].joint for k in members]))

    def _add_member(self, pose: Array, twist: Array) -> None:
        """The body, with its frame moved to its mass centre."""
        body = self.system.mechanism.bodies[self.member]
        R, com = pose[:3, :3], pose[:3, :3] @ body.com + pose[:3, 3]
        omega = R @ twist[:3]
        velocity = R @ twist[3:] + np.cross(omega, com - pose[:3, 3])
        self._rotation, self._centre = R, com
        # The orientation is counted from the pose at the start, so that it starts as zero.
        node = self.mbs.AddNode(
            items.NodeRigidBodyRotVecLG(
                referenceCoordinates=[*com, 0.0, 0.0, 0.0], initialVelocities=[*velocity, *omega]
            )
        )
        J = R @ body.inertia @ R.T
        self._body = self.mbs.AddObject(
            items.ObjectRigidBody(
                nodeNumber=node,
                mass=body.mass,
                inertia=[J[0, 0], J[1, 1], J[2, 2], J[1, 2], J[0, 2], J[0, 1]],
            )
        )
        mass = self.mbs.AddMarker(items.MarkerBodyMass(bodyNumber=self._body))
        gravity = list(self.system.mechanism.gravity)
        self.mbs.AddLoad(items.LoadMassProportional(markerNumber=mass, loadVector=gravity))
        self._turned = self.mbs.AddSensor(
            items.SensorBody(
                bodyNumber=self._body,
                storeInternal=True,
                outputVariableType=exudyn.OutputVariableType.RotationMatrix,
            )
        )

    def _marker(self, joint: Any, end: str, places: dict[str, tuple[int, Array]]) -> Any:
        name, at = getattr(joint, end), getattr(joint, f"in_{end}").p
        if name == self.member:
            local = self._rotation @ (at - self.system.mechanism.bodies[name].com)
            return self.mbs.AddMarker(
                items.MarkerBodyRigid(bodyNumber=self._body, localPosition=[float(x) for x in local])
            )
        link, pose = places[name]
        leg, number = self._links[link]
        local = pose[:3, :3] @ at + pose[:3, 3]
        return self.mbs.AddMarker(
            items.MarkerKinematicTreeRigid(
                objectNumber=leg, linkNumber=number, localPosition=[float(x) for x in local]
            )
        )


def _apart(mechanism: Any, held: list[Any], member: str, pose: Array) -> Any:
    """The mechanism with the member free, so that what is left is a tree."""
    for joint in held:
        mechanism = mechanism.detach(joint.name)
    mechanism = mechanism.copy()
    mechanism.add_joint("member", "ground", member, Free(), Pose(p=pose[:3, 3], R=pose[:3, :3]))
    return mechanism


def _joint_type(joint: str, motion: Motion) -> Any:
    words = {"hinge": "Revolute", "slide": "Prismatic"}
    for letter, unit in zip("XYZ", np.eye(3)):
        if motion.kind in words and np.array_equal(motion.axis, unit):
            return getattr(exudyn.JointType, words[motion.kind] + letter)
    raise ValueError(f"Joint {joint!r} is not along a coordinate axis, as the joints of Exudyn's trees are.")
