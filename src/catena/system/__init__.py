"""The public face of a planned mechanism."""

from catena.dynamics.loops.formulations.simple_chains import ChainQuantities
from catena.questions.joint_bases import JointBases
from catena.questions.operational_dynamics import OperationalDynamics
from catena.questions.velocity_transformation import VelocityTransformation
from catena.system.at_loops import (
    correction,
    restoring_acceleration,
    suitable_strength,
    tree_forces,
    with_loops_at,
)
from catena.system.checking import check
from catena.system.closed_states import branches
from catena.system.contact_dynamics import contact_dynamics, contact_velocity
from catena.system.energies import energy_derivatives
from catena.system.inertial_parameters import inertial_parameters
from catena.system.moving_base import moving_base_wrenches
from catena.system.published_quantities import (
    BiasParts,
    JointWrench,
    bias_parts,
    chain_quantities,
    compare_plans,
    connectivity,
    jacobian_rate,
    joint_bases,
    joint_wrench,
    operational_dynamics,
    velocity_transformation,
)
from catena.system.reaching import reach
from catena.system.system import System

__all__ = [
    "System",
    "VelocityTransformation",
    "branches",
    "check",
    "compare_plans",
    "connectivity",
    "contact_dynamics",
    "contact_velocity",
    "correction",
    "energy_derivatives",
    "inertial_parameters",
    "reach",
    "restoring_acceleration",
    "suitable_strength",
    "tree_forces",
    "ChainQuantities",
    "chain_quantities",
    "velocity_transformation",
    "with_loops_at",
    "BiasParts",
    "JointBases",
    "JointWrench",
    "OperationalDynamics",
    "bias_parts",
    "jacobian_rate",
    "joint_bases",
    "joint_wrench",
    "moving_base_wrenches",
    "operational_dynamics",
]
