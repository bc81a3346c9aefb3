"""Sensors: what an instrument on a mechanism tells, for controllers that know nothing else, and to be read off runs.

    imu = ct.IMU("head")
    ct.simulate(s, q, v, 5.0, control=ct.Sensed({"imu": imu}, law, rate=200.0))     # law(t, readings) gives forces
    run.read(imu)["accelerometer"]                                                  # (..., samples, 3)

An accelerometer and a force sensor feel the forces that act at that instant, the controller's own among them. A
controller is asked before it acts, so its sensors tell what they feel under the forces that it gave last; in runs with
contacts they feel these, wrenches that are given, and driven joints; by time stepping contacts as they were in the last
step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.mechanism import Mechanism, MountedSensor
from catena.mechanism.validation import known
from catena.simulation.acting import loads
from catena.simulation.control.protocol import Controller, checked_rate
from catena.simulation.turns import TurnCounter
from catena.spatial import Pose
from catena.system import System, tree_forces
from catena.validation import is_count, is_not_negative, real_array, shown

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment

Readings = dict[str, np.ndarray]


class SensedState:
    """States q (..., nq), v (..., nv) of a system under control forces tau (..., nv) and wrenches on frames. What
    follows from them is found when a sensor first asks for it."""

    def __init__(
        self, system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray,
        wrenches: Mapping[str, np.ndarray] | None = None, driven: Mapping[str, np.ndarray] | None = None,
        besides: loads.Besides = loads.NOTHING,
    ) -> None:  # fmt: skip
        self.system, self.q, self.v, self.tau = system, q, v, tau
        self.wrenches, self.driven, self.besides = wrenches or {}, driven or {}, besides

    @cached_property
    def vdot(self) -> np.ndarray:
        """Return the accelerations (..., nv)."""
        return loads.accelerations(
            self.system, self.q, self.v, self.tau, self.wrenches, self.driven, self.besides
        )

    @cached_property
    def reactions(self) -> dict[str, np.ndarray]:
        """Return the wrenches (..., 6) that joints pass to their children."""
        vdot = self.vdot if self.driven else None
        return loads.reactions(self.system, self.q, self.v, self.tau, self.wrenches, vdot, self.besides)


class SituationInRun(SensedState):
    """The states of a segment of a run, which knows what follows from them."""

    def __init__(self, run: Segment) -> None:
        super().__init__(run.system, run.q, run.v, run.tau, run.wrenches, run.driven, run.besides)
        self._run = run

    @property
    def vdot(self) -> np.ndarray:
        """Return the accelerations (..., nv)."""
        return self._run.acceleration

    @property
    def reactions(self) -> dict[str, np.ndarray]:
        """Return the wrenches (..., 6) that joints pass to their children."""
        return self._run.reactions()


class Sensor(ABC):
    """An instrument: `check` raises unless it fits a system, `read` tells {name: (..., n)} in a situation."""

    @abstractmethod
    def check(self, system: System) -> None:
        """Raise an UnknownNameError for a frame, joint or force that the system does not have."""

    @abstractmethod
    def read(self, at: SensedState) -> Readings:
        """Return what it tells."""


def _require_name(sensor: Sensor, name: Any, what: str) -> None:
    if not isinstance(name, str):
        raise StateError(f"{type(sensor).__name__}: {shown(name)} is no name; name the {what}.")


@dataclass(frozen=True)
class IMU(Sensor):
    """An inertial measurement unit in a frame: `gyroscope` (..., 3) [rad/s] and `accelerometer` (..., 3) [m/s^2] in the
    frame's axes. At rest the accelerometer tells the opposite of gravity."""

    frame: str

    def __post_init__(self) -> None:
        _require_name(self, self.frame, "frame")

    def check(self, system: System) -> None:
        known("body or frame", self.frame, system.plan.body_pose, repr(system.mechanism.name))

    def read(self, at: SensedState) -> Readings:
        system = at.system
        pose: Any = system.pose(at.q, self.frame)
        R = np.asarray(pose.R if not isinstance(pose, np.ndarray) else pose[..., :3, :3])
        weight = np.einsum("...i,...ij->...j", system.mechanics.gravity, R)
        felt = system.acceleration(at.q, at.v, at.vdot, self.frame)[..., 3:] - weight
        return {"gyroscope": system.twist(at.q, at.v, self.frame)[..., :3], "accelerometer": felt}


