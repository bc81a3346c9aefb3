"""Pictures of mechanisms. Needs matplotlib (`pip install "catena[plot]"`), imported only to draw."""

from catena.view.drawing import draw
from catena.view.gantt import gantt
from catena.view.scene import Part, Scene, scene
from catena.view.structure_diagram import structure_diagram

__all__ = ["Part", "Scene", "draw", "gantt", "scene", "structure_diagram"]
