"""Every kind of bad input is refused with a message that names who is at fault, what was found and what to do."""

import re
import warnings

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import four_bar, random_mechanism
from catena.system import correction, restoring_acceleration


@pytest.fixture(scope="module")
def system():
    """joint1 Free, joint2 Universal, joint3 Revolute, joint4 Spherical, in this order in q and v."""
    mechanism = ct.Mechanism("robot")
    kinds = [ct.Free(), ct.Universal("x", "y"), ct.Revolute("z"), ct.Spherical()]
    last = "ground"
    for i, kind in enumerate(kinds, 1):
        mechanism.add_body(f"body{i}", mass=1.0, com=(0.1, 0.2, 0.3), inertia=0.1)
        mechanism.add_joint(f"joint{i}", last, f"body{i}", kind, in_parent=ct.Pose(p=(0.5, 0, 0)))
        last = f"body{i}"
    mechanism.add_frame("tool", "body4", ct.Pose(p=(0, 0, 1)))
    return mechanism.system()


def changed(x, index, value):
    x = np.array(x)
    x[..., index] = value
    return x


CALLS = {
    "forward_dynamics": lambda s, q, v, x: s.forward_dynamics(q, v, x),
    "forward_dynamics by composite bodies": lambda s, q, v, x: s.forward_dynamics(q, v, x, "composite_body"),
    "inverse_dynamics": lambda s, q, v, x: s.inverse_dynamics(q, v, x),
    "reactions": lambda s, q, v, x: s.reactions(q, v, x),
    "bias_force": lambda s, q, v, x: s.bias_force(q, v),
    "mass_matrix": lambda s, q, v, x: s.mass_matrix(q),
    "mass_matrix, structurally recursive": lambda s, q, v, x: s.mass_matrix(q, "structurally_recursive"),
    "jacobian": lambda s, q, v, x: s.jacobian(q, "tool"),
    "pose": lambda s, q, v, x: s.pose(q, "tool"),
    "body_poses": lambda s, q, v, x: s.body_poses(q),
    "twist": lambda s, q, v, x: s.twist(q, v, "tool"),
    "bias_acceleration": lambda s, q, v, x: s.bias_acceleration(q, v, "tool"),
    "operational_space": lambda s, q, v, x: s.operational_space(q, "tool"),
    "kinetic_energy": lambda s, q, v, x: s.kinetic_energy(q, v),
    "potential_energy": lambda s, q, v, x: s.potential_energy(q),
    "momentum": lambda s, q, v, x: s.momentum(q, v),
    "center_of_mass": lambda s, q, v, x: s.center_of_mass(q),
    "integrate": lambda s, q, v, x: s.integrate(q, v, 0.1),
    "difference": lambda s, q, v, x: s.difference(q, s.neutral()),
    "rate": lambda s, q, v, x: s.rate(q, v),
}
WITHOUT_V = {
    "mass_matrix", "mass_matrix, structurally recursive", "jacobian", "pose", "body_poses", "operational_space",
    "potential_energy", "center_of_mass", "difference",
}  # fmt: skip
WITH_V = [name for name in CALLS if name not in WITHOUT_V]
BATCHES = [(), (3,)]


@pytest.mark.parametrize("batch", BATCHES, ids=["one state", "batch"])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_position_that_is_not_finite_is_named_with_its_joint(system, name, value, batch):
    q = np.broadcast_to(system.neutral(), (*batch, system.nq))
    zeros = np.zeros((*batch, system.nv))
    with pytest.raises(ct.StateError, match=rf"q\[8\] \(joint 'joint2'\) is {value}"):
        CALLS[name](system, changed(q, 8, value), zeros, zeros)


@pytest.mark.parametrize("batch", BATCHES, ids=["one state", "batch"])
@pytest.mark.parametrize("name", WITH_V)
def test_a_velocity_that_is_not_finite_is_named_with_its_joint(system, name, batch):
    q = np.broadcast_to(system.neutral(), (*batch, system.nq))
    zeros = np.zeros((*batch, system.nv))
    with pytest.raises(ct.StateError, match=r"v\[8\] \(joint 'joint3'\) is nan.*must be a finite number"):
        CALLS[name](system, q, changed(zeros, 8, np.nan), zeros)


