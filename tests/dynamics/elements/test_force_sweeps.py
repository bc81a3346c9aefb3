"""Forces of all kinds before every dynamics: compiled against plain numbers and against the same forces told as tau and
f_ext, on trees and with loops, in batches and alone."""

from dataclasses import replace

import numpy as np
import pytest

import catena as ct
from benchmarks.states import closed_states, random_states
from catena.dynamics import articulated_body, hybrid_dynamics, newton_euler
from catena.dynamics.elements.force_sweeps import force_sweeps, with_forces
from catena.dynamics.loops.elimination import loop_elimination, shape_for
from catena.dynamics.loops.elimination.hybrid import hybrid_elimination
from catena.errors import KernelError
from catena.forces import KINDS, FrameForce, JointSpring, JointStop, PointSpring, Table
from catena.kernels import compilations, each_force, plain_numbers, whole_state
from catena.kernels.evaluation import Evaluator
from catena.mechanism.generators import four_bar, random_mechanism, stewart

CHOSEN = ["Revolute", "Spherical"]
FEW = [
    kind
    for kind in KINDS
    if isinstance(kind, ct.forces.PointSpring | ct.forces.ConstantWrench | ct.forces.Drag)
]
ALL = [kind for kind in KINDS if isinstance(kind, FrameForce) and not kind.inputs]


def pressed(seed=3, loops=False, kinds=FEW):
    """A random tree or a Stewart platform, with forces of these kinds between frames and a spring and a stop at every
    joint."""
    random = np.random.default_rng(seed)
    m = stewart() if loops else random_mechanism(seed, 5, CHOSEN)
    names = list(m.bodies)
    for k, kind in enumerate(kinds):
        for end in "ab":
            pose = ct.Pose(p=random.normal(size=3), rpy=random.normal(size=3))
            m.add_frame(f"{end}{k}", names[(k if end == "a" else 2 * k + 1) % len(names)], pose)
        ends = (f"a{k}", f"b{k}")
        if kind.reacts and m.frames[ends[0]].body == m.frames[ends[1]].body:
            ends = ("ground", ends[1])
        if kind.weighs:
            ends = ("ground", f"b{k}")
        m.add_force(f"{type(kind).__name__} {k}", kind, between=ends)
    for name, joint in m.joints.items():
        nv, neutral = joint.kind.nv, joint.kind.neutral()
        if nv:
            rest = joint.kind.integrate(neutral, 0.4 * random.normal(size=nv))
            m.add_spring(f"{name} spring", name, random.uniform(1, 5, nv), rest, random.uniform(0, 1, nv))
            ones = (1.0,) * nv
            m.add_force(f"{name} stop", JointStop((-0.1,) * nv, (0.1,) * nv, ones, ones), joint=name)
    return m


def given_states(s, count, seed=0):
    q, v, tau, _ = closed_states(s, count, seed, spread=0.3) if s.loops else random_states(s, count, seed)
    return q, v, tau


def accelerations(s, dynamics, q, v, tau, **more):
    return s.mechanics.evaluator.evaluate(
        dynamics, {"q": q, "qd": v, "given": tau, **more}, forces=s.mechanics.elements.placed
    )


def test_trees_feel_forces_of_all_kinds_as_joint_forces_and_wrenches(agree):
    s = pressed(kinds=ALL).system()
    q, v, tau = given_states(s, 5)
    e = s.forces.loads(q, v)
    found = accelerations(s, with_forces(articulated_body), q, v, tau)["qdd"]
    agree(found, s.forward_dynamics(q, v, tau + e.tau, f_ext=e.f_ext, elements=False), 1e-11)
    agree(found, s.forward_dynamics(q, v, tau), 1e-11)


def test_loops_feel_forces_as_joint_forces_and_wrenches(agree):
    s = pressed(loops=True).system()
    assert {force.site for force in s.mechanics.elements.placed} == {"frames", "tree", "loop"}
    q, v, tau = given_states(s, 5)
    e = s.forces.loads(q, v)
    found = accelerations(s, with_forces(loop_elimination(shape_for(s.plan))), q, v, tau)["qdd"]
    agree(found, s.forward_dynamics(q, v, tau + e.tau, f_ext=e.f_ext, method="kkt", elements=False), 1e-11)
    agree(found, s.forward_dynamics(q, v, tau), 1e-11)


