"""What cannot be written as equations is refused with the reason and a way out."""

from dataclasses import dataclass

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar, stewart
from catena.spatial import Transform


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("crank.mas", "crank.mass, crank.com, crank.inertia"),
        ("cranc.mass", "did you mean 'crank'"),
        ("A.in_parent.q", "A.in_parent.p"),
        ("crank.com.w", "x, y, z and length"),
        ("ground", "none"),
        ("crank", "crank.mass"),
        ("", "no body, joint, frame or force"),
    ],
)
def test_an_unknown_parameter_is_named_with_what_there_is(name, words):
    with pytest.raises(ct.UnknownNameError) as error:
        four_bar().system().equations("mass_matrix", symbols=[name])
    assert words in str(error.value)


@pytest.mark.parametrize("names", [["crank.mass", "crank.mass"], ["crank.com", "crank.com.x"]])
def test_a_parameter_is_asked_for_once(names):
    with pytest.raises(ct.UnknownNameError, match="twice"):
        four_bar().system().equations("mass_matrix", symbols=names)


def test_a_vector_of_no_length_has_no_direction():
    with pytest.raises(ct.ModelError, match=r"A\.in_parent\.p\.x"):
        four_bar().system().equations("mass_matrix", symbols=["A.in_parent.p.length"])


@pytest.mark.parametrize("form", ["sympy", "latex"])
def test_what_is_too_large_to_read_says_its_size_and_offers_c(form):
    e = arm7().system().equations("forward_dynamics", symbols=["link2.inertia", "link3.com", "link4.inertia"])
    count = len(e.graph.operations)
    if form == "sympy" and count <= 2000:
        e = ct.generators.humanoid().system().equations("mass_matrix")
        count = len(e.graph.operations)
    with pytest.raises(ct.EquationsError, match=rf"{count} operations.*c\(\)"):
        getattr(e, form)()


def test_formulations_that_decide_by_state_are_refused():
    system = four_bar().system()
    for method in ("kkt", "absolute", "reference_member"):
        with pytest.raises(ct.EquationsError, match="in every state.*elimination"):
            system.equations("forward_dynamics", method=method)
    for method in ("joint_multipliers", "minimal"):
        with pytest.raises(ct.EquationsError, match="depends on the state.*at=q"):
            system.equations("forward_dynamics", method=method)
    with pytest.raises(ct.EquationsError, match="depends on the state.*at=q"):
        system.equations("inverse_dynamics")
    idle = four_bar()
    for joint in list(idle.joints):
        idle = idle.with_joint(joint, actuated=False)
    system = idle.system()
    with pytest.raises(ct.EquationsError, match="0 of its 1 degrees.*no actuator"):
        system.equations("inverse_dynamics", at=system.assemble({"A": 0.4}))


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ([0.0], r"shape \(1,\)"),
        (np.zeros((2, 3)), "One state"),
        ([0.0, np.nan, 0.0], "NaN|nan"),
        ("", "not an array of numbers"),
    ],
)
def test_a_place_where_choices_are_made_that_is_no_configuration_is_refused(at, words):
    with pytest.raises(ct.StateError, match=words):
        four_bar().system().equations("minimal_coordinates", at=at)


def test_a_joint_kind_with_a_branch_by_state_is_refused():
    @dataclass(frozen=True)
    class Folding(ct.JointKind):
        nq = 1
        nv = 1

        def transform(self, q):
            return Transform.rotation((0.0, 0.0, 1.0), q[0] if q[0] > 0.0 else 0.5 * q[0])

    m = ct.Mechanism("folding")
    m.add_body("b", mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.2)
    m.add_joint("j", "ground", "b", Folding())
    with pytest.raises(ct.EquationsError, match="branch that depends on the state.*where"):
        m.system().equations("mass_matrix")


