"""A formula as a value: read once from its text, compared by what it computes, and asked for numbers or symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from catena.errors import FormulaError
from catena.formulas.canonical import canonical
from catena.formulas.computing import Writing, names, number, symbols
from catena.formulas.dimensions import check
from catena.formulas.grammar import Name, ParsedProgram, Step, read_program
from catena.formulas.places import Place, fail
from catena.formulas.units import Dimension
from catena.validation import shown


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