@pytest.mark.parametrize("batch", BATCHES, ids=["one state", "batch"])
@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("forward_dynamics", "tau"),
        ("forward_dynamics by composite bodies", "tau"),
        ("inverse_dynamics", "vdot"),
        ("reactions", "tau"),
    ],
)
def test_a_force_or_acceleration_that_is_not_finite_is_named_with_its_joint(system, name, argument, batch):
    q = np.broadcast_to(system.neutral(), (*batch, system.nq))
    zeros = np.zeros((*batch, system.nv))
    where = r" in state \(0,\)" if batch else ""
    with pytest.raises(
        ct.StateError, match=rf"{argument}\[10\] \(joint 'joint4'\) is inf{where}; every entry"
    ):
        CALLS[name](system, q, zeros, changed(zeros, 10, np.inf))


@pytest.mark.parametrize("name", CALLS)
def test_a_position_of_the_wrong_shape_is_refused(system, name):
    v = np.zeros(system.nv)
    message = (
        "q has shape (13,), but its last dimension must be 14: the coordinates of the joints joint1, joint2"
    )
    with pytest.raises(ct.StateError, match=re.escape(message)):
        CALLS[name](system, system.neutral()[:-1], v, v)


@pytest.mark.parametrize("name", WITH_V)
def test_a_velocity_of_the_wrong_shape_is_refused(system, name):
    v = np.zeros(system.nv)
    with pytest.raises(ct.StateError, match=r"v has shape \(5,\), but its last dimension must be 12"):
        CALLS[name](system, system.neutral(), np.zeros(5), v)


def test_a_force_of_the_wrong_shape_is_refused_and_never_broadcast(system):
    q, v = system.neutral(), np.zeros(system.nv)
    for method in ("auto", "articulated_body", "composite_body"):
        for tau in (np.zeros(1), np.zeros((12, 1)), 3.0):
            with pytest.raises(
                ct.StateError, match="tau has shape .* but its last dimension must be 12: one for each"
            ):
                system.forward_dynamics(q, v, tau, method)
    with pytest.raises(ct.StateError, match=r"vdot has shape \(13,\)"):
        system.inverse_dynamics(q, v, np.zeros(13))


def test_batches_that_do_not_fit_together_are_listed(system):
    q = np.broadcast_to(system.neutral(), (3, system.nq))
    with pytest.raises(
        ct.StateError, match=re.escape("batch dimensions do not fit together: q (3,), v (2,), tau ()")
    ):
        system.forward_dynamics(q, np.zeros((2, system.nv)), np.zeros(system.nv))


@pytest.mark.parametrize(
    ("bad", "message"), [(None, "q is None; give the coordinates"), ("abc", "q is not an array of numbers")]
)
def test_what_is_no_array_is_refused(system, bad, message):
    with pytest.raises(ct.StateError, match=message):
        system.mass_matrix(bad)


def test_a_missing_velocity_is_refused(system):
    with pytest.raises(ct.StateError, match="v is None"):
        system.forward_dynamics(system.neutral(), None, np.zeros(system.nv))
    with pytest.raises(ct.StateError, match="v is not an array of numbers"):
        system.integrate(system.neutral(), "fast")


@pytest.mark.parametrize("dt", [np.nan, np.inf])
def test_a_step_must_take_a_finite_time(system, dt):
    with pytest.raises(ct.StateError, match=f"dt is {dt}; a step must take a finite time"):
        system.integrate(system.neutral(), np.ones(system.nv), dt)


@pytest.mark.parametrize("batch", BATCHES, ids=["one state", "batch"])
@pytest.mark.parametrize("name", CALLS)
def test_a_quaternion_that_is_not_of_unit_length_is_refused(system, name, batch):
    q = changed(np.broadcast_to(system.neutral(), (*batch, system.nq)), slice(-4, None), [1.0, 0.0, 0.3, 0.0])
    zeros = np.zeros((*batch, system.nv))
    with pytest.raises(
        ct.StateError, match="q: the quaternion of joint 'joint4' has length 1.0440.*it must be 1. Divide"
    ):
        CALLS[name](system, q, zeros, zeros)


