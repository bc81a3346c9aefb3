"""The face of a system stays small: its public names are counted, and what was one of them names its successor."""

import pytest

import catena as ct
from catena.mechanism.generators import four_bar
from catena.system.system import RENAMED

MOST = 60


def public(owner):
    return {name for name in dir(owner) if not name.startswith("_")}


def test_a_system_has_at_most_sixty_public_members():
    assert len(public(four_bar().system())) <= MOST


@pytest.mark.parametrize("old", RENAMED)
def test_a_name_that_was_taken_away_tells_what_is_asked_instead(old):
    s = four_bar().system()
    assert not hasattr(s, old)
    with pytest.raises(ct.RenamedError, match=f"^s.{old} is now ") as raised:
        getattr(s, old)
    # What the message names is there.
    new = str(raised.value).split(" is now ")[1].rstrip(".").partition("(")[0]
    owner, *path = new.split(".")
    found = {"s": s, "ct": ct, "catena": __import__("catena.system")}[owner]
    for name in path[:-1]:
        found = getattr(found, name)
    assert path[-1] in public(found)


def test_a_name_that_never_was_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        four_bar().system().nothing  # noqa: B018
