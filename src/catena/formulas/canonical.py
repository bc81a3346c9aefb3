"""The canonical text of a program: formulas that compute the same steps have the same one, however they were spaced and
bracketed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from catena.formulas.functions import COMPARISONS
from catena.formulas.grammar import RESERVED, Name, Step
from catena.formulas.units import UNITS

STRENGTH = {"or": 1, "and": 2, "not": 3, **dict.fromkeys(COMPARISONS, 4), "+": 5, "-": 5, "*": 6, "/": 6,
            "negative": 7, "^": 8, "unit": 9}  # fmt: skip
ATOM = 10


def canonical(steps: Sequence[Step]) -> str:
    """Return a text with no more brackets than are needed."""
    stack: list[tuple[str, int]] = []
    for step in steps:
        operands = stack[len(stack) - step.takes :]
        del stack[len(stack) - step.takes :]
        stack.append(_written(step, operands))
    return stack[0][0]


def _written(step: Step, operands: list[tuple[str, int]]) -> tuple[str, int]:
    """Return the text of a step and how strongly it holds together."""
    word, strength = step.word, STRENGTH.get(step.word, ATOM)

    def inside(k: int, least: int) -> str:
        text, found = operands[k]
        return text if found >= least else f"({text})"

    if word == "number":
        text = repr(step.value)
        return text.removesuffix(".0"), ATOM
    if word == "name":
        return written_name(step.value), ATOM
    if word == "pi":
        return "pi", ATOM
    if word == "unit":
        words, _ = step.value
        text = words if words in UNITS else f"[{words}]"
        # A unit behind a unit needs no brackets: 5 N m.
        return f"{inside(0, strength)} {text}", strength
    if word == "negative":
        return f"-{inside(0, strength)}", strength
    if word == "not":
        return f"not {inside(0, strength)}", strength
    if word == "^":
        # The base is an atom without a unit; the exponent may have a sign, and another exponent.
        return f"{inside(0, ATOM)}^{inside(1, 7)}", strength
    if word == "/" and operands[1][1] == STRENGTH["unit"]:
        # Without brackets 1 / 2 mm could be read in two ways.
        return f"{inside(0, strength)} / ({operands[1][0]})", strength
    if word in STRENGTH:
        # What stands between equals is taken from the left; comparisons do not follow each other.
        left = strength + 1 if word in COMPARISONS else strength
        return f"{inside(0, left)} {word} {inside(1, strength + 1)}", strength
    return f"{word}({', '.join(text for text, _ in operands)})", ATOM


def written_name(name: Name) -> str:
    """Return a name as it is written in a formula, in quotes where it is no word."""
    first, *others = (name,) if isinstance(name, str) else name
    text = str(first) if _is_word(first) else _quoted(str(first))
    for part in others:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if _is_word(part) or part in RESERVED else f"[{_quoted(part)}]"
    return text


def _is_word(part: str | int) -> bool:
    return re.fullmatch(r"[^\W\d]\w*", str(part)) is not None and part not in RESERVED


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
