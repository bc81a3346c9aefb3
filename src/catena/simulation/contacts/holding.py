"""The forces of contacts whose modes are known: those with which the contacts go on as they do.

A contact that sticks has three forces with which it stays where it is, one that slides a normal force with which it
neither leaves its plane nor enters it, and rubs against its slip. What little these are off is led back to zero
(Baumgarte). Where contacts say the same, the least forces are taken; if one of these pulls or leaves its cone although
others would do without, those are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import hypot
from typing import TYPE_CHECKING

import numpy as np

from catena.dynamics.contacts.contact_forces import BEGUN, PULL, PULLS
from catena.errors import SimulationError
from catena.simulation.contacts.coulomb import SLIDE, STICK, pressed
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.geometry import ContactPlaces, Touches
from catena.simulation.contacts.standing import Standing
from catena.thresholds import RANK_TOUCHING

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment


@dataclass(frozen=True, eq=False)
class Forces:
    """Forces `f` (states, closed contacts, 3) in the axes of the planes, and how the contacts stand."""

    f: np.ndarray
    touches: Touches


@dataclass(eq=False)
class Holding:
    """Contacts with the modes that they have for a while, at a mechanism of a size `length` [m]. `along` (contacts, 2)
    are the directions in which slips began, `slow` (contacts,) the speeds below which they stay so, `least` (contacts,)
    how fast slips go that way at least."""

    free_motion: FreeMotion
    standing: Standing
    length: float
    along: Sequence[Sequence[float]] | np.ndarray

    def __post_init__(self) -> None:
        self.closed = self.standing.closed
        self.redundant: bool | None = None
        self.least = [0.0] * len(self.along)
        none, turns = self.free_motion.places.none, self.standing.turns
        self.slow = [max(pair) for pair in zip(none, turns, strict=True)] if turns else none
        # Slips turn: each part of a stretch has directions of its own, from the time on at which it begins.
        self.times, self.turned = [-np.inf], [np.asarray(self.along)]

    @cached_property
    def sticks(self) -> np.ndarray:
        """Return which contacts that touch stick."""
        return np.array([self.standing.modes[k] == STICK for k in self.closed], dtype=bool)

    @cached_property
    def mu(self) -> np.ndarray:
        """Return the friction of contacts that touch."""
        return self.free_motion.places.friction[self.closed]

    @cached_property
    def rubs(self) -> bool:
        """Return whether some contact slides with friction, which may be stiff."""
        return bool((~self.sticks & (self.mu > 0.0) & ~self.free_motion.places.is_dry[self.closed]).any())

    @cached_property
    def places(self) -> ContactPlaces:
        """Return where contacts that touch are."""
        return self.free_motion.places_of(self.closed)

    @cached_property
    def rows(self) -> np.ndarray:
        """Return the rows, by number, in which contacts that touch hold."""
        rows = [3 * i + a for i, sticks in enumerate(self.sticks) for a in ((0, 1, 2) if sticks else (2,))]
        return np.array(rows, dtype=int)

    def begin(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Take the directions in which contacts slide at a state q (nq,), v (nv,), from the time t on."""
        self.go_on_sliding(t, self.free_motion.places.at(q[None], v[None]).u[0, :, :2].tolist())

    def go_on_sliding(self, t: float, u: Sequence[Sequence[float]]) -> None:
        """Take the directions in which contacts slide, from their slips u (contacts, 2), from the time t on."""
        self.begin_sliding(u)
        self.times.append(t)
        self.turned.append(np.asarray(self.along))

    def begin_sliding(self, u: Sequence[Sequence[float]]) -> None:
        """Take the directions in which contacts slide, from their slips u (contacts, 2)."""
        # A slip that begins from rest ends where it would go back, another one where it is none any more.
        least, along = list[float](), list[Sequence[float]]()
        for (x, y), none, before in zip(u, self.free_motion.places.none, self.along, strict=True):
            speed = hypot(x, y)
            least.append(0.5 * none if speed > none else -none)
            along.append((x / speed, y / speed) if speed > none else before)
        self.least, self.along = least, along

    def directions(self, t: np.ndarray, touches: Touches) -> np.ndarray:
        """Return the directions of friction (states, closed, 3) as forces of one newton of pressure, at the times t
        (states,). Beyond the end of a slip, which is found afterwards, they go on as they were: forces must not jump
        within a step."""
        u, d = touches.u[..., :2], np.asarray(self.along)[self.closed]
        if t[0] < self.times[-1]:
            begun = np.searchsorted(self.times, t, side="right") - 1
            d = np.stack(self.turned)[begun][:, self.closed]
        back = np.maximum(0.0, -(u * d).sum(axis=-1))
        begun = np.maximum(0.0, np.array(self.slow)[self.closed] - np.hypot(u[..., 0], u[..., 1]) / BEGUN)
        w = u + (begun + 2.0 * back)[..., None] * d
        w = w / np.maximum(np.hypot(w[..., 0], w[..., 1]), 1e-300)[..., None]
        return np.concatenate([-self.mu[:, None] * w, np.ones((*w.shape[:-1], 1))], axis=-1)

    def forces(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, *, at_edge: bool = False
    ) -> Forces:
        """Return the forces at the times t (states,) and states q (states, nq), v (states, nv), under control forces
        tau (states, nv). States may be `at_edge`, where modes end by as little as that is located to: redundant
        contacts have forces of Coulomb's law there, too."""
        touches = self.places.at(q, v)
        vdot, _, W = self.free_motion.both(t, q, v, tau, touches)
        c = (touches.A @ vdot[:, None, :, None])[..., 0] + touches.b + 2.0 * PULL * touches.u
        c[..., 2] += PULL * PULL * touches.gap
        if not self.places.dry:
            return Forces(self._solved(t, W, c, touches, at_edge), touches)
        speed = touches.u[..., 0]
        slips, sense = (x + 0.0 * speed for x in (1.0 - self.sticks, np.asarray(self.along)[self.closed, 0]))

        def under(load: np.ndarray) -> np.ndarray:
            """Return the forces where loads make so much friction (states, closed)."""
            pressed = np.zeros_like(c)
            pressed[..., 2] = self.places.pressed(speed, slips, sense, load)
            return self._solved(t, W, c + pressed, touches, at_edge)

        load = np.tile(self.free_motion.load[self.closed], (len(q), 1))
        bearing = self.free_motion.bearing
        if bearing is None:
            return Forces(under(load), touches)

        told = self.free_motion.bears(t, q, v, tau)

        def bears(load: np.ndarray) -> np.ndarray:
            forces = np.zeros((len(q), len(self.along), 3))
            forces[:, self.closed] = under(load)
            return told(forces)[:, self.closed]

        rubs = self.free_motion.places.is_dry[self.closed]
        load = bearing.agreed(bears, load, np.broadcast_to(rubs & ~self.sticks, load.shape))
        # What sticks can hold with what its load makes then.
        load = np.where(rubs & self.sticks, bears(load), load)
        bearing.load[self.closed] = load[-1]
        return Forces(under(load), touches)

    def forces_in(self, made: Segment) -> Callable[[Segment], np.ndarray]:
        """Return what tells the forces (samples, contacts, 3) of all contacts at the samples of a run that was made
        with these modes, or of one within it."""
        nodes, asks = len(made.t), self.free_motion.acting.is_asked_always and not made.held

        def forces(run: Segment) -> np.ndarray:
            f, tau = np.zeros((len(run.t), len(self.standing.modes), 3)), run.tree_forces
            if self.closed:
                if asks and len(run.t) != nodes:
                    states = zip(run.t, run.q, run.v, strict=True)
                    tau = np.array([self.free_motion.command(float(t), q, v) for t, q, v in states])
                pushed = self.forces(run.t, run.q, run.v, tau, at_edge=True)
                f[:, self.closed] = pushed.touches.in_frame_axes(pushed.f)
            return f

        return forces

    def _solved(
        self, t: np.ndarray, W: np.ndarray, c: np.ndarray, touches: Touches, at_edge: bool
    ) -> np.ndarray:
        states, k = touches.gap.shape
        P = np.zeros((states, 3 * k, len(self.rows)))
        column, along = 0, self.directions(t, touches)
        for i, sticks in enumerate(self.sticks):
            if sticks:
                P[:, 3 * i : 3 * i + 3, column : column + 3] = np.eye(3)
                column += 3
            else:
                P[:, 3 * i : 3 * i + 3, column] = along[:, i]
                column += 1
        M = W.reshape(states, 3 * k, 3 * k)[:, self.rows] @ P
        wanted = -c.reshape(states, 3 * k)[:, self.rows]
        if self.redundant is None:
            size = np.linalg.svd(M[0], compute_uv=False)
            self.redundant = bool(size[-1] <= 1e-9 * size[0])
        if not self.redundant:
            f = P @ np.linalg.solve(M, wanted[..., None])
            return np.asarray(f.reshape(states, k, 3))
        f = (P @ (np.linalg.pinv(M, rcond=RANK_TOUCHING) @ wanted[..., None])).reshape(states, k, 3)
        none = PULLS * np.abs(f).max(axis=(-1, -2))[:, None]
        rubs = np.where(self.sticks, np.hypot(f[..., 0], f[..., 1]), 0.0)
        for s in np.flatnonzero(((f[..., 2] < -none) | (rubs > self.mu * f[..., 2] + none)).any(axis=-1)):
            f[s] = self._otherwise(W[s], c[s], along[s], f[s], at_edge)
        return np.asarray(f)

    def _otherwise(
        self, W: np.ndarray, c: np.ndarray, along: np.ndarray, f: np.ndarray, at_edge: bool
    ) -> np.ndarray:
        """Return forces (closed, 3) of one state of which none pulls or leaves its cone; those given if the modes do
        not go on, unless they are `at_edge`."""
        mu = self.mu
        sliding = [
            None if sticks or not m else -d[:2] / m
            for sticks, m, d in zip(self.sticks, mu, along, strict=True)
        ]
        names = [self.free_motion.places.labels[k] for k in self.closed]
        try:
            found = pressed(W, c, mu, sliding, names)
        except SimulationError:
            return f
        modes = [self.standing.modes[k] for k in self.closed]
        size = np.abs(found.f).max(initial=1e-300)
        goes_on = all(
            a == b or (a == SLIDE and not m) or abs(n) <= PULLS * size
            for a, b, m, n in zip(modes, found.modes, mu, found.f[:, 2], strict=True)
        )
        still = np.abs(found.r[:, 2]).max() <= 1e-7 * (np.abs(c).max() + 1e-300)
        return found.f if at_edge or (goes_on and still) else f
