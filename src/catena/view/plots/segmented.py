"""What a plot shows of a motion whose structure changes: curves that pause where a joint is not there."""

from __future__ import annotations

import numpy as np

from catena.simulation import SegmentedTrajectory
from catena.simulation.labels import joint_labels
from catena.view.plots.panels import TITLES, Curve, Panel


def segmented_panels(run: SegmentedTrajectory) -> list[Panel]:
    """Return panels of the positions of all joints of a single motion, by unit, and of its energy."""
    curves: dict[str, list[Curve]] = {}
    for joint in dict.fromkeys(name for part in run.segments for name in part.system.joints):
        owner = next(part.system for part in run.segments if joint in part.system.joints)
        values = run[joint]
        for k, label in enumerate(joint_labels(owner, joint, "position")):
            curves.setdefault(label.unit, []).append(Curve(label.text, values[..., k]))
    panels = [Panel(TITLES["position", unit], unit, tuple(group)) for unit, group in curves.items()]
    start = run.potential_energy[..., :1]
    energies = (
        Curve("kinetic", run.kinetic_energy),
        Curve("potential", run.potential_energy - start),
        Curve("total", np.asarray(run.energy - start)),
    )
    return [*panels, Panel("Energy (potential since the start)", "J", energies)]
