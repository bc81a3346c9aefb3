"""The file itself: its layout, its bytes, its names, sources that compile anywhere, and what is refused."""

import re
import zipfile

import numpy as np
import pytest

import catena as ct

from .conftest import compiled_sources, run_fmu

fmpy = pytest.importorskip("fmpy")


def hostile():
    """A pendulum whose names nobody should have to write."""
    m = ct.Mechanism('a "b" */ <c> & \\ %s', gravity=(0, -9.81, 0))
    m.add_body("stab ü'", mass=1.0, com=(0.5, 0, 0), inertia=(0.0, 0.1, 0.1))
    m.add_body("b.c", mass=1.0, com=(0.5, 0, 0), inertia=(0.0, 0.1, 0.1))
    m.add_joint("knie */ \n<U+000A>", "ground", "stab ü'", ct.Revolute("z"), damping=0.1)
    m.add_joint("x\"y'", "stab ü'", "b.c", ct.Revolute("z"), in_parent=ct.Pose(p=(1, 0, 0)))
    return m


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_sources_alone_compile_later_without_a_warning(version, tmp_path, compiler):
    """With names that mean something in C and in XML."""
    m = hostile()
    path = tmp_path / "sources.fmu"
    ct.export_fmu(
        m, path, version=version, compiler=False, initial=[0.3, 0.4], parameters=["stab ü'.mass", "b.c.com.x"],
        inputs=["x\"y'.tau"], derivatives=True, outputs=["knie */ \n<U+000A>.q", "b.c.position"],
    )  # fmt: skip
    with zipfile.ZipFile(path) as zipped:
        names = zipped.namelist()
        texts = [zipped.read(n).decode() for n in names if n.startswith("sources/")]
    assert not any(n.startswith("binaries") for n in names) and "modelDescription.xml" in names
    assert ("sources/buildDescription.xml" in names) == (version == "3.0")
    assert all("*/ <c>" not in text and str(tmp_path) not in text for text in texts)
    folder = compiled_sources(path, tmp_path / "out", compiler, version)
    if version == "3.0":
        (how,) = fmpy.model_description.read_build_description(
            str(folder / "sources" / "buildDescription.xml")
        )
        assert how.sourceFileSets[0].sourceFiles == ["fmi3.c"]
    found = run_fmu(folder, "CoSimulation", 0.2)
    run = ct.simulate(m.system(), [0.3, 0.4], None, 0.2, samples=26)
    first, *rest = found.dtype.names[1:]
    assert first == "'knie <U+002A>/ <U+000A><U+003C>U+000A>'.q".replace("<U+002A>", "*")
    assert rest == [f"'b.c'.position.{axis}" for axis in "xyz"]
    assert np.abs(found[first] - run.q[:, 0]).max() <= 1e-8


def test_the_same_request_gives_the_same_bytes(tmp_path, compiler):
    m = hostile()
    one, two, other = (tmp_path / f"{n}.fmu" for n in "abc")
    ct.export_fmu(m, one, compiler=compiler)
    ct.export_fmu(m.copy(), two, compiler=compiler)
    ct.export_fmu(m.with_body("b.c", mass=1.1), other, compiler=compiler)
    assert one.read_bytes() == two.read_bytes()
    tokens = [fmpy.read_model_description(str(p)).guid for p in (one, other)]
    assert tokens[0] != tokens[1]


def test_variables_have_units_and_the_causality_that_importers_expect(four_bar):
    _, path = four_bar
    description = fmpy.read_model_description(str(path))
    found = {v.name: v for v in description.modelVariables}
    told = {n: (v.causality, v.variability, v.initial, v.unit) for n, v in found.items()}
    assert told["time"][:2] == ("independent", "continuous")
    assert told["A.q"] == ("output", "continuous", "approx", "rad")
    assert told["B.v"] == ("local", "continuous", "approx", "rad/s")
    assert told["der(A.v)"] == ("local", "continuous", "calculated", "rad/s2")
    assert told["A.a"] == ("output", "continuous", "calculated", "rad/s2")
    assert told["C.tau"][0] == "input" and told["C.tau"][3] == "N.m"
    assert told["coupler.force.x"][3] == "N" and told["coupler.moment.z"][3] == "N.m"
    assert told["crank.mass"] == ("parameter", "tunable", "exact", "kg")
    # A length opens the loop, so it may not change on the way.
    assert told["B.in_parent.p.length"] == ("parameter", "fixed", "exact", "m")
    assert told["gravity.z"][3] == "m/s2" and told["energy"][3] == "J"
    assert float(found["A.q"].start) == pytest.approx(0.4) and found["A.tau"].start == "0.0"
    assert description.modelExchange and description.coSimulation
    assert description.coSimulation.canHandleVariableCommunicationStepSize
    with zipfile.ZipFile(path) as zipped:
        folder = fmpy.platform if description.fmiVersion == "2.0" else fmpy.platform_tuple
        assert any(n.startswith(f"binaries/{folder}/") for n in zipped.namelist())


