"""The same physical state on another plan: bodies stay where they are, and keep their velocities as far as the new
structure lets them.

Opening a joint changes nothing. Where the new structure forbids part of the motion, bodies push on each other at the
joints for an instant (`impact`): velocities jump, the momentum of what touches nothing stays, energy is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.changing.carrying import Carried, bodies_of, carry
from catena.changing.deformed import Bodies, parts_of, with_points
from catena.changing.fitting import FITS, assembled, require_fit, sizes
from catena.changing.impact import Impact, body_inertias, impact
from catena.errors import LoopError, StateError
from catena.kernels import arrays
from catena.kernels.teams.blas import by_one_blas_thread
from catena.kinematics.extent import extent
from catena.kinematics.loops.scales import scales_of
from catena.mechanism import GROUND, Mechanism
from catena.mechanism.groups import Groups
from catena.mechanism.validation import known
from catena.system import System
from catena.validation import is_finite, real_array, shown

# Velocities that a new structure forbids are none below this part of the fastest motion.
NEGLIGIBLE = 1e-10
_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class FreePart:
    """Bodies that hang together and touch nothing else, with their momentum [angular; linear] (..., 6) about the
    ground's origin before and after, and the `size` (..., 1) of what was summed up in it."""

    bodies: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    size: np.ndarray

    @property
    def error(self) -> float:
        """Return by how much the momentum changed, as a part of what was summed up in it."""
        return float(np.max(np.abs(self.after - self.before) / self.size, initial=0.0))


@dataclass(frozen=True, eq=False)
class Transfer:
    """A state on another plan: q (..., nq) and v (..., nv) of `system`; `q, v = result` takes them out.

    `impulse` maps every joint of the new mechanism, `joints`, to the impulse [moment; force] (..., 6) that it passed to
    its child, told as `reactions` are: zero where nothing jumped. `energy_loss` (...) is the kinetic energy that is
    gone, negative where joints that are `driven` put more in; `jumped` (...) says whether velocities jumped, and
    `free_parts` tells the momentum of what touches nothing. With a coefficient of restitution the new joints did not
    hold, and `system` is the old one. `hit` is the impact of those states that jumped, `factor` times which happened,
    and `before` are poses and twists of all bodies before.
    """

    system: System
    q: np.ndarray
    v: np.ndarray
    energy_loss: np.ndarray
    jumped: np.ndarray
    joints: tuple[str, ...]
    hit: Impact | None
    before: Bodies
    factor: float = 1.0
    driven: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, object]:
        """Return what a pickle holds: what follows from the impact, and not the equations that it came from."""
        return {**self.__dict__, "impulse": self.impulse, "free_parts": self.free_parts, "hit": None}

    @cached_property
    def impulse(self) -> dict[str, np.ndarray]:
        """Return the impulses of all joints, found when they are first asked for."""
        batch = self.jumped.shape
        found = {name: np.zeros((*batch, 6)) for name in self.joints}
        if self.hit is not None:
            for name, impulse in self.hit.impulses().items():
                found[name][self.jumped] = self.factor * (impulse if batch else impulse[0])
        return found

    @cached_property
    def free_parts(self) -> tuple[FreePart, ...]:
        """Return what hangs together and is not held by ground, with its momentum before and after. Bodies that rebound
        from each other hang together for that instant."""
        rows = (x.reshape(self.jumped.size, x.shape[-1]) for x in (self.q, self.v))
        after = bodies_of(self.system, *rows)
        before, after = (with_points(some, self.system) for some in (self.before, after))
        touching = self.system if self.hit is None else self.hit.system
        groups = free_groups(touching.mechanism, self.driven)
        return _free_parts(self.system, groups, before, after, self.jumped.shape)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.q, self.v))

    @property
    def momentum_error(self) -> float:
        """Return by how much the momentum of what touches nothing changed, as a part of what was summed up in it."""
        return max((part.error for part in self.free_parts), default=0.0)

    def __str__(self) -> str:
        lost = float(np.max(self.energy_loss)) if self.energy_loss.size else 0.0
        lines = [
            f"{self.system.mechanism.name!r}: {'velocities jump' if np.any(self.jumped) else 'no velocity jumps'}"
        ]
        if np.any(self.jumped):
            lines.append(f"  energy: {energy_text(lost, 6)}")
            size = {name: float(np.abs(x).max(initial=0.0)) for name, x in self.impulse.items()}
            for name in sorted(size, key=lambda name: -size[name])[:8]:
                if size[name] > 0.0:
                    x = self.impulse[name].reshape(-1, 6)
                    moment, force = (np.linalg.norm(part, axis=-1).max() for part in (x[:, :3], x[:, 3:]))
                    lines.append(f"  impulse of {name!r}: {force:.6g} N s, {moment:.6g} N m s")
        for part in self.free_parts:
            some = ", ".join(part.bodies[:4]) + (", ..." if len(part.bodies) > 4 else "")
            lines.append(f"  momentum of {some}: conserved to {part.error:.1e}")
        return "\n".join(lines)


