"""Pictures of mechanisms. Needs matplotlib (`pip install "catena-dynamics[plot]"`), imported only to draw."""

from catena.view.course import Course
from catena.view.drawing import draw
from catena.view.gantt import gantt
from catena.view.scene import picture, scene
from catena.view.structure_diagram import structure_diagram

__all__ = [
    "Course",
    "draw",
    "gantt",
    "picture",
    "scene",
    "structure_diagram",
]
