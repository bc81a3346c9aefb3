"""What a program comes to: with floats, with arrays, with symbols."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from catena.formulas.canonical import written_name
from catena.formulas.functions import COMPARISONS, FUNCTIONS, OPERATORS
from catena.formulas.grammar import Name, Step
from catena.formulas.places import Place, fail
from catena.validation import real_array, shown, suggestion


class Writing(NamedTuple):
    """The text of a formula and where it stands, for messages."""

    text: str
    where: Place | str


class FormulaEntry(NamedTuple):
    """A value on the stack, and the step of what it depends on that has none, with the reason."""

    value: Any
    fault: tuple[Step, str] | None


def looked_up(step: Step, values: Mapping[Name, Any], writing: Writing) -> Any:
    """Return what a name stands for."""
    try:
        return values[step.value]
    except KeyError:
        pass
    names = [written_name(name) for name in values]
    written = written_name(step.value)
    fail(
        f"nothing is called {written!r} here: {suggestion(written, names) if names else 'names have no meaning'}",
        writing.text,
        step.column,
        writing.where,
    )


def number(steps: Sequence[Step], values: Mapping[Name, Any], writing: Writing) -> Any:
    """Return the value of a program, a float, or an array where values are arrays; they broadcast.

    What is not defined, such as the root of a negative number, is an error where the result depends on it.
    """
    values_by_name: dict[Name, Any] = {}
    for step in steps:
        if step.word == "name":
            values_by_name[step.value] = _real(step, looked_up(step, values, writing), writing)
    arrays = any(isinstance(value, np.ndarray) for value in values_by_name.values())
    stack: list[FormulaEntry] = []
    apply = _on_arrays if arrays else _on_floats
    with np.errstate(all="ignore"):
        for step in steps:
            inputs = stack[len(stack) - step.takes :]
            del stack[len(stack) - step.takes :]
            if step.word == "name":
                stack.append(FormulaEntry(values_by_name[step.value], None))
            elif step.word in ("number", "pi"):
                stack.append(FormulaEntry(math.pi if step.word == "pi" else step.value, None))
            elif step.word == "if":
                stack.append(_chosen(*inputs))
            else:
                stack.append(apply(step, inputs))
    result = stack[0]
    if result.fault is not None:
        step, reason = result.fault
        fail(reason, writing.text, step.column, writing.where)
    return result.value if arrays else float(result.value)


def _real(step: Step, value: Any, writing: Writing) -> Any:
    if type(value) is float:
        return value
    try:
        found = real_array(value)
    except ValueError:
        fail(
            f"{written_name(step.value)} is {shown(value)}: give a number",
            writing.text,
            step.column,
            writing.where,
        )
    return found if found.ndim else float(found)


def _on_floats(step: Step, inputs: list[FormulaEntry]) -> FormulaEntry:
    fault = _first(inputs)
    if fault is not None:
        return FormulaEntry(math.nan, fault)
    try:
        value = _operation(step, floats=True)(*(one.value for one in inputs))
    except ZeroDivisionError:
        return FormulaEntry(math.nan, (step, "this divides by zero"))
    except ValueError:
        return FormulaEntry(math.nan, (step, f"{step.word} is not defined there"))
    except OverflowError:
        return FormulaEntry(math.nan, (step, "the numbers become too large"))
    if not math.isfinite(value) and all(math.isfinite(one.value) for one in inputs):
        return FormulaEntry(value, (step, "the numbers become too large"))
    return FormulaEntry(value, None)


def _on_arrays(step: Step, inputs: list[FormulaEntry]) -> FormulaEntry:
    value = _operation(step, floats=False)(*(one.value for one in inputs))
    fault = _first(inputs)
    if fault is None and not np.isfinite(value).all() and all(np.isfinite(one.value).all() for one in inputs):
        fault = (step, "this divides by zero" if step.word in ("/", "mod") else "this is not defined there")
    return FormulaEntry(value, fault)


def _first(inputs: Sequence[FormulaEntry]) -> tuple[Step, str] | None:
    return next((one.fault for one in inputs if one.fault is not None), None)


def _chosen(condition: FormulaEntry, a: FormulaEntry, b: FormulaEntry) -> FormulaEntry:
    """Return the one of two values that a condition chooses, with its fault; of what is not chosen nothing is asked."""
    if not isinstance(condition.value, np.ndarray):
        chosen = a if condition.value else b
        return FormulaEntry(chosen.value, condition.fault or chosen.fault)
    value = np.where(condition.value, a.value, b.value)
    fault = condition.fault
    if fault is None and not np.isfinite(value).all():
        fault = a.fault or b.fault
    return FormulaEntry(value, fault)


def _operation(step: Step, floats: bool) -> Callable[..., Any]:
    """Return the function of a step for numbers."""
    word = step.word
    if word in FUNCTIONS:
        return FUNCTIONS[word].floats if floats else FUNCTIONS[word].arrays
    if word in OPERATORS:
        return OPERATORS[word][1]
    if word in COMPARISONS:
        return COMPARISONS[word]
    if word == "unit":
        return _times_unit(step)
    return (FLOATS if floats else ARRAYS)[word]


def _times_unit(step: Step) -> Callable[[Any], Any]:
    _, unit = step.value
    if unit.divisor == 1:
        return lambda x: x * unit.factor
    if unit.factor == 1:
        return lambda x: x / unit.divisor
    return lambda x: x * unit.factor / unit.divisor


FLOATS: dict[str, Callable[..., Any]] = {
    "^": math.pow,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
}
ARRAYS: dict[str, Callable[..., Any]] = {
    "^": np.power,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
}


def symbols(steps: Sequence[Step], values: Mapping[Name, Any], writing: Writing) -> Any:
    """Return the value of a program as a CasADi SX, of values that are such symbols or numbers. Both sides of an `if`
    are computed and one is taken, so that the result can be differentiated and compiled."""
    import casadi

    stack: list[Any] = []
    for step in steps:
        inputs = stack[len(stack) - step.takes :]
        del stack[len(stack) - step.takes :]
        if step.word == "name":
            stack.append(looked_up(step, values, writing))
        elif step.word in ("number", "pi"):
            stack.append(casadi.SX(math.pi if step.word == "pi" else step.value))
        else:
            stack.append(_of_symbols(step, casadi)(*inputs))
    return casadi.SX(stack[0])


def _of_symbols(step: Step, casadi: Any) -> Callable[..., Any]:
    word = step.word
    if word in FUNCTIONS:
        return FUNCTIONS[word].symbols(casadi)
    if word in OPERATORS:
        return OPERATORS[word][1]
    if word in COMPARISONS:
        return COMPARISONS[word]
    if word == "unit":
        return _times_unit(step)
    return {
        "^": casadi.power,
        "and": casadi.logic_and,
        "or": casadi.logic_or,
        "not": casadi.logic_not,
        "if": casadi.if_else,
    }[word]


def names(steps: Sequence[Step]) -> Iterator[Name]:
    """Return the names in a program."""
    return (step.value for step in steps if step.word == "name")