def energy_text(lost: float, digits: int) -> str:
    """Return in words what a change does to the kinetic energy; only drives can put some in."""
    return f"{abs(lost):.{digits}g} J {'lost' if lost >= 0.0 else 'put in by drives'}"


@by_one_blas_thread
def transfer(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    new: System,
    *,
    restitution: float | None = None,
    assemble: bool = False,
    driven: Mapping[str, ArrayLike] = _NONE,
) -> Transfer:
    """Return the state of `new` that is physically the state q (..., nq), v (..., nv) of `system`, whatever joint is
    now in the tree, closes a loop or is locked. Both have the same bodies.

    Where the new structure forbids part of the velocity, the result is that of a plastic impact, with its impulses and
    the energy lost. With a coefficient of restitution e the bodies rebound instead of being held: what was forbidden
    has -e times its velocity, and the result is a state of `system`, also for e = 0; all that `system` holds must still
    be held by `new`. A LoopError tells when bodies are not where the new joints fit; with `assemble` they are moved to
    the nearest closed state, if it is near. `driven` maps joints of the new tree to velocities (nv of the joint,) that
    they have afterwards, whatever it takes of their drives.
    """
    for name, one in (("system", system), ("new", new)):
        if not isinstance(one, System):
            raise StateError(f"transfer: {name} is {shown(one)}; give a system, as m.system() plans it.")
        one.mechanics.evaluator.check_current()
    if restitution is not None and not (is_finite(restitution) and 0.0 <= restitution <= 1.0):
        raise StateError(f"transfer: restitution is {shown(restitution)}; give a number from 0 to 1.")
    assemble = arrays.as_switch("assemble", assemble)
    if restitution is not None and assemble:
        raise StateError(
            "transfer: assemble moves bodies to where the new joints hold them, but with restitution they rebound and "
            "are not held; give one of the two."
        )
    rates = _driven_rates(new, driven)
    if restitution is not None and rates:
        raise StateError("transfer: bodies that rebound are not driven; give restitution or driven.")
    batch, rows_q, rows_v = system.mechanics.states(q, v)
    bodies = bodies_of(system, rows_q, rows_v)
    carried = carry(bodies, system, rows_q, rows_v, new)
    new.mechanics.settle(carried.q)
    # The size of a mechanism is found once for a plan, and is about the same before and after.
    length = extent(system.plan)
    bodies, carried = _fitting(bodies, carried, new, assemble, length)
    jumped = _jumps(with_points(bodies, new), carried, length) | _opens_couplings(new, carried, length)
    jumped |= _misses(new, carried, rates)
    v_new = carried.v.copy()
    loss, hit = np.zeros(len(rows_q)), None
    if jumped.any():
        hit = impact(new, carried.q[jumped], carried.v[jumped], bodies.of(jumped), rates)
        _require_driven(hit, carried.q[jumped], rates)
        v_new[jumped], loss[jumped] = hit.v, hit.loss
    loss += _lost_rotors(system, new, rows_q, rows_v)
    joints, jumped_b = tuple(new.mechanism.joints), jumped.reshape(batch)
    if restitution is not None:
        e = restitution
        # The plastic change 1 + e times, on the old structure.
        after = bodies.faster(bodies_of(new, carried.q, v_new), 1.0 + e)
        found = carry(after, system, rows_q, rows_v, system, keep=False)
        _require_held(system, new, after, found, jumped, length)
        v_old = np.where(jumped[:, None], found.v, rows_v).reshape(*batch, system.nv)
        lost = np.where(jumped, (1.0 - e * e) * loss, 0.0).reshape(batch)
        old = rows_q.reshape(*batch, system.nq)
        return Transfer(system, old, v_old, lost, jumped_b, joints, hit, bodies, 1.0 + e)
    q_new, v_new = carried.q.reshape(*batch, new.nq), v_new.reshape(*batch, new.nv)
    return Transfer(
        new, q_new, v_new, loss.reshape(batch), jumped_b, joints, hit, bodies, driven=tuple(rates)
    )


