"""The element <drake:ball_constraint>, in URDF and in SDF: two points of two bodies that coincide."""

from __future__ import annotations

from collections.abc import Mapping

from catena.errors import CatenaError
from catena.formats.closing import loop_name
from catena.formats.markup import Element
from catena.formats.source import Source
from catena.joints import Spherical
from catena.mechanism import Mechanism
from catena.spatial import Pose

BALL = "drake:ball_constraint"


def add_ball_constraint(
    mechanism: Mechanism, element: Element, links: Mapping[str, str], source: Source
) -> None:
    """Add the spherical joint of a ball constraint; `links` are the bodies of links."""
    bodies, places = [], []
    for end, point in (("body_A", "p_AP"), ("body_B", "p_BQ")):
        body = element.first(f"{BALL}_{end}")
        if body is None:
            element.fail(f"there is no <{BALL}_{end}> in it: name a link")
        # URDF has attributes where SDF has text.
        link = body.get("name").strip() or body.text.strip()
        if link not in links:
            body.fail(f"no link is named {link!r}")
        bodies.append(links[link])
        at = element.first(f"{BALL}_{point}")
        if at is None:
            element.fail(f"there is no <{BALL}_{point}> in it: give three numbers")
        inside = "value" in at.attributes
        places.append(Pose(p=at.numbers("value", 3) if inside else element.values(f"{BALL}_{point}", 3)))
    (first, second), (on_first, on_second) = bodies, places
    name = element.get("name").strip() or loop_name(first, second)
    while name in mechanism.joints:
        name += "'"
    try:
        mechanism.add_joint(name, first, second, Spherical(), on_first, on_second, actuated=False)
    except CatenaError as error:
        element.refuse(error, f"joint {name!r}")
    source.places["joint", name] = element.line
