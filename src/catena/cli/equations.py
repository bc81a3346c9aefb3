"""Options of the commands that look at equations, and the equations that they ask for."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from catena.cli.assignments import by_name
from catena.cli.models import resolve
from catena.cli.options import add_model, add_state
from catena.cli.parsing import Parser, one_of
from catena.cli.start import initial_state

if TYPE_CHECKING:
    from catena.equations import Equations

NAMES = (
    "forward_dynamics", "inverse_dynamics", "mass_matrix", "bias_force", "joint_coordinates", "minimal_coordinates",
    "closure", "closure_jacobian", "pose", "twist", "jacobian", "kinematics", "kinetic_energy", "potential_energy",
    "momentum",
)  # fmt: skip
METHODS = ("auto", "articulated_body", "composite_body", "elimination", "joint_multipliers", "minimal")
AT_A_STATE = ("joint_multipliers", "minimal")


def add_equations(parser: Parser) -> None:
    """MODEL, and which equations of it."""
    add_model(parser)
    parser.add_argument(
        "--equations", metavar="NAME", type=one_of("set of equations", NAMES), default="forward_dynamics",
        choices=None, help=f"one of {', '.join(NAMES)}; forward_dynamics unless given",
    )  # fmt: skip
    parser.add_argument(
        "--method", metavar="NAME", type=one_of("method", METHODS), default="auto",
        help="how forward dynamics is computed: " + ", ".join(METHODS),
    )  # fmt: skip
    parser.add_argument("--frame", metavar="FRAME", help="the frame of pose, twist, jacobian and kinematics")
    add_state(parser)


def equations_of(arguments: Namespace) -> Equations:
    """The equations that were asked for. Positions matter to methods that make their choices at a state."""
    system = resolve(arguments.model, arguments.kind, arguments.search).system()
    at = None
    if arguments.method in AT_A_STATE or arguments.equations == "minimal_coordinates":
        at, _ = initial_state(system, by_name(arguments.q), by_name(arguments.v))
    return system.equations(arguments.equations, frame=arguments.frame, method=arguments.method, at=at)
