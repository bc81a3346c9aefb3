"""How runs depend on where they begin and on parameters."""

from catena.simulation.sensitivities.gradients import Gradient, Sensitivities, sensitivities

__all__ = ["Gradient", "Sensitivities", "sensitivities"]
