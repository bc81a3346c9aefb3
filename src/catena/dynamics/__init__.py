"""How forces and accelerations belong together; one file for each algorithm."""

from catena.dynamics.articulated_body import articulated_body
from catena.dynamics.composite_body import composite_body
from catena.dynamics.conserved import kinetic_energy, momentum, potential_energy, total_inertia
from catena.dynamics.hybrid_dynamics import hybrid_dynamics
from catena.dynamics.inertial_regressor import inertial_regressor
from catena.dynamics.newton_euler import newton_euler, newton_euler_bodies
from catena.dynamics.operational_space import operational_space

__all__ = [
    "articulated_body",
    "composite_body",
    "hybrid_dynamics",
    "inertial_regressor",
    "kinetic_energy",
    "momentum",
    "newton_euler",
    "newton_euler_bodies",
    "operational_space",
    "potential_energy",
    "total_inertia",
]