@pytest.mark.parametrize("loops", [False, True])
def test_prescribed_joints_among_forces(loops, agree):
    s = pressed(loops=loops).system()
    q, v, tau = given_states(s, 4)
    driven = next(j for j in s.joints if s.mechanism.joints[j].kind.nv)
    own = s.slice_v(driven)
    given = np.zeros((4, s.nv))
    e = s.forces.loads(q, v)
    if loops:
        # A motion that the loops allow.
        given[:, own] = s.forward_dynamics(q, v, tau)[:, own]
    else:
        given[:, own] = 0.7
    mask = np.zeros(s.nv)
    mask[own] = 1.0
    dynamics = hybrid_elimination(shape_for(s.plan)) if loops else hybrid_dynamics
    found = accelerations(s, with_forces(dynamics), q, v, tau, driven=mask, qdd_given=given)
    prescribed = {driven: given[:, own]}
    vdot, drive = s.hybrid_dynamics(q, v, tau + e.tau, prescribed, f_ext=e.f_ext, elements=False)
    agree(s.hybrid_dynamics(q, v, tau, prescribed)[0], vdot, 1e-8)
    agree(found["qdd"], vdot, 1e-8)
    agree(found["drive"], drive, 1e-8)


@pytest.mark.parametrize("loops", [False, True])
def test_plain_numbers_and_compiled_ones_agree(loops, agree):
    s = pressed(loops=loops).system()
    q, v, tau = given_states(s, 2)
    dynamics = with_forces(loop_elimination(shape_for(s.plan)) if loops else articulated_body, count=True)
    compiled = accelerations(s, dynamics, q, v, tau)
    with plain_numbers():
        plain = accelerations(s, dynamics, q, v, tau)
    for name in ("qdd", "power_friction", "power_wrenches", "power_actuators"):
        agree(compiled[name], plain[name], 1e-10)


@pytest.mark.parametrize("loops", [False, True])
def test_alone_and_in_a_batch_bits_are_equal(loops):
    s = pressed(loops=loops).system()
    q, v, tau = given_states(s, 11)
    dynamics = with_forces(loop_elimination(shape_for(s.plan)) if loops else articulated_body)
    many = accelerations(s, dynamics, q, v, tau)["qdd"]
    program = s.mechanics.program(
        dynamics, frozenset({"f_given", "a_base"}), lanes=2, forces=s.mechanics.elements.placed
    )
    for k in (0, 7, 10):
        assert np.array_equal(accelerations(s, dynamics, q[k], v[k], tau[k])["qdd"], many[k])
        alone = program.run({"q": q[k : k + 1], "qd": v[k : k + 1], "given": tau[k : k + 1]}, 1)[1]["qdd"][0]
        assert np.array_equal(alone, many[k])


@pytest.mark.parametrize("loops", [False, True])
def test_powers_are_counted_by_source(loops, agree):
    s = pressed(loops=loops).system()
    q, v, tau = given_states(s, 5)
    dynamics = with_forces(loop_elimination(shape_for(s.plan)) if loops else articulated_body, count=True)
    counted = accelerations(s, dynamics, q, v, tau)
    agree(counted["power_actuators"][:, 0], np.sum(tau * v, axis=-1), 1e-12)
    for source, power in s.forces.powers(q, v).items():
        agree(counted[f"power_{source}"][:, 0], power, 1e-12)


@pytest.mark.parametrize("loops", [False, True])
def test_friction_of_joints_is_counted_and_not_felt_twice(loops, agree):
    m = ct.Mechanism("rubbing")
    for k in range(3):
        m.add_body(f"b{k}", 1.0, (0.5, 0.1, 0.2), 0.2)
        joint = ct.Spherical() if k == 1 else ct.Revolute("y")
        m.add_joint(
            f"j{k}",
            "ground" if k == 0 else f"b{k - 1}",
            f"b{k}",
            joint,
            ct.Pose(p=(1, 0, 0)),
            damping=0.3 + k,
            friction=0.2,
        )
    if loops:
        m.add_joint("close", "ground", "b2", ct.Spherical(), ct.Pose(p=(1, 0.5, 0)), damping=0.4)
        m.add_frame("end", "b2", ct.Pose(p=(1, 0, 0)))
    s = m.system()
    q, v, tau, _ = random_states(s, 4, 0)
    dynamics = with_forces(loop_elimination(shape_for(s.plan)) if loops else articulated_body, count=True)
    assert not s.mechanics.elements.placed and len(s.mechanics.elements.frictions) == (4 if loops else 3)
    counted, bare = (
        s.mechanics.evaluator.evaluate(dynamics, {"q": q, "qd": v, "given": tau}, forces=forces)
        for forces in (s.mechanics.elements.frictions, ())
    )
    assert np.array_equal(counted["qdd"], bare["qdd"])
    rates = {j: s.joint_velocity(q, v, j) for j in m.joints}
    taken = [
        np.sum(
            rates[j] * (m.joints[j].damping * rates[j] + m.joints[j].friction * np.sign(rates[j])), axis=-1
        )
        for j in m.joints
    ]
    agree(counted["power_friction"][:, 0], -sum(taken), 1e-12)
    agree(s.forces.powers(q, v)["friction"], -sum(taken), 1e-12)


