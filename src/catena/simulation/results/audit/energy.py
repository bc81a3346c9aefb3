"""Whether the energy changes by the work done and nothing else, in words; and whether the works that a run counted are
the integrals of its powers, where joints are driven.

A prescribed motion follows its course whatever acts. What a step overlooks is missing in the work of the drive as it is
in that of the force, and the energy does not show it. Powers at samples do, where there are more of these than steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from catena.dynamics.tree.friction import rubs
from catena.errors import LoopError, StateError
from catena.kinematics.extent import largest_coordinate
from catena.simulation.acting import loads
from catena.simulation.results.audit.lines import COARSE, AuditLine, listed, percent, worst
from catena.simulation.results.batch import StateByState
from catena.structure import Plan

if TYPE_CHECKING:
    from catena.simulation.results.segment import Segment
    from catena.simulation.results.trajectory import Trajectory

# What a run at default tolerances stays well below, as a part of the energy that is moved about; where works are
# estimated from samples, the second.
ENERGY, ESTIMATED_ENERGY = 1e-5, 1e-3
# What heat moves anything about by at room temperature [J]; to miss less is nothing, also where bodies have no mass.
HEAT = 4e-21
# Gauss-Legendre points and weights on [0, 1]: works between samples to the sixth order.
_NODES, _WEIGHTS = (
    np.array([0.5 - np.sqrt(0.15), 0.5, 0.5 + np.sqrt(0.15)]),
    np.array([5.0, 8.0, 5.0]) / 18.0,
)
# Steps of fixed size that contacts land in are of second order, and are taken where a percent is good enough.
LANDING_ENERGY = 1e-2
# So many samples are quicker one by one than together.
FEW = 4
# So many samples at least say something.
LEAST = 9
# Integrals over all samples are trusted to so many times their difference to those over every second.
TRUST = 3.0
# The drives' own work is what the others leave over.
COMPARED = ("actuators", "friction", "wrenches")


def energy(run: Segment) -> list[AuditLine]:
    """Return how much the energy changes beyond the work that is known."""
    try:
        balance = balance_of_segment(run)
    except (LoopError, StateError) as error:
        text = (
            f"The samples are too far apart to tell what work was done between them, so the energy says nothing: "
            f"{error}"
        )
        return [AuditLine("energy", np.nan, np.inf, "", "note", text)]
    bound = _bound(run, balance)
    value, where = worst(run, np.abs(balance.rest) / np.maximum(balance.moved, 1e-300)[..., None])
    size = f"{percent(value)} of the {float(np.max(balance.moved)):.3g} J that were moved about"
    known = f" the work of {listed(list(balance.works))}" if balance.works else ""
    if not balance.is_estimate:
        beyond = f" beyond{known}" if known else ""
        if value <= bound:
            text = f"The energy changes by at most {size}{beyond}: the motion is accurate in this respect."
            return [AuditLine("energy", value, bound, "", "ok", text)]
        text = (
            f"The energy changes by {size}{beyond}, most at {where}, and should not change: the steps are too large "
            f"for this motion. Take a smaller step or rtol, or an integrator of higher order."
        )
        return [AuditLine("energy", value, bound, "", "warn", text)]
    text = (
        f"The energy changes by at most {size} beyond{known}, which was not counted during the run but estimated from "
        f"the samples"
    )
    if value <= bound:
        return [
            AuditLine(
                "energy", value, bound, "", "ok", f"{text}: as far as that tells, the motion is accurate."
            )
        ]
    if COARSE * len(run.t) < run.steps:
        text += f"; most at {where}. With {run.steps} steps between {len(run.t)} samples that says little."
        return [AuditLine("energy", value, bound, "", "note", text)]
    text += (
        f"; most at {where}. Either the samples are too far apart for forces that vary between them, or the steps are "
        f"too large for this motion: take more samples, and if this stays, a smaller step or rtol."
    )
    return [AuditLine("energy", value, bound, "", "warn", text)]


def is_energy_fine(run: Segment) -> bool:
    """Return whether nothing need be warned of, or said: the energy changes by less than its bound."""
    if len(run.t) <= FEW and not (run.batch or run.work or run.lands) and not exchanges_energy(run):
        T, V = (x.tolist() for x in run.energies)
        each, least = list(zip(T, V, strict=True)), least_energy(run)
        moved = max(t + abs(x - V[0]) for t, x in each) + least
        return all(abs(t + x - (T[0] + V[0])) <= ENERGY * moved for t, x in each)
    balance = balance_of_segment(run)
    return bool((np.abs(balance.rest).max(axis=-1) <= _bound(run, balance) * balance.moved).all())


def _bound(run: Segment, balance: Balance) -> float:
    return LANDING_ENERGY if run.lands else ESTIMATED_ENERGY if balance.is_estimate else ENERGY


def work(run: Segment) -> list[AuditLine]:
    """Return how far the works differ from the integrals of the powers over the samples, beyond what these leave
    open. Where there are more steps than samples, it is the steps that have seen more."""
    if not run.driven or not run.work or len(run.t) < max(LEAST, run.steps):
        return []
    moved = balance_of_segment(run).moved
    found = []
    for name in COMPARED:
        power, t = run.power[name], run.t
        fine, coarse = _integral(t, power)[..., ::2], _integral(t[::2], power[..., ::2])
        moved = moved + np.max(np.abs(fine), axis=-1)
        missed = np.abs(run.work[name][..., ::2] - fine) - TRUST * np.abs(fine - coarse)
        found.append((name, np.repeat(np.maximum(missed, 0.0), 2, axis=-1)[..., : len(t)]))
    lines = []
    for name, missed in found:
        value, where = worst(run, missed / np.maximum(moved, 1e-300)[..., None])
        if value > ESTIMATED_ENERGY:
            text = (
                f"The work of {name} differs from the integral of its power over the samples by {percent(value)} of "
                f"the {float(np.max(moved)):.3g} J that were moved about, most at {where}: the steps are too large for "
                f"what acts while joints are driven. Take a smaller step or rtol, or an adaptive integrator."
            )
            lines.append(AuditLine("work", value, ESTIMATED_ENERGY, "", "warn", text))
    return lines


def _integral(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the integral of x (..., n) over t (n,) from its start, by trapezoids."""
    found = np.zeros(x.shape)
    np.cumsum(0.5 * (x[..., 1:] + x[..., :-1]) * np.diff(t), axis=-1, out=found[..., 1:])
    return found


