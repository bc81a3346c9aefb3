"""What a plot shows: panels of curves with names and units, made from a run without drawing anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.mechanism import MODES
from catena.mechanism.validation import known
from catena.simulation import Trajectory
from catena.simulation.results.audit import energy_balance
from catena.simulation.results.labels import Quantity, joint_labels
from catena.view.course import Course

# An error of zero has no place on a logarithmic axis; this is below the rounding of anything of size 1.
NO_ERROR = 1e-17

TITLES = {
    ("position", "rad"): "Angles",
    ("position", "m"): "Displacements",
    ("position", ""): "Orientations (quaternions)",
    ("velocity", "rad/s"): "Angular velocities",
    ("velocity", "m/s"): "Velocities",
    ("force", "N m"): "Control moments",
    ("force", "N"): "Control forces",
}


MODAL: dict[Quantity, str] = {
    "position": "Amplitudes of modes", "velocity": "Rates of modes", "force": "Forces on modes",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Curve:
    """Values over time, (..., samples), with a name; `dashed` for what accompanies other curves."""

    name: str
    values: np.ndarray
    dashed: bool = False


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves over time that share an axis."""

    title: str
    unit: str
    curves: tuple[Curve, ...]
    logarithmic: bool = False
    is_detail: bool = False
    """Whether it says how well something was computed, or the same as others in other words: pages fold it away."""


@dataclass(frozen=True, eq=False)
class PathPanel:
    """The way (..., samples, 3) of a point through space."""

    title: str
    points: np.ndarray


AnyPanel = Panel | PathPanel


def default_panels(run: Trajectory) -> list[AnyPanel]:
    """Return what people want to see first."""
    names = ["positions", "velocities"]
    names += ["forces"] if any(np.any(part.tau) for part in run.all_segments) else []
    names += ["contacts"] if run.contact_forces else []
    names += ["energy"]
    names += ["closure"] if _is_constrained(run) else []
    return [panel for name in names for panel in PANELS[name](run)]


def chosen_panels(run: Trajectory, what: Sequence[Any]) -> list[AnyPanel]:
    """Return the panels for words (see PANELS), joints, lists of joints, and frames or bodies."""
    panels: list[AnyPanel] = []
    for choice in what:
        if not isinstance(choice, str) and np.iterable(choice):
            panels += joint_panels(run, [_known(run, name, is_list=True) for name in choice])
        elif choice in PANELS:
            panels += PANELS[choice](run)
        elif _known(run, choice) in _moving(run):
            panels += joint_panels(run, [choice])
        else:
            panels += path_panels(run, choice)
    return panels


def _known(run: Trajectory, name: Any, is_list: bool = False) -> str:
    joints, places = _moving(run), run.names(lambda part: part.system.plan.body_pose)
    who = repr(run.all_segments[0].system.mechanism.name)
    if is_list:
        return known("joint", name, joints, who)
    return known("plot, joint, frame or body", name, [*PANELS, *joints, *places], who)


def _moving(run: Trajectory) -> tuple[str, ...]:
    """Return the joints that move in some segment, of the tree and of loops."""
    return run.names(lambda part: (*part.system.joints, *part.system.loops))


def _is_constrained(run: Trajectory) -> bool:
    return any(part.system.mechanics.constrained for part in run.all_segments)


def joint_panels(run: Trajectory, joints: Sequence[str]) -> list[AnyPanel]:
    """Positions, velocities and, where there are any, control forces of some joints."""
    quantities: tuple[Quantity, ...] = ("position", "velocity", "force")
    return [panel for quantity in quantities for panel in _by_unit(run, quantity, joints)]


def path_panels(run: Trajectory, frame: str) -> list[AnyPanel]:
    """Return the path of a frame or body, and its position over time."""
    p = run.position(frame)
    curves = tuple(Curve(axis, p[..., k]) for k, axis in enumerate("xyz"))
    return [PathPanel(f"Path of {frame}", p), Panel(f"Position of {frame}", "m", curves)]


def position_panels(run: Trajectory | Course) -> list[AnyPanel]:
    """Return the positions of all joints of a run or course, a panel for each unit."""
    return _by_unit(run, "position", run.joints)


def _velocities(run: Trajectory) -> list[AnyPanel]:
    return _by_unit(run, "velocity", run.joints)


def _forces(run: Trajectory) -> list[AnyPanel]:
    return _by_unit(run, "force", run.joints) or [Panel("Control forces: none acted", "N", ())]