def test_a_quaternion_that_is_of_unit_length_up_to_rounding_is_taken(system):
    q = changed(system.neutral(), slice(-4, None), [1.0 + 5e-7, 0.0, 0.0, 0.0])
    v = np.zeros(system.nv)
    assert np.isfinite(system.forward_dynamics(q, v, v)).all()
    assert np.isfinite(system.mass_matrix(q)).all()


@pytest.mark.parametrize("method", ["forward_dynamics", "inverse_dynamics", "reactions", "bias_force"])
class TestWrenches:
    """External wrenches and base accelerations."""

    def call(self, system, method, **outside):
        v = np.zeros(system.nv)
        arguments = (v,) if method == "bias_force" else (v, v)
        return getattr(system, method)(system.neutral(), *arguments, **outside)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_not_finite(self, system, method, value):
        with pytest.raises(ct.StateError, match=rf"f_ext\['body2'\] has an entry that is {value}"):
            self.call(system, method, f_ext={"tool": np.zeros(6), "body2": [0, 0, value, 0, 0, 0]})
        with pytest.raises(ct.StateError, match=rf"base_acceleration\[4\] \(component 4\) is {value}"):
            self.call(system, method, base_acceleration=[0, 0, 0, 0, value, 0])

    def test_wrong_shape(self, system, method):
        with pytest.raises(
            ct.StateError, match=r"f_ext\['tool'\] has shape \(3,\).*a wrench \[moment; force\]"
        ):
            self.call(system, method, f_ext={"tool": np.zeros(3)})
        with pytest.raises(
            ct.StateError, match=r"base_acceleration has shape \(3,\).*\[angular; linear\] of the ground"
        ):
            self.call(system, method, base_acceleration=np.zeros(3))

    def test_no_mapping(self, system, method):
        with pytest.raises(ct.StateError, match="f_ext is a ndarray; give a mapping from bodies or frames"):
            self.call(system, method, f_ext=np.zeros((4, 6)))

    def test_unknown_name(self, system, method):
        with pytest.raises(
            ct.UnknownNameError, match="'robot': no body or frame is named 'toool': did you mean 'tool'"
        ):
            self.call(system, method, f_ext={"toool": np.zeros(6)})


@pytest.mark.parametrize("name", ["pose", "jacobian", "operational_space"])
def test_an_unknown_frame_is_named_with_its_likeness(system, name):
    with pytest.raises(
        ct.UnknownNameError, match="'robot': no body or frame is named 'tol': did you mean 'tool'"
    ):
        getattr(system, name)(system.neutral(), "tol")
    with pytest.raises(ct.UnknownNameError, match="no body or frame is named 'joint2'"):
        getattr(system, name)(system.neutral(), "joint2")
    with pytest.raises(ct.UnknownNameError, match="no body or frame is named 7"):
        getattr(system, name)(system.neutral(), 7)


@pytest.mark.parametrize("name", ["slice_q", "slice_v"])
def test_an_unknown_joint_is_named_with_its_likeness(system, name):
    with pytest.raises(ct.UnknownNameError, match="'robot': no joint is named 'joint9': did you mean 'joint"):
        getattr(system, name)("joint9")


def test_an_unknown_method_is_refused_with_those_there_are(system):
    q, v = system.neutral(), np.zeros(system.nv)
    with pytest.raises(
        ct.StateError, match="no forward dynamics method 'magic'; choose auto, articulated_body or"
    ):
        system.forward_dynamics(q, v, v, "magic")
    with pytest.raises(
        ct.StateError, match="no mass matrix method 'magic'; choose composite_body, structurally_recursive,"
    ):
        system.mass_matrix(q, "magic")


def test_numbers_too_large_are_noticed_in_the_result(system):
    v = np.full(system.nv, 1e200)
    with pytest.raises(ct.SingularDynamicsError, match="not finite in state 0.*too large for float64"):
        system.forward_dynamics(system.neutral(), v, v)


