"""Forces of contacts of tips from what the mechanism does under unit forces, quickly.

Accelerations are affine in forces. So those without any contact forces, and those with a unit force along each
constrained direction, of a class II contact with the friction that comes along, tell in one call of the dynamics what
forces give the accelerations that are prescribed, whatever else acts and closes loops:

    W h^c = phi^c^T (x'' of no h^c) - g^c

Where W is singular, or nearly so, nothing is found this way (`dynamics.contacts.tip_forces` sees the rank).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from catena.dynamics.contacts.tip_contact import TipInstant
from catena.dynamics.contacts.tip_forces import ContactForces, RelativeMotion, relative_motion
from catena.kinematics import stacks
from catena.kinematics.extent import extent
from catena.system import System

# Unit responses whose smallest singular value is below this part of the largest are taken for redundant.
REGULAR = 1e-7

Respond = Callable[[np.ndarray, np.ndarray, Mapping[str, np.ndarray]], np.ndarray]
"""Gives the accelerations (states, n, nv) of states repeated n times, under wrenches (states, n, 6) by frame."""


def tip_responses(
    system: System, q: np.ndarray, v: np.ndarray, contacts: Sequence[TipInstant], feedback: float, respond: Respond
) -> tuple[ContactForces, ...] | None:  # fmt: skip
    """Return what passes through contacts at q (states, nq), v (states, nv); None where that is not unique, or nearly
    so. `feedback` is that of `tip_contacts`."""
    moves = [_moves(system, q, v, at) for at in contacts]
    states, sizes = len(q), [at.contact.phi_c.shape[1] for at in contacts]
    total, ends = sum(sizes), np.cumsum(sizes)
    unit = _unit_sizes(system, contacts)
    wrenches: dict[str, np.ndarray] = {}
    for k, (at, move) in enumerate(zip(contacts, moves, strict=True)):
        h = np.zeros((states, 1 + total, sizes[k]))
        first = int(ends[k]) - sizes[k]
        h[:, 1 + first : 1 + int(ends[k])] = np.diag(unit[first : int(ends[k])])
        pushed = _on_tip(at, move, h, at.force)
        frame = at.contact.frame
        wrenches[frame] = wrenches[frame] + pushed if frame in wrenches else pushed
    places, rates = (np.repeat(x[:, None], 1 + total, axis=1) for x in (q, v))
    vdot = respond(places, rates, wrenches)
    rows, free, wanted = [], [], []
    for at, move in zip(contacts, moves, strict=True):
        phi_c = at.contact.phi_c
        x = vdot @ stacks.transposed(move.J) + move.drift[:, None]
        rows.append(x @ phi_c)
        free.append(x @ at.contact.free)
        wanted.append(at.acceleration - feedback * _slip(at, move, v))
    reached = np.concatenate(rows, axis=-1)
    W = stacks.transposed(reached[:, :1] - reached[:, 1:])
    size = 1.0 / np.sqrt(np.maximum(np.abs(np.einsum("sii->si", W)), 1e-300) * unit)
    values = np.linalg.svd(W * size[:, :, None] * (size * unit)[:, None, :], compute_uv=False)
    if not (np.isfinite(values).all() and (values[:, -1] > REGULAR * values[:, 0]).all()):
        return None
    parts = np.linalg.solve(W, (reached[:, 0] - np.concatenate(wanted, axis=-1))[..., None])[..., 0]
    found = []
    for k, (at, move) in enumerate(zip(contacts, moves, strict=True)):
        own = slice(int(ends[k]) - sizes[k], int(ends[k]))
        h_c = parts[:, own] * unit[own]
        h = at.force + stacks.apply(at.friction, h_c)
        f = h @ at.contact.free.T + h_c @ at.contact.phi_c.T
        g = free[k][:, 0] + np.einsum("sn,snj->sj", parts, free[k][:, 1:] - free[k][:, :1])
        on_tip = _on_tip(at, move, h_c[:, None], at.force)[:, 0]
        found.append(ContactForces(at.contact.frame, f, h_c, h, g, on_tip))
    return tuple(found)


def tip_slips(
    system: System, q: np.ndarray, v: np.ndarray, contacts: Sequence[TipInstant]
) -> list[np.ndarray]:
    """Return by how much the velocities (states, n_c) of tips differ from what is prescribed."""
    return [_slip(at, _moves(system, q, v, at), v) for at in contacts]


def _slip(at: TipInstant, move: RelativeMotion, v: np.ndarray) -> np.ndarray:
    found: np.ndarray = (stacks.apply(move.J, v) - move.carried) @ at.contact.phi_c - at.velocity
    return found


def _moves(system: System, q: np.ndarray, v: np.ndarray, at: TipInstant) -> RelativeMotion:
    frame = at.contact.frame
    pose = np.asarray(system.pose(q, frame))
    J, a = system.jacobian(q, frame), system.bias_acceleration(q, v, frame)
    return relative_motion(at, J, a, pose[..., :3, :3], pose[..., :3, 3], v)


def _unit_sizes(system: System, contacts: Sequence[TipInstant]) -> np.ndarray:
    """Return the forces and moments (n,) that are tried: those which weigh as much as the mechanism, about."""
    plan = system.plan
    length, mass = extent(plan), float(plan.inertia[1:, 0].sum())
    turns = [
        np.linalg.norm(at.contact.phi_c[:3], axis=0) > np.linalg.norm(at.contact.phi_c[3:], axis=0)
        for at in contacts
    ]
    return max(mass, 1e-300) * 10.0 * np.where(np.concatenate(turns), length, 1.0)


def _on_tip(at: TipInstant, move: RelativeMotion, h_c: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Return the wrenches (states, n, 6) that a tip feels, in its own axes, under constraint forces h_c (states, n,
    n_c)."""
    friction = np.broadcast_to(at.friction, (len(h_c), *at.friction.shape[-2:]))
    h = h_c @ stacks.transposed(friction) + np.broadcast_to(force, (len(h_c), force.shape[-1]))[:, None]
    f = h @ at.contact.free.T + h_c @ at.contact.phi_c.T
    return -np.concatenate([f[..., :3] @ move.turn, f[..., 3:] @ move.turn], axis=-1)