def _by_unit(run: Trajectory | Course, quantity: Quantity, joints: Sequence[str]) -> list[AnyPanel]:
    """Return a panel for each unit in turn, so that angles and displacements do not share an axis."""
    curves: dict[tuple[str, str], list[Curve]] = {}
    for joint in joints:
        values = _values(run, quantity, joint)
        for k, label in enumerate(joint_labels(run.system_of(joint), joint, quantity)):
            if quantity != "force" or np.any(np.nan_to_num(values[..., k])):
                curves.setdefault(panel_of(joint, quantity, label.unit), []).append(
                    Curve(label.text, values[..., k])
                )
    return [
        Panel(title, unit, tuple(group), is_detail=quantity == "velocity" or not unit)
        for (title, unit), group in curves.items()
    ]


def panel_of(joint: str, quantity: Quantity, unit: str) -> tuple[str, str]:
    """Return the title and the unit of the panel that a coordinate belongs to; modes have one of their own."""
    return (MODAL[quantity] if joint.endswith(MODES) else TITLES[quantity, unit]), unit


def _values(run: Trajectory | Course, quantity: Quantity, joint: str) -> np.ndarray:
    if quantity == "position" or isinstance(run, Course):
        return run[joint]
    return run.velocity(joint) if quantity == "velocity" else run.force(joint)


def _energy(run: Trajectory) -> list[AnyPanel]:
    balance = energy_balance(run)
    start = run.energy[..., :1]
    curves = [
        Curve("kinetic", run.kinetic_energy),
        Curve("potential", run.potential_energy - run.potential_energy[..., :1]),
        Curve("total", run.energy - start + run.kinetic_energy[..., :1]),
    ]
    curves += [Curve(f"work of {name}", work, dashed=True) for name, work in balance.works.items()]
    work = "estimated work" if balance.is_estimate else "work"
    title = f"Energy balance: change less {work}" if balance.works else "Energy balance: change of the total"
    return [
        Panel("Energy (potential since the start)", "J", tuple(curves)),
        Panel(title, "J", (Curve("error", balance.rest),), is_detail=True),
    ]


def _power(run: Trajectory) -> list[AnyPanel]:
    curves = [Curve(name, x, dashed=name == "total") for name, x in run.power.items() if np.any(x)]
    return [Panel("Power", "W", tuple(curves))]


def _reactions(run: Trajectory) -> list[AnyPanel]:
    found = run.reactions()
    panels: list[AnyPanel] = []
    for title, unit, part in (
        ("Reaction forces", "N", slice(3, 6)),
        ("Reaction moments", "N m", slice(0, 3)),
    ):
        sizes = {name: np.linalg.norm(wrench[..., part], axis=-1) for name, wrench in found.items()}
        panels.append(Panel(f"{title} (magnitudes)", unit, tuple(Curve(n, x) for n, x in sizes.items())))
    return panels


def _closure(run: Trajectory) -> list[AnyPanel]:
    if not _is_constrained(run):
        return [Panel("Loop closure: there are no loops", "m or rad", ())]
    position, rate = run.closure, run.closure_rate
    curves = (
        Curve("position", np.maximum(position, NO_ERROR)),
        Curve("velocity", np.maximum(rate, NO_ERROR), dashed=True),
    )
    return [Panel("Loop closure error", "m or rad, per s", curves, logarithmic=True, is_detail=True)]


def _contacts(run: Trajectory) -> list[AnyPanel]:
    curves = tuple(Curve(name, force[..., 2]) for name, force in run.contact_forces.items())
    return [Panel("Contacts press with", "N", curves)]


def _momentum(run: Trajectory) -> list[AnyPanel]:
    names = ("x", "y", "z")
    return [
        Panel(
            "Linear momentum", "N s", tuple(Curve(n, run.momentum[..., 3 + k]) for k, n in enumerate(names))
        ),
        Panel(
            "Angular momentum about the ground's origin",
            "N m s",
            tuple(Curve(n, run.momentum[..., k]) for k, n in enumerate(names)),
        ),
    ]


PANELS: dict[str, Callable[[Trajectory], list[AnyPanel]]] = {
    "positions": position_panels,
    "velocities": _velocities,
    "forces": _forces,
    "energy": _energy,
    "power": _power,
    "momentum": _momentum,
    "reactions": _reactions,
    "closure": _closure,
    "contacts": _contacts,
}
