"""How forces and accelerations belong together; one file for each algorithm."""

from catena.dynamics.flexible.flexible_body import flexible_dynamics, most_modes, tree_dynamics
from catena.dynamics.tree.articulated_body import articulated_body, articulated_inertia
from catena.dynamics.tree.composite_body import composite_body
from catena.dynamics.tree.conserved import energies, kinetic_energy, momentum, potential_energy, total_inertia
from catena.dynamics.tree.friction import strain_energy
from catena.dynamics.tree.hybrid_dynamics import hybrid_dynamics
from catena.dynamics.tree.inertial_regressor import inertial_regressor
from catena.dynamics.tree.newton_euler import newton_euler, newton_euler_bodies
from catena.dynamics.tree.operational_space import operational_space

__all__ = [
    "articulated_body",
    "articulated_inertia",
    "composite_body",
    "energies",
    "flexible_dynamics",
    "hybrid_dynamics",
    "inertial_regressor",
    "kinetic_energy",
    "momentum",
    "most_modes",
    "newton_euler",
    "newton_euler_bodies",
    "operational_space",
    "potential_energy",
    "strain_energy",
    "total_inertia",
    "tree_dynamics",
]
