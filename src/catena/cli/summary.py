"""How a run went, in a few lines or as plain data."""

from __future__ import annotations

from typing import Any

from catena.cli.console import Console
from catena.cli.description import describe_state, plain
from catena.cli.following import Outcome
from catena.cli.outputs import Outputs
from catena.cli.words import counted
from catena.errors import CatenaError
from catena.mechanism import GROUND
from catena.simulation import Trajectory
from catena.simulation.audit import Audit


def print_summary(outcome: Outcome, outputs: Outputs, console: Console) -> None:
    """The mechanism, the effort, what the audit found, and the files; what it warns of goes to standard error."""
    run = outcome.run
    if run is None:
        return
    audit = _audit(run, console)
    rows = [
        ("model", _parts(run)),
        ("motion", _motion(outcome, run)),
        (
            "effort",
            f"{outcome.wall_time:.3g} s, {_speed(outcome, run):.3g} times as fast as the motion itself",
        ),
    ]
    rows += [("event", f"{found.name} at t = {found.t:.9g} s") for found in run.events]
    if audit is not None:
        # Why it ended early is said by the event, or as an error.
        rows += [(line.name, line.text) for line in audit if line.ok and line.name != "end"]
    if outputs.written:
        rows.append(("files", ", ".join(outputs.written)))
    console.entries(rows)
    for line in audit or ():
        if not line.ok:
            console.warning(line.text)


def as_data(outcome: Outcome, outputs: Outputs, console: Console) -> dict[str, Any]:
    """The summary for JSON, with the last state."""
    run, system = outcome.run, outcome.task.system
    data: dict[str, Any] = {
        "model": system.mechanism.name,
        "integrator": outcome.task.keywords["integrator"],
        "duration": outcome.task.duration,
        "wall_time": outcome.wall_time,
        "code": int(outcome.code),
        "error": outcome.reason or None,
        "files": outputs.written,
        "failed": outputs.failed,
    }
    if run is None:
        return data | {"reached": None}
    audit = _audit(run, console)
    return data | {
        "reached": float(run.t[-1]),
        "steps": run.steps,
        "samples": len(run.t),
        "real_time_factor": _speed(outcome, run),
        "energy_drift": plain(run.energy_drift),
        "closure_error": plain(run.closure_error),
        "ended": run.ended or None,
        "events": [{"name": found.name, "t": float(found.t)} for found in run.events],
        "audit": {"ok": audit.ok, "lines": [plain(vars(line)) for line in audit]} if audit else None,
        "final": describe_state(system, run.q[-1], run.v[-1]),
    }


def what_is_left(outcome: Outcome, outputs: Outputs) -> str:
    """What to say after the reason why a run stopped: how far it came, and where it is kept."""
    run = outcome.run
    if run is None:
        return "There is nothing to keep."
    kept = f"is in {', '.join(outputs.written)}" if outputs.written else "was not written: --out keeps it"
    return f"The motion up to t = {run.t[-1]:.6g} s {kept}."


def _audit(run: Trajectory, console: Console) -> Audit | None:
    try:
        return run.audit()
    except CatenaError as error:
        console.warning(f"the run could not be audited: {error}")
        return None


def _parts(run: Trajectory) -> str:
    mechanism = run.system.mechanism
    bodies = sum(name != GROUND for name in mechanism.bodies)
    return ", ".join(
        (
            f"{mechanism.name}: {counted(bodies, 'body', 'bodies')}",
            counted(len(mechanism.joints), "joint"),
            counted(len(run.system.loops), "loop"),
        )
    )


def _motion(outcome: Outcome, run: Trajectory) -> str:
    task = outcome.task
    whole = f" of {task.duration:g} s" if run.t[-1] < task.duration else ""
    steps = f"{counted(run.steps, 'step')} of {task.keywords['integrator']}"
    return f"{run.t[-1]:g} s{whole} in {steps}, {counted(len(run.t), 'sample')} kept"


def _speed(outcome: Outcome, run: Trajectory) -> float:
    """Seconds of motion for each second of computing."""
    return float(run.t[-1]) / max(outcome.wall_time, 1e-9)
