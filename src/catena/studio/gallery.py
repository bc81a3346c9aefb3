"""The mechanisms that the studio starts from: those that come along with Catena, told in words that everybody knows."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

from catena.formats.toml import write
from catena.mechanism import Mechanism, generators
from catena.mechanism.generators import USUAL
from catena.mechanism.validation import known

RUN = "\n[run]\nduration = 1.0\nsamples = 201\nrtol = 1e-8\natol = 1e-10\n"
"""The run that a mechanism of the gallery begins with."""
DESCRIPTIONS = {
    "four_bar": ("Four-bar", "The simplest closed linkage: a crank, a coupler and a rocker."),
    "stewart": ("Stewart platform", "A plate on six legs that moves every way."),
    "scissor_lift": ("Scissor lift", "Crossed bars that raise a platform."),
    "delta": ("Delta robot", "Three light arms that carry one plate."),
    "arm6": ("Industrial arm", "Six joints, as robots in factories have them."),
    "arm7": ("Lightweight arm", "Seven joints, which can reach around things."),
    "stanford_arm": ("Stanford arm", "A classic of 1969, with one joint that slides."),
    "walker": ("Walker", "A machine on legs."),
    "humanoid": ("Humanoid", "A body with arms and legs, as heavy as a person."),
    "hand": ("Hand", "Fingers that hold a ball."),
    "hslm": ("Machine tool", "A tool on three sliding legs: the HSLM of van der Merwe's thesis."),
    "andrews": ("Andrews' squeezer", "Seven bars in a plane that every solver is tried on."),
    "driven_andrews": ("Andrews' squeezer, driven", "The same with its spring and its motor."),
    "bricard": ("Bricard's loop", "Six hinges in a ring that moves although counting says it cannot."),
    "four_link_chain": ("Four links", "A chain of four links that is pinned at both ends."),
    "chain": ("Chain", "Six links in a row, hanging."),
    "tree": ("Tree", "Fifteen links that branch."),
    "n_four_bars": ("Two four-bars", "One linkage drives the next."),
    "nested_loops": ("Loops in loops", "A four-bar whose bars are linkages themselves."),
    "arms_on_object": ("Two arms, one load", "Two robots that carry one thing."),
    "spatial_four_bar": ("Bennett's linkage", "Four skew hinges in a ring: the simplest loop in space."),
    "two_links_and_load": (
        "Two links and a load",
        "A load on two parallel links, from van der Merwe's thesis.",
    ),
    "free_flyer": ("Free flyer", "A robot in space with arms and wheels, held by nothing."),
}
"""A title and a sentence for those that newcomers look for, in the order in which they do."""


def gallery() -> list[dict[str, str]]:
    """Return the mechanisms that come along, {"name", "title", "about"} each; those told above come first."""
    names = [name for name in generators.__all__ if not name.startswith("random") and _is_complete(name)]
    order = sorted(
        names, key=lambda name: list(DESCRIPTIONS).index(name) if name in DESCRIPTIONS else len(DESCRIPTIONS)
    )
    return [{"name": name, **_described(name)} for name in order]


def gallery_mechanism(name: str) -> Mechanism:
    """Return a mechanism of the gallery."""
    made = getattr(generators, name)(*USUAL.get(name, ()))
    assert isinstance(made, Mechanism)
    return made


def gallery_text(sent: Any) -> tuple[str, str]:
    """Return the name of a mechanism of the gallery, and its text with a run."""
    name = known("mechanism", sent, [each["name"] for each in gallery()], "the gallery")
    return name, write(gallery_mechanism(name), f"{name}.toml", None) + RUN


def _described(name: str) -> dict[str, str]:
    if name in DESCRIPTIONS:
        title, about = DESCRIPTIONS[name]
        return {"title": title, "about": about}
    text = (getattr(generators, name).__doc__ or "").strip().partition("\n\n")[0].replace("\n    ", " ")
    return {"title": name.replace("_", " ").capitalize(), "about": text.partition(". ")[0].rstrip(".") + "."}


def _is_complete(name: str) -> bool:
    """Return whether a generator makes a mechanism with what it is usually called with."""
    wanted = list(signature(getattr(generators, name)).parameters.values())[len(USUAL.get(name, ())) :]
    return all(each.default is not Parameter.empty for each in wanted)
