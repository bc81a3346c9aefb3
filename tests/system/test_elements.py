"""Springs, stops and wrenches of mechanisms: forces against energies, analytic cases, MuJoCo, and other plans."""

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catena as ct
from benchmarks.states import closed_states, random_states
from catena.dynamics.elements.placed_forces import STOP_TIME
from catena.forces.smooth import ONSET_DEPTH
from catena.kernels import plain_numbers
from catena.mechanism.generators import arm7, arms_on_object, four_bar, random_mechanism

KINDS = ["Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Spherical", "Planar", "Free",
         ct.Sdof("ry", "rz", "dx")]  # fmt: skip


def copied(mechanism, **joint_options):
    """A mechanism with the same bodies and joints, with options for some joints."""
    result = ct.Mechanism(mechanism.name, mechanism.gravity)
    for body in list(mechanism.bodies.values())[1:]:
        result.add_body(body.name, body.mass, body.com, body.inertia)
    for j in mechanism.joints.values():
        result.add_joint(
            j.name, j.parent, j.child, j.kind, j.in_parent, j.in_child, **joint_options.get(j.name, {})
        )
    return result


def with_elements(seed, loops, damped):
    """A random mechanism in which everything acts: two springs and stops at every joint, springs between points."""
    random = np.random.default_rng(seed)
    bare = random_mechanism(seed, 7, KINDS, loops=loops, floating=bool(seed % 2))
    options = {
        name: {
            "limits": np.sort(random.normal(size=(j.kind.nv, 2)) * 0.2, axis=1),
            "limit_stiffness": random.uniform(1, 9, j.kind.nv),
            "limit_damping": damped * random.uniform(0, 1, j.kind.nv),
        }
        for name, j in bare.joints.items()
        if j.kind.nv
    }
    m = copied(bare, **options)
    for name, j in m.joints.items():
        for k in range(2 if j.kind.nv else 0):
            rest = j.kind.integrate(j.kind.neutral(), 0.5 * random.normal(size=j.kind.nv))
            coefficients = random.uniform(1, 5, (2, j.kind.nv)) * [[1.0], [damped]]
            m.add_spring(f"{name}/{k}", name, coefficients[0], rest, coefficients[1])
    names = list(m.bodies)
    m.add_frame("eye", names[2], ct.Pose(p=(0.1, 0.2, 0.3), rpy=(1, 2, 3)))
    m.add_spring_between("rope", "ground", "eye", 12.0, 0.4, 0.7 * damped)
    m.add_spring_between("band", names[3], names[5], 8.0, 0.2, 0.3 * damped)
    return m


def power(system, forces, q, v):
    """The power of element forces at velocities v, whatever velocities they were found at."""
    total = np.sum(forces.tau * v, axis=-1)
    for body, wrench in forces.f_ext.items():
        total = total + np.sum(wrench * system.twist(q, v, body), axis=-1)
    return total


def generalised(system, forces, q):
    """All element forces as joint forces."""
    total = forces.tau
    for body, wrench in forces.f_ext.items():
        total = total + np.einsum("...ij,...i->...j", system.jacobian(q, body), wrench)
    return total


@pytest.mark.parametrize("loops", [0, 2])
@pytest.mark.parametrize("seed", range(5))
def test_forces_are_what_the_energy_loses(seed, loops, derivative, agree):
    """Without dampers power = -dE/dt, along any motion that the loops allow."""
    s = with_elements(seed, loops, damped=0.0).system()
    q, v, _, _ = closed_states(s, 3, seed, spread=0.3)
    # Steps so small that no stop begins within them.
    lost = -derivative(lambda h: s.forces.energy(s.integrate(q, v, h)), h=3e-5)
    agree(power(s, s.forces.loads(q, v), q, v), lost, 1e-8, np.abs(s.forces.energy(q)).max())


@pytest.mark.parametrize("seed", range(3))
def test_dampers_only_take(seed):
    s = with_elements(seed, 2, damped=1.0).system()
    q, v, _, _ = closed_states(s, 6, seed)
    taken = power(s, s.forces.loads(q, v), q, v) - power(s, s.forces.loads(q, 0 * v), q, v)
    assert np.all(taken < 0.0)


