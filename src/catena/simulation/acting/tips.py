"""Contacts of tips with supports of known motion among what acts during a run (van der Merwe, section 5.3).

At every stage of a step the forces of all contacts are found from everything else that acts there, and act as wrenches
on the tips. Accelerations are what is prescribed, so that errors of the integration would stay in the velocities: these
are brought back after each step, or fed back with drift="baumgarte". Positions drift as any coordinate; in directions
fixed to a tip there are none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.dynamics.contacts.tip_contact import TipContact
from catena.dynamics.contacts.tip_forces import ContactForces
from catena.errors import StateError
from catena.kinematics.loops.scales import scales_of
from catena.mechanism.validation import known
from catena.simulation.acting.run_part import RunPart
from catena.simulation.acting.tip_responses import tip_responses, tip_slips
from catena.simulation.stepping.drift import REMEDIES, Baumgarte, Corrective, Projection
from catena.system.contact_dynamics import contact_solution, fitting_velocity

if TYPE_CHECKING:
    from catena.simulation.problem import Problem

# Velocities at the start that differ from what is prescribed by more than this, in radians and sizes of the mechanism a
# second or as a part of the speed, are an error.
FITS = 1e-9
# Differences below this are rounding, and left alone.
EXACT = 1e-15


class TipForces(RunPart):
    """The contacts of tips in a problem."""

    def __init__(self, problem: Problem) -> None:
        self.system, self.contacts = problem.system, problem.tips
        self.drives = {joint: problem.system.slice_v(joint) for joint in problem.motion}
        remedy = REMEDIES[problem.drift] if isinstance(problem.drift, str) else problem.drift
        # Feedback besides projection would act on stages within steps, which are off by more than steps are.
        self.feedback = 1.0 / remedy.time if isinstance(remedy, Baumgarte) else 0.0
        self.projects = isinstance(remedy, Projection | Corrective)

    @property
    def frames(self) -> list[str]:
        """Return the frames of the tips."""
        return [contact.frame for contact in self.contacts]

    def at(
        self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Mapping[str, np.ndarray],
        driven: Mapping[str, np.ndarray], near: Mapping[str, Any] | None = None,
    ) -> tuple[ContactForces, ...]:  # fmt: skip
        """Return what passes through the contacts at a time and the states q (states, nq), v (states, nv), under joint
        forces tau (states, nv) and wrenches (states, 6), where joints accelerate as `driven` has it."""

        def respond(at: np.ndarray, moving: np.ndarray, felt: Mapping[str, np.ndarray]) -> np.ndarray:
            acting = {frame: x[:, None] for frame, x in wrenches.items()}
            for frame, x in felt.items():
                acting[frame] = acting[frame] + x if frame in acting else x
            turned = None if near is None else {joint: x[:, None] for joint, x in near.items()}
            if driven:
                return self.system.hybrid_dynamics(
                    at, moving, tau[:, None], driven, f_ext=acting, near=turned
                )[0]
            return self.system.forward_dynamics(at, moving, tau[:, None], f_ext=acting, near=turned)

        instants = [contact.at(t, q, v) for contact in self.contacts]
        found = tip_responses(self.system, q, v, instants, self.feedback, respond)
        if found is not None:
            return found
        rows = [np.atleast_2d(driven[joint]).swapaxes(0, -1) for joint in self.drives]
        components = dict(zip(self.components, (x for row in rows for x in row), strict=True))
        return contact_solution(
            self.system, q, v, tau, self.contacts, wrenches or None, None, t, components, near, self.feedback
        ).contacts

    def fitted(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the velocities (states, nv) nearest to v at which tips move as is prescribed."""
        off = np.max(self._slips(t, q, v), axis=0)
        if not self.projects or (off <= EXACT * self._speed(v)).all():
            return v
        return fitting_velocity(self.system, q, v, self.contacts, t, self.components)

    @property
    def components(self) -> list[int]:
        """Return the components of v whose joints are driven."""
        return [k for own in self.drives.values() for k in range(self.system.nv)[own]]

    def _slips(self, t: float, q: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
        """Return the largest differences (states,) of each contact from the velocities that are prescribed."""
        instants = [contact.at(t, q, v) for contact in self.contacts]
        return [np.abs(x).max(axis=-1, initial=0.0) for x in tip_slips(self.system, q, v, instants)]

    def _speed(self, v: np.ndarray) -> np.ndarray:
        """Return the sizes (states,) of velocities, in rad/s or m/s, that count as 1 at least."""
        units = scales_of(self.system.plan).units
        sizes = np.max(np.abs(v / units), axis=-1, initial=1.0) * max(1.0, float(np.max(units, initial=1.0)))
        return np.asarray(sizes)

    def require_start(self, t: float, q: np.ndarray, v: np.ndarray, batch: tuple[int, ...]) -> None:
        """Raise an error unless tips begin with the velocities that are prescribed."""
        slips, bound = self._slips(t, q, v), FITS * self._speed(v)
        for contact, off in zip(self.contacts, slips, strict=True):
            worst = int(np.argmax(off / bound))
            if off[worst] > bound[worst]:
                near = fitting_velocity(self.system, q[worst], v[worst], self.contacts, t, self.components)
                where = f" in state {worst}" if batch else ""
                raise StateError(
                    f"contact at {contact.label!r}: along its constrained directions the tip begins{where} with a "
                    f"velocity that differs by {off[worst]:.3g} m/s or rad/s from what is prescribed. Begin with "
                    f"v = ct.contact_velocity(s, q, v, contacts), here {near.tolist()}, or give velocity=."
                )


def with_tips(
    wrenches: Mapping[str, np.ndarray], passing: tuple[ContactForces, ...]
) -> dict[str, np.ndarray]:
    """Return wrenches (..., 6) by frame, with those that contacts give the frames of their tips."""
    found = dict(wrenches)
    for contact in passing:
        frame = contact.frame
        found[frame] = found[frame] + contact.on_tip if frame in found else contact.on_tip
    return found


def tip_list(system: Any, tips: tuple[TipContact, ...]) -> tuple[TipContact, ...]:
    """Return contacts of tips whose frames a system has, and whose names differ."""
    for contact in tips:
        known("body or frame", contact.frame, system.plan.body_pose, f"contact at {contact.label!r}")
        if system.plan.body_pose[contact.frame][0] == 0:
            raise StateError(
                f"contact at {contact.label!r}: the frame {contact.frame!r} belongs to ground and cannot move: name a "
                "frame of a moving body."
            )
        for what in ("velocity", "acceleration", "force", "friction"):
            value = getattr(contact, what)
            wide = np.ndim(value) > (2 if what == "friction" else 1)
            if not callable(value) and wide:
                raise StateError(
                    f"contact at {contact.label!r}: {what} has numbers for each state of a batch; in a run give the "
                    "same for all states, or a function of (t, q, v)."
                )
    labels = [contact.label for contact in tips]
    if len(set(labels)) < len(labels):
        raise StateError(
            f"Two contacts of tips are called {max(labels, key=labels.count)!r}; give each a name=."
        )
    return tips
