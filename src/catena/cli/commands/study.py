"""`catena study`: run a scenario with other numbers many times, as the table [study] of its file says."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from catena.cli.console import Console, Exit
from catena.cli.options import add_model, scenario_of
from catena.cli.parsing import Commands, any_file
from catena.errors import StateError
from catena.studies import study
from catena.studies.file import study_arguments

ABOUT = "run a scenario with other numbers many times"
TEXT = """The file says a run, and in [study] what is varied and what is told of it. What is done is kept in a store
beside the file, and the same command goes on from there, whatever ended it."""
EXAMPLES = """  catena study swing.toml --processes 4 --report swing.html
  catena study swing.toml --dask tcp://scheduler:8786 --store /scratch/swing.zarr
  mpiexec -n 64 catena study swing.toml --mpi --out swing.parquet"""


def add(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add("study", ABOUT, execute, TEXT, EXAMPLES)
    add_model(parser)
    parser.add_argument(
        "--samples", type=_whole, metavar="N", help="how many variants are drawn (what the file says)"
    )
    parser.add_argument(
        "--seed", type=_whole, metavar="N", help="the seed of what is drawn (what the file says, or 0)"
    )
    store = parser.add_argument(
        "--store",
        metavar="DIR",
        help="the folder that keeps what is done (MODEL with .zarr; 'none' for memory)",
    )
    any_file(store)
    who = parser.add_mutually_exclusive_group()
    who.add_argument(
        "--processes", type=_whole, metavar="N", help="processes of this machine that compute (this one)"
    )
    who.add_argument("--dask", metavar="ADDRESS", help="the scheduler of a Dask cluster, or 'local'")
    who.add_argument(
        "--mpi", action="store_true", help="compute by the processes that mpiexec started (mpi4py)"
    )
    out = parser.add_argument("--out", metavar="FILE", help="write what was found: .nc, .parquet or .csv")
    report = parser.add_argument("--report", metavar="FILE", help="write a page with pictures, .html")
    any_file(out)
    any_file(report)


def execute(arguments: Namespace, console: Console) -> int:
    """Run the study, and say what was found."""
    scenario = scenario_of(arguments)
    asked = study_arguments(scenario)
    if not asked:
        raise StateError(
            f"{arguments.model} has no table [study]: say there what is varied, [study.vary] with "
            '"pole.mass" = { grid = [0.1, 0.3, 21] }.'
        )
    asked |= {
        name: getattr(arguments, name) for name in ("samples", "seed") if getattr(arguments, name) is not None
    }
    store = arguments.store or str(Path(arguments.model).with_suffix(".zarr"))
    with ExitStack() as stack:
        executor = _executor(arguments, stack)
        if arguments.mpi and executor is None:
            # This process has computed for the first one, which says what was found.
            return Exit.OK
        done = study(scenario, **asked, store=None if store == "none" else store, executor=executor)
    console.say(repr(done))
    for name in [*done.job.outcomes, *(one.name for one in done.job.keep.signals)]:
        x = done[name]
        if x.ndim == 1 and (x == x).any():
            good = x[x == x]
            console.say(f"  {name}: {good.min():.6g} to {good.max():.6g}, {good.mean():.6g} on average")
    for variant, words in list(done.failed.items())[:5]:
        console.note(f"variant {variant} failed: {words}")
    if arguments.out:
        done.save(arguments.out)
        console.say(f"  written to {arguments.out}")
    if arguments.report:
        done.report(arguments.report)
        console.say(f"  written to {arguments.report}")
    return Exit.OK


def _executor(arguments: Namespace, stack: ExitStack) -> Any:
    """Return who computes."""
    if arguments.dask:
        try:
            from dask.distributed import Client
        except ImportError:
            raise StateError("--dask needs Dask: pip install 'dask[distributed]'.") from None
        client: Any = Client
        return stack.enter_context(client() if arguments.dask == "local" else client(arguments.dask))
    if arguments.mpi:
        try:
            from mpi4py import MPI
            from mpi4py.futures import MPICommExecutor
        except ImportError:
            raise StateError("--mpi needs mpi4py: pip install mpi4py.") from None
        except RuntimeError as error:
            raise StateError(
                f"--mpi: mpi4py finds no MPI library ({str(error).splitlines()[0]}): install Open MPI or MPICH, or say "
                f"where it is in LD_LIBRARY_PATH."
            ) from None
        # The first of the processes that mpiexec started hands out, and the others compute in here until it is done.
        return stack.enter_context(MPICommExecutor(MPI.COMM_WORLD))
    return arguments.processes


def _whole(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value < 0:
        raise ArgumentTypeError(f"{value} is below zero")
    return value
