"""What one contact did along a run: its force, how far it was open, how it slipped and what it did about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from catena.mechanism.validation import known

if TYPE_CHECKING:
    from catena.simulation.contacts.contact import Contact
    from catena.simulation.results.trajectory import Trajectory
    from catena.simulation.results.transition import Transition

OPEN, STICK, SLIDE = "open", "stick", "slide"

# A force this near to its cone, as a part of what friction may give, is on it: rounding is all that keeps those of
# contacts that slide off it.
ON_CONE = 1e-9


@dataclass(frozen=True, eq=False)
class ContactChannel:
    """A contact along a run, at the times `t` (samples,).

    `force` (..., samples, 3) [N] is the force on its frame and `slip` (..., samples, 3) [m/s] the velocity of the point
    that touches against the other side, across the normal; both are in the axes of the frame that the contact is on.
    `normal_force` (..., samples) [N] is the part of the force along the normal, `gap` (..., samples) [m] how far it is
    open, and `mode` (..., samples) says "open", "stick" or "slide" (without friction whatever touches slides).
    `impacts` are the transitions of the run in which the contact got an impulse.
    """

    contact: Contact
    t: np.ndarray
    force: np.ndarray
    normal_force: np.ndarray
    gap: np.ndarray
    slip: np.ndarray
    mode: np.ndarray
    impacts: tuple[Transition, ...]

    @property
    def touches(self) -> np.ndarray:
        """Return at which samples (..., samples) it touches."""
        return np.asarray(self.mode != OPEN)

    def __repr__(self) -> str:
        share = 100.0 * float(np.mean(self.touches)) if self.mode.size else 0.0
        return (
            f"ContactChannel({self.contact.label!r}, {len(self.t)} samples, touches at {share:.3g} % of them, "
            f"{len(self.impacts)} impacts)"
        )


def contact_channel(run: Trajectory, name: str) -> ContactChannel:
    """Return what the contact with a name did along a run."""
    contacts = {contact.label: contact for contact in run.contacts}
    contact = contacts[known("contact", name, contacts, "run.contact")]
    a, b = run.pose(contact.frame), run.pose(contact.on)
    axes = np.swapaxes(b[..., :3, :3], -1, -2)
    apart = a[..., :3, 3] - b[..., :3, 3]
    gap, seen_normal, _, arm, _ = contact.met(
        _seen(axes, apart), _seen(axes, a[..., :3, 2]), 0.0 * apart, 0.0 * apart
    )
    normal, reach = (_seen(b[..., :3, :3], x) for x in (seen_normal, arm))
    at = a[..., :3, 3] + reach
    moves = _velocity_at(a, run.twist(contact.frame), at) - _velocity_at(b, run.twist(contact.on), at)
    moves -= (moves * normal).sum(axis=-1, keepdims=True) * normal
    force = run.contact_forces[name]
    pushes = (force * seen_normal).sum(axis=-1)
    return ContactChannel(
        contact, run.t, force, pushes, gap, _seen(axes, moves), _modes(contact, force, pushes),
        tuple(change for change in run.transitions if name in change.impulse),
    )  # fmt: skip


def _velocity_at(pose: np.ndarray, twist: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The velocity (..., 3) in ground of the material point at a place of a body, from its pose and its own twist."""
    R = pose[..., :3, :3]
    w, v = (np.asarray((R @ x[..., None])[..., 0]) for x in (twist[..., :3], twist[..., 3:]))
    return np.asarray(v + np.cross(w, at - pose[..., :3, 3]))


def _seen(axes: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.asarray((axes @ x[..., None])[..., 0])


def _modes(contact: Contact, force: np.ndarray, pushes: np.ndarray) -> np.ndarray:
    """What the contact does at all samples, read off its force: none is open, one on its cone slides."""
    across = np.sqrt(np.maximum((force * force).sum(axis=-1) - pushes * pushes, 0.0))
    slides = (contact.friction == 0.0) | (across >= (1.0 - ON_CONE) * contact.friction * pushes)
    touched = np.where(slides, SLIDE, STICK)
    return np.where((force != 0.0).any(axis=-1), touched, OPEN)
