"""Writing the tables of a run, so that they read back to the last digit. What has its default is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from catena.dynamics.contacts.tip_contact import (
    DIRECTIONS as DIRECTIONS_OF_TIPS,
    MovingSupport,
    Support,
    TipContact,
)
from catena.errors import FormatError
from catena.formats.toml.blocks import Block, value_text
from catena.formats.toml.kinds import ARGUMENTS, describe_kind
from catena.formats.toml.orientation import describe_orientation
from catena.formats.toml.schema import RUN_ONCE
from catena.mechanism import GROUND
from catena.simulation.acting.external import ExternalWrench
from catena.simulation.contacts import Contact, HeightField, Stop
from catena.simulation.guards.events import Event
from catena.simulation.references import Constant, PiecewisePolynomial, PosePath
from catena.simulation.scenario.changes import Change
from catena.simulation.scenario.contents import words as what_it_is
from catena.simulation.scenario.described import Described
from catena.simulation.scenario.file.words import ALWAYS, CONTROLLERS, DIRECTIONS, KEYS, NO_LIMITS
from catena.simulation.scenario.formulas import is_numbers, is_text
from catena.simulation.scenario.scenario import Scenario
from catena.simulation.stepping.drift import NAMES, Remedy
from catena.spatial import Pose

Pairs = Iterator[tuple[str, Any]]
LeaveOut = Callable[[str, Any], None]
"""Is told the place and the value of what a file cannot say; raises, or lets it be left out."""


class CannotSayError(Exception):
    """A file cannot say a `value`; it is left out, or refused."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


def run_tables(scenario: Scenario, leave_out: LeaveOut) -> list[Block]:
    """Return the tables of a run, in the order they are written; those of which there are many with their numbers."""
    tables: list[Block] = []
    counts: Counter[str] = Counter()

    def add(word: str, place: str, pairs: Pairs) -> None:
        try:
            found = dict(pairs)
        except CannotSayError as error:
            leave_out(place, error.value)
            return
        many = word not in RUN_ONCE
        if many or found:
            texts = {key: value_text(value) for key, value in found.items()}
            tables.append(Block((word,), many, texts, counts[word] if many else None))
            counts[word] += 1

    for joint, moves in scenario.drives.items():
        add("drive", f"the drive of joint {joint!r}", _drive(joint, moves))
    for control in _controllers(scenario.control):
        add("controller", "control", _controller(control))
    for frame, wrench in scenario.wrenches.items():
        add("wrench", f"the wrench on {frame!r}", _wrench(frame, wrench))
    for contact in _listed(scenario.contacts):
        add(*_as_contact(contact))
    for event in _listed(scenario.events):
        add("event", f"event {event.label!r}", _event(event))
    for change in _listed(scenario.changes):
        add("change", change.label, _change(change))
    settings = dict(_run(scenario))
    if scenario.keep is not None:
        kept = (
            scenario.keep
            if isinstance(scenario.keep, Mapping)
            else {str(x): x for x in _listed(scenario.keep)}
        )
        for name, signal in kept.items():
            if not isinstance(signal, str):
                leave_out(f"keep {name!r}", signal)
        said = {name: signal for name, signal in kept.items() if isinstance(signal, str)}
        settings["keep"] = said if isinstance(scenario.keep, Mapping) else list(said)
    add("run", "run", iter(settings.items()))
    for plot in _listed(scenario.plots):
        add("plot", "plot", ((key, x) for key, x in (("show", plot.show), ("file", plot.file)) if x))
    add("view", "view", iter(scenario.view.items()))
    return tables


def _listed(values: Any) -> list[Any]:
    """The entries of a field that a scenario has made a list of."""
    return list(values)


def _drive(joint: str, moves: Any) -> Pairs:
    yield "joint", joint
    followed = _followed(moves)
    yield ("path" if isinstance(followed, Mapping) else "position"), followed


def _controllers(control: Any) -> list[Any]:
    if control is None:
        return []
    return list(control.parts) if isinstance(control, Described) else [control]


def _controller(control: Any) -> Pairs:
    make = control.make if isinstance(control, Described) else None
    word = next((word for word, (made, _) in CONTROLLERS.items() if made is make), None)
    if word is None:
        raise CannotSayError(control)
    yield "kind", word
    sorts = CONTROLLERS[word][1]
    for key, value in control.keywords.items():
        if key not in sorts:
            raise CannotSayError(control)
        yield key, _argument(sorts[key], value)


def _argument(sort: str, value: Any) -> Any:
    if sort in ("followed", "formulas"):
        if not isinstance(value, Mapping):
            raise CannotSayError(value)
        return {joint: _followed(x) for joint, x in value.items()}
    if sort == "path":
        return _followed(value)
    if value is None:
        return {"rate": ALWAYS, "limits": NO_LIMITS}.get(sort, value)
    if sort == "gains" or sort == "limits":
        return {joint: _row(x) for joint, x in value.items()} if isinstance(value, Mapping) else _row(value)
    return list(value) if sort == "texts" else _row(value)


def _followed(value: Any) -> Any:
    """A position, a formula, or a table of a path."""
    if is_text(value) or isinstance(value, int | float | np.number) or is_numbers(value):
        return _row(value)
    if isinstance(value, Constant):
        return _row(value.position)
    if isinstance(value, PiecewisePolynomial):
        table = {"kind": "polynomial", "times": value.times, "coefficients": value.coefficients}
        return table | ({"periodic": True} if value.periodic else {})
    if isinstance(value, Pose):
        value = PosePath(value.p, value.quat)
    if isinstance(value, PosePath):
        return {"position": _followed(value.position), "rotation": _followed(value.rotation)}
    raise CannotSayError(value)