def singular(kind, **body):
    mechanism = ct.Mechanism("singular")
    mechanism.add_body("arm", mass=1.0, inertia=1.0)
    mechanism.add_body("hand", **body)
    mechanism.add_joint("shoulder", "ground", "arm", ct.Revolute("y"))
    mechanism.add_joint("wrist", "arm", "hand", kind)
    return mechanism.system()


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (ct.Revolute("z"), {}),
        (ct.Prismatic("z"), {}),
        (ct.Free(), {}),
        (ct.Revolute("z"), {"mass": 1.0}),
        (ct.Revolute("z"), {"mass": 1.0, "com": (0, 0, 0.5), "inertia": (0.1, 0.1, 0.0)}),
        (ct.Spherical(), {"mass": 1.0, "com": (0, 0, 0.5), "inertia": (0.1, 0.1, 0.0)}),
        (ct.Cylindrical("z"), {"mass": 1.0}),
    ],
    ids=["massless, turning", "massless, sliding", "massless, free", "point on its axis", "rod about itself",
         "rod in a ball joint", "point that turns and slides"],
)  # fmt: skip
def test_a_joint_that_moves_no_inertia_is_named(kind, body):
    system = singular(kind, **body)
    q, v = system.neutral(), np.zeros(system.nv)
    message = (
        "Joint 'wrist' can move without moving any inertia: the body 'hand'.*Give the body mass and inertia"
    )
    for call in (
        lambda: system.forward_dynamics(q, v, v),
        lambda: system.forward_dynamics(q, v, v, "composite_body"),
        lambda: system.forward_dynamics(np.stack([q, q]), v, v),
        lambda: system.operational_space(q, "arm"),
        lambda: system.reactions(q, v, v),
    ):
        with pytest.raises(ct.SingularDynamicsError, match=message):
            call()


def test_a_massless_link_carries_a_load_whichever_way_its_joint_is_described():
    """A joint seen from its other side moves its body along negative axes, which count as much as positive ones."""
    found = []
    for turned in (False, True):
        mechanism = ct.Mechanism("crane")
        mechanism.add_body("link")
        mechanism.add_body("load", mass=2.0, com=(0.1, 0.2, -0.3), inertia=(0.1, 0.2, 0.25))
        mechanism.add_joint("boom", "ground", "link", ct.Revolute("y"))
        sides = [("link", ct.Pose(p=(1.0, 0.0, 0.0))), ("load", ct.Pose(p=(0.0, 0.0, 0.2)))]
        (a, at_a), (b, at_b) = sides[::-1] if turned else sides
        mechanism.add_joint("ball", a, b, ct.Spherical(), in_parent=at_a, in_child=at_b)
        system = mechanism.system()
        tau = np.array([3.0, 0.0, 0.0, 0.0])
        vdot = system.forward_dynamics(system.neutral(), np.zeros(4), tau)
        np.testing.assert_allclose(
            system.inverse_dynamics(system.neutral(), np.zeros(4), vdot), tau, atol=1e-12
        )
        found.append(vdot[system.slice_v("boom")])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


def test_a_massless_hand_is_no_obstacle_to_inverse_dynamics_or_when_locked():
    system = singular(ct.Revolute("z"))
    assert system.inverse_dynamics(np.zeros(2), np.zeros(2), np.array([2.0, 1.0])) == pytest.approx(
        [2.0, 0.0]
    )
    held = system.mechanism.lock("wrist").system()
    assert held.forward_dynamics(np.zeros(1), np.zeros(1), np.array([3.0])) == pytest.approx([3.0])


def test_a_massless_body_between_others_is_fine():
    mechanism = ct.Mechanism("cross")
    mechanism.add_body("cross")
    mechanism.add_body("load", mass=2.0, inertia=(0.1, 0.2, 0.3))
    mechanism.add_joint("first", "ground", "cross", ct.Revolute("x"))
    mechanism.add_joint("second", "cross", "load", ct.Revolute("y"))
    tau = np.array([0.1, 0.4])
    assert mechanism.system().forward_dynamics(np.zeros(2), np.zeros(2), tau) == pytest.approx([1.0, 2.0])


def test_a_gimbal_that_is_locked_in_this_configuration_is_noticed():
    """Two axes of three fall together; accelerations along what is left are not determined."""
    mechanism = ct.Mechanism("gimbal")
    mechanism.add_body("rotor", mass=1.0, inertia=1.0)
    mechanism.add_joint("gimbal", "ground", "rotor", ct.Sdof("rx", "ry", "rz"))
    q = np.array([0.0, np.pi / 2, 0.0])
    with pytest.raises(ct.SingularDynamicsError, match="some joint moves no inertia in this configuration"):
        mechanism.system().forward_dynamics(q, np.ones(3), np.zeros(3))