def test_new_parameters_and_places_compile_nothing_and_a_new_kind_compiles_once():
    def system(stiffness, frame, table):
        m = random_mechanism(5, 4, CHOSEN)
        m.add_frame("tip", list(m.bodies)[frame], ct.Pose(p=(stiffness, 0, 0)))
        m.add_spring_between("s", "ground", "tip", stiffness, 0.1, 0.3)
        m.add_spring_between("t", "tip", list(m.bodies)[1], stiffness)
        if table:
            law = Table((0.0, 0.1, 0.2, 0.3, 0.4, 0.5, stiffness), np.arange(7.0))
            m.add_force("u", ct.forces.TabledPointSpring(law), between=("ground", "tip"))
        return m.system()

    def run(s):
        q, v, tau = given_states(s, 3)
        s.forces.loads(q, v)
        return accelerations(s, with_forces(articulated_body), q, v, tau)

    run(system(3.0, 3, table=False))
    before = compilations()
    run(system(9.0, 4, table=False))
    assert compilations() == before
    run(system(9.0, 4, table=True))
    with_table = compilations()
    run(system(2.0, 2, table=True))
    assert compilations() == with_table <= before + 2


def test_wrenches_told_from_outside_are_external_wrenches(agree):
    s = random_mechanism(3, 6, CHOSEN).system()
    names = list(s.mechanism.bodies)
    q, v, tau = given_states(s, 4)
    wrenches = np.random.default_rng(0).normal(size=(4, 12))
    forces = (
        s.mechanics.elements.applied(names[3], axes=names[3]),
        s.mechanics.elements.applied(names[4], axes=names[2]),
    )
    found = Evaluator(s.mechanism, s.plan).evaluate(
        with_forces(articulated_body),
        {"q": q, "qd": v, "given": tau, "force_inputs": wrenches},
        forces=forces,
    )["qdd"]
    poses = s.body_poses(q)
    turn = np.swapaxes(poses[names[4]][:, :3, :3], 1, 2) @ poses[names[2]][:, :3, :3]
    turned = [(turn @ wrenches[:, k : k + 3, None])[..., 0] for k in (6, 9)]
    outside = {names[3]: wrenches[:, :6], names[4]: np.concatenate(turned, axis=-1)}
    agree(found, s.forward_dynamics(q, v, tau, f_ext=outside), 1e-11)
    assert s.mechanics.elements.applied(names[3], names[3]) is forces[0]


def test_a_step_on_the_whole_state_tells_wrenches(agree):
    """A law of the state, compiled, is the same as its values given as input."""
    s = random_mechanism(3, 5, CHOSEN).system()
    body = list(s.mechanism.bodies)[-1]
    forces = (s.mechanics.elements.applied(body),)

    @whole_state
    def blow(whole):
        whole.force_inputs = np.array(
            [whole.q[0], 0, whole.qd[1] * 2.0, whole.qd[0], 3.0, whole.q[2]], dtype=object
        )

    base = with_forces(articulated_body)
    lawful = replace(base, name="lawful_wrench", sweeps=(blow, *base.sweeps))
    q, v, tau = given_states(s, 4)
    wrench = np.stack([q[:, 0], 0 * q[:, 0], 2 * v[:, 1], v[:, 0], 3.0 + 0 * q[:, 0], q[:, 2]], axis=1)
    given = {"q": q, "qd": v, "given": tau, "force_inputs": np.zeros(6)}
    expected = s.mechanics.evaluator.evaluate(base, given | {"force_inputs": wrench}, forces=forces)["qdd"]
    agree(s.mechanics.evaluator.evaluate(lawful, given, forces=forces)["qdd"], expected, 1e-12)
    with plain_numbers():
        agree(s.mechanics.evaluator.evaluate(lawful, given, forces=forces)["qdd"], expected, 1e-11)