def _row(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_row(entry) for entry in value] if isinstance(value, list | tuple) else value


def _wrench(frame: str, applied: Any) -> Pairs:
    wrench = applied if isinstance(applied, ExternalWrench) else ExternalWrench(applied)
    yield "name", frame
    yield "frame", frame
    axes = frame if wrench.axes is None else wrench.axes
    if isinstance(wrench.function, tuple):
        entries = list(wrench.function)
        # Constant entries alone would make it a part of the mechanism.
        if not any(isinstance(x, str) for x in entries):
            entries = [f"{float(x)!r} + 0 * t" for x in entries]
        yield "moment", _row(entries[:3])
        yield "force", _row(entries[3:])
    else:
        yield "path", _followed(wrench.function)
    if axes != GROUND:
        yield "axes", axes


def _contact(contact: Contact | Stop) -> Pairs:
    for one in fields(contact):
        value = getattr(contact, one.name)
        if isinstance(value, HeightField):
            yield one.name, {key: _row(getattr(value, key)) for key in KEYS["floor"][0]}
        elif one.default is MISSING or value != one.default:
            yield one.name, value


def _as_contact(contact: Contact | Stop | TipContact) -> tuple[str, str, Pairs]:
    """The word of the table of a contact, what messages call it, and its keys."""
    if isinstance(contact, TipContact):
        return "tip_contact", f"the contact at {contact.label!r}", _tip_contact(contact)
    return "stop" if isinstance(contact, Stop) else "contact", "contacts", _contact(contact)


def _tip_contact(contact: TipContact) -> Pairs:
    yield "frame", contact.frame
    phi_c = contact.phi_c
    units = [np.flatnonzero(column) for column in phi_c.T]
    named = all(len(x) == 1 for x in units) and np.all(phi_c.sum(axis=0) == 1.0)
    yield "constrained", [DIRECTIONS_OF_TIPS[x[0]] for x in units] if named else _row(phi_c)
    if contact.axes != "support":
        yield "axes", contact.axes
    for what in ("velocity", "acceleration", "force", "friction"):
        value = getattr(contact, what)
        if not isinstance(value, np.ndarray):
            raise CannotSayError(value)
        if value.any():
            yield what, _row(value)
    if contact.since:
        yield "since", float(contact.since)
    support = contact.support
    if contact.motion is not None or not isinstance(support, Support | MovingSupport):
        raise CannotSayError(contact.motion or support)
    if isinstance(support, MovingSupport):
        yield "path", _followed(support.path)
    elif np.any(support.twist) or np.any(support.acceleration):
        raise CannotSayError(support)
    elif placed := _pose(support.pose):
        yield "support", placed
    if contact.name:
        yield "name", contact.name


def _event(event: Event) -> Pairs:
    if not isinstance(event.function, str) or event.then is not None:
        raise CannotSayError(event.function if event.then is None else event.then)
    if event.name:
        yield "name", event.name
    yield "when", event.function
    if event.direction:
        yield "direction", next(word for word, sign in DIRECTIONS.items() if sign == event.direction)
    if event.terminal:
        yield "terminal", True


def _change(change: Change) -> Pairs:
    for key in ("at", "event"):
        if getattr(change, key) is not None:
            yield key, getattr(change, key)
    for key in ("lock", "unlock", "detach"):
        if getattr(change, key):
            yield key, list(getattr(change, key))
    if change.attach:
        yield "attach", [_attached(one) for one in change.attach]  # type: ignore[arg-type]
    for key in ("free", "fix"):
        if getattr(change, key):
            yield key, True


def _attached(joint: Mapping[str, Any]) -> dict[str, Any]:
    """A joint that is attached, with its kind in words."""
    word, arguments = describe_kind(joint["kind"])
    table: dict[str, Any] = {"name": joint["name"], "kind": word}
    table |= arguments if ":" not in word else {ARGUMENTS: arguments} if arguments else {}
    rest = {key: x for key, x in joint.items() if key not in ("name", "kind")}
    return table | {key: _pose(x) if isinstance(x, Pose) else _row(x) for key, x in rest.items()}


def _pose(pose: Pose) -> dict[str, Any]:
    return ({"p": pose.p.tolist()} if pose.p.any() else {}) | describe_orientation(pose)


def _run(scenario: Scenario) -> Pairs:
    for one in fields(scenario):
        if one.name in ("duration", "start", "integrator", "step", "rtol", "atol", "samples", "coordinates"):
            value = getattr(scenario, one.name)
            if value is not one.default and not (isinstance(value, float | str) and value == one.default):
                yield one.name, _row(value)
    if scenario.independent is not None:
        yield "independent", list(scenario.independent)
    if scenario.drift != "projection":
        yield "drift", _drift(scenario.drift)
    if scenario.near:
        yield "near", {joint: _row(x) for joint, x in scenario.near.items()}
    varied = {name: _row(x) for name, x in scenario.parameters.items() if "." in name}
    if varied:
        yield "vary", varied
    if scenario.plan:
        yield "plan", {name: _row(x) for name, x in scenario.plan.items()}


def _drift(drift: str | Remedy) -> Any:
    if isinstance(drift, str):
        return drift
    word = next(word for word, made in NAMES.items() if isinstance(drift, made))
    settings = {one.name: getattr(drift, one.name) for one in fields(drift)}
    return {"kind": word, **{name: value for name, value in settings.items() if value is not None}}


def refuse(file: str) -> LeaveOut:
    """Return what refuses, by name, what a file cannot say."""

    def raised(place: str, value: Any) -> None:
        raise FormatError(
            f"{file}: {place} is {what_it_is(value)}, which no file can say: use a formula, a path or ct.Described, or "
            'leave it out, save(path, functions="leave out")'
        )

    return raised