@dataclass(frozen=True)
class Encoder(Sensor):
    """An encoder at a joint, of the tree or of a loop: `position` (..., nq of the joint) and `velocity` (..., nv of the
    joint), or with a `component` that one of both, (..., 1). With a `resolution` [rad or m] positions are whole
    multiples of it."""

    joint: str
    resolution: float = 0.0
    component: int | None = None

    def __post_init__(self) -> None:
        _require_name(self, self.joint, "joint")
        if not is_not_negative(self.resolution):
            raise StateError(f"Encoder: resolution is {shown(self.resolution)}; give a number, 0 or more.")
        if self.component is not None and not is_count(self.component):
            raise StateError(
                f"Encoder: component is {shown(self.component)}; give a number from 0 on, or None."
            )

    def check(self, system: System) -> None:
        known("moving joint", self.joint, (*system.joints, *system.loops), repr(system.mechanism.name))
        nv = system.mechanism.joints[self.joint].kind.nv if self.joint in system.mechanism.joints else np.inf
        if self.component is not None and self.component >= nv:
            raise StateError(f"Encoder: component is {self.component}, but joint {self.joint!r} has {nv}.")

    def read(self, at: SensedState) -> Readings:
        position = at.system.joint_position(at.q, self.joint, at.besides.near.get(self.joint))
        if self.resolution:
            position = self.resolution * np.round(position / self.resolution)
        velocity = at.system.joint_velocity(at.q, at.v, self.joint)
        if self.component is not None:
            own = slice(self.component, self.component + 1)
            position, velocity = position[..., own], velocity[..., own]
        return {"position": position, "velocity": velocity}


@dataclass(frozen=True)
class ForceSensor(Sensor):
    """A six-axis force sensor in a joint: the `moment` (..., 3) [N m] and the `force` (..., 3) [N] that the joint
    passes to its child, at the child-side joint frame's origin in its axes, or at the origin of a `frame` of the child
    in that one's."""

    joint: str
    frame: str | None = None

    def __post_init__(self) -> None:
        _require_name(self, self.joint, "joint")
        if self.frame is not None:
            _require_name(self, self.frame, "frame")

    def check(self, system: System) -> None:
        mechanism = system.mechanism
        joint = mechanism.joints[known("joint", self.joint, mechanism.joints, repr(mechanism.name))]
        if self.frame is not None and self._place(system)[0] != joint.child:
            raise StateError(
                f"ForceSensor: frame {self.frame!r} is not part of {joint.child!r}, the child of joint "
                f"{self.joint!r}; give one that is."
            )

    def read(self, at: SensedState) -> Readings:
        wrench = at.reactions[self.joint]
        moment, force = wrench[..., :3], wrench[..., 3:]
        if self.frame is not None:
            there = self._place(at.system)[1].inverse() * at.system.mechanism.joints[self.joint].in_child
            force = force @ there.R.T
            moment = moment @ there.R.T + np.cross(there.p, force)
        return {"moment": moment, "force": force}

    def _place(self, system: System) -> tuple[str, Pose]:
        """The body of the frame, and where it is there."""
        mechanism, name = system.mechanism, str(self.frame)
        known("body or frame", name, system.plan.body_pose, repr(mechanism.name))
        frame = mechanism.frames.get(name)
        return (name, Pose()) if frame is None else (frame.body, frame.pose)


@dataclass(frozen=True)
class Gauge(Sensor):
    """What a spring, another force or a coupling of the mechanism does: the outputs of a force, such as `tension` and
    `length`, each (..., 1), or the `force` (..., 1) that a coupling carries."""

    name: str

    def __post_init__(self) -> None:
        _require_name(self, self.name, "force or coupling")

    def check(self, system: System) -> None:
        names = [*(force.name for force in system.mechanics.elements.placed), *system.mechanism.couplings]
        known("force or coupling", self.name, names, repr(system.mechanism.name))

    def read(self, at: SensedState) -> Readings:
        system = at.system
        if self.name in system.mechanism.couplings:
            found = loads.coupling_forces(system, at.q, at.v, at.tau, at.wrenches, at.besides)
            return {"force": found[self.name][..., None]}
        outputs = system.forces.outputs(at.q, at.v, at.besides.near)[self.name]
        return {name: x[..., None] for name, x in outputs.items()}