def test_a_force_within_one_rigid_piece_moves_nothing_but_is_told(agree):
    m = ct.Mechanism("welded")
    for name in ("a", "b"):
        m.add_body(name, 1.0, (0.1, 0.2, 0.3), 0.4)
    m.add_joint("free", "ground", "a", ct.Free())
    m.add_joint("weld", "a", "b", ct.Fixed(), ct.Pose(p=(0.5, 0, 0), rpy=(0.1, 0.2, 0.3)))
    m.add_spring_between("inside", "a", "b", 10.0, 0.2)
    m.add_wrench("own axes", "b", force=(1.0, 2.0, 3.0), axes="b")
    s = m.system()
    q, v, tau = given_states(s, 3)
    found = accelerations(s, with_forces(articulated_body), q, v, tau)["qdd"]
    agree(found, s.forward_dynamics(q, v, tau, f_ext={"b": [0, 0, 0, 1.0, 2.0, 3.0]}, elements=False), 1e-12)
    np.testing.assert_allclose(s.forces.outputs(q, v)["inside"]["tension"], 3.0, rtol=1e-12)
    # The weld carries what the spring pulls.
    weld = s.reactions(q, v)["weld"]
    without = s.reactions(q, v, None, f_ext={"b": [0, 0, 0, 1.0, 2.0, 3.0]}, elements=False)["weld"]
    np.testing.assert_allclose(np.linalg.norm((weld - without)[:, 3:], axis=-1), 3.0, rtol=1e-10)


def test_forces_between_bodies_leave_the_momentum_alone(agree, derivative):
    """Every kind that reacts, between two bodies in space, at bodies' own origins and elsewhere."""
    m = ct.Mechanism("two", gravity=(0, 0, 0))
    for k in range(2):
        m.add_body(f"b{k}", 1.0 + k, (0.1, 0.2, 0.3 * k), 0.4)
        m.add_joint(f"j{k}", "ground", f"b{k}", ct.Free())
        m.add_frame(f"f{k}", f"b{k}", ct.Pose(p=(0.3, 0.1 * k, 0.2), rpy=(0.3, 0.2, 0.1 + k)))
    for k, kind in enumerate(kind for kind in KINDS if isinstance(kind, FrameForce) and kind.reacts):
        m.add_force(f"{k}", kind, between=("f0", "f1"))
    s = m.system()
    q, v, _, _ = random_states(s, 4, 0)
    vdot = accelerations(s, with_forces(articulated_body), q, v, 0.0 * v)["qdd"]
    rate = derivative(lambda t: s.momentum(s.integrate(q, v * t), v + vdot * t), 1e-3)
    agree(rate, np.zeros((4, 6)), 1e-7, np.abs(vdot).max())
    assert np.abs(vdot).max() > 1.0


def test_a_user_cannot_write_past_what_bodies_share():
    @each_force
    def spill(force, a, b):
        b.mine = 1.0

    m = four_bar()
    m.add_spring("s", next(iter(m.joints)), 1.0)
    s = m.system()
    wrong = replace(with_forces(articulated_body), name="spilling", sweeps=(*force_sweeps(), spill))
    with pytest.raises(KernelError, match="writes b.mine, but from outside a record only its shared fields"):
        s.mechanics.program(wrong, frozenset({"f_given", "a_base"}), forces=s.mechanics.elements.placed)


