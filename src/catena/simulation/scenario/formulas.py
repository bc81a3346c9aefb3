"""What a run says by formulas: motions over t, and forces, wrenches and events over t, q, v and named numbers.

A name in a formula is `t`, a named number, a joint (its position, where it has one coordinate), q.joint or v.joint for
positions and velocities, q.joint[2] for one of several; q[3] counts coordinates. Events may look at frames too:
position.frame[0]. Formulas become functions of arrays or symbols, so that steps compile with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from catena.errors import FormulaError
from catena.formulas import Name, ParsedFormula, Place, parse
from catena.formulas.places import fail
from catena.mechanism import Mechanism
from catena.simulation.acting.external import ExternalWrench
from catena.simulation.acting.symbols import stack
from catena.simulation.control.symbolic import SymbolicControl
from catena.simulation.problem import Control, ForcesByFormula
from catena.simulation.references import Constant, Function, is_reference
from catena.spatial import Pose
from catena.spatial.scalars import is_symbolic
from catena.system import System
from catena.validation import is_one_of, real_number, shown, suggestion

TIME, POSITIONS, VELOCITIES, PLACE = "t", "q", "v", "position"

Getter = Callable[[Any, Any, Any], Any]
"""Gives the value of a name at a time t and a state q (..., nq), v (..., nv), which may be symbols."""


def is_text(value: Any) -> bool:
    """Return whether a value is a formula, or a list with formulas in it."""
    if isinstance(value, str):
        return True
    return type(value) in (list, tuple) and any(isinstance(entry, str) for entry in value)


def rows(value: Any, who: str) -> list[ParsedFormula | float]:
    """Return the entries of a value: formulas, read, and numbers."""
    entries = [value] if isinstance(value, str) else list(value)
    return [parse(entry, who) if isinstance(entry, str) else _number(entry, who) for entry in entries]


def _number(value: Any, who: str) -> float:
    try:
        return real_number(value)
    except ValueError as error:
        raise FormulaError(f"{who} is {shown(value)} ({error}); give a number or a formula.") from error


class FormulaOfTime:
    """A function of t that formulas over t and named numbers give: one number, or a list of them."""

    def __init__(self, text: Any, parameters: Mapping[str, float], who: str) -> None:
        self.text, self.parameters, self.who = text, dict(parameters), who
        self._rows = rows(text, who)
        for row in self._rows:
            if isinstance(row, ParsedFormula):
                check_names(row, parameters, (), (TIME,), who)

    def __reduce__(self) -> tuple[Any, ...]:
        return FormulaOfTime, (self.text, self.parameters, self.who)

    def __call__(self, t: Any) -> list[Any]:
        values: dict[Name, Any] = {}
        values.update(self.parameters.items())
        values[TIME] = t
        return [_value(row, values) for row in self._rows]


def as_followed(source: Any, parameters: Mapping[str, float], who: str) -> Any:
    """Return what joints or a frame should follow, with references in the place of formulas: of one joint, or of many
    by name."""
    if isinstance(source, Mapping):
        return {name: as_followed(value, parameters, f"{who} of {name!r}") for name, value in source.items()}
    if is_text(source):
        return Function(FormulaOfTime(source, parameters, who))
    return source


def as_motion(source: Any, parameters: Mapping[str, float], who: str) -> Any:
    """Return the motion of a joint: a reference in the place of a formula or of numbers."""
    found = as_followed(source, parameters, who)
    if isinstance(found, Pose) or is_reference(found) or callable(found):
        return found
    return Constant(found)


def as_wrench(source: Any, parameters: Mapping[str, float], frame: str) -> Any:
    """Return the wrench on a frame, with what makes a function for a system in the place of six formulas or numbers."""
    wrench = (
        source
        if isinstance(source, ExternalWrench)
        else ExternalWrench(source)
        if is_numbers(source)
        else None
    )
    if wrench is None or not isinstance(wrench.function, tuple):
        return source
    return replace(wrench, function=WrenchFormulas(wrench.function, parameters, f"wrench on {frame!r}"))


@dataclass(frozen=True, eq=False)
class WrenchFormulas:
    """Six formulas or numbers that become a function of (t, q, v) `on` a system."""

    entries: Sequence[Any]
    parameters: Mapping[str, float]
    who: str

    def on(self, system: System) -> Callable[[Any, Any, Any], list[Any]]:
        """Return the function for the states of a system."""
        return of_state(rows(self.entries, self.who), system, self.parameters, self.who)


def is_numbers(value: Any) -> bool:
    """Return whether a value is a list of formulas or numbers."""
    return type(value) in (list, tuple, np.ndarray)


def of_state(
    entries: Sequence[ParsedFormula | float], system: System, parameters: Mapping[str, float], who: str
) -> Callable[[Any, Any, Any], list[Any]]:
    """Return the function of (t, q, v) that formulas and numbers give, entry by entry, for numbers and symbols."""
    getters: dict[Name, Getter] = {}
    for row in entries:
        if isinstance(row, ParsedFormula):
            check_names(row, parameters, system.mechanism.joints, (TIME, POSITIONS, VELOCITIES), who)
            getters |= {name: _getter(name, system, parameters, row, who) for name in row.names}

    def function(t: Any, q: Any, v: Any) -> list[Any]:
        values = {name: get(t, q, v) for name, get in getters.items()}
        return [_value(row, values) for row in entries]

    return function


def formula_control(
    system: System,
    forces: ForcesByFormula,
    rate: float | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
) -> Control:
    """Return the controller that gives joints the `forces` of formulas, {joint: formula or number, or a list of them},
    with named numbers from `parameters`. It compiles into the step where all joints carry coordinates."""
    named = {} if parameters is None else parameters
    read = {joint: rows(_list(force), f"force of joint {joint!r}") for joint, force in forces.items()}
    for joint, entries in read.items():
        who = f"force of joint {joint!r}"
        check_joint(joint, system.mechanism, who)
        freedom = system.mechanism.joints[joint].kind.nv
        if len(entries) != freedom:
            raise FormulaError(
                f"{who}: {len(entries)} formulas are given: give {freedom}, one for each freedom"
            )
    parts = {
        joint: of_state(entries, system, named, f"force of joint {joint!r}")
        for joint, entries in read.items()
    }
    if any(joint in system.loops for joint in parts):
        return lambda t, q, v: {joint: stack(part(t, q, v)) for joint, part in parts.items()}

    def law(t: Any, q: Any, v: Any) -> Any:
        tau: list[Any] = [0.0] * system.nv
        for joint, part in parts.items():
            where = system.slice_v(joint) if joint in system.joints else slice(0, 0)
            tau[where] = part(t, q, v)[: where.stop - where.start]
        if any(is_symbolic(x) for x in (t, q, v)):
            return stack(tau)
        return np.stack(np.broadcast_arrays(*tau, v[..., 0])[:-1], axis=-1)

    return SymbolicControl(law, rate=rate)


def event_function(text: str, parameters: Mapping[str, float], who: str) -> Callable[[Any], Any]:
    """Return the function of an instant that a formula gives, for an event; of many of them it gives an array."""
    formula = parse(text, who)

    def function(here: Any) -> Any:
        joints = here.system.mechanism.joints
        check_names(formula, parameters, joints, (TIME, POSITIONS, VELOCITIES, PLACE), who)
        return _value(formula, {name: _here(name, here, parameters, formula, who) for name in formula.names})

    return function


def check_names(
    formula: ParsedFormula, parameters: Mapping[str, float], joints: Any, words: Sequence[str], who: str
) -> None:
    """Refuse names in a formula that are neither named numbers, nor joints, nor among the `words`."""
    for name in formula.names:
        parts = name if isinstance(name, tuple) else (name,)
        first = str(parts[0])
        if len(parts) == 1 and first in parameters:
            if first in joints:
                _wrong(
                    formula,
                    first,
                    f"{first!r} is a named number and a joint: write q.{first} for the joint",
                    who,
                )
            continue
        if first in words and (first == TIME) == (len(parts) == 1):
            if first in (POSITIONS, VELOCITIES) and isinstance(parts[1], str) and parts[1] not in joints:
                _unknown(formula, parts[1], list(joints), who)
            continue
        if is_one_of(first, joints):
            continue
        _unknown(formula, first, [*words, *parameters, *joints], who)


def joints_in(source: Any, mechanism: Mechanism) -> list[str]:
    """Return the joints whose coordinates the formulas in a value look at, be it a formula, a list, a mapping, or a
    description that holds them. What is no formula looks at nothing."""
    if isinstance(source, Mapping):
        return [name for value in source.values() for name in joints_in(value, mechanism)]
    if isinstance(source, list | tuple):
        return [name for value in source for name in joints_in(value, mechanism)]
    if isinstance(source, ExternalWrench):
        return joints_in(source.function, mechanism)
    if not isinstance(source, str):
        inside = (getattr(source, what, ()) for what in ("arguments", "keywords"))
        return [name for value in inside for name in joints_in(value, mechanism)]
    try:
        names = parse(source).names
    except FormulaError:
        return []
    words = (part for name in names for part in (name if isinstance(name, tuple) else (name,)))
    return [word for word in words if isinstance(word, str) and word in mechanism.joints]


def check_joint(name: str, mechanism: Mechanism, who: str) -> None:
    """Refuse a joint that a mechanism does not have."""
    if not is_one_of(name, mechanism.joints):
        raise FormulaError(f"{who}: there is no such joint: {suggestion(str(name), list(mechanism.joints))}")


def _value(row: ParsedFormula | float, values: Mapping[Name, Any]) -> Any:
    """The value of an entry, for symbols where some of the values are symbols."""
    if not isinstance(row, ParsedFormula):
        return row
    known = {name: values[name] for name in row.names}
    return row.symbolic(known) if any(map(is_symbolic, known.values())) else row.number(known)


def _getter(
    name: Name, system: System, parameters: Mapping[str, float], formula: ParsedFormula, who: str
) -> Getter:
    """The function that gives a name of a formula at a state."""
    parts = name if isinstance(name, tuple) else (name,)
    first = str(parts[0])
    if len(parts) == 1 and first in parameters:
        number = parameters[first]
        return lambda t, q, v: number
    if name == TIME:
        return lambda t, q, v: t
    is_rate = len(parts) > 1 and first == VELOCITIES
    if len(parts) > 1 and first in (POSITIONS, VELOCITIES):
        parts = parts[1:]
    if isinstance(parts[0], int):
        k, size = parts[0], system.nv if is_rate else system.nq
        if len(parts) > 1 or not k < size:
            _wrong(formula, first, f"{first} has {size} entries, counted from 0", who)
    else:
        joint = parts[0]
        if joint in system.loops:
            advice = f"closes a loop in this plan and carries no coordinates: keep it in the tree, keep=[{joint!r}]"
            _wrong(formula, joint, f"joint {joint!r} {advice}", who)
        if joint not in system.joints:
            # It is locked, and stays where it is.
            held = system.mechanism.joints[joint].locked_at
            rest = np.zeros(system.mechanism.joints[joint].kind.nv) if is_rate or held is None else held
            still = float(rest[_entry(parts, len(rest), formula, who)])
            return lambda t, q, v: still
        where = system.slice_v(joint) if is_rate else system.slice_q(joint)
        k = where.start + _entry(parts, where.stop - where.start, formula, who)
    return lambda t, q, v: _one(v[..., k] if is_rate else q[..., k])


def _entry(parts: tuple[str | int, ...], size: int, formula: ParsedFormula, who: str) -> int:
    """Which of the entries of a joint or frame a name means."""
    word = str(parts[0])
    if len(parts) > 2 or (len(parts) == 2 and not isinstance(parts[1], int)):
        _wrong(formula, word, f"{word} has entries that are counted: {word}[0]", who)
    if len(parts) == 1 and size != 1:
        _wrong(
            formula,
            word,
            f"{word} has {size} entries: write {word}[0] to {word}[{size - 1}] for one of them",
            who,
        )
    k = parts[1] if len(parts) == 2 else 0
    assert isinstance(k, int)
    if k >= size:
        _wrong(formula, word, f"{word} has {size} entries, counted from 0, and no {k}", who)
    return k


def _here(name: Name, here: Any, parameters: Mapping[str, float], formula: ParsedFormula, who: str) -> Any:
    """The value of a name at an instant, or at many, whatever the structure is."""
    parts = name if isinstance(name, tuple) else (name,)
    first = str(parts[0])
    if len(parts) == 1 and first in parameters:
        return parameters[first]
    if name == TIME:
        return here.t
    if len(parts) > 1 and first in (POSITIONS, VELOCITIES, PLACE):
        parts = parts[1:]
        if isinstance(parts[0], int):
            row = here.v if first == VELOCITIES else here.q
            if first == PLACE or len(parts) > 1 or not parts[0] < len(row):
                _wrong(formula, first, f"{first} has no entry {parts[0]}", who)
            return row[parts[0]]
        reads = {POSITIONS: here.__getitem__, VELOCITIES: here.velocity, PLACE: here.position}
        row = reads[first](parts[0])
    else:
        row = here[first]
    return row[_entry(parts, len(row), formula, who)]


def _one(x: Any) -> Any:
    return x.item() if isinstance(x, np.ndarray) and x.dtype == object else x


def _list(value: Any) -> list[Any]:
    return list(value) if type(value) in (list, tuple, np.ndarray) else [value]


def _unknown(formula: ParsedFormula, word: str, names: list[str], who: str) -> NoReturn:
    _wrong(formula, word, f"{word!r} is not known: {suggestion(word, names)}", who)


def _wrong(formula: ParsedFormula, word: str, reason: str, who: str) -> NoReturn:
    """Raise a fault of a formula at the first place where a word stands in it."""
    where = formula.where if isinstance(formula.where, Place) else who
    fail(reason, formula.text, max(formula.text.find(word), 0), where)