def sensors_of(mechanism: Mechanism) -> dict[str, Sensor]:
    """Return the instruments of the sensors that a mechanism has, `m.sensors`, by name."""
    if not isinstance(mechanism, Mechanism):
        raise StateError(f"sensors_of: {shown(mechanism)} is no mechanism; give one.")
    made: dict[str, Callable[[MountedSensor], Sensor]] = {
        "imu": lambda one: IMU(one.at),
        "encoder": lambda one: Encoder(one.at, component=one.component),
        "force": lambda one: ForceSensor(one.at, one.frame or None),
        "gauge": lambda one: Gauge(one.at),
    }
    return {name: made[one.kind](one) for name, one in mechanism.sensors.items()}


class Sensed(Controller):
    """A controller that knows what sensors tell and nothing else: `law(t, readings)` with readings {sensor: {name:
    (..., n)}} gives the joint forces, (..., nv) or by joint. It is asked at the times k / rate."""

    def __init__(
        self, sensors: Mapping[str, Sensor], law: Callable[[float, dict[str, Readings]], Any], rate: float
    ) -> None:
        if not isinstance(sensors, Mapping) or not all(isinstance(s, Sensor) for s in sensors.values()):
            raise StateError(
                f"Sensed: sensors is {shown(sensors)}; give a mapping from names to sensors, such as IMU."
            )
        if not callable(law):
            raise StateError(f"Sensed: {shown(law)} cannot be called; give a function of (t, readings).")
        self.sensors, self.law = dict(sensors), law
        self.rate = checked_rate(rate, "Sensed")
        self._system: System | None = None
        self._tau: np.ndarray | None = None
        self._motors: dict[str, np.ndarray] = {}
        self._turns = TurnCounter({})
        self.feel({}, {}, {})

    def feel(
        self,
        wrenches: Mapping[str, np.ndarray],
        driven: Mapping[str, np.ndarray],
        stops: Mapping[str, np.ndarray],
    ) -> None:
        """Say what acts where it is asked next: wrenches (..., 6) on frames, with those of contacts, how driven joints
        accelerate, and the forces of rigid stops inside joints. Runs with contacts do so."""
        self._felt = wrenches, driven, stops

    @property
    def joints_looked_at(self) -> tuple[str, ...]:
        """Return the joints whose angles sensors tell."""
        return tuple(sensor.joint for sensor in self.sensors.values() if isinstance(sensor, Encoder))

    def tell_near(self, near: Mapping[str, ArrayLike]) -> None:
        """Say what positions loop joints are next to when a run begins."""
        self._turns = TurnCounter(near)

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        for sensor in self.sensors.values():
            sensor.check(system)
        # Parameters that differ from state to state do so in the shape of the batch.
        self._system, self._tau, self._motors = system.variants.reshaped(batch), None, {}
        self._turns = TurnCounter({})
        self.feel({}, {}, {})
        begin = getattr(self.law, "start", None)
        if begin is not None:
            begin(system, batch)

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        if self._system is None:
            raise StateError("Sensed: no run has begun; give it to simulate, or call start(system) first.")
        tau = np.zeros_like(v) if self._tau is None else self._tau
        system = self._system
        forces = (force.at for force in system.mechanics.elements.placed if force.counts)
        looked_at = [x for x in dict.fromkeys((*self.joints_looked_at, *forces)) if x in system.loops]
        near = {joint: self._turns.position(system, t, q, v, joint) for joint in looked_at}
        wrenches, driven, stops = self._felt
        at = SensedState(system, q, v, tau, wrenches, driven, loads.Besides(self._motors, stops, near))
        answer = self.law(t, {name: sensor.read(at) for name, sensor in self.sensors.items()})
        self._motors = {}
        if isinstance(answer, Mapping):
            own = {joint: x for joint, x in answer.items() if joint not in system.loops}
            self._tau = np.broadcast_to(tree_forces(system, q, own), v.shape)
            for joint in answer.keys() - own.keys():
                size = system.mechanism.joints[joint].kind.nv
                self._motors[joint] = np.broadcast_to(real_array(answer[joint]), (*v.shape[:-1], size))
        else:
            try:
                self._tau = np.broadcast_to(real_array(answer), v.shape)
            except ValueError as error:
                raise StateError(
                    f"Sensed: the law gave {shown(answer)} ({error}); give {v.shape} numbers."
                ) from error
        return answer