def works_of_segment(run: Segment) -> tuple[dict[str, np.ndarray], bool]:
    """Return the works (..., samples) since the start by source, and whether they are an estimate: those the
    simulation kept count of, or else the integral of the powers along the interpolated motion by three Gauss points
    an interval."""
    if run.work or len(run.t) < 2:
        return {name: work for name, work in run.work.items() if np.any(work)}, False
    if not exchanges_energy(run):
        return {}, False
    h = np.diff(run.t)
    times = (run.t[:-1, None] + h[:, None] * _NODES).ravel()
    q, v = run.at(times)
    tau, wrenches = run.between.forces_at(times), run.between.wrenches_at(times)
    besides = run.between.besides_at(times, q)
    if run.driven:
        tau = loads.with_drives(run.system, q, v, tau, wrenches, run.between.driven_at(times), besides)
    found = {}
    for name, power in loads.powers(run.system, q, v, tau, wrenches, run.driven, besides).items():
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


def balance_of_segment(run: Segment) -> Balance:
    """Compare the energy of a motion of one structure with the work done on its mechanism."""
    done, is_estimate = works_of_segment(run)
    kinetic, potential = run.energies
    energy = kinetic + potential
    rest = energy - energy[..., :1]
    moved = (kinetic + np.abs(potential - potential[..., :1])).max(axis=-1) + least_energy(run)
    for work in done.values():
        moved = moved + np.max(np.abs(work), axis=-1)
        # A run that was resampled may begin when work has been done already.
        rest = rest - (work - work[..., :1])
    return Balance(rest, moved, done, is_estimate)


def energy_balance(run: Trajectory) -> Balance:
    """Compare the energy of a run with the work done on its mechanism. What is lost or gained between two segments is
    left out."""
    if isinstance(run, StateByState):
        return _stacked([energy_balance(one) for one in run.states], run.batch)
    parts = [balance_of_segment(part) for part in run.segments]
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part.works)
    rest = _behind_each_other([part.rest for part in parts])
    done = {
        name: _behind_each_other([part.works.get(name, np.zeros(part.rest.shape)) for part in parts])
        for name in names
    }
    moved = np.max([part.moved for part in parts], axis=0)
    return Balance(rest, moved, done, any(part.is_estimate for part in parts))


def works(run: Trajectory) -> tuple[dict[str, np.ndarray], bool]:
    """Return the works (..., samples) since the start by source, and whether they are an estimate."""
    balance = energy_balance(run)
    return balance.works, balance.is_estimate


def _behind_each_other(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return sums (..., samples) that go on from segment to segment."""
    total, found = np.zeros(parts[0].shape[:-1]), []
    for part in parts:
        found.append(part - part[..., :1] + total[..., None])
        total = found[-1][..., -1]
    return np.concatenate(found, axis=-1)


def _stacked(states: Sequence[Balance], batch: tuple[int, ...]) -> Balance:
    """Return the balances of all states of a batch as one."""
    names = dict.fromkeys(name for one in states for name in one.works)

    def rows(parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.stack(parts).reshape(*batch, *parts[0].shape)

    done = {name: rows([one.works.get(name, np.zeros(one.rest.shape)) for one in states]) for name in names}
    is_estimate = any(one.is_estimate for one in states)
    return Balance(rows([x.rest for x in states]), rows([x.moved for x in states]), done, is_estimate)


def least_energy(run: Segment) -> float:
    """Return an energy that is nothing for this mechanism: what it takes to move it at 0.1 mm/s and to lift it by a
    micrometre, or by a millionth of its size if that is more, and a millionth of what its springs store. A structure
    that cannot move has nothing else to be compared with but the rounding of where its bodies are."""
    found = _least_motion(run.system.plan)
    mechanics = run.system.mechanics
    if mechanics.acts and not mechanics.elements.is_empty:
        ends = run.besides.at([0, -1]).near
        stored = float(np.max(np.abs(run.system.forces.energy(run.q[..., [0, -1], :], ends)), initial=0.0))
        found += 1e-6 * stored
    return found


@lru_cache(maxsize=64)
def _least_motion(plan: Plan) -> float:
    """Return the part of it that springs do not have."""
    mass, size = float(plan.inertia[1:, 0].sum()), max(1.0, largest_coordinate(plan))
    return mass * (0.5e-8 + 1e-6 * size * float(np.linalg.norm(plan.gravity))) + HEAT / ENERGY


def exchanges_energy(run: Segment) -> bool:
    """Return whether something does work on the mechanism of a run that kept no count of it."""
    if run.loop_forces or run.wrenches or run.driven or rubs(run.system.plan) or np.count_nonzero(run.tau):
        return True
    mechanics = run.system.mechanics
    return mechanics.acts and any(force.kind.spends for force in mechanics.elements.placed)
