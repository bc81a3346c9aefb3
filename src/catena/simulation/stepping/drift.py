"""How loops are kept closed although integration has errors: by projection, by feedback in the constraints, or by a
force."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from catena.dynamics.loops.formulations.certified_elimination import knows_joints
from catena.errors import StateError
from catena.kinematics.loops.scales import scales_of
from catena.simulation.acting.run_part import RunPart
from catena.structure import Plan
from catena.system import System, restoring_acceleration, suitable_strength
from catena.thresholds import RANK_SEARCHED
from catena.validation import is_not_negative, is_positive, shown


@dataclass(frozen=True)
class Projection:
    """After every step positions and velocities go back to the nearest closed state, in the sense of kinetic energy.

    With fixed steps in the compiled loop, `every` steps are taken between: in one step of RK4 loops hardly drift.
    """

    every: int = 1

    def __post_init__(self) -> None:
        if not (isinstance(self.every, int) and self.every >= 1):
            raise StateError(
                f"Projection: every is {shown(self.every)}; give a whole number of steps, at least 1."
            )


@dataclass(frozen=True)
class Baumgarte:
    """The constraints are not J vdot + gamma = 0 but J vdot + gamma + 2 / T J v + 1 / T^2 e = 0 with the closure errors
    e, which then fade as fast as exp(-t / T). `time` is T [s]."""

    time: float = 0.05

    def __post_init__(self) -> None:
        if not is_positive(self.time):
            raise StateError(
                f"Baumgarte: the time constant is {shown(self.time)}; give a positive number of seconds."
            )


@dataclass(frozen=True)
class Corrective:
    """A small force at the loops, added to the multipliers, pulls them together: stiffness times the position
    error and damping times the velocity error (van der Merwe, eq. 5.75), in N/m and N s/m along distances, and
    `angular_stiffness` and `angular_damping` in N m/rad and N m s/rad about angles, the same numbers unless given.
    Without any of them they suit the inertia that the loops feel where the motion begins (`suitable_strength`)."""

    stiffness: float | None = None
    damping: float | None = None
    angular_stiffness: float | None = None
    angular_damping: float | None = None

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if value is not None and not is_not_negative(value):
                raise StateError(
                    f"Corrective: the {name} is {shown(value)}; it must be finite and not negative."
                )
        if (self.stiffness is None) != (self.damping is None):
            raise StateError("Corrective: give stiffness and damping together, or neither.")

    def strength(self, system: System, q: np.ndarray) -> tuple[float, float, float, float]:
        """Return stiffness and damping for distances, and for angles, in motions that begin at q (nq,)."""
        if self.stiffness is None or self.damping is None:
            k, d, k_turning, d_turning = suitable_strength(system, q)
        else:
            k, d = float(self.stiffness), float(self.damping)
            k_turning, d_turning = k, d
        if self.angular_stiffness is not None:
            k_turning = float(self.angular_stiffness)
        if self.angular_damping is not None:
            d_turning = float(self.angular_damping)
        return k, d, k_turning, d_turning


@dataclass(frozen=True)
class Nothing:
    """Loops drift as the integration errors have it."""


Remedy = Projection | Baumgarte | Corrective | Nothing
# How far loops are opened to see what becomes of their constraints, and up to where they are closed [rad or lengths].
OPENED, CLOSED = 1e-4, 1e-9
NAMES = {"projection": Projection, "baumgarte": Baumgarte, "corrective": Corrective, "none": Nothing}
REMEDIES: dict[str, Remedy] = {name: kind() for name, kind in NAMES.items()}
"""What their names alone stand for."""
_WORDS = {kind: name for name, kind in NAMES.items()}


def name_of(remedy: str | Remedy) -> str:
    """Return the name of a remedy."""
    return remedy if isinstance(remedy, str) else _WORDS[type(remedy)]


class Drift(RunPart):
    """A remedy against drift, on one system whose states begin at `start` (nq,)."""

    def __init__(self, system: System, remedy: str | Remedy, start: np.ndarray) -> None:
        self.system, self.start = system, start
        self.remedy: Remedy = REMEDIES[remedy] if isinstance(remedy, str) else remedy
        self.name = _WORDS[type(self.remedy)]
        # Which constraints count is settled before anything is made for them.
        system.mechanics.settle(start)
        self.every = self.remedy.every if isinstance(self.remedy, Projection) else 1
        self.closed = system.mechanics.constrained
        self.projects = self.closed and isinstance(self.remedy, Projection)
        """Whether states are brought back after every step."""
        self.pulls = self.closed and isinstance(self.remedy, Corrective)
        """Whether forces pull the loops together."""
        self.feedback: tuple[float, float] | None = None
        """The gains with which velocity and position errors of loops are fed back; None without feedback."""
        if self.closed and isinstance(self.remedy, Baumgarte):
            self.feedback = 2.0 / self.remedy.time, 1.0 / self.remedy.time**2
        self.couples = system.mechanics.is_closed
        """Whether loops are more than what the tree has: joints may rub that constrain nothing."""
        self.in_python = self.couples and not loops_compile(system.plan)
        """Whether Python finds accelerations and closes loops, such as where a joint kind that closes one does not give
        its coordinates as formulas."""
        self.is_told = False
        """Whether it does so because bodies have many modes."""

    def telling(self) -> Drift:
        """Return the same where Python tells the step accelerations, because bodies have many modes."""
        found = copy(self)
        found.in_python = found.is_told = True
        return found

    @property
    def is_fragile(self) -> bool:
        """Return whether constraints that say the same as others in closed states do not so in open ones, as in
        Bricard's mechanism. Then states in between must be closed too, or constraints would contradict each other
        there."""
        if not self.projects:
            return False
        variants = self.system.variants
        system, base = variants.laid_out, variants.base
        if base is not self.system and _is_closed(base, self.start):
            # Numbers that leave loops where they are change nothing here, and the next run has the same base.
            system = base
        if system not in _fragile:
            # It is the same wherever a mechanism stands, so it is looked at once.
            _fragile[system] = _loses_redundancy(base if system is base else variants.state(0), self.start)
        return _fragile[system]

    @property
    def suspect(self) -> str:
        """Return what may be at fault where a motion runs away, if the remedy may be."""
        if not self.pulls:
            return ""
        k, d, k_turning, d_turning = self.strength or (0.0, 0.0, 0.0, 0.0)
        return (
            f"The forces that pull loops together ({k:.3g} N/m, {d:.3g} N s/m, {k_turning:.3g} N m/rad and "
            f"{d_turning:.3g} N m s/rad) do that where they are too strong for light bodies or for the step; "
            f"ct.Corrective() without numbers suits the mechanism, and angular_stiffness= and angular_damping= are "
            f"those about angles"
        )

    @cached_property
    def strength(self) -> tuple[float, float, float, float] | None:
        """Return stiffness and damping, for distances and for angles, of the forces that pull loops together, where
        there are any."""
        if not (self.closed and isinstance(self.remedy, Corrective)):
            return None
        return self.remedy.strength(self.system.variants.state(0), self.start)

    def pull(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the part of the accelerations (states, nv) that comes from forces pulling the loops together."""
        assert self.strength is not None
        return restoring_acceleration(self.system, q, v, *self.strength)


_fragile: WeakKeyDictionary[System, bool] = WeakKeyDictionary()


@lru_cache(maxsize=64)
def loops_compile(plan: Plan) -> bool:
    """Return whether all joints that close loops give their coordinates as formulas, so that steps can close them."""
    return knows_joints(plan) and all(loop.kind.finds_coordinates_of_symbols for loop in plan.loop_joints)


def _is_closed(system: System, q: np.ndarray) -> bool:
    """Return whether the loops of a system are closed at q (nq,)."""
    return bool(scales_of(system.plan).largest(system.closure(q)[0]) < CLOSED)


def _loses_redundancy(system: System, q: np.ndarray) -> bool:
    """Return whether opened loops have more independent constraints than the closed ones at q (nq,)."""
    scales = scales_of(system.plan)
    opened = system.integrate(
        q, OPENED * scales.units * np.random.default_rng(0).uniform(0.5, 1.0, system.nv)
    )
    jacobians = scales.jacobian(system.closure_jacobian(np.stack([q, opened])))
    ranks = [
        int(np.sum(x > RANK_SEARCHED * x.max(initial=1.0)))
        for x in np.linalg.svd(jacobians, compute_uv=False)
    ]
    return ranks[1] > ranks[0]