@pytest.mark.parametrize("kind", [ct.Revolute("y"), ct.Spherical()], ids=lambda k: type(k).__name__)
def test_springs_act_alike_whichever_joint_is_cut(kind, agree):
    """A ring of bodies with a spring at every joint, planned in every way: the motion of the bodies is the same."""
    m = ct.Mechanism("ring")
    for k in range(4):
        m.add_body(f"b{k}", 1.0 + 0.1 * k, (0.5, 0.1, 0), 0.2)
    m.add_joint("base", "ground", "b0", ct.Revolute("y"))
    for k in range(4):
        joint = ct.Planar("y") if k == 3 else kind if k == 1 else ct.Revolute("y")
        m.add_joint(
            f"j{k}", f"b{k}", f"b{(k + 1) % 4}", joint, ct.Pose(p=(1, 0, 0)), ct.Pose(rpy=(0, 0.2, 0))
        )
        m.add_spring(f"s{k}", f"j{k}", 3.0, None, 0.2)
    m.add_spring_between("diagonal", "b0", "b2", 5.0, 0.7, 0.1)
    reference = m.system()
    q0 = reference.assemble({"j0": 0.3})
    v0 = reference.velocity(q0, {"base": 0.4, "j0": -0.7})
    seen = []
    for cut in [f"j{k}" for k in range(4)]:
        s = m.system(cut=[cut])
        assert cut in s.loops
        q, v = np.zeros(s.nq), np.zeros(s.nv)
        for j in s.joints:
            q[s.slice_q(j)] = reference.joint_position(q0, j)
            v[s.slice_v(j)] = reference.joint_velocity(q0, v0, j)
        e, outputs = s.forces.loads(q, v), s.forces.outputs(q, v)
        vdot = s.forward_dynamics(q, v, e.tau, f_ext=e.f_ext)
        motion = s.jacobian(q, "b2") @ vdot + s.bias_acceleration(q, v, "b2")
        told = [outputs[f"s{k}"][name] for k in range(4) for name in ("energy", "power")]
        seen.append(np.array([*vdot[s.slice_v("base")], *motion, *told]))
    for other in seen[1:]:
        agree(other, seen[0], 1e-9)


def test_a_loop_joint_without_a_formula_for_its_coordinates_is_played_on_plain_numbers(agree):
    """The same rail as a loop joint, once with coordinates by Newton's method."""

    class Searching(ct.Prismatic):
        finds_coordinates_of_symbols = False

        @property
        def signature(self):
            return ("Searching",)

        def canonical(self):
            return np.eye(3), self

    found = []
    for kind in (ct.Prismatic("z"), Searching("z")):
        m = ct.Mechanism("lift", gravity=(0, 0, -9.81))
        m.add_body("a", 1.0, (0.1, 0, 0), 0.2)
        m.add_body("b", 1.0, (0, 0.1, 0), 0.2)
        m.add_joint("rail", "ground", "a", ct.Prismatic("z"))
        m.add_joint("weld", "a", "b", ct.Revolute("y"))
        m.add_joint("other", "ground", "b", kind)
        m.add_spring("s", "other", 30.0, 0.1, 2.0)
        s = m.system(cut=["other"])
        assert s.mechanics.elements.is_compiled == (type(kind) is ct.Prismatic)
        q, v = np.array([[0.3, 0.0], [0.2, 0.0]]), np.array([[1.0, 0.0], [2.0, 0.0]])
        found.append(
            [
                s.forces.energy(q),
                s.forces.loads(q, v).f_ext["b"][:, 5],
                s.forces.outputs(q, v)["s"]["power"],
            ]
        )
        assert s.forces.energy(q[:0]).shape == (0,)
    agree(np.array(found[1]), np.array(found[0]), 1e-12)


def test_inverse_dynamics_with_forces_gives_back_what_forward_dynamics_was_given(agree):
    s = pressed().system()
    q, v, tau = given_states(s, 4)
    vdot = accelerations(s, with_forces(articulated_body), q, v, tau)["qdd"]
    forward = with_forces(articulated_body)
    backward = replace(
        newton_euler, name="newton_euler_pressed", sweeps=(*force_sweeps(), *newton_euler.sweeps),
        inputs={**forward.inputs, "qdd": newton_euler.inputs["qdd"]}, shared=forward.shared,
        optional=forward.optional, rewritten=frozenset({"tau"}),
    )  # fmt: skip
    # Forces at joints are not among the wrenches that a body passes on, so they are taken off by hand.
    found = s.mechanics.evaluator.evaluate(
        backward, {"q": q, "qd": v, "qdd": vdot}, forces=s.mechanics.elements.placed
    )["tau"]
    agree(found - s.forces.loads(q, v).tau, tau, 1e-9, np.abs(found).max())


def test_springs_named_like_stops_or_each_other_are_refused():
    m = four_bar()
    joint = next(iter(m.joints))
    with pytest.raises(ct.ModelError, match="kept for stops of joints"):
        m.add_force(f"{joint}.limits", JointSpring((1.0,)), joint=joint)
    m.add_wrench("load", list(m.bodies)[1])
    with pytest.raises(ct.ModelError, match="spring 'load': the name is taken by another wrench"):
        m.add_spring("load", joint, 1.0)
    with pytest.raises(ct.ModelError, match="force 'load': the name is taken by another wrench"):
        m.add_force("load", PointSpring(1.0), between=("ground", list(m.bodies)[1]))