def test_nothing_has_no_centre_of_mass():
    with pytest.raises(ct.SingularDynamicsError, match="'nothing' has no moving mass"):
        ct.Mechanism("nothing").system().center_of_mass(np.zeros(0))


@pytest.mark.parametrize("edit", [
    lambda m: m.add_body("more"), lambda m: m.add_frame("more", "body1"),
    lambda m: m.add_joint("more", "body1", "body3", ct.Free()), lambda m: setattr(m, "gravity", (0, 0, 1)),
], ids=["body", "frame", "joint", "gravity"])  # fmt: skip
def test_a_system_is_stale_after_any_edit(edit):
    mechanism = random_mechanism(0, 3, ["Revolute"])
    mechanism.add_frame("tool", "body3")
    system = mechanism.system()
    q = v = np.zeros(3)
    for call in CALLS.values():
        call(system, q, v, v)
    edit(mechanism)
    for name, call in CALLS.items():
        with pytest.raises(
            ct.StaleSystemError, match="'random0' was edited after this system was planned.*m.system()"
        ):
            call(system, q, v, v)
            pytest.fail(f"{name} went on with a stale plan")


def test_a_copy_may_be_edited_without_making_the_system_stale():
    mechanism = random_mechanism(0, 3, ["Revolute"])
    system = mechanism.system()
    mechanism.copy().add_body("more")
    mechanism.lock("joint2")
    assert system.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3)).shape == (3,)


def test_a_loop_joint_has_no_coordinates_in_q():
    system = four_bar().system()
    with pytest.raises(
        ct.UnknownNameError, match="closes a loop in this plan and has no coordinates of its own in q"
    ):
        system.slice_q(system.loops[0])


def test_kinematics_and_inertia_of_a_looped_tree_do_work():
    system = four_bar().system()
    q, v = np.zeros((2, system.nq)), np.ones((2, system.nv))
    assert system.mass_matrix(q).shape == (2, system.nv, system.nv)
    assert system.bias_force(q, v).shape == (2, system.nv)
    assert system.jacobian(q, list(system.mechanism.bodies)[-1]).shape == (2, 6, system.nv)


COMPLEX = [lambda x: x + 0j, lambda x: (x + 1j).tolist(), lambda x: x.astype(object) + 1j]


@pytest.mark.parametrize("make", COMPLEX, ids=["array", "list", "objects"])
@pytest.mark.parametrize("name", CALLS)
def test_complex_numbers_are_refused(system, name, make):
    q, v = system.neutral(), np.zeros(system.nv)
    with pytest.raises(ct.StateError, match="q is not an array of numbers"):
        CALLS[name](system, make(q), v, v)
    if name in WITH_V:
        with pytest.raises(ct.StateError, match="v is not an array of numbers"):
            CALLS[name](system, q, make(v), v)


def test_complex_numbers_are_refused_where_joints_are_named():
    s = four_bar().system()
    q = s.neutral()
    for call in (
        lambda x: s.assemble({"A": x}),
        lambda x: s.velocity(q, {"A": x}),
        lambda x: s.hybrid_dynamics(q, q, None, {"A": x}),
        lambda x: s.forward_dynamics(q, q, f_ext={"crank": np.full(6, x)}),
        lambda x: s.integrate(q, q, x),
        lambda x: ct.simulate(s, q + x, q, 0.1),
        lambda x: ct.simulate(s, q, q, 0.1, control=ct.sampled(lambda t, q, v: v + x, 100.0)),
        lambda x: ct.PID(s, {"A": 0.0}, kp=x),
        lambda x: ct.PID(s, {"A": x}),
        lambda x: ct.cubic([0.0, 1.0], [0.0, x]),
        lambda x: ct.Pose(p=(x, 0, 0)),
        lambda x: ct.Revolute((x, 0, 0)),
        lambda x: ct.Helical("z", x),
        lambda x: s.mechanism.copy().add_body("stone", mass=x),
        lambda x: s.mechanism.lock("A", x),
        lambda x: ct.TipContact("crank", ("dz",), acceleration=[x]),
    ):
        for number in (1j, np.complex128(1.0), np.complex64(1.0)):
            with pytest.raises(ct.CatenaError):
                call(number)