def test_without_a_compiler_a_warning_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.warns(ct.CatenaWarning, match="no C compiler was found"):
        ct.export_fmu(ct.generators.arm7(), tmp_path / "arm.fmu", parameters=["link1.mass"])
    assert not any(n.startswith("binaries") for n in zipfile.ZipFile(tmp_path / "arm.fmu").namelist())
    with pytest.raises(ct.StateError, match="no program here"):
        ct.export_fmu(ct.generators.arm7(), tmp_path / "arm.fmu", compiler="tcc-of-nobody")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"version": "1.0"}, "'2.0' or '3.0'"),
        ({"kinds": "scheduled"}, "choose among"),
        ({"inputs": ["Z.tau"]}, "Z"),
        ({"outputs": ["A.position"]}, "has no output 'A.position'"),
        ({"outputs": ["crnk.position"]}, "Did you mean 'crank.position'"),
        ({"parameters": ["crank.mas"]}, "Did you mean 'crank.mass'"),
        ({"inputs": ["crank.mass"], "parameters": ["crank.mass"]}, "crank.mass"),
        ({"inputs": ["B.in_parent.p.length"]}, "moves the loops"),
        ({"integrator": "radau"}, "an FMU has"),
        ({"integrator": "rk4"}, "step is None"),
        ({"rtol": 0.0}, "rtol"),
        ({"events": [ct.Event(lambda here: here.t)]}, "is no formula"),
        ({"events": [ct.Event(lambda t, q, v: 1.0 if q[0] > 0 else -1.0, name="if")]}, "'if'"),
        ({"events": [ct.Event(lambda t, q, v: q[0], then=lambda m, q, v: m)]}, "changes the structure"),
        ({"initial": np.zeros((4, 3))}, "one state"),
    ],
)
def test_what_cannot_be_is_refused_in_words(options, words, tmp_path):
    with pytest.raises(ct.CatenaError, match=re.escape(words)):
        ct.export_fmu(ct.generators.four_bar(), tmp_path / "x.fmu", compiler=False, **options)
    assert not (tmp_path / "x.fmu").exists()


def test_mechanisms_that_are_no_fmu_are_refused_by_what_is_at_fault(tmp_path):
    told = ct.generators.four_bar()
    told.add_force("push", ct.forces.AppliedWrench(), between=("ground", "coupler"))
    with pytest.raises(ct.EquationsError, match="Force 'push', a AppliedWrench, waits to be told"):
        ct.export_fmu(told, tmp_path / "x.fmu", compiler=False)
    fixed = ct.Mechanism("block")
    fixed.add_body("stone", mass=1.0, inertia=1.0)
    fixed.add_joint("glue", "ground", "stone", ct.Fixed())
    with pytest.raises(ct.EquationsError, match="'block' has no joint that moves"):
        ct.export_fmu(fixed, tmp_path / "x.fmu", compiler=False)
    with pytest.raises(ct.FormatError, match="ends with .fmu"):
        ct.export_fmu(ct.generators.four_bar(), tmp_path / "x.zip", compiler=False)
    turning = ct.generators.four_bar()
    turning.add_spring("coil", "C", stiffness=1.0)
    with pytest.warns(ct.CatenaWarning, match="forces look at the angles of 'C'"):
        ct.export_fmu(turning.system(cut=["C"]), tmp_path / "x.fmu", compiler=False)
