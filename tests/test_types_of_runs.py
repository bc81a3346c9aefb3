"""What type checkers say of a user's script: what runs give is what their types promise."""

import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np
import catena as ct

s = ct.generators.four_bar().system()
run = ct.simulate(s, duration=0.1, contacts=[ct.Contact("coupler")], events=[ct.at_time(0.05)])
reveal_type(run)
reveal_type(run.q)
reveal_type(run["A"])
reveal_type(run.segments[0])
reveal_type(run.state(0))
reveal_type(run.resample(11))
reveal_type(run.audit())
reveal_type(run.work)
reveal_type(ct.load_run("run.nc"))
q, v = run.at(0.05)
reveal_type(q)
reveal_type(run.at(0.05).system)
stepper = ct.Stepper(s, parameters={"coupler.mass": [1.0, 2.0]}, contacts=[ct.Contact("coupler")])
reveal_type(stepper.step())
reveal_type(stepper.state(0))
reveal_type(ct.Revolute([0, 1, 0]).axis)
ct.PID(s, {"A": 0.3}, kp={"A": 20.0}, limits=None)
ct.Change(at=0.1, attach={"name": "grip", "parent": "ground", "child": "coupler", "kind": ct.Revolute("y")})
ct.Scenario(s.mechanism, plan={"cut": ["D"]}, view={"traces": ["coupler"]}, keep={"height": "max(A)"})
made: ct.Trajectory = ct.Trajectory([run, run.shifted(1.0)])
forces: np.ndarray = made.contact_forces["coupler"]
run.at(0.05).impulse
"""
TYPES = (
    "catena.simulation.results.trajectory.Trajectory", "numpy.ndarray", "numpy.ndarray",
    "catena.simulation.results.segment.Segment", "catena.simulation.results.trajectory.Trajectory",
    "catena.simulation.results.trajectory.Trajectory", "catena.simulation.results.audit.lines.Audit", "Mapping",
    "catena.simulation.results.trajectory.Trajectory", "numpy.ndarray", "catena.system.system.System",
    "ndarray", "catena.simulation.guards.instant.Instant", "tuple[Any, Any, Any]",
)  # fmt: skip


def checked(command, file, tmp_path):
    """Return the lines that a checker prints about the script."""
    done = subprocess.run(
        [sys.executable, "-m", *command, str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=900
    )
    return [line for line in done.stdout.splitlines() if file.name in line]


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_a_script_of_a_user_has_the_types_that_runs_have(checker, tmp_path):
    pytest.importorskip(checker)
    # What a user meets: the checks that pyright makes by itself, which its other name goes beyond.
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    where = ["--pythonpath", sys.executable] if checker == "basedpyright" else []
    lines = checked([checker, *where], file, tmp_path)
    told = [line for line in lines if "Revealed type" in line or "Type of" in line]
    assert len(told) == len(TYPES)
    for line, name in zip(told, TYPES, strict=True):
        # One checker prints names with their modules, the other without.
        assert name in line or name.rpartition(".")[2] in line, line
    faults = [line for line in lines if "error" in line]
    assert len(faults) == 1 and "impulse" in faults[0], faults
