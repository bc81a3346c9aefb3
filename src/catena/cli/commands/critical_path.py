"""`catena critical-path`: what waits for what in an algorithm for a model, and what processors can do about it."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError, Namespace
from pathlib import Path

from catena.cli.console import Console, Exit
from catena.cli.options import add_equations, equations_of
from catena.cli.parsing import Commands, any_file
from catena.equations.dataflow import GRAINS, OPERATIONS, Costs, DataFlow
from catena.equations.sums import ORDERS, WRITTEN

ABOUT = "find the critical path of an algorithm for a model, and the speed-up that processors can reach"
TEXT = """A task is one operation, or one step: a body in one sweep. The critical path is the longest chain of tasks
that wait for each other; schedules are made by list scheduling, the longest remaining chain first."""
EXAMPLES = """  catena critical-path arm7
  catena critical-path humanoid --grain steps --processors 2 4 8 --picture gantt.png
  catena critical-path arm7 --sums trees --cost addition=1 multiplication=2 division=4 sine=10"""
SORTS = ("addition", "multiplication", "division", "root", "sine", "other")


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("critical-path", ABOUT, execute, text=TEXT, examples=EXAMPLES)
    add_equations(parser)
    parser.add_argument("--grain", choices=GRAINS, default=OPERATIONS, help="what one task is")
    parser.add_argument("--sums", choices=ORDERS, default=WRITTEN, help="in which order sums are taken")
    parser.add_argument(
        "--processors", metavar="P", type=int, nargs="+", default=[2, 4, 8, 16], help="numbers of processors"
    )
    parser.add_argument(
        "--cost", metavar="SORT=TIME", type=_cost, nargs="+", action="extend", default=[],
        help=f"how long operations take, 1 unless given; SORT is one of {', '.join(SORTS)}",
    )  # fmt: skip
    picture = parser.add_argument(
        "--picture", metavar="FILE", type=Path, help="draw the schedule of the last number of processors"
    )
    any_file(picture)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def execute(arguments: Namespace, console: Console) -> int:
    """Print the critical path and schedules, and draw one."""
    flow = equations_of(arguments).dataflow(arguments.grain, Costs(**dict(arguments.cost)), arguments.sums)
    schedules = [flow.schedule(p) for p in arguments.processors]
    if arguments.json:
        result = {
            "name": flow.name, "tasks": len(flow), "serial_time": flow.serial_time,
            "critical_time": flow.critical_time, "largest_speed_up": flow.largest_speed_up, "width": flow.width,
            "critical_path": [flow.labels[k] for k in flow.critical_path],
            "schedules": [{"processors": s.processors, "time": s.time, "speed_up": s.speed_up} for s in schedules],
        }  # fmt: skip
        console.result(json.dumps(result, indent=2))
    else:
        _tell(flow, console)
        console.say()
        rows = [
            (str(s.processors), f"{s.time:g}", f"{s.speed_up:.3g}", _part(s.speed_up, s.processors))
            for s in schedules
        ]
        console.table(rows, ("processors", "time", "speed-up", "busy"))
    if arguments.picture is not None:
        from catena.view.gantt import gantt

        gantt(schedules[-1]).figure.savefig(arguments.picture, dpi=150)
        console.note(f"wrote {arguments.picture}")
    return Exit.OK


def _tell(flow: DataFlow, console: Console) -> None:
    title, *lines = str(flow).splitlines()
    console.title(title)
    for line in lines[:-1]:
        console.say(line)
    console.paragraph(lines[-1].strip(), indent=2)


def _part(speed_up: float, processors: int) -> str:
    return f"{100.0 * speed_up / processors:.0f} %"


def _cost(text: str) -> tuple[str, float]:
    sort, _, value = text.partition("=")
    if sort not in SORTS:
        raise ArgumentTypeError(
            f"{text!r}: there is no sort of operation {sort!r}: choose {', '.join(SORTS)}"
        )
    try:
        time = float(value)
    except ValueError:
        raise ArgumentTypeError(f"{text!r}: {value!r} is not a number") from None
    if time < 0.0:
        raise ArgumentTypeError(f"{text!r}: no operation takes less than no time")
    return sort, time