RAGGED = [[0.0, 0.0, 0.0], [0.0, 0.0]]


def test_ragged_lists_are_refused():
    s = four_bar().system()
    q = s.neutral()
    for call in (
        lambda x: s.closure(x), lambda x: s.closure(q, x), lambda x: s.project(x), lambda x: s.project(q, x),
        lambda x: s.velocity(x, {"A": 1.0}), lambda x: s.velocity(q, {"A": x}), lambda x: s.assemble({"A": x}),
        lambda x: s.assemble(guess=x), lambda x: correction(s, x, q),
        lambda x: restoring_acceleration(s, x, q, 1.0, 1.0),
        lambda x: s.closure_jacobian(x), lambda x: s.diagnose(x), lambda x: s.integrate(q, q, x),
        lambda x: s.mass_matrix(x, "structurally_recursive"), lambda x: s.forces.loads(x, q),
        lambda x: s.joint_position(x, "C"), lambda x: s.reactions(q, x), lambda x: s.inverse_dynamics(q, q, x),
        lambda x: s.operational_space(x, "crank"), lambda x: s.forward_dynamics(q, q, f_ext={"crank": x}),
        lambda x: ct.simulate(s, x, q, 0.1), lambda x: ct.simulate(s, q, q, 0.1, samples=x),
    ):  # fmt: skip
        with pytest.raises(ct.StateError, match="."):
            call(RAGGED)


@pytest.mark.parametrize("batch", [(0,), (2, 0), (0, 3)])
def test_no_states_give_no_results(batch):
    s = four_bar().system()
    q, v = np.zeros((*batch, s.nq)), np.zeros(s.nv)
    assert [x.shape for x in s.closure(q, v)] == [(*batch, 5)] * 2
    assert s.project(q).shape == q.shape and s.project(q, v)[1].shape == (*batch, s.nv)
    assert s.project(q, v, held=["A"])[1].shape == (*batch, s.nv)
    assert s.velocity(q, {"A": 1.0}).shape == (*batch, s.nv)
    assert s.assemble({"A": np.zeros((*batch, 1))}).shape == q.shape
    assert s.closure_jacobian(q).shape == (*batch, 5, s.nv)
    assert [x.shape for x in correction(s, q, v)] == [(*batch, s.nv)] * 2
    assert s.forward_dynamics(q, v).shape == s.forward_dynamics(q, v, method="kkt").shape == (*batch, s.nv)
    assert s.inverse_dynamics(q, v, v).shape == (*batch, s.nv)
    assert s.hybrid_dynamics(q, v, None, {"A": 1.0})[0].shape == (*batch, s.nv)
    assert {x.shape for x in s.reactions(q, v).values()} == {(*batch, 6)}
    assert [x.shape for x in s.operational_space(q, "crank")] == [(*batch, 6, 6), (*batch, s.nv, 6)]
    assert s.forces.loads(q, v).tau.shape == (*batch, s.nv) and s.forces.energy(q).shape == batch
    assert ct.contact_dynamics(s, q, v, v, [ct.TipContact("coupler", ("dx",))]).vdot.shape == (*batch, s.nv)


NO_NAMES = [None, 3, ["A"], {"A": 1}, np.array("A"), np.zeros(3), {"A"}, object()]


@pytest.mark.parametrize("name", NO_NAMES, ids=[type(x).__name__ for x in NO_NAMES])
def test_what_is_no_name_is_refused_as_one(name):
    s = four_bar().system()
    q = s.neutral()
    for call in (
        lambda: s.slice_q(name), lambda: s.slice_v(name), lambda: s.pose(q, name), lambda: s.jacobian(q, name),
        lambda: s.joint_position(q, name), lambda: s.joint_velocity(q, q, name),
        lambda: s.mechanism.copy().add_frame("f", name), lambda: s.mechanism.lock([name]),
        lambda: s.mechanism.detach([name]),
    ):  # fmt: skip
        with pytest.raises(ct.UnknownNameError, match="no .* is named"):
            call()
    if not isinstance(name, list | set):
        for edit in (s.mechanism.lock, s.mechanism.unlock, s.mechanism.detach, s.mechanism.reduce_to):
            with pytest.raises(ct.UnknownNameError, match="no joint is named"):
                edit(name)


