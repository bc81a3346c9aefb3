"""Names with arguments as they are typed: `n_four_bars(40)`, `make(3, dof=7)`. Nothing is evaluated but literals."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from catena.cli.faults import UsageError


@dataclass(frozen=True)
class Call:
    """A name, and the arguments in its parentheses; `called` tells whether there were any parentheses."""

    name: str
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    called: bool = False

    def on(self, function: Callable[..., Any], *before: Any) -> Any:
        """What the function gives for the arguments, after those in `before`; a UsageError if it does not take
        them."""
        arguments = (*before, *self.arguments)
        try:
            inspect.signature(function).bind(*arguments, **self.keywords)
        except TypeError as error:
            raise UsageError(f"{self.name}{inspect.signature(function)}: {error}") from None
        return function(*arguments, **self.keywords)


def read_call(text: str) -> Call:
    """Read `name` or `name(arguments)`."""
    if "(" not in text:
        return Call(text.strip())
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise UsageError(
            f"{text!r} is not a name with arguments: write it like n_four_bars(40) or arm(3, dof=7)"
        )
    if any(keyword.arg is None for keyword in tree.keywords):
        raise UsageError(f"{text!r}: ** is not possible here: name the arguments one by one")
    keywords = {str(keyword.arg): _value(text, keyword.value) for keyword in tree.keywords}
    return Call(tree.func.id, tuple(_value(text, argument) for argument in tree.args), keywords, True)


def _value(text: str, node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise UsageError(
            f"{text!r}: {ast.unparse(node)} is not a plain value: give numbers, 'texts', True, False, None, or "
            "lists of these"
        ) from None
