"""What a program computes: numbers where numbers belong, conditions where these do, and of which dimension.

A number without a unit, and a name, may be of any dimension. So a dimension is known where unit words tell it, and what
contradicts itself (a length plus a mass, the sine of a length) is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from catena.formulas.functions import COMPARISONS, FUNCTIONS
from catena.formulas.grammar import Step
from catena.formulas.places import Place, fail
from catena.formulas.units import PLAIN, Dimension, added, dimension_text, scaled

CONDITION = "a condition"
DimensionOrCondition = Dimension | None | str
"""A dimension, None where it is not known, or CONDITION."""


def check(steps: Sequence[Step], text: str, where: Place | str) -> Dimension | None:
    """Return the dimension of what a program computes, None where it is not known; refuses what contradicts itself."""
    checker = _Checker(text, where)
    stack: list[DimensionOrCondition] = []
    for k, step in enumerate(steps):
        given = stack[len(stack) - step.takes :]
        del stack[len(stack) - step.takes :]
        exponent = steps[k - 1].value if k and steps[k - 1].word == "number" else None
        if step.word == "^" and k > 1 and steps[k - 1].word == "negative" and steps[k - 2].word == "number":
            exponent = -steps[k - 2].value
        stack.append(checker.sort(step, given, exponent))
    found = stack[0]
    if isinstance(found, str):
        fail("this is a condition: a formula is a number, such as if(x > 0, 1, 0)", text, 0, where)
    return found


class _Checker:
    def __init__(self, text: str, where: Place | str) -> None:
        self.text, self.where = text, where

    def _fail(self, reason: str, step: Step) -> NoReturn:
        fail(reason, self.text, step.column, self.where)

    def sort(
        self, step: Step, given: Sequence[DimensionOrCondition], exponent: float | None
    ) -> DimensionOrCondition:
        """Return what a step makes of what it is given; `exponent` is the number before it, if that is one."""
        word = step.word
        if word in ("and", "or", "not"):
            if any(one != CONDITION for one in given):
                self._fail(f"{word!r} stands between conditions, such as x > 0: this is a number", step)
            return CONDITION
        if word == "if":
            if given[0] != CONDITION:
                self._fail("the first argument of if is a condition, such as x > 0", step)
            given = given[1:]
        numbers: list[Dimension | None] = []
        for one in given:
            if isinstance(one, str):
                self._fail(f"{word!r} takes numbers and is given a condition: write if(x > 0, 1, 0)", step)
            numbers.append(one)
        if word in ("number", "name"):
            return None
        if word == "pi":
            return PLAIN
        if word == "unit":
            _, unit = step.value
            # What has a unit already, as in "5 N m", is multiplied by this one.
            return unit.dimension if numbers[0] is None else added(numbers[0], unit.dimension)
        if word in ("*", "/"):
            a, b = numbers
            if a is None or b is None:
                return None
            return added(a, b if word == "*" else scaled(b, -1.0))
        if word == "^":
            return self._power(step, numbers, exponent)
        if word in COMPARISONS:
            self._alike(step, numbers)
            return CONDITION
        if word in FUNCTIONS:
            return self._call(step, numbers)
        return self._alike(step, numbers)

    def _alike(self, step: Step, numbers: Sequence[Dimension | None]) -> Dimension | None:
        """Return the one dimension of several numbers."""
        known = [one for one in numbers if one is not None]
        for one in known[1:]:
            if one != known[0]:
                words = f"{dimension_text(known[0])} and {dimension_text(one)}"
                self._fail(f"{step.word!r} is between {words}: they are not alike", step)
        return known[0] if known else None

    def _power(
        self, step: Step, numbers: Sequence[Dimension | None], exponent: float | None
    ) -> Dimension | None:
        base, power = numbers
        if power is not None and power != PLAIN:
            self._fail(f"the exponent is {dimension_text(power)}: give a plain number", step)
        if base is None or base == PLAIN:
            return base
        if exponent is None or abs(exponent) > 100.0:
            return None
        return scaled(base, exponent)

    def _call(self, step: Step, numbers: Sequence[Dimension | None]) -> Dimension | None:
        function = FUNCTIONS[step.word]
        found = self._alike(step, numbers) if function.takes == "alike" else numbers[0]
        if function.takes == "plain" and found is not None and found != PLAIN:
            self._fail(
                f"{step.word} takes a plain number or an angle and is given {dimension_text(found)}", step
            )
        if function.gives == "plain":
            return PLAIN
        if function.gives == "root" and found is not None:
            return scaled(found, 0.5)
        return found