def test_one_state_a_batch_and_plain_numbers_agree():
    s = with_elements(4, 1, damped=1.0).system()
    q, v, _, _ = random_states(s, 6, 0)
    many = s.forces.loads(q.reshape(2, 3, -1), v.reshape(2, 3, -1))
    assert many.tau.shape == (2, 3, s.nv) and s.forces.energy(q.reshape(2, 3, -1)).shape == (2, 3)
    for k in range(6):
        one = s.forces.loads(q[k], v[k])
        np.testing.assert_allclose(many.tau.reshape(6, -1)[k], one.tau, rtol=1e-12, atol=1e-12)
        assert list(one.f_ext) == list(many.f_ext)
        for body, wrench in one.f_ext.items():
            np.testing.assert_allclose(many.f_ext[body].reshape(6, -1)[k], wrench, rtol=1e-11, atol=1e-11)
    with plain_numbers():
        np.testing.assert_allclose(s.forces.loads(q[0], v[0]).tau, s.forces.loads(q[0], v[0]).tau, rtol=1e-12)
    none = s.forces.loads(q[:0], v[:0])
    assert none.tau.shape == (0, s.nv) and all(w.shape == (0, 6) for w in none.f_ext.values())


def test_a_mechanism_without_elements_feels_nothing():
    s = arm7().system()
    forces = s.forces.loads(np.zeros(7), np.ones(7))
    assert np.array_equal(forces.tau, np.zeros(7)) and forces.f_ext == {} and s.mechanics.elements.is_empty
    assert s.forces.energy(np.zeros((3, 7))).tolist() == [0.0] * 3


def test_springs_between_bodies_leave_the_momentum_alone(agree, derivative):
    """Three bodies in space with springs at joints, in the tree and in a loop, and between points."""
    m = ct.Mechanism("trio", gravity=(0, 0, 0))
    for k in range(3):
        m.add_body(f"b{k}", 1.0 + k, (0.1 * k, 0.2, 0), 0.3)
    m.add_joint("base", "ground", "b0", ct.Free())
    at = [ct.Pose(p=(0.3, 0.1 * k, 0.2), rpy=(0.1, 0.2, 0.3)) for k in range(3)]
    m.add_joint("ball", "b0", "b1", ct.Spherical(), at[0], at[1], limits=[(-0.1, 0.1)] * 3,
                limit_stiffness=9.0, limit_damping=0.4)  # fmt: skip
    m.add_joint("hinge", "b1", "b2", ct.Universal("x", "y"), at[1], at[2])
    m.add_joint("bush", "b2", "b0", ct.Free(), at[2], at[0])
    m.add_spring("k1", "ball", (1, 2, 3), damping=0.3)
    m.add_spring("k2", "hinge", 4.0, (0.3, -0.4), damping=0.3)
    m.add_spring("k3", "bush", (1, 2, 3, 4, 5, 6), damping=0.3)
    m.add_spring_between("k4", "b0", "b2", 7.0, 0.1, 0.4)
    s = m.system()
    assert s.loops == ("bush",)
    q, v, _, _ = random_states(s, 4, 1)
    e = s.forces.loads(q, v)
    vdot = s.forward_dynamics(q, v, e.tau, f_ext=e.f_ext)

    def momentum(t):
        return s.momentum(s.integrate(q, v * t), v + vdot * t)

    agree(derivative(momentum, 1e-3), np.zeros((4, 6)), 1e-9, np.abs(momentum(0)).max())


# Analytic cases.


def pendulum(**options):
    m = ct.Mechanism("pendulum", gravity=(0, 0, -10.0))
    m.add_body("rod", 2.0, (0, 0, -0.5), 0.1)
    m.add_joint("pivot", "ground", "rod", ct.Revolute("y"), **options)
    return m


def test_a_pendulum_with_a_spring():
    m = pendulum()
    m.add_spring("spring", "pivot", 30.0, 0.2, 1.5)
    s = m.system()
    e = s.forces.loads([0.7], [2.0])
    assert e.tau == pytest.approx(-30.0 * 0.5 - 1.5 * 2.0)
    assert s.forces.energy([0.7]) == pytest.approx(15.0 * 0.25)
    expected = (-2.0 * 10.0 * 0.5 * np.sin(0.7) - 18.0) / (0.1 + 2.0 * 0.25)
    assert s.forward_dynamics([0.7], [2.0]) == pytest.approx(expected)
    assert s.forward_dynamics([0.7], [2.0], e.tau, elements=False) == pytest.approx(expected)


