"""FMUs that several tests look at, and how FMPy runs them."""

import shutil
import subprocess
import zipfile

import numpy as np
import pytest

import catena as ct

fmpy = pytest.importorskip("fmpy")

COMPILER = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
TYPES = ("CoSimulation", "ModelExchange")
START = {"A": 0.4}, {"A": 2.0}


@pytest.fixture(scope="session")
def compiler():
    """The name of a C compiler, or a reason not to look further."""
    if COMPILER is None:
        pytest.skip("there is no C compiler on this machine")
    return COMPILER


@pytest.fixture(scope="session")
def export(compiler, tmp_path_factory):
    """Writes an FMU of a system into a folder of its own, says what FMPy's validation finds, and returns its path."""
    from fmpy.validation import validate_fmu

    def write(system, **options):
        path = tmp_path_factory.mktemp("fmu") / "model.fmu"
        assert ct.export_fmu(system, path, compiler=compiler, **options) == path
        assert validate_fmu(str(path)) == []
        return path

    return write


@pytest.fixture(scope="session", params=["2.0", "3.0"])
def four_bar(request, export):
    """A four-bar with inputs at a joint of the tree, at the joint that closes the loop and at a body, with parameters
    of mass and length, and with an event."""
    m = ct.generators.four_bar()
    assert m.system().joints == ("A", "B", "D") and m.system().loops == ("C",)
    path = export(
        m.system(),
        version=request.param,
        initial=START[0],
        velocity=START[1],
        inputs=["A.tau", "C.tau", "coupler.wrench"],
        outputs=["A.q", "A.v", "B.q", "D.q", "A.a", "C.q", "C.v", "energy", "closure_error"],
        parameters=["crank.mass", "gravity", "B.in_parent.p.length"],
        derivatives=True,
        events=[ct.Event(lambda t, q, v: q[0] - 1.0, name="one rad", direction=1)],
    )
    return m, path


def run_fmu(path, kind, duration=0.5, samples=26, inputs=None, tolerance=1e-12, **options):
    """What FMPy finds at evenly spaced times, by name; points that events add are left out."""
    step = duration / (samples - 1)
    signals = None
    if inputs:
        signals = np.array([(0.0, *inputs.values())], dtype=[(n, float) for n in ("time", *inputs)])
    found = fmpy.simulate_fmu(
        str(path), stop_time=duration, output_interval=step, fmi_type=kind, relative_tolerance=tolerance,
        record_events=False, input=signals, **options,
    )  # fmt: skip
    assert len(found) == samples
    return found


def compiled_sources(path, folder, compiler, version):
    """Compile the sources of an FMU with all warnings as errors, put the library where it belongs, and return the
    folder, which FMPy takes for an FMU."""
    with zipfile.ZipFile(path) as zipped:
        zipped.extractall(folder)
    description = fmpy.read_model_description(str(folder), validate=False)
    own = description.coSimulation or description.modelExchange
    place = folder / "binaries" / (fmpy.platform if version == "2.0" else fmpy.platform_tuple)
    place.mkdir(parents=True, exist_ok=True)
    library = place / f"{own.modelIdentifier}{fmpy.sharedLibraryExtension}"
    command = [
        compiler,
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-fPIC",
        "-shared",
        "-o",
        str(library),
    ]
    done = subprocess.run(
        [*command, f"fmi{version[0]}.c", "-lm"], cwd=folder / "sources", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder
