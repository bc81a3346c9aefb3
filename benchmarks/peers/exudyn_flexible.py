"""A slider-crank with a flexible rod in Exudyn: its reduced-order flexible body in floating frame of reference
(`ObjectFFRFreducedOrder`), made of the same mass and stiffness matrices and the same modes as Catena's.

Crank and slider have one coordinate each, which is the least that Exudyn's bodies can have, and balls hold the rod:
9 + k coordinates and 7 constraints, one of which is that of the rod's Euler parameters.
"""

from typing import Any

import numpy as np
from exudyn.FEM import FEMinterface, ObjectFFRFreducedOrderInterface
from numpy.typing import NDArray

from benchmarks.peers.coordinates import quaternion
from benchmarks.peers.exudyn_package import exudyn, items
from catena import FiniteElements
from catena.spatial import Pose

Array = NDArray[np.float64]


class FlexibleSliderCrank:
    """Bodies "crank", "rod" and "slider" on joints "A" (a revolute one on ground), "B" and "C" (balls on the rod) and
    "D" (a slide on ground), as an assembled Exudyn system that starts at the closed state q, v with an undeformed rod.

    The rod is a body from finite elements whose first interface is at joint "B" and carries the floating frame; crank
    and slider are balanced, so that gravity acts on the rod alone.
    """

    def __init__(self, system: Any, q: Array, v: Array) -> None:
        self.system = system
        self.container = exudyn.SystemContainer()
        self.mbs = self.container.AddSystem()
        self._start = q
        mechanism = system.mechanism
        self._rod(mechanism.bodies["rod"].flexible, system, q, v)
        crank = self._crank(mechanism, v[system.slice_v("A")][0])
        slider = self._slider(mechanism, v[system.slice_v("D")][0])
        held = mechanism.joints["B"].in_parent.p
        ball = self._marker(crank, mechanism.joints["A"].in_parent.R @ held)
        self.mbs.AddObject(items.ObjectJointSpherical(markerNumbers=[ball, self._near]))
        pin = self._marker(slider, np.zeros(3))
        self.mbs.AddObject(items.ObjectJointSpherical(markerNumbers=[pin, self._far]))
        self.mbs.Assemble()

    def positions(self) -> Array:
        """Catena's coordinates (samples, nq) of the last run."""
        stored = {name: self.mbs.GetSensorStoredData(sensor)[:, 1:] for name, sensor in self._sensors.items()}
        q = np.tile(self._start, (len(stored["crank"]), 1))
        q[:, self.system.slice_q("A")] = self._start[self.system.slice_q("A")] + stored["crank"]
        q[:, self.system.slice_q("D")] = self._start[self.system.slice_q("D")] + stored["slider"]
        q[:, self.system.slice_q("rod.modes")] = stored["modes"]
        turned = stored["rod"].reshape(-1, 3, 3)
        poses = self.system.body_poses(q)["crank"][:, :3, :3]
        at = self.system.slice_q("B")
        before = self._start[at]
        for k, R in enumerate(np.swapaxes(poses, -1, -2) @ turned):
            found = quaternion(R)
            before = found if found @ before > 0.0 else -found
            q[k, at] = before
        return q

    def _rod(self, body: FiniteElements, system: Any, q: Array, v: Array) -> None:
        """The flexible body, with the modes of Catena's as its basis."""
        fem = FEMinterface()
        fem.nodes = {"Position": np.asarray(body.nodes)}
        fem.massMatrix, fem.stiffnessMatrix = body.mass, body.stiffness_matrix
        S = np.concatenate([body.shapes(node).S for node in body.nodes])
        fem.modeBasis = {"matrix": S, "type": "HCBmodes"}
        pose, twist = system.pose(q, "rod"), system.twist(q, v, "rod")
        added = ObjectFFRFreducedOrderInterface(fem).AddObjectFFRFreducedOrder(
            self.mbs,
            positionRef=list(pose.p),
            rotationMatrixRef=pose.R,
            initialVelocity=list(pose.R @ twist[3:]),
            initialAngularVelocity=list(pose.R @ twist[:3]),
            gravity=list(system.mechanism.gravity),
        )
        rod = added["oFFRFreducedOrder"]
        self._near = self.mbs.AddMarker(items.MarkerNodePosition(nodeNumber=added["nRigidBody"]))
        far = list(list(body.interfaces.values())[1])
        self._far = self.mbs.AddMarker(
            items.MarkerSuperElementPosition(
                bodyNumber=rod, meshNodeNumbers=far, weightingFactors=[1.0 / len(far)] * len(far)
            )
        )
        self._sensors = {
            "modes": self._sensor(added["nGenericODE2"], "Coordinates"),
            "rod": self._sensor(added["nRigidBody"], "RotationMatrix"),
        }

    def _crank(self, mechanism: Any, rate: float) -> Any:
        node = self.mbs.AddNode(
            items.Node1D(referenceCoordinates=[0.0], initialCoordinates=[0.0], initialVelocities=[rate])
        )
        joint = mechanism.joints["A"]
        axis = joint.kind.motion_space(np.zeros(1)).array[:3, 0].astype(float)
        about_z = _axes(joint.in_parent.R @ axis)
        self._turn = about_z
        inertia = axis @ mechanism.bodies["crank"].inertia @ axis
        start = float(self._start[self.system.slice_q("A")][0])
        self._sensors["crank"] = self._sensor(node, "Coordinates")
        # A mass that turns about its own z, counted from the angle at the start.
        return self.mbs.AddObject(
            items.ObjectRotationalMass1D(
                inertia=inertia,
                nodeNumber=node,
                referenceRotation=about_z @ Pose(rpy=(0.0, 0.0, start)).R,
            )
        )

    def _slider(self, mechanism: Any, rate: float) -> Any:
        node = self.mbs.AddNode(
            items.Node1D(referenceCoordinates=[0.0], initialCoordinates=[0.0], initialVelocities=[rate])
        )
        joint = mechanism.joints["D"]
        axis = joint.in_parent.R @ joint.kind.motion_space(np.zeros(1)).array[3:, 0].astype(float)
        start = joint.in_parent.p + axis * float(self._start[self.system.slice_q("D")][0])
        self._sensors["slider"] = self._sensor(node, "Coordinates")
        along_x = np.roll(_axes(axis), 1, axis=1)
        return self.mbs.AddObject(
            items.ObjectMass1D(
                mass=mechanism.bodies["slider"].mass,
                nodeNumber=node,
                referencePosition=list(start),
                referenceRotation=along_x,
            )
        )

    def _marker(self, body: Any, at: Array) -> Any:
        """A marker on a body; `at` is where it is on the crank at angle zero, in the axes of ground."""
        local = self._turn.T @ at
        return self.mbs.AddMarker(
            items.MarkerBodyPosition(bodyNumber=body, localPosition=[float(x) for x in local])
        )

    def _sensor(self, node: Any, what: str) -> Any:
        return self.mbs.AddSensor(
            items.SensorNode(
                nodeNumber=node,
                storeInternal=True,
                outputVariableType=getattr(exudyn.OutputVariableType, what),
            )
        )


def _axes(z: Array) -> Array:
    """A rotation matrix whose third column is the unit vector z."""
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