def test_several_springs_at_a_joint_add_up():
    """At a joint whose positions are vectors, and at a ball."""
    for kind, rests in ((ct.Cylindrical("z"), [(0.1, 0.2), (-0.5, 0.4), (0.0, 0.0)]),
                        (ct.Spherical(), [ct.Spherical().integrate(np.array([1.0, 0, 0, 0]), np.array(w)) for w in
                                          ((0.1, 0.2, 0.3), (-0.5, 1.4, 0.1), (0.0, 0.0, 0.0))])):  # fmt: skip
        stiffness = [2.0, 3.0, np.arange(kind.nv)]

        def build(chosen, kind=kind, rests=rests, stiffness=stiffness):
            m = ct.Mechanism("joint")
            m.add_body("b", 1.0, inertia=1.0)
            m.add_joint("j", "ground", "b", kind)
            for k in chosen:
                m.add_spring(f"s{k}", "j", stiffness[k], rests[k], 0.1 * k)
            return m.system()

        s = build(range(3))
        assert s.mechanics.elements.is_compiled
        q, v, _, _ = random_states(s, 4, 2)
        alone = [build([k]) for k in range(3)]
        np.testing.assert_allclose(
            s.forces.loads(q, v).tau, sum(a.forces.loads(q, v).tau for a in alone), atol=1e-13
        )
        np.testing.assert_allclose(s.forces.energy(q), sum(a.forces.energy(q) for a in alone), atol=1e-13)


def test_a_spring_between_points():
    m = ct.Mechanism("swing", gravity=(0, 0, 0))
    m.add_body("b", 1.0, inertia=1.0)
    m.add_joint("j", "ground", "b", ct.Free())
    m.add_frame("hook", "b", ct.Pose(p=(0, 0, 1.0), rpy=(0.3, 0.2, 0.1)))
    m.add_frame("post", "ground", ct.Pose(p=(3.0, 0, 1.0)))
    m.add_spring_between("spring", "hook", "post", 5.0, 1.0, 2.0)
    s = m.system()
    e = s.forces.loads(s.neutral(), [0, 1.0, 0, -0.5, 0, 0])
    # The hook moves by omega_y * 1 - 0.5 along x and the spring of length 3 shortens by that.
    pull = 5.0 * 2.0 - 2.0 * 0.5
    np.testing.assert_allclose(e.f_ext["b"], [0, pull, 0, pull, 0, 0], atol=1e-12)
    assert s.forces.energy(s.neutral()) == pytest.approx(10.0)
    assert list(e.f_ext) == ["b"]


@pytest.mark.parametrize("rest", [0.0, 0.3])
def test_points_that_coincide_give_no_nan(rest):
    m = ct.Mechanism("touch")
    m.add_body("b", 1.0, inertia=1.0)
    m.add_joint("j", "ground", "b", ct.Free())
    m.add_spring_between("spring", "ground", "b", 5.0, rest, 2.0)
    s = m.system()
    e = s.forces.loads(s.neutral(), np.ones(6))
    assert np.array_equal(e.f_ext["b"], np.zeros(6))
    assert s.forces.energy(s.neutral()) == pytest.approx(2.5 * rest**2)
    near = s.neutral() + [1e-200, 0, 0, 0, 0, 0, 0]
    assert np.isfinite(s.forces.loads(near, np.ones(6)).f_ext["b"]).all()