@pytest.mark.parametrize("bad", ["x", [1.0, 2.0], None, 1j, np.zeros(0), object(), -1.0, np.nan])
def test_single_numbers_are_told_from_other_things(bad):
    s = four_bar().system()
    q = s.neutral()
    for call in (
        lambda: s.assemble({"A": 0.1}, slack=bad), lambda: s.velocity(q, {"A": 0.1}, slack=bad),
        # Without a tolerance what counts is what is computed with.
        lambda: s.diagnose(q, tolerance="none" if bad is None else bad),
        lambda: restoring_acceleration(s, q, q, bad, 1.0), lambda: restoring_acceleration(s, q, q, 1.0, bad),
        lambda: ct.simulate(s, q, q, bad), lambda: ct.simulate(s, q, q, 0.1, rtol=bad), lambda: ct.Baumgarte(bad),
        lambda: ct.simulate(s, q, q, 0.1, integrator="rk4", step=bad), lambda: ct.Corrective(bad),
        lambda: ct.JointPath(s, {"A": 0.1}, step=bad), lambda: ct.ComputedTorque(s, {"A": 0.1}, 1.0, damping=bad),
        lambda: ct.TaskSpace(s, "crank", (0, 0, 0), bad),
    ):  # fmt: skip
        with pytest.raises(ct.StateError, match=r"give|must"):
            call()


def test_a_mapping_is_no_list_of_names():
    """What it maps names to was ignored."""
    with pytest.raises(ct.PlanError, match=r"keep is .*has values too"):
        four_bar().system(keep={"A": 1.0})
    s = four_bar().system()
    q, v = s.neutral(), np.zeros(s.nv)
    with pytest.raises(ct.StateError, match=r"actuated is .*has values too"):
        s.inverse_dynamics(q, v, v, actuated={"A": 2.0})


def test_forces_of_loops_that_are_too_large_to_be_told_are_refused():
    s = four_bar().system()
    q, fast = s.neutral(), np.array([0.0, 0.0, -1e308])
    with pytest.raises(ct.SingularDynamicsError, match="too large for float64"):
        s.inverse_dynamics(q, fast, np.zeros(s.nv))


def test_masses_that_are_too_large_for_float64_are_refused_in_words():
    """They ended in a bare LinAlgError."""
    m = ct.Mechanism("heavy")
    for name in ("a", "b", "c", "d"):
        m.add_body(name, 1e308 if name == "c" else 1.0, (0.1, -0.2, 0.3), 0.1)
    m.add_joint("ground-a", "ground", "a", ct.Prismatic("z"))
    m.add_joint("a-b", "a", "b", ct.Cylindrical("x"), ct.Pose(p=(0.2, 0.3, 0.1)))
    m.add_joint("b-c", "b", "c", ct.Spherical(), ct.Pose(p=(-1.0, 0.1, 0.4)))
    m.add_joint("c-d", "c", "d", ct.Prismatic("y"), ct.Pose(p=(-0.2, 0.6, -0.3)))
    m.add_joint("d-ground", "ground", "d", ct.Spherical(), ct.Pose(p=(-1.0, 1.0, 0.2)))
    s = m.system(cut=["b-c"])
    with np.errstate(all="ignore"), pytest.raises(ct.CatenaError):
        s.forward_dynamics(s.neutral(), np.zeros(s.nv))


def test_accelerations_and_derivatives_of_loops_beyond_all_numbers_are_refused():
    """Velocities whose products overflow are told, and no warning of NumPy is."""
    s = ct.generators.walker(2).system()
    q, v = s.neutral(), np.zeros(s.nv)
    v[0] = -1e308
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ct.StateError, match="accelerations are beyond all numbers"):
            s.forward_dynamics(q, v)
    with pytest.raises(ct.StateError, match="derivatives of forward dynamics are beyond all numbers"):
        s.forward_dynamics_derivatives(q, np.zeros(s.nv), base_acceleration=[0, -1e308, 0, 0, 0, 0])
