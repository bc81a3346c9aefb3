"""The LLVM text of steps and loops, compiled for the systems that Catena is to run on, whatever this one is.

Linking takes place on those systems only. What can be said here: an object file comes out, it asks the process for
functions of the C library alone, and for Windows it has no tables for unwinding and, on x86-64, no address that would
have to lie near the code.
"""

import struct

import pytest

from catena.kernels.code import loops_text
from catena.kernels.machine_code import engine, matrix_kernels
from catena.kernels.machine_code.platforms import platform_of

ARM_LINUX, ARM_MAC = "aarch64-unknown-linux-gnu", "arm64-apple-macosx11.0.0"
WINDOWS, ARM_WINDOWS = "x86_64-pc-windows-msvc", "aarch64-pc-windows-msvc"
FEATURES = {WINDOWS: "+avx2,+fma"}
# What starts an object file: ELF, Mach-O, and the number of the processor in COFF.
BEGINNINGS = {
    ARM_LINUX: b"\x7fELF", ARM_MAC: b"\xcf\xfa\xed\xfe", WINDOWS: b"\x64\x86", ARM_WINDOWS: b"\x64\xaa",
}  # fmt: skip
# Relocations of COFF: a whole address on x86-64; a call, a page within four gigabytes and a place in it on ARM.
ALLOWED = {WINDOWS: {1}, ARM_WINDOWS: {3, 4, 6, 7}}
MATHEMATICS = {
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp",
    "log", "log1p", "expm1", "pow", "fmod", "hypot", "erf", "fma", "floor", "ceil",
}  # fmt: skip
# Whether numbers with fractions are used, the growth of the stack past a page, and blocks of memory.
OF_WINDOWS = {"_fltused", "__chkstk", "memcpy", "memset"}

# Nothing is kept, because a file stands where the folder should be, so that all text passes by.
RECORD = """
import json
import numpy as np
import catena as ct
from catena.kernels.machine_code import engine
texts, compile_object = [], engine.compile_object

def recorded(text):
    texts.append(text)
    return compile_object(text)

engine.compile_object = recorded
{calls}
print(json.dumps(texts))
"""

FEW = """
from catena.forces import GasSpring
m = ct.Mechanism("pendulum")
m.add_body("bob", mass=1.0, com=(0.0, 0.0, -1.0), inertia=0.1)
m.add_joint("pin", "ground", "bob", ct.Revolute("y"), friction=0.1)
m.add_frame("wall", "ground", ct.Pose(p=(2.0, 0.0, 0.0)))
m.add_frame("tip", "bob", ct.Pose(p=(0.0, 0.0, -1.0)))
m.add_force("piston", GasSpring(300.0, 5.0, 0.4), between=("wall", "tip"))
ct.simulate(m.system(), [0.3], [0.2], 1e-3, check=False)
"""

MANY = """
from catena.joints import KINDS
from catena.mechanism.generators import random_mechanism
for seed, loops in ((1, 0), (2, 2)):
    m = random_mechanism(seed, len(KINDS) + 2, KINDS, loops=loops, friction=True)
    s = m.system()
    v = np.zeros(s.nv)
    q = s.neutral() if loops else s.integrate(s.neutral(), v + 0.3)  # axes that repeat are singular at rest
    s.forward_dynamics(q, v, v)
    s.forward_dynamics_derivatives(q, v, v)
    s.inverse_dynamics(q, v, v)
    s.mass_matrix(q), s.jacobian(q, "tool2"), s.twist(q, v, "tool2"), s.kinetic_energy(q, v), s.potential_energy(q)
    s.reactions(q, v, v)
    ct.simulate(s, q, v, 1e-3, check=False)
"""