def test_wrenches_in_all_axes():
    m = ct.Mechanism("plate", gravity=(0, 0, 0))
    m.add_body("arm", 1.0, inertia=1.0)
    m.add_body("plate", 1.0, inertia=1.0)
    m.add_joint("a", "ground", "arm", ct.Revolute("z"))
    m.add_joint("b", "arm", "plate", ct.Revolute("z"), ct.Pose(p=(1, 0, 0)))
    m.add_frame("edge", "plate", ct.Pose(p=(0, 1, 0), rpy=(0, 0, np.pi / 2)))
    q = np.array([np.pi / 2, np.pi / 2])
    forces = {}
    for axes in ("ground", "arm", "plate", "edge"):
        turned = m.copy()
        turned.add_wrench("w", "edge", (0, 0, 1.0), (2.0, 0, 0), axes)
        forces[axes] = turned.system().forces.loads(q, [0.0, 0.0]).f_ext["plate"]
        assert turned.system().forces.energy(q) == 0.0
    # The plate is turned by pi, its x axis points along -x of the ground; x of the arm is y of the ground.
    np.testing.assert_allclose(forces["ground"], [0, 0, 1 + 2, -2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(forces["arm"], [0, 0, 1, 0, -2, 0], atol=1e-12)
    np.testing.assert_allclose(forces["plate"], [0, 0, 1 - 2, 2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(forces["edge"], [0, 0, 1, 0, 2, 0], atol=1e-12)


# Stops.


def slider(**options):
    m = ct.Mechanism("slider", gravity=(0, 0, 0))
    m.add_body("block", 2.0, inertia=1.0)
    m.add_joint("rail", "ground", "block", ct.Prismatic("x"), limits=(-1.0, 0.5), **options)
    return m.system()


def thrown(s, v0, duration, count=400):
    """The block thrown at the upper stop from just before it: (t, depth, velocity)."""
    run = solve_ivp(
        lambda t, y: [y[1], *s.forward_dynamics(y[:1], y[1:])],
        (0.0, duration), [0.5, v0], "DOP853", t_eval=np.linspace(0, duration, count), rtol=1e-9, atol=1e-11,
        max_step=duration / 50,
    )  # fmt: skip
    return run.t, run.y[0] - 0.5, run.y[1]


def test_an_elastic_stop_gives_everything_back():
    """Half a period of the spring, with the same speed afterwards."""
    s = slider(limit_stiffness=200.0)
    omega = 10.0
    t, depth, v = thrown(s, 1.0, 1.2 * np.pi / omega)
    inside = t < np.pi / omega
    np.testing.assert_allclose(depth[inside], np.sin(omega * t[inside]) / omega, atol=1e-7)
    np.testing.assert_allclose(v[~inside], -1.0, atol=1e-7)
    energy = s.kinetic_energy((depth + 0.5)[:, None], v[:, None]) + s.forces.energy((depth + 0.5)[:, None])
    np.testing.assert_allclose(energy, 1.0, rtol=1e-7)


def test_a_damped_stop_lets_go_when_its_force_is_zero():
    """The damper never pulls: contact ends where k d + c d' = 0, by the formula of the damped oscillator."""
    m, k, zeta = 2.0, 200.0, 0.3
    omega = np.sqrt(k / m)
    s = slider(limit_stiffness=k, limit_damping=2 * zeta * omega * m)
    _, _, v = thrown(s, 1.0, 1.0)
    damped = omega * np.sqrt(1 - zeta**2)
    # d = exp(-zeta omega t) sin(damped t) / damped; m d'' = 0 at the end.
    end = np.arctan2(2 * zeta * np.sqrt(1 - zeta**2), 2 * zeta**2 - 1) / damped
    left = np.exp(-zeta * omega * end) * (np.cos(damped * end) - zeta * omega / damped * np.sin(damped * end))
    np.testing.assert_allclose(v[-1], left, rtol=1e-3)  # the damper takes hold over the first 1e-5 m of 8e-2
    outward = s.forces.loads([0.5 + 1e-3], [-100.0]).tau
    assert outward == 0.0


def test_a_stop_pushes_without_a_jump():
    s = slider(limit_stiffness=1e3, limit_damping=50.0)
    q = 0.5 + np.linspace(-ONSET_DEPTH, 3 * ONSET_DEPTH, 4001)[:, None]
    force = s.forces.loads(q, np.ones((4001, 1))).tau[:, 0]
    assert force[0] == 0.0 and np.abs(np.diff(force)).max() < 0.2
    np.testing.assert_allclose(force[-1], -1e3 * 3 * ONSET_DEPTH - 50.0, rtol=1e-12)
    mirrored = s.forces.loads([-1.0 - 3 * ONSET_DEPTH], [-1.0]).tau
    np.testing.assert_allclose(mirrored, -force[-1], rtol=1e-9)


def test_a_rigid_stop_is_critically_damped():
    """It gives way by v T / e and throws nothing back but the little that the damper does not hold."""
    s = slider()
    _, depth, v = thrown(s, 1.0, 0.05)
    np.testing.assert_allclose(depth.max(), STOP_TIME / np.e, rtol=0.05)
    assert abs(v[-1]) < 0.2 and depth[-1] < depth.max()
    assert s.mechanics.elements.stops["rail"].stiffness == pytest.approx(2.0 / STOP_TIME**2)
    assert s.mechanics.elements.stops["rail"].damping == pytest.approx(2 * 2.0 / STOP_TIME)


def test_rigid_stops_take_the_inertia_that_the_joint_feels():
    """A light finger on a heavy arm: the reduced mass of both."""
    m = ct.Mechanism("finger", gravity=(0, 0, 0))
    m.add_body("arm", 8.0, inertia=1.0)
    m.add_body("finger", 2.0, inertia=1.0)
    m.add_joint("reach", "ground", "arm", ct.Prismatic("x"))
    m.add_joint("grip", "arm", "finger", ct.Prismatic("x"), limits=(0, 1))
    assert m.system().mechanics.elements.stops["grip"].stiffness == pytest.approx(1.6 / STOP_TIME**2)


def test_rigid_stops_do_not_depend_on_the_cut():
    stops = []
    for cut in ("B", "C", "D"):
        m = copied(four_bar(), C={"limits": (-0.3, 0.4)}, D={"limits": (-np.inf, 0.4)})
        m.set_initial({"A": 0.4})
        stops.append(m.system(cut=[cut]).mechanics.elements.stops)
    for name in ("C", "D"):
        for other in stops[1:]:
            np.testing.assert_allclose(other[name].stiffness, stops[0][name].stiffness, rtol=1e-6)
        assert stops[0][name].stiffness > 0.0


def test_rigid_stops_do_not_depend_on_how_an_open_loop_was_closed():
    """A four-bar that is open at zero, and given nowhere: each plan changes its own coordinates least to close it."""
    stops = []
    for plan in ({"cut": ["B"]}, {"cut": ["C"]}, {"cut": ["D"]}, {"root": "coupler"}, {}):
        m = ct.Mechanism("open four-bar")
        for k, name in enumerate(("crank", "coupler", "rocker")):
            m.add_body(name, 1.0 + k, (0.4, 0.0, 0.0), (0.1, 0.1, 0.1))
        pin, end = ct.Revolute("z"), ct.Pose(p=(1.0, 0.0, 0.0))
        m.add_joint("A", "ground", "crank", pin)
        m.add_joint("B", "crank", "coupler", pin, end)
        m.add_joint("C", "coupler", "rocker", pin, end, limits=(-9.0, 9.0))
        m.add_joint("D", "rocker", "ground", pin, end, ct.Pose(p=(1.3, 0.2, 0.0)))
        stops.append(m.system(**plan).mechanics.elements.stops["C"].stiffness)
    np.testing.assert_allclose(np.ravel(stops), float(stops[-1][0]), rtol=1e-12)


# Loops, locks, other engines.


def test_elements_of_a_loop_joint_are_those_of_the_same_joint_in_the_tree(agree):
    """A four-bar with springs and stops at all joints, cut here and there, in the same state of motion."""
    results = []
    for cut in ("B", "C", "D"):
        options = {
            n: {"limits": (-0.01, 0.01), "limit_stiffness": 30.0, "limit_damping": 2.0} for n in "ABCD"
        }
        m = copied(four_bar(), **options)
        for k, n in enumerate("ABCD"):
            m.add_spring(n, n, 5.0 + k, 0.2 * k, 0.5)
        s = m.system(cut=[cut])
        assert s.loops == (cut,)
        q = s.assemble({"A": 0.4})
        v = s.velocity(q, {"A": 1.3})
        e = s.forces.loads(q, v)
        vdot = s.forward_dynamics(q, v)
        results.append([*vdot[s.slice_v("A")], s.forces.energy(q), power(s, e, q, v)])
    agree(results[1], results[0], 1e-10)
    agree(results[2], results[0], 1e-10)
    bare = four_bar().system()
    q = bare.assemble({"A": 0.4})
    assert abs(bare.forward_dynamics(q, bare.velocity(q, {"A": 1.3}))[0] - results[0][0]) > 1.0


def test_locked_and_welded_joints_have_no_springs_and_no_stops():
    m = pendulum(limits=(0.1, 0.2))
    m.add_spring("spring", "pivot", 30.0, 0.2)
    m.add_body("bob", 1.0, inertia=0.1)
    m.add_joint("weld", "rod", "bob", ct.Fixed())
    m.add_body("tail", 1.0, inertia=0.1)
    m.add_joint("hook", "bob", "tail", ct.Revolute("y"))
    m.add_spring("tail", "hook", 3.0)
    s = m.lock("pivot", at=0.7).system()
    assert s.forces.loads([0.5], [0.0]).tau == pytest.approx([-1.5])
    assert s.forces.energy([0.5]) == pytest.approx(1.5 * 0.25) and s.mechanics.elements.stops == {}
    # A loop joint that is locked holds by itself.
    closed = arms_on_object(2)
    name = closed.system().loops[0]
    if closed.joints[name].kind.nv:
        closed.add_spring("spring", name, 3.0)
        assert (
            closed.lock(name).system().forces.loads(*(np.zeros(closed.lock(name).system().nv),) * 2).f_ext
            == {}
        )


def test_mujoco_has_the_same_springs():
    """Springs and dampers at slides, hinges and balls, and between two sites of different bodies."""
    model = mujoco.MjModel.from_xml_string("""
      <mujoco><option gravity="0 0 0"/><worldbody>
        <site name="post" pos="0.5 -0.3 0.8"/>
        <body><joint name="slide" type="slide" axis="1 0 0" stiffness="7" springref="0.2" damping="0.3"/>
          <inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
          <body pos="0 0.4 0">
            <joint name="hinge" type="hinge" axis="0 1 0" stiffness="5" springref="0.4" damping="0.2"/>
            <inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
            <body pos="0.3 0 0"><joint name="ball" type="ball" stiffness="3" damping="0.1"/>
              <inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/><site name="tip" pos="0.1 0.2 0.3"/>
            </body></body></body></worldbody>
        <tendon><spatial stiffness="11" damping="0.6" springlength="0.25"><site site="post"/>
        <site site="tip"/></spatial></tendon><compiler angle="radian"/></mujoco>""")
    m = ct.Mechanism("copy", gravity=(0, 0, 0))
    for name in "abc":
        m.add_body(name, 1.0, inertia=1.0)
    m.add_joint("slide", "ground", "a", ct.Prismatic("x"))
    m.add_joint("hinge", "a", "b", ct.Revolute("y"), ct.Pose(p=(0, 0.4, 0)))
    m.add_joint("ball", "b", "c", ct.Spherical(), ct.Pose(p=(0.3, 0, 0)))
    m.add_spring("s", "slide", 7.0, 0.2, 0.3)
    m.add_spring("h", "hinge", 5.0, 0.4, 0.2)
    m.add_spring("b", "ball", 3.0, damping=0.1)
    m.add_frame("post", "ground", ct.Pose(p=(0.5, -0.3, 0.8)))
    m.add_frame("tip", "c", ct.Pose(p=(0.1, 0.2, 0.3)))
    m.add_spring_between("rope", "post", "tip", 11.0, 0.25, 0.6)
    s = m.system()
    q, v, _, _ = random_states(s, 5, 3)
    ours = generalised(s, s.forces.loads(q, v), q)
    data = mujoco.MjData(model)
    for k in range(5):
        data.qpos[:], data.qvel[:] = q[k], v[k]
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(ours[k], data.qfrc_passive, atol=1e-10)


def test_bad_states_are_refused():
    s = with_elements(0, 0, 1.0).system()
    with pytest.raises(ct.StateError, match="v has shape"):
        s.forces.loads(s.neutral(), np.zeros(s.nv + 1))
    with pytest.raises(ct.StateError, match="must be a finite number"):
        s.forces.energy(np.full(s.nq, np.nan))
    s.mechanism.add_body("late", 1.0, inertia=1.0)
    with pytest.raises(ct.StaleSystemError):
        s.forces.loads(s.neutral(), np.zeros(s.nv))


def test_plain_numbers_tell_joint_springs_from_forces_between_frames(agree):
    """A joint spring beside a spring between frames: only the latter has wrenches on two bodies."""
    m = ct.Mechanism("mixed")
    m.add_body("b", mass=1.0, com=(0.1, 0, 0), inertia=0.1)
    m.add_joint("j", "ground", "b", ct.Revolute("y"))
    m.add_spring("at joint", "j", stiffness=3.0)
    m.add_frame("hook", "ground", ct.Pose(p=(1, 0, 1)))
    m.add_spring_between("line", "hook", "b", stiffness=5.0, rest_length=0.5)
    s = m.system()
    compiled = s.forces.loads([0.4], [0.2])
    with ct.plain_numbers():
        plain = s.forces.loads([0.4], [0.2])
    agree(plain.tau, compiled.tau, 1e-13)
    agree(plain.f_ext["b"], compiled.f_ext["b"], 1e-13)
