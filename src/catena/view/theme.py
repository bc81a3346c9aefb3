"""Colours of the light theme, and which part of a mechanism wears which."""

from __future__ import annotations

Colour = str
"""#rrggbb, or #rrggbbaa for what is seen through."""

BODIES: tuple[Colour, Colour] = ("#7fa3cc", "#a9c1dc")  # neighbours along a chain alternate
JOINT: Colour = "#3d4a5c"
ROD: Colour = "#c3c9d1"  # what comes out of a slide
LOOP: Colour = "#e07b2e"
FORCE: Colour = "#7a4fa3"
COUPLING: Colour = "#c2a24a"  # wheels, pulleys and belts
LOCKED: Colour = "#9aa3ad"
GROUND: Colour = "#b9bec5"
FLOOR: Colour = "#eef0f3"
SHADOW: Colour = "#cdd3da"
INK: Colour = "#1f2933"
FAINT_INK: Colour = "#6b7683"
PAPER: Colour = "#ffffff"
TRACES: tuple[Colour, ...] = ("#b0307a", "#0f8f87", "#8a6a10", "#5a4fd0", "#c0502a", "#3a7a2a")
ARROWS: dict[str, Colour] = {
    "reactions": "#0f8f87", "actuators": "#cf3f52", "contacts": "#2e9e3f", "applied": "#8a4fc0",
}  # fmt: skip
