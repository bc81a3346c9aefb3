"""`catena demo`: prepared runs."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from catena.cli.commands import run
from catena.cli.console import Console, Exit, UsageError
from catena.cli.models import resolve
from catena.cli.parsing import Commands, Parser, one_of
from catena.mechanism import Mechanism
from catena.mechanism.generators.andrews import SPRING_LENGTH, SPRING_STIFFNESS
from catena.simulation import Scenario

ABOUT = "run a prepared demo, or list them"
EXAMPLES = """  catena demo
  catena demo four_bar
  catena demo stewart --show"""


@dataclass(frozen=True)
class Demo:
    """A model and the options of `catena run`, and in `change` what is added to the model before."""

    about: str
    model: str
    options: tuple[str, ...]
    change: Callable[[Mechanism], object] | None = None


def _with_spring(mechanism: Mechanism) -> None:
    mechanism.add_spring_between("spring", "C", "D", SPRING_STIFFNESS, SPRING_LENGTH)


# A sampled controller is part of the compiled loop where every sample is a step.
_HELD = ("--control", "hold", "--integrator", "rk4", "--step", "0.001")

DEMOS = {
    "andrews": Demo(
        "Andrews' squeezing mechanism, a benchmark of solvers: seven bodies driven by 0.033 N m against a spring",
        "andrews",
        ("--time", "0.03", "--control", "constant", "beta=0.033"),
        _with_spring,
    ),
    "arm7": Demo(
        "a seven-axis arm whose motors carry its weight, set in motion: it drifts on",
        "arm7",
        (
            "--time",
            "2",
            "--q",
            "joint2=0.5",
            "joint4=1.5",
            "--v",
            "joint1=1",
            "joint2=0.5",
            "--control",
            "gravity",
        ),
    ),
    "bricard": Demo(
        "Bricard's linkage, an overconstrained loop of six hinges, falling under its own weight",
        "bricard",
        ("--time", "10"),
    ),
    "chain": Demo(
        "a hanging chain of eight links, started stretched out to the side: chaos",
        'chain(8, axes="y")',
        ("--time", "3"),
    ),
    "four_bar": Demo(
        "a four-bar with its crank set in motion",
        "four_bar",
        ("--time", "5", "--v", "A=8"),
    ),
    "free_flyer": Demo(
        "a space robot that moves one of its four arms: momentum stays, so its body turns",
        "free_flyer",
        ("--time", "5", "--v", "arm1/joint1=0.5", "arm1/joint2=0.3"),
    ),
    "hand": Demo(
        "three fingers that hold a ball while one of them gets a push",
        "hand",
        ("--time", "1", "--v", "finger1/spread=2", *_HELD),
    ),
    "n_four_bars": Demo(
        "two four-bars in a row that pass flat configurations, in which they lose constraints",
        "n_four_bars(2)",
        ("--time", "10", "--v", "pin0=1"),
    ),
    "pendulum": Demo(
        "a rod on a hinge, let go at the horizontal",
        'chain(1, axes="y", length=1.0)',
        ("--time", "10"),
    ),
    "scissor_lift": Demo(
        "a lift of three pairs of crossed bars that comes down",
        "scissor_lift(3, angle=0.8)",
        ("--time", "0.4"),
    ),
    "stewart": Demo(
        "a Stewart platform that gets a push while its legs are held",
        "stewart",
        ("--time", "2", "--v", "leg1=0.2", "leg2=-0.2", *_HELD),
    ),
    "walker": Demo(
        "a four-legged walker on all feet that gets a push sideways and stays standing",
        "walker",
        ("--time", "2", "--v", "front_left/roll=0.5", *_HELD),
    ),
}


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("demo", ABOUT, execute, examples=EXAMPLES)
    names = tuple(DEMOS)
    parser.add_argument(
        "name", metavar="NAME", nargs="?", type=one_of("demo", names), choices=names, help=", ".join(names)
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("out"), metavar="FOLDER", help="where the plot goes (out)"
    )
    parser.add_argument("--show", action="store_true", help="show the plot on the screen instead")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--quiet", action="store_true", help="print nothing but warnings and errors")


def execute(arguments: Namespace, console: Console) -> int:
    """List the demos, or run one."""
    if arguments.name is None:
        console.entries([(name, demo.about) for name, demo in DEMOS.items()])
        console.say()
        console.say("Run one: catena demo four_bar")
        return Exit.OK
    demo = DEMOS[arguments.name]
    options = Parser(prog="catena demo")
    run.add_options(options)
    settings = options.parse_args(demo.options)
    settings.json, settings.quiet = arguments.json, arguments.quiet
    settings.plot = "" if arguments.show else _picture(arguments.folder, arguments.name)
    mechanism = resolve(demo.model)
    if demo.change is not None:
        demo.change(mechanism)
    elif not arguments.json:
        console.say(f"$ {shlex.join(['catena', 'run', demo.model, *demo.options])}")
        console.say()
    return run.perform(Scenario(mechanism), settings, console)


def _picture(folder: Path, name: str) -> str:
    """Return the file for the plot, in a folder that is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--folder {folder}: it cannot be made: {error.strerror or error}") from error
    return str(folder / f"{name}.png")
