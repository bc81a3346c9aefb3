"""`catena fmu`: a model as a Functional Mock-up Unit for other programs."""

from __future__ import annotations

from argparse import Namespace

from catena.bridges.fmu import export_fmu
from catena.cli.console import Console, Exit, counted
from catena.cli.options import add_model, add_state, initial_state, model_of
from catena.cli.parsing import Commands, any_file, by_name, positive

ABOUT = "write a model as an FMU for Simulink, Dymola, OpenModelica, Amesim and others"
TEXT = """The unit has sources in C, and a binary for this machine if a C compiler is found. It is for co-simulation and
for model exchange."""
EXAMPLES = """  catena fmu arm7 arm.fmu
  catena fmu four_bar crank.fmu --fmi 3.0 --q A=0.4 --v A=2 --input A.tau --output A.q coupler.position
  catena fmu robot.toml robot.fmu --parameter pole.mass gravity --sources"""


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("fmu", ABOUT, execute, text=TEXT, examples=EXAMPLES)
    add_model(parser)
    action = parser.add_argument("out", metavar="OUT", help="the file to write, which ends with .fmu")
    any_file(action)
    parser.add_argument("--fmi", choices=("2.0", "3.0"), default="2.0", help="the version of FMI (2.0)")
    add_state(parser)
    for name, about in (
        (
            "input",
            "what goes in: elbow.tau, tool.wrench, tool.force, or a number of the model such as servo.signal",
        ),
        ("output", "what comes out: elbow.q, elbow.v, elbow.a, tool.position, strut.length, energy, ..."),
        ("parameter", "a number of the model that importers may set: pole.mass, elbow.damping, gravity"),
    ):
        parser.add_argument(f"--{name}", metavar="NAME", nargs="+", action="extend", help=about)
    parser.add_argument(
        "--time", type=positive, default=10.0, metavar="S", help="seconds that importers run by default (10)"
    )
    parser.add_argument("--sources", action="store_true", help="sources only; look for no compiler")


def execute(arguments: Namespace, console: Console) -> int:
    """Write the file and say what is in it."""
    system = model_of(arguments).system()
    q, v = initial_state(system, by_name(arguments.q), by_name(arguments.v))
    written = export_fmu(
        system, arguments.out, version=arguments.fmi, initial=q, velocity=v, inputs=arguments.input,
        outputs=arguments.output, parameters=arguments.parameter or (), duration=arguments.time,
        compiler=False if arguments.sources else None,
    )  # fmt: skip
    states = counted(system.nq + system.nv, "state")
    console.say(f"{written}: FMI {arguments.fmi}, {states}, {written.stat().st_size / 1024:.0f} KiB")
    return Exit.OK
