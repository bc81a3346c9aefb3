"""What a run asks of its motors: efforts, speeds and powers at the motor's side of the gear, against its limits.

Between samples effort u and speed s are taken as linear, or u as held where a controller held it. The power u s is
then a parabola that changes its sign only where u or s does, so that the integrals of u^2, s^2, u s and of both signs
of u s are exact for these lines: intervals are cut there, and Simpson's rule does the rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.hooks import hook
from catena.mechanism import GROUND, Actuator, Mechanism
from catena.mechanism.validation import known
from catena.simulation.results.labels import joint_labels
from catena.simulation.results.trajectory import Trajectory
from catena.validation import printable, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A motor that gives this part of what it can is at its limit: what was cut there is equal up to rounding.
AT_LIMIT = 1.0 - 1e-9
HEADS = (
    "motor", "joint", "gear", "effort peak", "rms", "speed peak", "rms", "power peak [W]", "mean [W]",
    "regenerated peak [W]", "mean [W]", "of its limits", "at the limit",
)  # fmt: skip


class TriedMotor(TypedDict, total=False):
    """A motor that is tried on a motion, described as `add_actuator` does."""

    name: str
    components: int | Iterable[int] | None
    gear: ArrayLike
    limits: ArrayLike | None
    no_load_speed: ArrayLike | None


@dataclass(frozen=True, eq=False)
class MotorUse:
    """What a motor did in a run: `effort` and `speed` (..., samples) at its own side of the `gear`, with their units.

    `limits` are its least and largest effort at rest, infinite where there is none, which shrink towards
    `no_load_speed` in the direction of the motion. `integrals` over the run are those of the squares of "effort" and
    "speed", and of the power "given" and "returned", each (...).
    """

    name: str
    joint: str
    component: int
    gear: float
    limits: tuple[float, float]
    no_load_speed: float
    effort: np.ndarray
    speed: np.ndarray
    units: tuple[str, str]
    duration: float
    integrals: Mapping[str, np.ndarray]

    @property
    def power(self) -> np.ndarray:
        """Return the power (..., samples) [W] that the motor gives."""
        return self.effort * self.speed

    @property
    def peak_effort(self) -> np.ndarray:
        """Return the largest size of the effort, (...) [N m or N]."""
        return np.max(np.abs(self.effort), axis=-1)

    @property
    def rms_effort(self) -> np.ndarray:
        """Return the root of the mean square of the effort, (...), which heats the motor."""
        return self._rms("effort")

    @property
    def peak_speed(self) -> np.ndarray:
        """Return the largest speed in either direction, (...) [rad/s or m/s]."""
        return np.max(np.abs(self.speed), axis=-1)

    @property
    def rms_speed(self) -> np.ndarray:
        """Return the root of the mean square of the speed, (...)."""
        return self._rms("speed")

    @property
    def peak_power(self) -> np.ndarray:
        """Return the largest power that the motor gives, (...) [W]."""
        # A motor that stands still has a power of -0, which is none.
        return np.max(self.power, axis=-1, initial=0.0) + 0.0

    @property
    def mean_power(self) -> np.ndarray:
        """Return the work that the motor did, less what came back, for each second, (...) [W]."""
        return self._mean("given") - self._mean("returned")

    @property
    def peak_regenerated(self) -> np.ndarray:
        """Return the largest power that comes back to the motor, (...) [W]."""
        return np.max(-self.power, axis=-1, initial=0.0) + 0.0

    @property
    def mean_regenerated(self) -> np.ndarray:
        """Return the work that came back to the motor for each second of the run, (...) [W]."""
        return self._mean("returned")

    @property
    def energy_given(self) -> np.ndarray:
        """Return the work [J] that the motor did where its power was positive, (...)."""
        return self.integrals["given"]

    @property
    def energy_regenerated(self) -> np.ndarray:
        """Return the work [J] that came back where its power was negative, (...)."""
        return self.integrals["returned"]

    @property
    def is_limited(self) -> bool:
        """Return whether the motor has any limits."""
        return bool(np.isfinite(self.limits).any())

    def available(self, speed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest effort (...) that the motor can give at speeds (...)."""
        low, high = (np.full(np.shape(speed), limit) for limit in self.limits)
        if np.isfinite(self.no_load_speed):
            part = np.asarray(speed) / self.no_load_speed
            low, high = low * np.clip(1.0 + part, 0.0, 1.0), high * np.clip(1.0 - part, 0.0, 1.0)
        return low, high

    @cached_property
    def share(self) -> np.ndarray:
        """Return the effort at each sample as a part of what the motor can give at that speed in that direction, (...,
        samples): 1 at the limit, more beyond it, infinite where it can give none."""
        low, high = self.available(self.speed)
        bound = np.where(self.effort < 0.0, -low, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.abs(self.effort) / np.maximum(bound, 0.0)
        return np.where(self.effort == 0.0, 0.0, part)

    @property
    def largest_share(self) -> np.ndarray:
        """Return the largest of `share`, (...): above 1 the motor is too small, 0 where it has no limits."""
        return np.max(self.share, axis=-1)

    @property
    def at_limit(self) -> np.ndarray:
        """Return at which part of the samples the motor gives all that it can, or should give more, (...)."""
        return np.mean(self.share >= AT_LIMIT, axis=-1)

    def _rms(self, name: str) -> np.ndarray:
        return np.sqrt(self._mean(name))

    def _mean(self, name: str) -> np.ndarray:
        return self.integrals[name] / self.duration if self.duration > 0.0 else 0.0 * self.integrals[name]

    def as_data(self) -> dict[str, Any]:
        """Return the numbers of the table by name; of a batch the largest of all motions."""
        names = (
            "peak_effort", "rms_effort", "peak_speed", "rms_speed", "peak_power", "mean_power", "peak_regenerated",
            "mean_regenerated", "energy_given", "energy_regenerated", "largest_share", "at_limit",
        )  # fmt: skip
        about = {
            "motor": self.name, "joint": self.joint, "component": self.component, "gear": self.gear,
            "limits": list(self.limits), "no_load_speed": self.no_load_speed, "units": list(self.units),
        }  # fmt: skip
        return about | {name: float(np.max(getattr(self, name))) for name in names}

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table, under `HEADS`; of a batch the largest of all motions."""
        data = self.as_data()
        effort, speed = self.units
        largest = data["largest_share"]
        worst = f"{100 * largest:.3g} %" if np.isfinite(largest) else "beyond its speed"
        limited = (worst, f"{100 * data['at_limit']:.3g} %")
        return (
            self.name, self.joint, f"{self.gear:.4g}",
            f"{data['peak_effort']:.4g} {effort}", f"{data['rms_effort']:.4g} {effort}",
            f"{data['peak_speed']:.4g} {speed}", f"{data['rms_speed']:.4g} {speed}",
            *(f"{data[name]:.4g}" for name in ("peak_power", "mean_power", "peak_regenerated", "mean_regenerated")),
            *(limited if self.is_limited else ("no limits", "")),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Sizing:
    """What a run asks of its motors; print it to read the table, `plot()` draws efforts over speeds against the limits.
    `sizing["motor"]` is the `MotorUse` of one."""

    mechanism: str
    batch: tuple[int, ...]
    motors: tuple[MotorUse, ...]

    def __getitem__(self, name: str) -> MotorUse:
        for motor in self.motors:
            if motor.name == name:
                return motor
        names = ", ".join(motor.name for motor in self.motors) or "none"
        raise StateError(
            f"there is no motor {shown(name)} in the run of {self.mechanism!r}: there are {names}"
        )

    def __iter__(self) -> Iterator[MotorUse]:
        return iter(self.motors)

    def __len__(self) -> int:
        return len(self.motors)

    @property
    def title(self) -> str:
        """Return what the table is about."""
        if not self.motors:
            return f"Nothing drives {self.mechanism!r} in this run."
        of = f", the largest of {prod(self.batch)} motions" if self.batch else ""
        return f"Motors of {self.mechanism!r}, at their side of the gear{of}:"

    def __str__(self) -> str:
        if not self.motors:
            return printable(self.title)
        rows = [HEADS, *(tuple(map(printable, motor.cells())) for motor in self.motors)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
        return "\n".join([printable(self.title), *lines])

    def plot(self, *, show: bool = False, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the effort of each motor over its speed, with what it can give, and return the figure; `path` writes a
        file."""
        return hook("plot_sizing")(self, show=show, path=path)


def sizing(run: Trajectory, motors: Mapping[str, TriedMotor] | None = None) -> Sizing:
    """Return what a run asks of each motor: of all actuators of the mechanism, and of joints that were driven without
    one, as if by a motor without gear and limits.

    `motors` tries others: by joint, what `add_actuator` takes (`name`, `components`, `gear`, `limits`,
    `no_load_speed`). The motion stays as it was, so that they are asked for the same.
    """
    by_joint = motors if motors is not None else {}
    if not isinstance(by_joint, Mapping) or not all(
        isinstance(about, Mapping) for about in by_joint.values()
    ):
        raise StateError(
            f"motors are {shown(motors)}; give them by joint, as {{'elbow': {{'gear': 50, 'limits': 2.0}}}}."
        )
    mechanisms = [part.system.mechanism for part in run.segments]
    actuators: dict[str, Actuator] = {}
    for mechanism in mechanisms:
        actuators |= {name: x for name, x in mechanism.actuators.items() if name not in actuators}
    tried = {joint: _tried(mechanisms, joint, about) for joint, about in by_joint.items()}
    chosen = [actuator for actuator in actuators.values() if actuator.joint not in tried]
    uses = [use for actuator in (*chosen, *tried.values()) for use in _uses(run, actuator)]
    covered = {(use.joint, use.component) for use in uses}
    bare = [
        use
        for joint in dict.fromkeys(name for mechanism in mechanisms for name in mechanism.joints)
        for use in _uses(run, _plain(mechanisms, joint))
        if (joint, use.component) not in covered and np.any(use.effort)
    ]
    return Sizing(mechanisms[0].name, run.batch, (*uses, *bare))


def _tried(mechanisms: Sequence[Mechanism], joint: str, about: TriedMotor) -> Actuator:
    """Return a motor that somebody would like to see at a joint, whatever drives it now."""
    options: dict[str, Any] = dict(about)
    unknown = [str(name) for name in options if name not in TriedMotor.__annotations__]
    if unknown:
        raise StateError(
            f"motors: {shown(joint)} has {unknown[0]!r}; a motor has {', '.join(TriedMotor.__annotations__)}."
        )
    owner = next((m for m in mechanisms if joint in m.joints), mechanisms[0])
    kind = owner.joints[known("joint", joint, owner.joints, repr(owner.name))].kind
    # On a bench of its own it is in nobody's way.
    bench = Mechanism("test bench")
    bench.add_body("rotor")
    bench.add_joint(joint, GROUND, "rotor", kind)
    return bench.add_actuator(options.pop("name", joint), joint, **options)


def _plain(mechanisms: Sequence[Mechanism], joint: str) -> Actuator:
    """Return a motor without gear and limits for every component of a joint."""
    nv = next(m for m in mechanisms if joint in m.joints).joints[joint].kind.nv
    endless = np.repeat([[-np.inf, np.inf]], nv, axis=0)
    return Actuator(joint, joint, tuple(range(nv)), np.ones(nv), endless, np.full(nv, np.inf))


def _uses(run: Trajectory, actuator: Actuator) -> Iterator[MotorUse]:
    """Return what a run asks of an actuator, for each component that it drives; nothing of a joint that never moves."""
    joint = actuator.joint
    moving = [part for part in run.segments if joint in (*part.system.joints, *part.system.loops)]
    if not moving:
        return
    system = moving[0].system
    labels = [joint_labels(system, joint, quantity) for quantity in ("force", "velocity")]
    for k, component in enumerate(actuator.components):
        gear = float(actuator.gear[k])
        efforts, speeds, integrals = [], [], []
        for part in run.segments:
            nothing = np.zeros(part.q.shape[:-1])
            is_there = joint in (*part.system.joints, *part.system.loops)
            effort = part.force(joint)[..., component] / gear if is_there else nothing
            speed = part.velocity(joint)[..., component] * gear if is_there else nothing
            is_held = part.held and joint not in part.driven
            efforts.append(effort)
            speeds.append(speed)
            integrals.append(_integrals(part.t, effort, speed, is_held))
        effort_label, speed_label = (titles[component] for titles in labels)
        several = len(actuator.components) > 1
        yield MotorUse(
            f"{actuator.name}.{speed_label.coordinate or component}" if several else actuator.name,
            joint, component, gear, (float(actuator.limits[k, 0]), float(actuator.limits[k, 1])),
            float(actuator.no_load_speed[k]), np.concatenate(efforts, axis=-1), np.concatenate(speeds, axis=-1),
            (effort_label.unit, speed_label.unit), float(run.t[-1] - run.t[0]),
            {name: np.sum([found[name] for found in integrals], axis=0) for name in integrals[0]},
        )  # fmt: skip


def _integrals(t: np.ndarray, u: np.ndarray, s: np.ndarray, is_held: bool) -> dict[str, np.ndarray]:
    """Return the integrals (...) over t (samples,) of u^2, s^2 and of the positive and negative parts of u s, from u
    and s (..., samples)."""
    h = np.diff(t)
    u0, s0, s1 = u[..., :-1], s[..., :-1], s[..., 1:]
    u1 = u0 if is_held else u[..., 1:]
    cuts = np.sort(np.stack([_crossing(u0, u1), _crossing(s0, s1)]), axis=0)
    edges = np.stack([np.zeros_like(u0), cuts[0], cuts[1], np.ones_like(u0)])
    spent, returned = np.zeros(u.shape[:-1]), np.zeros(u.shape[:-1])
    for a, b in zip(edges[:-1], edges[1:], strict=True):
        work = (b - a) * h * _simpson(a, b, u0, u1, s0, s1)
        spent = spent + np.sum(np.maximum(work, 0.0), axis=-1)
        returned = returned - np.sum(np.minimum(work, 0.0), axis=-1)
    return {
        "effort": np.sum(h * (u0 * u0 + u0 * u1 + u1 * u1) / 3.0, axis=-1),
        "speed": np.sum(h * (s0 * s0 + s0 * s1 + s1 * s1) / 3.0, axis=-1),
        "given": spent,
        "returned": returned,
    }


def _crossing(x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
    """Return where between 0 and 1 the line from x0 to x1 passes zero, 0 where it does not."""
    passes = x0 * x1 < 0.0
    return np.where(passes, x0 / np.where(passes, x0 - x1, 1.0), 0.0)


def _simpson(
    a: np.ndarray, b: np.ndarray, u0: np.ndarray, u1: np.ndarray, s0: np.ndarray, s1: np.ndarray
) -> Any:
    """Return the mean of the product of two lines between the parts a and b of an interval."""

    def product(x: np.ndarray) -> np.ndarray:
        return (u0 + x * (u1 - u0)) * (s0 + x * (s1 - s0))

    return (product(a) + 4.0 * product(0.5 * (a + b)) + product(b)) / 6.0
