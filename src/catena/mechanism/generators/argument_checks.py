"""Checks of the arguments of generators against the annotations of their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from catena.errors import ModelError
from catena.joints import JointKind
from catena.mechanism.mechanism import Mechanism
from catena.spatial import is_one_pose
from catena.validation import entries, is_count, is_finite, real_array, shown

F = TypeVar("F", bound=Callable[..., Any])


def _is_whole(value: Any) -> bool:
    return is_count(value) or (isinstance(value, int | np.integer) and not isinstance(value, bool))


def _are_finite(value: Any) -> bool:
    try:
        found = real_array(value)
    except ValueError:
        return False
    return found.ndim == 1 and bool(np.isfinite(found).all())


def _are_words(value: Any) -> bool:
    try:
        return bool(value) and all(isinstance(word, str) for word in entries(value))
    except ValueError:
        return False


# For the annotation of a parameter: whether a value is such a thing, and what it should be in words.
KNOWN: dict[str, tuple[Callable[[Any], bool], str]] = {
    "int": (_is_whole, "a whole number"),
    "float": (is_finite, "a finite number"),
    "bool": (lambda x: isinstance(x, bool | np.bool_ | int), "True or False"),
    "str": (lambda x: isinstance(x, str), "a word"),
    "ArrayLike": (_are_finite, "a list of finite numbers"),
    "Sequence[float]": (_are_finite, "a list of finite numbers"),
    "Sequence[str]": (_are_words, "a list of words"),
    "Mechanism": (lambda x: isinstance(x, Mechanism), "a Mechanism"),
    "Pose": (is_one_pose, "a Pose"),
    "JointKind": (lambda x: isinstance(x, JointKind), "a joint kind"),
}


def checks_arguments(generator: F) -> F:
    """Make a generator refuse arguments that are not what their annotations say, with a ModelError that names them."""
    signature = inspect.signature(generator)
    wanted = {name: str(p.annotation).split(" | ") for name, p in signature.parameters.items()}

    @wraps(generator)
    def checked(*arguments: Any, **named: Any) -> Any:
        for name, value in signature.bind(*arguments, **named).arguments.items():
            first, *others = wanted[name]
            if first not in KNOWN or (value is None and "None" in others):
                continue
            is_good, words = KNOWN[first]
            if not is_good(value):
                raise ModelError(f"{generator.__name__}: {name} is {shown(value)}: give {words}")
        return generator(*arguments, **named)

    return checked  # type: ignore[return-value]