# What else is compiled: all kinds of forces at joints and between bodies, couplings and rotors, flexible bodies,
# contacts, the methods, laws, formulas and polynomials that move and push.
REST = """
from catena.forces import KINDS, FrameForce
from catena.simulation.references import function
m = ct.generators.four_bar()
for k, kind in enumerate(kind for kind in KINDS if not kind.inputs):
    if isinstance(kind, FrameForce):
        m.add_force(f"force {k}", kind, between=("ground", "coupler"))
    else:
        for joint in ("A", "D"):
            try:
                m.add_force(f"force {k} {joint}", kind, joint)
            except ct.ModelError:
                pass
m.add_body("wheel", mass=1.0, inertia=0.1)
m.add_joint("shaft", "ground", "wheel", ct.Revolute("y"), armature=0.2)
m.add_coupling("gear", {"shaft": 1.0, "A": -3.0})
s = m.system(cut=["D"])
q = s.assemble({"A": 0.3})
v = s.velocity(q, {"A": 0.1})
s.inverse_dynamics(q, v, s.forward_dynamics(q, v)), s.potential_energy(q), s.forward_dynamics_derivatives(q, v)
for drift in ("projection", "baumgarte", "corrective"):
    ct.simulate(s, q, v, 1e-3, check=False, drift=drift)
for method in ("rk4", "midpoint", "euler", "semi_implicit", "leapfrog", "implicit_leapfrog", "abm4"):
    ct.simulate(ct.generators.arm6().system(), None, None, 2e-3, check=False, integrator=method, step=1e-3)
arm = ct.generators.arm6().system()
tip, first = list(arm.mechanism.bodies)[-1], arm.joints[0]
push = ct.ExternalWrench(lambda t, q, v: [0.0, 0.0, 0.0, t, q[..., 0], v[..., 1]], symbolic=True)
moves = {first: ct.quintic([0.0, 1.0], [0.0, 1.0]), arm.joints[1]: function(lambda t: ct.symbols.sin(t))}
ct.simulate(arm, None, None, 1e-3, check=False, motion=moves, forces={tip: push})
ct.simulate(arm, None, None, 1e-3, check=False, control=ct.SymbolicControl(lambda t, q, v: -q - v))
bending = ct.Mechanism("bending")
bending.add_body("beam", flexible=ct.Beam(1.0, 1e-4, 1e-9, 7800.0, 2e11, modes={"y": 2}))
bending.add_joint("pin", "ground", "beam", ct.Revolute("z"))
bending = bending.system()
bending.forward_dynamics(bending.neutral(), np.zeros(bending.nv))
ct.simulate(bending, None, None, 1e-4, check=False)
hopper = ct.Mechanism("hopper")
hopper.add_body("trunk", mass=1.0, inertia=0.1)
hopper.add_body("leg", mass=0.2, com=(0, 0, -0.2), inertia=0.01)
hopper.add_joint("base", "ground", "trunk", ct.Free(), in_parent=ct.Pose(p=(0, 0, 0.41)))
hopper.add_joint("knee", "trunk", "leg", ct.Revolute("y"))
hopper.add_frame("tip", "leg", ct.Pose(p=(0, 0, -0.4)))
hopper.add_spring("tendon", "knee", 50.0, damping=0.5)
hopper = hopper.system()
start = np.array([0, 0, 0, 1, 0, 0, 0, 0.3])
for friction in (0.05, 1.0):
    ct.simulate(hopper, start, None, 0.2, check=False, contacts=[ct.Contact("tip", friction=friction)])
"""


@pytest.fixture(scope="module", autouse=True)
def every_target():
    """LLVM ready for all systems; skipped where its binding was built without one of them."""
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for triple in BEGINNINGS:
        try:
            llvm.Target.from_triple(triple)
        except RuntimeError as error:
            pytest.skip(str(error))


@pytest.fixture
def texts(fresh_process, tmp_path):
    """A function that returns the LLVM text of everything that some calls compile for two lanes."""

    def found(calls):
        (tmp_path / "file").write_text("")
        program = RECORD.format(calls=calls)
        return fresh_process(program, CATENA_LANES="2", CATENA_CACHE=str(tmp_path / "file" / "cache"))

    return found


@pytest.mark.parametrize("triple", BEGINNINGS)
def test_the_loops_are_compiled_for(triple):
    for lanes in (2, 4, 8):
        check(triple, loops_text(lanes, platform_of(triple)))


def test_steps_of_a_pendulum_are_compiled_for_every_system(texts):
    found = [text for text in texts(FEW) if "@offer_and_run" not in text]
    assert len(found) > 2
    for triple in BEGINNINGS:
        for text in found:
            check(triple, text)


@pytest.mark.slow
@pytest.mark.parametrize("calls", [MANY, REST], ids=["joints and algorithms", "all that acts"])
def test_all_steps_are_compiled_for_every_system(texts, calls):
    found = [text for text in texts(calls) if "@offer_and_run" not in text]
    assert len(found) > 50
    for triple in BEGINNINGS:
        for text in (*found, matrix_kernels.text(2)):
            check(triple, text)


def test_only_windows_is_linked_section_by_section():
    assert [platform_of(t).uses_jit_link for t in BEGINNINGS] == [True, True, False, False]
    assert [platform_of(t).code_model for t in BEGINNINGS] == ["small", "small", "large", "small"]
    assert platform_of("riscv64-unknown-linux-gnu").pause == ""


def check(triple, text):
    """Compile a text for a system and look at what comes out."""
    code = engine.object_code(text, engine.target_machine(triple, features=FEATURES.get(triple, "")))
    assert code.startswith(BEGINNINGS[triple])
    assert len(code) > 200
    if "windows" not in triple:
        return
    sections, relocations, wanted = coff(code)
    assert not [name for name in sections if name.startswith((".pdata", ".xdata"))]
    assert relocations <= ALLOWED[triple]
    assert wanted <= MATHEMATICS | OF_WINDOWS


def coff(code):
    """The names of the sections of an object file of Windows, the types of its relocations, and the symbols that it
    does not define."""
    _, count, _, symbols, symbol_count, _, _ = struct.unpack_from("<HHIIIHH", code)
    names, types, wanted = [], set(), set()
    for k in range(count):
        name, *_, first, _, number, _, flags = struct.unpack_from("<8s4I2I2HI", code, 20 + 40 * k)
        names.append(name.rstrip(b"\0").decode())
        if flags & 0x0100_0000:
            number = struct.unpack_from("<I", code, first)[0]
        types |= {struct.unpack_from("<IIH", code, first + 10 * i)[2] for i in range(number)}
    strings, k = symbols + 18 * symbol_count, 0
    while k < symbol_count:
        raw, _, section, _, kind, more = struct.unpack_from("<8sIhHBB", code, symbols + 18 * k)
        if section == 0 and kind == 2:
            short, offset = struct.unpack("<II", raw)
            begin = strings + offset
            text = code[begin : code.index(b"\0", begin)] if short == 0 else raw.rstrip(b"\0")
            wanted.add(text.decode())
        k += 1 + more
    return names, types, wanted
