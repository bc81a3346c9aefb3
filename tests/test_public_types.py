"""The public edge has real types: a type checker knows what goes in and what comes out."""

import importlib
import inspect
import re
from typing import Any, get_overloads

import pytest

import catena as ct

# Any wherever it says something of its own: not in the type of an array, nor as what a function of a user returns.
SAID = re.compile(r"typing\.Union\[.*|Callable\[(\.\.\.|\[.*\]), Any\]")
OPEN = re.compile(r"\bAny\b")
OPEN_SLOTS = {
    "System.hybrid_dynamics: return": "joint forces as an array, or by name where a prescribed joint closes a loop",
}
"""Slots of public names whose type stays open, and why. What functions of users return may be anything that is checked
then, and numbers and symbols alike are `Scalar` and `Scalars`, which say so."""
EDGE = (ct.Mechanism, ct.System, ct.Trajectory, ct.Segment, ct.Stepper)
METHODS = [
    (each, name, function)
    for each in EDGE
    for name, function in inspect.getmembers(each, callable)
    if (not name.startswith("_") or name == "__init__") and function is not object.__init__
]


def any_of(function):
    """Return the parameters, and "return", whose annotation leaves the type open or is missing."""
    signature = inspect.signature(function)
    named = {
        parameter.name: parameter.annotation
        for parameter in signature.parameters.values()
        # What is passed on as *arguments or **options has its types elsewhere.
        if parameter.name not in ("self", "cls")
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    return [
        name
        for name, annotation in {**named, "return": signature.return_annotation}.items()
        if annotation in (inspect.Parameter.empty, Any) or OPEN.search(SAID.sub("", str(annotation)))
    ]


@pytest.mark.parametrize(
    "function", [f for *_, f in METHODS], ids=[f"{each.__name__}.{name}" for each, name, _ in METHODS]
)
def test_a_method_of_the_public_edge_leaves_no_type_open(function):
    assert {f"{function.__qualname__}: {slot}" for slot in any_of(function)} <= OPEN_SLOTS.keys()


def test_one_system_and_one_controller_give_one_trajectory_to_a_type_checker():
    one, several = get_overloads(ct.simulate)
    assert inspect.signature(one).return_annotation == "Trajectory"
    assert inspect.signature(several).return_annotation == "Trajectory | list[Trajectory]"
    assert any_of(ct.simulate) == []


@pytest.mark.parametrize(
    "function", [f for *_, f in METHODS], ids=[f"{each.__name__}.{name}" for each, name, _ in METHODS]
)
def test_help_shows_a_signature_that_fits_on_a_screen(function):
    """Types by their names, not by all that they stand for."""
    signature = inspect.signature(function)
    assert len(str(signature)) < 160 + 40 * len(signature.parameters)


@pytest.mark.parametrize(("old", "new"), [("Moment", "Instant"), ("Found", "EventHit")])
def test_a_name_that_was_renamed_tells_the_new_one(old, new):
    assert hasattr(ct, new) and not hasattr(ct, old)
    with pytest.raises(ct.RenamedError, match=f"ct.{old} is called ct.{new} now"):
        getattr(ct, old)


@pytest.mark.parametrize(("where", "old", "new"), [
    ("catena.simulation.references", "Motion", "ReferenceMotion"), ("catena.forces.line", "Line", "LineOfAction"),
    ("catena.studio", "Session", "EditingSession"),
])  # fmt: skip
def test_a_name_of_a_module_that_was_renamed_tells_the_new_one(where, old, new):
    module = importlib.import_module(where)
    assert hasattr(module, new) and not hasattr(module, old)
    with pytest.raises(ct.RenamedError, match=f"{old} is called .*{new} now"):
        getattr(module, old)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing  # noqa: B018


def public_functions():
    """Yield the public functions, and the public methods and properties of the public classes, each once."""
    seen = set()
    for name in dir(ct):
        found = None if name.startswith("_") else getattr(ct, name)
        if inspect.isfunction(found):
            seen.add(found)
        if inspect.isclass(found):
            for member in dir(found):
                if not member.startswith("_") or member == "__init__":
                    own = inspect.getattr_static(found, member)
                    own = own.fget if isinstance(own, property) else getattr(own, "__func__", own)
                    seen.update([own] if inspect.isfunction(own) else [])
    return [function for function in seen if function.__module__.startswith("catena")]


def test_public_names_leave_no_type_open_but_those_that_are_listed():
    found = {f"{f.__qualname__}: {slot}" for f in public_functions() for slot in any_of(f)}
    assert found == OPEN_SLOTS.keys()


NOUNS = re.compile(r"(The|A|An|What|Whether|How|Where|Which|All|Those|When|Who)\b")


def test_docstrings_of_public_functions_say_in_one_form_what_is_returned():
    """They begin with a verb, `Return` as a rule; what is a property is told by a noun."""
    properties = {
        member.fget
        for name in dir(ct)
        if inspect.isclass(found := getattr(ct, name, None))
        for _, member in inspect.getmembers_static(found)
        if isinstance(member, property)
    }
    asked = [
        function
        for function in public_functions()
        if function not in properties and function.__name__ != "__init__"
        if inspect.signature(function).return_annotation not in (None, "None")
    ]
    assert len(asked) > 300
    assert [f.__qualname__ for f in asked if NOUNS.match(inspect.getdoc(f) or "")] == []
