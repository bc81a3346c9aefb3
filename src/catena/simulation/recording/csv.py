"""A run as a table: one row for each sample, one column for each number."""

from __future__ import annotations

import csv
import io
from math import prod

import numpy as np

from catena.simulation.labels import labels
from catena.simulation.trajectory import Trajectory


def write(run: Trajectory) -> bytes:
    """Return the table as text: the time t, coordinates q.joint, velocities v.joint, control forces tau.joint,
    energies and the error of the loops, in SI units and to the last digit. A batch has a first column `state`, which
    counts its states in the order of a flattened array."""
    names, columns = table(run)
    stream = io.StringIO(newline="")
    out = csv.writer(stream)
    out.writerow(names)
    # A state is a whole number, all others are written so that they read back to the same bits.
    is_batch = bool(run.batch)
    for row in columns.tolist():
        out.writerow([int(row[0]), *map(repr, row[1:])] if is_batch else map(repr, row))
    return stream.getvalue().encode("utf-8")


def table(run: Trajectory) -> tuple[list[str], np.ndarray]:
    """Return the names of the columns and their numbers, (states x samples, columns)."""
    states, samples = prod(run.batch), len(run.t)
    names, parts = ["t"], [np.tile(run.t, states)[:, None]]
    if run.batch:
        names, parts = ["state", *names], [np.repeat(np.arange(states), samples)[:, None], *parts]
    positions, velocities = labels(run.system, "position"), labels(run.system, "velocity")
    for prefix, titles, x in (
        ("q", positions, run.q),
        ("v", velocities, run.v),
        ("tau", velocities, run.tau),
    ):
        names += [f"{prefix}.{label.key}" for label in titles]
        parts.append(x.reshape(states * samples, -1))
    results = {"kinetic_energy": run.kinetic_energy, "potential_energy": run.potential_energy}
    if run.system.constrained:
        results["closure"] = run.closure
    results |= {f"work.{name}": work for name, work in run.work.items()}
    names += list(results)
    parts += [x.reshape(-1, 1) for x in results.values()]
    return names, np.concatenate(parts, axis=1)
