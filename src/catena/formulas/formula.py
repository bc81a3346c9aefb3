"""A formula as a value: read once from its text, compared by what it computes, and asked for numbers or symbols, and
of which dimension they are.

A number without a unit, and a name, may be of any dimension. So a dimension is known where unit words tell it, and what
contradicts itself (a length plus a mass, the sine of a length) is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from catena.errors import FormulaError
from catena.formulas.canonical import canonical
from catena.formulas.computing import Writing, names, number, symbols
from catena.formulas.functions import COMPARISONS, FUNCTIONS
from catena.formulas.grammar import Name, ParsedProgram, Step, read_program
from catena.formulas.places import Place, fail
from catena.formulas.units import PLAIN, Dimension, added, dimension_text, scaled
from catena.validation import shown

CONDITION = "a condition"
DimensionOrCondition = Dimension | None | str
"""A dimension, None where it is not known, or CONDITION."""


def check(steps: Sequence[Step], text: str, where: Place | str) -> Dimension | None:
    """Return the dimension of what a program computes, None where it is not known; refuses what contradicts itself."""
    checker = _Checker(text, where)
    stack: list[DimensionOrCondition] = []
    for k, step in enumerate(steps):
        operands = stack[len(stack) - step.takes :]
        del stack[len(stack) - step.takes :]
        exponent = steps[k - 1].value if k and steps[k - 1].word == "number" else None
        if step.word == "^" and k > 1 and steps[k - 1].word == "negative" and steps[k - 2].word == "number":
            exponent = -steps[k - 2].value
        stack.append(checker.sort(step, operands, exponent))
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
        self, step: Step, operands: Sequence[DimensionOrCondition], exponent: float | None
    ) -> DimensionOrCondition:
        """Return what a step makes of what it is given; `exponent` is the number before it, if that is one."""
        word = step.word
        if word in ("and", "or", "not"):
            if any(one != CONDITION for one in operands):
                self._fail(f"{word!r} stands between conditions, such as x > 0: this is a number", step)
            return CONDITION
        if word == "if":
            if operands[0] != CONDITION:
                self._fail("the first argument of if is a condition, such as x > 0", step)
            operands = operands[1:]
        numbers: list[Dimension | None] = []
        for one in operands:
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


@dataclass(frozen=True, eq=False)
class ParsedFormula:
    """A formula: its text, and where it stands if it comes from a file. `parse` makes it.

    Two formulas are equal when their `canonical` texts are: spaces, needless brackets and the place do not count.
    `str` gives the text back as it was written.
    """

    text: str
    where: Place | str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise FormulaError(f"a formula is {shown(self.text)}: give text, such as '0.3 * sin(2 * t)'")
        # What is wrong with the text is told when the formula is made.
        _ = self.dimension

    @cached_property
    def dimension(self) -> Dimension | None:
        """The powers of metre, kilogram and second of the result, where units tell it; None where they do not."""
        return check(self._program.steps, self.text, self.where)

    @cached_property
    def _program(self) -> ParsedProgram:
        return read_program(self.text, self.where)

    @cached_property
    def canonical(self) -> str:
        """The text with single spaces and no needless brackets."""
        return canonical(self._program.steps)

    @cached_property
    def names(self) -> frozenset[Name]:
        """The names in it: words such as "crank" and "t", and parts of names, such as ("q", "A") for q.A and
        ("v", "A", 2) for v.A[2]."""
        return frozenset(names(self._program.steps))

    def number(self, values: Mapping[Any, Any] | None = None) -> Any:
        """Return the value as a float, or as an array where `values` holds arrays, which broadcast. `values` maps names
        to numbers. What is not defined, such as a division by zero, is refused where the result depends on it."""
        return number(self._program.steps, self._known(values), self._writing)

    def symbolic(self, values: Mapping[Any, Any] | None = None) -> Any:
        """Return the value as a CasADi SX of one entry; `values` maps names to symbols or numbers."""
        return symbols(self._program.steps, self._known(values), self._writing)

    def bound(self, values: Mapping[Any, float]) -> ParsedFormula:
        """Return the formula with numbers in the places of some names; the text is the canonical one."""
        steps: list[Step] = []
        for step in self._program.steps:
            if step.word != "name" or step.value not in self._known(values):
                steps.append(step)
                continue
            value = float(values[step.value])
            steps.append(Step("number", abs(value), 0, step.column))
            if value < 0.0:
                steps.append(Step("negative", None, 1, step.column))
        return ParsedFormula(canonical(steps), self.where)

    @property
    def _writing(self) -> Writing:
        return Writing(self.text, self.where)

    def _known(self, values: Mapping[Any, Any] | None) -> Mapping[Any, Any]:
        """Return the values, after a look at whether a word could be a unit and a name."""
        found = {} if values is None else values
        for word in self._program.doubtful:
            if word in found:
                fail(
                    f"{word!r} is a unit here, and there is a value of that name: write the unit in square brackets, "
                    f"3 [N/{word}], or the division with blanks, 3 N / {word}",
                    self.text, max(self.text.find(word), 0), self.where,
                )  # fmt: skip
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParsedFormula) and other.canonical == self.canonical

    def __hash__(self) -> int:
        return hash(self.canonical)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ParsedFormula, (self.text, self.where)


def parse(text: str, where: Place | str = "") -> ParsedFormula:
    """Return the formula that a text is; a FormulaError says what is wrong with it, beginning with `where`."""
    return ParsedFormula(text, where)
