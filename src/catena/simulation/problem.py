"""What is simulated, as one frozen description: the system, what acts on it, and how its motion is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.dynamics.contacts.contact_forces import Pair
from catena.dynamics.contacts.tip_contact import TipContact
from catena.errors import StateError
from catena.mechanism.validation import known
from catena.simulation.acting.external import ExternalWrench, as_wrench
from catena.simulation.acting.tips import tip_list
from catena.simulation.references.protocol import Prescribed, Reference
from catena.simulation.stepping.charts.chart import COORDINATES
from catena.simulation.stepping.drift import NAMES, Remedy, loops_compile
from catena.simulation.stepping.integrators import EXPLICIT, FIXED_STEPS, INTEGRATORS, SOLVERS
from catena.system import System
from catena.validation import can_take, entries, is_finite, is_one_of, is_positive, shown

if TYPE_CHECKING:
    from catena.simulation.contacts.landing import Landing

Control = Callable[[float, np.ndarray, np.ndarray], ArrayLike | Mapping[str, ArrayLike]]
"""A function of (t, q, v), or a controller, that gives joint forces (..., nv)."""
ForcesByFormula = Mapping[str, str | float | Sequence[str | float]]
"""Joint forces by joint, each a formula, a number, or as many of them as the joint has components."""
Applied = ExternalWrench | Reference | Callable[[float], ArrayLike] | Control
"""A wrench [moment; force]: described, a reference, or a function of t or of (t, q, v)."""


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


def check_settings(integrator: Any, step: Any, rtol: Any, atol: Any, drift: Any) -> None:
    """Refuse a method that there is none of, steps and tolerances that do not belong to it, and unknown remedies."""
    if not is_one_of(integrator, INTEGRATORS):
        raise StateError(f"There is no integrator {shown(integrator)}; choose {', '.join(INTEGRATORS)}.")
    is_fixed = integrator in FIXED_STEPS
    if is_fixed and not is_positive(step):
        raise StateError(
            f"{integrator} takes fixed steps: give step= a positive number of seconds, found {shown(step)}."
        )
    if not is_fixed and step is not None:
        raise StateError(f"{integrator} chooses its steps by itself; leave step out, or choose rk4.")
    if not (is_finite(rtol) and is_finite(atol)):
        raise StateError(f"rtol is {shown(rtol)} and atol {shown(atol)}; give finite numbers.")
    if not (rtol >= 0.0 and atol >= 0.0 and rtol + atol > 0.0):
        raise StateError(f"rtol is {rtol} and atol {atol}; they must not be negative, nor both zero.")
    if not is_one_of(drift, NAMES) and not isinstance(drift, Remedy):
        raise StateError(
            f"There is no drift control {shown(drift)}; choose {', '.join(NAMES)}, or give "
            f"ct.Projection(every), ct.Baumgarte(time) or ct.Corrective(stiffness, damping)."
        )


def check_coordinates(coordinates: Any, independent: Any, integrator: str, drift: Any) -> None:
    """Refuse coordinates that there are none of, and methods and remedies that do not go with them."""
    if not is_one_of(coordinates, COORDINATES):
        raise StateError(f"There are no coordinates {shown(coordinates)}; choose {', '.join(COORDINATES)}.")
    if independent is not None:
        if coordinates != "minimal":
            raise StateError(
                f"independent is {shown(independent)}, but only coordinates='minimal' have independent ones; give "
                f"that, or leave independent out."
            )
        try:
            names = entries(independent)
        except ValueError:
            names = (None,)
        if not names or not all(isinstance(name, str) for name in names):
            raise StateError(f"independent is {shown(independent)}; give names of joints.")
    if coordinates == "joint":
        return
    others = ("rk4", "abm4", "leapfrog", "semi_implicit") if coordinates == "minimal" else ()
    if integrator not in (methods := (*EXPLICIT, *others, *SOLVERS)):
        raise StateError(
            f"coordinates={coordinates!r} are integrated by {', '.join(methods)}; integrator is {integrator!r}."
        )
    word = drift if isinstance(drift, str) else type(drift).__name__.lower()
    fitting = {"minimal": ("projection",), "absolute": ("projection", "none", "nothing")}[coordinates]
    if word not in fitting:
        why = (
            "close the loops in every state, so that nothing drifts"
            if coordinates == "minimal"
            else "drift elsewhere"
        )
        raise StateError(f"drift is {shown(drift)}, but coordinates={coordinates!r} {why}: leave drift out.")


def check_control(control: Any) -> None:
    """Refuse a controller that cannot be asked."""
    if not callable(control):
        raise StateError(f"control is {shown(control)}; give a function of (t, q, v), or a controller.")
    if not can_take(control, "t", "q", "v"):
        raise StateError(
            f"control is {shown(control)}, which cannot be called with (t, q, v); give a function of time, "
            f"positions (..., nq) and velocities (..., nv) that returns forces (..., nv)."
        )


def check_motion(joint: Any, moves: Any) -> None:
    """Refuse a motion of a joint that cannot be asked."""
    if not callable(moves) and not callable(getattr(moves, "at", None)):
        raise StateError(
            f"The motion of joint {joint!r} is {shown(moves)}; give a reference, or a function of the time."
        )
    if not hasattr(moves, "at") and callable(moves) and not can_take(moves, "t"):
        raise StateError(
            f"The motion of joint {joint!r} is {shown(moves)}, which cannot be called with (t); give a "
            f"function of the time that returns position, velocity and acceleration."
        )


def _on_frames(system: System, forces: Mapping[str, Any]) -> dict[str, ExternalWrench]:
    """Return wrenches by frame on a system that has all of these frames."""
    frames, found = system.plan.body_pose, {}
    for frame, applied in forces.items():
        known("frame", frame, frames, "forces")
        wrench = as_wrench(applied)
        if wrench.axes is not None:
            known("frame", wrench.axes, frames, f"axes of the wrench on {frame!r}")
        found[frame] = wrench.on(system)
    return found


@dataclass(frozen=True, eq=False)
class Touching:
    """Contacts with the modes that they keep: the `nodes` that meet in each, `numbers` that tell what each is and does
    (`dynamics.contacts.contact_forces`), and whether they may be redundant, so that their `least` forces are taken."""

    nodes: tuple[Pair, ...]
    numbers: np.ndarray
    least: bool = False


@dataclass(frozen=True, eq=False)
class Problem:
    """A system with what acts on it (`control`, `motion`, `forces`), the method that moves it (`integrator`, `step`,
    `rtol`, `atol`) and the remedy against `drift` of its loops. The arguments are those of `simulate`. `touching` are
    contacts that keep their modes, whose forces the compiled step finds. `near` are positions that joints are next to
    when the motion begins, where these close loops, and `looked_at` joints whose angles events look at. Dry friction in
    joints `sticks`, or goes smoothly through rest. `coordinates` are those that are integrated, and joints
    `independent` those whose coordinates are the minimal ones. `landing` are contacts of steps that find their impulses
    (`integrator="time_stepping"`), and `tips` contacts of tips with supports of known motion."""

    system: System
    control: Control | None = None
    motion: Mapping[str, Prescribed] = field(default_factory=_nothing)
    forces: Mapping[str, Applied] = field(default_factory=_nothing)
    integrator: str = "dopri5"
    step: float | None = None
    rtol: float = 1e-11
    atol: float = 1e-13
    drift: str | Remedy = "projection"
    touching: Touching | None = None
    near: Mapping[str, ArrayLike] = field(default_factory=_nothing)
    looked_at: tuple[str, ...] = ()
    sticks: bool = True
    coordinates: str = "joint"
    independent: str | Sequence[str] | None = None
    landing: Landing | None = None
    tips: tuple[TipContact, ...] = ()

    def __post_init__(self) -> None:
        system, integrator, step = self.system, self.integrator, self.step
        if not isinstance(system, System):
            raise StateError(
                f"simulate needs a system, found {type(system).__name__}; plan one with m.system()."
            )
        check_settings(integrator, step, self.rtol, self.atol, self.drift)
        check_coordinates(self.coordinates, self.independent, integrator, self.drift)
        if self.independent is not None:
            object.__setattr__(self, "independent", entries(self.independent))
        if self.coordinates != "joint" and system.plan.owner is not None:
            raise StateError(
                f"coordinates={self.coordinates!r} are for rigid bodies, and {system.mechanism.name!r} has flexible "
                f"ones: leave coordinates out."
            )
        # The compiled loop reads doubles, whatever sort of number was given.
        for name in ("step", "rtol", "atol"):
            if type(getattr(self, name)) not in (float, type(None)):
                object.__setattr__(self, name, float(getattr(self, name)))
        if self.tips:
            tip_list(system, self.tips)
        if self.control is not None:
            check_control(self.control)
        for name, mapping in (("motion", self.motion), ("forces", self.forces)):
            if not isinstance(mapping, Mapping):
                raise StateError(
                    f"{name} is {shown(mapping)}; give a mapping from names to functions of the time."
                )
        for joint, moves in self.motion.items():
            check_motion(joint, moves)
        if self.forces:
            # Formulas become functions of the states of this system.
            object.__setattr__(self, "forces", _on_frames(system, self.forces))
        for joint in self.motion:
            if is_one_of(joint, system.loops):
                raise StateError(
                    f"motion: joint {joint!r} closes a loop in this plan and carries no coordinates that could be "
                    f"prescribed: keep it in the tree, m.system(keep=[{joint!r}])."
                )
            known("joint", joint, system.joints, "motion")

    @property
    def is_fixed(self) -> bool:
        """Return whether all steps are of about the same size, which the user gives."""
        return self.integrator in FIXED_STEPS

    @property
    def uses_solver(self) -> bool:
        """Return whether a solver of SciPy moves the states, one by one."""
        if self.integrator in SOLVERS or self.coordinates == "absolute":
            return True
        return self.coordinates == "minimal" and not loops_compile(self.system.plan)

    @property
    def rate(self) -> float | None:
        """Return how often the controller is asked [Hz]; None for always, or for no controller."""
        return getattr(self.control, "rate", None)
