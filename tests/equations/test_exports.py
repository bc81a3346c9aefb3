"""Exported equations against the equations themselves: C compiled by gcc, Python, CasADi, and files."""

import shutil
import subprocess
import sys

import casadi
import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar, random_mechanism

gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
EVERY_KIND = [
    "Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar", "Free", ct.Sdof("dz", "rx"),
]  # fmt: skip


def compiled(source, folder):
    """Save and compile the test program, and return the numbers it prints, by result."""
    source.save(folder)
    program = folder / "program"
    files = [str(folder / f"{source.name}.c"), str(folder / f"{source.name}_test.c")]
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"]
    built = subprocess.run(
        ["gcc", *strict, *files, "-o", str(program), "-lm"], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    numbers = {}
    for line in done.stdout.splitlines():
        name, _, number = line.partition(" ")
        if name != "largest":
            numbers.setdefault(name, []).append(float(number))
    return {name: np.array(values) for name, values in numbers.items()}


@gcc
@pytest.mark.parametrize("kind", EVERY_KIND, ids=str)
def test_c_of_every_joint_kind_is_what_runs(kind, tmp_path, agree):
    system = random_mechanism(2, 2, [kind], friction=True).system()
    e = system.equations("forward_dynamics", symbols=["body1.mass"])
    state = e.example()
    runs = system.forward_dynamics(state["q"], state["v"], state["tau"])
    condition = np.linalg.cond(system.mass_matrix(state["q"]))
    agree(compiled(e.c("dynamics"), tmp_path)["vdot"], runs, 1e-15 * max(condition, 100.0))


@gcc
def test_c_of_a_loop_and_of_several_results(tmp_path, agree):
    system = four_bar().system()
    q = system.assemble({"A": 0.4})
    e = system.equations("forward_dynamics", method="joint_multipliers", at=q)
    state = e.example()
    found = compiled(e.c("loop"), tmp_path)
    vdot, multipliers = e(*state.values())
    agree(found["vdot"], vdot, 1e-12)
    agree(found["multipliers"], multipliers, 1e-12)


@gcc
def test_c_in_single_precision(tmp_path, agree):
    e = arm7().system().equations("inverse_dynamics")
    source = e.c("single", single=True)
    assert "typedef float single_real;" in source.header and "double" not in source.source
    agree(compiled(source, tmp_path)["tau"], e(*e.example().values()), 1e-5)


def test_the_header_describes_every_argument():
    mechanism = random_mechanism(1, 2, ["Universal"])
    e = mechanism.system().equations("forward_dynamics", symbols=["body1.com", "gravity.z"], f_ext=["tool2"])
    header = e.c().header
    for words in (
        "position of joint joint1, component 0", "force of joint joint2, component 1", "[2] body1.com.z", "gravity.z",
        "wrench on tool2 in its own axes, moment x", "result_vdot (4)",
    ):  # fmt: skip
        assert words in header


def test_names_that_c_would_not_accept():
    m = ct.Mechanism("odd")
    m.add_body("left leg */ 1", mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.1)
    m.add_joint("knee-1", "ground", "left leg */ 1", ct.Revolute("z"))
    e = m.system().equations("mass_matrix", symbols=["left leg */ 1.mass"])
    assert "*/ 1" not in e.c("x").header.replace("\n */\n", "\n")
    assert e.casadi().name_in(1) == "left_leg_1_mass"


def test_python_is_the_same_and_takes_batches(tmp_path, agree):
    system = random_mechanism(4, 4, EVERY_KIND, friction=True).system()
    e = system.equations("forward_dynamics", symbols=["body2.mass"])
    (path,) = e.save(tmp_path / "dynamics.py")
    random = np.random.default_rng(0)
    q = system.integrate(np.tile(system.neutral(), (3, 1)), random.normal(size=(3, system.nv)))
    v, tau = random.normal(size=(2, 3, system.nv))
    script = f"""
import numpy as np, sys
sys.path.insert(0, {str(tmp_path)!r})
from dynamics import PARAMETERS, dynamics
data = np.load({str(tmp_path / "in.npz")!r})
batch = dynamics(data["q"], data["v"], data["tau"])
heavy = dynamics(data["q"][0], data["v"][0], data["tau"][0], {{**PARAMETERS, "body2.mass": 9.0}})
np.savez({str(tmp_path / "out.npz")!r}, batch=batch, heavy=heavy)
assert "catena" not in sys.modules and "casadi" not in sys.modules
"""
    np.savez(tmp_path / "in.npz", q=q, v=v, tau=tau)
    subprocess.run([sys.executable, "-c", script], check=True)
    assert path == tmp_path / "dynamics.py"
    found = np.load(tmp_path / "out.npz")
    agree(found["batch"], e(q, v, tau), 1e-14)
    agree(found["heavy"], e(q[0], v[0], tau[0], parameters={"body2.mass": 9.0}), 1e-14)


def test_casadi_has_derivatives_and_can_be_saved(tmp_path, agree):
    system = arm7().system()
    e = system.equations("bias_force")
    f = e.casadi()
    q, v = np.random.default_rng(1).normal(size=(2, 7))
    agree(np.asarray(f(q, v)).ravel(), system.bias_force(q, v), 1e-13)
    J = np.asarray(f.factory("J", ["q", "v"], ["jac:tau:q"])(q, v))
    h = 1e-6
    differences = np.stack(
        [(system.bias_force(q + h * d, v) - system.bias_force(q - h * d, v)) / (2 * h) for d in np.eye(7)],
        axis=-1,
    )
    agree(J, differences, 1e-8)
    e.save(tmp_path / "bias.casadi")
    again = casadi.Function.load(str(tmp_path / "bias.casadi"))
    agree(np.asarray(again(q, v)).ravel(), system.bias_force(q, v), 1e-13)


def test_files_by_their_ending(tmp_path):
    e = four_bar().system().equations("mass_matrix")
    assert [p.name for p in e.save(tmp_path / "H.c")] == ["H.c", "H.h", "H_test.c"]
    assert e.save(tmp_path / "H.tex")[0].read_text().startswith("H(q) = ")
    with pytest.raises(ct.EquationsError, match=r"\.c, \.py, \.tex or \.casadi"):
        e.save(tmp_path / "H.for")


@pytest.mark.parametrize("ending", [".c", ".py", ".tex", ".casadi"])
@pytest.mark.parametrize("stem", ["a" * 10_000, "nowhere/H"])
def test_files_that_cannot_be_written_are_named(tmp_path, stem, ending):
    e = four_bar().system().equations("kinetic_energy")
    # The folder of C sources is made if need be, so a file stands in its way.
    (tmp_path / "nowhere").write_text("")
    with pytest.raises(ct.FormatError, match="cannot be|there is no folder"):
        e.save(tmp_path / f"{stem}{ending}")


def test_bad_calls_are_explained():
    system = arm7().system()
    e = system.equations("mass_matrix", symbols=["link3.mass"])
    with pytest.raises(ct.StateError, match="takes 1 arguments"):
        e(np.zeros(7), np.zeros(7))
    with pytest.raises(ct.StateError, match="last dimension must be 7"):
        e(np.zeros(6))
    with pytest.raises(ct.UnknownNameError, match=r"link3\.mass"):
        e(np.zeros(7), parameters={"link4.mass": 1.0})
    with pytest.raises(ct.StateError, match="not numbers"):
        e("seven")
