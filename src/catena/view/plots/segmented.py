"""What a plot shows of a motion whose structure changes: curves that pause where a joint is not there."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.simulation import SegmentedTrajectory
from catena.simulation.results.labels import joint_labels
from catena.view import theme
from catena.view.plots.figure import figure_of, save_figure
from catena.view.plots.panels import Curve, Panel, panel_of
from catena.view.plotting import require_matplotlib


def plot_segments(run: SegmentedTrajectory, *, show: bool = False, path: Any = None) -> Any:
    """Draw the positions of all joints and the energy over one time axis, with a line at each change of structure, and
    return the matplotlib `Figure`."""
    pyplot = require_matplotlib()
    name = run.segments[0].system.mechanism.name
    figure = figure_of(run, segmented_panels(run), title=name, canvas=pyplot if show else None)
    for ax in figure.axes:
        for t in run.changes:
            ax.axvline(t, color=theme.FAINT_INK, linewidth=0.7)
    if path is not None:
        save_figure(figure, path)
    if show:
        pyplot.show()
    return figure


def segmented_panels(run: SegmentedTrajectory) -> list[Panel]:
    """Return panels of the positions of all joints of a single motion, by unit, of what contacts press with, and of its
    energy."""
    curves: dict[tuple[str, str], list[Curve]] = {}
    for joint in dict.fromkeys(name for part in run.segments for name in part.system.joints):
        owner = next(part.system for part in run.segments if joint in part.system.joints)
        values = run[joint]
        for k, label in enumerate(joint_labels(owner, joint, "position")):
            key = panel_of(joint, "position", label.unit)
            curves.setdefault(key, []).append(Curve(label.text, values[..., k]))
    panels = [Panel(title, unit, tuple(group)) for (title, unit), group in curves.items()]
    panels += contact_panels(run)
    start = run.potential_energy[..., :1]
    energies = (
        Curve("kinetic", run.kinetic_energy),
        Curve("potential", run.potential_energy - start),
        Curve("total", np.asarray(run.energy - start)),
    )
    return [*panels, Panel("Energy (potential since the start)", "J", energies)]


def contact_panels(run: SegmentedTrajectory) -> list[Panel]:
    """Return the panel of the forces across the planes of contacts, where there are contacts."""
    curves = tuple(Curve(name, force[..., 2]) for name, force in run.contact_forces.items())
    return [Panel("Contacts press with", "N", curves)] if curves else []
