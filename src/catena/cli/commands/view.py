"""`catena view`: look at a model and move it, or play a run, in a browser."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from catena.cli.console import Console, Exit, UsageError
from catena.cli.models import gallery_names
from catena.cli.options import MODEL, add_settings, add_state, add_trust, initial_state, model_of
from catena.cli.parsing import Commands, by_name, names_and_files
from catena.cli.serving import add_serving, serve
from catena.formats.files import FORMATS
from catena.simulation import load_run

ABOUT = "look at a model and move it by its joints, or play a run, in a browser"
TEXT = """The page is served to this computer only, at an address that has a secret in it, until Ctrl-C."""
EXAMPLES = """  catena view stewart
  catena view robot.toml --q elbow=30deg
  catena run four_bar --v A=8 --out run.nc && catena view run.nc
  catena view run.nc --save run.html"""
RUNS = (".nc", ".h5")


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("view", ABOUT, execute, TEXT, EXAMPLES)
    action = parser.add_argument("model", metavar="MODEL", help=f"{MODEL}, or a run (run.nc)")
    names_and_files(action, "model_or_run", gallery_names(), (*FORMATS, ".py", *RUNS))
    add_trust(parser)
    add_settings(parser)
    add_state(parser)
    parser.add_argument("--ghost", metavar="RUN", type=Path, help="another run to compare with")
    parser.add_argument(
        "--save", metavar="FILE", type=Path, help="write the page of a run to FILE.html instead"
    )
    add_serving(parser)


def execute(arguments: Namespace, console: Console) -> int:
    """Serve the page until somebody interrupts it, or write it."""
    from catena.view.live.view import view

    where: dict[str, Any] = {"host": arguments.host, "port": arguments.port, "show": False}
    if Path(arguments.model).suffix.lower() in RUNS:
        if arguments.q or arguments.v:
            raise UsageError("--q and --v: a run is shown as it was; they are for models")
        run = load_run(arguments.model)
        options: dict[str, Any] = {"ghost": load_run(arguments.ghost)} if arguments.ghost else {}
        if arguments.save:
            run.save_html(arguments.save, **options)
            console.say(f"wrote {arguments.save}")
            return Exit.OK
        made = view(run, **where, **options)
    else:
        if arguments.ghost or arguments.save:
            raise UsageError(
                f"--{'ghost' if arguments.ghost else 'save'}: {arguments.model} is no run; they are for runs"
            )
        system = model_of(arguments).system()
        q, _ = initial_state(system, by_name(arguments.q), by_name(arguments.v))
        made = view(system, q, **where)
    return serve(made, arguments, console)