def _fitting(
    bodies: Bodies, carried: Carried, new: System, assemble: bool, length: float
) -> tuple[Bodies, Carried]:
    """Return bodies and coordinates for which all joints fit: those given, or with `assemble` those near them."""
    try:
        require_fit(carried, new, f"transfer to {new.mechanism.name!r}", length)
    except LoopError:
        near = assembled(carried, new, length) if assemble else None
        if near is None:
            raise
        moved = bodies_of(new, near[0], np.zeros((len(near[0]), new.nv)))
        # Twists stay as they are in the axes of the bodies.
        modes = {name: replace(own, rate=bodies.modes[name].rate) for name, own in moved.modes.items()}
        bodies = Bodies(moved.X, bodies.twist, modes)
        found = carry(bodies, new, near[0], np.zeros((len(near[0]), new.nv)), new, keep=False)
        return bodies, replace(found, q=near[0])
    return bodies, carried


def _jumps(bodies: Bodies, carried: Carried, length: float) -> np.ndarray:
    """Return in which states (states,) the new structure forbids part of the velocity."""
    fastest = sizes(bodies.twist, length).max(axis=-1)
    return np.asarray(sizes(carried.slip, length).max(axis=-1, initial=0.0) > NEGLIGIBLE * fastest)


def _opens_couplings(
    new: System, carried: Carried, length: float, negligible: float = NEGLIGIBLE
) -> np.ndarray:
    """Return in which states (states,) the new couplings forbid part of the velocity; an error tells where positions do
    not meet them."""
    if not new.plan.couplings:
        return np.zeros(len(carried.q), dtype=bool)
    position, velocity = new.closure(carried.q, carried.v)
    worst = float(np.abs(position).max(initial=0.0))
    if worst > FITS * max(1.0, length):
        raise LoopError(
            f"transfer to {new.mechanism.name!r}: positions of joints do not meet its couplings by {worst:.3g} rad or "
            "m; move them to where they do first, or choose the offset of the coupling."
        )
    fastest = np.abs(carried.v).max(axis=-1, initial=0.0)
    return np.asarray(np.abs(velocity).max(axis=-1, initial=0.0) > negligible * fastest)


