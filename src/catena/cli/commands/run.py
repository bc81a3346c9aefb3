"""`catena run`: simulate a model, say how it went, and write what was asked for."""

from __future__ import annotations

import inspect
import json
from argparse import Namespace
from pathlib import Path

from catena.cli.console import Console, Exit
from catena.cli.controls import BUILT_IN
from catena.cli.description import plain
from catena.cli.options import add_model, add_state, scenario_of
from catena.cli.parsing import (
    Commands,
    Group,
    Parser,
    any_file,
    assignment,
    count,
    names_and_files,
    numbers,
    one_of,
    positive,
    vector,
)
from catena.cli.results import Outputs, as_data, print_sizing, print_summary, what_is_left
from catena.cli.running import follow, prepare
from catena.simulation import Scenario, simulate
from catena.simulation.scenario.plots import plot_list
from catena.simulation.stepping.drift import NAMES as DRIFTS
from catena.simulation.stepping.integrators import INTEGRATORS

ABOUT = "simulate a model"
TEXT = """The motion starts from the model's own initial state, or from what --q and --v say. Joints that are not named
follow from the loops they are on, with least kinetic energy where those leave a choice (name a joint with value 0
to keep it still); the others stand still."""
EXAMPLES = """  catena run four_bar --v A=2 --time 5 --plot
  catena run robot.toml --control hold --out run.nc --report run.html
  catena run 'chain(2, axes="y")' --q joint1=30deg --event joint2=0
  catena run arm.py:make --control arm.py:torque --rate 1000 --json
  catena run robot.toml --control hold --sizing --out run.xlsx --columns reactions power tool"""


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("run", ABOUT, execute, TEXT, EXAMPLES)
    add_model(parser)
    add_options(parser)


def add_options(parser: Parser) -> None:
    """Add all options but the model."""
    add_state(parser)
    _add_motion(parser.add_argument_group("motion"))
    _add_integration(parser.add_argument_group("integration"))
    _add_output(parser.add_argument_group("output"))


def _add_motion(group: Group) -> None:
    group.add_argument(
        "--time", type=positive, metavar="S", help="seconds to simulate (what the file says, or 10)"
    )
    group.add_argument(
        "--gravity", type=vector, metavar="X,Y,Z", help="gravity instead of the model's own [m/s^2]"
    )
    group.add_argument(
        "--event",
        type=assignment,
        action="append",
        metavar="JOINT=VALUE",
        help="stop when a joint gets there",
    )
    control = group.add_argument(
        "--control", nargs="+", metavar="NAME",
        help="none; hold: PID at the initial position; gravity: gravity compensation, as well as the actuators can; "
        "constant JOINT=VALUE ...: constant forces; file.py:function, a function of (t, q, v); "
        "file.py:function(...), which is called with the system and what is in the parentheses and returns one",
    )  # fmt: skip
    names_and_files(control, "control", BUILT_IN, (".py",))
    group.add_argument(
        "--gain", type=numbers, metavar="P[,I[,D]]", help="gains of hold, the same for all joints"
    )
    group.add_argument(
        "--rate",
        type=positive,
        metavar="HZ",
        help="how often the control is asked (hold: 1000, others: always)",
    )


def _add_integration(group: Group) -> None:
    group.add_argument(
        "--integrator", type=one_of("integrator", INTEGRATORS), choices=INTEGRATORS,
        metavar="NAME", help=f"{', '.join(INTEGRATORS)} (dopri5)",
    )  # fmt: skip
    group.add_argument(
        "--step", type=positive, metavar="S", help="step size of integrators with a fixed step [s]"
    )
    for name, what in (("rtol", "relative"), ("atol", "absolute")):
        group.add_argument(
            f"--{name}",
            type=positive,
            metavar="X",
            help=f"{what} tolerance of the others ({_default(name):g})",
        )
    ways = tuple(DRIFTS)
    group.add_argument(
        "--drift", type=one_of("way", ways), choices=ways, metavar="WAY",
        help=f"how loops are kept closed: {', '.join(ways)} (projection)",
    )  # fmt: skip


def _add_output(group: Group) -> None:
    group.add_argument("--samples", type=count, metavar="N", help="how many times to keep (every step)")
    for name, what in (
        ("out", "write the trajectory: .nc or .h5, or a table: .csv, .xlsx, .parquet, .mat"),
        ("report", "write a page with plots and the audit: .html"),
    ):
        any_file(group.add_argument(f"--{name}", type=Path, metavar="FILE", help=what))
    plot = group.add_argument(
        "--plot", nargs="?", const="", metavar="FILE", help="draw into a file, or on the screen"
    )
    any_file(plot)
    group.add_argument(
        "--columns", nargs="+", action="extend", default=[], metavar="NAME",
        help="what a table of --out has besides: reactions, power, acceleration, units, or frames and bodies by name",
    )  # fmt: skip
    group.add_argument(
        "--sizing",
        action="store_true",
        help="print what the motion asks of each motor: effort, speed, power, and parts of its limits",
    )
    group.add_argument("--json", action="store_true", help="print the summary as JSON")
    group.add_argument("--quiet", action="store_true", help="print nothing but warnings and errors")


def _default(name: str) -> float:
    """Return what `simulate` takes for an argument that is not given."""
    return float(inspect.signature(simulate).parameters[name].default)


def execute(arguments: Namespace, console: Console) -> int:
    """Simulate the model that was asked for."""
    return perform(scenario_of(arguments), arguments, console)


def perform(scenario: Scenario, arguments: Namespace, console: Console) -> int:
    """Simulate a scenario, write the files, and then the summary: a reader that goes away costs no file."""
    outputs = Outputs(
        arguments.out,
        arguments.plot,
        arguments.report,
        columns=arguments.columns,
        plots=plot_list(scenario.plots),
    )
    outputs.check()
    outcome = follow(prepare(scenario, arguments), console)
    if outcome.run is not None:
        outputs.write(outcome.run, console)
    if outcome.reason:
        console.error(f"{outcome.reason.rstrip('.')}. {what_is_left(outcome, outputs)}")
    if arguments.json:
        data = as_data(outcome, outputs, console)
        if arguments.sizing and outcome.run is not None:
            data["sizing"] = [plain(motor.as_data()) for motor in outcome.run.sizing()]
        console.result(json.dumps(data, indent=2, allow_nan=False))
    elif outcome.run is not None:
        print_summary(outcome, outputs, console)
        if arguments.sizing:
            print_sizing(outcome.run.sizing(), console)
    if outcome.run is not None:
        outputs.show(outcome.run, console)
    return outcome.code or (Exit.OUTPUT if outputs.failed else Exit.OK)
