"""From the text of a formula to its program: the steps of a pocket calculator that has a stack.

    condition  = and { "or" and },  and = not { "and" not },  not = { "not" } comparison
    comparison = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
    sum        = product { ("+" | "-") product },  product = signed { ("*" | "/") signed }
    signed     = { "+" | "-" } quantity [ ("^" | "**") signed ]
    quantity   = atom { unit }
    atom       = number | name | function "(" condition { "," condition } ")" | "(" condition ")"
    name       = (word | string) { "." word | "[" (string | whole number) "]" }
    unit       = word [ "^" whole number ] { ("*" | "/") word [ "^" whole number ] } | "[" unit "]"

Which of them a word is follows from where it stands and from nothing else: before "(" it is a function, behind a value
it is a unit, elsewhere a name. A unit of several words has no blanks between them unless it is in square brackets, so
that "3 N / m" divides by what is called m. Recursion is as deep as brackets are, and both are bounded.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn

from catena.formulas.functions import COMPARISONS, FUNCTIONS
from catena.formulas.places import Place, fail
from catena.formulas.units import UNITS, Unit
from catena.validation import suggestion

LONGEST = 2000
"""How many characters a formula may have."""
DEEPEST = 40
"""How deep brackets may be nested."""
LARGEST_POWER = 9
"""The largest exponent of a unit."""
RESERVED = frozenset({"pi", "if", "and", "or", "not"})
"""Words that are never names."""

Name = str | tuple[str | int, ...]
"""A name in a formula: a word such as "crank" or "t", or the parts of one such as ("q", "A") or ("q", "A", 2)."""

_TOKEN = re.compile(
    r"(?P<blank>[ \t\r\n]+)"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<string>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
    r"|(?P<sign>\*\*|<=|>=|==|!=|[-+*/^()<>,.\[\]])"
)


class Token(NamedTuple):
    """A piece of the text: what it is (number, word, string, sign, end), its letters, and where it is."""

    kind: str
    text: str
    start: int
    end: int


class Step(NamedTuple):
    """A step of a program: a "number" or "name" that goes on the stack, a "unit" for what lies there, or the operation
    `word` on the last `takes` values. `column` is where the text says so."""

    word: str
    value: Any
    takes: int
    column: int


class ParsedProgram(NamedTuple):
    """The steps of a formula, and the words in units without brackets that a name could be mistaken for."""

    steps: tuple[Step, ...]
    doubtful: frozenset[str]


def read_program(text: str, where: Place | str) -> ParsedProgram:
    """Return the program of a formula; a FormulaError says what is wrong with the text, and where."""
    if len(text) > LONGEST:
        fail(f"a formula has {len(text)} characters: give at most {LONGEST}", text, LONGEST, where)
    return _Reader(text, where).program()


def _tokens(text: str, where: Place | str) -> list[Token]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            what = "a quotation mark is not closed" if text[at] in "\"'" else f"{text[at]!r} has no meaning"
            fail(f"{what} in a formula", text, at, where)
        if match.lastgroup != "blank":
            found.append(Token(str(match.lastgroup), match.group(), at, match.end()))
        at = match.end()
    return [*found, Token("end", "", len(text), len(text))]


class _Reader:
    """Reads tokens from left to right; each method takes as much as belongs to it, and writes the steps for it."""

    def __init__(self, text: str, where: Place | str) -> None:
        self.text, self.where = text, where
        self.tokens, self.at, self.depth = _tokens(text, where), 0, 0
        self.steps: list[Step] = []
        self.doubtful: set[str] = set()

    def program(self) -> ParsedProgram:
        """Read all of the text."""
        self._condition()
        token = self._next
        if token.kind != "end":
            self._unexpected(token)
        return ParsedProgram(tuple(self.steps), frozenset(self.doubtful))

    @property
    def _next(self) -> Token:
        return self.tokens[self.at]

    def _fail(self, reason: str, column: int) -> NoReturn:
        fail(reason, self.text, column, self.where)

    def _unexpected(self, token: Token) -> NoReturn:
        if token.kind == "end":
            self._fail("the formula ends too early", token.start)
        if token.text in COMPARISONS:
            self._fail("two comparisons follow each other: write 0 < x and x < 1", token.start)
        self._fail(f"{token.text!r} is not expected there", token.start)

    def _take(self, *signs: str) -> Token | None:
        token = self._next
        if token.kind not in ("sign", "word") or token.text not in signs:
            return None
        self.at += 1
        return token

    def _expect(self, sign: str, reason: str) -> None:
        if not self._take(sign):
            self._fail(reason, self._next.start)

    def _write(self, word: str, column: int, count: int = 0, value: Any = None) -> None:
        self.steps.append(Step(word, value, count, column))

    def _deeper(self, column: int) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            self._fail(f"brackets and powers are nested more than {DEEPEST} deep", column)

    def _condition(self) -> None:
        self._both()
        while sign := self._take("or"):
            self._both()
            self._write("or", sign.start, 2)

    def _both(self) -> None:
        self._not()
        while sign := self._take("and"):
            self._not()
            self._write("and", sign.start, 2)

    def _not(self) -> None:
        signs = []
        while sign := self._take("not"):
            signs.append(sign.start)
        self._comparison()
        for column in reversed(signs):
            self._write("not", column, 1)

    def _comparison(self) -> None:
        self._sum()
        if sign := self._take(*COMPARISONS):
            self._sum()
            self._write(sign.text, sign.start, 2)

    def _sum(self) -> None:
        self._product()
        while sign := self._take("+", "-"):
            self._product()
            self._write(sign.text, sign.start, 2)

    def _product(self) -> None:
        first, begin = self._next, len(self.steps)
        self._signed()
        while sign := self._take("*", "/"):
            middle, other = len(self.steps), self._next
            self._signed()
            numerator, denominator = self.steps[begin:middle], self.steps[middle:]
            if (
                sign.text == "/"
                and first.kind == other.kind == "number"
                and [step.word for step in numerator] == ["number"]
                and [step.word for step in denominator] == ["number", "unit"]
            ):
                words = self.text[other.end : self.tokens[self.at - 1].end].strip()
                above, below = first.text, other.text
                self._fail(
                    f"this can be read in two ways: write ({above}/{below}) {words} or {above}/({below} {words})",
                    sign.start,
                )
            self._write(sign.text, sign.start, 2)

    def _signed(self) -> None:
        minus = []
        while sign := self._take("+", "-"):
            if sign.text == "-":
                minus.append(sign.start)
        self._quantity()
        if sign := self._take("^", "**"):
            self._deeper(sign.start)
            self._signed()
            self.depth -= 1
            self._write("^", sign.start, 2)
        for column in reversed(minus):
            self._write("negative", column, 1)

    def _quantity(self) -> None:
        self._atom()
        while self._is_unit():
            self._unit()

    def _is_unit(self) -> bool:
        token, following = self._next, self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if token.kind == "word":
            return token.text not in RESERVED
        return token.kind == "sign" and token.text == "[" and following.kind == "word"

    def _unit(self) -> None:
        start = self._next
        bracket = self._take("[")
        unit, words = self._unit_word()
        while sign := self._joins_units(bracket is not None):
            self.at += 1
            if not bracket:
                self.doubtful.add(self._next.text)
            other, more = self._unit_word()
            unit = unit.times(other.power(-1 if sign.text == "/" else 1))
            words += sign.text + more
        if bracket:
            self._expect("]", "the square bracket around a unit is not closed")
        self._write("unit", start.start, 1, (words, unit))

    def _joins_units(self, bracket: bool) -> Token | None:
        """Return the sign between this unit and the next, None if there is none."""
        sign, word = self.tokens[self.at], self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if sign.kind != "sign" or sign.text not in ("*", "/"):
            return None
        tight = self.tokens[self.at - 1].end == sign.start and sign.end == word.start
        # A function of the name of a unit, such as min(...), is no unit.
        calls = self.tokens[min(self.at + 2, len(self.tokens) - 1)].text == "("
        return sign if bracket or (tight and word.text in UNITS and not calls) else None

    def _unit_word(self) -> tuple[Unit, str]:
        token = self._next
        if token.kind != "word":
            self._fail(f"{token.text!r} is no unit", token.start) if token.text else self._unexpected(token)
        if token.text not in UNITS:
            self._fail(
                f"{token.text!r} behind a value is no unit (before a name there is a sign, such as *): "
                f"{suggestion(token.text, UNITS)}",
                token.start,
            )
        self.at += 1
        if not (sign := self._take("^", "**")):
            return UNITS[token.text], token.text
        minus = self._take("-")
        number = self._next
        if (
            number.kind != "number"
            or not number.text.isdigit()
            or not 0 < int(number.text[:9]) <= LARGEST_POWER
        ):
            self._fail(
                f"the exponent of a unit is a whole number up to {LARGEST_POWER}: for the power of a quantity put "
                "brackets around it, such as (5 mm)^x",
                sign.start,
            )
        self.at += 1
        exponent = -int(number.text) if minus else int(number.text)
        return UNITS[token.text].power(exponent), f"{token.text}^{exponent}"

    def _atom(self) -> None:
        token = self._next
        if token.kind == "number":
            self.at += 1
            value = float(token.text)
            if value > 1e308:
                self._fail(f"{token.text} is too large: give less than 1e308", token.start)
            self._write("number", token.start, value=value)
        elif token.kind == "string":
            self._name()
        elif token.kind == "word" and self.tokens[self.at + 1].text == "(":
            self._call()
        elif token.kind == "word" and token.text == "pi":
            self.at += 1
            self._write("pi", token.start)
        elif token.kind == "word" and token.text not in RESERVED:
            self._name()
        elif self._take("("):
            self._deeper(token.start)
            self._condition()
            self.depth -= 1
            self._closed(token)
        else:
            self._unexpected(token)

    def _closed(self, opening: Token) -> None:
        if self._take(")"):
            return
        if self._next.kind == "end":
            self._fail("this bracket is not closed", opening.start)
        self._unexpected(self._next)

    def _call(self) -> None:
        name, opening = self._next, self.tokens[self.at + 1]
        if name.text not in FUNCTIONS and name.text != "if":
            self._fail(
                f"no function is called {name.text!r}: {suggestion(name.text, (*FUNCTIONS, 'if'))}",
                name.start,
            )
        self.at += 2
        self._deeper(opening.start)
        count = 0
        while True:
            self._condition()
            count += 1
            if not self._take(","):
                break
        self.depth -= 1
        self._closed(opening)
        if name.text == "if":
            least, most = 3, 3
        else:
            least, most = FUNCTIONS[name.text].least, FUNCTIONS[name.text].most or count
        if not least <= count <= max(most, least):
            wanted = (
                str(least) if least == most else f"{least} to {most}" if most > least else f"{least} or more"
            )
            self._fail(f"{name.text} has {count} arguments and takes {wanted}", name.start)
        self._write(name.text, name.start, count)

    def _name(self) -> None:
        start = self._next
        self.at += 1
        parts: list[str | int] = [_unquoted(start)]
        while True:
            following = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
            if self._next.text == "[" and following.kind != "word":
                self.at += 1
                parts.append(self._index())
                self._expect("]", "the square bracket behind a name is not closed")
            elif self._take("."):
                if self._next.kind != "word":
                    self._fail(
                        'behind a point stands a word: write q["odd name"] or q.A[2]', self._next.start
                    )
                parts.append(self._next.text)
                self.at += 1
            else:
                break
        self._write("name", start.start, value=str(parts[0]) if len(parts) == 1 else tuple(parts))

    def _index(self) -> str | int:
        token = self._next
        if token.kind == "string":
            self.at += 1
            return _unquoted(token)
        if token.kind != "number" or not token.text.isdigit() or len(token.text) > 6:
            self._fail(
                'in square brackets behind a name stands a name in quotes or a whole number: q["odd name"], q.A[2]',
                token.start,
            )
        self.at += 1
        return int(token.text)


def _unquoted(token: Token) -> str:
    return (
        re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL) if token.kind == "string" else token.text
    )