def test_a_loop_closed_by_a_kind_that_iterates_is_refused():
    @dataclass(frozen=True)
    class Turn(ct.JointKind):
        nq = 1
        nv = 1

        def transform(self, q):
            return Transform.rotation((0.0, 0.0, 1.0), q[0])

        def motion_space(self, q):
            return ct.Revolute("z").motion_space(q)

        @property
        def has_constant_constraint_space(self):
            return False

    m = ct.Mechanism("loop")
    for name in ("a", "b"):
        m.add_body(name, mass=1.0, com=(0.5, 0.0, 0.0), inertia=0.1)
    m.add_joint("A", "ground", "a", ct.Revolute("z"))
    m.add_joint("B", "a", "b", ct.Revolute("z"), in_parent=ct.Pose(p=(1.0, 0.0, 0.0)))
    m.add_joint(
        "C", "ground", "b", Turn(), in_parent=ct.Pose(p=(1.5, 0.0, 0.0)), in_child=ct.Pose(p=(0.5, 0.0, 0.0))
    )
    with pytest.raises(ct.EquationsError, match=r"\['C'\].*iteration"):
        m.system(cut=["C"]).equations("forward_dynamics")


def test_names_frames_and_stale_systems():
    mechanism = four_bar()
    system = mechanism.system()
    with pytest.raises(ct.UnknownNameError, match="forward_dynamics"):
        system.equations("forward_dynamic")
    with pytest.raises(ct.EquationsError, match="frame=..."):
        system.equations("pose")
    with pytest.raises(ct.EquationsError, match="no frame"):
        system.equations("mass_matrix", frame="crank")
    with pytest.raises(ct.LoopError, match="no loops"):
        arm7().system().equations("closure")
    with pytest.raises(ct.EquationsError, match="1 processor"):
        system.equations("mass_matrix").dataflow().schedule(0)
    with pytest.raises(ct.EquationsError, match="grain"):
        system.equations("mass_matrix").dataflow(grain="bodies")
    mechanism.add_body("late", mass=1.0)
    with pytest.raises(ct.StaleSystemError):
        system.equations("mass_matrix")


def test_friction_of_a_loop_joint_as_a_symbol(agree):
    """A loop joint whose friction is a symbol rubs, whatever the value is."""
    m = four_bar()
    system = m.system()
    q = system.assemble({"A": 0.4})
    v = system.velocity(q, {"A": 1.0})
    tau = np.array([1.0, 0.0, 0.0])
    e = system.equations("forward_dynamics", symbols=["C.damping"])
    agree(e(q, v, tau), system.forward_dynamics(q, v, tau), 1e-12)
    rubbing = e(q, v, tau, parameters={"C.damping": 0.7})
    assert np.abs(rubbing - e(q, v, tau)).max() > 1e-3
    by_multipliers = system.equations("forward_dynamics", symbols=["C.damping"], method="minimal", at=q)
    agree(by_multipliers(q, v, tau, parameters={"C.damping": 0.7}), rubbing, 1e-11)


def test_rotors_of_loop_joints_with_several_freedoms_are_named(geared_loop):
    m = geared_loop()
    m.add_body("strut", mass=0.1, com=(0.1, 0, 0), inertia=0.01)
    m.add_joint("F", "ground", "strut", ct.Spherical())
    m.add_joint("G", "strut", "arm", ct.Universal("x", "y"), ct.Pose(p=(1.0, 0.1, 0.1)), armature=(0.1, 0.2))
    system = m.system(cut=["G", "B"])
    with pytest.raises(ct.EquationsError, match=r"\['G'\].*several degrees of freedom and rotors.*cut"):
        system.equations("forward_dynamics")


@pytest.mark.parametrize("build", [four_bar, stewart])
@pytest.mark.parametrize("ask", ["sympy", "latex"])
def test_position_errors_of_loops_are_no_expression_to_read(build, ask):
    s = build().system()
    with pytest.raises(ct.CatenaError, match="logarithms of rotations|too many for|characters long"):
        getattr(s.equations("closure"), ask)()
    if build is four_bar:
        with pytest.raises(ct.EquationsError, match="closure_jacobian times v"):
            getattr(s.equations("closure"), ask)()
        symbolic = s.equations("closure_jacobian").sympy()
        q = s.assemble({"A": 0.3})
        numbers = {x: q[s.joints.index(x.name.removeprefix("q_"))] for x in symbolic.free_symbols}
        found = np.array(symbolic.subs(numbers)).astype(float)
        np.testing.assert_allclose(found, s.closure_jacobian(q), atol=1e-12)
