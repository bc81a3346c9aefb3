"""Planar mechanisms in Exudyn: bodies of three coordinates and revolute joints of two constraints, which is how its own
examples model four-bars and leaves no constraint redundant."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.exudyn_package import exudyn, items
from catena import joints

Array = NDArray[np.float64]


class Planar:
    """A mechanism of revolute joints about y or -y as an assembled Exudyn system in its own x-y plane, which is
    Catena's x-z plane.

    It starts at the closed state q, v and is driven by constant joint forces tau. A body's coordinates are the place
    of its mass centre and its angle, counted from the body's pose at the start.
    """

    def __init__(self, system: Any, q: Array, v: Array, tau: Array) -> None:
        self.system = system
        self.container = exudyn.SystemContainer()
        self.mbs = self.container.AddSystem()
        self._start = q
        mechanism = system.mechanism
        poses = system.body_poses(q)
        self._bodies: dict[str, Any] = {}
        self._sensors: dict[str, Any] = {}
        self._ground = self.mbs.AddObject(items.ObjectGround())
        # x, z of Catena are x, y here; the third axis is then Catena's -y.
        self._gravity = [float(mechanism.gravity[0]), float(mechanism.gravity[2]), 0.0]
        for name, body in mechanism.bodies.items():
            if name != "ground":
                self._add_body(name, body, poses[name], system.twist(q, v, name))
        for name in mechanism.joints:
            self._add_joint(mechanism.joints[name], poses, system, tau)
        self.mbs.Assemble()

    def positions(self) -> Array:
        """Catena's coordinates (samples, nq) of the last run."""
        angles = {name: self.mbs.GetSensorStoredData(sensor)[:, 3] for name, sensor in self._sensors.items()}
        count = len(next(iter(angles.values())))
        angles["ground"] = np.zeros(count)
        q = np.empty((count, self.system.nq))
        for name in self.system.joints:
            joint, at = self.system.mechanism.joints[name], self.system.slice_q(name)
            turned = angles[joint.child] - angles[joint.parent]
            q[:, at] = self._start[at] + _sign(joint) * turned[:, None]
        return q

    def _add_body(self, name: str, body: Any, pose: Array, twist: Array) -> None:
        com = pose[:3, :3] @ body.com + pose[:3, 3]
        omega, linear = pose[:3, :3] @ twist[:3], pose[:3, :3] @ twist[3:]
        velocity = linear + np.cross(omega, com - pose[:3, 3])
        node = self.mbs.AddNode(
            items.NodeRigidBody2D(
                referenceCoordinates=[com[0], com[2], 0.0],
                initialVelocities=[velocity[0], velocity[2], -omega[1]],
            )
        )
        inertia = (pose[:3, :3] @ body.inertia @ pose[:3, :3].T)[1, 1]
        self._bodies[name] = self.mbs.AddObject(
            items.ObjectRigidBody2D(nodeNumber=node, mass=body.mass, inertia=inertia)
        )
        mass = self.mbs.AddMarker(items.MarkerBodyMass(bodyNumber=self._bodies[name]))
        self.mbs.AddLoad(items.LoadMassProportional(markerNumber=mass, loadVector=self._gravity))
        self._sensors[name] = self.mbs.AddSensor(
            items.SensorNode(
                nodeNumber=node, storeInternal=True, outputVariableType=exudyn.OutputVariableType.Coordinates
            )
        )

    def _add_joint(self, joint: Any, poses: dict[str, Array], system: Any, tau: Array) -> None:
        at = (poses[joint.parent] @ joint.in_parent.matrix())[:3, 3]
        markers = [self._marker(name, at, poses) for name in (joint.parent, joint.child)]
        self.mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=markers))
        if joint.name in system.joints:
            torque = _sign(joint) * float(tau[system.slice_v(joint.name)][0])
            for name, moment in ((joint.child, torque), (joint.parent, -torque)):
                if moment and name != "ground":
                    marker = self.mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=self._bodies[name]))
                    self.mbs.AddLoad(
                        items.LoadTorqueVector(markerNumber=marker, loadVector=[0.0, 0.0, moment])
                    )

    def _marker(self, name: str, at: Array, poses: dict[str, Array]) -> Any:
        """A marker of a body at a place that is given in ground."""
        if name == "ground":
            here = [float(at[0]), float(at[2]), 0.0]
            return self.mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=self._ground, localPosition=here))
        com = poses[name][:3, :3] @ self.system.mechanism.bodies[name].com + poses[name][:3, 3]
        here = [float(at[0] - com[0]), float(at[2] - com[2]), 0.0]
        return self.mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=self._bodies[name], localPosition=here))


def _sign(joint: Any) -> float:
    """How a joint turns about the normal of Exudyn's plane, Catena's -y."""
    axis = joint.kind.motion_space(np.zeros(1)).array[:3, 0].astype(float)
    turn = joint.in_parent.R @ axis
    if not isinstance(joint.kind, joints.Revolute) or abs(abs(turn[1]) - 1.0) > 1e-12:
        raise ValueError(f"Joint {joint.name!r} does not turn about y; only planar mechanisms are converted.")
    return float(-turn[1])