def _driven_rates(new: System, driven: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    """Return the velocities (nv of the joint,) of joints that are driven, which must be in the tree."""
    if not isinstance(driven, Mapping):
        raise StateError(f"transfer: driven is {shown(driven)}; give a mapping from joints to velocities.")
    found = {}
    for name, value in driven.items():
        at = new.slice_v(known("joint of the tree", name, new.joints, "driven"))
        try:
            rate = np.atleast_1d(real_array(value))
        except ValueError as error:
            raise StateError(f"transfer: the velocity of {name!r} is no number: {error}.") from error
        if rate.shape != (at.stop - at.start,) or not np.isfinite(rate).all():
            raise StateError(
                f"transfer: the velocity of {name!r} is {shown(value)}; give {at.stop - at.start} finite numbers."
            )
        found[name] = rate
    return found


def _misses(new: System, carried: Carried, rates: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return in which states (states,) driven joints do not move as their drives want it."""
    found = np.zeros(len(carried.v), dtype=bool)
    fastest = np.abs(carried.v).max(axis=-1, initial=0.0)
    for name, rate in rates.items():
        missed = np.abs(carried.v[:, new.slice_v(name)] - rate).max(axis=-1)
        found |= missed > NEGLIGIBLE * np.maximum(fastest, np.abs(rate).max())
    return found


def _require_driven(hit: Impact, q: np.ndarray, rates: Mapping[str, np.ndarray]) -> None:
    """Raise an error unless joints can be driven as they are to be."""
    if not rates:
        return
    scales, speed = scales_of(hit.system.plan), np.abs(hit.v).max(axis=-1, initial=0.0, keepdims=True)
    opening = scales.errors(hit.system.closure(q, hit.v)[1])
    missed = [np.abs(hit.v[:, hit.system.slice_v(name)] - rate) for name, rate in rates.items()]
    if np.any(np.concatenate([np.abs(opening), *missed], axis=-1) > FITS * speed):
        some = ", ".join(repr(name) for name in rates)
        raise LoopError(
            f"transfer to {hit.system.mechanism.name!r}: its joints do not let {some} move as they are driven. Attach "
            "with more freedom, or end the drive first."
        )


def _require_held(
    system: System, new: System, after: Bodies, found: Carried, jumped: np.ndarray, length: float
) -> None:
    """Raise an error unless bodies that rebounded move as the old system lets them."""
    speed = sizes(with_points(after, system).twist, length).max(axis=-1)
    slips = sizes(found.slip, length) > (FITS * speed)[:, None]
    let_go = [found.joints[k] for k in np.flatnonzero(slips[jumped].any(axis=0))]
    if not let_go and (_opens_couplings(system, found, length, FITS) & jumped).any():
        let_go = list(system.mechanism.couplings)
    if let_go:
        some = ", ".join(repr(name) for name in let_go[:4])
        raise StateError(
            f"transfer: with restitution the result is a state of the old system, but {new.mechanism.name!r} lets go "
            f"of what {some} hold{'s' if len(let_go) == 1 else ''} there. Take two transfers: open joints by one "
            "and rebound by the next."
        )


def _lost_rotors(system: System, new: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the energy (states,) of rotors at joints of the old system that cannot move any more, or are not there."""
    energy = np.zeros(len(v))
    for name, joint in system.mechanism.joints.items():
        now = new.mechanism.joints.get(name)
        if joint.armature is not None and joint.dof and (now is None or now.dof == 0):
            energy += 0.5 * (system.joint_velocity(q, v, name) ** 2) @ joint.armature
    return energy


def _free_parts(
    system: System, groups: Sequence[Sequence[str]], before: Bodies, after: Bodies, batch: tuple[int, ...]
) -> tuple[FreePart, ...]:
    """Return groups of bodies with their momentum before and after, from poses and twists of all parts."""
    parts = parts_of(system)
    M, number = body_inertias(parts), {name: k for k, name in enumerate(parts.bodies)}
    points: dict[str, list[int]] = {name: [k] for name, k in number.items()}
    for name, joint in parts.joints.items():
        if joint.kind.is_modal and name == joint.name:
            points[joint.parent].append(number[joint.child])
    h = [np.einsum("sbij,sbi->sbj", x.X, np.einsum("bij,sbj->sbi", M, x.twist)) for x in (before, after)]
    found = []
    for names in groups:
        rows = [row for name in names for row in points[name]]
        summed = np.abs(h[0][:, rows]).sum(axis=1) + np.abs(h[1][:, rows]).sum(axis=1)
        size = np.maximum(summed.max(axis=-1, keepdims=True), 1e-300).reshape(*batch, 1)
        old, now = (x[:, rows].sum(axis=1).reshape(*batch, 6) for x in h)
        found.append(FreePart(tuple(names), old, now, size))
    return tuple(found)


def free_groups(mechanism: Mechanism, driven: Sequence[str] = ()) -> list[list[str]]:
    """Return the groups of bodies that joints hold together and that no joint holds to ground; joints that are driven
    hold."""
    groups = Groups(mechanism.bodies)
    for joint in mechanism.joints.values():
        if joint.dof < 6 or joint.name in driven:
            groups.join(joint.parent, joint.child)
    found: dict[str, list[str]] = {}
    for name in mechanism.bodies:
        found.setdefault(groups.top(name), []).append(name)
    return [names for first, names in found.items() if first != groups.top(GROUND)]
