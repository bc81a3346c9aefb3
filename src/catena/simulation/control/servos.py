"""What the servos of a mechanism are told in the course of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.mechanism import Mechanism
from catena.mechanism.validation import known
from catena.simulation.acting.symbols import maximum, minimum, stack
from catena.simulation.control.protocol import Controller, checked_rate, require_same
from catena.simulation.references import Constant, Reference, as_polynomial, is_reference
from catena.simulation.references.as_polynomial import InputPath
from catena.spatial.scalars import Scalar, Scalars
from catena.system import System
from catena.system.of_system import as_system
from catena.validation import shown


class ServoSignals(Controller):
    """The servos of a mechanism as a controller, told other signals than they have, {servo: number or reference}.

    A servo is a force that acts by itself under a signal that does not change. For one that changes, the servos of
    `mechanism` are taken off and put in here: `system` is that of m.without_force([*m.servos]), and tau the sum of gear
    effort(signal(t)) within the limits of each servo. Those that are not named have their own signal. Their joints
    must be in the tree. `rate` [Hz] is how often they are told; None is always.
    """

    def __init__(
        self,
        system: System,
        mechanism: Mechanism,
        signals: Mapping[str, Reference | ArrayLike],
        rate: float | None = None,
    ) -> None:
        self.system = as_system(system, "ServoSignals")
        self.rate = checked_rate(rate, "ServoSignals")
        if not isinstance(mechanism, Mechanism) or not isinstance(signals, Mapping):
            raise StateError(
                f"ServoSignals: the mechanism is {shown(mechanism)} and signals {shown(signals)}; give the mechanism "
                "that has the servos, and a mapping from servos to numbers or references."
            )
        for name in signals:
            known("servo", name, mechanism.servos, "ServoSignals")
        twice = [name for name in mechanism.servos if name in system.mechanism.servos]
        if twice:
            raise StateError(
                f"ServoSignals: servo {twice[0]!r} acts by itself in the system, so that it would act twice; plan "
                "m.without_force([*m.servos])."
            )
        self._servos, self._references = [], []
        for name, servo in mechanism.servos.items():
            joint = mechanism.forces[name].at_joint
            if joint not in system.joints:
                raise StateError(
                    f"ServoSignals: servo {name!r} is at joint {joint!r}, which is no joint of the tree in this plan; "
                    "keep it there, as in m.system(keep=[...])."
                )
            places = (s.start + servo.component for s in (system.slice_q(joint), system.slice_v(joint)))
            self._servos.append((servo, *places))
            self._references.append(_reference(name, signals.get(name, servo.signal)))

    @property
    def compiles(self) -> bool:
        return True

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        require_same("ServoSignals", self.system, system)

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.asarray(self.evaluate(t, np.asarray(q), np.asarray(v), None, self.inputs(t))[0])

    def inputs(self, t: Scalar) -> np.ndarray:
        """Return the signals (..., k) at the time t, or at times."""
        if not self._references:
            return np.zeros((*np.shape(t), 0))
        return np.concatenate([reference.at(t).q for reference in self._references], axis=-1)

    def input_paths(self) -> tuple[InputPath, ...] | None:
        """Return the signals as polynomials where all of them are."""
        found = [as_polynomial(reference) for reference in self._references]
        return (
            None if any(one is None for one in found) else tuple((one, 0) for one in found if one is not None)
        )

    def evaluate(
        self, t: Scalar, q: Scalars, v: Scalars, memory: Scalars, inputs: Scalars
    ) -> tuple[Scalars, Scalars]:
        """Return what the servos do."""
        tau: list[Any] = [0.0 * v[..., k] for k in range(self.system.nv)]
        for k, (servo, at_q, at_v) in enumerate(self._servos):
            effort = _within(servo.law(q[..., at_q], v[..., at_v], inputs[..., k]), servo.limits)
            tau[at_v] = tau[at_v] + servo.gear * effort
        return stack(tau), memory


def _within(effort: Any, limits: tuple[float, ...]) -> Any:
    return minimum(maximum(effort, limits[0]), limits[1]) if limits else effort


def _reference(name: str, signal: Any) -> Reference:
    """A signal as a reference of one coordinate."""
    try:
        found = signal if is_reference(signal) else Constant(signal)
        size = np.shape(found.at(0.0).q)[-1]
    except StateError as error:
        raise StateError(f"ServoSignals: the signal of {name!r} is no number or reference: {error}") from None
    if size != 1:
        raise StateError(f"ServoSignals: the signal of {name!r} has {size} coordinates; give one.")
    return found
