"""Options that several commands have, and what they ask for: a model, a state, equations."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.cli.models import allowed, gallery_names, read_reference, resolve
from catena.cli.parsing import Parser, assignment, by_name, names_and_files, one_of, setting
from catena.errors import LoopError
from catena.formats.files import FORMATS
from catena.mechanism import Mechanism
from catena.simulation import Scenario
from catena.system import System

if TYPE_CHECKING:
    from catena.equations import Equations

MODEL = (
    "a model file (.toml, .urdf, .sdf, .xml), a Python function (file.py:function) or a name of the gallery "
    "(catena models)"
)
EQUATIONS = (
    "forward_dynamics", "inverse_dynamics", "mass_matrix", "bias_force", "joint_coordinates", "minimal_coordinates",
    "closure", "closure_jacobian", "pose", "twist", "jacobian", "kinematics", "kinetic_energy", "potential_energy",
    "momentum", "force_outputs",
)  # fmt: skip
METHODS = ("auto", "articulated_body", "composite_body", "elimination", "joint_multipliers", "minimal")
AT_A_STATE = ("joint_multipliers", "minimal")


def add_model(parser: Parser) -> None:
    """Add the argument MODEL."""
    action = parser.add_argument("model", metavar="MODEL", help=MODEL)
    names_and_files(action, "model", gallery_names(), (*FORMATS, ".py"))
    add_trust(parser)
    add_settings(parser)


def add_trust(parser: Parser) -> None:
    """Add the options that say what a model file may use besides what is built in and lies in its folder."""
    parser.add_argument(
        "--kind",
        metavar="MODULE:CLASS",
        action="append",
        default=[],
        help="a joint or force of your own that the model file may use; its module is imported",
    )
    parser.add_argument(
        "--search",
        metavar="DIR",
        action="append",
        default=[],
        help="a folder in which meshes, packages and included files may lie besides that of the model",
    )


def add_settings(parser: Parser) -> None:
    """Add the option --set for parameters of the model file."""
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=setting,
        dest="settings",
        help="the value of a parameter of a .toml file instead of what it says: crank=0.4, crank='400 mm'; may be "
        "given several times",
    )


def model_of(arguments: Namespace) -> Mechanism:
    """Return the mechanism that MODEL and the options beside it stand for."""
    return resolve(arguments.model, arguments.kind, arguments.search, dict(arguments.settings))


def scenario_of(arguments: Namespace) -> Scenario:
    """Return the scenario that MODEL stands for: what a .toml file says, or a mechanism alone."""
    path = Path(arguments.model)
    if read_reference(arguments.model) is None and path.suffix.lower() == ".toml":
        kinds = allowed(path, arguments.kind)
        return Scenario.load(path, dict(arguments.settings), arguments.search, kinds)
    return Scenario(model_of(arguments))


def add_state(parser: Parser) -> None:
    """Add the options --q and --v for positions and velocities of joints."""
    for name, what in (("q", "position"), ("v", "velocity")):
        parser.add_argument(
            f"--{name}",
            metavar="JOINT=VALUE",
            nargs="+",
            action="extend",
            type=assignment,
            help=f"{what} of a joint at the start, in rad or m (30deg, or several numbers: base=0,0,1,1,0,0,0); loops "
            "are closed around what is given",
        )


def add_equations(parser: Parser) -> None:
    """Add MODEL and the options that choose equations of it."""
    add_model(parser)
    parser.add_argument(
        "--equations", metavar="NAME", type=one_of("set of equations", EQUATIONS), default="forward_dynamics",
        choices=None, help=f"one of {', '.join(EQUATIONS)}; forward_dynamics unless given",
    )  # fmt: skip
    parser.add_argument(
        "--method", metavar="NAME", type=one_of("method", METHODS), default="auto",
        help="how forward dynamics is computed: " + ", ".join(METHODS),
    )  # fmt: skip
    parser.add_argument("--frame", metavar="FRAME", help="the frame of pose, twist, jacobian and kinematics")
    add_state(parser)


def initial_state(
    system: System, q_given: Mapping[str, Any], v_given: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mechanism's own start, or the closed state nearest to it in which joints have the given positions
    and velocities.

    Given velocities replace those of the mechanism, because the two together would often over-determine the loops.
    """
    try:
        q, own = system.start()
    except LoopError:
        # The file's own start is of no use, but values that were given may still lead to a closed state.
        if not q_given:
            raise
        q, own = system.neutral(), np.zeros(system.nv)
    if not q_given and not v_given:
        return q, own
    if q_given:
        q = system.assemble(q_given, guess=q)
    return q, system.velocity(q, v_given or system.mechanism.initial.v)


def equations_of(arguments: Namespace) -> Equations:
    """Return the equations that were asked for. Positions matter to methods that make their choices at a state."""
    system = model_of(arguments).system()
    at = None
    if arguments.method in AT_A_STATE or arguments.equations == "minimal_coordinates":
        at, _ = initial_state(system, by_name(arguments.q), by_name(arguments.v))
    return system.equations(arguments.equations, frame=arguments.frame, method=arguments.method, at=at)
