"""A run that checks itself: what must hold for any motion, how far it is off, and what to do about it, in words."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from catena import dynamics
from catena.errors import CatenaError, CatenaWarning, LoopError, StateError
from catena.joints import Free, JointKind, Spherical, described
from catena.kinematics.extent import largest_coordinate
from catena.kinematics.scales import scales_of
from catena.mechanism import MODES
from catena.simulation import loads
from catena.simulation.faults import joint_of
from catena.simulation.trajectory import Trajectory

Level = Literal["ok", "note", "warn"]

# What a run at default tolerances stays well below; relative, but for loops [rad or sizes of the mechanism; per second
# for a speed of 1 or less, and for more a part of it], limits [m or rad] and quaternions.
ENERGY, ESTIMATED_ENERGY, MOMENTUM = 1e-5, 1e-3, 1e-6
# With more steps than this for a sample, samples do not show what happened between them.
COARSE = 3
CLOSURE, CLOSURE_RATE, QUATERNION, LIMIT = 1e-8, 1e-6, 1e-9, 1e-2
# Positions may move by so much otherwise than velocities say, measured by this part at least of the largest motion from
# sample to sample; what moves less than STILL [rad or sizes] stands still.
VELOCITY, PART, STILL = 0.2, 0.05, 1e-7
# What heat moves anything about by at room temperature [J]; to miss less is nothing, also where bodies have no mass.
HEAT = 4e-21
# A force so close to the limit of its actuator is at the limit.
AT_LIMIT = 1e-9
# A deflection up to this part of a body's length is small: modes are good to about one part in a hundred there.
SMALL_RANGE = 0.13
# Gauss-Legendre points and weights on [0, 1]: works between samples to the sixth order.
_NODES, _WEIGHTS = (
    np.array([0.5 - np.sqrt(0.15), 0.5, 0.5 + np.sqrt(0.15)]),
    np.array([5.0, 8.0, 5.0]) / 18.0,
)


@dataclass(frozen=True)
class Line:
    """One thing that was checked: its name, the worst `value` found, the `bound` it should stay below, and a sentence
    that says what this means. `level` is "ok", "note" (worth knowing, nothing wrong) or "warn"."""

    name: str
    value: float
    bound: float
    unit: str
    level: Level
    text: str

    @property
    def ok(self) -> bool:
        """Return whether there is nothing to warn of."""
        return self.level != "warn"


@dataclass(frozen=True)
class Audit:
    """The lines of an audit; print it to read them."""

    mechanism: str
    lines: tuple[Line, ...]

    @property
    def ok(self) -> bool:
        """Return whether no line warns."""
        return all(line.ok for line in self.lines)

    def __getitem__(self, name: str) -> Line:
        """Return the line with a name, such as "energy"."""
        for line in self.lines:
            if line.name == name:
                return line
        raise KeyError(
            f"the audit has no line {name!r}: there are {', '.join(line.name for line in self.lines)}"
        )

    def __contains__(self, name: str) -> bool:
        return any(line.name == name for line in self.lines)

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    def __str__(self) -> str:
        verdict = "nothing to warn of" if self.ok else "look at the lines marked 'warn'"
        wide = max(len(line.name) for line in self.lines)
        text = [f"Audit of {self.mechanism!r}: {verdict}."]
        for line in self.lines:
            head = f"  {line.level:<4}  {line.name:<{wide}}  "
            text.append(textwrap.fill(line.text, 110, initial_indent=head, subsequent_indent=" " * len(head)))
        return "\n".join(text)

    def warn(self, stacklevel: int = 2) -> None:
        """Issue a `CatenaWarning` for each line that warns."""
        for line in self.lines:
            if not line.ok:
                warnings.warn(f"{self.mechanism!r}: {line.text}", CatenaWarning, stacklevel=stacklevel + 1)


def audit(run: Trajectory) -> Audit:
    """Check a run: energy against work, positions against velocities, momentum where nothing outside acts, loops,
    quaternions, limits, actuators. What cannot be checked is said in a line of its own."""
    lines: list[Line] = []
    for name, check in (
        ("end", _end), ("energy", _energy), ("velocities", _velocities), ("momentum", _momentum), ("loops", _closure),
        ("quaternions", _quaternions), ("limits", _limits), ("actuators", _actuators), ("deformation", _deformation),
    ):  # fmt: skip
        try:
            lines += check(run)
        except (CatenaError, np.linalg.LinAlgError) as error:
            text = f"The {name} of this run could not be checked: {error}"
            lines.append(Line(name, np.nan, np.inf, "", "note", text))
    return Audit(run.system.mechanism.name, tuple(lines))


def works(run: Trajectory) -> tuple[dict[str, np.ndarray], bool]:
    """Return the works (..., samples) since the start by source, and whether they are an estimate: those the
    simulation kept count of, or else the integral of the powers along the interpolated motion by three Gauss points
    an interval."""
    if run.work or len(run.t) < 2:
        return {name: work for name, work in run.work.items() if np.any(work)}, False
    if not _exchanges_energy(run):
        return {}, False
    h = np.diff(run.t)
    times = (run.t[:-1, None] + h[:, None] * _NODES).ravel()
    q, v = run.at(times)
    tau, wrenches = run._forces_at(times), run._wrenches_at(times)
    if run.driven:
        tau = loads.with_drives(run.system, q, v, tau, wrenches, run._driven_at(times))
    found = {}
    for name, power in loads.powers(run.system, q, v, tau, wrenches, run.driven).items():
        gained = (power.reshape(*run.batch, len(h), 3) @ _WEIGHTS) * h
        total = np.zeros(run.q.shape[:-1])
        np.cumsum(gained, axis=-1, out=total[..., 1:])
        if total.any():
            found[name] = total
    return found, True


@dataclass(frozen=True, eq=False)
class Balance:
    """What the energy changes beyond the works done, `rest` (..., samples); the energy `moved` about at all (...),
    which says how much that is; the `works` (..., samples) by source, and whether they are an estimate."""

    rest: np.ndarray
    moved: np.ndarray
    works: dict[str, np.ndarray]
    is_estimate: bool


def energy_balance(run: Trajectory) -> Balance:
    """Compare the energy of a run with the work done on its mechanism."""
    done, is_estimate = works(run)
    rest = run.energy - run.energy[..., :1]
    potential = np.abs(run.potential_energy - run.potential_energy[..., :1])
    moved = np.max(run.kinetic_energy + potential, axis=-1) + _least_energy(run)
    for work in done.values():
        moved = moved + np.max(np.abs(work), axis=-1)
        rest = rest - work
    return Balance(rest, moved, done, is_estimate)


def _least_energy(run: Trajectory) -> float:
    """Return an energy that is nothing for this mechanism: what it takes to move it at 0.1 mm/s and to lift it by a
    micrometre, or by a millionth of its size if that is more, and a millionth of what its springs store. A structure
    that cannot move has nothing else to be compared with but the rounding of where its bodies are."""
    plan = run.system.plan
    mass, size = float(plan.inertia[1:, 0].sum()), max(1.0, largest_coordinate(plan))
    stored = float(np.max(np.abs(run.system.element_energy(run.q[..., [0, -1], :])), initial=0.0))
    return mass * (0.5e-8 + 1e-6 * size * float(np.linalg.norm(plan.gravity))) + 1e-6 * stored + HEAT / ENERGY


def _exchanges_energy(run: Trajectory) -> bool:
    plan = run.system.plan
    rubs = any(x.any() for x in (plan.damping, plan.friction))
    rubs = rubs or any(loop.damping.any() or loop.friction.any() for loop in plan.loop_joints)
    spends = any(force.kind.spends for force in run.system.elements.placed)
    return bool(run.tau.any() or run.wrenches or run.driven or rubs or spends)


def _end(run: Trajectory) -> list[Line]:
    if not run.ended:
        return []
    reason = run.ended[0].upper() + run.ended[1:].rstrip(".")
    return [
        Line(
            "end",
            float(run.t[-1]),
            np.inf,
            "s",
            "note",
            f"The run stopped at t = {run.t[-1]:.6g} s. {reason}.",
        )
    ]


def _energy(run: Trajectory) -> list[Line]:
    try:
        balance = energy_balance(run)
    except (LoopError, StateError) as error:
        text = (
            f"The samples are too far apart to tell what work was done between them, so the energy says nothing: "
            f"{error}"
        )
        return [Line("energy", np.nan, np.inf, "", "note", text)]
    bound = ESTIMATED_ENERGY if balance.is_estimate else ENERGY
    value, where = _worst(run, np.abs(balance.rest) / np.maximum(balance.moved, 1e-300)[..., None])
    size = f"{_percent(value)} of the {float(np.max(balance.moved)):.3g} J that were moved about"
    known = f" the work of {_listed(list(balance.works))}" if balance.works else ""
    if not balance.is_estimate:
        beyond = f" beyond{known}" if known else ""
        if value <= bound:
            text = f"The energy changes by at most {size}{beyond}: the motion is accurate in this respect."
            return [Line("energy", value, bound, "", "ok", text)]
        text = (
            f"The energy changes by {size}{beyond}, most at {where}, and should not change: the steps are too large "
            f"for this motion. Take a smaller step or rtol, or an integrator of higher order."
        )
        return [Line("energy", value, bound, "", "warn", text)]
    text = (
        f"The energy changes by at most {size} beyond{known}, which was not counted during the run but estimated from "
        f"the samples"
    )
    if value <= bound:
        return [
            Line("energy", value, bound, "", "ok", f"{text}: as far as that tells, the motion is accurate.")
        ]
    if COARSE * len(run.t) < run.steps:
        text += f"; most at {where}. With {run.steps} steps between {len(run.t)} samples that says little."
        return [Line("energy", value, bound, "", "note", text)]
    text += (
        f"; most at {where}. Either the samples are too far apart for forces that vary between them, or the steps are "
        f"too large for this motion: take more samples, and if this stays, a smaller step or rtol."
    )
    return [Line("energy", value, bound, "", "warn", text)]


def _velocities(run: Trajectory) -> list[Line]:
    """Return whether positions move as velocities say. Between two samples they move by h (v0 + v1) / 2 + h^2 (a0 -
    a1) / 12 up to the fifth power of h; intervals in which the second term is not small say nothing."""
    # Of a batch that stopped early some states rest at their end with the velocity they came with.
    if len(run.t) < 2 or (run.ended and run.batch):
        return []
    h = np.diff(run.t)[:, None]
    moved = run.system.difference(run.q[..., :-1, :], run.q[..., 1:, :])
    start, end = run._end_accelerations
    mean = 0.5 * h * (run.v[..., :-1, :] + run.v[..., 1:, :])
    bent = h * h * (start - end) / 12.0
    off = np.abs(moved - mean - bent)
    size = np.maximum(np.abs(moved), 0.5 * h * (np.abs(run.v[..., :-1, :]) + np.abs(run.v[..., 1:, :])))
    # A joint that hardly moves, and a start from rest, are measured by the rest of the motion, and by what is nothing:
    # in the first step of a method of first order nothing moves at all.
    least = STILL * scales_of(run.system.plan).units + PART * np.max(size, axis=(-1, -2), keepdims=True)
    turned = np.zeros_like(off, dtype=bool)
    for i in range(1, run.system.plan.n):
        kind, first = run.system.plan.kind[i], int(run.system.plan.v_start[i])
        if kind is not None and kind.turning:
            own = slice(first, first + kind.nv)
            turned[..., own] = np.max(np.abs(mean[..., own]), axis=-1, keepdims=True) > 1.0
    told = (np.abs(bent) < 0.1 * (size + least)) & ~turned
    part = np.where(told, off / (size + least), 0.0)
    value, where = _worst(run, np.concatenate([np.zeros((*run.batch, 1)), np.max(part, axis=-1)], axis=-1))
    if value <= VELOCITY:
        text = f"Positions move as velocities say, to {_percent(value)} from sample to sample."
        return [Line("velocities", value, VELOCITY, "", "ok", text)]
    component = np.unravel_index(int(np.argmax(part)), part.shape)[-1]
    joint = joint_of(run.system, int(component))
    text = (
        f"Joint {joint!r} moves otherwise than its velocity says, by {_percent(value)} just before {where}: the states "
        f"do not belong to one motion, or the samples are too far apart for it."
    )
    # With many steps between two samples these do not show what happened there.
    level: Level = "note" if COARSE * len(run.t) < run.steps else "warn"
    return [Line("velocities", value, VELOCITY, "", level, text)]


def _momentum(run: Trajectory) -> list[Line]:
    """Return linear momentum less the impulse of gravity, and angular momentum about the mass centre."""
    system = run.system
    mass = float(system.plan.inertia[1:, 0].sum())
    if system.origin is not system:
        # Masses and gravity may differ from state to state.
        return []
    # Of a batch that stopped early some states rest at their end while others go on.
    if mass == 0.0 or (run.ended and run.batch) or not is_free_flying(run):
        return []
    c, h = system.center_of_mass(run.q), run.momentum
    linear = h[..., 3:] - mass * system.plan.gravity * (run.t - run.t[0])[:, None]
    angular = h[..., :3] - np.cross(c, h[..., 3:])
    speed = np.sqrt(2.0 * np.max(run.kinetic_energy) / mass)
    inside = run.kinetic_energy - np.einsum("...i,...i->...", h[..., 3:], h[..., 3:]) / (2.0 * mass)
    # A mechanism that does not turn has no angular momentum to compare with, but for rounding of the rest.
    turning = max(float(np.max(inside)), 1e-8 * float(np.max(run.kinetic_energy)))
    scales = mass * speed, np.sqrt(2.0 * turning * _moment_of_inertia(run, c))
    impulse = ", but for the impulse of gravity," if system.plan.gravity.any() else ""
    lines = []
    for name, what, x, scale in (
        ("linear momentum", f"the linear momentum{impulse}", linear, scales[0]),
        ("angular momentum", "the angular momentum about the mass centre", angular, scales[1]),
    ):
        off = np.linalg.norm(x - x[..., :1, :], axis=-1) / max(float(scale), 1e-300)
        value, where = _worst(run, off)
        if value <= MOMENTUM:
            text = f"Nothing outside pushes the mechanism, and {what} stays the same to {_percent(value)}."
            lines.append(Line(name, value, MOMENTUM, "", "ok", text))
        else:
            text = (
                f"Nothing outside pushes the mechanism, yet {what} changes by {_percent(value)}, most at {where}. "
                f"Take a smaller step or rtol."
            )
            lines.append(Line(name, value, MOMENTUM, "", "warn", text))
    return lines


def is_free_flying(run: Trajectory) -> bool:
    """Return whether the mechanism touches ground through free joints only and nothing outside acts on it but
    gravity."""
    plan = run.system.plan
    if run.wrenches or any(force.is_from_outside for force in run.system.elements.placed):
        return False
    for i in range(1, plan.n):
        if plan.parent[i] == 0:
            kind = plan.kind[i]
            columns = slice(int(plan.v_start[i]), int(plan.v_start[i] + plan.v_size[i]))
            acts = (plan.damping[columns], plan.friction[columns], run.tau[..., columns])
            if not isinstance(described(kind), Free):
                return False
            if plan.joint[i] in run.driven or any(x.any() for x in acts):
                return False
    for loop in plan.loop_joints:
        if 0 in (loop.parent_node, loop.child_node):
            if loop.constraints or loop.damping.any() or loop.friction.any():
                return False
    return True


def _moment_of_inertia(run: Trajectory, c: np.ndarray) -> float:
    """Return the largest sum of the principal moments about the mass centre, as a scale."""
    rows = np.ascontiguousarray(run.q.reshape(-1, run.system.nq))
    inertia = run.system.program(dynamics.total_inertia).run({"q": rows}, len(rows))[1]["Ic"]
    about_ground = inertia[:, 4] + inertia[:, 7] + inertia[:, 9]
    return float(np.max(about_ground - 2.0 * inertia[:, 0] * np.sum(c.reshape(-1, 3) ** 2, axis=-1)))


def _closure(run: Trajectory) -> list[Line]:
    if not run.system.constrained:
        return []
    scales = scales_of(run.system.plan)
    position, rate = (np.max(np.abs(scales.errors(x)), axis=-1) for x in run.system.closure(run.q, run.v))
    speed = float(np.max(np.abs(run.v / scales.units), initial=1.0))
    lines = []
    for name, what, x, bound, unit in (
        ("loops", "are open by", position, CLOSURE, "rad or sizes"),
        ("loop velocities", "move apart by", rate, CLOSURE_RATE * speed, "rad/s or sizes/s"),
    ):
        value, where = _worst(run, x)
        if value <= bound:
            lines.append(
                Line(name, value, bound, unit, "ok", f"The loops {what} at most {value:.2g} {unit}.")
            )
        else:
            text = (
                f"The loops {what} {value:.3g} {unit} at {where}. With drift='projection' they stay closed."
            )
            lines.append(Line(name, value, bound, unit, "warn", text))
    return lines


def _quaternions(run: Trajectory) -> list[Line]:
    plan = run.system.plan
    lengths = [
        np.abs(np.linalg.norm(run.q[..., end - 4 : end], axis=-1) - 1.0)
        for end in (
            int(plan.q_start[i] + plan.q_size[i]) for i in range(1, plan.n) if _is_turned(plan.kind[i])
        )
    ]
    if not lengths:
        return []
    value, where = _worst(run, np.max(lengths, axis=0))
    if value <= QUATERNION:
        text = f"Quaternions have length 1 to {value:.2g}."
        return [Line("quaternions", value, QUATERNION, "", "ok", text)]
    text = (
        f"A quaternion is off length 1 by {value:.3g} at {where}. Catena's own steps keep it; if these states come "
        f"from elsewhere, divide by the length."
    )
    return [Line("quaternions", value, QUATERNION, "", "warn", text)]


def _is_turned(kind: JointKind | None) -> bool:
    return isinstance(described(kind), Free | Spherical)


def _limits(run: Trajectory) -> list[Line]:
    """Return how far joints went beyond their limits: all stops give way, those that should be rigid by very
    little."""
    worst: dict[bool, tuple[float, str]] = {}
    for name, joint in run.system.mechanism.joints.items():
        if joint.limits is None or name not in (*run.system.joints, *run.system.loops):
            continue
        x = run[name]
        if joint.kind.nq != joint.kind.nv:
            rows = x.reshape(-1, joint.kind.nq)
            shift = np.array([joint.kind.difference(joint.kind.neutral(), row) for row in rows])
            x = shift.reshape(*x.shape[:-1], joint.kind.nv)
        beyond = np.max(np.maximum(joint.limits[:, 0] - x, x - joint.limits[:, 1]), axis=-1)
        value, where = _worst(run, np.maximum(beyond, 0.0))
        is_elastic = joint.limit_stiffness is not None
        words = f"that of joint {name!r} by {value:.3g} rad or m at {where}"
        worst[is_elastic] = max(worst.get(is_elastic, (0.0, "")), (value, words))
    lines = []
    for is_elastic, (value, words) in sorted(worst.items()):
        name, bound = ("elastic limits", np.inf) if is_elastic else ("limits", LIMIT)
        if value == 0.0:
            lines.append(Line(name, value, bound, "rad or m", "ok", "All joints stay within their limits."))
        elif value <= bound:
            text = f"Joints press against their stops, which give way, most of all {words}."
            lines.append(Line(name, value, bound, "rad or m", "note", text))
        else:
            text = (
                f"Joints are far beyond their limits: the stops give way, most of all {words}. Check that the motion "
                f"starts within the limits and what drives it there, or end the run before with an event."
            )
            lines.append(Line(name, value, bound, "rad or m", "warn", text))
    return lines


def _actuators(run: Trajectory) -> list[Line]:
    """Return how long actuators gave all they can, and what acted where there is none."""
    shares = {}
    for name, actuator in run.system.mechanism.actuators.items():
        limits = actuator.joint_limits
        if actuator.joint not in run.system.joints or not np.isfinite(limits).any():
            continue
        tau = run.force(actuator.joint)[..., list(actuator.components)]
        slack = AT_LIMIT * np.abs(limits)
        full = (tau <= limits[:, 0] + slack[:, 0]) | (tau >= limits[:, 1] - slack[:, 1])
        shares[name] = float(np.mean(np.any(full, axis=-1)))
    idle = [joint for joint in _idle_joints(run) if joint not in run.driven]
    if idle:
        text = (
            f"The controller gave forces at joints that are not actuated, and they acted: "
            f"{', '.join(map(repr, idle))}. Add these joints with actuated=True, or let the controller give zero."
        )
        return [Line("actuators", float(len(idle)), 0.0, "", "warn", text)]
    if not shares:
        return []
    busiest = max(shares, key=shares.__getitem__)
    value = shares[busiest]
    if value == 0.0:
        return [Line("actuators", 0.0, np.inf, "", "ok", "No actuator reaches its limit.")]
    others = sum(share > 0.0 for share in shares.values()) - 1
    more = f" and {others} more" if others else ""
    text = (
        f"Actuator {busiest!r}{more} gives all it can, in {100.0 * value:.3g} % of the samples: what the controller "
        f"asked for beyond that did not act."
    )
    return [Line("actuators", value, np.inf, "", "note", text)]


def _deformation(run: Trajectory) -> list[Line]:
    """Return how far flexible bodies are deformed, as a part of their length."""
    lines = []
    for name, body in run.system.mechanism.bodies.items():
        if body.flexible is None or name + MODES not in run.system.joints:
            continue
        value, when = _worst(run, body.flexible.deflection(run[name + MODES]))
        text = f"Body {name!r} deflects by up to {_percent(value)} of its length."
        if value <= SMALL_RANGE:
            lines.append(Line(f"deformation of {name}", value, SMALL_RANGE, "", "ok", text))
            continue
        text = (
            f"Body {name!r} deflects by {_percent(value)} of its length, most at {when}, which is beyond the small "
            f"range (up to {_percent(SMALL_RANGE)}) that modes hold in: split it into segments with ct.segmented, or "
            f"into several flexible bodies."
        )
        lines.append(Line(f"deformation of {name}", value, SMALL_RANGE, "", "warn", text))
    return lines


def _idle_joints(run: Trajectory) -> list[str]:
    """Return the joints that are not actuated and got forces all the same; none where motors of loop joints act through
    them."""
    if any(actuator.joint in run.system.loops for actuator in run.system.mechanism.actuators.values()):
        return []
    forced = np.any(run.tau.reshape(-1, run.tau.shape[-1]) != 0.0, axis=0) & ~run.system.plan.actuated
    return list(dict.fromkeys(joint_of(run.system, int(k)) for k in np.flatnonzero(forced)))


def _worst(run: Trajectory, x: np.ndarray) -> tuple[float, str]:
    """Return the largest entry of x (..., samples), and where it is, in words."""
    at = np.unravel_index(int(np.argmax(x)), x.shape)
    *state, sample = (int(k) for k in at)
    index = f" in state {state[0] if len(state) == 1 else tuple(state)}" if state else ""
    return float(x[at]), f"t = {run.t[sample]:.4g} s{index}"


def _percent(part: float) -> str:
    return f"{100.0 * part:.2g} %" if part >= 1e-4 else f"a part {part:.1e}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
