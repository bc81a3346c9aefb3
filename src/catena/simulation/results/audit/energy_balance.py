"""The energy of a run against the works done on its mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from catena.kinematics.extent import largest_coordinate
from catena.simulation.acting import loads

if TYPE_CHECKING:
    from catena.simulation.results.segment import Trajectory

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
    besides = run._besides_at(times, q)
    if run.driven:
        tau = loads.with_drives(run.system, q, v, tau, wrenches, run._driven_at(times), besides)
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
    ends = run.besides.at([0, -1]).near
    stored = float(np.max(np.abs(run.system.element_energy(run.q[..., [0, -1], :], ends)), initial=0.0))
    return mass * (0.5e-8 + 1e-6 * size * float(np.linalg.norm(plan.gravity))) + 1e-6 * stored + HEAT / ENERGY


def _exchanges_energy(run: Trajectory) -> bool:
    plan = run.system.plan
    rubs = any(x.any() for x in (plan.damping, plan.friction))
    rubs = rubs or any(loop.damping.any() or loop.friction.any() for loop in plan.loop_joints)
    spends = any(force.kind.spends for force in run.system.elements.placed)
    return bool(run.tau.any() or run.loop_forces or run.wrenches or run.driven or rubs or spends)
